"""Two runs on one scale: for each engine its work in A, below it in B, as a bar for each task if they fit, else as its busy share of each
short stretch, by buffer. Below them the live bytes of each memory.
"""

from __future__ import annotations

from ....engine.hwsim import Report
from ..labels.numbers import size_text
from ..labels.values import Value
from ..timeline.lanes import Colours, EngineWork, lanes_of, live_levels
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


def overlay_value(a: Report, b: Report, colours: Colours, span: tuple[float, float] | None) -> Overlay:
    """The engines with work in either run, and the on-chip memories that either uses."""
    longest = max(a.cycles, b.cycles, 1)
    start, end = (0, longest) if span is None else (max(0, int(span[0])), min(longest, int(span[1]) + 1))
    end = max(end, start + 1)
    names = [n for n in dict.fromkeys((*a.engines, *b.engines)) if _works(a, n) or _works(b, n)]
    lanes_a, lanes_b = (lanes_of(report, colours, start, end) for report in (a, b))
    nothing = EngineWork([], [])
    return Overlay(
        cycles=(a.cycles, b.cycles),
        longest=longest,
        start=start,
        end=end,
        engines=[OverlaidEngine(n, lanes_a.get(n, nothing), lanes_b.get(n, nothing)) for n in names],
        memories=_memories(a, b, start, end),
        note="",
    )


def _memories(a: Report, b: Report, start: int, end: int) -> list[OverlaidMemory]:
    used = [
        name
        for name in dict.fromkeys((*a.memory, *b.memory))
        if any(name in r.memory and r.memory[name].peak_live_bytes and r.memory[name].scope != "global" for r in (a, b))
    ]
    return [_memory(name, a, b, start, end) for name in used]


def _memory(name: str, a: Report, b: Report, start: int, end: int) -> OverlaidMemory:
    found = [report.memory.get(name) for report in (a, b)]
    peaks = [memory.peak_live_bytes if memory is not None else 0 for memory in found]
    capacities = [memory.capacity_bytes for memory in found if memory is not None]
    near = NEARLY_EMPTY * max(peaks) >= min(capacities)
    scale = max(*peaks, *capacities) if near else HEADROOM * max(peaks)
    levels_a, levels_b = (live_levels(report, name, start, end, scale) for report in (a, b))
    most = f"peak {size_text(peaks[0])} in A, {size_text(peaks[1])} in B"
    words = f"{name.removeprefix('local.')}: {most}; capacity {size_text(min(capacities))}"
    limit = min(capacities) / scale if near else 0
    return OverlaidMemory(name.removeprefix("local."), levels_a, levels_b, limit, words, max(peaks) > min(capacities))


def _works(report: Report, engine: str) -> bool:
    return engine in report.engines and report.engines[engine].tasks > 0
