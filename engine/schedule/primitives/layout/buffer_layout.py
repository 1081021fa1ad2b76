"""The layout of a buffer in memory: transform_layout, set_layout, set_axis_separator."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ....arith import PaddedMap, map_shape, padded_inverse, prove_equal, simplify
from ....execute import Image, ParameterLayout, image
from ....ir import (
    Buffer,
    BufferLoad,
    Expr,
    IndexMap,
    IntImm,
    Node,
    Var,
    build,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from ....ir import dtype as dt
from ...context import BlockRV, BufferLike, Context, Result
from ...errors import refuse
from ...relayout import keeps_indices, relaid
from ...rules.checks import require_separators
from ...rules.index_maps import IndexMapLike, map_of_axes, padding_of_axes
from ...rules.layout_padding import Padding, padded
from .memory import require_no_view_of_other, require_not_parameter, with_alignment

_TRIED = (2, 3, 5)
"""Sizes that a map with symbols is tried out with."""

PadValue = int | float | Expr | IndexMap | None


def transform_layout(
    ctx: Context,
    block: BlockRV,
    buffer: BufferLike,
    index_map: IndexMapLike,
    pad_value: int | float | Expr | IndexMapLike | None = None,
    *,
    assume_injective_transform: bool = False,
) -> Result[None]:
    """Transform the layout of a buffer: element [i, j] moves to index_map(i, j) in every access.

    Rewrite:
        B = alloc((n, m))                        B = alloc((m, n))
        B[i, j] = f(i, j)                 =>     B[j, i] = f(i, j)                # lambda i, j: [j, i]
        C[i, j] = B[i, j]                        C[i, j] = B[j, i]
    `buffer`: ("read", i), ("write", i), a name or a buffer; an int is a position among the reads. Symbolic divisors are assumed to be
    positive.
    A parameter can be transformed too: callers then pass an array in the new layout (`Schedule.layouts` has the layouts, and `verify`
    applies them).
    A map that does not divide the axes evenly leaves positions without an element. They hold `pad_value`, a number or a map of the new
    axes. A nest that writes the buffer row by row stores the padding itself: `B[a, b] = T.if_then_else(a == 3 and 2 <= b, pad, f(a * 4 +
    b))`. Otherwise a new block stores it after the last write. If no block writes the buffer, the caller guarantees the padding
    (`T.assume`).
    An AXIS_SEPARATOR in the map keeps the axes before and after it separate when the buffer is flattened: `[i // 64, AXIS_SEPARATOR, i %
    64]` describes a memory of several banks. The separators of the map replace those of the buffer.
    `assume_injective_transform` accepts maps that cannot be analysed (they are tested where sizes are known), and leaves padding undefined.
    Requires: each element has its own position; padding has a value.
    Returns: nothing.
    Errors: bad-buffer-index, unknown-buffer, bad-index-map, bad-separator, not-bijective, layout-needs-padding, bad-pad-value, symbol-lost,
    view-buffer, strided-buffer, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/layout_transformation.cc, TransformLayout; AXIS_SEPARATOR from TVM before 0.26.
    """
    old = ctx.buffer_region(block, buffer, side="read").buffer
    index_map = map_of_axes(old, index_map)
    if callable(pad_value):
        pad_value = padding_of_axes(old, pad_value, len(index_map.indices))
    traced = {"index_map": index_map, "pad_value": pad_value}
    require_no_view_of_other(ctx, old)
    index_map = in_dtype(index_map, old.shape)
    require_views_follow(ctx, old, index_map)
    require_plain(old)
    require_no_address(ctx, old)
    require_axes(old, index_map)
    require_separators(old, index_map.separators, len(index_map.indices))
    places = places_or_refuse(old, index_map, trusted=assume_injective_transform)
    value = pad_value_or_refuse(old, places.shape, pad_value)
    if value is None and not assume_injective_transform:
        require_no_padding(old, places)
    if value is not None:
        require_understood(old, places)
    new = replace_fields(old, shape=places.shape, axis_separators=index_map.separators)
    require_symbols_known(ctx, old, new)
    func = ctx.func
    if value is not None and not build.is_const(places.padding, 0):
        require_no_views(ctx, old)
        func = padded(ctx, Padding(old, new, index_map, places, value))
    layout = ParameterLayout(old.name, index_map, old.shape, new.shape, value) if ctx.index.is_param(old) else None
    return Result(relaid(func, old, new, index_map), None, layout, traced)


def set_layout(ctx: Context, block: BlockRV, buffer: BufferLike, order_or_strides: Sequence[int]) -> Result[None]:
    """Set the order of a buffer's axes in memory. Values and the order of computation stay the same.

    Rewrite:    x_blur = alloc((y, x, c))   =>   x_blur = alloc((x, c, y))        # [1, 2, 0], or the strides [1, c * y, y]
    `order_or_strides`: the axes from the outermost to the innermost in memory (a permutation of 0, 1, …), or the stride of each axis in
    elements.
    Strides with gaps ([129, 1] for 128 columns) become an alignment, as by `storage_align`.
    The axes of the new buffer are in memory order, as after `transform_layout`.
    Requires: a permutation, or strides each of which spans the axes inside it, with 1 for the innermost; gaps only in intermediate buffers.
    Returns: nothing.
    Errors: bad-layout, parameter-buffer, and those of transform_layout.
    Source: Tilewright's, for a buffer that is computed as [y, x, c] and stored as [x, c, y].
    """
    old = ctx.buffer_region(block, buffer, side="read").buffer
    wanted = tuple(order_or_strides)
    if sorted(wanted) == list(range(len(old.shape))):
        order, gaps = wanted, ()
    else:
        order, gaps = order_and_gaps(old, wanted)
    axes = tuple(Var(f"i{k}", e.dtype) for k, e in enumerate(old.shape))
    result = transform_layout(ctx, block, old, IndexMap(axes, tuple(axes[k] for k in order)))
    if not gaps:
        return replace_fields(result, traced={})
    require_not_parameter(ctx, old, f"sch.cache_write({block!r}, {old.name!r}, scope)")
    writer = next(iter(ctx.index.writers(old)), None)
    if writer is None:
        raise refuse("bad-layout", f"no block writes {old.name!r}, so none can request padding of its strides", old)
    inside = Context(result.func)
    position = next(k for k, w in enumerate(ctx.block(writer).writes) if w.buffer is old)
    for axis, stride in gaps:
        inside = Context(with_alignment(inside, writer, position, axis, stride, 0))
    return Result(inside.func, None)


def set_axis_separator(
    ctx: Context, block: BlockRV, buffer: BufferLike, axis_separators: Sequence[int]
) -> Result[None]:
    """Keep groups of axes of a buffer separate when it is flattened: [1] turns `(2, 64, 64)` into `[2][4096]`.

    Rewrite:    B = alloc((2, 64, 64))   =>   B = alloc((2, 64, 64), axis_separators=[1])
    Separator `k` is before axis `k`. Views with as many axes get the separators too.
    Requires: positions between axes, in increasing order.
    Returns: nothing.
    Errors: bad-buffer-index, unknown-buffer, bad-separator, view-buffer, opaque-access.
    Source: TVM before 0.26, src/tir/schedule/primitive/layout_transformation.cc, SetAxisSeparator.
    """
    old = ctx.buffer_region(block, buffer, side="read").buffer
    require_no_view_of_other(ctx, old)
    require_no_address(ctx, old)
    separators = tuple(axis_separators)
    require_separators(old, separators, len(old.shape))
    axes = tuple(Var(f"i{k}", e.dtype) for k, e in enumerate(old.shape))
    new = replace_fields(old, axis_separators=separators)
    return Result(relaid(ctx.func, old, new, IndexMap(axes, axes, separators)), None)


# A view of the old layout would see other elements: it can follow if it has one element, or if the map keeps all indices.
def require_views_follow(ctx: Context, buffer: Buffer, index_map: IndexMap) -> None:
    if keeps_indices(index_map):
        return
    addressed = ctx.index.addressed
    for name in ctx.index.block_names:
        views = {b: m for m in ctx.index.block(name).match_buffers for b in (m.source.buffer, m.buffer)}
        for match in ctx.index.block(name).match_buffers:
            if match.source.buffer is not buffer:
                continue
            single = all(build.is_const(r.extent, 1) for r in match.source.region)
            view = match.buffer
            strided = view.strides or view.elem_offset is not None or view in addressed
            if not single or strided or len(view.shape) > len(index_map.indices) or len(views) > 2:
                raise refuse(
                    "view-buffer", f"block {name!r} has a view of {buffer.name!r}", ctx.index.block(name),
                    expected="views of single elements, without strides",
                )  # fmt: skip


# The padding is filled after the buffer's writers, and these are not found through views.
def require_no_views(ctx: Context, buffer: Buffer) -> None:
    for name in ctx.index.block_names:
        if any(m.source.buffer is buffer for m in ctx.index.block(name).match_buffers):
            raise refuse("view-buffer", f"block {name!r} has a view of {buffer.name!r}", ctx.index.block(name))


# A user of the address finds elements at their old places.
def require_no_address(ctx: Context, buffer: Buffer) -> None:
    if buffer in ctx.index.addressed:
        raise refuse(
            "opaque-access", f"the address of {buffer.name!r} is used, and accesses by address cannot follow a new layout", buffer,
            expected="a buffer that is only accessed by index",
        )  # fmt: skip


# Strides and offsets refer to the old axes. (An offset of 0 marks a parameter that begins at the start of its memory.)
def require_plain(buffer: Buffer) -> None:
    offset = buffer.elem_offset is not None and not build.is_const(buffer.elem_offset, 0)
    if buffer.strides or offset:
        raise refuse(
            "strided-buffer",
            f"{buffer.name!r} has explicit strides or an offset",
            buffer,
            expected="a compact buffer",
        )


def require_axes(buffer: Buffer, index_map: IndexMap) -> None:
    if len(index_map.params) != len(buffer.shape):
        raise refuse(
            "bad-index-map", f"the index map has {len(index_map.params)} axes, but {buffer.name!r} has {len(buffer.shape)}", buffer,
            expected=f"a function of {len(buffer.shape)} axes",
        )  # fmt: skip
    if not index_map.indices:
        raise refuse("bad-index-map", "the index map gives no axis", buffer, expected="at least one axis")


# Two elements with one place would overwrite each other.
def places_or_refuse(buffer: Buffer, index_map: IndexMap, *, trusted: bool) -> PaddedMap:
    """The image of the map. A `trusted` map that cannot be analysed has no inverse, and is assumed to need no padding."""
    try:
        places = padded_inverse(index_map, buffer.shape)
        if places is None and trusted:
            places = _trusted(buffer, index_map)
    except ValueError as error:
        raise refuse("bad-index-map", str(error), buffer, expected="bounded axes") from error
    if places is None:
        raise refuse(
            "not-bijective", f"the index map is not injective on the elements of {buffer.name!r}", buffer,
            expected="an invertible map of sums of multiples, quotients and remainders of the axes",
            fix=("assume_injective_transform=True, if the map is injective for another reason",),
        )  # fmt: skip
    if not all(prove_equal(low, build.const(0, low.dtype)) for low in places.lowest):
        raise refuse(
            "layout-needs-padding", f"the new layout of {buffer.name!r} does not start at index 0", buffer,
            expected="no offset",
        )  # fmt: skip
    return places


def _trusted(buffer: Buffer, index_map: IndexMap) -> PaddedMap:
    """The box of a map that cannot be analysed, computed element by element, for a few sizes if they are symbolic."""
    symbols = {v for part in (*index_map.indices, *buffer.shape) for v in free_vars(part)} - set(index_map.params)
    found: Image | None = None
    for size in _TRIED if symbols else (1,):
        sizes = {v: build.const(size, v.dtype) for v in symbols}
        indices, shape = (tuple(substitute(e, sizes) for e in part) for part in (index_map.indices, buffer.shape))
        found = image(IndexMap(index_map.params, indices), shape)
        if found is not None and not found.is_one_to_one:
            raise refuse(
                "not-bijective", f"the index map sends several elements of {buffer.name!r} to one place", buffer,
                expected="a distinct place for each element",
            )  # fmt: skip
    if found is None or symbols:
        shape = map_shape(index_map, buffer.shape)
        return PaddedMap(IndexMap((), ()), tuple(build.const(0, e.dtype) for e in shape), shape, build.FALSE)
    lowest, highest = (
        tuple(build.const(k, e.dtype) for k, e in zip(ends, index_map.indices, strict=True)) for ends in found.ends
    )
    return PaddedMap(IndexMap((), ()), lowest, tuple(build.add(k, 1) for k in highest), build.FALSE)


# A place without an element would have an undefined value.
def require_no_padding(buffer: Buffer, places: PaddedMap) -> None:
    if not build.is_const(places.padding, 0):
        raise refuse(
            "layout-needs-padding", f"the new layout of {buffer.name!r} has places without an element", buffer,
            found=f"{_count(places.shape)} places for {_count(buffer.shape)} elements",
            expected="factors that divide the axes, or a pad_value", fix=(f"pad_value={0.0 if dt.is_float(buffer.dtype) else 0}",),
        )  # fmt: skip


# The places to fill are known only for invertible maps.
def require_understood(buffer: Buffer, places: PaddedMap) -> None:
    if not places.inverse.params and _count(places.shape) != _count(buffer.shape):
        raise refuse(
            "bad-pad-value", f"the places of {buffer.name!r} without an element are unknown and cannot be filled", buffer,
            expected="an invertible map, or no pad_value",
        )  # fmt: skip


def _count(shape: Sequence[Expr]) -> str:
    total: Expr = build.const(1, "int64")
    for extent in shape:
        total = build.mul(total, build.cast(extent, "int64"))
    number = build.int_value(simplify(total))
    return "an unknown number of" if number is None else str(number)


# The pad value has the buffer's dtype and depends only on the place.
def pad_value_or_refuse(buffer: Buffer, shape: Sequence[Expr], pad_value: PadValue) -> IndexMap | None:
    """The value as a map of the new axes. A plain number gets the buffer's dtype if its kind fits."""
    if pad_value is None:
        return None
    if not isinstance(pad_value, IndexMap):
        axes = tuple(Var(f"axis{k}", e.dtype) for k, e in enumerate(shape))
        pad_value = IndexMap(axes, (_constant(pad_value, buffer),))
    if len(pad_value.indices) != 1 or len(pad_value.params) != len(shape):
        raise refuse(
            "bad-pad-value", f"the padding of {buffer.name!r} needs one value of {len(shape)} axes", buffer,
            found=f"{len(pad_value.indices)} values of {len(pad_value.params)} axes",
        )  # fmt: skip
    (value,) = pad_value.indices
    if value.dtype != buffer.dtype:
        raise refuse(
            "bad-pad-value", f"{buffer.name!r} has dtype {buffer.dtype}, its padding cannot be {value.dtype}", buffer,
            expected=f"a value of dtype {buffer.dtype}",
        )  # fmt: skip
    if any(isinstance(node, BufferLoad) for node in walk(value)):
        raise refuse(
            "bad-pad-value", f"the padding of {buffer.name!r} cannot be read from a buffer", buffer,
            expected="an expression over the new axes and sizes",
        )  # fmt: skip
    axes = tuple(Var(p.name, e.dtype) for p, e in zip(pad_value.params, shape, strict=True))
    return IndexMap(
        axes, pad_value.apply([build.cast(a, p.dtype) for a, p in zip(axes, pad_value.params, strict=True)])
    )


