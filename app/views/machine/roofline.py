"""The roofline: the machine's roofs, and the program's points at the start, before the last step, and now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....engine.hwsim import DmaEngine, Machine, Report, operations_per_cycle
from ....engine.ir import TilewrightError
from ...state.derived import Store
from ...state.model import State
from ..labels.blank import blank_value
from ..labels.numbers import grouped, percent_text
from .traffic import traffic_value

Value = dict[str, Any]

BLANK = "This pane shows the bytes copied between memories, their lower bounds, and the roofline."


def pictures_value(state: State, store: Store) -> Value:
    """The value of the traffic pane: traffic and roofline, or the reason why there are none."""
    return {
        "traffic": traffic_value(state, store),
        "roofline": roofline_value(state, store),
        "blank": blank_value(state, store, BLANK),
    }


def roofline_value(state: State, store: Store) -> Value:
    """The roofline's value: flat roofs {name, peak, used}; slope {name, bytes_per_cycle}; points {key, label, x, y, …}; ridge, clock_hz,
    note, words.

    x is operations per byte of the largest memory, y operations per cycle. Points without operations or without bytes are left out.
    """
    report, machine = store.report_now(state), store.machine(state)
    if state.shown is None or isinstance(machine, TilewrightError) or not isinstance(report, Report):
        note = store.no_report(state)
        return {"roofs": [], "slope": None, "points": [], "ridge": None, "clock_hz": 0, "note": note}
    return value_of(machine, _reports(state, store, report))


def value_of(machine: Machine, versions: Sequence[tuple[str, str, Report]]) -> Value:
    """The roofline of versions of a program: (key, label, report) of each, the present one last."""
    points = [_point(key, label, found) for key, label, found in versions]
    shown = [p for p in points if p["x"] > 0 and p["y"] > 0]
    report = versions[-1][2]
    peak, width = report.roofline.peak_operations_per_cycle, report.roofline.bytes_per_cycle
    return {
        "roofs": _roofs(machine, report),
        "slope": {"name": machine.far.name, "bytes_per_cycle": width},
        "points": shown,
        "ridge": peak / width if peak and width else None,
        "clock_hz": machine.clock_hz,
        "note": "" if shown else "The program has no operations, or does not access the largest memory",
        "words": _words(report) if shown else "",
    }


def _reports(state: State, store: Store, now: Report) -> list[tuple[str, str, Report]]:
    """The available reports; those of earlier states are simulated after the paint."""
    assert state.shown is not None
    moments = [("start", "original program", state.shown.states[0]), ("before", "before the last step", state.before)]
    found: list[tuple[str, str, Report]] = []
    for key, label, moment in moments:
        if moment is None:
            continue
        report = store.known_report(state, moment.schedule)
        if isinstance(report, Report) and report is not now and all(report is not r for _, _, r in found):
            found.append((key, label, report))
    return [*found, ("now", "now", now)]


def _point(key: str, label: str, report: Report) -> Value:
    line = report.roofline
    return {
        "key": key,
        "label": label,
        "x": line.intensity,
        "y": line.attained,
        "roof": line.roof,
        "share": line.attained / line.roof if line.roof else 0.0,
        "operations": grouped(line.operations),
        "bytes": grouped(line.bytes),
        "cycles": grouped(line.cycles),
    }


def _roofs(machine: Machine, report: Report) -> list[Value]:
    """The compute engines with their peak operations per cycle; engines with tasks are `used`."""
    return [
        {"name": e.name, "peak": operations_per_cycle(e), "used": bool(report.engines[e.name].tasks)}
        for e in machine.engines
        if not isinstance(e, DmaEngine)
    ]


def _words(report: Report) -> str:
    """A sentence on the roof above the program and the attained share of it."""
    line = report.roofline
    is_slope = line.intensity * line.bytes_per_cycle < line.peak_operations_per_cycle
    limit = "Bandwidth bound" if is_slope else "Compute bound"
    share = line.attained / line.roof if line.roof else 0.0
    near = f"{100 * share:.2g} %" if share < 0.1 else percent_text(share)
    return f"{limit}: {line.attained:.4g} of {line.roof:.4g} operations per cycle ({near})"
