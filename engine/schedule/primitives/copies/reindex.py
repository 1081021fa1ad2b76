"""Copies in the order of a block's iterators: reindex, reindex_cache_read, reindex_cache_write.

Each iteration of such a block accesses one element of the buffer. The iterators give the index of that element in the copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ....analysis import is_covered, is_injective, keeps_domains
from ....arith import map_shape, padded_inverse, prove, simplify
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IndexMap,
    IntImm,
    LaunchThread,
    Let,
    LetStmt,
    Node,
    Range,
    SeqStmt,
    Stmt,
    addressed_buffers,
    build,
    free_vars,
    structural_equal,
    uses_var,
    walk,
)
from ....lower.access import change_buffers
from ...context import BlockRV, Context, Result
from ...errors import refuse
from ...rules.block_motion import require_not_loose
from ...rules.checks import require_in_body, require_scope_name, require_separators
from ...rules.index_maps import IndexMapLike, map_of_iterators
from .points import CopyNest, Point, copied, over_domains, over_loops
from .staging import StatementSite, does_read, length_of, site_after, with_stage
from .staging_checks import (
    is_overwritten_later,
    require_fresh,
    require_initialized,
    require_not_stored_loosely,
    require_not_written,
    require_one_writer,
    require_only_writer,
)


def reindex(ctx: Context, block: BlockRV, buffer: tuple[str, int] | str | Buffer) -> Result[BlockRV]:
    """Copy a buffer so that its axes follow the iterators of `block`, and access the copy instead.

    Rewrite:
        for i, j in grid(n, m):                 for ax0, ax1 in grid(n, m):
            B[i, j] = A[j, i] * 2         =>        A_reindex[ax0, ax1] = A[ax1, ax0]     # block "A_reindex_reindex"
                                                for i, j in grid(n, m):
                                                    B[i, j] = A_reindex[i, j] * 2
    `buffer`: ("read", i), ("write", i), a name or a buffer. A buffer that the block writes is copied back. The copy has one axis for each
    iterator that the indices use.
    Requires: the block contains no blocks, accesses one element of the buffer in each iteration, and is the only block in its loops.
    Returns: the block that copies, named `<buffer>_reindex_reindex` for a read buffer and `<buffer>_reindex` for a written one (TVM's
    names).
    Errors: bad-buffer-index, unknown-buffer, not-a-leaf, several-elements, opaque-access, reads-own-output, not-alone, outside-domain,
    partial-domain, region-not-covered, order-dependent, in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, ReIndex.
    """
    realize = ctx.realize(block)
    require_in_body(ctx, realize)
    side, old = ctx.buffer_side(block, buffer)
    element = _shorter(realize.block, require_one_element(ctx, realize, old))
    iters = [iv for iv in realize.block.iter_vars if any(uses_var(e, iv.var) for e in element)]
    require_in_domain(ctx, realize)
    site = require_alone(ctx, realize)

    shape = tuple(build.add(iv.dom.min, iv.dom.extent) for iv in iters)
    copy = _copy_of(ctx, old, shape, f"{old.name}_reindex", old.scope)
    point = Point(old, element, copy, tuple(iv.var for iv in iters))
    if side == "read":
        require_not_written(ctx, block, old)
        return _read_through(ctx, realize, point, site, over_domains(ctx, iters, copy.name))
    require_fresh(ctx, realize, old)
    return _write_through(ctx, realize, point, site.after, over_domains(ctx, iters, old.name))


def reindex_cache_read(
    ctx: Context, block: BlockRV, read_buffer_index: int, storage_scope: str, index_map: IndexMapLike
) -> Result[BlockRV]:
    """Copy the elements that `block` reads into `storage_scope`, at the indices that `index_map` gives for its iterators.

    Rewrite:
        for i, j in grid(n, m):                 for i, j in grid(n, m):
            B[i, j] = A[i, j]             =>        A_local[j, i] = A[i, j]       # block "A_local"; lambda i, j: (j, i)
                                                for i, j in grid(n, m):
                                                    B[i, j] = A_local[j, i]
    Requires: the block contains no blocks and reads one element in each iteration; the map uses the iterators that the element's indices
    use, and gives each element its own position.
    Returns: the block that copies, named `<buffer>_<scope>`, in those loops of the block that it needs. It is placed before the block:
    after the writer of the buffer, or first in the scope.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, bad-index-map, bad-separator, not-a-leaf, several-elements, opaque-access,
    reads-own-output, several-writers, other-iterators, not-bijective, outside-domain, partial-domain, region-not-covered, write-after-read,
    in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, ReindexCacheRead.
    """
    realize = ctx.realize(block)
    index_map = map_of_iterators(realize.block, index_map)
    require_in_body(ctx, realize)
    region = ctx.buffer_region(block, read_buffer_index, side="read")
    scope = ctx.index.scope_of(realize)
    require_not_written(ctx, block, region.buffer)
    point = _mapped_point(ctx, realize, region, storage_scope, index_map)
    require_not_stored_loosely(ctx, scope, region.buffer)
    site = _site_before(ctx, scope, realize, region.buffer)
    result = _read_through(ctx, realize, point, site, over_loops(ctx, realize, point, site))
    return replace_fields(result, traced={"index_map": index_map})


def reindex_cache_write(
    ctx: Context, block: BlockRV, write_buffer_index: int, storage_scope: str, index_map: IndexMapLike
) -> Result[BlockRV]:
    """Write the output of `block` to `storage_scope` at the indices that `index_map` gives, and copy it to the buffer afterwards.

    Rewrite:
        for i, j in grid(n, m):                 for i, j in grid(n, m):
            B[i, j] = A[i, j]             =>        B_local[j, i] = A[i, j]
                                                for i, j in grid(n, m):
                                                    B[i, j] = B_local[j, i]       # block "B_local"; lambda i, j: (j, i)
    Requires: the block contains no blocks, is the only writer of the buffer in the scope and writes one element in each iteration; the map
    uses the iterators that the element's indices use, and gives each element its own position.
    Returns: the block that copies, named `<buffer>_<scope>`, in those loops of the block that it needs. It is placed after the block and
    before the readers of the buffer.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, bad-index-map, bad-separator, not-a-leaf, several-elements, opaque-access,
    reads-own-output, not-the-only-writer, other-iterators, not-bijective, outside-domain, partial-domain, region-not-covered,
    order-dependent, in-init.
    Source: TVM src/s_tir/schedule/primitive/cache_read_write.cc, ReindexCacheWrite.
    """
    realize = ctx.realize(block)
    index_map = map_of_iterators(realize.block, index_map)
    require_in_body(ctx, realize)
    region = ctx.buffer_region(block, write_buffer_index, side="write")
    scope = ctx.index.scope_of(realize)
    require_only_writer(ctx, scope, block, region.buffer)
    point = _mapped_point(ctx, realize, region, storage_scope, index_map)
    require_fresh(ctx, realize, region.buffer)
    others = [r for r in ctx.index.siblings(block) if r is not realize and does_read(r.block, region.buffer)]
    site = site_after(ctx, scope, realize, others) if others else StatementSite(scope, length_of(scope.body))
    result = _write_through(ctx, realize, point, site, over_loops(ctx, realize, point, site))
    return replace_fields(result, traced={"index_map": index_map})


# A copy of one element per run can only replace the accesses of a block that uses one element.
def require_one_element(ctx: Context, realize: BlockRealize, buffer: Buffer) -> tuple[Expr, ...]:
    """The indices that all accesses of the block to the buffer share."""
    block = realize.block
    loops = {f.loop_var for f in ctx.index.loops_above(realize)}
    parts = [p for p in (block.init, block.body) if p is not None]
    if any(isinstance(n, Block) for p in parts for n in walk(p)):
        raise refuse(
            "not-a-leaf", f"block {block.name!r} contains other blocks", block, expected="a block without nested blocks"
        )
    if block.match_buffers or any(buffer in addressed_buffers(p) for p in parts):
        raise refuse(
            "opaque-access", f"block {block.name!r} accesses {buffer.name!r} by address or through a view", block,
            expected="a buffer that is only accessed by index",
        )  # fmt: skip
    found = [n for p in parts for n in walk(p) if isinstance(n, BufferLoad | BufferStore) and n.buffer is buffer]
    first = found[0].indices if found else None
    same = first is not None and all(all(map(structural_equal, first, other.indices)) for other in found[1:])
    if first is None or not same:
        raise refuse(
            "several-elements", f"an iteration of block {block.name!r} accesses {'several elements' if found else 'no element'} of "
            f"{buffer.name!r}", block, found=f"{len(found)} accesses", expected="one element, with the same indices in every access",
        )  # fmt: skip
    load = next((n for i in first for n in walk(i) if isinstance(n, BufferLoad)), None)
    if load is not None:
        raise refuse(
            "opaque-access", f"the indices of {buffer.name!r} in block {block.name!r} are loaded from {load.buffer.name!r}", block,
            expected="indices over the iterators of the block", fix=(f"sch.cache_read({block.name!r}, {buffer.name!r}, scope)",),
        )  # fmt: skip
    inside = {
        n.loop_var if isinstance(n, For) else n.var
        for p in parts
        for n in walk(p)
        if isinstance(n, For | Let | LetStmt | LaunchThread)
    }
    if any(free_vars(i) & (inside | loops) for i in first):
        raise refuse(
            "opaque-iterator", f"the indices of {buffer.name!r} use more than the iterators of block {block.name!r}", block,
            expected="indices over the iterators of the block",
        )  # fmt: skip
    return first


def _shorter(block: Block, element: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The indices, simplified with the ranges of the iterators. Indices that become constant are kept, as in TVM."""
    iters = {iv.var: iv.dom for iv in block.iter_vars}
    simpler = (simplify(i, iters) for i in element)
    return tuple(old if isinstance(new, IntImm) else new for old, new in zip(element, simpler, strict=True))


