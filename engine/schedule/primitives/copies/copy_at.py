"""Copies of the part of a buffer that one iteration of a loop accesses, in one block at that loop: read_at, write_at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace as replace_fields

from ....analysis import hull, is_covered, realized, writes_all
from ....arith import Analyzer
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    For,
    IterVar,
    Node,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    replace_nodes,
    substitute,
    walk,
)
from ....lower.scopes import is_global, is_shared_over
from ...context import BlockRV, Context, LoopRV, Result, with_allocations
from ...errors import refuse
from ...rules.block_motion import require_not_loose
from ...rules.checks import require_in_body
from .staging import cache_of, does_read, does_write, moved_to, reading_from
from .staging_checks import holds_values, is_given, is_within, require_fresh, require_not_stored_loosely


def read_at(
    ctx: Context, loop: LoopRV, block: BlockRV, read_buffer_index: int | str | Buffer, storage_scope: str
) -> Result[BlockRV]:
    """In each iteration of `loop`, copy the part of a buffer that is read into `storage_scope`, in one block, and read the copy.

    Rewrite:
        for i in range(n):                      for i in range(n):
            for j in range(4):                      for ax0 in range(4):                       # all of it in block "A_shared"
                B[i * 4 + j] = A[i * 4 + j]  =>         A_shared[i * 4 + ax0] = A[i * 4 + ax0]
                                                    for j in range(4):
                                                        B[i * 4 + j] = A_shared[i * 4 + j]
    The block is annotated `auto_copy`, for passes that distribute the copy over threads. If threads share the memory, the copy contains the
    elements of all of them.
    Requires: `block` is below the loop; no block below the loop writes the buffer after it was read.
    Returns: the block that copies, named `<buffer>_<scope>`, before the first reader. The copy has the size of the buffer.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, loop-not-around, write-after-read, outside-buffer, region-not-covered,
    opaque-access, opaque-iterator, in-init.
    Source: TVM src/s_tir/schedule/primitive/read_write_at.cc, ReadAt.
    """
    position = ctx.buffer_position(block, read_buffer_index, side="read")
    source = ctx.buffer_region(block, position, side="read").buffer
    require_in_body(ctx, ctx.realize(block))
    tile = LoopTile(ctx, require_loop_around(ctx, loop, block), source, storage_scope)
    first = min(tile.readers)
    if max(tile.writers, default=-1) >= first:
        raise refuse(
            "write-after-read", f"inside loop {tile.name!r}, {source.name!r} is written after it is read", tile.loop,
            expected="a loop that only reads the buffer, or writes it first",
        )  # fmt: skip
    require_not_stored_loosely(ctx, tile.scope, source)
    users = [r for r in tile.blocks(first, len(tile.parts)) if does_read(r.block, source)]
    func, name = _copied(tile, users, tile.box(users, writes=False), storage_scope, first, writes=False)
    after = ctx.after(func)
    if not holds_values(after.index, after.realize(name), source, given=is_given(ctx.index, source)):
        raise refuse(
            "region-not-covered", f"{source.name!r} may be partly uninitialized where it would be copied", tile.loop,
            expected="a buffer that is fully written before the loop reads it",
        )  # fmt: skip
    return Result(func, name, traced={"read_buffer_index": position})


def write_at(
    ctx: Context, loop: LoopRV, block: BlockRV, write_buffer_index: int | str | Buffer, storage_scope: str
) -> Result[BlockRV]:
    """In each iteration of `loop`, write a buffer in `storage_scope`, and copy the written part to the original buffer in one block.

    Rewrite:
        for i in range(n):                      for i in range(n):
            for j in range(4):                      for j in range(4):
                B[i * 4 + j] = A[i * 4 + j]  =>         B_shared[i * 4 + j] = A[i * 4 + j]
                                                    for ax0 in range(4):                       # all of it in block "B_shared"
                                                        B[i * 4 + ax0] = B_shared[i * 4 + ax0]
    The block is annotated `auto_copy`, for passes that distribute the copy over threads.
    Requires: `block` is below the loop; each iteration writes the whole box, and reads only elements of it that it has written.
    Returns: the block that copies, named `<buffer>_<scope>`, after the last writer. The copy has the size of the buffer.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, loop-not-around, read-after-write, reads-own-output, outside-buffer,
    region-not-covered, opaque-access, opaque-iterator, in-init.
    Source: TVM src/s_tir/schedule/primitive/read_write_at.cc, WriteAt.
    """
    position = ctx.buffer_position(block, write_buffer_index, side="write")
    target = ctx.buffer_region(block, position, side="write").buffer
    require_in_body(ctx, ctx.realize(block))
    tile = LoopTile(ctx, require_loop_around(ctx, loop, block), target, storage_scope)
    end = max(tile.writers) + 1
    if max(tile.readers, default=-1) >= end:
        raise refuse(
            "read-after-write", f"inside loop {tile.name!r}, {target.name!r} is read after its last writer", tile.loop,
            expected="reads outside the loop, or before the last writer",
        )  # fmt: skip
    inside = tile.blocks(0, end)
    writers = [r for r in inside if does_write(r.block, target)]
    require_written_before(ctx, inside, writers, target)
    box = tile.box(writers, writes=True)
    around = (*ctx.index.loops_above(tile.loop), tile.loop)
    is_hull = len(writers) == 1 and not tile.shared
    if not any(writes_all(ctx.index, w, box, around, is_hull=is_hull) for w in writers):
        raise refuse(
            "region-not-covered", f"an iteration of loop {tile.name!r} may not write all elements of {target.name!r} that would be copied",
            tile.loop, *writers, expected="a block that writes the whole box in each iteration",
        )  # fmt: skip
    func, name = _copied(tile, inside, box, storage_scope, end, writes=True)
    return Result(func, name, traced={"write_buffer_index": position})


class LoopTile:
    """The accesses of one iteration of a loop to a buffer: the statements of the body, and the positions of readers and writers."""

    def __init__(self, ctx: Context, loop: For, buffer: Buffer, storage_scope: str) -> None:
        self.ctx = ctx
        self.loop = loop
        self.name = loop.loop_var.name
        self.buffer = buffer
        self.scope = ctx.index.scope_of(loop)
        self.parts: Sequence[Stmt] = loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)
        self.readers = [
            n for n in range(len(self.parts)) if any(does_read(r.block, buffer) for r in self.blocks(n, n + 1))
        ]
        self.writers = [
            n for n in range(len(self.parts)) if any(does_write(r.block, buffer) for r in self.blocks(n, n + 1))
        ]
        around = (*ctx.index.loops_above(loop), loop)
        self.shared = {f.loop_var: Range(f.min, f.extent) for f in around if _is_thread_of(storage_scope, f)}
        self.around = {f.loop_var: Range(f.min, f.extent) for f in around if f.loop_var not in self.shared}

    def blocks(self, start: int, end: int) -> list[BlockRealize]:
        """The blocks in a part of the body, without inner blocks."""
        below = self.ctx.index.child_blocks(self.loop)
        return [r for r in below if any(self.ctx.index.is_inside(r, part) for part in self.parts[start:end])]

    def box(self, users: Sequence[BlockRealize], *, writes: bool) -> BufferRegion:
        """The box that one iteration reads or writes, for all threads that share the copy. Refuses "outside-buffer"."""
        whole = build.full_region(self.buffer)
        ranges = {**self.ctx.loop_ranges(self.loop), **self.around}
        boxes = [self._box_of(user, region) for user in users for region in _regions(user, self.buffer, writes)]
        box = boxes[0] if len(boxes) == 1 else hull(boxes, {}, ranges)
        if is_within(box, whole, ranges):
            return box
        cut = _cut(box, Analyzer(ranges))
        if is_within(cut, whole, ranges):
            return cut
        raise refuse(
            "outside-buffer", f"an iteration of loop {self.name!r} may access {self.buffer.name!r} out of bounds", self.loop,
            expected="indices with known bounds",
        )  # fmt: skip

    # As in TVM, a loop of one iteration around the copy keeps its name in the box.
    def _box_of(self, user: BlockRealize, region: BufferRegion) -> BufferRegion:
        inner = {f.loop_var: Range(f.min, f.extent) for f in self.ctx.index.loops_above(user)}
        named = {v: r for v, r in self.around.items() if not build.is_const(r.extent, 1)}
        return hull([realized(region, user)], {v: r for v, r in inner.items() if v not in self.around}, named)


def _cut(box: BufferRegion, known: Analyzer) -> BufferRegion:
    """The part of the box within the buffer. Only that part is accessed, for example after an uneven split."""
    axes: list[Range] = []
    for axis, size in zip(box.region, box.buffer.shape, strict=True):
        low = known.simplify(build.maximum(axis.min, 0))
        lost = known.simplify(build.sub(low, axis.min))
        extent = known.simplify(build.minimum(build.sub(axis.extent, lost), build.sub(size, low)))
        axes.append(Range(low, extent if known.proves(build.ge(extent, 0)) else build.maximum(extent, 0)))
    return BufferRegion(box.buffer, tuple(axes))


def _is_thread_of(storage_scope: str, loop: For) -> bool:
    """Whether the loop's threads share one copy in this scope."""
    return not is_global(storage_scope) and is_shared_over(storage_scope, loop)


