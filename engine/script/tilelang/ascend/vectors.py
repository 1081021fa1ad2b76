"""Operations of a vector core that are not elementwise: masks, gathers, transposes, broadcasts and reductions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ....arith import prove_equal, simplify
from ....ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    IntImm,
    Stmt,
    build,
)
from ....ir import dtype as dt
from ...reading.intrinsics import absolute
from ...reading.operators import bitwise
from ..blocks import axes_of, axis
from ..operations import KINDS, ReadOperation, arguments, flag, matrices, moved_by, whole
from ..regions import Tile
from .runs import (
    count_of,
    element,
    elementwise,
    is_tile,
    moving,
    name_of,
    require_apart,
    require_same_size,
    run,
    scalar,
)

if TYPE_CHECKING:
    from ..base import TileBase

# --- values, masks and gathers


def _fill(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.fill(tile, value)`, `T.tile.clear(tile)`."""
    is_clear = name_of(reader, node) == "clear"
    first, second = (
        [*arguments(reader, node, ("buffer",), 1), None]
        if is_clear
        else arguments(reader, node, ("buffer", "value"), 2)
    )
    target = run(reader, first)
    value = build.const(0, target.buffer.dtype) if second is None else _one_value(reader, second)
    return elementwise(reader, node, target, [], lambda _: value, f"{target.buffer.name}_fill")


def _one_value(reader: TileBase, node: ast.expr) -> Expr:
    """Return an operand that is one value: a buffer with a single element is that element."""
    value = reader.exprs.value(node)
    if isinstance(value, Buffer) and all(build.is_const(extent, 1) for extent in value.shape):
        return BufferLoad(value, tuple(build.const(0, extent.dtype) for extent in value.shape))
    return reader.exprs.as_expr(value, node)


