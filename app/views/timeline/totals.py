"""The totals of an area of the timeline: what each engine did between two cycles, and the copies that began there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ....engine.hwsim import Report
from ....engine.hwsim.report.metrics import traffic_of
from ...state.derived import Store
from ..labels.numbers import size_text
from .data import Column
from .value import timeline_data


def totals_value(report: Report, store: Store, start: int, end: int) -> dict[str, Any]:
    """From cycle `start` to `end`: for each engine the tasks that begin, busy cycles and stalls by cause; the bytes of the copies that
    begin, by buffer and scopes. Counts are exact, also over repeats."""
    data = timeline_data(report, store)
    start = min(max(0, start), max(0, report.cycles - 1))
    end = min(max(start + 1, end), max(report.cycles, start + 1))
    edges = [start, end]
    busy = _between(data.busy.before(edges))
    begun = _between(data.begun_by_kind.before(edges))
    cycles = _between(data.real_time_density.before(edges))
    waits: list[Counter[str]] = [Counter() for _ in data.engines]
    for (what, number), amount in zip(data.bands, cycles.tolist(), strict=True):
        if what == "wait" and amount:
            kind = data.waits[number]
            waits[kind.lane][kind.cause] += amount
    tasks = Counter[str]()
    for kind, count in zip(data.kinds, begun.tolist(), strict=True):
        tasks[kind.engine] += count
    numbers = np.unique(data.line.numbers).tolist()
    copies, _ = traffic_of(report.program, {n: c for n, c in zip(numbers, begun.tolist(), strict=True) if c})
    return {
        "start": start,
        "end": end,
        "engines": [
            {"name": name, "tasks": tasks[name], "busy": int(busy[lane]), "waits": dict(waits[lane])}
            for lane, name in enumerate(data.engines)
        ],
        "copies": [
            {"buffer": row.buffer, "source": row.source, "destination": row.destination, "bytes": size_text(row.bytes)}
            for row in sorted(copies, key=lambda row: -row.bytes)
        ],
    }


def _between(before: Column) -> Column:
    """The amount of each band between two moments."""
    return before[1] - before[0]
