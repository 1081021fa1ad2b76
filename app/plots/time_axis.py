"""Time axes: the window of a report that a figure shows, in as much detail as a browser draws smoothly.

With a server (Panel's or Bokeh's), a zoom or a pan requests the rectangles of the new window from this module. Without one, the figure
keeps the detail of its first window.

Numbers of a browser are exact up to 2^53. In a longer run, x is the number of cycles after an `origin`, which moves with the window and is
kept, as text, in the range's `tags`. The label of the axis names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.models import Range1d
from bokeh.plotting import figure

from ..views.labels.numbers import grouped
from .style import write_amounts

MOST_RECTANGLES = 2_000
"""The most rectangles of a figure: a browser pans and zooms about ten times as many at 30 frames a second."""

EXACT = 1 << 53

MARGIN = 4
"""A window is fetched with a margin of a fourth of its width on both sides, so that a short pan shows no gap."""

Redraw = Callable[[int, int, int], None]
"""Draws the cycles from `start` to `end`, relative to `origin`."""


def time_range(cycles: int) -> Range1d:
    """The range of a whole run, with bounds."""
    end = float(max(1, cycles))
    return Range1d(start=0, end=end, bounds=(0, end) if cycles <= EXACT else None, min_interval=4)


def origin_of(x_range: Range1d) -> int:
    """The cycle at x = 0."""
    return next((int(tag) for tag in x_range.tags if isinstance(tag, str) and tag.isdecimal()), 0)


class TimeAxis:
    """The window of one figure; figures that share a range show the same window."""

    def __init__(self, drawn: figure, cycles: int, redraw: Redraw) -> None:
        assert isinstance(drawn.x_range, Range1d)
        self._range: Range1d = drawn.x_range
        self._axis = drawn.xaxis[0]
        self._cycles = cycles
        self._redraw = redraw
        self._shown: tuple[int, int, int] | None = None
        write_amounts(self._axis, "cycles")
        self.draw()

    def follow(self) -> None:
        """Redraw after a zoom or a pan, if the figure has a server."""
        for name in ("start", "end"):
            self._range.on_change(name, self._changed)

    def _changed(self, attr: str, old: object, new: object) -> None:
        self.draw()

    def draw(self) -> None:
        """Draw the window of the range, with a margin."""
        origin, start, end = self._window()
        if end - start < self._cycles // 2 and self._cycles > EXACT and start != origin:
            self._move_origin(origin, start)
            origin = start
        margin = (end - start) // MARGIN if end - start < self._cycles else 0
        wanted = (max(0, start - margin), min(self._cycles, end + margin), origin)
        if wanted != self._shown:
            self._shown = wanted
            self._axis.axis_label = f"cycles after {grouped_exactly(origin)}" if origin else "cycles"
            self._redraw(*wanted)

    def _window(self) -> tuple[int, int, int]:
        """The origin, and the first and the last cycle of the range."""
        origin = origin_of(self._range)
        start = max(0, origin + int(_number(self._range.start, 0)))
        end = min(self._cycles, origin + int(_number(self._range.end, self._cycles)) + 1)
        return origin, min(start, max(0, self._cycles - 1)), max(end, start + 1)

    def _move_origin(self, origin: int, start: int) -> None:
        by = start - origin
        low, high = _number(self._range.start, 0), _number(self._range.end, self._cycles)
        self._range.tags = [str(start)]
        self._range.update(start=float(int(low) - by), end=float(int(high) - by))


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) else default


def grouped_exactly(cycle: int) -> str:
    """A cycle with all its digits."""
    return f"{cycle:,}".replace(",", "\u202f") if abs(cycle) >= 10**15 else grouped(cycle)
