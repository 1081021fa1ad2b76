"""`tilewright lint`: reports errors and inefficiencies of a schedule, with the calls that fix them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ...engine.lint import NOT_ABOUT_THE_SCHEDULE
from ..actions.lint_fixes import Mended, findings_of, is_serious, lint_text, mended, mended_text
from ..document import save_document
from .opened import (
    EXIT_OK,
    MAX_ACCESSES,
    MOMENTS,
    REFUSED,
    RefusedError,
    opened,
    simulated,
    takes_file,
    takes_setting,
    whole_only,
    written_back,
)
from .output import takes_json, tell, tell_json, working
from .usage import add_command


def add_lint(commands: Any) -> None:
    linting = add_command(
        commands, "lint", "say what is wrong or wasteful in a notebook's schedule, with calls that mend it",
        "matmul.py", "matmul.py --fix -o better.py",
    )  # fmt: skip
    takes_file(linting, words=MOMENTS)
    takes_setting(linting)
    takes_json(linting, "the findings")
    linting.add_argument(
        "--fix", action="store_true", help="write the best fix of each error and warning into the schedule"
    )
    linting.add_argument("-o", "--output", metavar="OUT", help="with --fix: the file to write (default: FILE itself)")
    linting.set_defaults(run=_lint)


def _lint(arguments: Namespace) -> int:
    found = opened(arguments.file, dict(arguments.size))
    if arguments.fix:
        whole_only(arguments.file, found.count, "--fix")
    output = written_back(found.notebook.document, arguments.output) if arguments.fix else ""
    notebook, machine, sizes = found.notebook, found.machine(arguments.machine), found.sizes
    with working(arguments, f"simulating on {machine.name}"):
        try:
            simulated(found.costed, machine)
        except RefusedError as refused:
            if refused.cause.code in NOT_ABOUT_THE_SCHEDULE:
                raise
    done: tuple[Mended, ...] = ()
    with working(arguments, "looking, and trying what would help"):
        if arguments.fix:
            notebook, done, findings = mended(notebook, machine, sizes, MAX_ACCESSES)
            save_document(notebook.document, output)
        else:
            findings = findings_of(found.schedule, machine, sizes, MAX_ACCESSES)
    if arguments.json:
        tell_json(
            {
                "machine": machine.name,
                "findings": [f.to_json() for f in findings],
                "mended": [m.to_json() for m in done],
            }
        )
    else:
        tell("\n\n".join([*([mended_text(done)] if done else []), lint_text(findings, machine.name)]))
    return REFUSED if any(map(is_serious, findings)) else EXIT_OK
