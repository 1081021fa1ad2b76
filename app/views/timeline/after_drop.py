"""The timeline after a drop, in a range of cycles: the work of each engine and the live bytes of each on-chip memory."""

from __future__ import annotations

from typing import Any

from ....engine.hwsim import Report
from ...state.derived import Store
from .lanes import Colours, lanes_of
from .value import timeline_data
from .window import memory_lines


def timeline_after(report: Report, store: Store, colours: Colours, start: int, end: int) -> dict[str, Any]:
    """`cycles` of the run, `lanes` by engine from `start` to `end`, and `bytes`, the line of each memory by its scope."""
    end = min(end, report.cycles)
    found: dict[str, Any] = {"cycles": report.cycles, "start": start, "end": end, "lanes": {}, "bytes": {}}
    if start >= end:
        return found
    data = timeline_data(report, store)
    lines = memory_lines(data, data.time_map, start, end)
    return found | {"lanes": lanes_of(report, colours, start, end), "bytes": dict(zip(data.rows, lines, strict=True))}
