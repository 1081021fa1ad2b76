"""Compilation of statements to closures over a frame; the compiled program runs on NumPy.

A loop that `axes` proves independent becomes an axis of the frame: its body runs once for all iterations, in chunks of bounded size.
Other loops run in order. Folds follow program order, so the result equals that of sequential execution, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import Any, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from ..cancellation import checkpoint
from ..ir import (
    Allocate,
    AssertStmt,
    BinaryOp,
    Buffer,
    BufferStore,
    Call,
    Cast,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    LetStmt,
    Predicate,
    Select,
    SeqStmt,
    Stmt,
    While,
    build,
    uses_var,
    walk,
)
from . import errors
from .axes import Kind, Ranges, StoreUpdate, find_update
from .expressions import Expressions
from .frames import STEP_COST, Array, CompileContext, Fn, Frame, Meter, Run, boxes, first_place
from .memory import BufferMemory
from .plain import Within
from .values import NO_OPERATION, fold

LARGEST_FRAME = 1 << 17  # elements computed at once: a few temporaries of this size fit in the cache


class Code(msgspec.Struct, frozen=True, eq=False):
    """A compiled statement. `volume`: elements of its largest frame or allocation, over the axes within it. `work`: element operations, and
    `steps`: closure calls, if all loops run in full and all branches run."""

    run: Run
    volume: int = 1
    work: int = 0
    steps: int = 0

    @property
    def cost(self) -> int:
        """The work, with calls counted as so many elements."""
        return self.work + self.steps * STEP_COST


class Statements:
    """A compiler of plain statements. `kinds` gives the loops that are axes; the compiler adds memories of allocations to `memories`."""

    def __init__(
        self,
        memories: dict[Buffer, BufferMemory],
        shapes: Mapping[Buffer, tuple[int, ...]],
        ranges: Ranges,
        kinds: Mapping[Any, Kind],
        meter: Meter,
    ) -> None:
        self.memories, self.shapes, self.ranges, self.kinds, self.meter = memories, shapes, ranges, kinds, meter
        self.expressions = Expressions(memories, ranges, meter)

    def compile(self, stmt: Stmt, context: CompileContext) -> Code:
        method = _COMPILE.get(type(stmt))
        if method is None:
            raise errors.unsupported(f"a {type(stmt).__name__}", nodes=(stmt,))
        return method(self, stmt, context)

    # -- loops

    def loop(self, stmt: For, context: CompileContext) -> Code:
        var, spend = stmt.loop_var, self.meter.spend
        first, extent = self._number(stmt.min, context), self._number(stmt.extent, context)
        kind = self.kinds.get(var)
        if kind is not None:
            return self._axis(stmt, kind, first, extent, context)
        body = self.compile(stmt.body, replace(context, loops=(*context.loops, var)))
        run = body.run

        def in_order(frame: Frame) -> None:
            start = first(frame)
            env = frame.env
            for i in range(start, start + extent(frame)):
                spend(0)
                env[var] = i
                run(frame)

        trips = self._trips(stmt)
        return Code(in_order, body.volume, trips * body.work, trips * (body.steps + 1))

    def _axis(self, stmt: For, kind: Kind, first: Fn, extent: Fn, context: CompileContext) -> Code:
        """A closure that runs all iterations at once, in chunks that keep the frames of the body small."""
        inner, position = context.with_axis(stmt.loop_var, kind)
        body = self.compile(stmt.body, inner)
        run, chunk = body.run, max(1, LARGEST_FRAME // body.volume)

        def lockstep(frame: Frame) -> None:
            start = first(frame)
            stop = start + extent(frame)
            starts, sizes = frame.starts, frame.sizes
            while start < stop:
                size = min(chunk, stop - start)
                run(
                    Frame(
                        frame.env,
                        (*starts[:position], start, *starts[position:]),
                        (*sizes[:position], size, *sizes[position:]),
                    )
                )
                start += size

        most = self._trips(stmt)
        return Code(lockstep, min(chunk, most) * body.volume, most * body.work, -(-most // chunk) * body.steps)

    def _trips(self, stmt: For) -> int:
        """The upper bound of the loop's iterations; 1 if unknown."""
        known = self.ranges.get(stmt.loop_var)
        return 1 if known is None else build.int_value(known.extent) or 1

    def _number(self, expr: Expr, context: CompileContext) -> Fn:
        """A loop bound, the same for the whole frame."""
        known = build.int_value(expr)
        if known is not None:
            return lambda frame: known
        value = self.expressions.compile(expr, context)
        return lambda frame: int(np.asarray(value(frame)).item())

    def repeat(self, stmt: While, context: CompileContext) -> Code:
        """All loops around run in order, so the condition is one value."""
        test, body = self.expressions.compile(stmt.condition, context), self.compile(stmt.body, context)

        def until_false(frame: Frame) -> None:
            while test(frame):
                self.meter.spend(0)
                body.run(frame)

        return replace(body, run=until_false)

    # -- branches

    def branch(self, stmt: IfThenElse, context: CompileContext) -> Code:
        tests = [self.expressions.compile(term, context) for term in build.conjuncts(stmt.condition)]
        then = self.compile(stmt.then_case, context)
        otherwise = None if stmt.else_case is None else self.compile(stmt.else_case, context)
        if otherwise is None:

            def guard(frame: Frame) -> None:
                for part in self._narrowed(frame, tests, 0):
                    then.run(part)

            return Code(guard, then.volume, then.work, then.steps)
        whole = self.expressions.compile(stmt.condition, context)

        def choose(frame: Frame) -> None:
            chosen = np.asarray(whole(frame))
            for mask, case in ((chosen, then), (~chosen, otherwise)):
                for box in boxes(mask):
                    self.meter.spend(0)
                    case.run(frame.part(box) if box else frame)

        work, steps = then.work + otherwise.work, then.steps + otherwise.steps
        return Code(choose, max(then.volume, otherwise.volume), work, steps)

    def _narrowed(self, frame: Frame, tests: list[Fn], number: int) -> Iterator[Frame]:
        """The parts of the frame in which all tests hold, narrowed by one test after the other."""
        if number == len(tests):
            yield frame
            return
        chosen = tests[number](frame)
        if not isinstance(chosen, np.ndarray):
            if chosen:
                yield from self._narrowed(frame, tests, number + 1)
            return
        for box in boxes(cast("Array", chosen)):
            self.meter.spend(0)
            yield from self._narrowed(frame.part(box), tests, number + 1)

    # -- structure

    def sequence(self, stmt: SeqStmt, context: CompileContext) -> Code:
        codes = [self.compile(s, context) for s in stmt.seq]
        runs = [code.run for code in codes]

        def in_turn(frame: Frame) -> None:
            for run in runs:
                run(frame)

        work, steps = sum(code.work for code in codes), sum(code.steps for code in codes)
        return Code(in_turn, max(code.volume for code in codes), work, steps)

    def within(self, stmt: Within, context: CompileContext) -> Code:
        return self.compile(stmt.body, replace(context, block=stmt.name))

    def allocate(self, stmt: Allocate, context: CompileContext) -> Code:
        made = [BufferMemory(b.name, b.dtype, self.shapes[b], context.axes) for b in stmt.buffers]
        self.memories.update(zip(stmt.buffers, made, strict=True))
        body = self.compile(stmt.body, context)

        def fresh(frame: Frame) -> None:
            for memory in made:
                memory.clear(frame)
            body.run(frame)

        sizes = [memory.size for memory in made]
        return Code(fresh, max(body.volume, *sizes), body.work + sum(sizes), body.steps)

    def let(self, stmt: LetStmt, context: CompileContext) -> Code:
        value = self.expressions.compile(stmt.value, context)
        body = self.compile(stmt.body, replace(context, lets=(*context.lets, stmt.var)))

        def let(frame: Frame) -> None:
            frame.env[stmt.var] = value(frame)
            body.run(frame)

        return replace(body, run=let)

    def assertion(self, stmt: AssertStmt, context: CompileContext) -> Code:
        test = self.expressions.compile(stmt.condition, context)
        body = self.compile(stmt.body, context)

        def check(frame: Frame) -> None:
            failed = np.logical_not(test(frame))
            if np.any(failed):
                raise errors.assertion_failed(stmt.message, context.where(frame, first_place(failed, frame)), stmt)
            body.run(frame)

        return replace(body, run=check)

    # -- leaves

    def evaluate(self, stmt: Evaluate, context: CompileContext) -> Code:
        if build.is_noop(stmt) or (isinstance(stmt.value, Call) and stmt.value.op in NO_OPERATION):
            return Code(lambda frame: None)
        value = self.expressions.compile(stmt.value, context)
        return Code(lambda frame: cast("None", value(frame)))

    def store(self, stmt: BufferStore, context: CompileContext) -> Code:
        checkpoint()
        spend, work = self.meter.spend, operations(stmt)
        own = self.memories[stmt.buffer].lanes  # each lane has a separate sum
        folded = [
            n
            for n, var in enumerate(context.axes[: context.folding])
            if var not in own and not any(uses_var(i, var) for i in stmt.indices)
        ]
        update = find_update(stmt) if folded else None
        target = self.expressions.reach(stmt, context)
        if update is not None:
            return Code(self._fold(stmt, update, folded, context), work=work, steps=1)
        value = self.expressions.compile(stmt.value, context)

        def store(frame: Frame) -> None:
            spend(work * prod(frame.sizes))
            target.store(frame, value(frame))

        return Code(store, work=work, steps=1)

    def _fold(self, stmt: BufferStore, update: StoreUpdate, folded: list[int], context: CompileContext) -> Run:
        """`X[i] = X[i] op e` along axes that the index does not use: computes all of e first, then folds in order."""
        source, target = self.expressions.reach(update.load, context), self.expressions.reach(stmt, context)
        value = self.expressions.compile(update.value, context)
        spend, work = self.meter.spend, operations(stmt)
        front = list(range(len(folded)))

        def run(frame: Frame) -> None:
            spend(work * prod(frame.sizes))
            # X depends on no folded axis: one element represents all.
            one = frame.part(tuple(slice(0, 1) if n in folded else slice(None) for n in range(len(frame.sizes))))
            values = np.asarray(value(frame))
            shape = list(values.shape) or [1] * len(frame.sizes)
            for n in folded:
                shape[n] = frame.sizes[n]
            values = np.broadcast_to(values, shape)
            steps = [frame.sizes[n] for n in folded]
            rest = [size for n, size in enumerate(shape) if n not in folded]
            values = np.moveaxis(values, folded, front).reshape(prod(steps), *rest)
            current: Array = np.asarray(source.load(one))
            kept = [size for n, size in enumerate(current.shape) if n not in folded] if current.ndim else []
            result = fold(update.op, stmt.value.dtype, update.flipped, current.reshape(kept), values)
            target.store(one, np.expand_dims(result, tuple(folded)) if result.ndim else result)

        return run


def operations(stmt: BufferStore) -> int:
    """The cost of one iteration of a store, in passes over its elements."""
    return 1 + sum(1 for node in walk(stmt.value) if isinstance(node, BinaryOp | Predicate | Call | Select | Cast))


_COMPILE = cast(
    "Mapping[type[Stmt], Callable[[Statements, Stmt, CompileContext], Code]]",
    MappingProxyType(
        {
            Allocate: Statements.allocate,
            AssertStmt: Statements.assertion,
            BufferStore: Statements.store,
            Evaluate: Statements.evaluate,
            For: Statements.loop,
            IfThenElse: Statements.branch,
            LetStmt: Statements.let,
            SeqStmt: Statements.sequence,
            While: Statements.repeat,
            Within: Statements.within,
        }
    ),
)
