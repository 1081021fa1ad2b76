"""Copies between memories: cache_read for inputs, cache_write for outputs, cache_inplace for buffers that are updated in place."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ....analysis import realized, writes_all
from ....ir import Block, BlockRealize, Buffer, BufferRegion, Node, SeqStmt, Stmt, build, replace_nodes
from ...context import BlockRV, Context, Result, with_allocations
from ...errors import refuse
from ...rules.checks import require_in_body, shares_elements
from ...rules.concurrent import CONCURRENT_KINDS
from .staging import (
    StatementSite,
    cache_of,
    copy_stage,
    does_read,
    guarded_read_region,
    length_of,
    moved_to,
    reading_from,
    relaxed_region,
    scope_read_region,
    site_after,
    with_stage,
)
from .staging_checks import (
    fills_before_reading,
    holds_values,
    is_given,
    is_overwritten_later,
    is_within,
    require_content_of,
    require_filled,
    require_fresh_or_scan,
    require_needed,
    require_not_written,
    require_one_writer,
    require_only_writer,
)


def cache_read(
    ctx: Context,
    block: BlockRV,
    read_buffer_index: int | str | Buffer,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> Result[BlockRV]:
    """Copy a buffer that `block` reads into `storage_scope`, and read the copy instead.

    Rewrite:
        for i in range(n):                 for ax0 in range(n):
            B[i] = f(A[i])           =>        A_local[ax0] = A[ax0]        # block "A_local"
                                           for i in range(n):
                                               B[i] = f(A_local[i])
    `consumer_blocks` are the blocks that read the copy; the default is every block of the scope. A block that contains the readers also
    stands for all of them, and places the copy right after the writer. A copy outside of all loops has the size of the copied region, with
    indices from 0. If that size differs between iterations of outer loops, it has the size of the buffer.
    Requires: the buffer has at most one writer in the scope, and `block` does not write it.
    Returns: the block that copies, named `<buffer>_<scope>`. It is placed before the first reader after the writer. Without a writer, or if
    the writer only overwrites elements that were read before, it is first in the scope.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, several-writers, reads-own-output, not-a-consumer, outside-buffer, opaque-access,
    in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheRead.
    """
    source = ctx.buffer_region(block, read_buffer_index, side="read").buffer
    require_in_body(ctx, ctx.realize(block))
    scope = ctx.index.scope_of(ctx.realize(block))
    require_not_written(ctx, block, source)
    writer = require_one_writer(ctx, scope, source)
    for_all = any(ctx.index.is_inside(scope.body, ctx.realize(name)) for name in consumer_blocks or ())
    consumers = _consumers(ctx, scope, source, None if for_all else consumer_blocks, default_to_all=True)
    for consumer in consumers:
        require_not_written(ctx, consumer.block.name, source)
    if writer is None:
        site = StatementSite(scope, 0)
        require_needed(ctx, consumers, source)
        region = guarded_read_region(ctx, scope, consumers, source) or scope_read_region(scope, source)
        require_inside(ctx, consumers[0], region)
    elif is_overwritten_later(ctx, scope, writer, consumers, source):
        site = StatementSite(scope, 0)
        region = build.full_region(source)
    else:
        site = site_after(ctx, scope, writer, consumers, at_once=for_all)
        region = relaxed_region(ctx, writer, source, site)
        require_filled(ctx, writer, region, site)
        require_content_of(ctx, scope, writer, consumers, source)
    cached = cache_of(ctx, source, storage_scope, region, consumers, is_whole=site.parent is not scope)
    stage = copy_stage(ctx, cached, site.parent, to_cache=True)
    new: dict[Node, Node] = {r: reading_from(r, cached) for r in consumers}
    return Result(with_stage(ctx, scope, site, stage.nest, cached.copy, new), stage.name)


def cache_write(
    ctx: Context,
    block: BlockRV,
    write_buffer_index: int | str | Buffer,
    storage_scope: str,
    consumer_blocks: Sequence[BlockRV] | None = None,
) -> Result[BlockRV]:
    """Write the output of `block` to a buffer in `storage_scope`, and copy it to the original buffer afterwards.

    Rewrite:
        for i in range(n):                 for i in range(n):
            B[i] = f(A[i])           =>        B_local[i] = f(A[i])
                                           for ax0 in range(n):
                                               B[ax0] = B_local[ax0]        # block "B_local"
    Requires: `block` is the only writer of the buffer in the scope, and reads only those of its elements that it wrote before.
    Returns: the block that copies, named `<buffer>_<scope>`. It is placed after `block` and before the readers of the buffer;
    `consumer_blocks` read the cache directly.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, not-the-only-writer, not-a-consumer, reads-own-output, opaque-access, in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheWrite.
    """
    target = ctx.buffer_region(block, write_buffer_index, side="write").buffer
    realize = ctx.realize(block)
    require_in_body(ctx, realize)
    scope = ctx.index.scope_of(realize)
    require_only_writer(ctx, scope, block, target)
    direct = _consumers(ctx, scope, target, consumer_blocks, default_to_all=False)
    require_fresh_or_scan(ctx, realize, target)

    others = [
        r for r in ctx.index.siblings(block) if r is not realize and r not in direct and does_read(r.block, target)
    ]
    site = site_after(ctx, scope, realize, others) if others else StatementSite(scope, length_of(scope.body))
    region = relaxed_region(ctx, realize, target, site)
    require_filled(ctx, realize, region, site)
    require_content_of(ctx, scope, realize, direct, target)
    cached = cache_of(ctx, target, storage_scope, region, [realize, *direct], is_whole=site.parent is not scope)
    stage = copy_stage(ctx, cached, site.parent, to_cache=False)
    new: dict[Node, Node] = {realize: moved_to(realize, cached)}
    new |= {r: reading_from(r, cached) for r in direct}
    return Result(with_stage(ctx, scope, site, stage.nest, cached.copy, new), stage.name)


def cache_inplace(
    ctx: Context, block: BlockRV, read_buffer_index: int | str | Buffer, storage_scope: str
) -> Result[list[BlockRV]]:
    """Copy a buffer that `block` updates in place into `storage_scope` before each run of the block, and back after it.

    Rewrite:
        for i in range(n):                 for i in range(n):
            A[i] = f(A[i])           =>        A_local[i] = A[i]             # block "A_local"
                                               A_local[i] = f(A_local[i])
                                               A[i] = A_local[i]             # block "A_local_1"
    Requires: the block reads and writes the buffer; every element that is copied back was copied in, or provably written; concurrent
    iterations update different elements.
    Returns: the block that copies into the cache, and the block that copies back, directly before and after the block. The cache has the
    size of the buffer.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, not-in-place, outside-buffer, region-not-covered, order-dependent, opaque-access,
    in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, CacheInplace.
    """
    buffer = ctx.buffer_region(block, read_buffer_index, side="read").buffer
    realize = ctx.realize(block)
    require_in_body(ctx, realize)
    scope = ctx.index.scope_of(realize)
    read, written = require_in_place(ctx, realize, buffer)
    require_returned(ctx, realize, read, written)
    require_one_runs(ctx, realize, buffer)

    cached = cache_of(ctx, buffer, storage_scope, read, [realize], is_whole=True)
    copy_in = copy_stage(ctx, cached, realize, to_cache=True)
    copy_out = copy_stage(ctx, replace_fields(cached, region=written), realize, to_cache=False, other=copy_in.name)
    body = replace_nodes(
        scope.body, _in_place_of(ctx, realize, [copy_in.nest, moved_to(realize, cached), copy_out.nest])
    )
    func = ctx.replaced({scope: with_allocations(replace_fields(scope, body=body), [cached.copy])})
    after = ctx.after(func)
    if not holds_values(after.index, after.realize(copy_in.name), buffer, given=is_given(ctx.index, buffer)):
        raise refuse(
            "region-not-covered", f"{buffer.name!r} may be uninitialized where block {block!r} would copy it", realize,
            expected="a buffer that is fully written before",
        )  # fmt: skip
    return Result(func, [copy_in.name, copy_out.name])


# The copy ignores the block's predicate: with concurrent iterations, one whose block does nothing would still copy.
def require_one_runs(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    for loop in ctx.index.loops_above(realize):
        if loop.kind in CONCURRENT_KINDS and shares_elements(ctx, loop, realize, buffer):
            raise refuse(
                "order-dependent", f"concurrent iterations of loop {loop.loop_var.name!r} ({loop.kind}) would copy the same "
                f"element of {buffer.name!r}", loop, realize, expected="iterations that update distinct elements",
            )  # fmt: skip


def _in_place_of(ctx: Context, realize: BlockRealize, stmts: list[Stmt]) -> dict[Node, Node]:
    """The replacement of the block by statements, in its sequence if there is one."""
    around = ctx.index.parent(realize)
    if not isinstance(around, SeqStmt):
        return {realize: build.seq(stmts)}
    parts = [stmts if s is realize else [s] for s in around.seq]
    return {around: build.seq([s for part in parts for s in part])}


# Only a buffer that the block modifies is copied there and back.
def require_in_place(ctx: Context, realize: BlockRealize, buffer: Buffer) -> tuple[BufferRegion, BufferRegion]:
    """The regions of the buffer that the block reads and writes."""
    block = realize.block
    found = [next((r for r in side if r.buffer is buffer), None) for side in (block.reads, block.writes)]
    if found[0] is None or found[1] is None or fills_before_reading(ctx, block, buffer):
        raise refuse(
            "not-in-place", f"block {block.name!r} does not both read and write {buffer.name!r}", block,
            expected="a buffer that the block updates in place", fix=(f"sch.cache_write({block.name!r}, …)",),
        )  # fmt: skip
    return realized(found[0], realize), realized(found[1], realize)


# The copied region must exist: a region that a block declares may exceed the buffer if it reads under conditions.
def require_inside(ctx: Context, realize: BlockRealize, *regions: BufferRegion) -> None:
    ranges = ctx.loop_ranges(realize)
    if not all(is_within(region, build.full_region(region.buffer), ranges) for region in regions):
        raise refuse(
            "outside-buffer", f"block {realize.block.name!r} may access {regions[0].buffer.name!r} out of bounds", realize,
            expected="regions within the buffer in every iteration",
        )  # fmt: skip


# Every element that the cache writes back must come from the buffer or from the block.
def require_returned(ctx: Context, realize: BlockRealize, read: BufferRegion, written: BufferRegion) -> None:
    ranges = ctx.loop_ranges(realize)
    require_inside(ctx, realize, read, written)
    if is_within(written, read, ranges):
        return
    if not build.is_true(realize.predicate) or not writes_all(
        ctx.index, realize, written, ctx.index.loops_above(realize)
    ):
        raise refuse(
            "region-not-covered", f"block {realize.block.name!r} may not read all elements of {read.buffer.name!r} to be copied back",
            realize, expected="a block that reads all elements that it writes",
        )  # fmt: skip


def _consumers(
    ctx: Context, scope: Block, buffer: Buffer, names: Sequence[BlockRV] | None, *, default_to_all: bool
) -> list[BlockRealize]:
    """The blocks of the scope that read the cache."""
    readers = [r for r in ctx.index.child_blocks(scope) if does_read(r.block, buffer)]
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
