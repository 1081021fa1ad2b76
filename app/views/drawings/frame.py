"""The geometry of a drawn timeline: lanes, memory rows, and the time axis from left to right."""

from __future__ import annotations

from typing import NamedTuple

from ..timeline.value import MemoryCell, Timeline
from .canvas import number

GUTTER, RIGHT, SLOTS = 192, 12, 112
"""The width of the names on the left, the right margin, and the x position of the slot pictures."""

HEAD = 32
LANE, STALL = 38, 8
ROW = (46, 96)
CELL = 17
"""The height that a slot needs for its name."""


class DrawnPlace(NamedTuple):
    top: float
    height: float


class TimelineFrame:
    """The frame of a timeline's value at a width, in real time."""

    def __init__(self, value: Timeline, width: float) -> None:
        self.width = float(width)
        self.length = max(1, value.cycles)
        self.scale = (self.width - GUTTER - RIGHT) / self.length
        self.top = float(HEAD + 2)
        self.bar, self.stall = float(LANE - STALL - 5), float(STALL)
        self.lanes = [DrawnPlace(self.top + n * LANE, LANE) for n in range(len(value.engines))]
        self.lanes_end = self.top + len(self.lanes) * LANE
        self.rows: list[DrawnPlace] = []
        y = self.lanes_end + 6
        for n in range(len(value.rows)):
            height = _height(n, value)
            self.rows.append(DrawnPlace(y, height - 8))
            y += height
        self.bottom = y

    def x(self, time: float) -> float:
        return GUTTER + time * self.scale

    def box(self, start: float, end: float, top: float, height: float, gap: float = 0) -> str:
        """A rectangle as path data, at least half a pixel wide."""
        wide = (end - start) * self.scale
        wide = max(0.5, wide - gap if wide > 3 else wide)
        return f"M{number(self.x(start))} {number(float(top))}h{number(wide)}v{number(float(height))}h{number(-wide)}z"

    def band(self, cell: MemoryCell) -> tuple[float, float]:
        """The top and height of a slot in its row."""
        row = self.rows[cell.row]
        top = row.top + row.height * (1 - min(1.0, cell.high))
        return top, max(1.5, row.height * (min(1.0, cell.high) - cell.low) - 0.7)


def _height(row: int, value: Timeline) -> float:
    """The height that the row's slots need for their names, within the limits of ROW."""
    needed = [CELL / (cell.high - cell.low) for cell in value.cells if cell.row == row and cell.high - cell.low > 0.1]
    return min(max(ROW[0], *needed, 0) + 8, ROW[1])
