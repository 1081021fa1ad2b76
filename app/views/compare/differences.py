"""The differences of two reports as a table: figure by figure A, B, and the change with a sign and a word for better or worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from ....engine.hwsim import Report
from ..labels.fitness import cycle_count, effect_of
from ..labels.numbers import THIN_SPACE, change_of, grouped, percent_text, size_text
from ..labels.values import Trend, Value
from ..timeline.causes import CAUSES


class DifferenceLine(Value, frozen=True):
    """A figure of A and of B, and its change."""

    label: str
    a: str
    b: str
    change: str
    trend: Trend
    hint: str


class DifferenceGroup(Value, frozen=True):
    """Figures of one kind."""

    title: str
    lines: list[DifferenceLine]


def difference_table(a: Report, b: Report) -> list[DifferenceGroup]:
    """The figures that differ, in groups. Lines where neither has anything are left out."""
    groups = (
        ("Time", _time(a, b)),
        ("Peak memory use", _counts(_peaks(a), _peaks(b), size_text)),
        ("Bytes copied", _counts(_copied(a), _copied(b), size_text, in_all=True)),
        ("Engine accesses", _counts(_accessed(a), _accessed(b), size_text, in_all=True)),
        ("Energy", _energies(a, b)),
        ("Stalls, by cause", _counts(_waits(a), _waits(b), grouped, in_all=True)),
        ("Bank conflicts", _counts(_conflicts(a), _conflicts(b), grouped, in_all=True)),
    )
    found = [DifferenceGroup(title, list(lines)) for title, lines in groups]
    return [group for group in found if group.lines]


def _line(label: str, a: str, b: str, change: tuple[str, Trend], hint: str = "") -> DifferenceLine:
    return DifferenceLine(label, a, b, *change, hint)


def _time(a: Report, b: Report) -> Iterator[DifferenceLine]:
    yield _line("Cycles", cycle_count(a), cycle_count(b), effect_of(a, b))
    hint = "Lower bound on the cycles of these tasks"
    yield _line("Bound", grouped(a.bound), grouped(b.bound), change_of(a.bound, b.bound), hint)
    yield _line(
        "Overlap",
        percent_text(a.overlap),
        percent_text(b.overlap),
        points(a.overlap, b.overlap),
        "Share of the copy time that overlaps with computation",
    )
    names = [name for name in dict.fromkeys((*a.engines, *b.engines)) if _busy(a, name) or _busy(b, name)]
    for name in names:
        before, after = _busy(a, name), _busy(b, name)
        change: tuple[str, Trend] = (
            _change(before, after)[0],
            "same",
        )  # work that goes to another engine is neither better nor worse
        yield _line(f"{name} busy", grouped(before), grouped(after), change, "Busy cycles")


def points(a: float, b: float) -> tuple[str, Trend]:
    """A change of a part of the whole, in per cent of the whole; more is better."""
    difference = round(100 * b) - round(100 * a)
    if not difference:
        return "±0", "same"
    sign = "+" if difference > 0 else "−"
    return f"{sign}{abs(difference)}{THIN_SPACE}pts", "better" if difference > 0 else "worse"


def _busy(report: Report, engine: str) -> int:
    return report.engines[engine].busy if engine in report.engines else 0


def _counts(
    a: Mapping[str, int], b: Mapping[str, int], text: Callable[[int], str], *, in_all: bool = False
) -> Iterator[DifferenceLine]:
    """A line for each name that has something on either side; less is better. With several lines, their sum comes first if it means
    something."""
    names = [name for name in dict.fromkeys((*a, *b)) if a.get(name) or b.get(name)]
    if in_all and len(names) > 1:
        before, after = sum(a.values()), sum(b.values())
        yield _line("total", text(before), text(after), _change(before, after))
    for name in names:
        before, after = a.get(name, 0), b.get(name, 0)
        yield _line(name, text(before), text(after), _change(before, after))


def _change(before: int, after: int) -> tuple[str, Trend]:
    """The change and its trend; a figure that appears or disappears is neutral, since another may replace it."""
    text, trend = change_of(before, after)
    return text, trend if before and after else "same"


def _peaks(report: Report) -> dict[str, int]:
    return {name: memory.peak_bytes for name, memory in report.memory.items() if memory.scope != "global"}


def _copied(report: Report) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in report.traffic:
        found[f"{row.source} → {row.destination}".replace("local.", "")] += row.bytes
    return found


def _accessed(report: Report) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in report.accesses:
        found[f"{row.engine} in {row.scope.removeprefix('local.')}"] += row.read_bytes + row.written_bytes
    return found


def _energies(a: Report, b: Report) -> Iterator[DifferenceLine]:
    """The whole, and each part of it."""
    parts = list(dict.fromkeys((*a.energy, *b.energy)))
    pairs: Iterable[tuple[str, float, float]] = (
        ("total", a.energy_pj, b.energy_pj),
        *((name, a.energy.get(name, 0.0), b.energy.get(name, 0.0)) for name in parts),
    )
    for name, before, after in pairs:
        if before or after:
            yield _line(name, energy_text(before), energy_text(after), _change(round(before), round(after)))


def energy_text(picojoules: float) -> str:
    """`1.24 µJ`."""
    for unit, scale in (("mJ", 1e9), ("µJ", 1e6), ("nJ", 1e3)):
        if picojoules >= scale:
            return f"{picojoules / scale:.3g}{THIN_SPACE}{unit}"
    return f"{picojoules:.3g}{THIN_SPACE}pJ"


def _waits(report: Report) -> dict[str, int]:
    """Cycles of all engines that have work."""
    engines = [engine for engine in report.engines.values() if engine.tasks]
    return {its.title: sum(engine.stall.get(cause, 0) for engine in engines) for cause, its in CAUSES.items()}


def _conflicts(report: Report) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in report.conflicts:
        found[f"{row.block} in {row.memory}"] += row.cycles
    return found
