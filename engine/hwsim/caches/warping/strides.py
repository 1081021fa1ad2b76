"""The stride prefetcher: adds prefetches to a tree of accesses in bytes."""

from __future__ import annotations

from ...machine.parts import MOST_STRIDE, Cache
from ..budget import CacheBudget
from .line_trees import Forest, Leaf, Offset, Placed
from .requests import Trees
from .warp import Recurrence, State


class Strides(Recurrence[Placed | None]):
    """The table of a prefetcher: for each event its coordinate, its last address, and the distance from the address before. Prefetches are
    events from `probe` on, one for each event of the program.
    """

    def __init__(self, forest: Forest, cache: Cache, events: int, probe: int, budget: CacheBudget) -> None:
        super().__init__(forest, budget, Trees(forest), events, 1)
        first = cache.prefetch_distance
        self.ahead, self.probe = range(first, first + cache.prefetch_lines), probe

    def of(self, part: Placed) -> Placed:
        """Returns a tree with prefetches."""
        found = self.run(part[0], part[1], ((),) * self.sets)[0]
        assert found is not None
        return found

    def access(self, leaf: Leaf, offset: Offset, state: State) -> tuple[Placed | None, State]:
        self.budget.spend()
        event, c = leaf.event, leaf.coordinate
        last, stride = state[event][0][1:] if state[event] else (offset[c], 0)
        step = offset[c] - last
        after = (*state[:event], ((c, offset[c], step),), *state[event + 1 :])
        parts: list[Placed] = [(leaf, offset)]
        if step == stride and 0 < abs(step) <= MOST_STRIDE:
            probe = self.forest.leaf(self.probe + event, c)
            at = self.forest.clipped(probe, offset)
            parts += [(probe, (*at[:c], at[c] + n * step, *at[c + 1 :])) for n in self.ahead]
        return self.forest.seq(parts), after
