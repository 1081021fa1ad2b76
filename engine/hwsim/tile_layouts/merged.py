"""Addresses of shared buffers after TileLang's compiler has merged them: buffers whose lifetimes do not meet share memory.

Source: TileLang 0.1.15, `src/transform/merge_shared_memory_allocations.cc` (liveness by statements of the kernel, `LinearScanPack`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import msgspec

from ...arith import simplify
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    IntImm,
    NodeAttr,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    allocated_buffers,
    build,
    substitute,
    walk,
)
from ...ir import dtype as dt
from ...script.tilelang.names import GEMM
from .products import Unit, products_of, warp_partition
from .stored import StoredLayout

ALIGNMENT = 16
STAGES = "num_stages"
DYNAMIC = "shared.dyn"


class Interval(msgspec.Struct, frozen=True):
    """A buffer's bytes, live from statement `first` to `last` of the kernel, inclusive."""

    name: str
    size_bytes: int
    first: int
    last: int


class MergedShared(msgspec.Struct, frozen=True):
    """The offset of each shared buffer by name in the one allocation of a kernel, which has `size_bytes`. `reason` says why they are not
    known."""

    offsets: dict[str, int] = {}
    size_bytes: int = 0
    reason: str = ""


def merged_shared(func: PrimFunc, unit: Unit, stored: Mapping[str, StoredLayout]) -> MergedShared:
    """Returns where the compiler places the shared buffers of a kernel whose pipelines are lowered (`planned(func).piped`), with their
    layouts by name."""
    if unit != "mma":
        return MergedShared(reason="alignment and liveness on sm_90 depend on bulk copies and producer warps")
    if any(isinstance(node, NodeAttr | IfThenElse) for node in walk(func.body)):
        return MergedShared(reason="statements run under conditions or in groups of warps")
    if _needs_workspace(func, unit):
        return MergedShared(reason="a reduction over several warps has a workspace")
    buffers = [b for b in allocated_buffers(func.body) if b.scope == DYNAMIC]
    sizes = [[build.int_value(extent) for extent in b.shape] for b in buffers]
    if any(None in shape for shape in sizes):
        return MergedShared(reason="a size is not known")
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    try:
        statements = list(_statements(func.body, {}))
    except _UndecidedError:
        return MergedShared(reason="the length of a pipelined loop depends on the block")
    for number, stmt in enumerate(statements):
        for node in walk(stmt):
            if isinstance(node, BufferLoad | BufferStore) and node.buffer.scope == DYNAMIC:
                first.setdefault(node.buffer, number)
                last[node.buffer] = number
    intervals = [
        Interval(b.name, _bytes(b, [n or 0 for n in shape], stored.get(b.name)), first[b], last[b])
        for b, shape in zip(buffers, sizes, strict=True)
        if b in first
    ]
    if len({i.name for i in intervals}) < len(intervals):
        return MergedShared(reason="two buffers have one name")
    offsets, top = packed(intervals)
    return MergedShared(
        {i.name: offset for i, offset in zip(intervals, offsets, strict=True)}, -(-top // ALIGNMENT) * ALIGNMENT
    )


def _needs_workspace(func: PrimFunc, unit: Unit) -> bool:
    """Whether a reduction may combine values of several warps, since no single warp has each row of the product that it reads."""
    found = products_of(func)
    whole = {p.c.name for p in found if (warp_partition(p, unit) or (0, 0))[1] == 1}
    whole -= {p.c.name for p in found if (warp_partition(p, unit) or (0, 0))[1] != 1}
    for node in walk(func.body):
        if (
            isinstance(node, Block)
            and GEMM not in dict(node.annotations)
            and any(iv.iter_type == "reduce" for iv in node.iter_vars)
        ):
            written = {region.buffer for region in node.writes}
            read = [n.buffer for n in walk(node.body) if isinstance(n, BufferLoad) and n.buffer not in written]
            if any(b.scope == "local.fragment" and b.name not in whole for b in read):
                return True
    return False


def _bytes(buffer: Buffer, shape: Sequence[int], layout: StoredLayout | None) -> int:
    columns = shape[-1] if layout is None or not shape else layout.row_elements(shape[-1])
    return prod(shape[:-1]) * columns * dt.bits(buffer.dtype) // 8


def _statements(stmt: Stmt, given: Mapping[Var, Expr]) -> Iterator[Stmt]:
    """Yields the statements of a kernel in the order in which they run. Prologues and epilogues of pipelines are unrolled, and a loop of
    one iteration is its body. Raises _UndecidedError for a condition that `given` values of loops do not decide."""
    match stmt:
        case SeqStmt():
            for part in stmt.seq:
                yield from _statements(part, given)
        case BlockRealize() if not stmt.block.name or stmt.block.name == "root":
            condition = simplify(substitute(stmt.predicate, given))
            if not isinstance(condition, IntImm):
                raise _UndecidedError
            if condition.value:
                yield from _statements(stmt.block.body, given)
        case For():
            extent = build.int_value(stmt.extent)
            is_grid = stmt.thread_tag is not None and stmt.thread_tag.startswith("blockIdx")
            if extent == 1 or (stmt.kind == "unrolled" and STAGES in dict(stmt.annotations)):
                if extent is None:
                    raise _UndecidedError
                for number in range(extent):
                    value = build.add(substitute(stmt.min, given), build.const(number, stmt.min.dtype))
                    yield from _statements(stmt.body, {**given, stmt.loop_var: value})
            elif is_grid:
                yield from _statements(stmt.body, given)
            else:
                yield stmt
        case _:
            yield stmt


class _UndecidedError(Exception):
    """A statement runs in some blocks of the grid only."""


class _Block(msgspec.Struct, frozen=True, order=True):
    """Free bytes."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


def packed(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Returns the offset of each buffer, and the end of the last: the best free block between those that live, else one that continues the
    last, else a new one."""
    order = sorted(
        range(len(intervals)), key=lambda n: (intervals[n].first, -intervals[n].size_bytes, intervals[n].name)
    )
    offsets = [0] * len(intervals)
    active: list[int] = []
    free: list[_Block] = []
    top = 0
    for number in order:
        interval = intervals[number]
        for other in sorted((n for n in active if intervals[n].last < interval.first), key=lambda n: intervals[n].last):
            active.remove(other)
            free = _joined(free, _Block(offsets[other], intervals[other].size_bytes))
        size = interval.size_bytes
        fitting = [b for b in free if b.end - _aligned(b.offset) >= size]
        tail = free[-1] if free and free[-1].end == top and _aligned(free[-1].offset) < top else None
        best = min((b.size, b) for b in fitting)[1] if fitting else None
        block = best or tail or _Block(top, _aligned(top) - top)
        offset = _aligned(block.offset)
        free = [b for b in free if b != block]
        for left in (_Block(block.offset, offset - block.offset), _Block(offset + size, block.end - offset - size)):
            free = _joined(free, left)
        offsets[number] = offset
        top = max(top, offset + size)
        active.append(number)
    return offsets, top


def _joined(free: list[_Block], block: _Block) -> list[_Block]:
    """Returns free blocks with another one, those that touch as one."""
    if block.size <= 0:
        return free
    found: list[_Block] = []
    for each in sorted([*free, block]):
        if found and found[-1].end >= each.offset:
            found[-1] = _Block(found[-1].offset, max(found[-1].end, each.end) - found[-1].offset)
        else:
            found.append(each)
    return found


def _aligned(address: int) -> int:
    return -(-address // ALIGNMENT) * ALIGNMENT


__all__ = ["Interval", "MergedShared", "merged_shared", "packed"]
