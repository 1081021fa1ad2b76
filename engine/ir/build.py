"""Node constructors: constants, operators that match dtypes and fold constants, statements without needless nesting.

Folding follows TVM's operators (`x + 0`, `x * 1`, constants), so that the same calls give structurally equal programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from . import dtype as dt
from .buffer import Buffer, BufferLoad, BufferRegion
from .expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Predicate,
    Ramp,
    Range,
    Select,
    Sub,
    Var,
)
from .stmt import Allocate, Annotations, Evaluate, For, SeqStmt, Stmt

ExprLike = Expr | int | float | bool
_NUMBERS = (int, float)
"""Python's numbers: tests for them are quicker than tests for `Expr`, the base class of many."""


class DTypeError(TypeError):
    """Operands without a common dtype."""


def const(value: int | float | bool, dtype: str) -> Expr:
    """Return the constant `value` of `dtype`, in each lane of a vector."""
    if dt.is_index(dtype):
        return IntImm(int(value), dtype)
    if dt.is_vector(dtype):
        return broadcast(const(value, dt.element(dtype)), dtype)
    if dt.is_float(dtype):
        return FloatImm(float(value), dtype)
    return IntImm(int(value), dtype)


def broadcast(value: Expr, like: str) -> Expr:
    """Broadcast the scalar `value` to the lanes of the type `like`."""
    scale, _, number = like.partition("x")[2].rpartition("x")
    lanes = IntImm(int(number))
    return Broadcast(value, Mul(Call(scale, (), "int32"), lanes) if scale else lanes)


TRUE = IntImm(1, "bool")
FALSE = IntImm(0, "bool")


def as_expr(value: ExprLike, dtype: str | None = None) -> Expr:
    """Convert `value` to an expression; Python numbers become bool, int32 or float32 unless `dtype` is given."""
    if not isinstance(value, _NUMBERS):
        return value
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    return const(value, dtype)


def int_value(expr: Expr | None) -> int | None:
    """Return the value of an integer constant, else None."""
    return expr.value if type(expr) is IntImm else None


def is_const(expr: Expr, value: int | float) -> bool:
    """Whether `expr` is the constant `value`."""
    return (type(expr) is IntImm or type(expr) is FloatImm) and expr.value == value


def is_true(expr: Expr) -> bool:
    return type(expr) is IntImm and expr.value != 0


def cast(value: ExprLike, dtype: str) -> Expr:
    """Convert `value` to `dtype`; integer constants are converted immediately if they fit."""
    value = as_expr(value, dtype if not isinstance(value, Expr) else None)
    if value.dtype == dtype:
        return value
    if dt.is_vector(dtype) and not dt.is_vector(value.dtype):
        return broadcast(cast(value, dt.element(dtype)), dtype)
    if isinstance(value, IntImm) and (dt.is_int(dtype) or dt.is_float(dtype)) and fits(value.value, dtype):
        return const(value.value, dtype)
    if isinstance(value, FloatImm) and dt.is_float(dtype):
        return FloatImm(value.value, dtype)
    return Cast(dtype, value)


def fits(value: int, dtype: str) -> bool:
    """Whether `dtype` can represent `value`; floats always can."""
    if dt.is_float(dtype):
        return True
    low, high = dt.int_range(dtype)
    return low <= value <= high


