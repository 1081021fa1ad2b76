"""Copies between memories: cache_read stages what a block reads, cache_write what it writes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import (
    hull,
    is_covered,
    is_update,
    only_guards_domain,
    realized,
    starts_with_init,
    surely_runs,
    writes_all,
)
from ...arith import simplify
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IterVar,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    addressed_buffers,
    build,
    loops_and_blocks,
    replace_nodes,
    structural_equal,
    substitute,
    walk,
)
from ...lower.access import Change, change_buffers
from ..checks import require_scope_name, require_updates_own_element
from ..context import BlockRV, Context, Result, with_allocations, with_block
from ..errors import refuse
from ..moves import require_not_loose


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
    Returns: the block that copies, named `<buffer>_<scope>`. It stands before the first reader after the writer, or first in the scope
    when there is no writer, or one that only overwrites what was read before.
    `consumer_blocks` says who reads the copy; default: every block of the scope.
    Where the copy stands in no loop, the cache has the size of what is copied, and is indexed from its start.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, several-writers, reads-own-output, not-a-consumer, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheRead.
    """
    source = ctx.buffer_region(block, read_buffer_index, side="read").buffer
    scope = ctx.index.scope_of(ctx.realize(block))
    require_not_written(ctx, block, source)
    writer = require_one_writer(ctx, scope, source)
    consumers = _consumers(ctx, scope, source, consumer_blocks, default_to_all=True)
    for consumer in consumers:
        require_not_written(ctx, consumer.block.name, source)
    if writer is None:
        site = Site(scope, 0)
        require_needed(ctx, consumers, source)
        region = _guarded_read_region(ctx, scope, consumers, source) or _scope_read_region(scope, source)
    elif _is_overwritten_later(ctx, scope, writer, consumers, source):
        site = Site(scope, 0)
        region = build.full_region(source)
    else:
        site = _site_after(ctx, scope, writer, consumers)
        region = _relaxed_region(ctx, writer, source, site)
        require_filled(ctx, writer, source, site)
        require_content_of(ctx, scope, writer, consumers, source)
    cached = _cached(ctx, source, storage_scope, site, scope, region, consumers)
    stage = _copy_stage(ctx, cached, to_cache=True)
    new: dict[Node, Node] = {r: _reading(r, cached) for r in consumers}
    return Result(_insert(ctx, scope, site, stage.nest, cached.copy, new), (stage.name,))


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
    Errors: bad-buffer-index, unknown-buffer, bad-scope, not-the-only-writer, not-a-consumer, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheWrite.
    """
    target = ctx.buffer_region(block, write_buffer_index, side="write").buffer
    realize = ctx.realize(block)
    scope = ctx.index.scope_of(realize)
    require_only_writer(ctx, scope, block, target)
    direct = _consumers(ctx, scope, target, consumer_blocks, default_to_all=False)
    require_fresh(ctx, realize, target)

    others = [r for r in ctx.index.siblings(block) if r is not realize and r not in direct and _reads(r.block, target)]
    site = _site_after(ctx, scope, realize, others) if others else Site(scope, _length(scope.body))
    region = _relaxed_region(ctx, realize, target, site)
    require_filled(ctx, realize, target, site)
    require_content_of(ctx, scope, realize, direct, target)
    cached = _cached(ctx, target, storage_scope, site, scope, region, [realize, *direct])
    stage = _copy_stage(ctx, cached, to_cache=False)
    new: dict[Node, Node] = {realize: _moved(realize, cached)}
    new |= {r: _reading(r, cached) for r in direct}
    return Result(_insert(ctx, scope, site, stage.nest, cached.copy, new), (stage.name,))


# A block that reads what it writes has no fixed content to stage.
def require_not_written(ctx: Context, block: BlockRV, buffer: Buffer) -> None:
    if any(w.buffer is buffer for w in ctx.block(block).writes):
        raise refuse("reads-own-output", f"block {block!r} also writes {buffer.name!r}", ctx.block(block))


# What is written into a new buffer may not build upon what the old one held.
def require_fresh(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    block = realize.block
    if not is_update(block) or _fills_before_reading(ctx, block, buffer):
        return
    loops = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize)}
    if block.init is None or not ctx.index.is_reduction(block.name) or not starts_with_init(realize, loops):
        raise refuse(
            "reads-own-output", f"block {block.name!r} reads {buffer.name!r} before it writes it", realize,
            expected="a block that only writes it, or a reduction that begins with its init",
        )  # fmt: skip
    require_updates_own_element(realize, "cache")


def _fills_before_reading(ctx: Context, block: Block, buffer: Buffer) -> bool:
    """Whether all that blocks inside of the block read of the buffer was written by one of them before."""
    inner = ctx.index.child_blocks(block)
    if not inner or block.init is not None or buffer in ctx.index.touched_loosely(block):
        return False
    if any(m.source.buffer is buffer for m in block.match_buffers):
        return False
    writers = [r for r in inner if any(w.buffer is buffer for w in r.block.writes)]
    readers = [r for r in inner if _reads(r.block, buffer)]
    return len(writers) == 1 and all(
        inner.index(writers[0]) < inner.index(r) and is_covered(ctx.index, writers[0], r, buffer) for r in readers
    )


# A copy of what nobody in the scope writes is made whether it is needed or not: it must be there, as a parameter is.
def require_needed(ctx: Context, consumers: Sequence[BlockRealize], buffer: Buffer) -> None:
    if ctx.index.is_param(buffer):
        return
    if not any(surely_runs(ctx.index, c, ()) and only_guards_domain(c) for c in consumers):
        raise refuse(
            "region-not-covered", f"{buffer.name!r} may be read nowhere, and hold nothing that could be copied", *consumers,
            expected="a reader that surely runs",
        )  # fmt: skip


# A copy takes all of a box: every element of it must have been written.
def require_filled(ctx: Context, writer: BlockRealize, buffer: Buffer, site: Site) -> None:
    parent = site.parent
    around = (*ctx.index.loops_above(parent), parent) if isinstance(parent, For) else ()
    if not writes_all(ctx.index, writer, buffer, around):
        raise refuse(
            "region-not-covered", f"block {writer.block.name!r} may leave out elements of what would be copied of {buffer.name!r}", writer,
            expected="a block that writes each element of a box",
        )  # fmt: skip
    require_not_loose(ctx, writer)


# The copy has what the one writer made, not what the caller or blocks outside of the scope put there.
def require_content_of(
    ctx: Context, scope: Block, writer: BlockRealize, consumers: Sequence[BlockRealize], buffer: Buffer
) -> None:
    if buffer in scope.alloc_buffers:
        return
    order = ctx.index.block_names
    for consumer in consumers:
        later = order.index(consumer.block.name) > order.index(writer.block.name)
        if not later or not is_covered(ctx.index, writer, consumer, buffer):
            raise refuse(
                "region-not-covered",
                f"block {consumer.block.name!r} may read what {buffer.name!r} held before block {writer.block.name!r} wrote it",
                consumer, writer, expected="a reader of what the block wrote",
            )  # fmt: skip


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


def _is_overwritten_later(
    ctx: Context, scope: Block, writer: BlockRealize, consumers: Sequence[BlockRealize], buffer: Buffer
) -> bool:
    """Whether all consumers take what was there before the scope ran: they stand before the writer, in no loop with it."""
    loops = set(ctx.index.loops_above(writer))
    order = ctx.index.block_names
    return buffer not in scope.alloc_buffers and all(
        order.index(r.block.name) < order.index(writer.block.name) and not loops & set(ctx.index.loops_above(r))
        for r in consumers
    )


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
    only_reading = [r for r in readers if all(w.buffer is not buffer for w in r.block.writes)]
    if not names:
        return only_reading if default_to_all else []
    readers = readers if default_to_all else only_reading
    chosen = [ctx.realize(name) for name in names]
    for realize in chosen:
        if realize not in readers:
            raise refuse("not-a-consumer", f"block {realize.block.name!r} does not read {buffer.name!r}", realize,
                         expected=", ".join(r.block.name for r in readers))  # fmt: skip
    return chosen


def _reads(block: Block, buffer: Buffer) -> bool:
    return any(r.buffer is buffer for r in block.reads)


class Cached(msgspec.Struct, frozen=True, eq=False):
    """A region of a buffer and the cache for it. `is_whole`: the cache has the buffer's axes; else the region's, from its start on."""

    region: BufferRegion
    copy: Buffer
    is_whole: bool

    @property
    def buffer(self) -> Buffer:
        return self.region.buffer

    @property
    def change(self) -> Change:
        starts = [axis.min for axis in self.region.region]

        def inner(value: Expr, start: Expr) -> Expr:
            return value if self.is_whole or build.is_const(start, 0) else simplify(build.sub(value, start))

        return Change(
            self.copy,
            lambda indices: tuple(map(inner, indices, starts)),
            lambda axes: tuple(Range(inner(r.min, start), r.extent) for r, start in zip(axes, starts, strict=True)),
        )


def _cached(
    ctx: Context,
    buffer: Buffer,
    storage_scope: str,
    site: Site,
    scope: Block,
    region: BufferRegion,
    users: Sequence[BlockRealize],
) -> Cached:
    """The cache: as large as what is copied where the copy stands in no loop of the scope, else as large as the buffer."""
    require_scope_name(storage_scope)
    name = ctx.fresh_buffer_name(f"{buffer.name}_{storage_scope}")
    copy = replace_fields(buffer, name=name, scope=storage_scope, strides=(), elem_offset=None)
    is_whole = site.parent is not scope
    if not is_whole:
        copy = replace_fields(copy, shape=tuple(r.extent for r in region.region))
    same_places = not buffer.strides and all(map(structural_equal, copy.shape, buffer.shape))
    if not same_places and any(buffer in addressed_buffers(user) for user in users):
        raise refuse(
            "opaque-access", f"the address of {buffer.name!r} is taken: what it is used for would not fit the cache", buffer,
            expected="a buffer that is only accessed by its indices, or one that is cached as a whole",
        )  # fmt: skip
    return Cached(region, copy, is_whole)


def _reading(realize: BlockRealize, cached: Cached) -> BlockRealize:
    """The block with its reads taken from the cache; what it writes stays."""
    return with_block(_moved(realize, cached), writes=realize.block.writes)


def _moved(realize: BlockRealize, cached: Cached) -> BlockRealize:
    """All accesses of the block in the cache, and the views of the buffer in its memory too."""
    nested = [b for b in walk(realize) if isinstance(b, Block)]
    views = [m.buffer for b in nested for m in b.match_buffers if m.source.buffer is cached.buffer]
    moved = change_buffers(realize, {cached.buffer: cached.change})
    return replace_nodes(moved, {v: replace_fields(v, scope=cached.copy.scope) for v in views})


class Site(msgspec.Struct, frozen=True, eq=False):
    """Where a statement is put: into the body of a loop or block, before the statement at `position`."""

    parent: For | Block
    position: int


def _site_after(ctx: Context, scope: Block, writer: BlockRealize, users: Sequence[BlockRealize]) -> Site:
    """Before the first user after the writer, in the innermost loop (or the scope) that holds it and one of its users."""
    below: Stmt = writer
    for outer in ctx.index.path(writer):
        parent = ctx.index.parent(outer)
        if isinstance(outer, SeqStmt) and isinstance(parent, For | Block):
            position = outer.seq.index(below)
            uses = [i for i, s in enumerate(outer.seq) if any(ctx.index.is_inside(user, s) for user in users)]
            later = [i for i in uses if i > position]
            # In a loop, those before the writer read in its next iteration.
            if later or parent is scope or any(i < position for i in uses):
                return Site(parent, later[0] if later else position + 1)
        if outer is scope:
            return Site(scope, 1)
        below = outer
    raise AssertionError("the writer stands in its scope")


def _length(body: Stmt) -> int:
    return len(body.seq) if isinstance(body, SeqStmt) else 1


def _scope_read_region(scope: Block, buffer: Buffer) -> BufferRegion:
    """What the scope says it reads of `buffer`; all of it when it does not say."""
    return next((r for r in scope.reads if r.buffer is buffer), build.full_region(buffer))


def _guarded_read_region(
    ctx: Context, scope: Block, consumers: Sequence[BlockRealize], buffer: Buffer
) -> BufferRegion | None:
    """What the only consumer reads where blocks inside of it read under conditions; None when there are none, or several consumers."""
    if len(consumers) != 1 or not _nested_conditions(consumers[0].block, buffer, writes=False):
        return None
    return _relaxed_region(ctx, consumers[0], buffer, Site(scope, 0), writes=False)


def _relaxed_region(
    ctx: Context, realize: BlockRealize, buffer: Buffer, site: Site, *, writes: bool = True
) -> BufferRegion:
    """What all runs of the block under the site write (or read) of `buffer`."""
    region = next(r for r in (realize.block.writes if writes else realize.block.reads) if r.buffer is buffer)
    above = {*ctx.index.loops_above(site.parent), site.parent}
    relaxed = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize) if f not in above}
    ranges = ctx.loop_ranges(realize)
    bindings = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    boxes: list[BufferRegion] = []
    for nested in _nested_conditions(realize.block, buffer, writes=writes) or [build.TRUE]:
        conditions = build.conjuncts(build.logical_and(realize.predicate, substitute(nested, bindings)))
        boxes.append(hull([realized(region, realize)], relaxed, ranges, conditions))
    return _within(boxes[0] if len(boxes) == 1 else hull(boxes, {}, ranges))


def _nested_conditions(block: Block, buffer: Buffer, *, writes: bool) -> list[Expr]:
    """The predicates of blocks inside that access the buffer, in the block's terms; none when one of them has no predicate."""
    found: list[Expr] = []
    for realize in loops_and_blocks(block.body):
        if isinstance(realize, BlockRealize):
            inner = realize.block
            if any(r.buffer is buffer for r in (inner.writes if writes else inner.reads)):
                bindings = dict(zip((iv.var for iv in inner.iter_vars), realize.iter_values, strict=True))
                found.append(substitute(realize.predicate, bindings))
    return [] if any(build.is_true(c) for c in found) else found


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


