"""Places of labels in a figure: none covers another, a mark, or the edge of the frame, as far as there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Align = Literal["left", "right"]

CHARACTER_PX = 6.2
LINE_PX = 13
MARK_PX = 7


class Offset(NamedTuple):
    """Where a label is, from its anchor in pixels: the end that `align` names, and the middle of its height."""

    x: float
    y: float
    align: Align


class Label(NamedTuple):
    """A text at an anchor in pixels from the upper left corner, with its possible offsets, the best first."""

    x: float
    y: float
    text: str
    offsets: Sequence[Offset]


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: _Box) -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


def beside_mark() -> Iterator[Offset]:
    """The offsets of the label of a mark: right of it, then left, then higher and lower."""
    for y in (0, -LINE_PX, LINE_PX, -2 * LINE_PX, 2 * LINE_PX):
        yield Offset(9, y, "left")
        yield Offset(-9, y, "right")


def along_line() -> Iterator[Offset]:
    """The offsets of the label at the right end of a line: above it, below it, and further left."""
    for x in range(-4, -300, -48):
        yield Offset(x, -9, "right")
        yield Offset(x, 9, "right")


def beside_slope() -> Iterator[Offset]:
    """The offsets of the label of a rising line: above it, or below it."""
    for y in (9, 22, 35):
        yield Offset(-4, -y, "right")
        yield Offset(9, y, "left")


def place_labels(
    labels: Sequence[Label], marks: Sequence[tuple[float, float]], width: float, height: float
) -> list[Offset]:
    """The offset of each label in a frame; earlier labels choose first."""
    frame = _Box(0, 0, width, height)
    taken = [_Box(x - MARK_PX, y - MARK_PX, x + MARK_PX, y + MARK_PX) for x, y in marks]
    found: list[Offset] = []
    for label in labels:
        costs = [_cost(_box(label, offset), taken, frame) for offset in label.offsets]
        best = label.offsets[costs.index(min(costs))]
        taken.append(_box(label, best))
        found.append(best)
    return found


def _box(label: Label, offset: Offset) -> _Box:
    width = len(label.text) * CHARACTER_PX
    left = label.x + offset.x - (width if offset.align == "right" else 0)
    middle = label.y + offset.y
    return _Box(left, middle - LINE_PX / 2, left + width, middle + LINE_PX / 2)


def _cost(box: _Box, taken: Sequence[_Box], frame: _Box) -> float:
    """The covered area, and the area outside of the frame."""
    return sum(map(box.overlap, taken)) + box.area - box.overlap(frame)
