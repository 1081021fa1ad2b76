"""Reductions: their axes, the built-in reducers, and reducers defined in the text."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..ir import Add, Expr, Max, Min, Mul, Range, Var, build
from ..ir import dtype as dt
from ..script.reading.intrinsics import INTRINSICS, parameters
from ..script.subset.scope import Value
from ..script.subset.values import Function, several
from .model import Axis, Reducer, Reduction
from .reader import TEReader
from .sizes import require_small

Read: TypeAlias = Callable[[TEReader, ast.Call], Value]


def reduce_axis(reader: TEReader, node: ast.Call) -> Value:
    dom, name, *_ = parameters(reader, node, ("dom", "name", "thread_tag", "span"), 1)
    assert dom is not None
    ends = reader.value(dom)
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise reader.error(dom, "wrong-arguments", "a reduction axis needs a start and an end", expected="(0, k)")
    start, stop = build.match_dtypes(*(reader.as_expr(e, dom) for e in ends))
    require_small(reader, (start, stop), dom)
    if not dt.is_index(start.dtype):
        raise reader.error(dom, "wrong-type", "the bounds of an axis must be integers", expected="(0, k)")
    title = reader.string(name) if name is not None else "rv"
    return Axis(Var(title, start.dtype), Range(start, build.sub(stop, start)), "reduce")


def reducer_or_math(name: str) -> Read:
    """Return a reader of `te.max(x, axis=k)`; with a second number instead of an axis, the result is the larger of two."""

    def read(reader: TEReader, node: ast.Call) -> Value:
        if name in ("min", "max") and len(node.args) == 2 and not node.keywords:
            a, b = (reader.value(argument) for argument in node.args)
            if not isinstance(b, Axis | tuple | list) or (isinstance(b, Axis) and b.kind != "reduce"):
                return larger(reader, name, [a, b], node)
        return reduced(reader, Reducer(name), node)

    return read


def larger(reader: TEReader, name: str, values: Sequence[Value], node: ast.Call) -> Value:
    """Return the smallest or largest of several numbers or expressions."""
    found = values[0]
    for value in values[1:]:
        if isinstance(found, int | float) and isinstance(value, int | float):
            found = min(found, value) if name == "min" else max(found, value)
        else:
            x, y = reader.as_expr(found, node), reader.as_expr(value, node)
            found = build.minimum(x, y) if name == "min" else build.maximum(x, y)
    return found


def reduced(reader: TEReader, reducer: Reducer, node: ast.Call) -> Reduction:
    """Read `reducer(value, axis=…, where=…)`. A value whose condition fails is replaced by the reducer's identity."""
    expr, axis, where, init = parameters(reader, node, ("expr", "axis", "where", "init"), 2)
    assert expr is not None and axis is not None
    if init is not None and reader.value(init) is not None:
        raise reader.error(init, "unsupported", "a reduction with init= is not supported", expected="no init=",
                           fix=("add the initial value in a separate te.compute",))  # fmt: skip
    value, axes = reader.value(expr), reader.value(axis)
    sources = tuple(reader.as_expr(v, expr) for v in several(value))
    found = several(axes)
    kept = tuple(a for a in found if isinstance(a, Axis) and a.kind == "reduce")
    if len(kept) != len(found) or not kept or len(set(kept)) != len(kept):
        raise reader.error(axis, "wrong-type", "a reduction needs axes of te.reduce_axis",
                           expected='axis=k, with k = te.reduce_axis((0, n), name="k")')  # fmt: skip
    left = tuple(Var(f"x{i}", s.dtype) for i, s in enumerate(sources))
    right = tuple(Var(f"y{i}", s.dtype) for i, s in enumerate(sources))
    joined, identity = _joined(reader, reducer, left, right, node)
    if where is not None and reader.value(where) is not None:
        held = reader.condition(where)
        sources = tuple(build.if_then_else(held, s, e) for s, e in zip(sources, identity, strict=True))
    require_small(reader, (*sources, *joined, *identity), node)
    return Reduction(kept, sources, left, right, joined, identity)


def _joined(
    reader: TEReader, reducer: Reducer, left: tuple[Var, ...], right: tuple[Var, ...], node: ast.Call
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the joined values and the identities."""
    if reducer.join is None or reducer.identity is None:
        if len(left) != 1:
            raise reader.error(
                node, "wrong-arguments", f"te.{reducer.name} reduces one value", expected="te.comm_reducer"
            )
        return (_BUILT_IN[reducer.name](left[0], right[0]),), (_identity(reader, reducer.name, left[0].dtype, node),)
    joined = reader.call(reducer.join, [left, right] if len(left) > 1 else [*left, *right], node)
    identity = reader.call(reducer.identity, [v.dtype for v in left], node)
    results: list[tuple[Expr, ...]] = []
    for values, what in ((joined, "the reducer"), (identity, "the identity")):
        found = tuple(reader.as_expr(v, node) for v in several(values))
        if [v.dtype for v in found] != [v.dtype for v in left]:
            raise reader.error(node, "wrong-type", f"{what} gives {', '.join(v.dtype for v in found)}",
                               expected=", ".join(v.dtype for v in left))  # fmt: skip
        results.append(found)
    return results[0], results[1]


_BUILT_IN: dict[str, Callable[[Expr, Expr], Expr]] = {"sum": Add, "prod": Mul, "min": Min, "max": Max}


def _identity(reader: TEReader, name: str, dtype: str, node: ast.Call) -> Expr:
    if name in ("sum", "prod"):
        return build.const(name == "prod", dtype)
    limit = INTRINSICS["max_value" if name == "min" else "min_value"]
    found = limit(reader, ast.copy_location(ast.Call(node.func, [ast.Constant(dtype)], []), node))
    assert isinstance(found, Expr)
    return found


def comm_reducer(reader: TEReader, node: ast.Call) -> Value:
    join, identity, name = parameters(reader, node, ("fcombine", "fidentity", "name"), 2)
    assert join is not None and identity is not None
    functions = [reader.value(join), reader.value(identity)]
    title = reader.string(name) if name is not None else "reduce"
    match functions:
        case [Function() as a, Function() as b]:
            return Reducer(title, a, b)
        case _:
            raise reader.error(
                node,
                "wrong-type",
                "a reducer needs two functions",
                expected="te.comm_reducer(lambda x, y: …, lambda t: …)",
            )
