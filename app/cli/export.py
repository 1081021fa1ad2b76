"""`tilewright export`: a schedule as code for another system, or as a picture of itself."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ...engine.export import to_c, to_tvm_python
from ...engine.ir import TilewrightError
from ...engine.lower import with_sizes
from .opened import BAD_INPUT, FINE, Opened, RefusedError, opened, takes_file, takes_sizes
from .output import give, takes_json, tell_json, written


def add_export(commands: Any) -> None:
    export = commands.add_parser("export", help="write a notebook's schedule as code for another system")
    takes_file(export)
    export.add_argument(
        "--to",
        choices=["tvm", "c"],
        default="tvm",
        help="tvm: Python for Apache TVM; c: the scheduled program as C (default: %(default)s)",
    )
    export.add_argument(
        "--tvm",
        metavar="VERSION",
        default="0.27",
        help="the version of TVM to write for, as 0.22 (default: %(default)s)",
    )
    takes_sizes(export)
    takes_json(export, "the text")
    export.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")
    export.set_defaults(run=_export)


def _export(arguments: Namespace) -> int:
    found = opened(arguments.file, dict(arguments.size))
    text = _code(arguments, found)
    if arguments.output is not None and not written(arguments.output, text):
        return BAD_INPUT
    if arguments.json:
        tell_json({"to": arguments.to, "output": arguments.output, "text": text})
    elif arguments.output is None:
        give(text)
    return FINE


def _code(arguments: Namespace, found: Opened) -> str:
    """The schedule in the language of `--to`; C has the given sizes as numbers, and the others as parameters."""
    if arguments.to == "tvm":
        return to_tvm_python(found.schedule, found.names, arguments.tvm, sizes=found.given)
    func = with_sizes(found.schedule.func, found.given).func
    try:
        return to_c(func)
    except TilewrightError as error:
        raise RefusedError(error) from error
