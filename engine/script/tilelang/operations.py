"""TileLang's tile operations: the loop nest and block that each of them means.

The meaning is that of TileLang 0.1.15 (`tilelang/language/*_op.py` and the lowering of each): a copy reads zeros outside of a buffer and
writes nothing there, `gemm` adds to its result, reductions combine a dimension.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ...arith import prove_equal
from ...ir import Annotations, Buffer, BufferLoad, BufferRegion, BufferStore, Expr, IntImm, Stmt, StringImm, build
from ...ir import dtype as dt
from ..reading.intrinsics import absolute, parameters
from ..reading.operators import bitwise
from .blocks import Axis, axes_of, axis, outside
from .names import ATOMIC, COPY, GEMM
from .regions import Tile, paired, read_tile

if TYPE_CHECKING:
    from .base import TileBase

ReadOperation: TypeAlias = "Callable[[TileBase, ast.Call], Stmt | None]"
Combine: TypeAlias = Callable[[Expr, Expr], Expr]
_IGNORED = (
    "annotations", "coalesced_width", "loop_layout", "disable_tma", "eviction_policy", "prefer_instruction", "memory_order", "batch",
    "nan_propagate", "return_prev", "policy", "k_pack", "wg_wait", "size", "use_tma", "barrier", "mbar", "prefer_async", "is_tcgen05",
)  # fmt: skip
"""Options that say how an operation is done, not what it means."""
_POLICIES = ("Square", "FullRow", "FullCol")
"""How `T.GemmWarpPolicy` divides a product among the warps."""


def arguments(reader: TileBase, node: ast.Call, names: Sequence[str], required: int) -> list[ast.expr | None]:
    """Return the arguments of an operation by name; options that do not change its meaning are left out."""
    kept = [k for k in node.keywords if k.arg in names or k.arg not in _IGNORED]
    call = ast.copy_location(ast.Call(node.func, node.args[: len(names)], kept), node)
    return parameters(reader.exprs, call, tuple(names), required)


def flag(reader: TileBase, node: ast.expr | None, *, default: bool) -> bool:
    if node is None:
        return default
    value = reader.exprs.require_known(reader.exprs.value(node), node)
    value = bool(value.value) if isinstance(value, IntImm) else value
    if isinstance(value, bool | int):
        return bool(value)
    raise reader.exprs.error(node, "unsupported", "this option must be a constant", expected="True or False")


# --- copies and fills


def _copy(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.copy(source, target)`: each element of the target is that of the source, converted to its type."""
    first, second = arguments(reader, node, ("src", "dst"), 2)
    assert first is not None and second is not None
    source, target = paired(reader.exprs, node, read_tile(reader.exprs, first), read_tile(reader.exprs, second))
    return _moved(
        reader,
        node,
        source,
        target,
        f"{target.buffer.name}_copy",
        None,
        notes=_in_bulk(reader, node, target, default=True),
    )


def _in_bulk(reader: TileBase, node: ast.Call, target: Tile, *, default: bool) -> Annotations:
    """Return the annotation of a copy that may be a bulk copy, which options forbid or demand."""
    given = {k.arg: k.value for k in node.keywords}
    wanted = given.get("prefer_instruction")
    is_bulk = flag(reader, given.get("use_tma"), default=default) and not flag(
        reader, given.get("disable_tma"), default=False
    )
    is_other = isinstance(wanted, ast.Constant) and wanted.value in ("sync", "cp_async")
    if not is_bulk or is_other:
        return ()
    is_switched = any("disable_tma_lower" in line.lower() for line in reader.source.owner(node).lines)
    return ((COPY, StringImm("by an option") if is_switched else target.shape),)


def _moved(
    reader: TileBase, node: ast.Call, source: Tile, target: Tile, name: str, combine: Callable[[Expr, Expr], Expr] | None,
    notes: Annotations = (),
) -> Stmt:  # fmt: skip
    """Store the elements of one tile in another, or combine them with those there."""
    axes, there = axes_of(target.shape)
    moving = [a.var for a in axes]
    here: list[Expr] = [
        build.const(0, extent.dtype) if build.is_const(extent, 1) else moving.pop(0) if moving else extent
        for extent in source.shape
    ]
    if moving or any(not build.is_const(e, 1) for e in source.shape[len(here) :]):
        raise reader.exprs.error(
            node, "wrong-arguments", "the operands have different numbers of axes", expected="equal extents"
        )
    ranges = reader.ranges(axes)
    read, written = moved_by(source.start, here), moved_by(target.start, there)
    value: Expr = BufferLoad(source.buffer, read)
    inside = outside(source.buffer, read, ranges)
    if inside:
        value = build.if_then_else(build.logical_and(*inside), value, reader.safe_value(source.buffer))
    return _stored(
        reader, name, target.buffer, written, value, axes, combine, outside(target.buffer, written, ranges), notes
    )