def _copy_stage(ctx: Context, cached: Cached, *, to_cache: bool) -> Stage:
    """The region copied to its cache, or back, one element an iteration."""
    name = ctx.fresh_block_name(cached.copy.name)
    axes = cached.region.region
    loops = [Var(f"ax{i}", r.extent.dtype) for i, r in enumerate(axes)]
    iters = [Var(f"v{i}", e.dtype) for i, e in enumerate(cached.copy.shape)]
    inside = tuple[Expr, ...](iters)
    outside = inside if cached.is_whole else tuple(build.add(r.min, v) for r, v in zip(axes, iters, strict=True))
    source, target = (cached.buffer, cached.copy) if to_cache else (cached.copy, cached.buffer)
    read, written = (outside, inside) if to_cache else (inside, outside)
    block = Block(
        name=name,
        iter_vars=tuple(
            IterVar(v, Range(build.const(0, v.dtype), e)) for v, e in zip(iters, cached.copy.shape, strict=True)
        ),
        reads=(BufferRegion(source, tuple(map(build.point, read))),),
        writes=(BufferRegion(target, tuple(map(build.point, written))),),
        body=BufferStore(target, build.load(source, read), written),
    )
    values = tuple(build.add(r.min, v) if cached.is_whole else v for r, v in zip(axes, loops, strict=True))
    body: Stmt = BlockRealize(values, build.TRUE, block)
    for var, axis in reversed(list(zip(loops, axes, strict=True))):
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