def _regions(realize: BlockRealize, buffer: Buffer, writes: bool) -> list[BufferRegion]:
    return [r for r in (realize.block.writes if writes else realize.block.reads) if r.buffer is buffer]


# The copy covers the iterations that the block runs in.
def require_loop_around(ctx: Context, loop: LoopRV, block: BlockRV) -> For:
    found = ctx.loop(loop)
    if found not in ctx.index.loops_of(block):
        raise refuse(
            "loop-not-around", f"loop {found.loop_var.name!r} does not enclose block {block!r}", found, ctx.realize(block),
            expected="one of " + ", ".join(f.loop_var.name for f in ctx.index.loops_of(block)),
        )  # fmt: skip
    return found


# Reads below the loop use the copy, so the value must have been written to the copy, not to the buffer.
def require_written_before(
    ctx: Context, inside: Sequence[BlockRealize], writers: Sequence[BlockRealize], buffer: Buffer
) -> None:
    for writer in writers:
        require_not_loose(ctx, writer)
    for user in inside:
        before = [w for w in writers if inside.index(w) < inside.index(user)]
        if not does_read(user.block, buffer) and user not in writers:
            continue
        if any(is_covered(ctx.index, w, user, buffer) for w in before):
            continue
        if user not in writers:
            raise refuse(
                "region-not-covered", f"block {user.block.name!r} may read elements of {buffer.name!r} that were written before the loop",
                user, expected="reads of elements that the same iteration wrote before",
            )  # fmt: skip
        require_fresh(ctx, user, buffer)


