"""Two runs on one scale: for each engine its work in A, below it in B, as a bar for each task if they fit, else as its busy share of each
short stretch, by buffer. Below them the live bytes of each memory.
"""

from __future__ import annotations

from ..labels.numbers import size_text
from ..labels.palette import Colours
from ..labels.values import Value
from ..timeline.data import TimelineData
from ..timeline.lanes import EngineWork, lanes_of, live_levels
from ..timeline.value import HEADROOM, NEARLY_EMPTY


class OverlaidEngine(Value, frozen=True):
    """The work of an engine in A and in B."""

    name: str
    a: EngineWork
    b: EngineWork


class OverlaidMemory(Value, frozen=True):
    """The most live bytes of a memory in each stretch, as parts of the height; `limit` is the capacity's height, 0 if beyond the scale."""

    name: str
    a: list[float]
    b: list[float]
    limit: float
    words: str
    over: bool


class Overlay(Value, frozen=True, kw_only=True):
    """Two runs on one scale: the cycles of both, the longest, and the visible cycles from `start` to `end`; without
    both reports only a note."""

    engines: list[OverlaidEngine]
    memories: list[OverlaidMemory]
    note: str
    cycles: tuple[int, int] = (0, 0)
    longest: int = 0
    start: int = 0
    end: int = 0


def overlay_value(a: TimelineData, b: TimelineData, colours: Colours, span: tuple[float, float] | None) -> Overlay:
    """The engines with work in either run, and the on-chip memories that either uses."""
    cycles = a.report.cycles, b.report.cycles
    longest = max(*cycles, 1)
    start, end = (0, longest) if span is None else (max(0, int(span[0])), min(longest, int(span[1]) + 1))
    end = max(end, start + 1)
    names = list(dict.fromkeys((*a.engines, *b.engines)))
    lanes_a, lanes_b = (lanes_of(data, colours, start, end) for data in (a, b))
    nothing = EngineWork([], [])
    return Overlay(
        cycles=cycles,
        longest=longest,
        start=start,
        end=end,
        engines=[OverlaidEngine(n, lanes_a.get(n, nothing), lanes_b.get(n, nothing)) for n in names],
        memories=_memories(a, b, start, end),
        note="",
    )


def _memories(a: TimelineData, b: TimelineData, start: int, end: int) -> list[OverlaidMemory]:
    used = [
        name
        for name in dict.fromkeys((*a.report.memory, *b.report.memory))
        if any(name in x.rows and x.report.memory[name].peak_live_bytes for x in (a, b))
    ]
    return [_memory(name, a, b, start, end) for name in used]


def _memory(name: str, a: TimelineData, b: TimelineData, start: int, end: int) -> OverlaidMemory:
    found = [data.report.memory.get(name) for data in (a, b)]
    peaks = [memory.peak_live_bytes if memory is not None else 0 for memory in found]
    capacities = [memory.capacity_bytes for memory in found if memory is not None]
    near = NEARLY_EMPTY * max(peaks) >= min(capacities)
    scale = max(*peaks, *capacities) if near else HEADROOM * max(peaks)
    levels_a, levels_b = (live_levels(data, name, start, end, scale) for data in (a, b))
    most = f"peak {size_text(peaks[0])} in A, {size_text(peaks[1])} in B"
    words = f"{name.removeprefix('local.')}: {most}; capacity {size_text(min(capacities))}"
    limit = min(capacities) / scale if near else 0
    return OverlaidMemory(name.removeprefix("local."), levels_a, levels_b, limit, words, max(peaks) > min(capacities))
