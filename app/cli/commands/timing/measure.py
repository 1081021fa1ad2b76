"""`tilewright measure`: times of schedules on this computer beside the predicted ones."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from .....engine.hwsim import Machine, load_machine
from .....engine.ir import TilewrightError, structural_equal
from .....engine.measure import Candidate, Compared, measure
from .....engine.measure.ports import level_time, port_times
from .....engine.measure.remote import RemoteDevice
from ....document import branches
from ....storage.measurements import keep_measured
from ...arguments import seconds, takes_file, takes_setting
from ...exit_codes import EXIT_OK, REFUSED, RefusedError
from ...measured_table import measured_json, measured_text
from ...opened import Opened, opened, path_of, require_whole, simulated
from ...output import print_json, print_line, report_problem, working
from ...usage import Parser, takes_json

EXAMPLES = (
    "matmul.py",
    "matmul.py --schedules all --size M=256,K=512",
    "matmul.py --schedules steps --machine my-cpu.toml --json",
    "matmul.py --ports",
)

MACHINE = "cpu-core"


def add_arguments(parser: Parser) -> None:
    takes_file(parser)
    takes_setting(parser)
    takes_json(parser, "the times")
    parser.add_argument(
        "--schedules", choices=("branch", "all", "steps"), default="branch",
        help="what is measured beside the program before the schedule: the current branch, all branches, or the schedule after each step",
    )  # fmt: skip
    parser.add_argument(
        "--cpu",
        metavar="NAME",
        default="",
        help="the processor to build for, by LLVM's name: znver2 (default: this one)",
    )
    parser.add_argument(
        "--ports",
        action="store_true",
        help="predict from the compiled code, too: llvm-mca's cycles for the path that a program takes (needs llvm-mca), and with "
        "--machine the traffic between its caches",
    )
    parser.add_argument(
        "--remote",
        metavar="KEY@HOST:PORT",
        default="",
        help="run on a device of a TVM tracker instead of this computer; programs are built here",
    )
    parser.add_argument(
        "--target",
        metavar="OPTIONS",
        default="",
        help='LLVM\'s options for the remote device: "-mtriple=aarch64-linux-gnu -mcpu=cortex-a72" (default: as this computer)',
    )
    parser.add_argument(
        "--wait", metavar="N", type=seconds, default=120.0,
        help="time for all of a remote measurement, waiting for the device included (default: 120)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", metavar="N", type=seconds, default=10.0, help="time of all runs, without building (default: 10)"
    )


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    machine = load_machine(arguments.machine or MACHINE)
    candidates = _distinct(_candidates(found, arguments))
    with working(arguments, "building and running"):
        remote = RemoteDevice.of(arguments.remote, arguments.target, arguments.wait) if arguments.remote else None
        measured = measure(
            candidates, seconds=arguments.seconds, cpu=arguments.cpu, with_assembly=arguments.ports, remote=remote
        )
    with working(arguments, f"simulating on {machine.name}"):
        cycles = tuple(_cycles(candidate, machine) for candidate in candidates)
    ports: tuple[float | str, ...] = ()
    if arguments.ports:
        with working(arguments, "following the compiled code"):
            ports = port_times(measured)
        if arguments.machine:
            # A machine file of `tilewright calibrate` has the bandwidth of each memory level.
            ports = tuple(
                max(each, level_time(candidate.func, machine)) if isinstance(each, float) else each
                for each, candidate in zip(ports, candidates, strict=True)
            )
        measured = replace(measured, rows=tuple(replace(row, assembly="") for row in measured.rows))
    compared = Compared(measured, machine.name, machine.clock_hz, cycles, ports)
    path = Path(path_of(arguments.file))
    if path.is_file():
        keep_measured(path, [c.func for c in candidates], measured)
    if arguments.json:
        print_json(measured_json(compared))
    else:
        print_line(measured_text(compared))
    for row in measured.rows:
        if row.difference:
            report_problem(f"{row.name} has other results than {measured.rows[0].name}: {row.difference}")
    return REFUSED if any(row.difference or row.refusal for row in measured.rows) else EXIT_OK


def _candidates(found: Opened, arguments: Namespace) -> Iterator[Candidate]:
    """Yield the program before the schedule, then the requested schedules."""
    states = found.notebook.states
    yield _candidate("start", found, 0)
    if arguments.schedules == "steps":
        last = len(states) - 1 if found.count is None else found.count
        for count in range(1, last + 1):
            yield _candidate(f"step {count}", found, count)
        return
    known = branches(found.notebook.document) if arguments.schedules == "all" else ()
    if not known:
        if len(states) > 1:
            yield _candidate("schedule", found, found.count)
        return
    require_whole(arguments.file, found.count, "--schedules all")
    for branch in known:
        on_branch = found if branch.current else opened(f"{arguments.file}@{branch.name}", arguments)
        yield _candidate(branch.name, on_branch, None)


def _distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without those whose program an earlier one has: steps that find a block or loop change nothing."""
    found: list[Candidate] = []
    for candidate in candidates:
        if all(not structural_equal(candidate.func, other.func) for other in found):
            found.append(candidate)
    return found


def _candidate(name: str, found: Opened, count: int | None) -> Candidate:
    return Candidate.of(name, found.notebook.states[-1 if count is None else count].schedule, found.sizes)


def _cycles(candidate: Candidate, machine: Machine) -> int | None:
    try:
        return simulated(candidate.func, machine).cycles
    except (RefusedError, TilewrightError):
        return None


__all__ = ["EXAMPLES", "add_arguments", "run"]
