"""What a level requests from the next: a tree of loops, or only the number of requests by event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from .line_trees import CLEAN, Forest, Leaf, Offset, Placed, Rep, Seq, StreamNode, moved

R = TypeVar("R")
FIELD = 96
"""Bits for the number of requests of one event."""


class Requests(Protocol[R]):
    """How requests are put together."""

    nothing: R

    def one(self, leaf: Leaf, offset: Offset, /) -> R:
        """Returns one request, or an evicted line."""
        ...

    def moved(self, requests: R, by: Offset, /) -> R:
        """Returns requests translated."""
        ...

    def joined(self, several: Sequence[R], /) -> R:
        """Returns requests one after the other."""
        ...

    def repeated(self, count: int, shift: Offset, requests: R, /) -> R:
        """Returns repeated requests, each time translated."""
        ...

    def by_event(self, several: Iterable[R], /) -> Counter[int]:
        """Returns the number of requests of each event."""
        ...


class Trees:
    """Requests as trees: the stream of the next level."""

    nothing: Placed | None = None

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.joined, self.repeated = forest.seq, forest.rep
        self._counts: dict[StreamNode, Counter[int]] = {}

    def one(self, leaf: Leaf, offset: Offset) -> Placed | None:
        return leaf, offset

    def moved(self, requests: Placed | None, by: Offset) -> Placed | None:
        return None if requests is None else (requests[0], moved(requests[1], by))

    def by_event(self, several: Iterable[Placed | None]) -> Counter[int]:
        total: Counter[int] = Counter()
        for requests in several:
            if requests is not None:
                total.update(self._count(requests[0]))
        return total

    def _count(self, node: StreamNode) -> Counter[int]:
        found = self._counts.get(node)
        if found is None:
            match node:
                case Seq():
                    found = self.by_event(node.parts)
                case Rep():
                    found = Counter({event: count * node.count for event, count in self._count(node.body).items()})
                case Leaf():
                    found = Counter({node.event: 1})
                case _:
                    raise TypeError(type(node))
            self._counts[node] = found
        return found


class Totals:
    """Requests as numbers by event, each in `FIELD` bits of one number: sums and products need one operation."""

    nothing = 0

    def one(self, leaf: Leaf, offset: Offset) -> int:
        return 1 << FIELD * (leaf.event - CLEAN)

    def moved(self, requests: int, by: Offset) -> int:
        return requests

    def joined(self, several: Sequence[int]) -> int:
        return sum(several)

    def repeated(self, count: int, shift: Offset, requests: int) -> int:
        return count * requests

    def by_event(self, several: Iterable[int]) -> Counter[int]:
        requests, event = sum(several), CLEAN
        found: Counter[int] = Counter()
        while requests:
            requests, count = requests >> FIELD, requests & ((1 << FIELD) - 1)
            if count:
                found[event] = count
            event += 1
        return found
