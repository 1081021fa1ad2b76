"""Two runs on one scale: for each engine its work in A, below it in B, as a bar for each task if they fit, else as its busy share of each
short stretch, by buffer. Below them the live bytes of each memory.
"""

from __future__ import annotations

from ....engine.hwsim import Report
from ..labels.numbers import size_text
from ..timeline.lanes import Colours, Value, lanes_of, live_levels
from ..timeline.value import HEADROOM, NEARLY_EMPTY


def overlay_value(a: Report, b: Report, colours: Colours, span: tuple[float, float] | None) -> Value:
    """cycles of both, the visible span, and for each engine with work in either: its name and the bars of A and B."""
    longest = max(a.cycles, b.cycles, 1)
    start, end = (0, longest) if span is None else (max(0, int(span[0])), min(longest, int(span[1]) + 1))
    end = max(end, start + 1)
    names = [n for n in dict.fromkeys((*a.engines, *b.engines)) if _works(a, n) or _works(b, n)]
    lanes_a, lanes_b = (lanes_of(report, colours, start, end) for report in (a, b))
    nothing: Value = {"bars": [], "stretches": []}
    return {
        "cycles": [a.cycles, b.cycles],
        "longest": longest,
        "start": start,
        "end": end,
        "engines": [{"name": n, "a": lanes_a.get(n, nothing), "b": lanes_b.get(n, nothing)} for n in names],
        "memories": _memories(a, b, start, end),
    }


def _memories(a: Report, b: Report, start: int, end: int) -> list[Value]:
    """On-chip memories that either uses: name, the most live bytes of each stretch as parts of the height, the capacity's height (0: out of
    sight), words."""
    used = [
        name
        for name in dict.fromkeys((*a.memory, *b.memory))
        if any(name in r.memory and r.memory[name].peak_live_bytes and r.memory[name].scope != "global" for r in (a, b))
    ]
    return [_memory(name, a, b, start, end) for name in used]


def _memory(name: str, a: Report, b: Report, start: int, end: int) -> Value:
    found = [report.memory.get(name) for report in (a, b)]
    peaks = [memory.peak_live_bytes if memory is not None else 0 for memory in found]
    capacities = [memory.capacity_bytes for memory in found if memory is not None]
    near = NEARLY_EMPTY * max(peaks) >= min(capacities)
    scale = max(*peaks, *capacities) if near else HEADROOM * max(peaks)
    levels = [live_levels(report, name, start, end, scale) for report in (a, b)]
    most = f"peak {size_text(peaks[0])} in A, {size_text(peaks[1])} in B"
    words = f"{name.removeprefix('local.')}: {most}; capacity {size_text(min(capacities))}"
    return {
        "name": name.removeprefix("local."),
        "a": levels[0],
        "b": levels[1],
        "limit": min(capacities) / scale if near else 0,
        "words": words,
        "over": max(peaks) > min(capacities),
    }


def _works(report: Report, engine: str) -> bool:
    return engine in report.engines and report.engines[engine].tasks > 0
