"""Groups of blocks to compute tile by tile together, and the loops of their last block to tile; a choice of both as positions in the
program, so that another program of equal structure can begin with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from math import prod

import msgspec

from ...analysis import ProgramIndex
from ...ir import Buffer, Var, build
from ...ir import dtype as dt
from ..bounds.product import product_of
from .flow import GroupFlow


class Members(msgspec.Struct, frozen=True):
    """Blocks that are computed tile by tile together, in text order. The loops of the last one are tiled; `after` are blocks that process
    its results element by element, in their order."""

    blocks: tuple[str, ...]
    after: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        return self.blocks[-1]

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.blocks, *self.after)


Partition = tuple[Members, ...]
"""Groups in the order of the program."""

MOST_TILINGS = 11

DEPTH = 32
"""Iterations of a summed loop that a tile of most engines covers."""

MAIN_BLOCK = -1
"""The partition of a sketch that tiles the main block alone."""


def are_plain(index: ProgramIndex) -> bool:
    """Whether each block of the program writes one buffer, and its iterators are its loops, each once and of known extent."""
    names = index.block_names[1:]
    return bool(names) and all(_is_plain(index, name) for name in names)


def _is_plain(index: ProgramIndex, name: str) -> bool:
    realize = index.realize(name)
    loops = index.loops_of(name)
    values = [v for v in realize.iter_values if isinstance(v, Var)]
    return (
        bool(loops)
        and not index.child_blocks(realize)
        and len(realize.block.writes) == 1
        and {f.loop_var for f in loops} == set(values)
        and len(values) == len(loops) == len(realize.iter_values)
        and all(build.int_value(f.extent) is not None for f in loops)
        and all(
            len(index.loops_of(n)) == 0 or not set(index.loops_of(n)) & set(loops) or n == name
            for n in index.block_names[1:]
        )
    )


def partitions(index: ProgramIndex) -> Iterator[Partition]:
    """Ways to divide the blocks: everything that leads to a result together; of several products, each with what it reads and what follows
    it; a single one with what it reads, its own loops to tile, and with what follows it after them."""
    names = index.block_names[1:]
    ends = [n for n in names if not _readers(index, n)]
    found = [_grouped(index, names, ends)]
    products = [n for n in names if product_of(index, n) is not None]
    if len(products) > 1:
        tails = [(n, *_tail(index, n))[-1] for n in products]
        found.append(_grouped(index, names, list(dict.fromkeys([*tails, *ends]))))
    elif products:
        found.append(_grouped(index, names, list(dict.fromkeys([*products, *ends])), products))
    yield from dict.fromkeys(found)


def _readers(index: ProgramIndex, block: str) -> list[str]:
    """The later blocks that read what a block writes, without those that only write other elements of its buffer."""
    return [n for n in index.consumers(block) if block in _sources(index, n)]


def _sources(index: ProgramIndex, block: str) -> list[str]:
    """The earlier blocks that write what a block reads."""
    read = {r.buffer for r in index.block(block).reads}
    return [n for n in index.producers(block) if any(w.buffer in read for w in index.block(n).writes)]


def _tail(index: ProgramIndex, block: str) -> tuple[str, ...]:
    """The blocks that process the result of a block element by element, each the only reader of the one before."""
    found: list[str] = []
    while True:
        readers = _readers(index, block)
        if len(readers) != 1 or index.is_reduction(readers[0]):
            return tuple(found)
        (block,) = readers
        found.append(block)


def _grouped(
    index: ProgramIndex, names: Sequence[str], lasts: Sequence[str], products: Collection[str] = ()
) -> Partition:
    """The groups that end with these blocks: each block belongs to the first group that needs it, and what follows one of the products and
    reads no later block to its group."""
    order = {name: n for n, name in enumerate(names)}
    taken: set[str] = set()
    found: list[Members] = []
    for last in sorted(lasts, key=order.__getitem__):
        if last in taken:
            continue
        members: set[str] = set()
        waiting = [last]
        while waiting:
            name = waiting.pop()
            if name not in taken:
                taken.add(name)
                members.add(name)
                waiting += _sources(index, name)
        after: list[str] = []
        for name in _tail(index, last) if last in products else ():
            if not {*_sources(index, name)} <= taken:
                break
            after.append(name)
            taken.add(name)
        found.append(Members(tuple(sorted(members, key=order.__getitem__)), tuple(after)))
    return tuple(found)


def tilings(index: ProgramIndex, group: Members) -> tuple[tuple[str, ...], ...]:
    """The loops of the last block to tile, from the outermost on: its first two spatial loops, its first and its last one, alone and in
    both orders, and all if there are three; of more than three first those that most operands follow; of a reduction also with its
    longest summed loop inside (the outermost, if one tile of an engine covers that), and only so if blocks follow: without it, they are
    the last."""
    realize = index.realize(group.last)
    kinds = {v: iv.iter_type for v, iv in zip(realize.iter_values, realize.block.iter_vars, strict=True)}
    extents = {f.loop_var: build.int_value(f.extent) or 1 for f in index.loops_of(group.last)}
    loops = [v for v, extent in extents.items() if extent > 1]
    spatial = [v.name for v in loops if kinds[v] != "reduce"]
    summed = [v for v in loops if kinds[v] == "reduce"]
    some = [spatial[:1], spatial[-1:], [*spatial[:1], *spatial[-1:]], [*spatial[-1:], *spatial[:1]]]
    if len(spatial) > 2:
        some.insert(0, spatial[:2])
    if len(spatial) == 3:
        some.append(spatial)
    if len(spatial) > 3:
        most, *others = _most_followed_first(index, group, spatial)
        some = [[most], [most, others[0]], [spatial[0], most], [most, spatial[0]], *some]
    found = [tuple(dict.fromkeys(one)) for one in some if one]
    if summed:
        cut = max(summed, key=extents.__getitem__)
        cut = summed[0] if len(spatial) > 3 and extents[cut] <= DEPTH else cut
        inside = [(*one, cut.name) for one in dict.fromkeys([*found[:4], *found[-1:]])]
        found = inside if group.after else [*found, *inside]
    return tuple(dict.fromkeys(found))[:MOST_TILINGS]


def _most_followed_first(index: ProgramIndex, group: Members, spatial: Sequence[str]) -> list[str]:
    """The loops, those first that the most bytes of the group's operands and results follow: the others are copied again for each tile."""
    flow = GroupFlow(index, group.blocks, group.after)
    read = ((r.buffer, flow.of_block_read(name, r.buffer)) for name in group.every for r in index.block(name).reads)
    written = ((w.buffer, flow.of_block(group.every[-1])) for w in index.block(group.every[-1]).writes)
    inside = {w.buffer for name in group.every[:-1] for w in index.block(name).writes}
    copied = {buffer: loops for buffer, loops in (*read, *written) if buffer not in inside}
    return sorted(spatial, key=lambda name: -sum(bytes_of(b) for b, loops in copied.items() if name in loops))