def _copied(
    tile: LoopTile, users: Sequence[BlockRealize], box: BufferRegion, storage_scope: str, position: int, *, writes: bool
) -> tuple[PrimFunc, str]:
    """The function with the copy of the box at the position in the loop's body and the users redirected to it, and the block's name."""
    ctx, buffer = tile.ctx, tile.buffer
    users = [r for r in users if _regions(r, buffer, False) or _regions(r, buffer, True)]
    cached = cache_of(ctx, buffer, storage_scope, box, users, is_whole=True)
    name = ctx.fresh_block_name(cached.copy.name)
    source, target = (cached.copy, buffer) if writes else (buffer, cached.copy)
    new: dict[Node, Node] = {r: moved_to(r, cached) if writes else reading_from(r, cached) for r in users}
    parts = [replace_nodes(part, new) for part in tile.parts]
    parts.insert(position, _auto_copy(name, source, target, box, tile.around))
    changed = replace_fields(tile.loop, body=build.seq(parts))
    body = replace_nodes(tile.scope.body, {tile.loop: changed}, within=set(ctx.index.path(tile.loop)))
    return ctx.replaced({tile.scope: with_allocations(replace_fields(tile.scope, body=body), [cached.copy])}), name


def _auto_copy(
    name: str, source: Buffer, target: Buffer, box: BufferRegion, around: Mapping[Var, Range]
) -> BlockRealize:
    """The block that copies the box, with an iterator for each outer loop on which the box depends."""
    used = dict.fromkeys(n for axis in box.region for n in walk(axis) if isinstance(n, Var) and n in around)
    iters = {var: Var(f"v{n}", var.dtype) for n, var in enumerate(used)}
    axes = tuple(substitute(axis, iters) for axis in box.region)
    loops = [Var(f"ax{n}", axis.extent.dtype) for n, axis in enumerate(axes)]
    indices = tuple(build.add(axis.min, var) for axis, var in zip(axes, loops, strict=True))
    body: Stmt = BufferStore(target, build.load(source, indices), indices)
    for var, axis in reversed(list(zip(loops, axes, strict=True))):
        body = build.serial(var, axis.extent, body)
    block = Block(
        name=name,
        iter_vars=tuple(IterVar(iters[var], around[var]) for var in used),
        reads=(BufferRegion(source, axes),),
        writes=(BufferRegion(target, axes),),
        body=body,
        annotations=(("auto_copy", build.TRUE),),
    )
    return BlockRealize(tuple(used), build.TRUE, block)
