"""Integer expressions and conditions as isl text; quasi-affine ones only."""

from __future__ import annotations

from collections.abc import Mapping

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

Names = Mapping[Var, str]
"""The isl names of loop variables and parameters."""

_SIGNS: dict[type[Expr], str] = {
    Add: "+", Sub: "-", EQ: "=", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", And: "and", Or: "or",
}  # fmt: skip


class NotAffine(Exception):  # noqa: N818
    """The expression is not quasi-affine in the loop variables and parameters."""


def affine(expr: Expr, names: Names) -> str:
    """An integer expression as isl text. Raises NotAffine."""
    match expr:
        case IntImm(value=value):
            return str(value) if value >= 0 else f"({value})"
        case Var() if expr in names:
            return names[expr]
        case Add() | Sub():
            return f"({affine(expr.a, names)} {_SIGNS[type(expr)]} {affine(expr.b, names)})"
        case Mul(a=a, b=b):
            if isinstance(b, IntImm):
                a, b = b, a
            if isinstance(a, IntImm):
                return (
                    f"({a.value} * {affine(b, names)})"  # isl requires the constant factor first, without parentheses
                )
        case FloorDiv(a=a, b=IntImm(value=d)) if d > 0:
            return f"floor(({affine(a, names)}) / {d})"
        case FloorMod(a=a, b=IntImm(value=d)) if d > 0:
            return f"(({affine(a, names)}) mod {d})"
        case Min() | Max():
            name = "min" if isinstance(expr, Min) else "max"
            return f"{name}({affine(expr.a, names)}, {affine(expr.b, names)})"
        case Select(condition=c, true_value=t, false_value=f) | Call(op="if_then_else", args=(c, t, f)):
            return f"({condition(c, names)} ? {affine(t, names)} : {affine(f, names)})"
        case Cast(value=value) if dt.is_index(expr.dtype) and dt.is_index(value.dtype):
            return affine(value, names)
        case Call(op="likely", args=(value,)):
            return affine(value, names)
        case _:
            pass
    raise NotAffine


def condition(expr: Expr, names: Names) -> str:
    """A condition as isl text. Raises NotAffine."""
    match expr:
        case IntImm(value=value):
            return "(0 = 0)" if value else "(0 = 1)"
        case And() | Or():
            return f"({condition(expr.a, names)} {_SIGNS[type(expr)]} {condition(expr.b, names)})"
        case Not(a=a):
            return f"(not {condition(a, names)})"
        case EQ() | NE() | LT() | LE() | GT() | GE() if dt.is_index(expr.a.dtype):
            return f"({affine(expr.a, names)} {_SIGNS[type(expr)]} {affine(expr.b, names)})"
        case Call(op="likely", args=(value,)):
            return condition(value, names)
        case _:
            raise NotAffine
