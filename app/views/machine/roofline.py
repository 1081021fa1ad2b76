"""The roofline: the machine's roofs, and the program's points at the start, before the last step, and now."""

from __future__ import annotations

from collections.abc import Sequence

from ....engine.hwsim import DmaEngine, Machine, Report, operations_per_cycle
from ....engine.ir import TilewrightError
from ...state.derived import Store
from ...state.model import State
from ..labels.numbers import grouped, percent_text
from ..labels.values import Value


class EngineRoof(Value, frozen=True):
    """The peak operations per cycle of a compute engine, of all cores; one with tasks is `used`."""

    name: str
    peak: float
    used: bool


class MemorySlope(Value, frozen=True):
    """The bandwidth of the largest memory."""

    name: str
    bytes_per_cycle: float


class RooflinePoint(Value, frozen=True):
    """A version of the program: `x` operations per byte of the largest memory, `y` operations per cycle, `share` of its `roof`."""

    key: str
    label: str
    x: float
    y: float
    roof: float
    share: float
    operations: str
    bytes: str
    cycles: str


class Roofline(Value, frozen=True, kw_only=True):
    """The machine's roofs and the program's points; those without operations or without bytes are left out. `ridge` is the x of the highest
    roof's end, `words` is a sentence about the present point."""

    roofs: Sequence[EngineRoof] = ()
    slope: MemorySlope | None = None
    points: Sequence[RooflinePoint] = ()
    ridge: float | None = None
    clock_hz: int = 0
    note: str
    words: str = ""


def roofline_value(state: State, store: Store) -> Roofline:
    """The roofline of the displayed program, or the reason why there is none."""
    report, machine = store.known_report(state), store.machine(state)
    if state.shown is None or isinstance(machine, TilewrightError) or not isinstance(report, Report):
        return Roofline(note=store.no_report(state))
    return value_of(machine, _reports(state, store, report))


def value_of(machine: Machine, versions: Sequence[tuple[str, str, Report]]) -> Roofline:
    """The roofline of versions of a program: (key, label, report) of each, the present one last."""
    points = [_point(key, label, found) for key, label, found in versions]
    shown = [p for p in points if p.x > 0 and p.y > 0]
    report = versions[-1][2]
    peak, width = report.roofline.peak_operations_per_cycle, report.roofline.bytes_per_cycle
    return Roofline(
        roofs=_roofs(machine, report),
        slope=MemorySlope(machine.far.name, width),
        points=shown,
        ridge=peak / width if peak and width else None,
        clock_hz=machine.clock_hz,
        note="" if shown else "The program has no operations, or does not access the largest memory",
        words=_words(report) if shown else "",
    )


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


def _point(key: str, label: str, report: Report) -> RooflinePoint:
    line = report.roofline
    share = line.attained / line.roof if line.roof else 0.0
    texts = map(grouped, (line.operations, line.bytes, line.cycles))
    return RooflinePoint(key, label, line.intensity, line.attained, line.roof, share, *texts)


def _roofs(machine: Machine, report: Report) -> list[EngineRoof]:
    return [
        EngineRoof(e.name, machine.cores * operations_per_cycle(e), bool(report.engines[e.name].tasks))
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
    cores = f", all {grouped(report.chip.cores)} cores" if report.chip is not None else ""
    return f"{limit}: {line.attained:.4g} of {line.roof:.4g} operations per cycle ({near}{cores})"