def bytes_of(buffer: Buffer) -> int:
    return prod(build.int_value(n) or 1 for n in buffer.shape) * dt.size_bytes(buffer.dtype)


class SketchChoice(msgspec.Struct, frozen=True):
    """A way to group the blocks, as its number, and for each group the tiled loops as positions among the loops of its last block. With
    `inner`, blocks have tiles of their own inside of those (`tile_inside`)."""

    partition: int
    tiled: tuple[tuple[int, ...], ...] = ()
    inner: bool = False

    def found_in(self, index: ProgramIndex) -> tuple[Partition, list[tuple[str, ...]]] | None:
        """The groups of the program and the names of their tiled loops; None if the program has no such groups or loops."""
        partition = next(islice(partitions(index), self.partition, None), None) if self.partition >= 0 else None
        if partition is None or len(partition) != len(self.tiled):
            return None
        loops = [[f.loop_var.name for f in index.loops_of(group.last)] for group in partition]
        if any(n >= len(names) for names, tiled in zip(loops, self.tiled, strict=True) for n in tiled):
            return None
        return partition, [tuple(names[n] for n in tiled) for names, tiled in zip(loops, self.tiled, strict=True)]


def choice_of(
    index: ProgramIndex, number: int, partition: Partition, tiled: Sequence[Sequence[str]], *, inner: bool = False
) -> SketchChoice:
    """The choice of these groups, the partition of this number, and the names of their tiled loops."""
    loops = [[f.loop_var.name for f in index.loops_of(group.last)] for group in partition]
    positions = tuple(tuple(map(names.index, some)) for names, some in zip(loops, tiled, strict=True))
    return SketchChoice(number, positions, inner)


__all__ = [
    "MAIN_BLOCK",
    "Members",
    "Partition",
    "SketchChoice",
    "are_plain",
    "bytes_of",
    "choice_of",
    "partitions",
    "tilings",
]
