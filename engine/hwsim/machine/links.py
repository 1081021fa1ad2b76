"""Routes of links: the segments that a transfer between a core and the memory around it occupies, and its hops.

The nodes of a ring, mesh or torus are the instances of the inner memory, numbered row by row. A path goes along the row and then along the
column (XY), or the other way round if the link's direction is "down". The outer memory has a segment of its own at each node to which it is
attached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from .parts import Level, Link, Memory

Segment = tuple[int, int]
"""From one node to another; the n-th attachment of the outer memory is node -1 - n."""


class Placed(Protocol):
    """Protocol of a machine: where its memories are."""

    @property
    def levels(self) -> tuple[Level, ...]: ...
    def memory(self, name: str) -> Memory: ...
    def cores_around(self, level: str) -> int: ...


class Path(msgspec.Struct, frozen=True):
    """The parts of a transfer's bytes on each segment, of `of` equal parts."""

    parts: Mapping[Segment, int]
    of: int


class Routes(msgspec.Struct, frozen=True):
    """The ways of a link from (or to) each attachment of its outer memory to each node; `inner` cores are at a node."""

    link: Link
    ways: tuple[tuple[tuple[Segment, ...], ...], ...]
    inner: int

    @property
    def nodes(self) -> int:
        return len(self.ways[0])

    def node(self, core: int) -> int:
        """Returns the node of a core, by its number on the chip."""
        return core // self.inner % self.nodes

    def used(self, core: int) -> tuple[int, ...]:
        """Returns the attachments that a core uses: all, or the nearest."""
        every, node = range(len(self.ways)), self.node(core)
        return (
            tuple(every) if self.link.access == "interleaved" else (min(every, key=lambda n: len(self.ways[n][node])),)
        )

    def path(self, cores: Sequence[int]) -> Path:
        """Returns the path of one transfer to cores around one memory: with several cores a tree, from the attachments of the first."""
        used = self.used(cores[0])
        trees = [[self.ways[n][self.node(core)] for core in cores] for n in used]
        parts: Counter[Segment] = Counter()
        for ways in trees:
            parts.update({segment for way in ways for segment in way})
        return Path(dict(parts), len(used))

    def delay(self, cores: Sequence[int], core: int) -> int:
        """Returns the delay of a transfer to several cores for one of them, by its hops."""
        node = self.node(core)
        return max(len(self.ways[n][node]) for n in self.used(cores[0])) * self.link.hop_cycles

    @property
    def slowest(self) -> int:
        """The longest delay of a core's transfers by their hops, also of transfers to several cores."""
        return max(len(way) for ways in self.ways for way in ways) * self.link.hop_cycles

    @property
    def around(self) -> int:
        """The cores around one outer memory."""
        return self.nodes * self.inner

    @property
    def crowd(self) -> int:
        """The most cores whose transfers use one segment; with multicast a tree may use any."""
        if self.link.multicast:
            return self.around
        found: Counter[Segment] = Counter()
        for core in range(self.around):
            found.update(self.path([core]).parts.keys())
        return max(found.values())


def nodes_of(link: Link, machine: Placed) -> int | None:
    """Returns the number of nodes of a link: the instances of its inner memory in one of its outer memory; None if neither is inside."""
    if machine.memory(link.origin).level == machine.memory(link.target).level:
        return None
    outer, inner = _around(link, machine)
    return outer // inner


def attached_nodes(link: Link, machine: Placed) -> tuple[int, ...]:
    """Returns the nodes at which the outer memory is attached, of those that exist."""
    return tuple(node for node in link.attached if node < (nodes_of(link, machine) or 0))


def is_routed(link: Link) -> bool:
    """Returns whether the transfers of different cores use different segments, or one that serves several of them."""
    return link.shape != "bus" or link.multicast


def routes_of(link: Link, machine: Placed) -> Routes:
    """Returns the paths of a link."""
    outer, inner = _around(link, machine)
    nodes, leaves = outer // inner, outer_memory(link, machine) == link.origin
    attached = enumerate(attached_nodes(link, machine))
    return Routes(link, tuple(tuple(_ways(link, nodes, n, at, leaves=leaves)) for n, at in attached), inner)


def outer_memory(link: Link, machine: Placed) -> str:
    """Returns the name of the outer one of both memories."""
    around = {level.name: level.within for level in machine.levels}

    def depth(name: str) -> int:
        level, found = machine.memory(name).level, 0
        while level and found <= len(around):
            level, found = around.get(level, ""), found + 1
        return found

    return min((link.origin, link.target), key=depth)


def _around(link: Link, machine: Placed) -> tuple[int, int]:
    """Returns the cores around one instance of the outer and of the inner memory."""
    around = [machine.cores_around(machine.memory(name).level) for name in (link.origin, link.target)]
    return max(around), min(around)


def _ways(link: Link, nodes: int, number: int, at: int, *, leaves: bool) -> Iterator[tuple[Segment, ...]]:
    """Yields the ways between an attachment and each node, of transfers that leave the outer memory or go to it."""
    for node in range(nodes):
        if link.shape == "bus":
            yield ((-1, 0),)
        elif leaves:
            yield ((-1 - number, at), *_steps(link, nodes, at, node))
        else:
            yield (*_steps(link, nodes, node, at), (at, -1 - number))


def _steps(link: Link, nodes: int, start: int, end: int) -> Iterator[Segment]:
    """Yields the segments from one node to another."""
    columns = nodes if link.shape == "ring" else link.row_nodes or nodes
    sizes, at, to = (columns, nodes // columns), [start % columns, start // columns], (end % columns, end // columns)
    for axis in (1, 0) if link.direction == "down" else (0, 1):
        size, ahead = sizes[axis], to[axis] - at[axis]
        if link.shape != "mesh":
            ahead %= size
            if link.direction == "down" or (link.direction == "both" and 2 * ahead > size):
                ahead -= size if ahead else 0
        for _ in range(abs(ahead)):
            before = at[0] + at[1] * columns
            at[axis] = (at[axis] + (1 if ahead > 0 else -1)) % size
            yield before, at[0] + at[1] * columns


__all__ = ["Path", "Routes", "Segment", "attached_nodes", "is_routed", "nodes_of", "outer_memory", "routes_of"]