def moved_by(start: Sequence[Expr], position: Sequence[Expr]) -> tuple[Expr, ...]:
    return tuple(build.add(a, b) for a, b in zip(start, position, strict=True))


def _stored(
    reader: TileBase, name: str, buffer: Buffer, at: tuple[Expr, ...], value: Expr, axes: Sequence[Axis],
    combine: Callable[[Expr, Expr], Expr] | None = None, conditions: Sequence[Expr] = (), notes: Annotations = (),
) -> Stmt:  # fmt: skip
    value = build.cast(value, buffer.dtype)
    if combine is not None:
        value = combine(BufferLoad(buffer, at), value)
    is_scalar = combine is not None and not axes
    return reader.block(
        name,
        axes,
        BufferStore(buffer, value, at),
        conditions=conditions,
        sums=combine is not None,
        each=is_scalar,
        notes=notes,
    )


def _im2col(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.im2col(image, columns, m, k, kernel, stride, dilation, pad)`: tile (m, k) of the matrix of patches of an NHWC image."""
    names = ("img", "col", "nhw_step", "c_step", "kernel", "stride", "dilation", "pad")
    first, second, *rest = arguments(reader, node, names, len(names))
    image, columns = whole(reader, first), whole(reader, second)
    m, k, kernel, stride, dilation, pad = (reader.exprs.index(part) for part in rest if part is not None)
    if len(image.shape) != 4 or len(columns.shape) < 2:
        raise reader.exprs.error(
            node, "wrong-arguments", "im2col needs an NHWC image and a matrix", expected="four axes, and two"
        )
    _, height, width, channels = image.shape

    def places(extent: Expr) -> Expr:
        covered = build.sub(
            build.add(extent, build.mul(2, pad)), build.add(build.mul(dilation, build.sub(kernel, 1)), 1)
        )
        return build.add(build.floordiv(covered, stride), 1)

    axes, there = axes_of(columns.shape)
    row = build.add(build.mul(m, columns.shape[-2]), there[-2])
    column = build.add(build.mul(k, columns.shape[-1]), there[-1])
    rows, lines = places(height), places(width)
    inside_image = build.floormod(row, build.mul(rows, lines))
    y, x = build.floordiv(inside_image, lines), build.floormod(row, lines)
    tap = build.floordiv(column, channels)

    def moved(at: Expr, by: Expr) -> Expr:
        return build.sub(build.add(build.mul(at, stride), build.mul(by, dilation)), pad)

    at = (build.floordiv(row, build.mul(rows, lines)), moved(y, build.floordiv(tap, kernel)), moved(x, build.floormod(tap, kernel)),
          build.floormod(column, channels))  # fmt: skip
    value: Expr = BufferLoad(image.buffer, moved_by(image.start, at))
    ranges = reader.ranges(axes)
    inside = outside(image.buffer, at, ranges)
    if inside:
        value = build.if_then_else(build.logical_and(*inside), value, build.const(0, image.buffer.dtype))
    written = moved_by(columns.start, there)
    return _stored(reader, f"{columns.buffer.name}_im2col", columns.buffer, written, value, axes)


def _fill(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.fill(tile, value)`, `T.clear(tile)`."""
    is_clear = (reader.exprs.called(node) or "").endswith("clear")
    first, second = (
        arguments(reader, node, ("buffer",) if is_clear else ("buffer", "value"), 1 if is_clear else 2)
        + [None] * is_clear
    )
    assert first is not None
    target = read_tile(reader.exprs, first)
    if target.extents is None:
        target = target.with_extents([IntImm(1)] * len(target.start))
    value = build.const(0, target.buffer.dtype) if second is None else reader.exprs.expr(second)
    axes, there = axes_of(target.shape)
    at = moved_by(target.start, there)
    kept = outside(target.buffer, at, reader.ranges(axes))
    return _stored(reader, f"{target.buffer.name}_fill", target.buffer, at, value, axes, conditions=kept)


def _atomic(combine: Callable[[Expr, Expr], Expr]) -> ReadOperation:
    """Return a reader of `T.atomic_add(target, value)`: one update after the other, in any order."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        first, second = arguments(reader, node, ("dst", "value"), 2)
        assert first is not None and second is not None
        if (reader.exprs.called(node) or "").startswith("T.atomic") and "_" not in (reader.exprs.called(node) or ""):
            first, second = second, first  # the printed form has the source first
        target = read_tile(reader.exprs, first)
        is_region = reader.exprs.called(second) == "T.region"
        value = None if is_region else reader.exprs.value(second)
        name = f"{target.buffer.name}_update"
        if (
            not is_region
            and target.extents is None
            and not isinstance(value, Buffer | BufferRegion)
            and not _has_slices(second)
        ):
            kept = outside(target.buffer, target.start, reader.ranges())
            return _stored(
                reader,
                name,
                target.buffer,
                target.start,
                reader.exprs.as_expr(value, second),
                (),
                combine,
                kept,
                ATOMICALLY,
            )
        source, target = paired(reader.exprs, node, read_tile(reader.exprs, second), target)
        return _moved(reader, node, source, target, name, combine,
                      (*ATOMICALLY, *_in_bulk(reader, node, target, default=False)))  # fmt: skip

    return read


ATOMICALLY: Annotations = ((ATOMIC, IntImm(1)),)
"""The annotation of an atomic update."""
_UPDATES: Mapping[str, Combine] = {"add": build.add, "max": build.maximum, "min": build.minimum}


def update_before(reader: TileBase, node: ast.Call) -> tuple[BufferLoad, Expr, list[Expr]]:
    """Read `T.atomic_add(A[i], value, return_prev=True)`: the element, its new value, and the conditions under which it is there."""
    function = (reader.exprs.called(node) or "").removeprefix("T.atomic_").partition("_")[0]
    first, second = arguments(reader, node, ("dst", "value"), 2)
    assert first is not None and second is not None
    target = read_tile(reader.exprs, first)
    if function not in _UPDATES or (
        target.extents is not None and not all(build.is_const(e, 1) for e in target.extents)
    ):
        raise reader.exprs.error(
            node, "unsupported", "this update gives no value", expected="T.atomic_add(A[i], value, return_prev=True)"
        )
    element = BufferLoad(target.buffer, target.start)
    value = _UPDATES[function](element, build.cast(reader.exprs.expr(second), target.buffer.dtype))
    return element, value, outside(target.buffer, target.start, reader.ranges())


def _has_slices(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))


