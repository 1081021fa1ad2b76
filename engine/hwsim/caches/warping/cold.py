"""Cold misses: the first access to each line. They are all misses of a cache that evicts nothing.

Buffers are independent of each other here. The lines that were accessed are the bits of a number, counted from the lowest of a node.
"""

from __future__ import annotations

from typing import Generic

from ..budget import CacheBudget
from .line_trees import Forest, Leaf, Placed, Rep, Seq, StreamNode, times
from .requests import R, Requests


class Cold(Generic[R]):
    """The first accesses to each line in a tree of lines of a program with so many events, with probes after them."""

    def __init__(self, forest: Forest, events: int, budget: CacheBudget, requests: Requests[R]) -> None:
        self.forest, self.events, self.budget, self.requests = forest, events, budget, requests
        self._spans: dict[tuple[StreamNode, int], tuple[int, int]] = {}
        self._lines: dict[tuple[StreamNode, int], int] = {}
        self._done: dict[tuple[StreamNode, int, int], tuple[R, int]] = {}

    def span(self, node: StreamNode, c: int) -> tuple[int, int]:
        """Returns the lowest and the highest line that a node at 0 accesses in a coordinate."""
        found = self._spans.get((node, c))
        if found is None:
            match node:
                case Seq():
                    inner = [(o[c] + a, o[c] + b) for n, o in node.parts if n.live[c] for a, b in (self.span(n, c),)]
                    found = min(a for a, _ in inner), max(b for _, b in inner)
                case Rep():
                    (low, high), far = self.span(node.body, c), node.shift[c] * (node.count - 1)
                    found = low + min(0, far), high + max(0, far)
                case _:
                    found = 0, 0
            self._spans[node, c] = found
        return found

    def lines(self, node: StreamNode, c: int) -> int:
        """Returns all lines that a node accesses, as bits from the lowest."""
        found = self._lines.get((node, c))
        if found is None:
            found, (low, _) = 0, self.span(node, c)
            match node:
                case Seq():
                    for n, o in node.parts:
                        if n.live[c]:
                            found |= self.lines(n, c) << (o[c] + self.span(n, c)[0] - low)
                case Rep():
                    found, done, step = self.lines(node.body, c), 1, abs(node.shift[c])
                    while done < node.count:
                        more = min(done, node.count - done)
                        found |= found << step * more
                        done += more
                case _:
                    found = 1
            self._lines[node, c] = found
        return found

    def misses(self, part: Placed, c: int) -> R:
        """Returns the first access to each line of a coordinate."""
        return self.requests.moved(self.run(part[0], c, 0)[0], part[1])

    def run(self, node: StreamNode, c: int, seen: int) -> tuple[R, int]:
        """Returns the first accesses that a node makes, and the lines accessed after it."""
        every = self.lines(node, c)
        if not every & ~seen:
            return self.requests.nothing, seen
        low, high = self.span(node, c)
        key = (node, c, seen & ((1 << (high - low + 1)) - 1))
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = self._new(node, c, key[2]), seen | every
        return found[0], seen | every

    def _new(self, node: StreamNode, c: int, seen: int) -> R:
        low = self.span(node, c)[0]
        if isinstance(node, Seq):
            outs: list[R] = []
            for part, offset in node.parts:
                if part.live[c]:
                    at = offset[c] + self.span(part, c)[0] - low
                    outs.append(self.requests.moved(self.run(part, c, seen >> at)[0], offset))
                    seen |= self.lines(part, c) << at
            return self.requests.joined(outs)
        if isinstance(node, Rep):
            return self._loop(node, c, seen)
        assert isinstance(node, Leaf)
        self.budget.spend()
        event = node.event - self.events if node.event >= 2 * self.events else node.event
        return self.requests.one(self.forest.leaf(event, c, node.instance), self.forest.zero)

    def _loop(self, node: Rep, c: int, seen: int) -> R:
        """If no line was accessed before the loop, an iteration whose span looks as in the one before repeats it, and so do all that
        follow.
        """
        requests, body, step, fresh = self.requests, node.body, node.shift[c], not seen
        start = (self.span(body, c)[0] - self.span(node, c)[0]) if step else 0
        every, (low, high) = self.lines(body, c), self.span(body, c)
        window = (1 << (high - low + 1)) - 1
        outs: list[R] = []
        last: int | None = None
        for t in range(node.count if step else 1):
            at = start + t * step
            near = seen >> at & window
            if fresh and near == last:
                outs.append(requests.moved(requests.repeated(node.count - t, node.shift, outs[-1]), node.shift))
                break
            last = near
            out = self.run(body, c, near)[0]
            if out is not requests.nothing:
                outs.append(requests.moved(out, times(t, node.shift)))
            seen |= every << at
        return requests.joined(outs)
