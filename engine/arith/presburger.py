"""Presburger sets: quasi-affine integer expressions and conditions as isl text, and contexts to decide questions in. Needs islpy."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
    rewrite,
    walk,
)
from ..ir import dtype as dt

if TYPE_CHECKING:
    import islpy as isl

Names = Mapping[Var, str]
"""The isl names of loop variables and parameters."""

_SIGNS: dict[type[Expr], str] = {
    Add: "+", Sub: "-", EQ: "=", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", And: "and", Or: "or",
}  # fmt: skip


MOST_CASES = 64
"""Maximum number of cases of an expression with selections."""


class NotAffine(Exception):  # noqa: N818
    """The expression is not quasi-affine in the loop variables and parameters."""


def affine_text(expr: Expr, names: Names) -> str:
    """An integer expression as isl text. Raises NotAffine."""
    match expr:
        case IntImm(value=value):
            return str(value) if value >= 0 else f"({value})"
        case Var() if expr in names:
            return names[expr]
        case Add() | Sub():
            return f"({affine_text(expr.a, names)} {_SIGNS[type(expr)]} {affine_text(expr.b, names)})"
        case Mul(a=a, b=b):
            if isinstance(b, IntImm):
                a, b = b, a
            if isinstance(a, IntImm):
                return f"({a.value} * {affine_text(b, names)})"  # isl requires the constant factor first, without parentheses
        case FloorDiv(a=a, b=IntImm(value=d)) if d > 0:
            return f"floor(({affine_text(a, names)}) / {d})"
        case FloorMod(a=a, b=IntImm(value=d)) if d > 0:
            return f"(({affine_text(a, names)}) mod {d})"
        case Min() | Max():
            name = "min" if isinstance(expr, Min) else "max"
            return f"{name}({affine_text(expr.a, names)}, {affine_text(expr.b, names)})"
        case Cast(value=value) if dt.is_index(expr.dtype) and dt.is_index(value.dtype):
            return affine_text(value, names)
        case Call(op="likely", args=(value,)):
            return affine_text(value, names)
        case _:
            pass
    raise NotAffine


def value_cases(exprs: Sequence[Expr], names: Names) -> list[tuple[str, tuple[str, ...]]]:
    """The expressions as isl text in each case of their selections: the condition, ending in "and " if there is one, and the values. (isl
    reads `c ? a : b` in few places.) Raises NotAffine."""
    selections = (n for e in exprs for n in walk(e) if isinstance(n, Select | Call))
    selection, parts = next(((n, parts) for n in selections if (parts := _parts(n)) is not None), (None, None))
    if parts is None:
        return [("", tuple(affine_text(e, names) for e in exprs))]
    text, found = condition_text(parts[0], names), list[tuple[str, tuple[str, ...]]]()
    for where, branch in ((text, parts[1]), (f"(not {text})", parts[2])):
        taken = [rewrite(e, lambda n, branch=branch: branch if n is selection else n) for e in exprs]
        found += [(f"{where} and {inner}", values) for inner, values in value_cases(taken, names)]
        if len(found) > MOST_CASES:
            raise NotAffine
    return found


def _parts(node: Select | Call) -> tuple[Expr, Expr, Expr] | None:
    """The condition and both values of a selection; None for other calls."""
    match node:
        case Select(condition=c, true_value=t, false_value=f) | Call(op="if_then_else", args=(c, t, f)):
            return c, t, f
        case _:
            return None


def condition_text(expr: Expr, names: Names) -> str:
    """A condition as isl text. Raises NotAffine."""
    match expr:
        case IntImm(value=value):
            return "(0 = 0)" if value else "(0 = 1)"
        case And() | Or():
            return f"({condition_text(expr.a, names)} {_SIGNS[type(expr)]} {condition_text(expr.b, names)})"
        case Not(a=a):
            return f"(not {condition_text(a, names)})"
        case EQ() | NE() | LT() | LE() | GT() | GE() if dt.is_index(expr.a.dtype):
            found = value_cases((expr.a, expr.b), names)
            terms = [f"{where}({a} {_SIGNS[type(expr)]} {b})" for where, (a, b) in found]
            return terms[0] if len(terms) == 1 else f"({' or '.join(f'({t})' for t in terms)})"
        case Call(op="likely", args=(value,)):
            return condition_text(value, names)
        case _:
            raise NotAffine


_CONTEXTS: list[isl.Context] = []
"""The contexts that no decision uses at the moment."""


@contextmanager
def isl_context(operations: int) -> Generator[isl.Context]:
    """A context for one decision of at most `operations`, beyond which isl raises an error; its parser reports a syntax error. The limit
    bounds the time only roughly: an operation takes 0.1 to 50 µs. Contexts are reused: islpy 2026.2 frees none, 100 KB for each
    decision."""
    import islpy as isl  # an extra, which takes long to import

    context = _CONTEXTS.pop() if _CONTEXTS else isl.Context()
    context.set_max_operations(operations)
    try:
        yield context
    finally:
        context.set_max_operations(0)
        context.reset_operations()
        _CONTEXTS.append(context)