# --- products


def _gemm(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum)`: C += A @ B in the type of C.

    The printed form has the sizes after the flags.
    """
    printed = len(node.args) > 7
    names = ("A", "B", "C", "transpose_A", "transpose_B", "M", "N", "K", "policy", "clear_accum") if printed else (
        "A", "B", "C", "transpose_A", "transpose_B", "policy", "clear_accum", "mbar")  # fmt: skip
    found: dict[str, ast.expr | None] = dict(zip(names, arguments(reader, node, names, 3), strict=True))
    operands = [whole(reader, found[name]) for name in "ABC"]
    turned = [flag(reader, found[f"transpose_{name}"], default=False) for name in "AB"]
    rows, columns = operands[2].shape[-2:]
    depth = operands[0].shape[-2 if turned[0] else -1]
    policy = IntImm(_policy(reader, found.get("policy")))
    notes: Annotations = ((GEMM, (rows, columns, depth, *(IntImm(int(t)) for t in turned), policy)),)
    return product(reader, node, operands, turned, found.get("clear_accum"), notes)


def _policy(reader: TileBase, node: ast.expr | None) -> int:
    """Return the number of a `T.GemmWarpPolicy`, -1 for one that is not known."""
    match node:
        case None:
            return 0
        case ast.Attribute(attr=name) if name in _POLICIES:
            return _POLICIES.index(name)
        case ast.Constant(value=int(number)):
            return number
        case _:
            return -1


def product(
    reader: TileBase,
    node: ast.Call,
    operands: Sequence[Tile],
    turned: Sequence[bool],
    cleared: ast.expr | None,
    notes: Annotations = (),
) -> Stmt:
    """Return the product that adds to its result, which is zero before if it is `cleared`; `turned` operands are transposed."""
    left, right, result = matrices(reader, node, operands)
    rows, columns = result.shape[-2:]
    depth = left.shape[-2] if turned[0] else left.shape[-1]
    sizes = ((left.shape[-1] if turned[0] else left.shape[-2], rows), (right.shape[-2] if turned[1] else right.shape[-1], columns),
             (right.shape[-1] if turned[1] else right.shape[-2], depth))  # fmt: skip
    if not all(prove_equal(a, b) for a, b in sizes):
        shapes = ", ".join(f"{t.buffer.name} {_shown(t.shape)}" for t in operands)
        raise reader.exprs.error(node, "wrong-arguments", f"the matrices of the product do not match: {shapes}",
                                 expected="(M, K), (K, N) and (M, N), or transposed")  # fmt: skip
    i, j, k = axis("i", rows), axis("j", columns), axis("k", depth, "reduce")
    at = _at(result, i.var, j.var)
    dtype = result.buffer.dtype
    factors = build.mul(build.cast(BufferLoad(left.buffer, _at(left, *_turned(i.var, k.var, turned[0]))), dtype),
                        build.cast(BufferLoad(right.buffer, _at(right, *_turned(k.var, j.var, turned[1]))), dtype))  # fmt: skip
    store = BufferStore(result.buffer, build.add(BufferLoad(result.buffer, at), factors), at)
    made = reader.block("gemm", (i, j, k), store, sums=True, notes=notes)
    if cleared is None:
        return made
    axes, there = axes_of(result.shape)
    zero = BufferStore(result.buffer, build.const(0, dtype), moved_by(result.start, there))
    return build.seq([*reader.when(cleared, lambda: reader.block(f"{result.buffer.name}_fill", axes, zero)), made])


def matrices(reader: TileBase, node: ast.Call, tiles: Sequence[Tile]) -> Sequence[Tile]:
    """Return operands whose last two axes alone have several elements."""
    for tile in tiles:
        if len(tile.shape) < 2 or any(not build.is_const(e, 1) for e in tile.shape[:-2]):
            raise reader.exprs.error(node, "wrong-arguments", f"{tile.buffer.name} has {len(tile.shape)} axes and is no matrix",
                                     expected="two axes with more than one element")  # fmt: skip
    return tiles


def whole(reader: TileBase, node: ast.expr | None) -> Tile:
    """Return an operand that must have extents; one element of a buffer with a single row is that row."""
    assert node is not None
    tile = read_tile(reader.exprs, node)
    if tile.extents is None:
        raise reader.exprs.error(
            node,
            "wrong-arguments",
            "one element is no operand of this operation",
            expected="a buffer, or slices of one",
        )
    return tile


def _shown(shape: Sequence[Expr]) -> str:
    known = [build.int_value(extent) for extent in shape]
    return f"({', '.join('?' if extent is None else str(extent) for extent in known)})"


def _turned(a: Expr, b: Expr, is_turned: bool) -> tuple[Expr, Expr]:
    return (b, a) if is_turned else (a, b)


def _at(tile: Tile, row: Expr, column: Expr) -> tuple[Expr, ...]:
    """Return the index of an element of a matrix in the last two axes."""
    return (*tile.start[:-2], build.add(tile.start[-2], row), build.add(tile.start[-1], column))


# --- reductions and scans


def _least(dtype: str) -> Expr:
    """Return the smallest value of a type."""
    if dt.is_float(dtype):
        return build.const(float("-inf"), dtype)
    return build.const(0 if dtype.startswith("uint") or dtype == "bool" else -(2 ** (dt.bits(dtype) - 1)), dtype)


def _greatest(dtype: str) -> Expr:
    """Return the largest value of a type."""
    if dt.is_float(dtype):
        return build.const(float("inf"), dtype)
    unsigned = dtype.startswith("uint")
    return build.const(1 if dtype == "bool" else 2 ** (dt.bits(dtype) - (not unsigned)) - 1, dtype)


def _zero(dtype: str) -> Expr:
    return build.const(0, dtype)


def _ones(dtype: str) -> Expr:
    return build.const(-1 if dtype.startswith("int") else 2 ** dt.bits(dtype) - 1, dtype)


def _bits(op: str) -> Combine:
    return lambda a, b: bitwise(op, a, b)


KINDS: Mapping[str, tuple[Combine, Callable[[str], Expr], bool]] = {
    "sum": (build.add, _zero, False),
    "max": (build.maximum, _least, False),
    "min": (build.minimum, _greatest, False),
    "abssum": (build.add, _zero, True),
    "absmax": (build.maximum, _zero, True),
    "bitand": (_bits("bitwise_and"), _ones, False),
    "bitor": (_bits("bitwise_or"), _zero, False),
    "bitxor": (_bits("bitwise_xor"), _zero, False),
}
"""For each reduction how it combines two values, its first value for a type, and whether it takes absolute values."""


def _reduction(kind: str | None) -> ReadOperation:
    """Return a reader of `T.reduce_max(source, result, dim, clear)`, or of `T.reduce(source, result, "max", dim, clear)`."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        names = (
            ("buffer", "out", "dim", "clear") if kind is not None else ("buffer", "out", "reduce_type", "dim", "clear")
        )
        given = dict(zip(names, arguments(reader, node, names, 2 if kind is not None else 4), strict=True))
        source, result = whole(reader, given["buffer"]), whole(reader, given["out"])
        named = given.get("reduce_type")
        what = kind or (reader.exprs.string(named) if named is not None else "")
        if what not in KINDS:
            raise reader.exprs.error(
                node, "unsupported", f"the reduction {what!r} is not supported", expected=", ".join(KINDS)
            )
        dim = _dimension(reader, node, given["dim"], len(source.shape), default=-1)
        clear = flag(reader, given["clear"], default=True)
        return _reduced(reader, node, source, result, what, dim, clear=clear)

    return read


def _dimension(reader: TileBase, node: ast.Call, given: ast.expr | None, rank: int, *, default: int) -> int:
    dim = default if given is None else reader.exprs.constant_int(given)
    if not -rank <= dim < rank:
        raise reader.exprs.error(
            given or node, "out-of-range", f"there is no axis {dim}", expected=f"-{rank} to {rank - 1}"
        )
    return dim % rank


def _reduced(reader: TileBase, node: ast.Call, source: Tile, result: Tile, kind: str, dim: int, *, clear: bool) -> Stmt:
    combine, first, is_absolute = KINDS[kind]
    axes = [axis(f"i{n}", e, "reduce" if n == dim else "spatial") for n, e in enumerate(source.shape)]
    kept = [a for n, a in enumerate(axes) if n != dim]
    position: list[Expr] = [a.var for a in kept]
    if len(result.shape) == len(axes) and build.is_const(result.shape[dim], 1):
        position.insert(dim, IntImm(0))
    if len(position) != len(result.shape) and len(kept) == 1 and build.is_const(kept[0].extent, 1):
        position = [IntImm(0)] * len(result.shape)
    fixed = [extent for extent, at in zip(result.shape, position, strict=False) if not isinstance(at, IntImm)]
    if len(position) != len(result.shape) or not all(
        prove_equal(a.extent, e) for a, e in zip(kept, fixed, strict=False)
    ):
        shapes = (
            f"{source.buffer.name} {_shown(source.shape)} along axis {dim}, {result.buffer.name} {_shown(result.shape)}"
        )
        raise reader.exprs.error(node, "wrong-arguments", f"the shapes of the reduction do not match: {shapes}",
                                 expected="a result with the source's shape without that axis")  # fmt: skip
    at = moved_by(result.start, position)
    value: Expr = build.cast(
        BufferLoad(source.buffer, moved_by(source.start, [a.var for a in axes])), result.buffer.dtype
    )
    value = absolute(value) if is_absolute else value
    name = f"{result.buffer.name}_{kind}"
    update = BufferStore(result.buffer, combine(BufferLoad(result.buffer, at), value), at)
    made = reader.block(name, axes, update, sums=True)
    if not clear:
        return made
    start = BufferStore(result.buffer, first(result.buffer.dtype), at)
    return build.seq([reader.block(f"{name}_init", kept, start), made])


def _cumsum(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.cumsum(source, result, dim, reverse)`: in place without a result."""
    first, second, dim_node, reverse = arguments(reader, node, ("src", "dst", "dim", "reverse"), 1)
    source = whole(reader, first)
    result = source if second is None else whole(reader, second)
    dim = _dimension(reader, node, dim_node, len(source.shape), default=0)
    backward = flag(reader, reverse, default=False)
    axes = [axis(f"i{n}", e) for n, e in enumerate(source.shape)]
    rest = [*axes[:dim], *axes[dim + 1 :]]
    extent = axes[dim].extent

    def at(tile: Tile, step: Expr) -> tuple[Expr, ...]:
        along = build.sub(build.sub(extent, IntImm(1)), step) if backward else step
        return moved_by(tile.start, [along if n == dim else a.var for n, a in enumerate(axes)])

    zero = build.const(0, extent.dtype)
    name, dtype = f"{result.buffer.name}_cumsum", result.buffer.dtype
    begin = BufferStore(result.buffer, build.cast(BufferLoad(source.buffer, at(source, zero)), dtype), at(result, zero))
    step = axis(f"i{dim}", build.sub(extent, build.const(1, extent.dtype)), "scan")
    here, before = build.add(step.var, build.const(1, extent.dtype)), step.var
    total = build.add(
        BufferLoad(result.buffer, at(result, before)), build.cast(BufferLoad(source.buffer, at(source, here)), dtype)
    )
    going = BufferStore(result.buffer, total, at(result, here))
    return build.seq(
        [reader.block(f"{name}_first", rest, begin), reader.block(name, [*rest[:dim], step, *rest[dim:]], going)]
    )


# --- reducers


def _reducer(reader: TileBase, node: ast.expr) -> tuple[Tile, str]:
    tile = read_tile(reader.exprs, node)
    kind = reader.reducers.get(tile.buffer)
    if kind is None or kind not in KINDS:
        raise reader.exprs.error(
            node, "wrong-type", f"{tile.buffer.name} is no reducer", expected='a buffer of T.alloc_reducer(…, op="sum")'
        )
    return tile, kind


def _reducer_init(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.reducer_init(acc, value)`."""
    first, second = arguments(reader, node, ("reducer", "init"), 1)
    assert first is not None
    tile, kind = _reducer(reader, first)
    value = KINDS[kind][1](tile.buffer.dtype) if second is None else reader.exprs.expr(second)
    axes, there = axes_of(tile.shape)
    return _stored(reader, f"{tile.buffer.name}_fill", tile.buffer, moved_by(tile.start, there), value, axes)


