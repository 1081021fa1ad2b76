"""Access streams as trees of loops: leaves are single accesses, inner nodes are sequences and repetitions with constant strides.

A node has no position of its own. Where it occurs, an offset translates it: one coordinate for each group of buffers (bytes, or lines of a
cache), then one for each task with several instances (the row-major number of the instance). The first access of a node in each coordinate
is at 0, and equal nodes are one object, so the work on a node is done once, wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise
from operator import add, mul, sub

from ..budget import CacheBudget

Offset = tuple[int, ...]


class StreamNode:
    """A part of a stream. `live` says which coordinates it uses, `buffers` are those of addresses among them.

    `number` is its place among all nodes, `core` that of the body that it repeats, or its own; `first` and `last` are those of its first
    and last part: no node refers to itself.
    """

    __slots__ = ("buffers", "core", "first", "last", "live", "number")

    def __init__(self, live: tuple[bool, ...], forest: Forest) -> None:
        self.number = self.core = self.first = self.last = forest.count
        self.live = live
        self.buffers = tuple([c for c in forest.addresses if live[c]])


class Leaf(StreamNode):
    """One access of an event, or a line that the level before evicted: event DIRTY or CLEAN."""

    __slots__ = ("coordinate", "dirty", "event", "instance")

    def __init__(self, event: int, coordinate: int, instance: int, dirty: bool, forest: Forest) -> None:
        super().__init__(tuple([c in (coordinate, instance) for c in range(forest.width)]), forest)
        self.event, self.coordinate, self.instance, self.dirty = event, coordinate, instance, dirty


class Seq(StreamNode):
    """Parts one after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Placed, ...], forest: Forest) -> None:
        live = parts[0][0].live
        for node, _ in parts:
            if node.live != live:
                live = tuple([a or b for a, b in zip(live, node.live, strict=True)])
        super().__init__(live, forest)
        self.parts = parts
        self.first, self.last = parts[0][0].first, parts[-1][0].last


class Rep(StreamNode):
    """`count` repetitions of a body, each translated by `shift` from the one before."""

    __slots__ = ("body", "count", "shift")

    def __init__(self, count: int, shift: Offset, body: StreamNode, forest: Forest) -> None:
        super().__init__(body.live, forest)
        self.count, self.shift, self.body = count, shift, body
        self.core = self.first = self.last = body.number


Placed = tuple[StreamNode, Offset]


def moved(offset: Offset, by: Offset) -> Offset:
    """Returns the sum of two offsets."""
    return tuple(map(add, offset, by))


def times(count: int, shift: Offset) -> Offset:
    """Returns `count` times a shift."""
    return tuple(map(count.__mul__, shift))


DIRTY, CLEAN = -1, -2
MOST_FLAT = 8
"""Parts of a sequence that are written out where it is part of a sequence."""


