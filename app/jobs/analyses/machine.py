"""The gain from each machine parameter, which is made twice as good, and the times of the program on this computer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....engine.hwsim import Improvement, Machine, MachineParameter, Report, ranked, trials, tried
from ....engine.ir import PrimFunc, TilewrightError
from ....engine.lower import Plan
from ....engine.measure import Candidate, Compared, measure
from ....engine.schedule import Schedule
from ...state.derived import MAX_TASKS, MEASURED, REPORT, Store, attempt, report_of, sizes_of
from ...state.model import State
from ...views.machine.sensitivity import SensitivityProgress, sensitivity_entry
from .analysis import Analysis

MEASURE_SECONDS = 3.0
"""Processor time of the runs of a measurement."""


def sensitivity_analysis(state: State, store: Store) -> Analysis | None:
    """The gain from each machine parameter, while the machine pane is open."""
    if state.pane != "machine" or state.moment is None:
        return None
    func, machine = store.costed(state, state.moment.schedule), store.machine(state)
    entry, report, plan = sensitivity_entry(func, machine), store.known(REPORT(func, machine)), store.plan(func)
    known = store.known(entry)
    if not isinstance(report, Report) or isinstance(machine, TilewrightError) or isinstance(plan, TilewrightError):
        return None
    if known is not None and known.is_complete:
        return None
    return Analysis(entry, lambda: trying(func, machine, report, plan), "pane-machine", "Simulating machine parameters")


def trying(func: PrimFunc, machine: Machine, report: Report, plan: Plan) -> Iterator[SensitivityProgress]:
    """The results after each parameter."""
    todo = trials(machine, report)
    found: list[MachineParameter] = []
    if not todo:
        yield SensitivityProgress((), 0, 0)

    def gain(trial: Improvement) -> MachineParameter | None:
        return tried(func, machine, trial, report, known_plan=plan, max_tasks=MAX_TASKS)

    for done, trial in enumerate(todo, 1):
        parameter = attempt("sensitivity", lambda trial=trial: gain(trial))
        if isinstance(parameter, MachineParameter):
            found.append(parameter)
        yield SensitivityProgress(ranked(found), done, len(todo))


def measurement_analysis(state: State, store: Store) -> Analysis | None:
    """The times of the displayed program on this computer, if they were asked for."""
    if state.pane != "machine" or state.shown is None or state.moment is None:
        return None
    schedule, machine = state.moment.schedule, store.machine(state)
    if state.measured is not schedule.func or isinstance(machine, TilewrightError):
        return None
    sizes = sizes_of(state, schedule.func)
    entry = MEASURED(schedule.func, sizes, machine)
    if store.has(entry):
        return None
    start = state.shown.states[0].schedule

    def pieces() -> Iterator[Compared | TilewrightError]:
        yield timed(start, schedule, sizes, machine)

    return Analysis(entry, pieces, "pane-machine", "Building and running with TVM")


def timed(
    start: Schedule, schedule: Schedule, sizes: Mapping[str, int], machine: Machine
) -> Compared | TilewrightError:
    """The times of a program before and after a schedule beside those that the machine predicts, or why there are none."""
    named = {"start": start} if schedule.func is start.func else {"start": start, "now": schedule}
    try:
        candidates = [Candidate.of(name, schedule, sizes) for name, schedule in named.items()]
        measured = measure(candidates, seconds=MEASURE_SECONDS)
    except TilewrightError as error:
        return error
    reports = [report_of(candidate.func, machine) for candidate in candidates]
    cycles = tuple(report.cycles if isinstance(report, Report) else None for report in reports)
    return Compared(measured, machine.name, machine.clock_hz, cycles)
