"""A hole as a scale: numbers by their rank, whatever order they stand in; all else without an order."""

from __future__ import annotations

from typing import Any

from ..adopt import Hole


class Scale:
    """The values of one hole."""

    def __init__(self, hole: Hole) -> None:
        self.name = hole.name
        self.is_ordered = all(isinstance(v, int) and not isinstance(v, bool) for v in hole.values)
        positions = range(len(hole.values))
        numbers: list[Any] = list(hole.values)
        self._order = sorted(positions, key=lambda n: numbers[n]) if self.is_ordered else list(positions)

    @property
    def size(self) -> int:
        return len(self._order)

    def position(self, rank: int) -> int:
        return self._order[rank]

    def rank(self, position: int) -> int:
        return self._order.index(position)

    def near(self, position: int) -> list[int]:
        """Other values: the next number up and down, or every other one where there is no order."""
        here = self.rank(position)
        return [self._order[r] for r in range(self.size) if (abs(r - here) == 1 if self.is_ordered else r != here)]
