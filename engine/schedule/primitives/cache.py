"""Copies between memories: cache_read stages what a block reads, cache_write what it writes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import hull, realized
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    For,
    IterVar,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    replace_buffers,
    replace_nodes,
)
from ..checks import require_scope_name
from ..context import BlockRV, Context, Result, with_allocations, with_block
from ..errors import refuse


def cache_read(
    ctx: Context,
    block: BlockRV,
    read_buffer_index: int | str | Buffer,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> Result:
    """Copy a buffer that `block` reads into `storage_scope` first, and read the copy.

    Rewrite:
        for i in range(n):                 for ax0 in range(n):
            B[i] = f(A[i])           =>        A_local[ax0] = A[ax0]        # block "A_local"
                                           for i in range(n):
                                               B[i] = f(A_local[i])
    Requires: the buffer has at most one writer in the scope, and `block` does not write it.
    Returns: the block that copies, named `<buffer>_<scope>`. It stands after the writer, or first in the scope when there is none.
    `consumer_blocks` says who reads the copy; default: every block of the scope.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, several-writers, reads-own-output, not-a-consumer.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheRead.
    """
    source = ctx.buffer_region(block, read_buffer_index, side="read").buffer
    scope = ctx.index.scope_of(ctx.realize(block))
    require_not_written(ctx, block, source)
    writer = require_one_writer(ctx, scope, source)
    consumers = _consumers(ctx, scope, source, consumer_blocks, default_to_all=True)
    copy = _new_cache(ctx, source, storage_scope)

    if writer is None:
        site = Site(scope, 0)
        region = _scope_read_region(scope, source)
    else:
        site = _site_after(ctx, scope, writer, consumers)
        region = _relaxed_region(ctx, writer, source, site)
    stage = _copy_stage(ctx, region, source, copy)
    new: dict[Node, Node] = {r: _reading(r, source, copy) for r in consumers}
    return Result(_insert(ctx, scope, site, stage.nest, copy, new), (stage.name,))


def cache_write(
    ctx: Context,
    block: BlockRV,
    write_buffer_index: int | str | Buffer,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> Result:
    """Let `block` write into `storage_scope`, and copy to the buffer it wrote after it.

    Rewrite:
        for i in range(n):                 for i in range(n):
            B[i] = f(A[i])           =>        B_local[i] = f(A[i])
                                           for ax0 in range(n):
                                               B[ax0] = B_local[ax0]        # block "B_local"
    Requires: `block` is the only writer of the buffer in the scope.
    Returns: the block that copies, named `<buffer>_<scope>`. It stands after `block`, before those who read the buffer; `consumer_blocks`
    read the cache directly.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, not-the-only-writer, not-a-consumer.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheWrite.
    """
    target = ctx.buffer_region(block, write_buffer_index, side="write").buffer
    realize = ctx.realize(block)
    scope = ctx.index.scope_of(realize)
    require_only_writer(ctx, scope, block, target)
    direct = _consumers(ctx, scope, target, consumer_blocks, default_to_all=False)
    copy = _new_cache(ctx, target, storage_scope)

    readers = [r for r in ctx.index.siblings(block) if r is not realize and _reads(r.block, target)]
    site = _site_after(ctx, scope, realize, direct or readers) if readers else Site(scope, _length(scope.body))
    region = _relaxed_region(ctx, realize, target, site)
    stage = _copy_stage(ctx, region, copy, target, name_of=copy)
    new: dict[Node, Node] = {realize: replace_buffers(realize, {target: copy})}
    new |= {r: _reading(r, target, copy) for r in direct}
    return Result(_insert(ctx, scope, site, stage.nest, copy, new), (stage.name,))


# A block that reads what it writes has no fixed content to stage.
def require_not_written(ctx: Context, block: BlockRV, buffer: Buffer) -> None:
    if any(w.buffer is buffer for w in ctx.block(block).writes):
        raise refuse("reads-own-output", f"block {block!r} also writes {buffer.name!r}", ctx.block(block))


# A copy has one place: after the one block that makes the content.
def require_one_writer(ctx: Context, scope: Block, buffer: Buffer) -> BlockRealize | None:
    writers = [r for r in ctx.index.child_blocks(scope) if any(w.buffer is buffer for w in r.block.writes)]
    if len(writers) > 1:
        names = ", ".join(r.block.name for r in writers)
        raise refuse(
            "several-writers",
            f"buffer {buffer.name!r} is written by {len(writers)} blocks",
            *writers,
            found=names,
            expected="one",
        )
    return writers[0] if writers else None


# What is written through a cache must all come from the one block that uses it.
def require_only_writer(ctx: Context, scope: Block, block: BlockRV, buffer: Buffer) -> None:
    others = [
        r.block.name
        for r in ctx.index.child_blocks(scope)
        if r.block.name != block and any(w.buffer is buffer for w in r.block.writes)
    ]
    if others:
        raise refuse(
            "not-the-only-writer", f"buffer {buffer.name!r} is written by other blocks too", ctx.block(block),
            found=", ".join(others), expected=f"{block!r} only; cache_write before decompose_reduction",
        )  # fmt: skip


def _consumers(
    ctx: Context, scope: Block, buffer: Buffer, names: Sequence[BlockRV] | None, *, default_to_all: bool
) -> list[BlockRealize]:
    """The blocks of the scope that shall use the cache."""
    readers = [r for r in ctx.index.child_blocks(scope) if _reads(r.block, buffer)]
    if not names:
        return readers if default_to_all else []
    chosen = [ctx.realize(name) for name in names]
    for realize in chosen:
        if realize not in readers:
            raise refuse("not-a-consumer", f"block {realize.block.name!r} does not read {buffer.name!r}", realize,
                         expected=", ".join(r.block.name for r in readers))  # fmt: skip
    return chosen


def _reads(block: Block, buffer: Buffer) -> bool:
    return any(r.buffer is buffer for r in block.reads)


def _reading(realize: BlockRealize, source: Buffer, copy: Buffer) -> BlockRealize:
    """The block with its reads of `source` taken from `copy`; what it writes stays."""
    block = realize.block
    new: dict[Node, Node] = {source: copy}
    body = replace_nodes(block.body, new)
    return with_block(realize, body=body, reads=tuple(replace_nodes(r, new) for r in block.reads))


def _new_cache(ctx: Context, buffer: Buffer, storage_scope: str) -> Buffer:
    require_scope_name(storage_scope)
    name = ctx.fresh_buffer_name(f"{buffer.name}_{storage_scope}")
    return replace_fields(buffer, name=name, scope=storage_scope, strides=(), elem_offset=None)


class Site(msgspec.Struct, frozen=True, eq=False):
    """Where a statement is put: into the body of a loop or block, before the statement at `position`."""

    parent: For | Block
    position: int


def _site_after(ctx: Context, scope: Block, writer: BlockRealize, users: Sequence[BlockRealize]) -> Site:
    """Right after the writer, in the innermost loop (or the scope) that holds it and one of its users after it."""
    below: Stmt = writer
    for outer in ctx.index.path(writer):
        if isinstance(outer, SeqStmt):
            position = outer.seq.index(below)
            later = outer.seq[position + 1 :]
            if any(ctx.index.is_inside(user, stmt) for user in users for stmt in later):
                parent = ctx.index.parent(outer)
                assert isinstance(parent, For | Block), "a sequence stands in a loop or block"
                return Site(parent, position + 1)
        if outer is scope:
            return Site(scope, _position_in(scope.body, below) + 1)
        below = outer
    raise AssertionError("the writer stands in its scope")


def _position_in(body: Stmt, stmt: Stmt) -> int:
    return body.seq.index(stmt) if isinstance(body, SeqStmt) and stmt in body.seq else 0


def _length(body: Stmt) -> int:
    return len(body.seq) if isinstance(body, SeqStmt) else 1


def _scope_read_region(scope: Block, buffer: Buffer) -> BufferRegion:
    """What the scope says it reads of `buffer`; all of it when it does not say."""
    return next((r for r in scope.reads if r.buffer is buffer), build.full_region(buffer))


def _relaxed_region(ctx: Context, realize: BlockRealize, buffer: Buffer, site: Site) -> BufferRegion:
    """What all runs of the block under the site write of `buffer`."""
    region = next(w for w in realize.block.writes if w.buffer is buffer)
    above = {*ctx.index.loops_above(site.parent), site.parent}
    relaxed = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize) if f not in above}
    box = hull([realized(region, realize)], relaxed, ctx.loop_ranges(realize))
    return _within(box)


def _within(box: BufferRegion) -> BufferRegion:
    """The box cut to the buffer where its end is a constant past the shape (predicated blocks overshoot)."""
    axes: list[Range] = []
    for axis, extent in zip(box.region, box.buffer.shape, strict=True):
        low, size, limit = build.int_value(axis.min), build.int_value(axis.extent), build.int_value(extent)
        if low is not None and size is not None and limit is not None:
            start, end = max(low, 0), min(low + size, limit)
            axis = Range(build.const(start, extent.dtype), build.const(end - start, extent.dtype))
        axes.append(axis)
    return BufferRegion(box.buffer, tuple(axes))


class Stage(msgspec.Struct, frozen=True, eq=False):
    """A copy block in its loops."""

    name: str
    nest: Stmt


def _copy_stage(
    ctx: Context, region: BufferRegion, source: Buffer, target: Buffer, name_of: Buffer | None = None
) -> Stage:
    """`target[region] = source[region]`, one element an iteration."""
    name = ctx.fresh_block_name((name_of or target).name)
    loops = [Var(f"ax{i}", r.extent.dtype) for i, r in enumerate(region.region)]
    iters = [Var(f"v{i}", e.dtype) for i, e in enumerate(target.shape)]
    point = tuple(build.point(v) for v in iters)
    block = Block(
        name=name,
        iter_vars=tuple(
            IterVar(v, Range(build.const(0, v.dtype), e)) for v, e in zip(iters, target.shape, strict=True)
        ),
        reads=(BufferRegion(source, point),),
        writes=(BufferRegion(target, point),),
        body=BufferStore(target, build.load(source, iters), tuple(iters)),
    )
    values = tuple(build.add(r.min, v) for r, v in zip(region.region, loops, strict=True))
    body: Stmt = BlockRealize(values, build.TRUE, block)
    for var, axis in reversed(list(zip(loops, region.region, strict=True))):
        body = build.serial(var, axis.extent, body)
    return Stage(name, body)


def _insert(ctx: Context, scope: Block, site: Site, stmt: Stmt, buffer: Buffer, new: dict[Node, Node]):
    """The function with `stmt` at the site, `buffer` allocated in the scope, and blocks replaced by `new`."""

    def inserted(parent: For | Block) -> Stmt:
        body = replace_nodes(parent.body, new)
        items = list(body.seq) if isinstance(body, SeqStmt) else [body]
        items.insert(site.position, stmt)
        return build.seq(items)

    if site.parent is scope:
        return ctx.replaced({scope: with_allocations(replace_fields(scope, body=inserted(scope)), [buffer])})
    loop = site.parent
    assert isinstance(loop, For)
    body = replace_nodes(scope.body, {loop: replace_fields(loop, body=inserted(loop)), **new})
    return ctx.replaced({scope: with_allocations(replace_fields(scope, body=body), [buffer])})
