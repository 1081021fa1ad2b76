"""The byte addresses of a stream as a tree of loops.

A loop is a repetition if every access in it moves by a constant number of bytes, equal for all accesses to one buffer. Conditions over the
loop divide it into ranges of iterations with the same accesses. All other loops are taken iteration by iteration: conditions that an inner
loop changes, too, clamped indices, slots that rotate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from ....arith import Linear, linear
from ....ir import Buffer, Expr, Var, walk
from ...tasks.nest import Loop
from ..budget import CacheBudget
from ..stream import Event, Stream, StreamLoop, StreamNode, known, step_of
from .line_trees import Forest, Offset, Placed


class TreeReader:
    """Reads trees from a stream. `first` says which events pass the caches, `coordinates` where buffers are counted, and `instances` which
    task of several instances an event belongs to, with the loops that number them.
    """

    def __init__(
        self,
        forest: Forest,
        stream: Stream,
        cached: Sequence[bool],
        coordinates: Mapping[Buffer, int],
        instances: Mapping[int, tuple[int, tuple[Loop, ...]]],
        budget: CacheBudget,
    ) -> None:
        self.forest, self.stream, self.cached, self.budget = forest, stream, cached, budget
        self.coordinates, self.instances = coordinates, instances
        self._forms = {e.number: _plain(linear(e.place)) for e in stream.events}
        self._shifts: dict[Var, Offset | None] = {}
        self._conditions: dict[StreamLoop, list[tuple[Event, Expr]] | None] = {}

    def nodes(self, nodes: Sequence[StreamNode], at: dict[Var, int]) -> Placed | None:
        """Returns the tree of stream nodes, with the loops around them at `at`."""
        return self.forest.seq([self.loop(n, at) if isinstance(n, StreamLoop) else self.event(n, at) for n in nodes])

    def loop(self, node: StreamLoop, at: dict[Var, int]) -> Placed | None:
        """Returns the tree of a loop."""
        var = node.loop.var
        if var not in self._shifts:
            self._shifts[var] = self._shift(node)
        shift = self._shifts[var]
        ranges = None if shift is None else self._ranges(node, at)
        if shift is not None and ranges is not None:
            return self.forest.seq(
                [self.forest.rep(end - i, shift, self.nodes(node.children, {**at, var: i})) for i, end in ranges]
            )
        return self._folded([self.nodes(node.children, {**at, var: i}) for i in range(node.loop.extent)])

    def event(self, event: Event, at: Mapping[Var, int]) -> Placed | None:
        """Returns the leaf of an access; None if a condition forbids it."""
        if not self.cached[event.number]:
            return None
        self.budget.look()
        if not all(int(known(event, guard, at)) for guard in event.guards):
            return None
        offset = [0] * self.forest.width
        form = self._forms[event.number]
        if form is None:
            place = int(known(event, event.place, at))
        else:
            place = form[1] + sum(at[var] * factor for var, factor in form[0])
        coordinate = self.coordinates[event.buffer]
        offset[coordinate] = place * self.stream.bytes_of_element(event.buffer) + self.stream.bases[event.buffer]
        if event.turn is not None:
            offset[coordinate] += at[event.turn] % event.slots * (self.stream.bytes_of[event.buffer] // event.slots)
        instance, loops = self.instances.get(event.number, (-1, ()))
        for n, loop in enumerate(loops):
            offset[instance] += at[loop.var] * prod(inner.extent for inner in loops[n + 1 :])
        return self.forest.leaf(event.number, coordinate, instance, event.written), tuple(offset)

    def _ranges(self, node: StreamLoop, at: Mapping[Var, int]) -> list[tuple[int, int]] | None:
        """Returns the ranges of iterations in which the conditions over a loop do not change; None if inner loops change them."""
        var, extent = node.loop.var, node.loop.extent
        if node not in self._conditions:
            self._conditions[node] = _conditions(node, self.cached)
        conditions = self._conditions[node]
        if conditions is None:
            return None
        edges = np.zeros(extent + 1, np.bool_)
        edges[[0, extent]] = True
        over = {**at, var: np.arange(extent)}
        for event, condition in conditions:
            holds = known(event, condition, over) != 0
            edges[1:extent] |= holds[1:] != holds[:-1]
        places = np.flatnonzero(edges).tolist()
        return list(pairwise(places)) if 2 * len(places) < extent or not conditions else None

    def _shift(self, node: StreamLoop) -> Offset | None:
        """Returns how a loop moves each coordinate per iteration; None if it is not a repetition."""
        found: dict[int, int] = {}
        for event in _events(node):
            if not self.cached[event.number]:
                continue
            step = step_of(event, node.loop)
            if step is None:
                return None
            size = step * self.stream.bytes_of_element(event.buffer)
            if found.setdefault(self.coordinates[event.buffer], size) != size:
                return None
            instance, loops = self.instances.get(event.number, (-1, ()))
            if node.loop in loops:
                found[instance] = prod(inner.extent for inner in loops[loops.index(node.loop) + 1 :])
        return tuple(found.get(c, 0) for c in range(self.forest.width))

    def _folded(self, parts: list[Placed | None]) -> Placed | None:
        """Returns the iterations of a loop as repetitions of a short period, if they are."""
        made = [p for p in parts if p is not None]
        for period in range(2, min(5, len(made) // 2 + 1)):
            shifts = {
                tuple(y - x for x, y in zip(a[1], b[1], strict=True)) if a[0] is b[0] else None
                for a, b in zip(made, made[period:], strict=False)
            }
            if len(shifts) == 1 and (shift := shifts.pop()) is not None:
                whole, rest = divmod(len(made), period)
                head = self.forest.rep(whole, shift, self.forest.seq(made[:period]))
                return self.forest.seq([head, *made[len(made) - rest :]])
        return self.forest.seq(made)


def _plain(form: Linear | None) -> tuple[tuple[tuple[Var, int], ...], int] | None:
    """Returns the variables of a linear form with their factors, and its constant; None if it has other terms."""
    if form is None:
        return None
    terms = [(atom, factor) for atom, factor in form.terms if isinstance(atom, Var)]
    return (tuple(terms), form.constant) if len(terms) == len(form.terms) else None


def _conditions(node: StreamLoop, cached: Sequence[bool]) -> list[tuple[Event, Expr]] | None:
    """Returns the conditions that a loop changes; None if loops inside of it change one of them, too."""
    found: dict[Expr, Event] = {}
    for event in _events(node):
        if not cached[event.number]:
            continue
        inner = {loop.var for loop in event.loops[event.loops.index(node.loop) + 1 :]}
        for guard in event.guards:
            used = {n for n in walk(guard) if isinstance(n, Var)}
            if node.loop.var in used:
                if used & inner:
                    return None
                found[guard] = event
    return [(event, guard) for guard, event in found.items()]


def _events(node: StreamNode) -> list[Event]:
    return [node] if isinstance(node, Event) else [e for child in node.children for e in _events(child)]
