"""The work of each engine in a range of cycles, by buffer: a bar for each task if they fit, else the busy share of each short stretch. Also
the live bytes of a memory.
"""

from __future__ import annotations

from ..labels.numbers import grouped
from ..labels.palette import Colours
from ..labels.values import Value
from .data import TimelineData
from .window import Extremes, edges_of, tasks_of

MOST_BARS = 400
"""More tasks in the range than this are shown as stretches."""

STRETCHES = 240


class EngineWork(Value, frozen=True):
    """The work of an engine: bars with start, end, colour and words; or colours with the busy share of each stretch."""

    bars: list[tuple[int, int, int, str]]
    stretches: list[tuple[int, list[float]]]


def live_levels(data: TimelineData, name: str, start: int, end: int, scale: float) -> list[float]:
    """The maximum of live bytes in each stretch; 0 after the end of the run."""
    if name not in data.rows:
        return []
    edges = edges_of(start, end, STRETCHES)
    line = Extremes(data.time_map, edges).of(*data.steps[data.rows.index(name)])
    return [
        round(size / scale, 4) if at < data.report.cycles else 0.0
        for at, size in zip(edges[:-1], line.live, strict=True)
    ]


def lanes_of(data: TimelineData, colours: Colours, start: int, end: int) -> dict[str, EngineWork]:
    """The work of each engine that has some."""
    found = [EngineWork([], []) for _ in data.engines]
    if data.tasks_between(start, end, folded=False) > MOST_BARS:
        _add_stretches(found, data, colours, start, end)
    else:
        _add_bars(found, data, colours, start, end)
    return {name: work for name, work in zip(data.engines, found, strict=True) if work.bars or work.stretches}


def _add_bars(found: list[EngineWork], data: TimelineData, colours: Colours, start: int, end: int) -> None:
    template_colours, tasks = data.template_colours(colours), tasks_of(data, start, end, folded=False)
    for number, begin, length, place in zip(tasks.kind, tasks.start, tasks.length, tasks.place, strict=True):
        if begin + length <= 0:
            continue  # the engine is free again, but the result is still in flight
        template, kind = data.template_of_kind[number], data.kinds[number]
        since, until = start + begin, start + begin + length
        indices = ", ".join(f"{loop.name} = {at}" for loop, at in zip(kind.loops, place, strict=False))
        words = f"{kind.block}  {indices}  {grouped(since)} to {grouped(until)}: {grouped(length)} cycles"
        found[data.template_lanes[template]].bars.append((since, until, template_colours[template], words))


def _add_stretches(found: list[EngineWork], data: TimelineData, colours: Colours, start: int, end: int) -> None:
    """How much of each of many stretches every engine is at work, by colour: exact, repeats included."""
    shares = data.real_time_density.shares(edges_of(start, end, STRETCHES))
    bands = list(zip(data.template_lanes, data.template_colours(colours), strict=True))
    for lane, colour in dict.fromkeys(bands):
        columns = [n for n, band in enumerate(bands) if band == (lane, colour)]  # the first bands are the templates
        column = [round(share, 3) for share in shares[:, columns].sum(axis=1).tolist()]
        if any(column):
            found[lane].stretches.append((colour, column))
