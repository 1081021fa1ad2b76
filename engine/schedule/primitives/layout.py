"""Where a buffer lives and how it lies there: set_scope, transform_layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from msgspec.structs import replace as replace_fields

from ...analysis import accessed_regions
from ...arith import interval, inverse, map_shape, prove_equal, simplify
from ...ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IndexMap,
    IntImm,
    Max,
    Min,
    Node,
    Range,
    Var,
    addressed_buffers,
    build,
    map_children,
    replace_buffers,
    rewrite,
    walk,
)
from ..checks import require_scope_name
from ..context import BlockRV, Context, Result
from ..errors import refuse

N = TypeVar("N", bound=Node)


def set_scope(ctx: Context, block: BlockRV, buffer_index: int | str | Buffer, storage_scope: str) -> Result:
    """Put a buffer that `block` writes into another memory.

    Rewrite:    B = T.sblock_alloc_buffer((n,))   =>   B = T.sblock_alloc_buffer((n,), scope="local")
    Requires: an intermediate buffer; parameters live where the caller put them.
    Returns: nothing.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, parameter-buffer, view-buffer.
    Source: TVM src/s_tir/schedule/primitive/block_annotate.cc, SetScope.
    """
    old = ctx.buffer_region(block, buffer_index, side="write").buffer
    require_scope_name(storage_scope)
    if old.scope == storage_scope:
        return Result(ctx.func)
    require_not_parameter(ctx, old, f'sch.cache_write({block!r}, {old.name!r}, "{storage_scope}")')
    require_no_view_of_other(ctx, old)
    new = {old: replace_fields(old, scope=storage_scope)}
    views = [m for name in ctx.index.block_names for m in ctx.index.block(name).match_buffers if m.source.buffer is old]
    new |= {m.buffer: replace_fields(m.buffer, scope=storage_scope) for m in views}
    return Result(replace_buffers(ctx.func, new))


def transform_layout(
    ctx: Context,
    block: BlockRV,
    buffer: int | str | tuple[str, int] | Buffer,
    index_map: IndexMap,
    pad_value: int | float | Expr | None = None,
    assume_injective_transform: bool = False,
) -> Result:
    """Lay a buffer out in other axes: element [i, j] comes to stand at index_map(i, j). All who use it follow.

    Rewrite:
        B = alloc((n, m))                        B = alloc((m, n))
        B[i, j] = f(i, j)                 =>     B[j, i] = f(i, j)                # lambda i, j: [j, i]
        C[i, j] = B[i, j]                        C[i, j] = B[j, i]
    An AXIS_SEPARATOR in the map keeps the axes before it and after it apart when the buffer is flattened: `[i // 64, AXIS_SEPARATOR,
    i % 64]` is a memory of several banks. The separators of the map replace those of the buffer.
    `buffer`: ("read", i), ("write", i), a name or a buffer; an int counts the reads. `pad_value` is not needed, as nothing is padded.
    `assume_injective_transform` takes the map on trust where it is not understood.
    Requires: an intermediate buffer; the map is a bijection between the old elements and the new ones.
    Returns: nothing.
    Errors: bad-buffer-index, unknown-buffer, bad-index-map, not-bijective, layout-needs-padding, parameter-buffer, view-buffer,
    strided-buffer.
    Source: TVM src/s_tir/schedule/primitive/layout_transformation.cc, TransformLayout; AXIS_SEPARATOR from TVM before 0.26.
    """
    old = ctx.buffer_region(block, buffer, side="read").buffer
    require_not_parameter(ctx, old, f"sch.cache_read({block!r}, {old.name!r}, scope)")
    require_no_view_of_other(ctx, old)
    require_no_views(ctx, old)
    require_plain(old)
    require_no_address(ctx, old)
    index_map = _in_index_dtype(old, index_map)
    shape = map_shape_or_refuse(old, index_map)
    if not assume_injective_transform:
        require_bijection(old, index_map, shape)
    new = replace_fields(old, shape=shape, axis_separators=index_map.separators)
    return Result(_Relayout(old, new, index_map).visit(ctx.func, {}))


# The caller made it, and expects it as it is.
def require_not_parameter(ctx: Context, buffer: Buffer, fix: str) -> None:
    if ctx.index.is_param(buffer):
        raise refuse(
            "parameter-buffer", f"{buffer.name!r} is a parameter: the caller's memory and layout cannot change", buffer,
            expected="an intermediate buffer", fix=(fix,),
        )  # fmt: skip


# A view has no memory of its own.
def require_no_view_of_other(ctx: Context, buffer: Buffer) -> None:
    if not any(b is buffer for b in ctx.index.buffers):
        raise refuse(
            "view-buffer", f"{buffer.name!r} is a view of another buffer", buffer, expected="the buffer that it views"
        )


# A view of the old layout would see other elements.
def require_no_views(ctx: Context, buffer: Buffer) -> None:
    for name in ctx.index.block_names:
        if any(m.source.buffer is buffer for m in ctx.index.block(name).match_buffers):
            raise refuse("view-buffer", f"block {name!r} has a view of {buffer.name!r}", ctx.index.block(name))


# Who has the address finds the elements where they lay.
def require_no_address(ctx: Context, buffer: Buffer) -> None:
    if buffer in addressed_buffers(ctx.func.body):
        raise refuse(
            "opaque-access", f"the address of {buffer.name!r} is taken: what it is used for cannot follow a new layout", buffer,
            expected="a buffer that is only accessed by its indices",
        )  # fmt: skip


# Strides and offsets speak of the old axes.
def require_plain(buffer: Buffer) -> None:
    if buffer.strides or buffer.elem_offset is not None:
        raise refuse(
            "strided-buffer",
            f"{buffer.name!r} has strides or an offset of its own",
            buffer,
            expected="a compact buffer",
        )


# Two elements in one place would lose one of them; a place without an element would need a value.
def require_bijection(buffer: Buffer, index_map: IndexMap, shape: tuple[Expr, ...]) -> None:
    domain = [Range(build.const(0, e.dtype), e) for e in buffer.shape]
    places, elements = _product(shape), _product(buffer.shape)
    if inverse(index_map, domain) is None and not _has_more(places, elements):
        raise refuse(
            "not-bijective", f"the index map does not give each element of {buffer.name!r} a place of its own", buffer,
            expected="sums of multiples, quotients and remainders of the axes that can be turned round",
        )  # fmt: skip
    first = [interval(index, dict(zip(index_map.params, domain, strict=True))) for index in index_map.indices]
    from_zero = all(span is not None and prove_equal(span.min, build.const(0, span.min.dtype)) for span in first)
    if not from_zero or not prove_equal(places, elements):
        raise refuse(
            "layout-needs-padding", f"the new layout of {buffer.name!r} has places without an element", buffer,
            found=f"{_count(places)} places for {_count(elements)} elements", expected="factors that divide the axes, and no offset",
        )  # fmt: skip


def _product(shape: tuple[Expr, ...]) -> Expr:
    result: Expr = build.const(1, "int64")
    for extent in shape:
        result = build.mul(result, build.cast(extent, "int64"))
    return simplify(result)


def _has_more(places: Expr, elements: Expr) -> bool:
    a, b = build.int_value(places), build.int_value(elements)
    return a is not None and b is not None and a > b


def _count(value: Expr) -> str:
    number = build.int_value(value)
    return "an unknown number of" if number is None else str(number)


def map_shape_or_refuse(buffer: Buffer, index_map: IndexMap) -> tuple[Expr, ...]:
    if len(index_map.params) != len(buffer.shape):
        raise refuse(
            "bad-index-map", f"the index map takes {len(index_map.params)} axes, {buffer.name!r} has {len(buffer.shape)}", buffer,
            expected=f"a function of {len(buffer.shape)} axes",
        )  # fmt: skip
    if not index_map.indices:
        raise refuse("bad-index-map", "the index map gives no axis", buffer, expected="at least one axis")
    try:
        return map_shape(index_map, buffer.shape)
    except ValueError as error:
        raise refuse("bad-index-map", str(error), buffer, expected="bounded axes") from error


def _in_index_dtype(buffer: Buffer, index_map: IndexMap) -> IndexMap:
    """The map over variables of the dtype of the buffer's shape."""
    dtype = buffer.shape[0].dtype if buffer.shape else "int32"
    if all(p.dtype == dtype for p in index_map.params) and all(i.dtype == dtype for i in index_map.indices):
        return index_map
    fresh = {p: Var(p.name, dtype) for p in index_map.params}

    def leave(node: Node) -> Node:
        if isinstance(node, Var):
            return fresh.get(node, node)
        return IntImm(node.value, dtype) if isinstance(node, IntImm) and node.dtype != "bool" else node

    return IndexMap(tuple(fresh.values()), tuple(rewrite(i, leave) for i in index_map.indices), index_map.separators)


