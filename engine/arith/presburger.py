"""Presburger sets: quasi-affine integer expressions and conditions as isl text, and contexts to decide questions in. Needs islpy."""

from __future__ import annotations

from collections.abc import Generator, Mapping
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
)
from ..ir import dtype as dt

if TYPE_CHECKING:
    import islpy as isl

Names = Mapping[Var, str]
"""The isl names of loop variables and parameters."""

_SIGNS: dict[type[Expr], str] = {
    Add: "+", Sub: "-", EQ: "=", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", And: "and", Or: "or",
}  # fmt: skip


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
        case Select(condition=c, true_value=t, false_value=f) | Call(op="if_then_else", args=(c, t, f)):
            return f"({condition_text(c, names)} ? {affine_text(t, names)} : {affine_text(f, names)})"
        case Cast(value=value) if dt.is_index(expr.dtype) and dt.is_index(value.dtype):
            return affine_text(value, names)
        case Call(op="likely", args=(value,)):
            return affine_text(value, names)
        case _:
            pass
    raise NotAffine


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
            return f"({affine_text(expr.a, names)} {_SIGNS[type(expr)]} {affine_text(expr.b, names)})"
        case Call(op="likely", args=(value,)):
            return condition_text(value, names)
        case _:
            raise NotAffine


_CONTEXTS: list[isl.Context] = []
"""The contexts that no decision uses at the moment."""


@contextmanager
def isl_context() -> Generator[isl.Context]:
    """A context for one decision, without an operation limit. Contexts are reused: islpy 2026.2 frees none, 100 KB for each decision."""
    import islpy as isl  # an extra, which takes long to import

    context = _CONTEXTS.pop() if _CONTEXTS else isl.Context()
    try:
        yield context
    finally:
        context.set_max_operations(0)
        context.reset_operations()
        _CONTEXTS.append(context)
