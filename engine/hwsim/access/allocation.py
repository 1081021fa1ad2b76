"""Static allocation: the physical block and the addresses of each buffer, decided before the program runs, as a compiler does.

While a memory has room, every buffer has addresses of its own. If it has not, buffers whose lifetimes in program order do not overlap share
addresses: several orders of the buffers are tried (by size and by conflicts, as in TVM's unified static memory planner, and two others),
each buffer takes its lowest free address, and the packing with the lowest overflow is kept.

This module knows chunks and lifetimes, no programs or machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ...cancellation import checkpoint

ANY = -1
"""The block of a chunk that may be placed in any physical block."""


class Chunk(msgspec.Struct, frozen=True):
    """`size_bytes` contiguous bytes in a physical block, live from leaf number `first` to `last` of the program, inclusive."""

    size_bytes: int
    first: int
    last: int
    block: int = ANY

    def meets(self, other: Chunk) -> bool:
        """Whether both are live at the same time."""
        return self.first <= other.last and other.first <= self.last


class ChunkSpot(msgspec.Struct, frozen=True):
    """Where a chunk begins: byte `address` of a physical block."""

    block: int
    address: int


def allocate(
    chunks: Sequence[Chunk], blocks: int, room: int, alignment: int, *, spread: bool = False
) -> tuple[ChunkSpot, ...]:
    """The spot of each chunk, in a memory of `blocks` physical blocks of `room` bytes each. Addresses are multiples of `alignment`.

    While there is room, a chunk without a block is in the first one with enough of it, or with `spread` in the one with the most.

    A memory that is too small for any packing gets the one with the lowest overflow.
    """
    apart = _side_by_side(chunks, blocks, room, alignment, spread=spread)
    if _overflow(chunks, apart, blocks, room)[0] == 0:
        return apart
    packings = [_packed(chunks, order, blocks, room, alignment) for order in _orders(chunks)]
    return min(packings, key=lambda spots: _overflow(chunks, spots, blocks, room))


def _orders(chunks: Sequence[Chunk]) -> Iterator[list[int]]:
    """Yields the orders in which the chunks are packed: by first use, by size, by the bytes that live at the same time, by lifetime."""
    numbers = range(len(chunks))
    conflicts = [sum(o.size_bytes for o in chunks if c.meets(o)) for c in chunks]
    yield sorted(numbers, key=lambda n: chunks[n].first)
    yield sorted(numbers, key=lambda n: -chunks[n].size_bytes)
    yield sorted(numbers, key=lambda n: (-conflicts[n], -chunks[n].size_bytes))
    yield sorted(numbers, key=lambda n: (chunks[n].first - chunks[n].last, -chunks[n].size_bytes))


def largest_live(chunks: Iterable[Chunk]) -> tuple[int, int]:
    """The largest sum of bytes that are live at the same time, and the first leaf at which they are. One block never needs less."""
    changes: Counter[int] = Counter()
    for chunk in chunks:
        changes[chunk.first] += chunk.size_bytes
        changes[chunk.last + 1] -= chunk.size_bytes
    most = live = at = 0
    for leaf in sorted(changes):
        live += changes[leaf]
        if live > most:
            most, at = live, leaf
    return most, at


def _overflow(chunks: Sequence[Chunk], spots: Sequence[ChunkSpot], blocks: int, room: int) -> tuple[int, int]:
    """The bytes beyond `room` in all blocks, and the bytes up to the last used address in all blocks."""
    ends = [0] * blocks
    for chunk, spot in zip(chunks, spots, strict=True):
        ends[spot.block] = max(ends[spot.block], spot.address + chunk.size_bytes)
    return sum(max(0, end - room) for end in ends), sum(ends)


def _side_by_side(
    chunks: Sequence[Chunk], blocks: int, room: int, alignment: int, *, spread: bool
) -> tuple[ChunkSpot, ...]:
    """One after the other; a chunk that fits in no block is in the one with the most room."""
    ends = [0] * blocks
    spots: list[ChunkSpot] = []
    for chunk in chunks:
        starts = [_aligned(end, alignment) for end in ends]
        block = chunk.block
        if block == ANY:
            fitting = (b for b, start in enumerate(starts) if start + chunk.size_bytes <= room and not spread)
            block = next(fitting, starts.index(min(starts)))
        spots.append(ChunkSpot(block, starts[block]))
        ends[block] = starts[block] + chunk.size_bytes
    return tuple(spots)


def _packed(
    chunks: Sequence[Chunk], order: Iterable[int], blocks: int, room: int, alignment: int
) -> tuple[ChunkSpot, ...]:
    """Each chunk in turn at the lowest address at which it meets no other chunk."""
    placed: list[list[tuple[int, Chunk]]] = [[] for _ in range(blocks)]
    found: dict[int, ChunkSpot] = {}
    for number in order:
        checkpoint()
        chunk = chunks[number]
        allowed = range(blocks) if chunk.block == ANY else (chunk.block,)
        starts = {block: _lowest(chunk, placed[block], alignment) for block in allowed}
        fitting = (b for b, start in starts.items() if start + chunk.size_bytes <= room)
        block = next(fitting, min(starts, key=starts.__getitem__))
        found[number] = ChunkSpot(block, starts[block])
        placed[block].append((starts[block], chunk))
    return tuple(found[n] for n in range(len(chunks)))


def _lowest(chunk: Chunk, placed: Iterable[tuple[int, Chunk]], alignment: int) -> int:
    """The lowest address of a gap for `chunk` between the chunks that are live at the same time."""
    address = 0
    for start, other in sorted((start, other.size_bytes) for start, other in placed if other.meets(chunk)):
        if address + chunk.size_bytes <= start:
            break
        address = max(address, _aligned(start + other, alignment))
    return address


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


__all__ = ["ANY", "Chunk", "ChunkSpot", "allocate", "largest_live"]
