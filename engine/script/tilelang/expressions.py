"""TileLang's expressions: what its module has besides the functions of TVMScript."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from ...ir import EQ, Buffer, BufferLoad, Call, Expr, IntImm, Var, build
from ..reading.expressions import ExpressionReader
from ..reading.intrinsics import INTRINSICS, operands, parameters
from ..reading.operators import bitwise
from ..reading.reader import Reader
from ..reading.source import PositionTable, Source
from ..subset.scope import Foreign, Value
from ..subset.values import Module
from .ascend.tiles import swizzled
from .names import TYPE_PARTS, own_name, type_alias, type_named, type_part
from .schedulers import Scheduler

_WARP = 32
_RUN_VALUES: Mapping[str, str] = {
    **dict.fromkeys(("block_rank_in_cluster", "cluster_rank", "any_sync", "all_sync"), "int32"),
    **dict.fromkeys(("rng_rand", "ballot_sync", "activemask"), "uint32"),
    "rng_rand_float": "float32",
}  # fmt: skip
"""Values that only a run gives, with their types."""


class Synchroniser(msgspec.Struct, Foreign, frozen=True, eq=False):
    """A barrier with the number of one of its parts, or a descriptor of an instruction: no values are computed from it."""

    barrier: str | None = None
    number: Expr | None = None


class Exchange(Protocol):
    """What threads give each other. Each method adds statements before the one that is read."""

    def given_away(self, node: ast.AST, value: Expr) -> Callable[[Expr], Expr]:
        """Return a function from a thread's number to the value that it has."""
        ...

    def combined(self, node: ast.AST, value: Expr, combine: Callable[[Expr, Expr], Expr], first: Expr) -> Expr:
        """Return the combination of the values of all threads of a warp."""
        ...

    def updated(self, node: ast.Call) -> Expr:
        """Return the value of an element before an update."""
        ...


ReadFunction: TypeAlias = Callable[[Reader, ast.Call], Value]


class TileExpressions(ExpressionReader):
    """Reads the expressions of TileLang."""

    def __init__(self, source: Source, positions: PositionTable) -> None:
        super().__init__(source, positions)
        self.threads: Sequence[
            Expr
        ] = ()  # the numbers of a thread along each axis, in kernels with code for single threads
        self.blocks: Sequence[Expr] = ()  # the numbers of a block along each axis of the grid
        self.exchange: Exchange | None = None

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.IfExp):
            return self._chosen(node)
        if isinstance(node, ast.Attribute):
            name = self.script_name(node)
            dtype = None if name is None else type_alias(name.removeprefix("T."))
            if dtype is not None:
                return dtype
            if name is not None and name.startswith("T.GemmWarpPolicy"):
                return name
        found = super().value(node)
        named = type_named(found.name) if isinstance(found, Module) else None
        return found if named is None else named

    def dtype(self, node: ast.expr) -> str:
        value = self.value(node)
        known = type_alias(value) if isinstance(value, str) else None
        return super().dtype(node) if known is None else known

    def _chosen(self, node: ast.IfExp) -> Value:
        """Read `a if condition else b`; with a condition that only a run decides, it is a value like T.if_then_else."""
        test = self.value(node.test)
        if isinstance(test, Expr) and not isinstance(test, IntImm):
            return build.if_then_else(self.as_condition(test, node.test), self.expr(node.body), self.expr(node.orelse))
        chosen = test.value if isinstance(test, IntImm) else test
        return self.value(node.body if chosen else node.orelse)

    def _name(self, node: ast.Name) -> Value:
        value = super()._name(node)
        if isinstance(value, Buffer) and value.scope == "local.var":
            return BufferLoad(value, (IntImm(0),) * len(value.shape))
        return value

    def _subscript(self, node: ast.Subscript) -> Value:
        known = self.scope.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(known, Synchroniser):
            return known if known.barrier is None else Synchroniser(known.barrier, self.index(node.slice))
        return super()._subscript(node)

    def owner(self, node: ast.expr) -> Value:
        known = self.scope.get(node.id) if isinstance(node, ast.Name) else None
        return known if isinstance(known, Buffer) else super().owner(node)

    def _call(self, node: ast.Call) -> Value:
        name = self.called(node) or ""
        if not name and isinstance(node.func, ast.Attribute):
            root = node.func
            while isinstance(root, ast.Attribute):
                root = root.value
            name = ast.unparse(node.func) if isinstance(root, ast.Name) and root.id == "tilelang" else ""
        own = name.removeprefix("T.")
        if own in _RUN_VALUES:
            return Call(own, tuple(self.expr(argument) for argument in node.args), _RUN_VALUES[own])
        if own.startswith("atomic_") and self.exchange is not None:
            return self.exchange.updated(node)
        read = function_named(name)
        return super()._call(node) if read is None else read(self, node)

    def method_of(self, owner: Value, method: str, node: ast.Call) -> Value:
        if isinstance(owner, Scheduler) and method == "valid":
            return owner.valid()
        if isinstance(owner, Scheduler) and method == "coord":
            return owner.coordinates(self.index(node.args[0]))
        return super().method_of(owner, method, node)

    def attribute_of(self, owner: Value, name: str) -> Value:
        if isinstance(owner, str) and name in TYPE_PARTS:
            return type_part(owner, name)
        if isinstance(owner, Scheduler):
            return owner.part(name)
        if isinstance(owner, Buffer) and name == "ndim":
            return len(owner.shape)
        return super().attribute_of(owner, name)


