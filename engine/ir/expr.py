"""Expressions: frozen nodes compared by identity, named as in TVM's `tirx`. No logic here; `build` creates and folds them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from . import dtype as dt


class Node(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Root of all IR nodes. Two nodes are equal only if they are one object; see `equal` for structural equality.

    Without `gc`: a frozen node cannot be in a cycle, and the collector would visit millions of them.
    """


class Expr(Node, frozen=True, eq=False):
    """A value without side effects. Every expression has a `dtype`: a field if it can be chosen, otherwise derived from the operands."""

    @property
    def dtype(self) -> str:
        raise NotImplementedError


class Var(Expr, frozen=True, eq=False):
    """A name for a value: loop variables, block iterators, size parameters. The object is the identity, not the name.

    `points_to` are the element type and the scope of a typed pointer, `T.handle("float32", "shared")`.
    """

    name: str
    dtype: str = "int32"  # pyright: ignore[reportIncompatibleMethodOverride]
    points_to: tuple[str, ...] = ()


class IntImm(Expr, frozen=True, eq=False):
    """An integer or, with dtype "bool", a truth value (0 or 1)."""

    value: int
    dtype: str = "int32"  # pyright: ignore[reportIncompatibleMethodOverride]


class FloatImm(Expr, frozen=True, eq=False):
    value: float
    dtype: str = "float32"  # pyright: ignore[reportIncompatibleMethodOverride]


class StringImm(Expr, frozen=True, eq=False):
    value: str

    @property
    def dtype(self) -> str:
        return "handle"


class Verbatim(Expr, frozen=True, eq=False):
    """A value that is only read and printed, such as `T.target("cuda")`. Its text uses no name of the program."""

    text: str

    @property
    def dtype(self) -> str:
        return "handle"


class BinaryOp(Expr, frozen=True, eq=False):
    """Arithmetic on two operands of one dtype, which is also the dtype of the result."""

    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        first: Any = self.a
        while first.__class__ in _BINARY_OPS:  # a sum of hundreds is a chain of hundreds
            first = first.a
        return first.dtype


class Add(BinaryOp, frozen=True, eq=False): ...


class Sub(BinaryOp, frozen=True, eq=False): ...


class Mul(BinaryOp, frozen=True, eq=False): ...


class Div(BinaryOp, frozen=True, eq=False):
    """Float division, and C's truncating division on integers (`T.truncdiv`)."""


class Mod(BinaryOp, frozen=True, eq=False):
    """C's remainder on integers (`T.truncmod`)."""


class FloorDiv(BinaryOp, frozen=True, eq=False): ...


class FloorMod(BinaryOp, frozen=True, eq=False): ...


class Min(BinaryOp, frozen=True, eq=False): ...


class Max(BinaryOp, frozen=True, eq=False): ...


_BINARY_OPS = frozenset(BinaryOp.__subclasses__())
"""Looked up in the hot path: `isinstance` takes ten times as long for an object of another class."""


class Predicate(Expr, frozen=True, eq=False):
    """Comparisons and logic on two operands: the result is bool, one per lane for vectors."""

    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        return dt.with_lanes_of("bool", self.a.dtype)


class EQ(Predicate, frozen=True, eq=False): ...


class NE(Predicate, frozen=True, eq=False): ...


class LT(Predicate, frozen=True, eq=False): ...


class LE(Predicate, frozen=True, eq=False): ...


class GT(Predicate, frozen=True, eq=False): ...


class GE(Predicate, frozen=True, eq=False): ...


class And(Predicate, frozen=True, eq=False): ...


class Or(Predicate, frozen=True, eq=False): ...


class Not(Expr, frozen=True, eq=False):
    a: Expr

    @property
    def dtype(self) -> str:
        return self.a.dtype


class Select(Expr, frozen=True, eq=False):
    """A choice that may evaluate both values; a `Call("if_then_else", …)` evaluates only the chosen one."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    @property
    def dtype(self) -> str:
        return self.true_value.dtype


class Cast(Expr, frozen=True, eq=False):
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]
    value: Expr


class Let(Expr, frozen=True, eq=False):
    """The expression `body` with `var` bound to `value`."""

    var: Var
    value: Expr
    body: Expr

    @property
    def dtype(self) -> str:
        return self.body.dtype


class Ramp(Expr, frozen=True, eq=False):
    """The vector `base, base + stride, …`; `lanes` is a number, or a multiple of `vscale()`. As the last index of an access it selects a
    vector of elements. A program here has no other index vectors."""

    base: Expr
    stride: Expr
    lanes: Expr

    @property
    def dtype(self) -> str:
        return _vector(self.base.dtype, self.lanes)


class Broadcast(Expr, frozen=True, eq=False):
    """The vector with `value` in all `lanes`."""

    value: Expr
    lanes: Expr

    @property
    def dtype(self) -> str:
        return _vector(self.value.dtype, self.lanes)


def _vector(element: str, lanes: Expr) -> str:
    match lanes:
        case IntImm(value=number):
            return f"{element}x{number}"
        case Mul(a=Call(op="vscale"), b=IntImm(value=number)) | Mul(a=IntImm(value=number), b=Call(op="vscale")):
            return f"{element}xvscalex{number}"
        case _:
            raise ValueError("lanes must be an integer, or an integer times vscale()")


class Call(Expr, frozen=True, eq=False):
    """An intrinsic by its TVMScript name: "exp", "sqrt", "if_then_else", "call_extern", …"""

    op: str
    args: tuple[Expr, ...]
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]


IterType = Literal["spatial", "reduce", "scan", "opaque"]


class Range(Node, frozen=True, eq=False):
    """A half-open range: `min <= x < min + extent`."""

    min: Expr
    extent: Expr


class IterVar(Node, frozen=True, eq=False):
    """A block iterator: its variable, its domain, and its kind (spatial, reduce, …)."""

    var: Var
    dom: Range
    iter_type: IterType = "spatial"
