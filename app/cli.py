"""`tilewright …`: the notebook without a browser, and the browser from the shell.

Exit codes: 0 when all went well; 1 when the schedule is refused, by a primitive or by the machine, or does not compute what its program
did, or `lint` has an error or a warning to tell; 2 when the input is not fit to be worked on; 130 when stopped from the keyboard. Errors
go to standard error; with `--json` as `{"error": {code, message, found, expected, fix, place}}` to standard output too.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..engine.execute import Verdict
from ..engine.export import chrome_trace, knobs_text, report_text, to_c, to_tvm_python
from ..engine.hwsim import Knob, Machine, MachineError, Report, load_machine, preset_names, sensitivity, simulate
from ..engine.ir import PrimFunc, TilewrightError
from ..engine.lint import NOT_ABOUT_THE_SCHEDULE
from ..engine.lower import PASSES, LowerError, lower, missing_sizes, with_sizes
from ..engine.schedule import Schedule, ScheduleError
from ..engine.script import Note, to_script
from .document import Document, Notebook, converted, evaluate, load_document, save_document, sizes_for
from .lints import Mended, findings_of, is_serious, lint_text, mended, mended_text
from .state import DEFAULT_MACHINE

FINE, REFUSED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

ADDRESS = "127.0.0.1"

MAX_ACCESSES = 1 << 23
"""Accesses of caches that are gone through: some seconds. The page, which must not wait, has fewer."""


class RefusedError(Exception):
    """The schedule cannot be had, or not run on the machine; the cause says why."""

    def __init__(self, cause: TilewrightError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except RefusedError as refused:
        return _failed(arguments, refused.cause, REFUSED)
    except TilewrightError as error:
        return _failed(arguments, error, BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        # Python's own flush at exit must not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return FINE  # the reader of our output is gone (`… | head`), nobody is left to tell
        print(f"tilewright: {error}", file=sys.stderr)
        return BAD_INPUT


def _failed(arguments: argparse.Namespace, error: TilewrightError, code: int) -> int:
    """Say what is wrong, to people on standard error; a script that asked for JSON gets `{"error": …}` of it besides."""
    print(f"tilewright: {error}", file=sys.stderr)
    if getattr(arguments, "json", False):
        print(json.dumps({"error": error.refusal.to_json()}, indent=2), flush=True)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tilewright", description="A visual schedule notebook for tensor programs.")
    parser.add_argument("--version", action="version", version=f"tilewright {metadata.version('tilewright')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="open the notebook in the browser")
    serve.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a notebook or TVMScript file, or a folder of them"
    )
    serve.add_argument(
        "--port", type=_port, default=5006, help="the port on 127.0.0.1; a free one when taken (default: %(default)s)"
    )
    serve.set_defaults(run=_serve)

    run = commands.add_parser("run", help="apply a notebook's schedule, verify it, simulate it, print the report")
    run.add_argument("file", metavar="FILE", help="a notebook file, or a TVMScript file")
    run.add_argument(
        "--machine", metavar="M", help=f"a machine's name or TOML file (default: the file's, else {DEFAULT_MACHINE})"
    )
    _takes_sizes(run)
    run.add_argument("--json", action="store_true", help="print the report as JSON")
    run.add_argument(
        "--sensitivity", action="store_true", help="also say which figure of the machine limits: each twice as good"
    )
    run.add_argument("--trace", metavar="OUT", help="also write the timeline in Chrome's trace format")
    run.set_defaults(run=_run)

    export = commands.add_parser("export", help="write a notebook's schedule as code for another system")
    export.add_argument("file", metavar="FILE", help="a notebook file, or a TVMScript file")
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
    _takes_sizes(export)
    export.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")
    export.set_defaults(run=_export)

    lowering = commands.add_parser(
        "lower", help="print a notebook's scheduled program as flat loops, or after one pass"
    )
    lowering.add_argument("file", metavar="FILE", help="a notebook file, or a TVMScript file")
    lowering.add_argument(
        "--until", metavar="PASS", help=f"the last pass to run, by TVM's name: {', '.join(p.name for p in PASSES)}"
    )
    _takes_sizes(lowering)
    lowering.set_defaults(run=_lower)

    linting = commands.add_parser(
        "lint", help="say what is wrong or wasteful in a notebook's schedule, with calls that mend it"
    )
    linting.add_argument("file", metavar="FILE", help="a notebook file, or a TVMScript file")
    linting.add_argument(
        "--machine", metavar="M", help=f"a machine's name or TOML file (default: the file's, else {DEFAULT_MACHINE})"
    )
    _takes_sizes(linting)
    linting.add_argument("--json", action="store_true", help="print the findings as JSON")
    linting.add_argument(
        "--fix", action="store_true", help="write the best fix of each error and warning into the schedule"
    )
    linting.add_argument("-o", "--output", metavar="OUT", help="with --fix: the file to write (default: FILE itself)")
    linting.set_defaults(run=_lint)

    convert = commands.add_parser(
        "convert", help="write TE text or posted code as a notebook, its schedule as block calls"
    )
    convert.add_argument("file", metavar="FILE", help="a file of TE text, or of a program and schedule code for it")
    _takes_sizes(convert)
    convert.add_argument("-o", "--output", metavar="OUT", help="the notebook to write (default: standard output)")
    convert.set_defaults(run=_convert)

    machines = commands.add_parser("machines", help="list the machines that come with Tilewright")
    machines.set_defaults(run=_machines)
    return parser


def _takes_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size",
        "--sizes",
        metavar="NAME=NUMBER",
        action="extend",
        type=_size_list,
        default=[],
        help="numbers for the program's symbolic sizes: M=256, or M=256,K=512; may be given several times",
    )


def _size_list(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for part in text.split(","):
        name, _, number = part.partition("=")
        if not name.strip() or not number.strip().isdecimal() or int(number) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER, as M=256")
        found.append((name.strip(), int(number)))
    return found


def _sizes(arguments: argparse.Namespace, notebook: Notebook, schedule: Schedule) -> dict[str, int]:
    """The notebook's own, and before them those of the command line."""
    return {**sizes_for(schedule.func, notebook.sizes), **dict(arguments.size)}


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to 65535")
    return int(text)


