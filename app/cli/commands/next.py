"""`tilewright next`: lists calls that improve a schedule, ranked by their simulated effect."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from ....engine.explore import program_bound
from ....engine.hwsim import Machine, Report, simulate
from ....engine.ir import PrimFunc
from ....engine.lint import NOT_ABOUT_THE_SCHEDULE
from ....engine.suggest import Suggestion, next_steps
from ...actions.lint_fixes import effect_text, fix_lines
from ...document import apply_lint, save_document
from ...document.editing.kernel_edits import text_of_kernel
from ...limits import LIMITS
from ..arguments import TEXTS_AND_STEPS, takes_file, takes_limit, takes_setting
from ..exit_codes import EXIT_OK, RefusedError
from ..opened import MAX_ACCESSES, opened, require_whole, simulated, written_back
from ..output import print_json, print_line, working
from ..usage import Parser, takes_json

EXAMPLES = ("matmul.py", "matmul.py --apply -o better.py")


def add_arguments(parser: Parser) -> None:
    takes_file(parser, words=TEXTS_AND_STEPS)
    takes_setting(parser)
    takes_json(parser, "the suggestions")
    parser.add_argument("--apply", action="store_true", help="apply the best one to the schedule")
    parser.add_argument("-o", "--output", metavar="OUT", help="with --apply: output file (default: FILE)")
    takes_limit(parser, seconds=LIMITS.trying_seconds)


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    if arguments.apply:
        require_whole(arguments.file, found.count, "--apply")
    output = written_back(found.notebook.document, arguments.output) if arguments.apply else ""
    machine = found.machine(arguments.machine)
    with working(arguments, f"simulating on {machine.name}"):
        outcome = _report(found.costed, machine)
    trial = partial(simulate, max_accesses=MAX_ACCESSES)
    with working(arguments, "trying calls"):
        kernel = text_of_kernel(found.notebook)
        ranked = next_steps(found.schedule, machine, found.sizes, simulate=trial, report=outcome, kernel=kernel)
    if arguments.apply and ranked:
        save_document(apply_lint(found.notebook, ranked[0].fix).document, output)
    bound = program_bound(found.schedule.original, machine, found.sizes).cycles
    if arguments.json:
        print_json({"machine": machine.name, "bound": bound, "suggestions": [one.to_json() for one in ranked]})
    else:
        print_line(_text(ranked, machine.name))
        print_line(f"any schedule needs at least {bound:,} cycles on {machine.name}")
    return EXIT_OK


def _report(func: PrimFunc, machine: Machine) -> Report | None:
    """The report; None if the machine refuses the program, which calls may change."""
    try:
        return simulated(func, machine)
    except RefusedError as refused:
        if refused.cause.code in NOT_ABOUT_THE_SCHEDULE:
            raise
        return None


def _text(ranked: Sequence[Suggestion], machine: str) -> str:
    if not ranked:
        return f"no call that was tried improves the program on {machine}"
    return "\n".join(line for one in ranked for line in _lines(one))


def _lines(one: Suggestion) -> list[str]:
    copied = (
        f", {one.fix.copied_before:,} → {one.fix.copied:,} bytes copied" if one.fix.copied_before is not None else ""
    )
    head = f"{one.title}: {effect_text(one.fix)}{copied}"
    return [head, *(f"    # {text}" for text in one.decisions), *(f"    {line}" for line in fix_lines(one.fix))]
