"""Pareto fronts: the results that no other result dominates."""

from __future__ import annotations

from typing import Generic, TypeVar

Vector = tuple[float, ...]
T = TypeVar("T")


def dominates(a: Vector, b: Vector) -> bool:
    """Whether `a` is at most `b` in every component, and less in one."""
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


class Front(Generic[T]):
    """The results that no other one dominates; of results with equal vectors, the one with the lowest rank."""

    def __init__(self) -> None:
        self._kept: dict[Vector, tuple[int, T]] = {}

    def add(self, vector: Vector, rank: int, item: T) -> bool:
        """Add a result; return whether it is on the front. `rank` is its position in the order of results: the order of the calls does not
        matter."""
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
        """The vectors on the front, sorted."""
        return tuple(sorted(self._kept))

    @property
    def items(self) -> tuple[T, ...]:
        """The results on the front, sorted by their vectors."""
        return tuple(self._kept[v][1] for v in self.vectors)
