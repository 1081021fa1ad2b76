"""Arithmetic on constants of the text: module-level `N = 128`, `tile * 2`. Results are bounded, so that no text creates a huge number."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

LIMIT = 2**64

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
}
_BITS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
}


def _power(a: Any, b: Any) -> Any:
    return a**b


def fold(op: ast.operator, a: int | float, b: int | float) -> int | float:
    """Return the value of `a op b`. Raises ValueError with a message for an undefined result or an unsupported operator."""
    if isinstance(op, ast.LShift | ast.RShift | ast.Pow) and isinstance(a, int) and isinstance(b, int):
        if isinstance(op, ast.Pow) and -1100 < b < 0 and a:
            return float(a) ** b
        if not 0 <= b < 64:
            raise ValueError("the exponent or shift must be between 0 and 63")
        result = a << b if isinstance(op, ast.LShift) else a >> b if isinstance(op, ast.RShift) else a**b
    elif type(op) in _BITS and isinstance(a, int) and isinstance(b, int):
        result = _BITS[type(op)](a, b)
    else:
        compute = _OPERATORS.get(type(op))
        if isinstance(op, ast.Pow) and (a > 0 or not isinstance(b, float)):
            compute = _power
        if compute is None:
            raise ValueError("this operator is not supported on constants")
        try:
            result = compute(a, b)
        except ZeroDivisionError:
            raise ValueError("division by zero") from None
        except OverflowError:
            raise ValueError("the number is too large") from None
    if isinstance(result, int) and abs(result) > LIMIT:
        raise ValueError("the number is too large")
    return result


def compare(op: ast.cmpop, a: object, b: object) -> bool:
    """Return the truth of `a op b` for constants. Raises ValueError if it is undefined."""
    if isinstance(op, ast.Is | ast.IsNot):
        return is_same(a, b) == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn) and isinstance(b, tuple | list):
        return (a in b) == isinstance(op, ast.In)
    if isinstance(op, ast.Eq | ast.NotEq):
        return (a == b) == isinstance(op, ast.Eq)
    order: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
    }
    if type(op) not in order or not isinstance(a, int | float) or not isinstance(b, int | float):
        raise ValueError("these constants cannot be compared")
    return order[type(op)](a, b)


def is_same(a: object, b: object) -> bool:
    """Return the truth of `a is b`. Raises ValueError unless one of them is None, True or False, because Python leaves the identity of
    other constants open."""
    if not any(value is None or isinstance(value, bool) for value in (a, b)):
        raise ValueError("`is` compares only with None, True and False")
    return a is b
