"""Sensitivity of the cycles to each machine parameter, and a sentence that names the limiting parameter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ....engine.hwsim import Improvement, Machine, MachineParameter, Report, ranked, trials, tried
from ....engine.ir import PrimFunc, TilewrightError
from ....engine.lower import Plan
from ...actions.machine_parameters import meaning_of
from ...state.derived import MAX_TASKS, Store, attempt
from ...state.model import State
from ..labels.numbers import change_of, grouped, percent_text
from .parameters import spoken

LEAST = 0.01
"""The smallest saved share of the cycles for which a parameter counts as limiting."""


MOST = 4
"""The number of parameters listed at the head of the panel."""


class SensitivityProgress(msgspec.Struct, frozen=True):
    """The results of the parameters tried up to now, each made twice as good: `done` of `total`."""

    parameters: tuple[MachineParameter, ...]
    done: int
    total: int

    @property
    def is_complete(self) -> bool:
        return self.done == self.total


def trying(func: PrimFunc, machine: Machine, report: Report, plan: Plan) -> Iterator[SensitivityProgress]:
    """The results after each parameter. Each needs a simulation, so run this outside the server's event loop thread."""
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


def tried_now(state: State, store: Store) -> SensitivityProgress | None:
    """The current sensitivity results of the displayed program; None before the first one."""
    if state.moment is None:
        return None
    return store.known("sensitivity", (store.costed(state, state.moment.schedule), store.machine(state)))


def limit_value(found: SensitivityProgress | None, report: Report | TilewrightError | None) -> dict[str, Any]:
    """The limit: text, detail, path of the limiting parameter ("" for none), done and total."""
    if not isinstance(report, Report):
        return _limit("The machine cannot run the program", "" if report is None else report.refusal.message)
    if report.unknown is not None:
        return _limit("The limit is unknown", report.unknown.reason)
    if found is None or not found.is_complete:
        done, total = (found.done, found.total) if found is not None else (0, 0)
        return _limit(
            "Simulating with each parameter improved…", f"{done} of {total}" if total else "", done=done, total=total
        )
    best = found.parameters[0] if found.parameters else None
    if best is None or best.saved < LEAST * report.cycles:
        return _limit(
            "No single parameter limits this program",
            f"Improving one of the {found.total} parameters by a factor of two saves less than {percent_text(LEAST)} of the cycles",
        )
    alike = [k for k in found.parameters[1:] if k.saved == best.saved]
    also = f"; {', '.join(name_of(k) for k in alike)} would save the same" if alike else ""
    text, _ = change_of(report.cycles, best.cycles)
    detail = (
        f"With {spoken(field_of(best), best.better)} instead of {spoken(field_of(best), best.value)}: "
        f"{grouped(best.cycles)} cycles, {text}{also}"
    )
    return _limit(f"{name_of(best)} limits this program", detail, best.path)


def gain_value(parameter: MachineParameter, cycles: int) -> dict[str, Any]:
    """The gain of one parameter: better (value with unit), change, trend, share (of all cycles), hint."""
    text, trend = change_of(cycles, parameter.cycles)
    better = spoken(field_of(parameter), parameter.better)
    return {
        "better": better,
        "change": text,
        "trend": trend,
        "share": parameter.saved / cycles if cycles else 0.0,
        "hint": f"With {better}: {grouped(parameter.cycles)} cycles instead of {grouped(cycles)}",
    }


def _limit(text: str, detail: str = "", path: str = "", done: int = 0, total: int = 0) -> dict[str, Any]:
    return {"text": text, "detail": detail, "path": path, "done": done, "total": total}


def sensitivities(found: SensitivityProgress | None, report: Report | TilewrightError | None) -> list[dict[str, Any]]:
    """The parameters with the largest gain, at most MOST: path, name and the fields of `gain_value`."""
    if found is None or not isinstance(report, Report):
        return []
    return [
        {"path": k.path, "name": name_of(k), **gain_value(k, report.cycles)}
        for k in found.parameters[:MOST]
        if k.saved > 0
    ]


def field_of(parameter: MachineParameter) -> str:
    return parameter.path.rpartition(".")[2]


def name_of(parameter: MachineParameter) -> str:
    """The parameter's name, such as "read bandwidth of ddr"."""
    part = parameter.path.split(".")[-2]
    return f"{meaning_of(field_of(parameter)).label} of {part}"
