"""The timeline after a drop, in a range of cycles: the work of each engine and the live bytes of each on-chip memory."""

from __future__ import annotations

from ....engine.hwsim import Report
from ...state.derived import Store
from ..labels.values import Answer
from .lanes import EngineWork, lanes_of
from .value import timeline_data
from .window import MemoryLine, memory_lines


class TimelineAfter(Answer, frozen=True, tag="timeline_after"):
    """The run after a drop of `rows` on `loop`, of so many `cycles`: from `start` to `end` the work by engine, and
    the bytes by the scope of the memory."""

    rows: tuple[str, ...]
    loop: str
    primitive: str
    cycles: int
    start: int
    end: int
    lanes: dict[str, EngineWork]
    bytes: dict[str, MemoryLine]


def timeline_after(
    drop: tuple[tuple[str, ...], str, str], report: Report, store: Store, start: int, end: int
) -> TimelineAfter:
    """The timeline of the report after a drop: its rows, loop and primitive."""
    end = min(end, report.cycles)
    if start >= end:
        return TimelineAfter(*drop, report.cycles, start, end, {}, {})
    data = timeline_data(report, store)
    lines = dict(zip(data.rows, memory_lines(data, data.time_map, start, end), strict=False))
    return TimelineAfter(*drop, report.cycles, start, end, lanes_of(data, data.colours, start, end), lines)
