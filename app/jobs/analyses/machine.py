"""The gain from each machine parameter: each is made twice as good, and the program is simulated again."""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.hwsim import Improvement, Machine, MachineParameter, Report, ranked, trials, tried
from ....engine.ir import PrimFunc, TilewrightError
from ....engine.lower import Plan
from ...state.derived import MAX_TASKS, REPORT, Store, attempt
from ...state.model import State
from ...views.machine.sensitivity import SensitivityProgress, sensitivity_entry
from .analysis import Analysis


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