def _constant(value: int | float | Expr, buffer: Buffer) -> Expr:
    if isinstance(value, Expr):
        return value
    if not (
        dt.is_float(buffer.dtype) if isinstance(value, float) else dt.is_int(buffer.dtype) or buffer.dtype == "bool"
    ):
        return build.as_expr(value)
    if not isinstance(value, float) and not build.fits(value, buffer.dtype):
        low, high = dt.int_range(buffer.dtype)
        raise refuse(
            "bad-pad-value", f"{buffer.name!r} has dtype {buffer.dtype}, its padding cannot be {value}", buffer,
            expected=f"a number from {low} to {high}",
        )  # fmt: skip
    return build.const(value, buffer.dtype)


# A size that is known only from a parameter's shape must remain known from it.
def require_symbols_known(ctx: Context, old: Buffer, new: Buffer) -> None:
    if not ctx.index.is_param(old):
        return
    held = {handle for handle, _ in ctx.func.buffer_map}
    others = (b for b in ctx.func.buffers if b is not old)
    known = {p for p in ctx.func.params if p not in held}
    known |= {e for b in (*others, new) for e in b.shape if isinstance(e, Var)}
    lost = [e.name for e in old.shape if isinstance(e, Var) and e not in known]
    if lost:
        raise refuse(
            "symbol-lost", f"the value of {', '.join(lost)} is only known from the shape of {old.name!r}, which would change", old,
            expected="a size that also occurs in another parameter", fix=(f"a scalar parameter {lost[0]}",),
        )  # fmt: skip


