"""Semantics of operators and intrinsics, identical for NumPy scalars and arrays of any size.

Integers wrap as in two's complement; `Div`/`Mod` on them truncate as in C, `FloorDiv`/`FloorMod` round down. `Max(a, b)` is `a > b ? a :
b`, which also defines the results for NaN and signed zeros (TVM `src/target/llvm/codegen_llvm.cc`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from ..ir import EQ, GE, GT, LE, LT, NE, Add, Div, Expr, FloorDiv, FloorMod, Max, Min, Mod, Mul, Sub
from ..ir import dtype as dt
from .errors import unsupported

Value = Any  # a NumPy scalar or array: the stubs do not relate their dtypes to TVM's strings
Binary = Callable[[Value, Value], Value]

_DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        **{f"{kind}{width}": np.dtype(f"{kind}{width}") for kind in ("int", "uint") for width in (8, 16, 32, 64)},
        **{f"float{width}": np.dtype(f"float{width}") for width in (16, 32, 64)},
        "bool": np.dtype(np.bool_),
    }
)


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's dtype for TVM's name. Raises ExecuteError("unsupported") for those NumPy lacks (bfloat16, handle)."""
    found = _DTYPES.get(dtype)
    if found is None:
        raise unsupported(f"values of dtype {dtype}", "one of " + ", ".join(_DTYPES))
    return found


def scalar(value: float, dtype: str) -> Value:
    """`value` as a NumPy scalar of `dtype`; integers wrap."""
    kind = numpy_dtype(dtype)
    if dt.is_int(dtype):
        width = dt.bits(dtype)
        value = int(value) & ((1 << width) - 1)
        if not dtype.startswith("uint") and value >> (width - 1):
            value -= 1 << width
    return kind.type(value)


def convert(value: Value, dtype: str) -> Value:
    """C's conversion: floats truncate toward zero, integers wrap, all values except zero are true."""
    return value.astype(numpy_dtype(dtype), copy=False)


def _trunc_mod(a: Value, b: Value) -> Value:
    return np.fmod(a, b)


def _trunc_div(a: Value, b: Value) -> Value:
    return np.floor_divide(a - np.fmod(a, b), b)


def _float_floor_div(a: Value, b: Value) -> Value:
    return np.floor(a / b)


def _float_floor_mod(a: Value, b: Value) -> Value:
    return a - np.floor(a / b) * b


def choose(condition: Value, yes: Value, no: Value) -> Value:
    """`yes` if the condition holds, otherwise `no`; a scalar for scalars."""
    return cast("Value", np.where(condition, yes, no)[()])


def _max(a: Value, b: Value) -> Value:
    return choose(a > b, a, b)


def _min(a: Value, b: Value) -> Value:
    return choose(a < b, a, b)


_ARITHMETIC: Mapping[type[Expr], Binary] = MappingProxyType({Add: np.add, Sub: np.subtract, Mul: np.multiply})
_FLOATS: Mapping[type[Expr], Binary] = MappingProxyType(
    {
        **_ARITHMETIC,
        Div: np.true_divide,
        Mod: np.fmod,
        FloorDiv: _float_floor_div,
        FloorMod: _float_floor_mod,
        Min: _min,
        Max: _max,
    }
)
_INTEGERS: Mapping[type[Expr], Binary] = MappingProxyType(
    {
        **_ARITHMETIC,
        Div: _trunc_div,
        Mod: _trunc_mod,
        FloorDiv: np.floor_divide,
        FloorMod: np.remainder,
        Min: np.minimum,
        Max: np.maximum,
    }
)
COMPARISONS: Mapping[type[Expr], Binary] = MappingProxyType(
    {EQ: np.equal, NE: np.not_equal, LT: np.less, LE: np.less_equal, GT: np.greater, GE: np.greater_equal}
)
DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def binary(kind: type[Expr], dtype: str) -> Binary:
    """The function of the arithmetic node `kind` on operands of `dtype`."""
    return (_FLOATS if dt.is_float(dtype) else _INTEGERS)[kind]


