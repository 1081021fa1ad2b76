"""`tilewright lint`: reports errors and inefficiencies of a schedule, with the calls that fix them."""

from __future__ import annotations

from argparse import Namespace

from ....engine.lint import NOT_ABOUT_THE_SCHEDULE
from ...actions.lint_fixes import FixedFinding, findings_of, fix_findings, fixed_text, is_serious, lint_text
from ...document import save_document
from ...document.editing.kernel_edits import text_of_kernel
from ...limits import LIMITS
from ..arguments import TEXTS_AND_STEPS, takes_file, takes_limit, takes_setting
from ..exit_codes import EXIT_OK, REFUSED, RefusedError
from ..opened import MAX_ACCESSES, opened, require_whole, simulated, written_back
from ..output import print_json, print_line, working
from ..usage import Parser, takes_json

EXAMPLES = ("matmul.py", "matmul.py --fix -o better.py")


def add_arguments(parser: Parser) -> None:
    takes_file(parser, words=TEXTS_AND_STEPS)
    takes_setting(parser)
    takes_json(parser, "the findings")
    parser.add_argument(
        "--fix", action="store_true", help="apply the best fix of each error and warning to the schedule"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="with --fix: output file (default: FILE)")
    takes_limit(parser, seconds=LIMITS.trying_seconds)


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    if arguments.fix:
        require_whole(arguments.file, found.count, "--fix")
    output = written_back(found.notebook.document, arguments.output) if arguments.fix else ""
    notebook, machine, sizes = found.notebook, found.machine(arguments.machine), found.sizes
    with working(arguments, f"simulating on {machine.name}"):
        try:
            simulated(found.costed, machine)
        except RefusedError as refused:
            if refused.cause.code in NOT_ABOUT_THE_SCHEDULE:
                raise
    done: tuple[FixedFinding, ...] = ()
    with working(arguments, "running lints and testing fixes"):
        if arguments.fix:
            notebook, done, findings = fix_findings(notebook, machine, sizes, MAX_ACCESSES)
            save_document(notebook.document, output)
        else:
            findings = findings_of(found.schedule, machine, sizes, MAX_ACCESSES, text_of_kernel(found.notebook))
    if arguments.json:
        print_json(
            {
                "machine": machine.name,
                "findings": [f.to_json() for f in findings],
                "fixed": [m.to_json() for m in done],
            }
        )
    else:
        print_line("\n\n".join([*([fixed_text(done)] if done else []), lint_text(findings, machine.name)]))
    return REFUSED if any(map(is_serious, findings)) else EXIT_OK
