"""Barriers of all blocks (`T.sync_grid()`, `T.sync_all()`): the statements behind one are loops over the blocks of their own, which begin
when all blocks have reached it. Blocks keep nothing across it but what is in global memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ....analysis import accessed_regions
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    SeqStmt,
    Stmt,
    Var,
    build,
    substitute,
    walk,
)
from ...reading.source import PositionTable
from ..names import GRID_BARRIER
from .statement import kind_of, sync, sync_of

GRID_SYNC = "grid"
"""The kind of the statement of a barrier of all blocks."""


GRID_BARRIERS = ("sync_grid", "sync_all")


def read_grid_barrier(function: str) -> Stmt:
    return sync(f"T.{function}()", GRID_SYNC)


def phases(body: Stmt) -> list[Stmt]:
    """Return the statements of a kernel between its barriers of all blocks, which are not inside of loops and branches."""
    found: list[list[Stmt]] = [[]]
    for stmt in body.seq if isinstance(body, SeqStmt) else (body,):
        call = sync_of(stmt)
        if call is not None and kind_of(call) == GRID_SYNC:
            found.append([])
        else:
            found[-1].append(stmt)
    return [build.seq(part) for part in found]


def kept_across(parts: Sequence[Stmt]) -> list[Buffer]:
    """Return the buffers of blocks whose values may be kept across a barrier: those of one phase that a later one does not fill first."""
    found: dict[Buffer, None] = {}
    before: set[Buffer] = set()
    for part in parts:
        filled: set[Buffer] = set()
        for block, is_sure in _blocks(part, is_sure=True):
            reads, writes = accessed_regions(block)
            for buffer in dict.fromkeys(region.buffer for region in (*reads, *writes)):
                if buffer.scope == "global" or buffer not in before or buffer in filled:
                    continue
                if is_sure and _fills(block, buffer) and all(region.buffer is not buffer for region in reads):
                    filled.add(buffer)
                else:
                    found[buffer] = None
        before |= {
            region.buffer for b, _ in _blocks(part, is_sure=True) for side in accessed_regions(b) for region in side
        }
    return list(found)


def _blocks(stmt: Stmt, *, is_sure: bool) -> Iterator[tuple[Block, bool]]:
    """Yield the innermost blocks in text order, each with whether it always runs."""
    match stmt:
        case BlockRealize(predicate=predicate, block=block):
            if any(isinstance(node, BlockRealize) for node in walk(block.body)):
                yield from _blocks(block.body, is_sure=is_sure and build.is_const(predicate, 1))
            else:
                yield block, is_sure and build.is_const(predicate, 1)
        case IfThenElse(then_case=then, else_case=other):
            for part in filter(None, (then, other)):
                yield from _blocks(part, is_sure=False)
        case SeqStmt(seq=seq):
            for part in seq:
                yield from _blocks(part, is_sure=is_sure)
        case Evaluate():
            return
        case _:
            body = getattr(stmt, "body", None)
            if isinstance(body, Stmt):
                yield from _blocks(body, is_sure=is_sure)


def _fills(block: Block, buffer: Buffer) -> bool:
    """Return whether a block stores to each element of a buffer: its only statement has an iterator of its own for each axis."""
    store, sizes = block.body, {v.var: v.dom.extent for v in block.iter_vars}
    if not isinstance(store, BufferStore) or store.buffer is not buffer:
        return False
    axes = [
        (index, extent) for index, extent in zip(store.indices, buffer.shape, strict=True) if not _is_single(extent)
    ]
    known = [build.int_value(sizes[index]) for index, _ in axes if isinstance(index, Var) and index in sizes]
    wanted = [build.int_value(extent) for _, extent in axes]
    return len({index for index, _ in axes}) == len(axes) and known == wanted and None not in known


def _is_single(extent: Expr) -> bool:
    return build.is_const(extent, 1)


def in_phases(loops: Sequence[For], parts: Sequence[Stmt], positions: PositionTable) -> list[Stmt]:
    """Return a loop nest over the blocks for each phase; all but the first have variables of their own and wait for all blocks."""
    found = [build.nest(loops, parts[0])]
    for part in parts[1:]:
        own = {loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in loops}
        moved = substitute(part, own)
        for old, new in zip(walk(part), walk(moved), strict=True):
            for place in positions.places(old) if new is not old else ():
                positions.add(new, place)
        headers = [replace(loop, loop_var=own[loop.loop_var]) for loop in loops]
        notes = (*headers[0].annotations, (GRID_BARRIER, IntImm(1)))
        found.append(build.nest([replace(headers[0], annotations=notes), *headers[1:]], moved))
    return found


__all__ = ["GRID_BARRIERS", "GRID_SYNC", "in_phases", "kept_across", "phases", "read_grid_barrier"]