def _reducer_update(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.reducer_update(acc[i], value)`."""
    first, second = arguments(reader, node, ("target", "value"), 2)
    assert first is not None and second is not None
    tile, kind = _reducer(reader, first)
    combine, _, is_absolute = KINDS[kind]
    value = build.cast(reader.exprs.expr(second), tile.buffer.dtype)
    return _stored(
        reader, tile.buffer.name, tile.buffer, tile.start, absolute(value) if is_absolute else value, (), combine
    )


def _finalize(reader: TileBase, node: ast.Call) -> Stmt | None:
    """`T.finalize_reducer(acc, result)`: combines the parts of the threads, which are one value here, and stores it."""
    first, second = arguments(reader, node, ("reducer", "dst"), 1)
    assert first is not None
    tile, _ = _reducer(reader, first)
    if second is None:
        return None
    source, target = paired(reader.exprs, node, tile, read_tile(reader.exprs, second))
    return _moved(reader, node, source, target, f"{target.buffer.name}_copy", None)


OPERATIONS: Mapping[str, ReadOperation] = {
    **dict.fromkeys(("copy", "async_copy", "tma_copy"), _copy),
    **dict.fromkeys(("im2col", "c2d_im2col"), _im2col),
    **dict.fromkeys(("fill", "clear"), _fill),
    **dict.fromkeys(("gemm", "gemm_v1", "gemm_v2", "wgmma_gemm", "tcgen05_gemm"), _gemm),
    **{f"reduce_{kind}": _reduction(kind) for kind in KINDS},
    "reduce": _reduction(None),
    "cumsum": _cumsum,
    "reducer_init": _reducer_init,
    "reducer_update": _reducer_update,
    "finalize_reducer": _finalize,
    **dict.fromkeys(("atomic_add", "atomicadd", "atomic_addx2", "atomic_addx4", "atomic_add_elem_op"), _atomic(build.add)),
    **dict.fromkeys(("atomic_max", "atomicmax", "atomic_max_elem_op"), _atomic(build.maximum)),
    **dict.fromkeys(("atomic_min", "atomicmin", "atomic_min_elem_op"), _atomic(build.minimum)),
}  # fmt: skip
"""Readers of tile operations by name."""

__all__ = [
    "ATOMICALLY",
    "KINDS",
    "OPERATIONS",
    "ReadOperation",
    "arguments",
    "flag",
    "matrices",
    "moved_by",
    "product",
    "update_before",
    "whole",
]