def _dtype(reader: Reader, node: ast.Call) -> Value:
    """`T.dtype("float16")`."""
    return reader.dtype(node.args[0])


def _const(reader: Reader, node: ast.Call) -> Value:
    """`T.const("M, N")`: sizes of an eager kernel; or TVM's `T.const(3, "uint16")`."""
    is_name = bool(node.args) and isinstance(reader.value(node.args[0]), str)
    return _dynamic(reader, node) if is_name else INTRINSICS["const"](reader, node)


def _dynamic(reader: Reader, node: ast.Call) -> Value:
    """`T.dynamic("m")`, `T.symbolic("m, n", "int32")`: size variables."""
    name, dtype = parameters(reader, node, ("name", "dtype"), 1)
    assert name is not None
    kind = "int32" if dtype is None else reader.dtype(dtype)
    names = [part.strip() for part in reader.string(name).split(",") if part.strip()]
    made = tuple(Var(part, kind) for part in names)
    return made[0] if len(made) == 1 else made


def _reinterpret(reader: Reader, node: ast.Call) -> Value:
    """`T.reinterpret(value, dtype)`: the bits of a value as another type; older texts have the type first."""
    first, second = node.args if len(node.args) == 2 else (node.args[0], node.keywords[0].value)
    values = [reader.value(first), reader.value(second)]
    dtype = next((v for v in values if isinstance(v, str)), None)
    value = next((v for v in values if not isinstance(v, str)), None)
    if dtype is None or value is None:
        raise reader.error(
            node, "wrong-arguments", "T.reinterpret needs a value and a type", expected='T.reinterpret(x, "uint16")'
        )
    return Call("reinterpret", (reader.as_expr(value, node),), type_alias(dtype) or dtype)


def _clamp(reader: Reader, node: ast.Call) -> Value:
    """`T.clamp(x, low, high)`."""
    x, low, high = operands(reader, node, ("dst", "min_val", "max_val"))
    return build.minimum(build.maximum(x, low), high)


def _many(make: Callable[[Expr, Expr], Expr]) -> ReadFunction:
    """`T.max(a, b, …)`."""

    def read(reader: Reader, node: ast.Call) -> Value:
        found = [reader.expr(argument) for argument in node.args]
        result = found[0]
        for value in found[1:]:
            result = make(result, value)
        return result

    return read


def _unary(op: str) -> ReadFunction:
    """A fast version of a function: `T.__exp(x)`."""

    def read(reader: Reader, node: ast.Call) -> Value:
        (x,) = operands(reader, node, ("x",))
        return Call(op, (x,), x.dtype)

    return read


def _rounded(make: Callable[[Expr, Expr], Expr], *names: str) -> ReadFunction:
    """`T.ieee_add(x, y, "rn")`: an operation that the compiler does not fuse with others, rounded to the nearest."""

    def read(reader: Reader, node: ast.Call) -> Value:
        *values, mode = parameters(reader, node, (*names, "rounding_mode"), len(names))
        if mode is not None and reader.string(mode) != "rn":
            raise reader.error(mode, "unsupported", "this rounding is not supported", expected='"rn"')
        found = [reader.expr(value) for value in values if value is not None]
        return make(found[0], found[-1])

    return read


def _inverse(x: Expr, _: Expr) -> Expr:
    return build.div(build.const(1, x.dtype), x)


def _next_power(reader: Reader, node: ast.Call) -> Value:
    """`tilelang.math.next_power_of_2(n)`."""
    return 1 << max(reader.constant_int(node.args[0]) - 1, 0).bit_length()


