"""The totals of an area of the timeline: what each engine did between two cycles, and the copies that began there."""

from __future__ import annotations

import numpy as np

from ....engine.hwsim import Report
from ....engine.hwsim.report.metrics import traffic_of
from ...state.derived import Store
from ..labels.numbers import size_text
from ..labels.values import Answer, Value
from .causes import Cause
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
    begun = data.begun_by_kind.before([start, end])
    counts = (begun[1] - begun[0]).tolist()
    numbers = np.unique(data.line.numbers).tolist()
    copies, _ = traffic_of(report.program, {n: c for n, c in zip(numbers, counts, strict=True) if c})
    return TotalsAnswer(
        ticket,
        id(report),
        start,
        end,
        [EngineTotals(name, *work) for name, work in zip(data.engines, data.work_between(start, end), strict=True)],
        [
            CopiedBytes(row.buffer, row.source, row.destination, size_text(row.bytes))
            for row in sorted(copies, key=lambda row: -row.bytes)
        ],
    )
