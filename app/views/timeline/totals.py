"""The totals of an area of the timeline: what each engine did between two cycles, and the copies that began there."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ....engine.hwsim import Report
from ....engine.hwsim.report.metrics import traffic_of
from ...state.derived import Store
from ..labels.numbers import size_text
from ..labels.values import Answer, Value
from .causes import Cause
from .spans import Column
from .value import timeline_data


class EngineTotals(Value, frozen=True):
    """The tasks of an engine that begin in an area, its busy cycles there, and its stalled cycles by cause."""

    name: str
    tasks: int
    busy: int
    waits: dict[Cause, int]


class CopiedBytes(Value, frozen=True):
    """The bytes of a buffer that copies move from a scope to another."""

    buffer: str
    source: str
    destination: str
    bytes: str


class TotalsAnswer(Answer, frozen=True, tag="totals"):
    """The totals from cycle `start` to `end`: the engines, and the copies that begin there."""

    ticket: int
    report: int
    start: int
    end: int
    engines: list[EngineTotals]
    copies: list[CopiedBytes]


def totals_value(report: Report, store: Store, start: int, end: int, ticket: int = 0) -> TotalsAnswer:
    """The totals of an area. Counts are exact, also over repeats."""
    data = timeline_data(report, store)
    start = min(max(0, start), max(0, report.cycles - 1))
    end = min(max(start + 1, end), max(report.cycles, start + 1))
    edges = [start, end]
    busy = _between(data.busy.before(edges))
    begun = _between(data.begun_by_kind.before(edges))
    cycles = _between(data.real_time_density.before(edges))
    waits: list[Counter[Cause]] = [Counter() for _ in data.engines]
    for (what, number), amount in zip(data.bands, cycles.tolist(), strict=True):
        if what == "wait" and amount:
            kind = data.waits[number]
            waits[kind.lane][kind.cause] += amount
    tasks = Counter[str]()
    for kind, count in zip(data.kinds, begun.tolist(), strict=True):
        tasks[kind.engine] += count
    numbers = np.unique(data.line.numbers).tolist()
    copies, _ = traffic_of(report.program, {n: c for n, c in zip(numbers, begun.tolist(), strict=True) if c})
    return TotalsAnswer(
        ticket,
        id(report),
        start,
        end,
        [EngineTotals(name, tasks[name], int(busy[lane]), dict(waits[lane])) for lane, name in enumerate(data.engines)],
        [
            CopiedBytes(row.buffer, row.source, row.destination, size_text(row.bytes))
            for row in sorted(copies, key=lambda row: -row.bytes)
        ],
    )


def _between(before: Column) -> Column:
    """The amount of each band between two moments."""
    return before[1] - before[0]