class Forest:
    """All nodes of a simulation, each once. `buffers` coordinates are addresses, the others, up to `width`, are instances of tasks."""

    def __init__(self, buffers: int, width: int, budget: CacheBudget) -> None:
        self.buffers, self.width, self.budget = buffers, width, budget
        self.zero: Offset = (0,) * width
        self.addresses = range(buffers)
        self._known: dict[object, StreamNode] = {}
        self._reach: dict[tuple[StreamNode, int, int], int] = {}

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(self._known)

    def leaf(self, event: int, coordinate: int, instance: int = -1, dirty: bool = False) -> Leaf:
        """Returns the leaf of an access."""
        key = (event, coordinate, instance, dirty)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Leaf(*key, self)
        assert isinstance(found, Leaf)
        return found

    def seq(self, parts: Iterable[Placed | None]) -> Placed | None:
        """Returns the parts one after the other, equal neighbours at constant distances as repetitions; None if there are none."""
        found = [part for part in parts if part is not None]
        if len(found) < 2:
            return found[0] if found else None
        if not any(a.last == b.first or a.core == b.core for (a, _), (b, _) in pairwise(found)):
            return self._sequence(found)
        groups: list[_Group] = []
        for node, offset in found:
            self._append(groups, node, offset)
        if len(groups) > 1 and any(a.body.last == b.body.first for a, b in pairwise(groups)):
            groups = self._flat(groups)
        placed = [self._placed(g) for g in groups]
        return placed[0] if len(placed) == 1 else self._sequence(placed)

    def _flat(self, groups: list[_Group]) -> list[_Group]:
        """Returns groups with the parts of short sequences in place of them."""
        found: list[_Group] = []
        for group in groups:
            if group.count == 1 and isinstance(group.body, Seq) and len(group.body.parts) <= MOST_FLAT:
                for node, offset in group.body.parts:
                    self._append(found, node, moved(offset, group.offset))
            else:
                _extend(found, group)
        return found

    def _append(self, groups: list[_Group], node: StreamNode, offset: Offset) -> None:
        offset = self.clipped(node, offset)
        if isinstance(node, Rep):
            _extend(groups, _Group(node.body, offset, node.shift, node.count))
        else:
            _extend(groups, _Group(node, offset, self.zero, 1))

    def _placed(self, group: _Group) -> Placed:
        made = self.rep(group.count, group.step, (group.body, group.offset))
        assert made is not None
        return made

    def _sequence(self, placed: list[Placed]) -> Placed:
        base = list(placed[0][1])
        live = placed[0][0].live
        for node, offset in placed[1:]:
            if node.live != live:
                base = [b if known else o for b, o, known in zip(base, offset, live, strict=True)]
                live = tuple([a or b for a, b in zip(live, node.live, strict=True)])
        own = tuple([(node, self.clipped(node, tuple(map(sub, offset, base)))) for node, offset in placed])
        known = self._known.get(own)
        if known is None:
            known = self._known[own] = Seq(own, self)
        return known, tuple(base)

    def rep(self, count: int, shift: Offset, part: Placed | None) -> Placed | None:
        """Returns a part repeated."""
        if part is None or count == 0:
            return None
        if count == 1:
            return part
        body, offset = part
        shift = self.clipped(body, shift)
        if isinstance(body, Rep) and times(body.count, body.shift) == shift:
            count, shift, body = count * body.count, body.shift, body.body
        key = (count, shift, body)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Rep(count, shift, body, self)
        return known, offset

    def clipped(self, node: StreamNode, offset: Offset) -> Offset:
        """Returns an offset with 0 in the coordinates that the node does not use."""
        return tuple(map(mul, offset, node.live))

    # -- which addresses a node reaches

    def reach(self, node: StreamNode, coordinate: int, modulus: int) -> int:
        """Returns the residues modulo `modulus` of the addresses that a node at 0 accesses, as the bits of a number."""
        key = (node, coordinate, modulus)
        found = self._reach.get(key)
        if found is not None:
            return found
        match node:
            case Seq():
                inner = (
                    (self.reach(n, coordinate, modulus), o[coordinate]) for n, o in node.parts if n.live[coordinate]
                )
                found = reduce(lambda a, b: a | b, (rotated(bits, by % modulus, modulus) for bits, by in inner), 0)
            case Rep():
                found = swept(self.reach(node.body, coordinate, modulus), node.shift[coordinate], node.count, modulus)
            case _:
                found = 1
        self._reach[key] = found
        return found


class _Group:
    """Equal bodies, each `step` after the one before."""

    __slots__ = ("body", "count", "last", "offset", "step")

    def __init__(self, body: StreamNode, offset: Offset, step: Offset, count: int) -> None:
        self.body, self.offset, self.step, self.count = body, offset, step, count
        self.last = offset if count == 1 else moved(offset, times(count - 1, step))

    def append(self, other: _Group) -> bool:
        """Appends another group of equal bodies, if it continues this one."""
        step = tuple(map(sub, other.offset, self.last))
        if (self.count > 1 and step != self.step) or (other.count > 1 and step != other.step):
            return False
        self.step, self.last = step, other.last
        self.count += other.count
        return True


def _extend(groups: list[_Group], group: _Group) -> None:
    """Appends a group, to the last one if it continues that."""
    if not (groups and groups[-1].body is group.body and groups[-1].append(group)):
        groups.append(group)


def rotated(bits: int, by: int, modulus: int) -> int:
    """Returns residues as bits, all increased by `by`, which is less than `modulus`."""
    return ((bits << by) | (bits >> (modulus - by))) & ((1 << modulus) - 1)


def swept(bits: int, shift: int, count: int, modulus: int) -> int:
    """Returns residues as bits, those of `count` iterations that increase them by `shift`."""
    done = 1
    while done < count:
        more = min(done, count - done)
        bits |= rotated(bits, shift * more % modulus, modulus)
        done += more
    return bits
