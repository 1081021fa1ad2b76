"""Ids of a program's buffers for the browser, and the block accesses by which schedule calls refer to buffers."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ....engine.analysis import ProgramIndex
from ....engine.ir import Buffer, BufferRegion, PrimFunc, allocated_buffers
from ...state.row_ids import RowIds


def buffer_ids(func: PrimFunc) -> dict[str, Buffer]:
    """Id -> buffer, parameters first. The id is the name; the second buffer with that name has `name~2`."""
    found: dict[str, Buffer] = {}
    for buffer in (*func.buffers, *allocated_buffers(func.body)):
        name, count = buffer.name, 1
        while name in found:
            count += 1
            name = f"{buffer.name}~{count}"
        found[name] = buffer
    return found


class BlockAccess(msgspec.Struct, frozen=True, eq=False):
    """A block that reads or writes a buffer, with the position of that read or write."""

    block: str
    row: str
    side: Literal["read", "write"]
    position: int
    buffer: Buffer

    @property
    def argument(self) -> list[Any]:
        """The `buffer` of a layout call."""
        return [self.side, self.position]


def accesses_of(index: ProgramIndex, ids: RowIds, buffer: Buffer) -> tuple[BlockAccess, ...]:
    """The accesses to a buffer, writes first, each in text order."""
    found: list[BlockAccess] = []
    for row, name in ids.items():
        if not isinstance(name, str):
            continue
        block = index.block(name)
        sides: tuple[tuple[Literal["read", "write"], tuple[BufferRegion, ...]], ...] = (
            ("write", block.writes),
            ("read", block.reads),
        )
        for side, regions in sides:
            position = next((n for n, region in enumerate(regions) if region.buffer is buffer), None)
            if position is not None:
                found.append(BlockAccess(name, row, side, position, buffer))
    return tuple(sorted(found, key=lambda a: a.side == "read"))


def leaf_accesses(index: ProgramIndex, ids: RowIds, buffer: Buffer) -> tuple[BlockAccess, ...]:
    """The accesses of leaf blocks, or all accesses if there are none; an outer block only summarises its inner blocks."""
    every = accesses_of(index, ids, buffer)
    leaves = tuple(a for a in every if not index.child_blocks(index.block(a.block)))
    return leaves or every