# The iterators' domains determine the size of the copy.
def require_in_domain(ctx: Context, realize: BlockRealize) -> None:
    loops = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize)}
    if not keeps_domains(realize, loops):
        raise refuse(
            "outside-domain", f"cannot prove that the iterators of block {realize.block.name!r} stay in their domains", realize,
            expected="loops or a predicate that keep each iterator in its domain",
        )  # fmt: skip


# A private copy is placed next to the block's loops, so no other block may run in them.
def require_alone(ctx: Context, realize: BlockRealize) -> StatementSite:
    """The site of the outermost loop of the block."""
    below: Stmt = realize
    scope = ctx.index.scope_of(realize)
    for outer in ctx.index.path(realize):
        if outer is scope:
            return StatementSite(scope, 0)
        if isinstance(outer, SeqStmt) and ctx.index.parent(outer) is scope:
            return StatementSite(scope, outer.seq.index(below))
        if not isinstance(outer, For):
            break
        below = outer
    raise refuse(
        "not-alone", f"other statements share the loops of block {realize.block.name!r}", realize,
        expected="loops that contain only the block", fix=("reindex_cache_read or reindex_cache_write",),
    )  # fmt: skip


def _copy_of(ctx: Context, buffer: Buffer, shape: tuple[Expr, ...], name: str, scope: str) -> Buffer:
    return replace_fields(
        buffer, name=ctx.fresh_buffer_name(name), shape=shape, scope=scope, strides=(), elem_offset=None, axis_separators=()
    )  # fmt: skip