def _quotient(reader: Reader, node: ast.Call) -> Value:
    """`T.ceildiv(a, b)`; of constants a constant, which the Python code around a kernel may use."""
    match [reader.value(argument) for argument in node.args]:
        case [int(a), int(b)] if b:
            return -(-a // b)
        case _:
            return INTRINSICS["ceildiv"](reader, node)


def _ceildiv(reader: Reader, node: ast.Call) -> Value:
    a, b = operands(reader, node, ("a", "b"))
    return build.floordiv(build.add(a, build.sub(b, IntImm(1))), b)


def _cast(reader: Reader, node: ast.Call) -> Value:
    """`T.cast(value, dtype)`, or `T.Cast(dtype, value)`."""
    first, second = node.args
    a, b = reader.value(first), reader.value(second)
    dtype, value = (a, b) if isinstance(a, str) else (b, a)
    if not isinstance(dtype, str):
        raise reader.error(node, "wrong-arguments", "the type is missing", expected='T.cast(x, "float16")')
    return build.cast(reader.as_expr(value, node), reader.dtype(second if dtype is b else first))


def _thread(reader: Reader, node: ast.Call, dim: ast.expr | None = None) -> Expr:
    """Return the number of the thread along an axis, the first without one."""
    assert isinstance(reader, TileExpressions)
    at = 0 if dim is None else reader.constant_int(dim)
    if not 0 <= at < len(reader.threads):
        raise reader.error(node, "unsupported", "the number of a thread is not known here", expected="code of a kernel")
    return reader.threads[at]


def _thread_binding(reader: Reader, node: ast.Call) -> Value:
    """`T.get_thread_binding(0)`."""
    return _thread(reader, node, node.args[0] if node.args else None)


def _bound_thread(reader: Reader, node: ast.Call) -> Value:
    """`T.thread_binding(0, 128, thread="threadIdx.x")`."""
    tag = next((reader.string(k.value) for k in node.keywords if k.arg == "thread"), "")
    axis = {"threadIdx.x": 0, "threadIdx.y": 1, "threadIdx.z": 2}.get(tag)
    if axis is None:
        raise reader.error(
            node, "unsupported", "this is no thread", expected='T.thread_binding(0, 128, thread="threadIdx.x")'
        )
    return _thread(reader, node, ast.copy_location(ast.Constant(axis), node))


def _block_binding(reader: Reader, node: ast.Call) -> Value:
    """`T.get_block_binding(0)`."""
    assert isinstance(reader, TileExpressions)
    at = reader.constant_int(node.args[0]) if node.args else 0
    if not 0 <= at < len(reader.blocks):
        raise reader.error(node, "out-of-range", "the grid has no such axis", expected="an axis of the grid")
    return reader.blocks[at]


def _coordinates(reader: Reader, node: ast.Call) -> Value:
    """`T.index_to_coordinates(index, shape)`: the indices of an element by its place in row-major order."""
    first, second = parameters(reader, node, ("index", "shape"))
    assert first is not None and second is not None
    rest, found = reader.expr(first), list[Expr]()
    shape = reader.value(second)
    for extent in reversed(shape if isinstance(shape, tuple | list) else ()):
        size = reader.as_expr(extent, second)
        found.insert(0, build.floormod(rest, size))
        rest = build.floordiv(rest, size)
    return tuple(found)


def _threads(reader: Reader, node: ast.Call) -> Value:
    """`T.get_thread_bindings()`."""
    _thread(reader, node)
    assert isinstance(reader, TileExpressions)
    return tuple(reader.threads)


def _of_thread(make: Callable[[Expr, int], Expr], size: int = _WARP) -> ReadFunction:
    """`T.get_lane_idx(warp_size)` and the like: a function of the thread's number and a number of threads."""

    def read(reader: Reader, node: ast.Call) -> Value:
        given = reader.constant_int(node.args[0]) if node.args else size
        return make(_thread(reader, node), given)

    return read


def _elected(thread: Expr, size: int) -> Expr:
    """Return whether a thread is the one that is elected of so many; of all for 0."""
    number = thread if size == 0 else build.floormod(thread, size)
    return build.compare(EQ, number, build.const(0, number.dtype))


def _shuffle(source: Callable[[Expr, Expr, int], Expr], arguments: tuple[int, int, int]) -> ReadFunction:
    """Read an exchange within warps. `source` gives the lane of the value for a lane, the argument and the width; `arguments` are the
    places of the value, the argument and the width."""

    def read(reader: Reader, node: ast.Call) -> Value:
        assert isinstance(reader, TileExpressions)
        thread, (value, by, width) = _thread(reader, node), arguments
        assert reader.exchange is not None
        size = reader.constant_int(node.args[width]) if len(node.args) > width else _WARP
        lane = build.floormod(thread, size)
        found = source(lane, build.cast(reader.expr(node.args[by]), lane.dtype), size)
        return reader.exchange.given_away(node, reader.expr(node.args[value]))(
            build.add(build.sub(thread, lane), found)
        )

    return read


def _kept_lane(lane: Expr, other: Expr, size: int) -> Expr:
    """Return another lane, or the own one if the other is outside of the group."""
    inside = build.logical_and(
        build.ge(other, build.const(0, other.dtype)), build.lt(other, build.const(size, other.dtype))
    )
    return build.if_then_else(inside, other, lane)


_LANES: Mapping[str, Callable[[Expr, Expr, int], Expr]] = {
    "shfl_xor": lambda lane, by, size: _kept_lane(lane, bitwise("bitwise_xor", lane, by), size),
    "shfl_down": lambda lane, by, size: _kept_lane(lane, build.add(lane, by), size),
    "shfl_up": lambda lane, by, size: _kept_lane(lane, build.sub(lane, by), size),
    "shfl": lambda lane, by, size: build.floormod(by, size),
}
"""For each exchange the lane whose value a lane gets (CUDA's `__shfl_sync` and its siblings)."""


def _reduced(combine: Callable[[Expr, Expr], Expr], first: Callable[[Expr], Expr]) -> ReadFunction:
    """`T.warp_reduce_sum(value)`."""

    def read(reader: Reader, node: ast.Call) -> Value:
        assert isinstance(reader, TileExpressions)
        _thread(reader, node)
        assert reader.exchange is not None
        (value,) = operands(reader, node, ("value",))
        return reader.exchange.combined(node, value, combine, first(value))

    return read


FUNCTIONS: Mapping[str, ReadFunction] = {
    "get_thread_binding": _thread_binding,
    "thread_binding": _bound_thread,
    "get_thread_bindings": _threads,
    "get_block_binding": _block_binding,
    "index_to_coordinates": _coordinates,
    **dict.fromkeys(("get_warp_idx", "get_warp_idx_sync"), _of_thread(build.floordiv)),
    "get_lane_idx": _of_thread(build.floormod),
    "get_warp_group_idx": _of_thread(build.floordiv, 4 * _WARP),
    **dict.fromkeys(("shuffle_elect", "tl_shuffle_elect"), _of_thread(_elected)),
    **{name: _shuffle(source, (0, 1, 2)) for name, source in _LANES.items()},
    **{f"{name}_sync": _shuffle(source, (1, 2, 3)) for name, source in _LANES.items() if name != "shfl"},
    "shfl_sync": _shuffle(_LANES["shfl"], (0, 1, 2)),
    "tvm_warp_shuffle": _shuffle(_LANES["shfl"], (1, 2, 3)),
    "warp_reduce_sum": _reduced(build.add, lambda x: build.const(0, x.dtype)),
    "warp_reduce_max": _reduced(build.maximum, lambda x: x),
    "warp_reduce_min": _reduced(build.minimum, lambda x: x),
    "dtype": _dtype,
    **dict.fromkeys(("dynamic", "symbolic"), _dynamic),
    "const": _const,
    "tvm.DataType": _dtype,
    "tilelang.DataType": _dtype,
    "tvm.runtime.DataType": _dtype,
    "reinterpret": _reinterpret,
    "clamp": _clamp,
    "max": _many(build.maximum),
    "min": _many(build.minimum),
    **{f"__{op}": _unary(op) for op in ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "pow")},
    "ieee_add": _rounded(build.add, "x", "y"),
    "ieee_sub": _rounded(build.sub, "x", "y"),
    "ieee_mul": _rounded(build.mul, "x", "y"),
    "ieee_fdiv": _rounded(build.div, "x", "y"),
    "ieee_frcp": _rounded(_inverse, "x"),
    "ieee_fsqrt": _rounded(lambda x, _: Call("sqrt", (x,), x.dtype), "x"),
    "ceildiv": _quotient,
    "use_swizzle": swizzled,
    "Cast": _cast,
    "cast": _cast,
    **dict.fromkeys(("tilelang.cdiv", "tilelang.math.cdiv"), _ceildiv),
    **dict.fromkeys(("tilelang.next_power_of_2", "tilelang.math.next_power_of_2"), _next_power),
}
"""Readers of functions that TVMScript does not have, or has in another form."""


def function_named(name: str) -> ReadFunction | None:
    """Return the reader of a function of TileLang by its name, "T.dtype" or "tilelang.language.dtype"."""
    return FUNCTIONS.get(name.removeprefix("T.") if name.startswith("T.") else own_name(name))


__all__ = ["FUNCTIONS", "TileExpressions", "function_named"]
