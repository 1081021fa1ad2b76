"""The order of a hole's values: numbers by rank, whatever their order in the text; lists by the rank of each number; others unordered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard, cast

from ...adopt import Hole
from .model import Point


class ParameterAxis:
    """The values of one hole and their order."""

    def __init__(self, hole: Hole) -> None:
        self.name = hole.name
        self.is_ordered = all(map(_is_number, hole.values))
        positions = range(len(hole.values))
        numbers: list[Any] = list(hole.values)
        self._order = sorted(positions, key=lambda n: numbers[n]) if self.is_ordered else list(positions)
        self._ranks = _ranks([[value] if self.is_ordered else value for value in numbers])
        self._near: dict[int, list[int]] = {}

    @property
    def size(self) -> int:
        return len(self._order)

    def position(self, rank: int) -> int:
        return self._order[rank]

    def rank(self, position: int) -> int:
        return self._order.index(position)

    def near(self, position: int) -> list[int]:
        """Positions of the neighbouring values: the next number below and above; for lists, the nearest list with a lower and with a
        higher value of each number; all other values if they are unordered."""
        if position not in self._near:
            found = self._nearest(position) if self._ranks else (n for n in range(self.size) if n != position)
            self._near[position] = list(dict.fromkeys(found))
        return self._near[position]

    def _nearest(self, position: int) -> Iterator[int]:
        here = self._ranks[position]

        def distance(other: int, axis: int) -> tuple[int, int]:
            apart = [abs(a - b) for a, b in zip(here, self._ranks[other], strict=True)]
            return apart[axis], sum(apart)

        for axis, rank in enumerate(here):
            below = [n for n, there in enumerate(self._ranks) if there[axis] < rank]
            above = [n for n, there in enumerate(self._ranks) if there[axis] > rank]
            for side in filter(None, (below, above)):
                yield min(side, key=lambda other: distance(other, axis))


def neighbours(point: Point, hole: int, scale: ParameterAxis) -> Iterator[Point]:
    """Yields the neighbours of a point in one hole."""
    for position in scale.near(point[hole]):
        yield (*point[:hole], position, *point[hole + 1 :])


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _ranks(values: Sequence[object]) -> list[tuple[int, ...]]:
    """For each list, the rank of each number among those at the same position; empty unless all values are lists of equally many
    numbers."""
    if not _are_lists(values) or len({len(value) for value in values}) > 1:
        return []
    columns = [sorted(set(column)) for column in zip(*values, strict=True)]
    return [tuple(column.index(n) for n, column in zip(value, columns, strict=True)) for value in values]


def _are_lists(values: Sequence[object]) -> TypeGuard[Sequence[Sequence[int]]]:
    return all(isinstance(v, list | tuple) and all(map(_is_number, cast("Sequence[object]", v))) for v in values)
