"""Operations on each element of a run: arithmetic, functions, casts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ....ir import (
    Call,
    Expr,
    Stmt,
    build,
)
from ....ir import dtype as dt
from ...reading.intrinsics import absolute
from ...reading.operators import bitwise
from ..operations import ReadOperation, arguments
from .runs import elementwise, is_tile, name_of, run, scalar

if TYPE_CHECKING:
    from ..base import TileBase


def _binary(make: Callable[[Expr, Expr], Expr]) -> ReadOperation:
    """`T.tile.add(target, a, b)`: b is a tile or one value."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        first, second, third = arguments(reader, node, ("dst", "src0", "src1"), 3)
        assert first is not None and third is not None
        target, left = run(reader, first), run(reader, second)
        name = f"{target.buffer.name}_{name_of(reader, node)}"
        if is_tile(reader, third):
            return elementwise(reader, node, target, [left, run(reader, third)], lambda v: make(v[0], v[1]), name)
        value = scalar(reader, third, left.buffer.dtype)
        return elementwise(reader, node, target, [left], lambda v: make(v[0], value), name)

    return read


def _unary(make: Callable[[Expr], Expr]) -> ReadOperation:
    """`T.tile.exp(target, source)`."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        first, second = node.args[:2] if len(node.args) == 2 else arguments(reader, node, ("dst", "src0"), 2)
        target, source = run(reader, first), run(reader, second)
        return elementwise(
            reader, node, target, [source], lambda v: make(v[0]), f"{target.buffer.name}_{name_of(reader, node)}"
        )

    return read


def _function(op: str) -> ReadOperation:
    return _unary(lambda x: Call(op, (x,), x.dtype))


def _sigmoid(x: Expr) -> Expr:
    one = build.const(1, x.dtype)
    return build.div(one, build.add(one, Call("exp", (build.sub(build.const(0, x.dtype), x),), x.dtype)))


def _with_scalar(make: Callable[[Expr, Expr], Expr]) -> ReadOperation:
    """`T.tile.leaky_relu(target, source, value)`, and with a count."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        first, second, third, count = arguments(reader, node, ("dst", "src0", "scalar_value", "count"), 3)
        assert third is not None
        target, source = run(reader, first), run(reader, second)
        value = scalar(reader, third, source.buffer.dtype)
        name = f"{target.buffer.name}_{name_of(reader, node)}"
        return elementwise(reader, node, target, [source], lambda v: make(v[0], value), name, count)

    return read


def _leaky(x: Expr, slope: Expr) -> Expr:
    return build.select(build.ge(x, build.const(0, x.dtype)), x, build.mul(x, slope))