def _elementwise(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """`function` on a contiguous array of two elements or more.

    NumPy uses a different routine for single or strided elements, and its last bit may differ: an element's value must not depend on its
    neighbours.
    """

    def apply(x: Value) -> Value:
        array = np.asarray(x)
        if array.size == 1:
            return function(np.repeat(array.reshape(1), 2))[0].reshape(array.shape)[()]
        return function(np.ascontiguousarray(array))

    return apply


def _through_python(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """A function that NumPy lacks, computed in float64 element by element and rounded once."""
    each = np.frompyfunc(function, 1, 1)

    def apply(x: Value) -> Value:
        array = np.asarray(x)
        return np.asarray(each(array.astype(np.float64))).astype(array.dtype)[()]

    return apply


def _sigmoid(x: Value) -> Value:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _rsqrt(x: Value) -> Value:
    return x.dtype.type(1) / np.sqrt(x)


def _popcount(x: Value) -> Value:
    array = np.asarray(x)
    octets = array.reshape(-1).view(np.uint8).reshape(array.size, -1)
    return np.unpackbits(octets, axis=1).sum(axis=1).reshape(array.shape).astype(array.dtype)[()]


_UNARY_FLOAT: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        **{
            name: _elementwise(getattr(np, name))
            for name in (
                *("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
                *("floor", "ceil", "trunc"),
            )
        },
        "asin": _elementwise(np.arcsin),
        "acos": _elementwise(np.arccos),
        "atan": _elementwise(np.arctan),
        "asinh": _elementwise(np.arcsinh),
        "acosh": _elementwise(np.arccosh),
        "atanh": _elementwise(np.arctanh),
        "exp10": _elementwise(lambda x: np.power(x.dtype.type(10), x)),
        "sigmoid": _elementwise(_sigmoid),
        "rsqrt": _elementwise(_rsqrt),
        "round": _elementwise(np.rint),  # halves to even, as in TVM's code, unlike C's round()
        "nearbyint": _elementwise(np.rint),
        "erf": _through_python(math.erf),
    }
)
HINTS = ("likely", "tvm_thread_invariant", "ignore_loop_partition")
"""Calls that tell the compiler something about their argument, which is their value."""

_UNARY_ANY: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        "abs": np.abs,
        "fabs": np.abs,
        "isnan": np.isnan,
        "isinf": np.isinf,
        "isfinite": np.isfinite,
        "bitwise_not": np.invert,
        "popcount": _popcount,
        **dict.fromkeys(HINTS, lambda x: x),
    }
)


def _pairwise(function: Binary) -> Binary:
    """`_elementwise` for two operands."""

    def apply(a: Value, b: Value) -> Value:
        x, y = np.broadcast_arrays(a, b)
        if x.size == 1:
            return function(np.repeat(x.reshape(1), 2), np.repeat(y.reshape(1), 2))[0].reshape(x.shape)[()]
        return function(np.ascontiguousarray(x), np.ascontiguousarray(y))

    return apply


_BINARY: Mapping[str, Binary] = MappingProxyType(
    {
        "pow": _pairwise(np.power),
        "power": _pairwise(np.power),
        "atan2": _pairwise(np.arctan2),
        "hypot": _pairwise(np.hypot),
        "fmod": np.fmod,
        "copysign": np.copysign,
        "nextafter": np.nextafter,
        "max": _max,
        "min": _min,
        "bitwise_and": np.bitwise_and,
        "bitwise_or": np.bitwise_or,
        "bitwise_xor": np.bitwise_xor,
        "shift_left": np.left_shift,
        "shift_right": np.right_shift,
    }
)

UNARY: Mapping[str, Callable[[Value], Value]] = MappingProxyType({**_UNARY_FLOAT, **_UNARY_ANY})
BINARY: Mapping[str, Binary] = _BINARY
# Compiler hints and synchronization: no-ops in sequential execution.
NO_OPERATION = frozenset({"assume", "tvm_storage_sync", "storage_sync", "ptx_commit_group", "ptx_wait_group"})
PURE_CALLS = frozenset({*UNARY, *BINARY, "if_then_else"})
"""Calls that only compute a value."""
KNOWN_INTRINSICS = tuple(sorted({*UNARY, *BINARY, *NO_OPERATION, "if_then_else"}))


_EXACT_FOLDS: Mapping[type[Expr], Any] = MappingProxyType(
    {Add: np.add, Sub: np.subtract, Mul: np.multiply, Max: np.maximum, Min: np.minimum}
)
WIDE = 512  # elements; from this size on, a NumPy call per step costs little compared with the step itself


def fold(op: type[Expr], dtype: str, flipped: bool, current: Value, values: Value) -> Value:
    """`current op values[0] op values[1] …`, exact to the last bit in this order; `flipped`: the values are left operands.

    `values` has the steps as its first axis; `current` has the other axes, with length 1 for those that it does not depend on.
    """
    step = binary(op, dtype)
    first = np.asarray(step(values[0], current) if flipped else step(current, values[0]))
    if len(values) == 1:
        return first
    picks = op in (Max, Min) and dt.is_float(dtype)
    # NumPy's maximum and minimum treat NaN and the sign of zero differently.
    if first.size >= WIDE or (picks and not (np.all(np.isfinite(values)) and np.all(values) and np.all(first))):
        for value in values[1:]:
            first = step(value, first) if flipped else step(first, value)
        return first
    ufunc = _EXACT_FOLDS[op]
    # Rows are steps, whatever the layout of `values`: NumPy's reduce() adds rows in order, but contiguous elements pairwise.
    rows = np.empty((len(values), *first.shape), first.dtype)
    rows[0], rows[1:] = first, values[1:]
    line = rows.reshape(len(values), -1)
    if line.shape[1] == 1:
        return ufunc.accumulate(line[:, 0], dtype=line.dtype)[-1].reshape(first.shape)
    return ufunc.reduce(line, axis=0, dtype=line.dtype).reshape(first.shape)