def _mapped_point(
    ctx: Context, realize: BlockRealize, region: BufferRegion, storage_scope: str, index_map: IndexMap
) -> Point:
    """The element of the region and its index by the map. Different elements have different indices."""
    require_scope_name(storage_scope)
    block, old = realize.block, region.buffer
    element = require_one_element(ctx, realize, old)
    require_in_domain(ctx, realize)
    if len(index_map.params) != len(block.iter_vars) or not index_map.indices:
        raise refuse(
            "bad-index-map", f"the index map has {len(index_map.params)} iterators, but the block has {len(block.iter_vars)}", block,
            expected=f"a function of {len(block.iter_vars)} iterators",
        )  # fmt: skip
    require_separators(old, index_map.separators, len(index_map.indices))
    index_map = index_map.with_dtype(block.iter_vars[0].var.dtype)
    place = tuple(simplify(i) for i in index_map.apply([iv.var for iv in block.iter_vars]))
    require_same_iterators(block, element, place)
    try:
        shape = _shape(index_map, [iv.dom.extent for iv in block.iter_vars])
    except ValueError as error:
        raise refuse("bad-index-map", str(error), block, expected="bounded axes") from error
    require_own_places(block, place, shape)
    copy = _copy_of(ctx, old, shape, f"{old.name}_{storage_scope}", storage_scope)
    return Point(old, element, replace_fields(copy, axis_separators=index_map.separators), place)


def _shape(index_map: IndexMap, extents: Sequence[Expr]) -> tuple[Expr, ...]:
    """The shape of the copy, rounded up as in TVM. Raises ValueError if an axis has no bound."""
    used = [n for n, p in enumerate(index_map.params) if any(uses_var(i, p) for i in index_map.indices)]
    own = IndexMap(tuple(index_map.params[n] for n in used), index_map.indices)
    extents = [extents[n] for n in used]
    found = padded_inverse(own, extents)
    return found.shape if found is not None else map_shape(own, extents)


