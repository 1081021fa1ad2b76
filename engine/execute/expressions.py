"""Compilation of expressions to closures over a frame.

Only the chosen side of `if_then_else`, and the right side of `and`/`or` if the left leaves the result open, may fail. Each side is computed
for the boxes of iterations that chose it, or, if there are many boxes, for all iterations at once unless that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from ..arith import Analyzer, linear
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
    BufferStore,
    Call,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Not,
    Or,
    Predicate,
    Select,
    Var,
    build,
    uses_var,
    walk,
)
from ..ir import dtype as dt
from . import errors
from .axes import Ranges
from .frames import CompileContext, Fn, Frame, Meter, boxes, first_place
from .memory import BufferMemory, CheckedAxis, Form, Gathered, Reach, Strided
from .values import (
    BINARY,
    COMPARISONS,
    DIVISIONS,
    KNOWN_INTRINSICS,
    UNARY,
    binary,
    choose,
    convert,
    numpy_dtype,
    scalar,
)

MOST_BOXES = 16  # with more boxes, both sides of a choice are computed for all iterations


class Expressions:
    """A compiler of expressions for the given memories and ranges of loop variables."""

    def __init__(self, memories: Mapping[Buffer, BufferMemory], ranges: Ranges, meter: Meter) -> None:
        self.memories = memories
        self.meter = meter
        self.analyzer = Analyzer(ranges)

    def compile(self, expr: Expr, context: CompileContext) -> Fn:
        """A closure that computes the value at every place of a frame."""
        kind = type(expr)
        if isinstance(expr, And | Or):
            return self._logic(expr, context)
        if isinstance(expr, BinaryOp):
            return self._arithmetic(expr, context)
        if isinstance(expr, Predicate):
            return self._comparison(expr, context)
        method = _COMPILE.get(kind)
        if method is None:
            raise errors.unsupported(f"a {kind.__name__} as a value", nodes=(expr,))
        return method(self, expr, context)

    # -- operators

    def _arithmetic(self, expr: BinaryOp, context: CompileContext) -> Fn:
        a, b = self.compile(expr.a, context), self.compile(expr.b, context)
        function = binary(type(expr), expr.dtype)
        if not isinstance(expr, DIVISIONS) or dt.is_float(expr.dtype):
            return lambda frame: function(a(frame), b(frame))
        if isinstance(expr.b, IntImm) and expr.b.value:
            return lambda frame: function(a(frame), b(frame))

        def divide(frame: Frame) -> Any:
            divisor = b(frame)
            zero = np.equal(divisor, 0)
            if np.any(zero):
                raise errors.division_by_zero(context.where(frame, first_place(zero, frame)), expr)
            return function(a(frame), divisor)

        return divide

    def _comparison(self, expr: Predicate, context: CompileContext) -> Fn:
        function = COMPARISONS[type(expr)]
        form = self.form(build.sub(expr.a, expr.b), context) if is_index(expr.a) and is_index(expr.b) else None
        if form is not None:
            signs = _SIGNS[type(expr)]

            def by_range(frame: Frame) -> Any:
                low, high = form.extremes(frame)
                known = signs(low, high)
                return function(form.values(frame), 0) if known is None else known

            return by_range
        a, b = self.compile(expr.a, context), self.compile(expr.b, context)
        return lambda frame: function(a(frame), b(frame))

    def _logic(self, expr: And | Or, context: CompileContext) -> Fn:
        if can_fail(expr.b):
            sides = (expr.b, build.FALSE) if isinstance(expr, And) else (build.TRUE, expr.b)
            return self.choice(expr.a, *sides, context)
        a, b = self.compile(expr.a, context), self.compile(expr.b, context)
        function = np.logical_and if isinstance(expr, And) else np.logical_or
        return lambda frame: function(a(frame), b(frame))

    def negation(self, expr: Not, context: CompileContext) -> Fn:
        a = self.compile(expr.a, context)
        return lambda frame: np.logical_not(a(frame))

    def select(self, expr: Select, context: CompileContext) -> Fn:
        parts = [self.compile(e, context) for e in (expr.condition, expr.true_value, expr.false_value)]

        def select(frame: Frame) -> Any:
            chosen, yes, no = (part(frame) for part in parts)
            return choose(chosen, yes, no)

        return select

    def choice(self, condition: Expr, yes: Expr, no: Expr, context: CompileContext) -> Fn:
        """`yes` if the condition holds, otherwise `no`; each side is computed only for the iterations that choose it."""
        test, sides = self.compile(condition, context), (self.compile(yes, context), self.compile(no, context))
        kind = numpy_dtype(yes.dtype)

        def by_side(frame: Frame) -> Any:
            chosen = np.asarray(test(frame))
            if chosen.all():
                return sides[0](frame)
            if not chosen.any():
                return sides[1](frame)
            masks = (chosen, ~chosen)
            found = [_few_boxes(mask) for mask in masks]
            if None in found:
                try:
                    return choose(chosen, sides[0](frame), sides[1](frame))
                except errors.ExecuteError:
                    # Some iterations must not compute the side that they did not choose.
                    found = [boxes(mask) for mask in masks]
            result = np.empty(frame.sizes, kind)
            for side, parts in zip(sides, found, strict=True):
                for box in parts or ():
                    self.meter.spend(1)
                    result[box] = side(frame.part(box))
            return result

        return by_side

    def cast(self, expr: Cast, context: CompileContext) -> Fn:
        value = self.compile(expr.value, context)
        numpy_dtype(expr.dtype)
        return lambda frame: convert(value(frame), expr.dtype)

    def call(self, expr: Call, context: CompileContext) -> Fn:
        if expr.op == "if_then_else":
            return self.choice(*cast("tuple[Expr, Expr, Expr]", expr.args), context)
        args = [self.compile(a, context) for a in expr.args] if expr.op in UNARY or expr.op in BINARY else []
        if expr.op in UNARY and len(args) == 1:
            only, unary = args[0], UNARY[expr.op]
            return lambda frame: convert(unary(only(frame)), expr.dtype)
        if expr.op in BINARY and len(args) == 2:
            (a, b), function = args, BINARY[expr.op]
            return lambda frame: convert(function(a(frame), b(frame)), expr.dtype)
        raise errors.unsupported(f"the intrinsic {expr.op!r}", "one of " + ", ".join(KNOWN_INTRINSICS), (expr,))

    # -- names

    def variable(self, expr: Var, context: CompileContext) -> Fn:
        kind = numpy_dtype(expr.dtype)
        if expr in context.lets:
            return lambda frame: frame.env[expr]
        if expr in context.loops:
            return lambda frame: scalar(frame.env[expr], expr.dtype)
        if expr not in context.axes:
            raise errors.unsupported(f"the unbound variable {expr.name}", "a loop, an iterator or a parameter", (expr,))
        axis = context.axes.index(expr)
        shape = tuple(-1 if n == axis else 1 for n in range(len(context.axes)))

        def along(frame: Frame) -> Any:
            start = frame.starts[axis]
            return np.arange(start, start + frame.sizes[axis]).astype(kind).reshape(shape)

        return along

    def let(self, expr: Let, context: CompileContext) -> Fn:
        value = self.compile(expr.value, context)
        body = self.compile(expr.body, replace(context, lets=(*context.lets, expr.var)))

        def let(frame: Frame) -> Any:
            frame.env[expr.var] = value(frame)
            return body(frame)

        return let

    def constant(self, expr: IntImm | FloatImm, context: CompileContext) -> Fn:
        value = scalar(expr.value, expr.dtype)
        return lambda frame: value

    # -- memory

    def load(self, expr: BufferLoad, context: CompileContext) -> Fn:
        return self.reach(expr, context).load

    def reach(self, access: BufferLoad | BufferStore, context: CompileContext) -> Reach:
        """The accessor for the elements of a load or a store."""
        memory = self.memories.get(access.buffer)
        if memory is None:
            raise errors.unsupported(f"buffer {access.buffer.name}, which is not allocated", nodes=(access.buffer,))
        forms = [self.form(index, context) if is_index(index) else None for index in access.indices]
        indices = [self.compile(index, context) for index in access.indices]
        bounds: list[CheckedAxis] = []
        for axis, (index, extent) in enumerate(zip(access.indices, memory.shape, strict=True)):
            known = self.analyzer.bounds(index) if is_index(index) else None
            if known is None or known.low is None or known.high is None or known.low < 0 or known.high >= extent:
                bounds.append(CheckedAxis(axis, forms[axis]))
        linear_forms = [form for form in forms if form is not None]
        if len(linear_forms) < len(forms):
            return Gathered(memory, access, indices, bounds, context)
        total = Form.total(linear_forms, memory.steps, len(context.axes))
        return Strided(memory, access, indices, bounds, context, total)

    def form(self, index: Expr, context: CompileContext) -> Form | None:
        """The index as a linear form over the axes, or None."""
        found = linear(index)
        if found is None:
            return None
        loops: list[tuple[Var, int]] = []
        others: list[tuple[Fn, int]] = []
        steps = [0] * len(context.axes)
        for atom, factor in found.terms:
            if isinstance(atom, Var) and atom in context.axes:
                steps[context.axes.index(atom)] = factor
            elif isinstance(atom, Var) and atom in context.loops:
                loops.append((atom, factor))
            elif any(uses_var(atom, v) for v in context.axes):
                return None
            else:
                others.append((self.compile(atom, context), factor))
        return Form(found.constant, tuple(loops), tuple(others), tuple(steps))


def is_index(expr: Expr) -> bool:
    """Whether exact integers can represent the value: it contains no data, whose arithmetic may wrap."""
    return expr.dtype in ("int32", "int64") and not any(
        isinstance(n, BufferLoad | Cast | Call | Let) for n in walk(expr)
    )


def can_fail(expr: Expr) -> bool:
    """Whether evaluation could raise in an iteration that does not need the value."""
    return any(
        isinstance(node, BufferLoad)
        or (isinstance(node, DIVISIONS) and not (isinstance(node.b, IntImm) and node.b.value))
        for node in walk(expr)
    )


def _few_boxes(mask: Any) -> list[tuple[slice, ...]] | None:
    found: list[tuple[slice, ...]] = []
    for box in boxes(mask):
        found.append(box)
        if len(found) > MOST_BOXES:
            return None
    return found


def _decide_equal(low: int, high: int) -> bool | None:
    return False if low > 0 or high < 0 else True if low == high else None


def _decide_less(low: int, high: int) -> bool | None:
    return True if high < 0 else False if low >= 0 else None


def _decide_less_equal(low: int, high: int) -> bool | None:
    return True if high <= 0 else False if low > 0 else None


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


# The constant result of a comparison of `a` and `b` for `low <= a - b <= high`; None if the result varies.
_SIGNS: Mapping[type[Expr], Callable[[int, int], bool | None]] = MappingProxyType(
    {
        EQ: _decide_equal,
        NE: lambda low, high: _opposite(_decide_equal(low, high)),
        LT: _decide_less,
        LE: _decide_less_equal,
        GT: lambda low, high: _opposite(_decide_less_equal(low, high)),
        GE: lambda low, high: _opposite(_decide_less(low, high)),
    }
)

_COMPILE = cast(
    "Mapping[type[Expr], Callable[[Expressions, Expr, CompileContext], Fn]]",
    MappingProxyType(
        {
            BufferLoad: Expressions.load,
            Call: Expressions.call,
            Cast: Expressions.cast,
            FloatImm: Expressions.constant,
            IntImm: Expressions.constant,
            Let: Expressions.let,
            Not: Expressions.negation,
            Select: Expressions.select,
            Var: Expressions.variable,
        }
    ),
)
