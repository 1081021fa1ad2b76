"""Rectangles of a report's timeline: every task, stall and tile of a window if they are few, else their cycles in bins of time."""

from __future__ import annotations

import msgspec
import numpy as np

from ...engine.hwsim import Report
from ..views.timeline.data import TimelineData
from ..views.timeline.window import ExactWindow, edges_of, window


class Rectangle(msgspec.Struct, frozen=True):
    """Events from cycle `start` to `end` of the band (`what`, `number`) of `TimelineData.bands`: a "task", "wait", "fill" or "live".

    `cycles` is the time that they take: all of it for a single event, whose iterations are in `place`; less for a bin.
    """

    what: str
    number: int
    start: int
    end: int
    cycles: int
    place: tuple[int, ...] = ()
    is_bin: bool = False

    @property
    def share(self) -> float:
        """The share of the time that the events take."""
        return self.cycles / (self.end - self.start) if self.end > self.start else 1.0


def rectangles(data: TimelineData, what: tuple[str, ...], start: int, end: int, most: int) -> list[Rectangle]:
    """The events of the kinds `what` from cycle `start` to `end`, exclusive: at most `most` rectangles."""
    if data.tasks_between(start, end, folded=False) <= most:
        shown = window(data, start, end, folded=False, most=most)
        found = _events(data, what, shown) if isinstance(shown, ExactWindow) else []
        if len(found) <= most:
            return found
    return _bins(data, what, start, end, most)


def _events(data: TimelineData, what: tuple[str, ...], shown: ExactWindow) -> list[Rectangle]:
    origin = shown.start
    found: list[Rectangle] = []
    if "task" in what:
        tasks = shown.tasks
        templates = data.template_of_kind.tolist()
        found += [
            Rectangle("task", templates[kind], origin + start, origin + start + length, length, tuple(place))
            for kind, start, length, place in zip(tasks.kind, tasks.start, tasks.length, tasks.place, strict=True)
        ]
    for kind, pieces in (("wait", shown.waits), ("fill", shown.fills), ("live", shown.lives)):
        if kind in what:
            found += [
                Rectangle(kind, of, origin + start, origin + start + length, length)
                for of, start, length in zip(pieces.of, pieces.start, pieces.length, strict=True)
            ]
    return found


def _bins(data: TimelineData, what: tuple[str, ...], start: int, end: int, most: int) -> list[Rectangle]:
    columns = [n for n, (kind, _) in enumerate(data.bands) if kind in what]
    edges = edges_of(start, end, most // max(1, len(columns)))
    cycles = np.diff(data.real_time_density.before(edges), axis=0)[:, columns]
    found: list[Rectangle] = []
    for row, column in np.argwhere(cycles > 0).tolist():
        kind, number = data.bands[columns[column]]
        found.append(Rectangle(kind, number, edges[row], edges[row + 1], int(cycles[row, column]), is_bin=True))
    return found


def needs_detail(report: Report, most: int) -> bool:
    """Whether a zoom shows more than the whole run does: its tasks and tiles are more than `most` rectangles."""
    return sum(engine.tasks for engine in report.engines.values()) * 3 > most
