"""Sensitivity of the cycles to each machine parameter, and a sentence that names the limiting parameter."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict

from ....engine.hwsim import Machine, MachineParameter, Report
from ....engine.ir import PrimFunc, TilewrightError
from ...actions.machine_parameters import meaning_of
from ...state.derived import Store
from ...state.entries import Derived, Entry
from ...state.model import State
from ..labels.numbers import change_of, grouped, percent_text
from ..labels.values import Trend, Value
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


class MachineLimit(Value, frozen=True):
    """The parameter at `path` that limits the program, "" for none; `done` of `total` while the parameters are tried."""

    text: str
    detail: str = ""
    path: str = ""
    done: int = 0
    total: int = 0


class ParameterGain(Value, frozen=True, kw_only=True):
    """The gain of a parameter that is made twice as good: its `better` value, and the saved `share` of all cycles; `width` is that share
    relative to the largest one."""

    better: str
    change: str
    trend: Trend
    share: float
    hint: str
    width: float = 0.0


class SensitiveParameter(ParameterGain, frozen=True, kw_only=True):
    """A parameter with its gain."""

    path: str
    name: str


_SENSITIVITY = Derived[SensitivityProgress]("sensitivity")


def sensitivity_entry(func: PrimFunc, machine: Machine | TilewrightError) -> Entry[SensitivityProgress]:
    """The entry of the results for a program with sizes on a machine."""
    return _SENSITIVITY(func, machine)


def tried_now(state: State, store: Store) -> SensitivityProgress | None:
    """The current sensitivity results of the displayed program; None before the first one."""
    if state.moment is None:
        return None
    return store.known(sensitivity_entry(store.costed(state, state.moment.schedule), store.machine(state)))


def limit_value(found: SensitivityProgress | None, report: Report | TilewrightError | None) -> MachineLimit:
    """What limits the program, as far as it is known."""
    if not isinstance(report, Report):
        return MachineLimit("The machine cannot run the program", "" if report is None else report.refusal.message)
    if report.unknown is not None:
        return MachineLimit("The limit is unknown", report.unknown.reason)
    if found is None or not found.is_complete:
        done, total = (found.done, found.total) if found is not None else (0, 0)
        return MachineLimit(
            "Simulating with each parameter improved…", f"{done} of {total}" if total else "", done=done, total=total
        )
    best = found.parameters[0] if found.parameters else None
    if best is None or best.saved < LEAST * report.cycles:
        return MachineLimit(
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
    return MachineLimit(f"{name_of(best)} limits this program", detail, best.path)


def gain_value(parameter: MachineParameter, cycles: int) -> ParameterGain:
    """The gain of one parameter."""
    text, trend = change_of(cycles, parameter.cycles)
    better = spoken(field_of(parameter), parameter.better)
    hint = f"With {better}: {grouped(parameter.cycles)} cycles instead of {grouped(cycles)}"
    share = parameter.saved / cycles if cycles else 0.0
    return ParameterGain(better=better, change=text, trend=trend, share=share, hint=hint)


def sensitivities(
    found: SensitivityProgress | None, report: Report | TilewrightError | None
) -> list[SensitiveParameter]:
    """The parameters with the largest gain, at most MOST."""
    if found is None or not isinstance(report, Report):
        return []
    return [
        SensitiveParameter(path=k.path, name=name_of(k), **asdict(gain_value(k, report.cycles)))
        for k in found.parameters[:MOST]
        if k.saved > 0
    ]


def field_of(parameter: MachineParameter) -> str:
    return parameter.path.rpartition(".")[2]


def name_of(parameter: MachineParameter) -> str:
    """The parameter's name, such as "read bandwidth of ddr"."""
    part = parameter.path.split(".")[-2]
    return f"{meaning_of(field_of(parameter)).label} of {part}"
