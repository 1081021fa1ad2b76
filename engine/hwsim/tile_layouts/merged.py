"""Addresses of shared buffers after TileLang's compiler has merged them: buffers whose lifetimes do not meet share memory.

Source: TileLang 0.1.15, `src/transform/merge_shared_memory_allocations.cc` (liveness by statements of the kernel, `LinearScanPack`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    IntImm,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    allocated_buffers,
    build,
    free_vars,
    substitute,
    walk,
)
from ...ir import dtype as dt
from ...script.tilelang.names import GEMM
from ...script.tilelang.sync.warps import has_groups
from .producers import copied, producer_threads
from .products import DEFAULT_THREADS, Unit, products_of, threads_of_kernel, warp_partition
from .stored import StoredLayout

ALIGNMENT = 16
STAGES = "num_stages"
DYNAMIC = "shared.dyn"
WARP, VECTOR = 32, 4
"""Threads of a warp, and the elements of at most 32 bits that a thread holds together."""


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


def merged_shared(func: PrimFunc, piped: PrimFunc, unit: Unit, stored: Mapping[str, StoredLayout]) -> MergedShared:
    """Returns where the compiler places the shared buffers of a kernel, with their layouts by name. In `piped`, its pipelines are lowered
    (`planned(func).piped.func`)."""
    if has_groups(func.body):
        return MergedShared(reason="statements run in groups of warps")
    if _needs_workspace(func, unit):
        return MergedShared(reason="a reduction over several warps has a workspace")
    buffers = [b for b in allocated_buffers(piped.body) if b.scope == DYNAMIC]
    sizes = [[build.int_value(extent) for extent in b.shape] for b in buffers]
    if any(None in shape for shape in sizes):
        return MergedShared(reason="a size is not known")
    if len({b.name for b in buffers}) < len(buffers):
        return MergedShared(reason="two buffers have one name")
    try:
        is_divided = bool(producer_threads(func, unit))
        lives = _lives(_of_groups(func) if is_divided else ((stmt,) for stmt in _statements(piped.body, {})))
    except _UndecidedError:
        return MergedShared(reason="the iterations of a pipelined loop depend on data")
    intervals = [
        Interval(b.name, _bytes(b, [n or 0 for n in shape], stored.get(b.name)), *lives[b.name])
        for b, shape in zip(buffers, sizes, strict=True)
        if b.name in lives
    ]
    offsets, top = packed(intervals)
    return MergedShared(
        {i.name: offset for i, offset in zip(intervals, offsets, strict=True)}, -(-top // ALIGNMENT) * ALIGNMENT
    )


def _lives(statements: Iterable[Collection[Stmt]]) -> dict[str, tuple[int, int]]:
    """Returns the first and the last of some statements that access each shared buffer."""
    found: dict[str, tuple[int, int]] = {}
    for number, parts in enumerate(statements):
        for name in {name for part in parts for name in _accessed(part)}:
            found[name] = found.get(name, (number, 0))[0], number
    return found


def _of_groups(func: PrimFunc) -> Iterator[list[Stmt]]:
    """Yields the blocks of each statement where the compiler divides a kernel: producer warps make the copies from global memory, and the
    statements of the others follow theirs."""
    loops = (node for node in walk(func.body) if isinstance(node, For) and STAGES in dict(node.annotations))
    if any(isinstance(n, BufferLoad) for loop in loops for part in (loop.min, loop.extent) for n in walk(part)):
        raise _UndecidedError
    for is_producer in (True, False):
        for stmt in _statements(func.body, {}):
            yield [n for n in walk(stmt) if isinstance(n, BlockRealize) and (copied(n) is not None) == is_producer]


def _accessed(stmt: Stmt) -> set[str]:
    nodes = (node for node in walk(stmt) if isinstance(node, BufferLoad | BufferStore))
    return {node.buffer.name for node in nodes if node.buffer.scope == DYNAMIC}


def _needs_workspace(func: PrimFunc, unit: Unit) -> bool:
    """Whether a reduction may combine values of several warps: along the rows or columns of a product that are divided among warps, along
    other axes than the last one of another fragment, or along rows that a warp does not hold."""
    warps: dict[str, tuple[int, int]] = {}
    for product in products_of(func):
        found, known = warp_partition(product, unit) or (0, 0), warps.get(product.c.name)
        warps[product.c.name] = found if known is None else (max(known[0], found[0]), max(known[1], found[1]))
    threads = threads_of_kernel(func) or DEFAULT_THREADS
    for node in walk(func.body):
        if not isinstance(node, Block) or GEMM in dict(node.annotations):
            continue
        reduced = {iv.var for iv in node.iter_vars if iv.iter_type == "reduce"}
        written = {region.buffer for region in node.writes}
        for load in walk(node.body) if reduced else ():
            if not isinstance(load, BufferLoad) or load.buffer in written or load.buffer.scope != "local.fragment":
                continue
            axes = [n for n, index in enumerate(load.indices) if reduced & {*free_vars(index)}]
            if axes and not _is_in_warps(load.buffer, axes, warps.get(load.buffer.name), threads):
                return True
    return False


def _is_in_warps(buffer: Buffer, axes: Sequence[int], warps: tuple[int, int] | None, threads: int) -> bool:
    """Whether each reduction of a fragment along axes is one of values that a single warp holds."""
    rank = len(buffer.shape)
    if warps is not None and rank == 2:
        return all(warps[axis] == 1 for axis in axes)
    shape = [build.int_value(extent) or 0 for extent in buffer.shape]
    is_vectorized = shape[-1] <= WARP * VECTOR and prod(shape) >= threads * VECTOR and dt.bits(buffer.dtype) <= 32
    return axes == [rank - 1] and (0 < shape[-1] <= WARP or is_vectorized)


def _bytes(buffer: Buffer, shape: Sequence[int], layout: StoredLayout | None) -> int:
    columns = shape[-1] if layout is None or not shape else layout.row_elements(shape[-1])
    return prod(shape[:-1]) * columns * dt.bits(buffer.dtype) // 8


def _statements(stmt: Stmt, given: Mapping[Var, Expr]) -> Iterator[Stmt]:
    """Yields the statements of a kernel in the order in which they run. Prologues and epilogues of pipelines are unrolled, and a loop of
    one iteration is its body; one that only some blocks of the grid run counts. Loops have `given` values. Raises _UndecidedError for a
    pipelined loop whose first iteration depends on data."""
    match stmt:
        case SeqStmt():
            for part in stmt.seq:
                yield from _statements(part, given)
        case BlockRealize() if not stmt.block.name or stmt.block.name == "root":
            condition = simplify(substitute(stmt.predicate, given))
            if not isinstance(condition, IntImm) or condition.value:
                yield from _statements(stmt.block.body, given)
        case For():
            extent = build.int_value(simplify(substitute(stmt.extent, given)))
            is_grid = stmt.thread_tag is not None and stmt.thread_tag.startswith("blockIdx")
            if extent == 1 or (stmt.kind == "unrolled" and STAGES in dict(stmt.annotations)):
                if extent is None or any(isinstance(node, BufferLoad) for node in walk(stmt.min)):
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
    """A pipelined loop whose iterations depend on data."""


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