# An iterator on only one side would map several elements to one place, or one element to several places.
def require_same_iterators(block: Block, element: Sequence[Expr], place: Sequence[Expr]) -> None:
    for iv in block.iter_vars:
        in_element, in_place = (any(uses_var(e, iv.var) for e in side) for side in (element, place))
        if in_element != in_place:
            raise refuse(
                "other-iterators",
                f"iterator {iv.var.name!r} selects the {'element' if in_element else 'position in the copy'}, "
                f"but not the {'position in the copy' if in_element else 'element'}",
                block, expected="a map over exactly the iterators that select the element",
            )  # fmt: skip


# Two elements with one place would overwrite each other.
def require_own_places(block: Block, place: Sequence[Expr], shape: Sequence[Expr]) -> None:
    iters = {iv.var: iv.dom for iv in block.iter_vars if any(uses_var(p, iv.var) for p in place)}
    inside = all(
        prove(build.ge(p, 0), iters) and prove(build.lt(p, size), iters) for p, size in zip(place, shape, strict=True)
    )
    if not inside or not is_injective(place, iters):
        raise refuse(
            "not-bijective", f"the index map is not injective on the iterations of block {block.name!r}", block,
            expected="an invertible map of sums of multiples, quotients and remainders of the iterators",
        )  # fmt: skip


def _site_before(ctx: Context, scope: Block, realize: BlockRealize, buffer: Buffer) -> StatementSite:
    """A site at which the block's input is complete: after the writer and before the block, or first in the scope."""
    writer = require_one_writer(ctx, scope, buffer)
    if writer is None or is_overwritten_later(ctx, scope, writer, [realize], buffer):
        return StatementSite(scope, 0)
    order = ctx.index.block_names
    if order.index(writer.block.name) > order.index(realize.block.name):
        raise refuse(
            "write-after-read", f"block {writer.block.name!r} overwrites elements that block {realize.block.name!r} reads in the "
            "next iteration", writer, realize, expected="a writer before the block",
        )  # fmt: skip
    return site_after(ctx, scope, writer, [realize])


def _read_through(
    ctx: Context, realize: BlockRealize, point: Point, site: StatementSite, nest: CopyNest
) -> Result[BlockRV]:
    """The copy, followed by the block that reads it. Refuses to copy uninitialized elements."""
    block = change_buffers(realize.block, {point.buffer: point.change})
    reader = replace_fields(realize, block=replace_fields(block, writes=realize.block.writes))
    func = with_stage(
        ctx, ctx.index.scope_of(realize), site, copied(nest, point, to_copy=True), point.copy, {realize: reader}
    )
    require_initialized(ctx, realize, ctx.after(func), nest.name, point.buffer)
    return Result(func, nest.name)


def _write_through(
    ctx: Context, realize: BlockRealize, point: Point, site: StatementSite, nest: CopyNest
) -> Result[BlockRV]:
    """The block that writes the copy, followed by the copy back to the buffer."""
    require_not_loose(ctx, realize)
    require_distinct(realize.block, point)
    new: dict[Node, Node] = {realize: change_buffers(realize, {point.buffer: point.change})}
    func = with_stage(ctx, ctx.index.scope_of(realize), site, copied(nest, point, to_copy=False), point.copy, new)
    after = ctx.after(func)
    if not is_covered(
        after.index, after.realize(realize.block.name), after.realize(nest.name), point.copy, point_of(after, nest)
    ):
        raise refuse(
            "region-not-covered", f"block {realize.block.name!r} may not cover all elements of {point.buffer.name!r}", realize,
            expected="a block whose loops cover its whole domain",
        )  # fmt: skip
    return Result(func, nest.name)


def point_of(after: Context, nest: CopyNest) -> Sequence[Expr]:
    """The indices that the copy reads, in its iterators."""
    return [axis.min for axis in after.block(nest.name).reads[0].region]


# Of several writes to one element the last one remains; a copy in another order would keep another value.
def require_distinct(block: Block, point: Point) -> None:
    iters = {iv.var: iv.dom for iv in block.iter_vars if any(uses_var(p, iv.var) for p in point.place)}
    if not is_injective(point.element, iters):
        raise refuse(
            "order-dependent", f"several iterations of block {block.name!r} write the same element of {point.buffer.name!r}", block,
            expected="iterations that write distinct elements",
        )  # fmt: skip
