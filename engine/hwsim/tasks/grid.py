"""Integer expressions over whole loop nests at once: each variable is a NumPy axis, and only axes that an expression uses are expanded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arith import simplify
from ...data import Lookup
from ...ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    BufferLoad,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Not,
    Or,
    Predicate,
    Select,
    Sub,
    Var,
    build,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from ..errors import refuse

Values = npt.NDArray[np.int64]

MAX_POINTS = 1 << 22
"""Limit on the points of an expression; beyond it, callers use a conservative value."""
MAX_AXES = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32
"""The maximum rank of NumPy arrays."""


class UnknownValueError(Exception):
    """The expression depends on data, or on too many points: its values are not known before the program runs."""


class TooManyPointsError(UnknownValueError):
    """The expression has too many points."""


def _truncated(a: Values, b: Values) -> Values:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


_BINARY: dict[type[Expr], Callable[[Any, Any], Any]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    FloorDiv: np.floor_divide,
    FloorMod: np.remainder,
    Div: _truncated,
    Mod: lambda a, b: a - b * _truncated(a, b),
    Min: np.minimum,
    Max: np.maximum,
    EQ: np.equal,
    NE: np.not_equal,
    LT: np.less,
    LE: np.less_equal,
    GT: np.greater,
    GE: np.greater_equal,
    And: np.logical_and,
    Or: np.logical_or,
}

_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
"""Calls in the index maps of swizzled layouts."""


def axes(extents: Mapping[Var, int]) -> dict[Var, Values]:
    """Returns one axis for each variable, in order, from 0. An axis of more than MAX_POINTS has only its length: `values` rejects it.

    Raises MachineError "too-many-loops".
    """
    rank = len(extents)
    if rank > MAX_AXES:
        raise refuse(
            "too-many-loops", f"a task has {rank} nested loops, too many to simulate", found=f"{rank} loops",
            expected=f"at most {MAX_AXES}", fix=("sch.fuse(*loops)",),
        )  # fmt: skip
    found: dict[Var, Values] = {}
    for n, (var, extent) in enumerate(extents.items()):
        shape = [extent if i == n else 1 for i in range(rank)]
        found[var] = (
            np.arange(extent, dtype=np.int64).reshape(shape)
            if extent <= MAX_POINTS
            else np.broadcast_to(np.int64(0), shape)
        )
    return found


def at_values(expr: Expr, known: Mapping[Var, Expr]) -> Expr:
    """Returns the expression with variables replaced, and elements of given data at constant indices as numbers."""
    found = substitute(expr, known)
    if not any(isinstance(n, Lookup) for n in walk(found)):
        return found

    def leave(node: Node) -> Node:
        index = simplify(node.index) if isinstance(node, Lookup) else node
        if isinstance(node, Lookup) and isinstance(index, IntImm):
            return build.const(node.table[min(max(index.value, 0), len(node.table) - 1)], node.dtype)
        return node

    return rewrite(found, leave)


def used_vars(expr: Expr, among: Mapping[Var, Any]) -> set[Var]:
    """Returns the variables of `expr` that are in `among`."""
    return {v for v in free_vars(expr) if v in among}


def is_known(expr: Expr) -> bool:
    """Returns whether `values` can evaluate the expression with known variables: it does not depend on data."""
    return not any(isinstance(n, BufferLoad) or (isinstance(n, Call) and n.op != "if_then_else") for n in walk(expr))


def values(expr: Expr, over: Mapping[Var, Values | int]) -> Values:
    """Returns the values of an integer or bool expression; an unused axis has length 1. Raises UnknownValueError."""
    used, function = _compiled(expr)
    shapes = [n.shape for v in used if isinstance(n := over.get(v), np.ndarray)]
    if prod(map(prod, shapes)) > MAX_POINTS and prod(np.broadcast_shapes(*shapes)) > MAX_POINTS:
        raise TooManyPointsError
    return np.asarray(function(over), dtype=np.int64)


Function = Callable[[Mapping[Var, Any]], Any]


@lru_cache(maxsize=1 << 12)
def _compiled(expr: Expr) -> tuple[frozenset[Var], Function]:
    """Returns the variables of an expression, and a function of them: an expression is often evaluated at many points."""
    return frozenset(free_vars(expr)), _function(expr)


def _function(expr: Expr) -> Function:
    match expr:
        case Var():
            return lambda over: _known(expr, over)
        case IntImm(value=constant):
            return lambda _: constant
        case Cast(value=value):
            return _function(value)
        case Not(a=a):
            return _applied(np.logical_not, a)
        case Select(condition=condition, true_value=a, false_value=b) | Call(op="if_then_else", args=(condition, a, b)):
            return _applied(_chosen, condition, a, b)
        case Call(op=op, args=(a, b)) if op in _BITWISE:
            return _applied(_BITWISE[op], a, b)
        case Lookup(index=index, table=table):
            return _looked_up(_function(index), table)
        case BinaryOp(a=a, b=b) | Predicate(a=a, b=b):
            return _applied(_BINARY[type(expr)], a, b)
        case _:
            # Data (a BufferLoad), or a call with an unknown value.
            return _unknown


def _applied(operator: Callable[..., Any], *operands: Expr) -> Function:
    functions = [_function(e) for e in operands]
    if len(functions) == 2:
        first, second = functions
        return lambda over: operator(first(over), second(over))
    return lambda over: operator(*(f(over) for f in functions))


def _looked_up(index: Function, table: tuple[int, ...]) -> Function:
    elements = np.array(table, np.int64)
    return lambda over: elements[np.clip(index(over), 0, len(elements) - 1)]


def _known(var: Var, over: Mapping[Var, Any]) -> Any:
    if var not in over:
        raise UnknownValueError
    return over[var]


def _unknown(over: Mapping[Var, Any]) -> Any:
    raise UnknownValueError


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    return np.where(np.asarray(condition, np.bool_), np.asarray(a, np.int64), np.asarray(b, np.int64))
