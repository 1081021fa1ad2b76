"""Copies of buffers: their position, their size, and the blocks that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import fresh_name, hull, joined_splits, realized
from ....arith import prove, simplify
from ....ir import (
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
    free_vars,
    loops_and_blocks,
    replace_nodes,
    structural_equal,
    substitute,
    walk_stmts,
)
from ....lower.access import BufferChange, change_buffers
from ...context import Context, with_allocations, with_block
from ...errors import refuse
from ...rules.checks import require_scope_name


class CachedRegion(msgspec.Struct, frozen=True, eq=False):
    """A region of a buffer and the cache for it. With `is_whole` the cache has the buffer's axes, else those of the region, from 0."""

    region: BufferRegion
    copy: Buffer
    is_whole: bool

    @property
    def buffer(self) -> Buffer:
        return self.region.buffer

    @property
    def change(self) -> BufferChange:
        starts = [axis.min for axis in self.region.region]

        def inner(value: Expr, start: Expr) -> Expr:
            return value if self.is_whole or build.is_const(start, 0) else simplify(build.sub(value, start))

        return BufferChange(
            self.copy,
            lambda indices: tuple(map(inner, indices, starts)),
            lambda axes: tuple(Range(inner(r.min, start), r.extent) for r, start in zip(axes, starts, strict=True)),
        )


def cache_of(
    ctx: Context,
    buffer: Buffer,
    storage_scope: str,
    region: BufferRegion,
    users: Sequence[BlockRealize],
    *,
    is_whole: bool,
) -> CachedRegion:
    """The cache for a region: as large as the region, or as the buffer if `is_whole` or if the region's size differs between
    iterations of outer loops."""
    require_scope_name(storage_scope)
    # A region that is read only under a condition that never holds may be outside of the buffer.
    if any(prove(build.lt(r.extent, 1)) for r in region.region):
        raise refuse(
            "outside-buffer", f"no element of {buffer.name!r} would be copied", *users,
            expected="a block that accesses elements within the buffer",
        )  # fmt: skip
    if not is_whole:
        around = ctx.loop_ranges(users[0])
        is_whole = any(around.keys() & free_vars(r.extent) for r in region.region)
    name = ctx.fresh_buffer_name(f"{buffer.name}_{storage_scope}")
    copy = replace_fields(buffer, name=name, scope=storage_scope, strides=(), elem_offset=None)
    if not is_whole:
        copy = replace_fields(copy, shape=tuple(r.extent for r in region.region))
    same_places = not buffer.strides and all(map(structural_equal, copy.shape, buffer.shape))
    if not same_places and any(buffer in addressed_buffers(user) for user in users):
        raise refuse(
            "opaque-access", f"the address of {buffer.name!r} is used, and accesses by address cannot be redirected to a cache", buffer,
            expected="a buffer that is only accessed by index, or that is cached as a whole",
        )  # fmt: skip
    return CachedRegion(region, copy, is_whole)


def reading_from(realize: BlockRealize, cached: CachedRegion) -> BlockRealize:
    """The block with its reads from the cache, and its writes unchanged."""
    return with_block(moved_to(realize, cached), writes=realize.block.writes)


def moved_to(realize: BlockRealize, cached: CachedRegion) -> BlockRealize:
    """The block with all inner accesses in the cache, and with the buffer's views in the cache's memory."""
    views: list[Buffer] = []  # including views of views in nested blocks
    for block in (b for b in walk_stmts(realize) if isinstance(b, Block)):
        views += [m.buffer for m in block.match_buffers if any(m.source.buffer is b for b in (cached.buffer, *views))]
    moved = change_buffers(realize.block, {cached.buffer: cached.change})
    return replace_nodes(
        replace_fields(realize, block=moved), {v: replace_fields(v, scope=cached.copy.scope) for v in views}
    )


def does_read(block: Block, buffer: Buffer) -> bool:
    return any(r.buffer is buffer for r in block.reads)


def does_write(block: Block, buffer: Buffer) -> bool:
    return any(w.buffer is buffer for w in block.writes)


class StatementSite(msgspec.Struct, frozen=True, eq=False):
    """A position for a statement: in the body of a loop or block, before the statement at `position`."""

    parent: For | Block
    position: int

    @property
    def after(self) -> StatementSite:
        """The site after the statement at `position`."""
        return StatementSite(self.parent, self.position + 1)


def site_after(
    ctx: Context, scope: Block, writer: BlockRealize, users: Sequence[BlockRealize], *, at_once: bool = False
) -> StatementSite:
    """Before the first user after the writer (or right after the writer), in the innermost loop (or the scope) that contains the
    writer and one of its users."""
    below: Stmt = writer
    for outer in ctx.index.path(writer):
        parent = ctx.index.parent(outer)
        if isinstance(outer, SeqStmt) and isinstance(parent, For | Block):
            position = outer.seq.index(below)
            uses = [i for i, s in enumerate(outer.seq) if any(ctx.index.is_inside(user, s) for user in users)]
            later = [i for i in uses if i > position]
            # In a loop, users before the writer read in its next iteration.
            if later or parent is scope or any(i < position for i in uses):
                return StatementSite(parent, later[0] if later and not at_once else position + 1)
        if outer is scope:
            return StatementSite(scope, 1)
        below = outer
    raise AssertionError("the writer is in its scope")


def length_of(body: Stmt) -> int:
    return len(body.seq) if isinstance(body, SeqStmt) else 1


