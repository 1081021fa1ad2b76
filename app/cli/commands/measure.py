"""`tilewright measure`: times of schedules on this computer beside the predicted ones."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ....engine.export.report_text import table
from ....engine.hwsim import Machine, load_machine
from ....engine.ir import TilewrightError, structural_equal
from ....engine.lower import with_sizes
from ....engine.measure import Candidate, Measured, Measurement, Spread, kendall_tau, measure, time_text
from ...document import branches
from ...storage.measurements import keep_measured
from ..arguments import seconds, takes_file, takes_setting
from ..exit_codes import EXIT_OK, REFUSED, RefusedError
from ..opened import Opened, opened, path_of, require_whole, simulated
from ..output import print_json, print_line, report_problem, working
from ..usage import Parser, takes_json

EXAMPLES = (
    "matmul.py",
    "matmul.py --schedules all --size M=256,K=512",
    "matmul.py --schedules steps --machine my-cpu.toml --json",
)

MACHINE = "cpu-core"

MOST_BUSY = 1.2
"""Elapsed time in units of processor time beyond which other work is reported: it also costs caches and clock."""


class Row(NamedTuple):
    """A schedule with its predicted cycles and time on the machine, None where the simulation has none."""

    measured: Measurement
    cycles: int | None
    microseconds: float | None

    @property
    def ratio(self) -> float | None:
        """Predicted time in units of the measured one."""
        warm = self.measured.warm
        return None if warm is None or self.microseconds is None else self.microseconds / warm.median


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
        "--seconds", metavar="N", type=seconds, default=10.0, help="time of all runs, without building (default: 10)"
    )


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    machine = load_machine(arguments.machine or MACHINE)
    candidates = _distinct(_candidates(found, arguments))
    with working(arguments, "building and running"):
        measured = measure(candidates, seconds=arguments.seconds, cpu=arguments.cpu)
    with working(arguments, f"simulating on {machine.name}"):
        rows = [_row(candidate, row, machine) for candidate, row in zip(candidates, measured.rows, strict=True)]
    path = Path(path_of(arguments.file))
    if path.is_file():
        keep_measured(path, [c.func for c in candidates], measured)
    if arguments.json:
        print_json(_as_json(rows, measured, machine))
    else:
        print_line(_text(rows, measured, machine))
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
    schedule = found.notebook.states[-1 if count is None else count].schedule
    return Candidate(name, with_sizes(schedule.func, found.sizes).func, schedule.layouts)


def _row(candidate: Candidate, measured: Measurement, machine: Machine) -> Row:
    try:
        cycles = simulated(candidate.func, machine).cycles
    except (RefusedError, TilewrightError):
        return Row(measured, None, None)
    return Row(measured, cycles, cycles / machine.clock_hz * 1e6 if machine.clock_hz else None)


def _order(rows: Sequence[Row]) -> float | None:
    """Kendall's tau of predicted and measured times, with at least three schedules."""
    pairs = [(row.cycles, row.measured.warm.median) for row in rows if row.cycles is not None and row.measured.warm]
    return kendall_tau([c for c, _ in pairs], [w for _, w in pairs]) if len(pairs) > 2 else None


def _as_json(rows: Sequence[Row], measured: Measured, machine: Machine) -> dict[str, object]:
    return {
        "host": msgspec.to_builtins(measured.host),
        "machine": machine.name,
        "busy": measured.busy,
        "kendall_tau": _order(rows),
        "schedules": [_row_as_json(row) for row in rows],
    }


def _row_as_json(row: Row) -> dict[str, object]:
    predicted = {"cycles": row.cycles, "predicted_us": row.microseconds, "predicted_to_measured": row.ratio}
    return {**msgspec.to_builtins(row.measured), **predicted}


def _text(rows: Sequence[Row], measured: Measured, machine: Machine) -> str:
    host = measured.host
    lines = [["", f"{machine.name} predicts", "measured", "middle 80 %", "first run", "predicted / measured", ""]]
    for row in rows:
        warm, cold = row.measured.warm, row.measured.cold
        lines.append(
            [
                row.measured.name, _time_of(row.microseconds), _time_of(warm and warm.median), _range(warm),
                _time_of(cold and cold.median), "" if row.ratio is None else f"{row.ratio:.2f}", row.measured.refusal,
            ]
        )  # fmt: skip
    text = [
        f"{host.processor}, {host.system}, {host.compiler}, {host.flags}",
        "processor time of one thread; first run: after the caches were overwritten\n",
        table(lines, right=(1, 2, 3, 4, 5)),
    ]
    order = _order(rows)
    if order is not None:
        text.append(f"\nKendall's tau of the predicted and the measured order: {order:.2f}")
    if measured.busy > MOST_BUSY:
        text.append(f"other work ran beside it ({measured.busy:.2f} times the processor time elapsed)")
    return "\n".join(text)


def _time_of(microseconds: float | None) -> str:
    return "" if microseconds is None else time_text(microseconds)


def _range(spread: Spread | None) -> str:
    return "" if spread is None else f"{time_text(spread.low)} to {time_text(spread.high)}"


__all__ = ["EXAMPLES", "add_arguments", "run"]
