"""A timeline as plain figures: lanes, bars in them, lines over them. `components.timeline` draws what `views.timeline` makes of a report."""

from __future__ import annotations

from typing import Literal

import msgspec


class Bar(msgspec.Struct, frozen=True):
    """Something that lasts from cycle `start` to `end` in lane `lane`; `low` and `high` are fractions of the lane's height.

    `colour` is a colour index of the palette, None for a stall or another thing without a buffer. `tip` is shown on hover.
    """

    lane: int
    start: int
    end: int
    label: str
    tip: str
    colour: int | None
    low: float = 0.0
    high: float = 1.0
    style: Literal["solid", "soft", "stall"] = "solid"


class Steps(msgspec.Struct, frozen=True):
    """A quantity that holds `values[n]` (fraction of the lane's height) from `times[n]` on; the last one to the end of the chart."""

    lane: int
    times: tuple[int, ...]
    values: tuple[float, ...]


class Lane(msgspec.Struct, frozen=True):
    """A row. Memory lanes have a capacity line at height 1 (`capacity` says how much that is), and may be exceeded."""

    name: str
    note: str = ""
    capacity: str = ""
    tip: str = ""
    weight: float = 1.0


class Chart(msgspec.Struct, frozen=True):
    """The engines above, the memories below, over the same cycles."""

    cycles: int = 0
    engines: tuple[Lane, ...] = ()
    engine_bars: tuple[Bar, ...] = ()
    memories: tuple[Lane, ...] = ()
    memory_bars: tuple[Bar, ...] = ()
    memory_steps: tuple[Steps, ...] = ()


def thinned(bars: tuple[Bar, ...], start: float, end: float, limit: int) -> list[Bar]:
    """The bars between `start` and `end`, at most about `limit` of them.

    When there are more, bars of one lane and height that are closer together than a limit-th of the range are drawn as one; nothing is
    left out, so no lane looks idle that is busy.
    """
    seen = [bar for bar in bars if bar.end > start and bar.start < end]
    if len(seen) <= limit:
        return seen
    lanes = len({(bar.lane, bar.low) for bar in seen})
    grain = (end - start) / max(1, limit // max(1, lanes))
    merged: list[Bar] = []
    open_bars: dict[tuple[int, float, float, str], tuple[Bar, int, int]] = {}
    for bar in sorted(seen, key=lambda b: b.start):
        key = (bar.lane, bar.low, bar.high, bar.style)
        held = open_bars.get(key)
        if held is not None and bar.start - held[1] <= grain and bar.end - held[0].start <= 2 * grain:
            open_bars[key] = (held[0], max(held[1], bar.end), held[2] + 1)
            continue
        if held is not None:
            merged.append(_joined(*held))
        open_bars[key] = (bar, bar.end, 1)
    return merged + [_joined(*held) for held in open_bars.values()]


def _joined(bar: Bar, end: int, count: int) -> Bar:
    if count == 1:
        return bar
    return Bar(bar.lane, bar.start, end, "", f"{count} × such as {bar.tip}", bar.colour, bar.low, bar.high, bar.style)