def scope_read_region(scope: Block, buffer: Buffer) -> BufferRegion:
    """The region of `buffer` that the scope declares as read, within the buffer; the whole buffer if it declares none."""
    return next((_within(r) for r in scope.reads if r.buffer is buffer), build.full_region(buffer))


def guarded_read_region(
    ctx: Context, scope: Block, consumers: Sequence[BlockRealize], buffer: Buffer
) -> BufferRegion | None:
    """The region that the only consumer reads through guarded inner blocks; None without such blocks, or with several consumers."""
    if len(consumers) != 1 or not _nested_conditions(consumers[0].block, buffer, writes=False):
        return None
    return relaxed_region(ctx, consumers[0], buffer, StatementSite(scope, 0), writes=False)


def relaxed_region(
    ctx: Context, realize: BlockRealize, buffer: Buffer, site: StatementSite, *, writes: bool = True
) -> BufferRegion:
    """The region of `buffer` that all iterations of the block below the site write (or read)."""
    region = next(r for r in (realize.block.writes if writes else realize.block.reads) if r.buffer is buffer)
    above = {*ctx.index.loops_above(site.parent), site.parent}
    inner = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize) if f not in above}
    ranges = ctx.loop_ranges(realize)
    realize, relaxed = joined_splits(realize, inner)
    ranges = {**ranges, **relaxed}
    bindings = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
    boxes: list[BufferRegion] = []
    for nested in _nested_conditions(realize.block, buffer, writes=writes) or [build.TRUE]:
        conditions = build.conjuncts(build.logical_and(realize.predicate, substitute(nested, bindings)))
        boxes.append(hull([realized(region, realize)], relaxed, ranges, conditions))
    return _within(boxes[0] if len(boxes) == 1 else hull(boxes, {}, ranges))


def _nested_conditions(block: Block, buffer: Buffer, *, writes: bool) -> list[Expr]:
    """The predicates of inner blocks that access the buffer, in the block's iterators; none if one of them has no predicate."""
    found: list[Expr] = []
    for realize in loops_and_blocks(block.body):
        if isinstance(realize, BlockRealize):
            inner = realize.block
            if any(r.buffer is buffer for r in (inner.writes if writes else inner.reads)):
                bindings = dict(zip((iv.var for iv in inner.iter_vars), realize.iter_values, strict=True))
                found.append(substitute(realize.predicate, bindings))
    return [] if any(build.is_true(c) for c in found) else found


def _within(box: BufferRegion) -> BufferRegion:
    """The box cut at the end of the buffer, if its end is a constant outside of the shape (predicated blocks overshoot)."""
    axes: list[Range] = []
    for axis, extent in zip(box.region, box.buffer.shape, strict=True):
        low, size, limit = build.int_value(axis.min), build.int_value(axis.extent), build.int_value(extent)
        if low is not None and size is not None and limit is not None:
            start, end = max(low, 0), min(low + size, limit)
            axis = Range(build.const(start, extent.dtype), build.const(end - start, extent.dtype))
        axes.append(axis)
    return BufferRegion(box.buffer, tuple(axes))


class CopyStage(msgspec.Struct, frozen=True, eq=False):
    """A copy block with its loops."""

    name: str
    nest: Stmt


def copy_stage(ctx: Context, cached: CachedRegion, site: Stmt | Block, *, to_cache: bool, other: str = "") -> CopyStage:
    """The nest that copies the region to its cache or back, one element in each iteration, within the buffer.

    `site` is the position of the copy; `other` is a block name that is in use too.
    """
    name = fresh_name(cached.copy.name, {*ctx.index.block_names, other})
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
    places = tuple(build.add(r.min, v) for r, v in zip(axes, loops, strict=True))
    around = dict(ctx.loop_ranges(site))
    if isinstance(site, For):
        around[site.loop_var] = Range(site.min, site.extent)
    elif isinstance(site, Block):
        around.update({iv.var: iv.dom for iv in site.iter_vars})
    values = places if cached.is_whole else tuple[Expr, ...](loops)
    body: Stmt = BlockRealize(values, _inside(cached, places, around), block)
    for var, axis in reversed(list(zip(loops, axes, strict=True))):
        body = build.serial(var, axis.extent, body)
    return CopyStage(name, body)


def _inside(cached: CachedRegion, places: Sequence[Expr], ranges: Mapping[Var, Range]) -> Expr:
    """The condition that restricts a copy to the buffer if tiles do not divide it."""
    found: Expr = build.TRUE
    for axis, size, place in zip(cached.region.region, cached.buffer.shape, places, strict=True):
        if not prove(build.ge(axis.min, 0), ranges):
            found = build.logical_and(found, build.ge(place, 0))
        if not prove(build.le(build.add(axis.min, axis.extent), size), ranges):
            found = build.logical_and(found, build.lt(place, size))
    return found


def with_stage(ctx: Context, scope: Block, site: StatementSite, stmt: Stmt, buffer: Buffer, new: dict[Node, Node]):
    """The function with `stmt` at the site, `buffer` allocated in the scope, and blocks replaced by `new`."""

    def grown(parent: For | Block) -> Stmt:
        body = replace_nodes(parent.body, new)
        items = list(body.seq) if isinstance(body, SeqStmt) else [body]
        items.insert(site.position, stmt)
        return build.seq(items)

    if site.parent is scope:
        return ctx.replaced({scope: with_allocations(replace_fields(scope, body=grown(scope)), [buffer])})
    loop = site.parent
    assert isinstance(loop, For)
    body = replace_nodes(scope.body, {loop: replace_fields(loop, body=grown(loop)), **new})
    return ctx.replaced({scope: with_allocations(replace_fields(scope, body=body), [buffer])})
