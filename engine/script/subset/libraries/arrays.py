"""Small arrays of NumPy that sizes are computed with: `2 ** np.arange(5, 12)`, `np.prod(shape)`. Functions that make data are not read.

The functions of NumPy itself compute the values; their results are numbers and arrays of at most `MAX_ITEMS` items.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core import Evaluator, ReadCall
from ..scope import Unknown, Value
from ..values import Array

MAX_ITEMS = 4096
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod, ast.Pow: np.power,
}  # fmt: skip


def _plain(value: Value) -> Any:
    """Return a value as NumPy takes it; None for others."""
    match value:
        case Array(data=data):
            return data
        case bool() | int() | float():
            return value
        case tuple() | list() | range() if len(value) <= MAX_ITEMS:
            found = [_plain(item) for item in value]
            return None if any(item is None for item in found) else found
        case _:
            return None


def _value(run: Evaluator, found: Any, node: ast.AST, base: Array | None = None) -> Value:
    """Return a result of NumPy as a value, one that shares the memory of `base`; Unknown for one that is too large or no finite
    number."""
    array = np.asarray(found)
    if array.dtype.kind not in "biuf" or array.size > MAX_ITEMS:
        return run.runs(node)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return run.runs(node)
    if array.ndim == 0:
        number = array.item()
        return number if isinstance(number, bool) or abs(number) < 2**62 else run.runs(node)
    run.budget.require_new([], node)
    return Array(array, base)


def _objects(run: Evaluator, items: Value, node: ast.AST) -> Array | None:
    """Return an array of values that are no numbers, such as the axes of a program, which code puts in another order."""
    if (
        not isinstance(items, tuple | list)
        or not items
        or any(isinstance(item, tuple | list | Unknown) for item in items)
    ):
        return None
    run.budget.require_new([*items], node)
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return Array(found)


def _given(run: Evaluator, node: ast.Call) -> list[Any]:
    """Return the arguments as NumPy takes them, None for others; none for a call with keywords or stars."""
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return []
    return [_plain(run.value(argument)) for argument in node.args]


def _computed(name: str, compute: Callable[..., Any]) -> ReadCall:
    """Return a reader of a function of NumPy; one with keywords is not evaluated."""

    def read(run: Evaluator, node: ast.Call) -> Value:
        given = _given(run, node)
        is_of_objects = name in ("array", "asarray") and len(given) == 1 and given[0] is None
        if is_of_objects and (found := _objects(run, run.value(node.args[0]), node)):
            return found
        if not given or any(value is None for value in given):
            return run.passed_call(node, keeps=True)
        if name in ("arange", "linspace") and not all(isinstance(v, int) and abs(v) <= MAX_ITEMS for v in given):
            return run.passed_call(node, keeps=True)
        try:
            with np.errstate(all="ignore"):
                return _value(run, compute(*given), node)
        except (ValueError, TypeError, OverflowError, IndexError):
            return run.passed_call(node, keeps=True)

    return read


def operated(run: Evaluator, node: ast.BinOp, a: Value, b: Value) -> Value:
    """Return `a op b` of which one is an array."""
    compute, x, y = _OPERATORS.get(type(node.op)), _plain(a), _plain(b)
    if compute is None or x is None or y is None:
        return run.runs(node)
    try:
        with np.errstate(all="ignore"):
            return _value(run, compute(x, y), node)
    except (ValueError, TypeError, OverflowError):
        return run.runs(node)


def array_item(run: Evaluator, array: Array, node: ast.Subscript) -> Value:
    """Return `array[i]` or `array[a:b]`."""
    if isinstance(node.slice, ast.Slice):
        ends = [
            None if part is None else run.number(part) for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return _value(run, array.data[slice(*ends)], node, array)
    at = run.value(node.slice)
    if array.data.dtype.kind == "O":
        places = at if isinstance(at, list) else [at]
        if not all(isinstance(place, int) and -len(array.data) <= place < len(array.data) for place in places):
            return run.runs(node)
        return Array(array.data[places]) if isinstance(at, list) else array.data[at]
    indices = at if isinstance(at, tuple) else (at,)
    if not all(isinstance(index, int) for index in indices):
        return run.runs(node)
    try:
        return _value(run, array.data[tuple(indices)], node, array)
    except IndexError:
        raise run.error(
            node, "out-of-range", f"there are {len(array.data)} items", expected="an index of an item"
        ) from None


def array_attribute(run: Evaluator, array: Array, name: str, node: ast.Attribute) -> Value:
    match name:
        case "shape":
            return tuple(array.data.shape)
        case "size":
            return int(array.data.size)
        case "ndim":
            return int(array.data.ndim)
        case _:
            return run.runs(node)


def array_method(run: Evaluator, array: Array, name: str, node: ast.Call) -> Value:
    args = _given(run, node)
    if name in ("tolist", "prod", "sum", "max", "min", "item") and not node.keywords and None not in args:
        try:
            found = getattr(array.data, name)(*args)
        except (ValueError, TypeError, IndexError):
            return run.passed_call(node, keeps=True)
        return run.new(_listed(found), node) if name == "tolist" else _value(run, found, node)
    return run.passed_call(node, keeps=True)


def _listed(found: Any) -> Value:
    return [_listed(item) for item in found] if isinstance(found, list) else found  # pyright: ignore[reportUnknownVariableType]


_NAMES = ("array", "asarray", "arange", "prod", "power", "ceil", "floor", "log2", "sqrt", "maximum", "minimum", "abs", "sum", "max", "min",
          "cumsum", "cumprod", "linspace", "floor_divide", "mod", "lcm", "gcd")  # fmt: skip
_KINDS = {"int": int, "int32": int, "int64": int, "float64": float}
FUNCTIONS: Mapping[str, ReadCall] = {
    **{f"{module}.{name}": _computed(name, getattr(np, name)) for module in ("np", "numpy") for name in _NAMES},
    **{f"{module}.{name}": _computed(name, kind) for module in ("np", "numpy") for name, kind in _KINDS.items()},
}
"""Functions of NumPy by dotted name."""

__all__ = ["FUNCTIONS", "array_attribute", "array_item", "array_method", "operated"]