def match_dtypes(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Convert both operands to one dtype: a Python number gets the other's, an int becomes a float, the narrower the wider."""
    if isinstance(a, _NUMBERS):
        b = as_expr(b)
        a = as_expr(a, _literal_dtype(a, b.dtype))
    if isinstance(b, _NUMBERS):
        b = as_expr(b, _literal_dtype(b, a.dtype))
    left, right = a.dtype, b.dtype
    if left == right:
        return a, b
    if dt.is_vector(left) or dt.is_vector(right):
        return _match_lanes(a, b)
    target = _common_dtype(left, right)
    return cast(a, target), cast(b, target)


def _match_lanes(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Broadcast a scalar operand, then convert both vectors to one dtype."""
    if not dt.is_vector(a.dtype):
        a = broadcast(a, b.dtype)
    if not dt.is_vector(b.dtype):
        b = broadcast(b, a.dtype)
    left, right = dt.element(a.dtype), dt.element(b.dtype)
    if a.dtype != dt.with_lanes_of(left, b.dtype):
        raise DTypeError(f"{a.dtype} and {b.dtype} have different numbers of lanes")
    target = dt.with_lanes_of(left if left == right else _common_dtype(left, right), a.dtype)
    return cast(a, target), cast(b, target)


def _literal_dtype(value: int | float | bool, other: str) -> str | None:
    if isinstance(value, float) and not dt.is_float(other):
        return None
    return None if other in ("bool", "handle") else other


def _common_dtype(a: str, b: str) -> str:
    if "handle" in (a, b):
        raise DTypeError(f"no common dtype of {a} and {b}")
    if dt.is_float(a) != dt.is_float(b):
        return a if dt.is_float(a) else b
    if a == "bool" or b == "bool":
        return b if a == "bool" else a
    if dt.bits(a) == dt.bits(b):
        return a if a.startswith("uint") else b
    return a if dt.bits(a) > dt.bits(b) else b


def add(a: ExprLike, b: ExprLike) -> Expr:
    if (a.__class__ is Ramp or b.__class__ is Ramp) and (moved := _moved_ramp(Add, a, b)):
        return moved
    a, b = match_dtypes(a, b)
    if is_const(a, 0):
        return b
    if is_const(b, 0):
        return a
    return _fold(Add, a, b, lambda x, y: x + y)


def _moved_ramp(kind: type[Add | Sub | Mul], a: ExprLike, b: ExprLike) -> Expr | None:
    """Apply an operation to a ramp and a scalar; the result is a ramp, as an index must be. None if the operands are not a ramp and a
    scalar."""
    a, b = as_expr(a), as_expr(b)
    if kind is not Sub and isinstance(b, Ramp):
        a, b = b, a
    if not isinstance(a, Ramp) or dt.is_vector(b.dtype):
        return None
    if kind is Mul:
        return Ramp(mul(a.base, b), mul(a.stride, b), a.lanes)
    return Ramp(add(a.base, b) if kind is Add else sub(a.base, b), a.stride, a.lanes)


def sub(a: ExprLike, b: ExprLike) -> Expr:
    if a.__class__ is Ramp and (moved := _moved_ramp(Sub, a, b)):
        return moved
    a, b = match_dtypes(a, b)
    if is_const(b, 0):
        return a
    return _fold(Sub, a, b, lambda x, y: x - y)


def mul(a: ExprLike, b: ExprLike) -> Expr:
    if (a.__class__ is Ramp or b.__class__ is Ramp) and (moved := _moved_ramp(Mul, a, b)):
        return moved
    a, b = match_dtypes(a, b)
    if is_const(a, 1):
        return b
    if is_const(b, 1):
        return a
    if dt.is_int(a.dtype) and (is_const(a, 0) or is_const(b, 0)):
        return const(0, a.dtype)
    return _fold(Mul, a, b, lambda x, y: x * y)


def div(a: ExprLike, b: ExprLike) -> Expr:
    """Divide floats, or integers with C's truncating division."""
    a, b = match_dtypes(a, b)
    if is_const(b, 1):
        return a
    if dt.is_int(a.dtype):
        return _fold_division(Div, a, b, lambda x, y: int(math.copysign(abs(x) // abs(y), x * y)))
    return Div(a, b)


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """C's remainder, of integers or floats."""
    a, b = match_dtypes(a, b)
    if not dt.is_int(a.dtype):
        return Mod(a, b)
    return _fold_division(Mod, a, b, lambda x, y: x - y * int(math.copysign(abs(x) // abs(y), x * y)))


def floordiv(a: ExprLike, b: ExprLike) -> Expr:
    a, b = match_dtypes(a, b)
    if is_const(b, 1):
        return a
    return _fold_division(FloorDiv, a, b, lambda x, y: x // y)


def floormod(a: ExprLike, b: ExprLike) -> Expr:
    a, b = match_dtypes(a, b)
    if is_const(b, 1) and dt.is_int(a.dtype):
        return const(0, a.dtype)
    return _fold_division(FloorMod, a, b, lambda x, y: x % y)


def minimum(a: ExprLike, b: ExprLike) -> Expr:
    a, b = match_dtypes(a, b)
    return a if a is b else _fold(Min, a, b, min)


def maximum(a: ExprLike, b: ExprLike) -> Expr:
    a, b = match_dtypes(a, b)
    return a if a is b else _fold(Max, a, b, max)


def _fold(kind: type[Expr], a: Expr, b: Expr, compute: Callable[[int, int], int]) -> Expr:
    """Return `kind(a, b)`, or its value if both are integer constants and it fits the dtype. Floats are not folded."""
    if type(a) is IntImm and type(b) is IntImm and dt.is_int(a.dtype):
        value = compute(a.value, b.value)
        if fits(value, a.dtype):
            return IntImm(value, a.dtype)
    return kind(a, b)  # pyright: ignore[reportCallIssue]


def _fold_division(kind: type[Expr], a: Expr, b: Expr, compute: Callable[[int, int], int]) -> Expr:
    if is_const(b, 0):
        raise ZeroDivisionError("division by the constant zero")
    if is_const(a, 0) and dt.is_int(a.dtype):
        return a
    return _fold(kind, a, b, compute)


_COMPARE: dict[type[Predicate], Callable[[float, float], bool]] = {
    EQ: lambda x, y: x == y,
    NE: lambda x, y: x != y,
    LT: lambda x, y: x < y,
    LE: lambda x, y: x <= y,
    GT: lambda x, y: x > y,
    GE: lambda x, y: x >= y,
}


def compare(kind: type[Predicate], a: ExprLike, b: ExprLike) -> Expr:
    """Build EQ, NE, LT, LE, GT or GE of two values in one dtype."""
    a, b = match_dtypes(a, b)
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return TRUE if _COMPARE[kind](a.value, b.value) else FALSE
    return kind(a, b)


def eq(a: ExprLike, b: ExprLike) -> Expr:
    return compare(EQ, a, b)


def lt(a: ExprLike, b: ExprLike) -> Expr:
    return compare(LT, a, b)


def le(a: ExprLike, b: ExprLike) -> Expr:
    return compare(LE, a, b)


def ge(a: ExprLike, b: ExprLike) -> Expr:
    return compare(GE, a, b)


def logical_and(*terms: ExprLike) -> Expr:
    """Build the conjunction, left to right, without constant truths."""
    result: Expr = TRUE
    for term in map(as_expr, terms):
        if is_true(result):
            result = term
        elif isinstance(term, IntImm):
            result = result if term.value else FALSE
        elif not is_const(result, 0):
            result = And(result, term)
    return result


def logical_or(a: ExprLike, b: ExprLike) -> Expr:
    a, b = as_expr(a), as_expr(b)
    if isinstance(a, IntImm):
        return TRUE if a.value else b
    if isinstance(b, IntImm):
        return TRUE if b.value else a
    return Or(a, b)


def logical_not(a: ExprLike) -> Expr:
    a = as_expr(a)
    if isinstance(a, IntImm):
        return FALSE if a.value else TRUE
    return a.a if isinstance(a, Not) else Not(a)


def conjuncts(predicate: Expr) -> list[Expr]:
    """Return the terms that `logical_and` joined; none for the constant truth."""
    if isinstance(predicate, And):
        return conjuncts(predicate.a) + conjuncts(predicate.b)
    return [] if is_true(predicate) else [predicate]


def select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    true_value, false_value = match_dtypes(true_value, false_value)
    return Select(as_expr(condition), true_value, false_value)


def if_then_else(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """Build `Call("if_then_else")`: only the chosen value is evaluated, so the other may be out of bounds."""
    true_value, false_value = match_dtypes(true_value, false_value)
    return Call("if_then_else", (as_expr(condition), true_value, false_value), true_value.dtype)


def load(buffer: Buffer, indices: Iterable[ExprLike]) -> BufferLoad:
    return BufferLoad(buffer, tuple(map(as_expr, indices)))


def make_range(min_: ExprLike, extent: ExprLike) -> Range:
    min_, extent = match_dtypes(min_, extent)
    return Range(min_, extent)


def point(index: Expr) -> Range:
    """Return the range of one element; for a ramp, the range from its first to its last element."""
    if isinstance(index, Ramp):
        return _span(index)
    return Range(index, const(1, index.dtype))


def _span(ramp: Ramp) -> Range:
    return Range(ramp.base, add(mul(sub(ramp.lanes, 1), ramp.stride), 1))


def full_region(buffer: Buffer) -> BufferRegion:
    """Return the region of the whole `buffer`."""
    return BufferRegion(buffer, tuple(Range(const(0, e.dtype), e) for e in buffer.shape))


def seq(stmts: Sequence[Stmt]) -> Stmt:
    """Join statements in order; nested sequences are flattened and empty ones dropped."""
    flat = list(_flatten(stmts))
    if not flat:
        return Evaluate(IntImm(0))
    return flat[0] if len(flat) == 1 else SeqStmt(tuple(flat))


def _flatten(stmts: Iterable[Stmt]) -> Iterable[Stmt]:
    for stmt in stmts:
        if isinstance(stmt, SeqStmt):
            yield from _flatten(stmt.seq)
        elif not _is_empty(stmt):
            yield stmt


def _is_empty(stmt: Stmt) -> bool:
    """Whether it is `T.evaluate(0)`, which `seq` creates for an empty sequence."""
    value = stmt.value if isinstance(stmt, Evaluate) else None
    return isinstance(value, IntImm) and value.value == 0 and value.dtype == "int32"


def allocate(buffers: Sequence[Buffer], body: Stmt, annotations: Annotations = ()) -> Stmt:
    """Wrap `body` in an Allocate, merged with an Allocate at its top, so that thousands of buffers do not nest thousands deep."""
    if isinstance(body, Allocate) and not body.annotations and not annotations:
        return Allocate((*buffers, *body.buffers), body.body)
    return Allocate(tuple(buffers), body, annotations) if buffers else body


def is_noop(stmt: Stmt) -> bool:
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def nest(loops: Sequence[For], body: Stmt) -> Stmt:
    """Wrap `body` in copies of `loops`, outermost first; their own bodies are dropped."""
    for loop in reversed(loops):
        body = For(loop.loop_var, loop.min, loop.extent, loop.kind, body, loop.thread_tag, loop.annotations)
    return body


def serial(var: Var, extent: ExprLike, body: Stmt) -> For:
    """Build `for var in range(extent): body`."""
    return For(var, const(0, var.dtype), as_expr(extent, var.dtype), "serial", body)


class Term:
    """An expression with Python's operators, for index maps given as Python lambdas."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __add__(self, other: TermLike) -> Term:
        return Term(add(self.expr, unwrap(other)))

    def __radd__(self, other: TermLike) -> Term:
        return Term(add(unwrap(other), self.expr))

    def __sub__(self, other: TermLike) -> Term:
        return Term(sub(self.expr, unwrap(other)))

    def __rsub__(self, other: TermLike) -> Term:
        return Term(sub(unwrap(other), self.expr))

    def __mul__(self, other: TermLike) -> Term:
        return Term(mul(self.expr, unwrap(other)))

    def __rmul__(self, other: TermLike) -> Term:
        return Term(mul(unwrap(other), self.expr))

    def __floordiv__(self, other: TermLike) -> Term:
        return Term(floordiv(self.expr, unwrap(other)))

    def __mod__(self, other: TermLike) -> Term:
        return Term(floormod(self.expr, unwrap(other)))

    def __neg__(self) -> Term:
        return Term(sub(0, self.expr))


TermLike = Term | Expr | int


def unwrap(value: TermLike) -> Expr | int:
    return value.expr if isinstance(value, Term) else value