def _serve(arguments: argparse.Namespace) -> int:
    # Panel takes a second to import, and the other commands have no use for it.
    from .shell import serve

    if arguments.path is not None and not arguments.path.exists():
        print(f"tilewright: there is no {arguments.path}", file=sys.stderr)
        return BAD_INPUT
    serve(arguments.path, free_port(arguments.port), ADDRESS)
    return FINE


def free_port(port: int, address: str = ADDRESS) -> int:
    """`port` when nobody listens there, else one that the system gives; said on standard error when it is another."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            return probe.getsockname()[1]
        except OSError:
            pass
    with socket.socket() as probe:
        probe.bind((address, 0))
        found = probe.getsockname()[1]
    print(f"tilewright: port {port} is taken, using {found}", file=sys.stderr)
    return found


def _run(arguments: argparse.Namespace) -> int:
    notebook, schedule = _opened(arguments)
    machine = _machine(arguments, notebook)
    sizes = _sizes(arguments, notebook, schedule)
    verdict = schedule.check(sizes)
    func = with_sizes(schedule.described, sizes).func
    report = _simulated(func, machine)
    knobs = sensitivity(func, machine) if arguments.sensitivity else ()
    if arguments.json:
        print(json.dumps(report_json(report, verdict, knobs), indent=2), flush=True)
    else:
        print("\n\n".join((report_text(report, verdict), *([knobs_text(knobs)] if knobs else []))), flush=True)
    if arguments.trace is not None and not _written(arguments.trace, chrome_trace(report)):
        return BAD_INPUT
    return REFUSED if verdict.status == "failed" else FINE


def _machine(arguments: argparse.Namespace, notebook: Notebook) -> Machine:
    """The one that is asked for, else the notebook's."""
    return load_machine(arguments.machine) if arguments.machine else notebook.machine or load_machine(DEFAULT_MACHINE)


def report_json(report: Report, verdict: Verdict, knobs: Sequence[Knob] = ()) -> dict[str, object]:
    """`Report.to_json` with `verified`: "proved", "tested", "failed" or "unknown", and `verified_detail`; `sensitivity` where asked for."""
    data = report.to_json()
    if knobs:
        data["sensitivity"] = msgspec.to_builtins(knobs)
    return {"cycles": data.pop("cycles"), "verified": verdict.status, "verified_detail": verdict.detail, **data}


def _simulated(func: PrimFunc, machine: Machine) -> Report:
    try:
        return simulate(func, machine, max_accesses=MAX_ACCESSES)
    except MachineError as error:
        if error.code == "missing-sizes":
            options = " ".join(f"--size {name}=256" for name in missing_sizes(func))
            raise MachineError(replace(error.refusal, fix=(options, *error.refusal.fix))) from error
        raise RefusedError(error) from error