class _Relayout:
    """Rewrites every use of `old`, with what is known of the variables around it."""

    def __init__(self, old: Buffer, new: Buffer, index_map: IndexMap) -> None:
        self.old = old
        self.new = new
        self.index_map = index_map

    def visit(self, node: N, ranges: Mapping[Var, Range]) -> N:
        """`node` after the change; the same object where the buffer does not occur."""
        return cast("N", self._visit(node, ranges))

    def _visit(self, node: Node, ranges: Mapping[Var, Range]) -> Node:
        if node is self.old:
            return self.new
        if isinstance(node, Buffer | Var):
            return node
        if isinstance(node, For):
            ranges = {**ranges, node.loop_var: Range(node.min, node.extent)}
        elif isinstance(node, Block):
            return self._block(node, {**ranges, **{iv.var: iv.dom for iv in node.iter_vars}})
        done = map_children(node, lambda child: self._visit(child, ranges))
        if isinstance(done, BufferLoad | BufferStore) and done.buffer is self.new:
            indices = tuple(_simplified(i, ranges) for i in self.index_map.apply(done.indices))
            done = replace_fields(done, indices=indices)
        return done

    def _block(self, block: Block, ranges: Mapping[Var, Range]) -> Block:
        """The block with its body rewritten first; what it reads and writes of the buffer is found anew."""
        body = self.visit(block.body, ranges)
        init = None if block.init is None else self.visit(block.init, ranges)
        owned = tuple(self.new if b is self.old else b for b in block.alloc_buffers)
        if body is block.body and init is block.init and self.old not in block.alloc_buffers:
            return block
        done = replace_fields(block, body=body, init=init, alloc_buffers=owned)
        if not any(r.buffer is self.old for r in (*block.reads, *block.writes)):
            return done
        reads, writes = accessed_regions(done)
        return replace_fields(done, reads=self._regions(block.reads, reads), writes=self._regions(block.writes, writes))

    def _regions(self, before: tuple[BufferRegion, ...], found: tuple[BufferRegion, ...]) -> tuple[BufferRegion, ...]:
        mine = next((r for r in found if r.buffer is self.new), build.full_region(self.new))
        return tuple(mine if r.buffer is self.old else r for r in before)


def _simplified(index: Expr, ranges: Mapping[Var, Range]) -> Expr:
    """The index as TVM leaves it: sums by what is known of the iterators, clamps and plain iterators as they are."""
    index = simplify(index)
    if isinstance(index, Var) or any(isinstance(node, Min | Max) for node in walk(index)):
        return index
    return simplify(index, ranges)
