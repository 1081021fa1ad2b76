"""Which of several results are worth having: none is as good in everything and better in something."""

from __future__ import annotations

from typing import Generic, TypeVar

Vector = tuple[float, ...]
T = TypeVar("T")


def dominates(a: Vector, b: Vector) -> bool:
    """Whether `a` is as good as `b` in everything (small is good), and better in something."""
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


class Front(Generic[T]):
    """The results that no other one dominates; of those that come to the same, the one that ranks first."""

    def __init__(self) -> None:
        self._kept: dict[Vector, tuple[int, T]] = {}

    def add(self, vector: Vector, rank: int, item: T) -> bool:
        """Take a result in, of `rank` in the order of results (the order in which they are added does not matter). Whether it stands."""
        if vector in self._kept:
            stands = rank < self._kept[vector][0]
            if stands:
                self._kept[vector] = rank, item
            return stands
        if any(dominates(other, vector) for other in self._kept):
            return False
        self._kept = {v: kept for v, kept in self._kept.items() if not dominates(vector, v)}
        self._kept[vector] = rank, item
        return True

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """In order."""
        return tuple(sorted(self._kept))

    @property
    def items(self) -> tuple[T, ...]:
        """In the order of their vectors: the least of the first figure first."""
        return tuple(self._kept[v][1] for v in self.vectors)
