"""`tilewright export`: writes a schedule as code for other systems, a picture, a replay or a link."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import get_args

import msgspec
from msgspec.structs import replace

from ....engine.execute import Verdict
from ....engine.export import Loss, step_text, tvm_losses, with_pipelines
from ....engine.ir import Refusal, TilewrightError
from ...document import DocumentError
from ...export.exports import EXPORTS, ExportSubject, made
from ...links import fragment_of
from ...state.derived import REPORT, VERDICT, Store
from ...state.model import State
from ...views.drawings import Theme
from ...views.shell.export_kinds import TVM_VERSIONS
from ..arguments import TEXTS_AND_STEPS, takes_file, takes_limit, takes_setting
from ..exit_codes import BAD_INPUT, EXIT_OK, RefusedError
from ..opened import Opened, opened, simulated
from ..output import print_json, print_text, working, written
from ..usage import Parser, takes_json

LINK = "link"

ADDRESS = "http://127.0.0.1:5006/"

DRAWN = ("replay", "tree-svg", "tree-png", "timeline-svg", "timeline-png", "trace")
"""The kinds that need or contain the report."""


EXAMPLES = (
    "matmul.py > matmul_tvm.py",
    "matmul.py --to c -o matmul.c",
    "matmul.py --to replay -o run.html",
    "matmul.py@3 --to tree-svg --theme dark -o tree.svg",
)


def add_arguments(parser: Parser) -> None:
    takes_file(parser, words=TEXTS_AND_STEPS)
    kinds = [f"{key}: {export.label}" for key, export in EXPORTS.items()]
    parser.add_argument(
        "--to", choices=[*EXPORTS, LINK], default="tvm", metavar="KIND",
        help=f"{'; '.join(kinds)}; {LINK}: a link that contains the notebook (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--tvm",
        metavar="VERSION",
        default="0.27",
        help="with --to tvm: the target version, such as 0.22 (default: %(default)s)",
    )
    parser.add_argument(
        "--theme",
        choices=get_args(Theme),
        default="auto",
        help="theme of pictures; auto follows the reader's setting (default: %(default)s)",
    )
    parser.add_argument(
        "--width", metavar="PIXELS", type=int, default=960, help="width of a timeline (default: %(default)s)"
    )
    parser.add_argument(
        "--scale", metavar="FACTOR", type=float, default=2, help="scale of a PNG (default: %(default)s)"
    )
    parser.add_argument(
        "--address",
        metavar="URL",
        default=ADDRESS,
        help=f"with --to {LINK}: address of the Tilewright server (default: %(default)s)",
    )
    takes_setting(parser)
    takes_json(parser, "the text, or its file,")
    parser.add_argument("-o", "--output", metavar="OUT", help="output file (default: standard output)")
    takes_limit(parser)


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    if arguments.to == LINK:
        data: str | bytes = arguments.address + fragment_of(found.notebook.document.text) + "\n"
    else:
        with working(arguments, f"exporting {EXPORTS[arguments.to].label}"):
            data = _made(arguments, found)
    losses = _losses(arguments, found)
    if isinstance(data, bytes) and arguments.output is None and (arguments.json or sys.stdout.isatty()):
        raise DocumentError(Refusal("not-text", f"{arguments.to} is binary and is not printed", fix=("-o FILE",)))
    if arguments.output is not None and not written(arguments.output, data):
        return BAD_INPUT
    if arguments.json:
        text = data if isinstance(data, str) else None
        print_json(
            {
                "to": arguments.to,
                "output": arguments.output,
                "size_bytes": len(data if isinstance(data, bytes) else data.encode()),
                "text": text,
                "losses": msgspec.to_builtins(losses),
            }
        )
    elif isinstance(data, bytes) and arguments.output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    elif arguments.output is None:
        print_text(str(data))
    return EXIT_OK


def _losses(arguments: Namespace, found: Opened) -> tuple[Loss, ...]:
    """What an export for TVM leaves out. All but the names of loops is also printed on standard error."""
    if arguments.to not in TVM_VERSIONS:
        return ()
    version = arguments.tvm if arguments.to == "tvm" else TVM_VERSIONS[arguments.to]
    losses = tvm_losses(found.schedule, version)
    if arguments.quiet or arguments.json:
        return losses
    for loss in losses:
        if loss.kind != "names":
            print(f"TVM {version} leaves out {loss.kind} ({', '.join(loss.items)}): {loss.message}", file=sys.stderr)
    for piped in with_pipelines(found.schedule)[:1] if any(loss.kind == "slots" for loss in losses) else ():
        calls = [step_text(step) for step in piped.trace.steps[len(found.schedule.trace) :] if step.changes]
        print(f"{', '.join(calls)} keeps the slots: TVM lowers pipelines itself", file=sys.stderr)
    return losses


def _made(arguments: Namespace, found: Opened) -> str | bytes:
    """The file's content. Raises RefusedError if the program has no such form."""
    store = Store()
    state = _state(found, arguments.machine)
    if arguments.to in DRAWN:
        # Simulated once, with the larger limit on accesses of the command line.
        costed, machine = store.costed(state, found.schedule), store.machine(state)
        if not isinstance(machine, TilewrightError):
            store.keep(REPORT(costed, machine), simulated(costed, machine))
    if arguments.to == "replay":
        store.keep(VERDICT(found.schedule.func, found.sizes), _verdict(found))
    subject = ExportSubject(
        state,
        store,
        arguments.theme,
        max(200, arguments.width),
        min(max(0.1, arguments.scale), 8.0),
        found.given,
        arguments.tvm,
    )
    try:
        return made(arguments.to, subject).data
    except TilewrightError as error:
        if error.code == "unknown-version":
            raise
        raise RefusedError(error) from error


def _state(found: Opened, machine: str | None) -> State:
    """The state of a page that shows the notebook, for the views."""
    sizes = {**found.notebook.sizes, **found.given}
    known = replace(found.notebook, sizes=sizes, machine=found.machine(machine))
    return State(notebook=known, shown=known, chosen_step=found.count)


def _verdict(found: Opened) -> Verdict:
    try:
        return found.schedule.check(found.sizes)
    except TilewrightError as error:
        return Verdict(status="unknown", detail=error.refusal.message)