def _index(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.createvecindex(target, first)`, `T.tile.arith_progression(target, first, step, count)`."""
    first, start, step, count = arguments(reader, node, ("buffer", "first_value", "diff_value", "count"), 1) if len(node.args) > 2 else [
        *arguments(reader, node, ("dst", "firstValue"), 2), None, None]  # fmt: skip
    assert start is not None
    target = run(reader, first)
    dtype = target.buffer.dtype
    size = count_of(target.shape) if count is None else reader.exprs.index(count)
    i = axis("i", size)
    by = build.const(1, dtype) if step is None else scalar(reader, step, dtype)
    value = build.add(scalar(reader, start, dtype), build.mul(build.cast(i.var, dtype), by))
    store = BufferStore(target.buffer, value, element(target, [i.var], [size]))
    return reader.block(f"{target.buffer.name}_index", [i], store)


_COMPARISONS = {"EQ": EQ, "NE": NE, "GT": GT, "GE": GE, "LT": LT, "LE": LE}


def _compare(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.compare(mask, a, b, mode)`: one bit for each element, the first in the lowest bit."""
    first, second, third, mode_node = arguments(reader, node, ("dst", "src0", "src1", "mode"), 4)
    assert third is not None and mode_node is not None
    target, left, mode = run(reader, first), run(reader, second), reader.exprs.string(mode_node)
    right = run(reader, third) if is_tile(reader, third) else scalar(reader, third, left.buffer.dtype)
    dtype = target.buffer.dtype
    size, bits = count_of(left.shape), dt.bits(dtype)
    if mode not in _COMPARISONS or dt.is_float(dtype) or not prove_equal(build.floormod(size, IntImm(bits)), IntImm(0)):
        raise reader.exprs.error(
            node, "unsupported", "this comparison is not supported", expected=f"a multiple of {bits} elements"
        )
    words = build.floordiv(size, IntImm(bits))
    word = axis("word", words)
    total: Expr = build.const(0, dtype)
    for bit in range(bits):
        here = [build.add(build.mul(word.var, IntImm(bits)), IntImm(bit))]
        a = BufferLoad(left.buffer, element(left, here, [size]))
        b = BufferLoad(right.buffer, element(right, here, [size])) if isinstance(right, Tile) else right
        one = build.const(1 << bit if bit < bits - 1 or dtype.startswith("u") else -(1 << bit), dtype)
        total = build.add(total, build.select(build.compare(_COMPARISONS[mode], a, b), one, build.const(0, dtype)))
    store = BufferStore(target.buffer, total, element(target, [word.var], [words]))
    return reader.block(f"{target.buffer.name}_compare", [word], store)


def _select(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.select(target, mask, a, b, mode)`: a where the element's bit of the mask is set, else b."""
    first, mask_node, second, third, _ = arguments(reader, node, ("dst", "selMask", "src0", "src1", "selMode"), 5)
    assert third is not None
    target, mask, left = run(reader, first), run(reader, mask_node), run(reader, second)
    require_same_size(reader, node, [target, left])
    axes, extents = axes_of(moving(target))[0], moving(target)
    position = [a.var for a in axes]
    place: Expr = IntImm(0)
    for index, extent in zip(position, extents, strict=True):
        place = build.add(build.mul(place, extent), index)
    dtype = mask.buffer.dtype
    bits, size = dt.bits(dtype), count_of(mask.shape)
    word = BufferLoad(mask.buffer, element(mask, [simplify(build.floordiv(place, IntImm(bits)))], [size]))
    bit = bitwise(
        "bitwise_and",
        bitwise("shift_right", word, build.cast(build.floormod(place, IntImm(bits)), dtype)),
        build.const(1, dtype),
    )
    a = BufferLoad(left.buffer, element(left, position, extents))
    if is_tile(reader, third):
        right = run(reader, third)
        b: Expr = BufferLoad(right.buffer, element(right, position, extents))
    else:
        b = scalar(reader, third, left.buffer.dtype)
    value = build.select(build.compare(NE, bit, build.const(0, dtype)), a, b)
    return reader.block(
        f"{target.buffer.name}_select", axes, BufferStore(target.buffer, value, element(target, position, extents))
    )


def _gather(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.gather(target, source, offsets, base)`: elements at distances in bytes."""
    first, second, third, base = arguments(reader, node, ("dst", "src", "src_offset", "src_base_addr"), 4)
    assert base is not None
    target, source, offsets = run(reader, first), run(reader, second), run(reader, third)
    require_apart(reader, node, target, [source, offsets])
    i = axis("i", simplify(build.minimum(count_of(target.shape), count_of(offsets.shape))))
    offset = build.cast(BufferLoad(offsets.buffer, element(offsets, [i.var], [count_of(offsets.shape)])), "int32")
    place = build.floordiv(
        build.add(offset, build.cast(reader.exprs.expr(base), "int32")), IntImm(dt.bits(source.buffer.dtype) // 8)
    )
    value = BufferLoad(source.buffer, element(source, [place], [count_of(source.shape)]))
    store = BufferStore(
        target.buffer, build.cast(value, target.buffer.dtype), element(target, [i.var], [count_of(target.shape)])
    )
    return reader.block(f"{target.buffer.name}_gather", [i], store)


def _transpose(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.transpose(target, source)`."""
    first, second = arguments(reader, node, ("dst", "src"), 2)
    (target, source) = matrices(reader, node, [whole(reader, first), whole(reader, second)])
    require_apart(reader, node, target, [source])
    i, j = axis("i", target.shape[-2]), axis("j", target.shape[-1])
    if not prove_equal(i.extent, source.shape[-1]) or not prove_equal(j.extent, source.shape[-2]):
        raise reader.exprs.error(
            node, "wrong-arguments", "the shapes of the transpose do not match", expected="(N, M) for (M, N)"
        )
    value = BufferLoad(source.buffer, moved_by(source.start, [*(IntImm(0) for _ in source.shape[2:]), j.var, i.var]))
    at = moved_by(target.start, [*(IntImm(0) for _ in target.shape[2:]), i.var, j.var])
    return reader.block(
        f"{target.buffer.name}_transpose",
        [i, j],
        BufferStore(target.buffer, build.cast(value, target.buffer.dtype), at),
    )


def _broadcast(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.broadcast(target, source, axis)`: copies along an axis in which the source has one element."""
    first, second, axis_node = arguments(reader, node, ("dst", "src", "axis"), 2)
    target, source = run(reader, first), run(reader, second)
    require_apart(reader, node, target, [source])
    shape, own = list(target.shape[-2:]), list(source.shape[-2:])
    along = None if axis_node is None else reader.exprs.constant_int(axis_node)
    if len(own) == 1 and len(shape) == 2:
        if along is None:
            along = 0 if prove_equal(shape[1], own[0]) else 1
        own = [IntImm(1), own[0]] if along == 0 else [own[0], IntImm(1)]
    fits = len(own) == len(shape) and all(
        build.is_const(a, 1) or prove_equal(a, b) for a, b in zip(own, shape, strict=True)
    )
    leading = [*target.shape[:-2], *source.shape[:-2]]
    if not fits or not all(build.is_const(extent, 1) for extent in leading):
        raise reader.exprs.error(node, "wrong-arguments", "the shapes of the broadcast do not match",
                                 expected="one element, or as many as the target, along each axis")  # fmt: skip
    axes, there = axes_of(shape)
    here = [IntImm(0) if build.is_const(extent, 1) else at for extent, at in zip(own, there, strict=True)]
    flat = [at for at, extent in zip(here, own, strict=True) if not build.is_const(extent, 1)]
    value = BufferLoad(
        source.buffer, element(source, flat, [extent for extent in own if not build.is_const(extent, 1)])
    )
    at = moved_by(target.start, [*(IntImm(0) for _ in target.shape[:-2]), *there])
    return reader.block(
        f"{target.buffer.name}_broadcast", axes, BufferStore(target.buffer, build.cast(value, target.buffer.dtype), at)
    )


def _row_expand(make: Callable[[Expr, Expr], Expr]) -> ReadOperation:
    """`T.tile.row_expand_mul(target, a, b)`: each row of a with one element of b."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        first, second, third, _ = arguments(reader, node, ("dst", "src0", "src1", "tmp"), 3)
        target, left, right = (run(reader, part) for part in (first, second, third))
        require_same_size(reader, node, [target, left])
        columns = target.shape[-1]
        rows = count_of(target.shape[:-1])
        if not prove_equal(count_of(right.shape), rows):
            raise reader.exprs.error(node, "wrong-arguments", f"{right.buffer.name} does not have one element for each row",
                                     expected="as many elements as rows")  # fmt: skip
        i, j = axis("i", rows), axis("j", columns)
        a = BufferLoad(left.buffer, element(left, [i.var, j.var], [rows, columns]))
        b = BufferLoad(right.buffer, element(right, [i.var], [rows]))
        store = BufferStore(target.buffer, make(a, b), element(target, [i.var, j.var], [rows, columns]))
        return reader.block(f"{target.buffer.name}_{name_of(reader, node)}", [i, j], store)

    return read


# --- reductions


def _reduction(kind: str) -> ReadOperation:
    """`T.reduce_max(source, result, dim, clear, real_shape)`: rows or columns of the last two axes, of the part of `real_shape`."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        positional = [a for a in node.args[3:] if not isinstance(a, ast.List | ast.Tuple)]
        listed = [a for a in node.args[3:] if isinstance(a, ast.List | ast.Tuple)]
        named = {k.arg: k.value for k in node.keywords}
        args = dict(zip(("buffer", "out", "dim"), node.args, strict=False))
        source, result = (
            run(reader, args.get("buffer", named.get("buffer"))),
            run(reader, args.get("out", named.get("out"))),
        )
        dim_node, clear_node = args.get("dim", named.get("dim")), (positional or [named.get("clear")])[0]
        real = (listed or [named.get("real_shape")])[0]
        shape = list(source.shape[-2:])
        if real is not None:
            sizes = reader.exprs.require_known(reader.exprs.value(real), real)
            assert isinstance(sizes, tuple | list)
            shape = [
                own if size == 0 else reader.exprs.as_expr(size, real) for own, size in zip(shape, sizes, strict=True)
            ]
        rank = len(shape)
        dim = (-1 if dim_node is None else reader.exprs.constant_int(dim_node)) % rank
        if not all(build.is_const(extent, 1) for extent in source.shape[:-2]):
            raise reader.exprs.error(
                node, "unsupported", "a reduction of more than two axes is not supported", expected="two axes"
            )
        require_apart(reader, node, result, [source])
        combine, first, is_absolute = KINDS[kind]
        axes = [axis(f"i{n}", e, "reduce" if n == dim else "spatial") for n, e in enumerate(shape)]
        kept = [a for n, a in enumerate(axes) if n != dim]
        extents = [a.extent for a in kept]
        size = count_of(extents)
        if real is None and not prove_equal(size, count_of(result.shape)):
            raise reader.exprs.error(node, "wrong-arguments", f"{result.buffer.name} does not have one element for each result",
                                     expected="the source's shape without that axis")  # fmt: skip
        room = count_of(result.shape)
        at = (
            element(result, [a.var for a in kept], extents)
            if real is None
            else element(result, [a.var for a in kept], [room][: len(kept)])
        )
        load = BufferLoad(
            source.buffer, moved_by(source.start, [*(IntImm(0) for _ in source.shape[:-2]), *(a.var for a in axes)])
        )
        value = build.cast(load, result.buffer.dtype)
        value = absolute(value) if is_absolute else value
        name = f"{result.buffer.name}_{kind}"
        update = BufferStore(result.buffer, combine(BufferLoad(result.buffer, at), value), at)
        made = reader.block(name, axes, update, sums=True)
        if not flag(reader, clear_node, default=True):
            return made
        start = BufferStore(result.buffer, first(result.buffer.dtype), at)
        return build.seq([reader.block(f"{name}_init", kept, start), made])

    return read


VECTOR: Mapping[str, ReadOperation] = {
    **{f"reduce_{kind}": _reduction(kind) for kind in ("sum", "max", "min")},
    **dict.fromkeys(("tile.fill", "tile.clear", "fill", "clear"), _fill),
    **dict.fromkeys(("tile.createvecindex", "tile.arith_progression"), _index),
    "tile.compare": _compare,
    "tile.select": _select,
    "tile.gather": _gather,
    "tile.transpose": _transpose,
    "tile.broadcast": _broadcast,
    **dict.fromkeys(("tile.row_expand_mul", "tile.row_expand_mul_experiment"), _row_expand(build.mul)),
    "tile.row_expand_sub_experiment": _row_expand(build.sub),
    "tile.row_expand_div_experiment": _row_expand(build.div),
}  # fmt: skip

__all__ = ["VECTOR"]