def _axpy(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.axpy(target, source, value)`: target += source * value."""
    first, second, third = arguments(reader, node, ("dst", "src0", "scalar_value"), 3)
    assert third is not None
    target, source = run(reader, first), run(reader, second)
    value = scalar(reader, third, source.buffer.dtype)

    def updated(values: list[Expr]) -> Expr:
        return build.add(values[0], build.cast(build.mul(values[1], value), target.buffer.dtype))

    return elementwise(reader, node, target, [target, source], updated, f"{target.buffer.name}_axpy")


def _mul_add(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.mul_add_dst(target, a, b)`: target += a * b."""
    first, second, third = arguments(reader, node, ("dst", "src0", "src1"), 3)
    target, a, b = (run(reader, part) for part in (first, second, third))
    return elementwise(reader, node, target, [target, a, b], lambda v: build.add(v[0], build.mul(v[1], v[2])),
                        f"{target.buffer.name}_mul_add")  # fmt: skip


def _clamp(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.clamp(target, source, low, high, count)`."""
    first, second, low, high, count = arguments(reader, node, ("out", "buffer", "min_scalar", "max_scalar", "count"), 5)
    assert low is not None and high is not None
    target, source = run(reader, first), run(reader, second)
    least, most = (scalar(reader, part, source.buffer.dtype) for part in (low, high))
    return elementwise(reader, node, target, [source], lambda v: build.minimum(build.maximum(v[0], least), most),
                        f"{target.buffer.name}_clamp", count)  # fmt: skip


def _counted(make: Callable[..., Expr], sources: int) -> ReadOperation:
    """`T.tile.round(target, source, count)`."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        *tiles, count = node.args
        if len(tiles) != sources + 1 or node.keywords:
            raise reader.exprs.error(
                node, "wrong-arguments", f"{len(node.args)} arguments", expected="(target, sources, count)"
            )
        target, *others = (run(reader, part) for part in tiles)
        return elementwise(
            reader, node, target, others, lambda v: make(*v), f"{target.buffer.name}_{name_of(reader, node)}", count
        )

    return read


def _rounded(x: Expr) -> Expr:
    """Return the nearest integer; halves are rounded away from zero."""
    whole_part = Call("trunc", (x,), x.dtype)
    rest = build.sub(x, whole_part)
    one, half = build.const(1, x.dtype), build.const(0.5, x.dtype)
    down = build.select(build.le(rest, build.sub(build.const(0, x.dtype), half)), build.sub(build.const(0, x.dtype), one),
                        build.const(0, x.dtype))  # fmt: skip
    return build.add(whole_part, build.select(build.ge(rest, half), one, down))


_ROUNDING: Mapping[str, Callable[[Expr], Expr]] = {
    "CAST_NONE": lambda x: Call("nearbyint", (x,), x.dtype),
    "CAST_RINT": lambda x: Call("nearbyint", (x,), x.dtype),
    "CAST_FLOOR": lambda x: Call("floor", (x,), x.dtype),
    "CAST_CEIL": lambda x: Call("ceil", (x,), x.dtype),
    "CAST_TRUNC": lambda x: Call("trunc", (x,), x.dtype),
    "CAST_ROUND": _rounded,
}


def _cast(reader: TileBase, node: ast.Call) -> Stmt:
    """`T.tile.cast(target, source, mode, count)`: the first `count` elements as another type."""
    first, second, mode_node, count = arguments(reader, node, ("dst", "src", "mode", "count"), 4)
    assert mode_node is not None
    target, source, mode = run(reader, first), run(reader, second), reader.exprs.string(mode_node)
    a, b = source.buffer.dtype, target.buffer.dtype
    to_integer = dt.is_float(a) and not dt.is_float(b)
    narrower = dt.is_float(b) and dt.bits(b) < dt.bits(a)
    if mode not in _ROUNDING or (narrower and mode not in ("CAST_NONE", "CAST_RINT")):
        raise reader.exprs.error(mode_node, "unsupported", f"a cast from {a} to {b} with {mode} is not supported",
                                 expected="CAST_NONE or CAST_RINT")  # fmt: skip
    round_ = _ROUNDING[mode]
    return elementwise(reader, node, target, [source], lambda v: build.cast(round_(v[0]) if to_integer else v[0], b),
                       f"{target.buffer.name}_cast", count)  # fmt: skip


def _bits(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: bitwise(op, a, b)


ELEMENTWISE: Mapping[str, ReadOperation] = {
    "tile.add": _binary(build.add),
    "tile.sub": _binary(build.sub),
    "tile.mul": _binary(build.mul),
    "tile.div": _binary(build.div),
    "tile.max": _binary(build.maximum),
    "tile.min": _binary(build.minimum),
    "tile.pow": _binary(lambda a, b: Call("pow", (a, b), a.dtype)),
    **{f"tile.bitwise_{op}": _binary(_bits(f"bitwise_{op}")) for op in ("and", "or", "xor")},
    "tile.bitwise_not": _unary(lambda x: bitwise("bitwise_not", x)),
    "tile.bitwise_lshift": _with_scalar(_bits("shift_left")),
    "tile.bitwise_rshift": _with_scalar(_bits("shift_right")),
    "tile.exp": _function("exp"),
    "tile.ln": _function("log"),
    "tile.sqrt": _function("sqrt"),
    "tile.rsqrt": _function("rsqrt"),
    "tile.sin": _function("sin"),
    "tile.cos": _function("cos"),
    "tile.abs": _unary(absolute),
    "tile.reciprocal": _unary(lambda x: build.div(build.const(1, x.dtype), x)),
    "tile.relu": _unary(lambda x: build.maximum(x, build.const(0, x.dtype))),
    "tile.sigmoid": _unary(_sigmoid),
    "tile.silu": _unary(lambda x: build.mul(x, _sigmoid(x))),
    "tile.leaky_relu": _with_scalar(_leaky),
    "tile.clamp_max": _with_scalar(build.minimum),
    "tile.clamp_min": _with_scalar(build.maximum),
    "tile.mins_experiment": _with_scalar(build.minimum),
    "tile.clamp": _clamp,
    "tile.axpy": _axpy,
    "tile.mul_add_dst": _mul_add,
    "tile.round": _counted(_rounded, 1),
    "tile.sub_experiment": _counted(build.sub, 2),
    "tile.abs_experiment": _counted(absolute, 1),
    "tile.cast": _cast,
}  # fmt: skip

__all__ = ["ELEMENTWISE"]
