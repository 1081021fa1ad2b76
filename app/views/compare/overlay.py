"""Two runs on one scale: for each engine its work in A, below it in B, as a bar for each task if they fit, else as its busy share of each
short stretch, by buffer. Below them the live bytes of each memory.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np

from ....engine.hwsim import Density, Report, Segment, TimeMap
from ..labels.numbers import grouped, size_text
from ..timeline.value import HEADROOM, NEARLY_EMPTY

MOST_BARS = 400
"""More tasks in sight than this on a side are shown as stretches."""

STRETCHES = 240

Value = dict[str, Any]
Colours = dict[str, int]
GREY = 9


def overlay_value(a: Report, b: Report, colours: Colours, span: tuple[float, float] | None) -> Value:
    """cycles of both, the visible span, and for each engine with work in either: its name and the bars of A and B."""
    longest = max(a.cycles, b.cycles, 1)
    start, end = (0, longest) if span is None else (max(0, int(span[0])), min(longest, int(span[1]) + 1))
    end = max(end, start + 1)
    names = [n for n in dict.fromkeys((*a.engines, *b.engines)) if _works(a, n) or _works(b, n)]
    lanes_a, lanes_b = (_lanes(report, colours, start, end) for report in (a, b))
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
    levels = [_levels(report, name, start, end, scale) for report in (a, b)]
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


def _levels(report: Report, name: str, start: int, end: int, scale: float) -> list[float]:
    """The maximum of live bytes in each stretch; 0 after the end of the run."""
    if name not in report.occupancy.steps:
        return []
    steps = report.occupancy.steps[name]
    times, live = np.asarray(steps.times, np.int64), np.asarray(steps.live, np.int64)
    folding = TimeMap(report.timeline.repeats, int(report.timeline.there.max(initial=0)))
    edges = np.linspace(start, end, STRETCHES + 1).astype(np.int64).tolist()
    found: list[float] = []
    for low, high in pairwise(edges):
        most = 0
        for piece in folding.seen(low, max(high, low + 1)) if low < report.cycles else ():
            first = max(0, int(np.searchsorted(times, piece.start, "right")) - 1)
            last = max(first + 1, int(np.searchsorted(times, piece.end)))
            most = max(most, int(live[first:last].max(initial=0)))
        found.append(round(most / scale, 4))
    return found


def _works(report: Report, engine: str) -> bool:
    return engine in report.engines and report.engines[engine].tasks > 0


def _lanes(report: Report, colours: Colours, start: int, end: int) -> dict[str, Value]:
    """Engine -> bars [start, end, colour, words] or stretches [[colour, share of each stretch]]."""
    # A task whose result is still in flight no longer occupies its engine.
    at_work = (task for task in report.segments.between(start, end) if task.end > start)
    tasks = list(islice(at_work, MOST_BARS + 1))
    if len(tasks) > MOST_BARS:
        return _stretches(report, colours, start, end)
    found: dict[str, Value] = {}
    for task in tasks:
        lane = found.setdefault(task.engine, {"bars": [], "stretches": []})
        lane["bars"].append([task.start, task.end, _colour(task, colours), _words(task)])
    return found


def _colour(task: Segment, colours: Colours) -> int:
    written = (*task.writes, *task.reads)
    return colours.get(written[0].partition("#")[0], GREY) if written else GREY


def _words(task: Segment) -> str:
    indices = ", ".join(f"{name} = {value}" for name, value in task.indices)
    return f"{task.block}  {indices}  {grouped(task.start)} to {grouped(task.end)}: {grouped(task.end - task.start)} cycles"


def _stretches(report: Report, colours: Colours, start: int, end: int) -> dict[str, Value]:
    """How much of each of many stretches every engine is at work, by colour: exact, repeats included."""
    line = report.timeline
    first_of = dict(zip(line.numbers.tolist()[::-1], range(len(line.numbers) - 1, -1, -1), strict=True))
    colour_of = {number: _colour(report.segments[row], colours) for number, row in first_of.items()}
    of_row = np.array([colour_of[number] for number in line.numbers.tolist()], np.int64)
    keys, bands = np.unique(np.stack([line.engines, of_row]), axis=1, return_inverse=True)
    length = int(line.there.max(initial=0))
    density = Density(line.starts, line.ends, bands.reshape(-1), keys.shape[1], TimeMap(line.repeats, length))
    edges = np.linspace(start, end, STRETCHES + 1).astype(np.int64).tolist()
    shares = density.shares(edges)
    found: dict[str, Value] = {}
    names = list(report.engines)
    for band, (engine, colour) in enumerate(keys.T.tolist()):
        column = [round(share, 3) for share in shares[:, band].tolist()]
        if any(column):
            found.setdefault(names[engine], {"bars": [], "stretches": []})["stretches"].append([colour, column])
    return found
