"""Lifetimes of buffers in program order: the leaves between which memory must keep a buffer.

A buffer that is allocated outside of a loop and accessed in it lives for all of the loop, as in TVM's StorageRewrite: a later iteration may
read what an earlier one wrote, or, with slots, while another slot is filled. Where the text of a kernel says that buffers share memory, one
that each iteration overwrites before it reads it lives within an iteration; so does a fragment, whose registers the compiler allocates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from ...ir import Buffer, BufferLoad
from ...script.tilelang.sync.slots import reuses_memory
from .nest import AllocationSite, ComputeBlock, Loop, Nest, NestNode, Piece, buffers_of, nodes_of

REGISTERS = ("local", "local.fragment")


class Lifetime(msgspec.Struct, frozen=True):
    """From leaf number `first` to `last` in text order, inclusive."""

    first: int
    last: int


def lifetimes_of(nest: Nest, once: Collection[str] = ()) -> dict[AllocationSite, Lifetime]:
    """The lifetime of each buffer. Parameters live for the whole program. Loops of the names `once` count as a single
    iteration, and the memory of a buffer in them is inside of them."""
    sites = {site.buffer: site for site in nest.sites}
    found: dict[AllocationSite, Lifetime] = {}
    count = 0
    shares = reuses_memory(nest.func)
    common = {b: depth for b, depth in _renewed(nest).items() if shares or b.scope in REGISTERS}
    for leaf, around in _leaves(nest.children, 0, ()):
        count += 1
        for site in {sites[buffer] for piece in leaf.pieces for buffer in buffers_of(piece) if buffer in sites}:
            depth = len(site.loops) if any(loop.name in once for loop in site.loops[site.depth :]) else site.depth
            depth = max(depth, common.get(site.buffer, 0))
            inside = [span for loop, span in around[depth:] if loop.extent > 1 and loop.name not in once]
            span = inside[0] if inside else Lifetime(count - 1, count - 1)
            known = found.get(site, span)
            found[site] = Lifetime(min(known.first, span.first), max(known.last, span.last))
    always = Lifetime(0, max(count - 1, 0))
    return {s: always if nest.index.is_param(s.buffer) else found.get(s, always) for s in nest.sites}


def _renewed(nest: Nest) -> dict[Buffer, int]:
    """Returns the buffers whose first access in the text writes and does not read them, each with the number of loops that are around all
    its accesses."""
    around: dict[Buffer, tuple[Loop, ...]] = {}
    kept: set[Buffer] = set()
    for leaf, loops in _leaves(nest.children, 0, ()):
        mine = tuple(loop for loop, _ in loops)
        for buffer in {buffer for piece in leaf.pieces for buffer in buffers_of(piece)}:
            if buffer not in around:
                around[buffer] = mine
                if any(buffer is not p.store.buffer or _reads(p, buffer) for p in leaf.pieces if p.store is not None):
                    kept.add(buffer)
            else:
                pairs = zip(around[buffer], mine, strict=False)
                shared = next((n for n, (a, b) in enumerate(pairs) if a is not b), min(len(around[buffer]), len(mine)))
                around[buffer] = mine[:shared]
    return {buffer: len(loops) for buffer, loops in around.items() if buffer not in kept}


def _reads(piece: Piece, buffer: Buffer) -> bool:
    return any(isinstance(node, BufferLoad) and node.buffer is buffer for node in nodes_of(piece))


Around = tuple[tuple[Loop, Lifetime], ...]
"""The loops around a leaf, outermost first, each with its leaves."""


def _leaves(nodes: Iterable[NestNode], first: int, around: Around) -> Iterator[tuple[ComputeBlock, Around]]:
    """Yields the leaves, of which the first has the number `first`."""
    for node in nodes:
        if isinstance(node, ComputeBlock):
            yield node, around
            first += 1
        else:
            count = _count(node)
            yield from _leaves(node.children, first, (*around, (node.loop, Lifetime(first, first + count - 1))))
            first += count


def _count(node: NestNode) -> int:
    return 1 if isinstance(node, ComputeBlock) else sum(map(_count, node.children))


__all__ = ["Lifetime", "lifetimes_of"]