# Strides from the outermost axis in memory inwards: each covers all axes inside of it.
def order_and_gaps(buffer: Buffer, strides: Sequence[int]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The order of the axes in memory, and the strides with gaps by position in that order."""
    sizes = [build.int_value(e) for e in buffer.shape]
    if len(strides) != len(sizes) or None in sizes or any(s < 1 for s in strides):
        raise refuse(
            "bad-layout", f"{list(strides)} is neither an order nor strides of the {len(sizes)} axes of {buffer.name!r}", buffer,
            expected="a permutation of 0, 1, …, or a positive stride for each axis of known extent",
        )  # fmt: skip
    order = sorted(range(len(sizes)), key=lambda k: (-strides[k], sizes[k] == 1, k))
    gaps: list[tuple[int, int]] = []
    span = 1
    for position in reversed(range(len(order))):
        axis = order[position]
        extent, stride = sizes[axis], strides[axis]
        assert extent is not None
        if stride < span or (position == len(order) - 1 and stride != 1):
            raise refuse(
                "bad-layout", f"strides {list(strides)} are too small for the axes of {buffer.name!r}",
                buffer, found=f"stride {stride} of axis {axis}", expected=f"{span}" if span == 1 else f"{span} or more",
            )  # fmt: skip
        if stride > span:
            gaps.append((position, stride))
        span = stride * extent
    return tuple(order), tuple(gaps)


def in_dtype(index_map: IndexMap, extents: Sequence[Expr]) -> IndexMap:
    """The map with variables and results of the extents' dtype. A map with another number of axes is returned unchanged."""
    dtypes = [e.dtype for e in extents]
    if len(dtypes) != len(index_map.params) or not dtypes:
        return index_map
    if all(p.dtype == d for p, d in zip(index_map.params, dtypes, strict=True)) and all(
        i.dtype == dtypes[0] for i in index_map.indices
    ):
        return index_map
    fresh = {p: Var(p.name, d) for p, d in zip(index_map.params, dtypes, strict=True)}

    def leave(node: Node) -> Node:
        if isinstance(node, Var):
            return fresh.get(node, node)
        return IntImm(node.value, dtypes[0]) if isinstance(node, IntImm) and node.dtype != "bool" else node

    return IndexMap(tuple(fresh.values()), tuple(rewrite(i, leave) for i in index_map.indices), index_map.separators)
