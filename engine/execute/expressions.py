"""Expressions to closures over a frame: each returns a NumPy scalar or an array of the frame's rank, in the expression's dtype.

A value under a condition (`if_then_else`, the right side of `and`) is computed for the iterations that choose it only, so that it may be
out of bounds or undefined in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    BinaryOp,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Node,
    Not,
    Or,
    Predicate,
    Select,
    Var,
    build,
    walk,
)
from ..ir import dtype as dt
from . import errors
from .access import Check, Gathered, Span, Strided, first_true, where_of
from .affine import Affine, combine, evaluate, interval
from .binding import constant_shape
from .frames import Context, Frame, grow, split
from .memory import Memory, require_constant_shape
from .parallel import resolve
from .values import BINARY, COMPARISONS, DIVISIONS, KNOWN_INTRINSICS, UNARY, binary, convert, numpy_dtype, scalar

Fn = Callable[[Frame], Any]


class Expressions:
    """Compiles expressions of one program whose buffers live in `memories`."""

    def __init__(self, memories: dict[Buffer, Memory]) -> None:
        self.memories = memories

    def compile(self, expr: Expr, context: Context) -> Fn:
        """The closure. Raises ExecuteError for what is not known."""
        if dt.is_int(expr.dtype) and not isinstance(expr, BufferLoad):
            form = context.scope.form(expr)
            if form is not None and all(context.is_scalar(v) for v in form.variables()):
                return _typed(scalar_function(form), expr.dtype)
        if isinstance(expr, BinaryOp):
            return self._arithmetic(expr, context)
        if isinstance(expr, Predicate) and not isinstance(expr, And | Or):
            return self._comparison(expr, context)
        return _COMPILE[type(expr)](self, expr, context)

    # -- conditions

    def condition(self, expr: Expr, context: Context) -> Fn:
        """As `compile`, but a comparison of scalars is decided in Python, and one that the ranges decide is constant."""
        known = decided(expr, context)
        if known is not None:
            return lambda frame: known
        if isinstance(expr, Predicate) and type(expr) in _TESTS:
            difference = _difference(expr, context)
            if difference is not None and all(context.is_scalar(v) for v in difference.variables()):
                value, test = scalar_function(difference), _TESTS[type(expr)]
                return lambda frame: test(value(frame))
        if isinstance(expr, And):
            left, right = decided(expr.a, context), decided(expr.b, context)
            if left is True or right is True:
                return self.condition(expr.b if left is True else expr.a, context)
        return self.compile(expr, context)

    # -- operators

    def _arithmetic(self, expr: BinaryOp, context: Context) -> Fn:
        a, b = self.compile(expr.a, context), self.compile(expr.b, context)
        function, kind = binary(type(expr), expr.dtype), numpy_dtype(expr.dtype)
        same = expr.a.dtype == expr.b.dtype
        if isinstance(expr, DIVISIONS) and not dt.is_float(expr.dtype):
            return self._division(expr, a, b, context)
        if same:
            return lambda frame: function(a(frame), b(frame))
        return lambda frame: function(a(frame), b(frame)).astype(kind, copy=False)

    def _division(self, expr: BinaryOp, a: Fn, b: Fn, context: Context) -> Fn:
        function, kind = binary(type(expr), expr.dtype), numpy_dtype(expr.dtype)
        if isinstance(expr.b, IntImm) and expr.b.value:
            return lambda frame: function(a(frame), b(frame)).astype(kind, copy=False)

        def divide(frame: Frame) -> Any:
            numerator, divisor = a(frame), b(frame)
            zero = np.equal(divisor, 0)
            if np.any(zero):
                where = where_of(frame, context, first_true(np.asarray(zero), frame))
                raise errors.division_by_zero(where, (expr,))
            return function(numerator, divisor).astype(kind, copy=False)

        return divide

    def _comparison(self, expr: Predicate, context: Context) -> Fn:
        a, b, function = self.compile(expr.a, context), self.compile(expr.b, context), COMPARISONS[type(expr)]
        return lambda frame: function(a(frame), b(frame))

    def _logic(self, expr: And | Or, context: Context) -> Fn:
        if can_fail(expr.b, context):
            chosen = (expr.b, build.FALSE) if isinstance(expr, And) else (build.TRUE, expr.b)
            return self._choice(expr.a, *chosen, context)
        a, b = self.condition(expr.a, context), self.condition(expr.b, context)
        function = np.logical_and if isinstance(expr, And) else np.logical_or
        return lambda frame: function(a(frame), b(frame))

    def _not(self, expr: Not, context: Context) -> Fn:
        a = self.condition(expr.a, context)
        return lambda frame: np.logical_not(a(frame))

    def _select(self, expr: Select, context: Context) -> Fn:
        condition = self.condition(expr.condition, context)
        true_value, false_value = self.compile(expr.true_value, context), self.compile(expr.false_value, context)

        def select(frame: Frame) -> Any:
            # Both sides, in the interpreter's order: Select promises no laziness.
            yes, no = true_value(frame), false_value(frame)
            chosen = condition(frame)
            if isinstance(chosen, np.ndarray):
                return np.where(chosen, yes, no)
            return yes if chosen else no

        return select

    def _choice(self, condition: Expr, yes: Expr, no: Expr, context: Context) -> Fn:
        """`yes` where the condition holds, else `no`, each computed for its own iterations only."""
        known = decided(condition, context)
        if known is not None:
            return self.compile(yes if known else no, context)
        test, kind = self.condition(condition, context), numpy_dtype(yes.dtype)
        sides = (_Branch(self, yes, context), _Branch(self, no, context))

        def choose(frame: Frame) -> Any:
            chosen = test(frame)
            if not isinstance(chosen, np.ndarray):
                return sides[0 if chosen else 1].whole(frame)
            if chosen.all():
                return sides[0].whole(frame)
            if not chosen.any():
                return sides[1].whole(frame)
            result = np.empty(frame.sizes, kind)
            for side, mask in zip(sides, (chosen, ~chosen), strict=True):
                side.fill(result, frame, mask)
            return result

        return choose

    def _cast(self, expr: Cast, context: Context) -> Fn:
        value, kind = self.compile(expr.value, context), numpy_dtype(expr.dtype)
        return lambda frame: value(frame).astype(kind, copy=False)

    def _call(self, expr: Call, context: Context) -> Fn:
        if expr.op == "if_then_else":
            return self._choice(*cast("tuple[Expr, Expr, Expr]", expr.args), context)
        args = [self.compile(a, context) for a in expr.args]
        if expr.op in UNARY and len(args) == 1:
            only, unary = args[0], UNARY[expr.op]
            return lambda frame: convert(unary(only(frame)), expr.dtype)
        if expr.op in BINARY and len(args) == 2:
            (a, b), function = args, BINARY[expr.op]
            return lambda frame: convert(function(a(frame), b(frame)), expr.dtype)
        raise errors.unknown_intrinsic(expr.op, KNOWN_INTRINSICS, (expr,))

    # -- names

    def _variable(self, expr: Var, context: Context) -> Fn:
        kind, rank = numpy_dtype(expr.dtype), context.rank
        if expr in context.aliases:
            return self.compile(context.aliases[expr], context)
        if expr in context.lets:
            return lambda frame: grow(frame.values[expr], rank)
        if expr in context.points:
            return lambda frame: grow(frame.values[expr], rank).astype(kind, copy=False)
        axis = context.position(expr)
        if axis is None:
            if expr not in context.loops and expr not in context.scope.forms:
                raise errors.unsupported(
                    f"the unbound variable {expr.name}", "a loop, an iterator or a parameter", (expr,)
                )
            return lambda frame: scalar(frame.values[expr], expr.dtype)
        shape = tuple(-1 if n == axis else 1 for n in range(rank))
        latest: dict[tuple[int, int], Any] = {}

        def along(frame: Frame) -> Any:
            key = (frame.starts[axis], frame.sizes[axis])
            found = latest.get(key)
            if found is None:
                latest.clear()
                found = latest[key] = np.arange(key[0], key[0] + key[1]).astype(kind).reshape(shape)
            return found

        return along

    def _let(self, expr: Let, context: Context) -> Fn:
        value, inner = self.bind_let(expr.var, expr.value, context)
        body = self.compile(expr.body, inner)
        if value is None:
            return body

        def let(frame: Frame) -> Any:
            frame.values[expr.var] = value(frame)
            return body(frame)

        return let

    def bind_let(self, var: Var, value: Expr, context: Context) -> tuple[Fn | None, Context]:
        """The closure that computes the value, or None when the name can stand for the expression itself."""
        scope = context.scope.with_value(var, context.scope.form(value))
        if dt.is_int(value.dtype) and scope.forms[var] is not None:
            return None, replace(context, scope=scope, aliases={**context.aliases, var: value})
        function = self.compile(value, context)
        lets = {**context.lets, var: context.rank}

        def own(frame: Frame) -> Any:
            found = function(frame)  # a view would show later writes
            return found.copy() if isinstance(found, np.ndarray) else found

        return own, replace(context, scope=scope, lets=lets)

    def _int(self, expr: IntImm, context: Context) -> Fn:
        value = scalar(expr.value, expr.dtype)
        return lambda frame: value

    def _float(self, expr: FloatImm, context: Context) -> Fn:
        value = scalar(expr.value, expr.dtype)
        return lambda frame: value

    # -- memory

    def _load(self, expr: BufferLoad, context: Context) -> Fn:
        return self.access(expr.buffer, expr.indices, "read", context, expr).load

    def access(
        self, buffer: Buffer, indices: tuple[Expr, ...], action: str, context: Context, node: Node
    ) -> Strided | Gathered:
        """How to reach the elements of `buffer` at `indices`; for a matched buffer, those of the buffer behind it."""
        checks: list[Check] = []
        while True:
            check = self._check(buffer, indices, action, context, node)
            if check is not None:
                checks.append(check)
            if buffer not in context.matches:
                break
            one = {buffer: context.matches[buffer]}
            buffer, indices = resolve(buffer, indices, one)
        memory = self.memories[buffer]
        forms = [context.scope.form(i) for i in indices]
        linear = [f for f in forms if f is not None and is_linear(f, context)]
        if len(linear) == len(indices):
            return Strided(memory, linear, context, checks, node)
        return Gathered(memory, [self.compile(i, context) for i in indices], context, checks, node)

    def _check(
        self, buffer: Buffer, indices: tuple[Expr, ...], action: str, context: Context, node: Node
    ) -> Check | None:
        shape = self.shape(buffer, context)
        if len(indices) != len(shape):
            raise errors.unsupported(f"{len(indices)} indices into {buffer.name}", f"{len(shape)} indices", (node,))
        doubtful: list[tuple[int, Span | None]] = []
        for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
            bounds = context.scope.interval(index)
            if bounds is None or bounds[0] < 0 or bounds[1] >= extent:
                form = context.scope.form(index)
                doubtful.append((axis, Span(form, context) if form is not None and is_linear(form, context) else None))
        if not doubtful:
            return None
        return Check(buffer.name, action, [self.compile(i, context) for i in indices], shape, doubtful, node)

    def shape(self, buffer: Buffer, context: Context) -> tuple[int, ...]:
        if buffer not in context.matches:
            if buffer not in self.memories:
                raise errors.unsupported(f"buffer {buffer.name}, which nothing allocates", nodes=(buffer,))
            return self.memories[buffer].shape
        return require_constant_shape(buffer, constant_shape(buffer, context.scope))


class _Branch:
    """One side of a choice, compiled for the whole frame and, when it is first needed, for points."""

    def __init__(self, owner: Expressions, expr: Expr, context: Context) -> None:
        self.owner, self.expr, self.context = owner, expr, context
        self.whole = owner.compile(expr, context)
        self.safe = not can_fail(expr, context)
        self.points: Fn | None = None

    def fill(self, result: Any, frame: Frame, mask: Any) -> None:
        """Compute where `mask` holds and put it there."""
        if self.safe:
            np.copyto(result, self.whole(frame), where=np.broadcast_to(mask, result.shape))
            return
        for piece in split(frame, self.context, mask):
            if not piece.is_points:
                result[piece.selector] = self.whole(piece.frame)
                continue
            if self.points is None:
                self.points = self.owner.compile(self.expr, self.context.as_points())
            result[piece.selector] = self.points(piece.frame)


def is_linear(form: Affine, context: Context) -> bool:
    """Whether the form is a sum over scalars and range axes."""
    return form.is_linear and not any(v in context.points for v in form.variables())


def scalar_function(form: Affine) -> Callable[[Frame], int]:
    """A form of scalars as a function to int."""
    if not form.terms:
        value = form.constant
        return lambda frame: value
    if form.is_linear:
        terms, base = form.coefficients(), form.constant
        if len(terms) == 1:
            (var, coefficient) = terms[0]
            return lambda frame: base + coefficient * frame.values[var]
        return lambda frame: base + sum([c * frame.values[v] for v, c in terms])
    return lambda frame: cast("int", evaluate(form, frame.values.__getitem__))


def _typed(function: Callable[[Frame], int], dtype: str) -> Fn:
    kind = numpy_dtype(dtype).type
    return lambda frame: kind(function(frame))


def _difference(expr: Predicate, context: Context) -> Affine | None:
    """`a - b` of integers, as a form."""
    a = context.scope.form(expr.a)
    b = None if a is None else context.scope.form(expr.b)
    return None if a is None or b is None else combine(a, b, -1)


# A comparison by the sign of `a - b`.
_TESTS: Mapping[type[Expr], Callable[[int], bool]] = MappingProxyType(
    {
        EQ: lambda d: d == 0,
        NE: lambda d: d != 0,
        LT: lambda d: d < 0,
        LE: lambda d: d <= 0,
        GT: lambda d: d > 0,
        GE: lambda d: d >= 0,
    }
)


def decided(expr: Expr, context: Context) -> bool | None:
    """What a condition is in every iteration, where the ranges tell."""
    if isinstance(expr, IntImm):
        return bool(expr.value)
    if isinstance(expr, And | Or):
        known = (decided(expr.a, context), decided(expr.b, context))
        absorbing = isinstance(expr, Or)  # one side that is this decides
        if known[0] is absorbing:
            return absorbing
        return None if None in known else known[1]
    test = _TESTS.get(type(expr))
    difference = _difference(expr, context) if test is not None and isinstance(expr, Predicate) else None
    bounds = None if difference is None else interval(difference, context.scope.ranges)
    if test is None or bounds is None:
        return None
    signs = {(-1 if n < 0 else 1 if n > 0 else 0) for n in bounds}
    if bounds[0] < 0 < bounds[1]:
        signs.add(0)
    answers = {test(sign) for sign in signs}
    return answers.pop() if len(answers) == 1 else None


def can_fail(expr: Expr, context: Context) -> bool:
    """Whether computing it in an iteration that did not ask for it could raise."""
    return any(
        isinstance(node, BufferLoad)
        or (
            isinstance(node, DIVISIONS)
            and not dt.is_float(node.dtype)
            and not (isinstance(node.b, IntImm) and node.b.value)
        )
        or (isinstance(node, Var) and node in context.aliases and can_fail(context.aliases[node], context))
        for node in walk(expr)
    )


_COMPILE = cast(
    "Mapping[type[Expr], Callable[[Expressions, Expr, Context], Fn]]",
    MappingProxyType(
        {
            And: Expressions._logic,
            BufferLoad: Expressions._load,
            Call: Expressions._call,
            Cast: Expressions._cast,
            FloatImm: Expressions._float,
            IntImm: Expressions._int,
            Let: Expressions._let,
            Not: Expressions._not,
            Or: Expressions._logic,
            Select: Expressions._select,
            Var: Expressions._variable,
        }
    ),
)
