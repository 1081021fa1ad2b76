"""`tilewright …`: the notebook without a browser, and the browser from the shell.

Exit codes: 0 when all went well, 1 when a schedule does not compute what its program did, 2 when the input is not fit to be worked on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from ..engine.execute import Verdict
from ..engine.export import report_text, to_tvm_python
from ..engine.hwsim import Machine, Report, load_machine, preset_names, simulate
from ..engine.ir import TilewrightError
from .document import Notebook, evaluate, load_document

DEFAULT_MACHINE = "dual-bank-npu"
"""The machine of a file that names none."""

FINE, FAILED_VERIFICATION, BAD_INPUT = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except TilewrightError as error:
        print(f"tilewright: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader of our output is gone (`… | head`): nobody is left to tell.
        sys.stderr.close()
        return FINE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tilewright", description="A visual schedule notebook for tensor programs.")
    parser.add_argument("--version", action="version", version=f"tilewright {metadata.version('tilewright')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="open the notebook in the browser")
    serve.add_argument(
        "path", nargs="?", metavar="PATH", help="a notebook file, or a folder of them (default: the gallery)"
    )
    serve.add_argument(
        "--port", type=int, default=5006, help="the port on 127.0.0.1 (default: %(default)s; 0 takes a free one)"
    )
    serve.add_argument("--show", action="store_true", help="open a browser")
    serve.set_defaults(run=_serve)

    run = commands.add_parser("run", help="apply a notebook's schedule, verify it, simulate it, print the report")
    run.add_argument("file", metavar="FILE", help="a notebook file, or a TVMScript file")
    run.add_argument(
        "--machine", metavar="M", help=f"a machine's name or TOML file (default: the file's, else {DEFAULT_MACHINE})"
    )
    run.add_argument("--json", action="store_true", help="print the report as JSON")
    run.set_defaults(run=_run)

    export = commands.add_parser("export", help="write a notebook's schedule as code for another system")
    export.add_argument("file", metavar="FILE", help="a notebook file, or a TVMScript file")
    export.add_argument("--to", choices=["tvm"], default="tvm", help="tvm: Python for Apache TVM 0.26 or newer")
    export.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")
    export.set_defaults(run=_export)

    machines = commands.add_parser("machines", help="list the machines that come with Tilewright")
    machines.set_defaults(run=_machines)
    return parser


def _serve(arguments: argparse.Namespace) -> int:
    # Panel takes a second to import, and the other commands have no use for it.
    from .shell import serve

    path = None if arguments.path is None else Path(arguments.path)
    serve(path, port=arguments.port, show=arguments.show)
    return FINE


def _run(arguments: argparse.Namespace) -> int:
    notebook = _notebook(arguments.file)
    assert notebook.schedule is not None
    machine = load_machine(arguments.machine) if arguments.machine else _machine_of(notebook)
    verdict = notebook.schedule.verify()
    report = simulate(notebook.schedule.func, machine)
    if arguments.json:
        print(json.dumps(report_json(report, verdict), indent=2))
    else:
        print(report_text(report, verdict))
    return FAILED_VERIFICATION if verdict.status == "failed" else FINE


def report_json(report: Report, verdict: Verdict) -> dict[str, object]:
    """The report with the verdict: `verified` is "proved", "tested", "failed" or "unknown"; the rest is `Report.to_json`."""
    return {"verified": verdict.status, "verified_detail": verdict.detail, **report.to_json()}


def _machine_of(notebook: Notebook) -> Machine:
    return notebook.machine if notebook.machine is not None else load_machine(DEFAULT_MACHINE)


def _export(arguments: argparse.Namespace) -> int:
    notebook = _notebook(arguments.file)
    schedule = notebook.schedule
    assert schedule is not None
    text = to_tvm_python(schedule.original, schedule.trace, notebook.names)
    if arguments.output is None:
        print(text, end="")
        return FINE
    try:
        Path(arguments.output).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"tilewright: cannot write {arguments.output}: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    return FINE


def _machines(arguments: argparse.Namespace) -> int:
    for name in preset_names():
        print(name)
    return FINE


def _notebook(file: str) -> Notebook:
    """The notebook of a file, with all of its lines applied; anything else raises."""
    notebook = evaluate(load_document(file))
    if notebook.error is not None:
        raise notebook.error
    return notebook