def _lint(arguments: argparse.Namespace) -> int:
    notebook, schedule = _opened(arguments)
    machine = _machine(arguments, notebook)
    sizes = _sizes(arguments, notebook, schedule)
    try:
        _simulated(with_sizes(schedule.described, sizes).func, machine)
    except RefusedError as refused:
        if refused.cause.code in NOT_ABOUT_THE_SCHEDULE:
            raise
    done: tuple[Mended, ...] = ()
    if arguments.fix:
        notebook, done, found = mended(notebook, machine, sizes, MAX_ACCESSES)
        save_document(notebook.document, arguments.output or notebook.document.path or arguments.file)
    else:
        found = findings_of(notebook, machine, sizes, MAX_ACCESSES)
    if arguments.json:
        data = {
            "machine": machine.name,
            "findings": [f.to_json() for f in found],
            "mended": [m.to_json() for m in done],
        }
        print(json.dumps(data, indent=2), flush=True)
    else:
        print("\n\n".join([*([mended_text(done)] if done else []), lint_text(found, machine.name)]), flush=True)
    return REFUSED if any(map(is_serious, found)) else FINE


def _lower(arguments: argparse.Namespace) -> int:
    notebook, schedule = _opened(arguments)
    func = with_sizes(schedule.func, _sizes(arguments, notebook, schedule)).func
    try:
        lowered = lower(func, arguments.until)
    except LowerError as error:
        if error.code == "unknown-pass":
            raise
        raise RefusedError(error) from error
    print(to_script(lowered), end="", flush=True)
    return FINE


def _export(arguments: argparse.Namespace) -> int:
    notebook, schedule = _opened(arguments)
    text = _code(arguments, notebook, schedule)
    if arguments.output is None:
        print(text, end="", flush=True)
        return FINE
    return FINE if _written(arguments.output, text) else BAD_INPUT


def _written(path: str, text: str) -> bool:
    """Whether the text could be written; else why not is said on standard error."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"tilewright: cannot write {path}: {error.strerror}", file=sys.stderr)
        return False
    return True


def _code(arguments: argparse.Namespace, notebook: Notebook, schedule: Schedule) -> str:
    """The schedule in the language of `--to`; C has the given sizes as numbers, and the others as parameters."""
    if arguments.to == "tvm":
        return to_tvm_python(schedule, notebook.names, arguments.tvm, sizes=dict(arguments.size))
    func = with_sizes(schedule.func, dict(arguments.size)).func
    try:
        return to_c(func)
    except TilewrightError as error:
        raise RefusedError(error) from error


def _convert(arguments: argparse.Namespace) -> int:
    document = _notebook(arguments)
    if arguments.output is None:
        print(document.text, end="", flush=True)
    else:
        save_document(document, arguments.output)
    return FINE


def _machines(arguments: argparse.Namespace) -> int:
    print("\n".join(preset_names()), flush=True)
    return FINE


def _notebook(arguments: argparse.Namespace) -> Document:
    """The file as a notebook: one of TE text or of posted code is made one, with its schedule as calls."""
    try:
        found = converted(load_document(arguments.file), DEFAULT_MACHINE, dict(getattr(arguments, "size", ())))
    except ScheduleError as error:
        raise RefusedError(error) from error
    if found.sizes_used:
        arguments.size = []  # the program has numbers there
    say_notes(found.notes)
    if isinstance(found.stopped, ScheduleError):
        raise RefusedError(found.stopped) from found.stopped
    if found.stopped is not None:
        raise found.stopped
    return found.document


def say_notes(notes: Sequence[Note]) -> None:
    """What is to be said of the reading of a text, on standard error."""
    for note in notes:
        print(f"tilewright: note: line {note.place.line}: {note.text}", file=sys.stderr)


def _opened(arguments: argparse.Namespace) -> tuple[Notebook, Schedule]:
    """The notebook of a file with all of its lines applied; raises what is wrong in it."""
    notebook = evaluate(_notebook(arguments))
    say_notes(notebook.notes)
    if isinstance(notebook.error, ScheduleError):
        raise RefusedError(notebook.error) from notebook.error
    if notebook.error is not None:
        raise notebook.error
    assert notebook.schedule is not None, "a notebook without an error has a schedule"
    return notebook, notebook.schedule
