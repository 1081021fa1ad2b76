"""`tilewright lower`: the scheduled program as flat loops, or after a pass."""

from __future__ import annotations

from argparse import Namespace

from ....engine.lower import PASSES, LowerError, lower, with_sizes
from ....engine.script import to_script
from ..arguments import TEXTS_AND_STEPS, takes_file, takes_limit, takes_sizes
from ..exit_codes import EXIT_OK, RefusedError
from ..opened import opened
from ..output import print_json, print_text
from ..usage import Parser, takes_json

EXAMPLES = ("matmul.py", "matmul.py --until CompactBufferAllocation")


def add_arguments(parser: Parser) -> None:
    takes_file(parser, words=TEXTS_AND_STEPS)
    parser.add_argument(
        "--until", metavar="PASS", help=f"the last pass to run, by its TVM name: {', '.join(p.name for p in PASSES)}"
    )
    takes_sizes(parser)
    parser.set_defaults(data=[])
    takes_json(parser, "the program's text")
    takes_limit(parser)


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    func = with_sizes(found.schedule.func, found.sizes).func
    try:
        lowered = lower(func, arguments.until)
    except LowerError as error:
        if error.code == "unknown-pass":
            raise
        raise RefusedError(error) from error
    if arguments.json:
        print_json({"until": arguments.until, "text": to_script(lowered)})
    else:
        print_text(to_script(lowered))
    return EXIT_OK
