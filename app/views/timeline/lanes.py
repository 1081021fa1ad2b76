"""The work of each engine in a range of cycles, by buffer: a bar for each task if they fit, else the busy share of each short stretch. Also
the live bytes of a memory.
"""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np

from ....engine.hwsim import Density, Report, Segment, TimeMap
from ..labels.numbers import grouped
from ..labels.values import Value

MOST_BARS = 400
"""More tasks in the range than this are shown as stretches."""

STRETCHES = 240

Colours = dict[str, int]
GREY = 9


class EngineWork(Value, frozen=True):
    """The work of an engine: bars with start, end, colour and words; or colours with the busy share of each stretch."""

    bars: list[tuple[int, int, int, str]]
    stretches: list[tuple[int, list[float]]]


def live_levels(report: Report, name: str, start: int, end: int, scale: float) -> list[float]:
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


def lanes_of(report: Report, colours: Colours, start: int, end: int) -> dict[str, EngineWork]:
    """The work of each engine."""
    # A task whose result is still in flight no longer occupies its engine.
    at_work = (task for task in report.segments.between(start, end) if task.end > start)
    tasks = list(islice(at_work, MOST_BARS + 1))
    if len(tasks) > MOST_BARS:
        return _stretches(report, colours, start, end)
    found: dict[str, EngineWork] = {}
    for task in tasks:
        lane = found.setdefault(task.engine, EngineWork([], []))
        lane.bars.append((task.start, task.end, _colour(task, colours), _words(task)))
    return found


def _colour(task: Segment, colours: Colours) -> int:
    written = (*task.writes, *task.reads)
    return colours.get(written[0].partition("#")[0], GREY) if written else GREY


def _words(task: Segment) -> str:
    indices = ", ".join(f"{name} = {value}" for name, value in task.indices)
    return f"{task.block}  {indices}  {grouped(task.start)} to {grouped(task.end)}: {grouped(task.end - task.start)} cycles"


def _stretches(report: Report, colours: Colours, start: int, end: int) -> dict[str, EngineWork]:
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
    found: dict[str, EngineWork] = {}
    names = list(report.engines)
    for band, (engine, colour) in enumerate(keys.T.tolist()):
        column = [round(share, 3) for share in shares[:, band].tolist()]
        if any(column):
            found.setdefault(names[engine], EngineWork([], [])).stretches.append((colour, column))
    return found
