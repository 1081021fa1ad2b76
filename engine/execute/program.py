"""Statements to closures over a frame: the whole program, compiled once and run on NumPy.

A loop whose iterations are independent (`parallel`) becomes an axis and its body runs once for all of them, in chunks of bounded size; the
other loops run in order. Reductions therefore add up in the order of the program, and results are those of `interpret`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from ..ir import (
    Add,
    Allocate,
    AssertStmt,
    BinaryOp,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    LetStmt,
    Mul,
    PrimFunc,
    SeqStmt,
    Stmt,
    Sub,
    build,
    walk,
)
from . import errors
from .access import Strided, first_true, where_of
from .binding import Binding, bind, constant_shape, results
from .expressions import Expressions, Fn, decided, scalar_function
from .frames import Context, Frame, split
from .memory import Array, Memory, require_constant_shape
from .parallel import enter_block, independent_loops, loop_bounds, match_symbols
from .values import NO_OPERATION

Run = Callable[[Frame], None]

LARGEST_FRAME = 1 << 17  # elements computed at once: a few temporaries of this size stay in the cache
STEP_COST = 1500  # one closure call costs about as much as this many element operations


class Code(msgspec.Struct, frozen=True, eq=False):
    """A compiled statement. `volume`: elements of its largest frame over its own axes; `steps`: closures called;
    `work`: operations on elements. Both are upper bounds where loops are cut short."""

    run: Run
    volume: int = 1
    steps: int = 1
    work: int = 1


class Executable(msgspec.Struct, frozen=True, eq=False):
    """A program compiled for given arrays; `run` may be called once."""

    func: PrimFunc
    binding: Binding
    code: Code
    arrays: Mapping[str, Array]

    @property
    def cost(self) -> int:
        """The estimated time, in element operations of about a nanosecond."""
        return self.code.work + STEP_COST * self.code.steps

    def run(self) -> dict[str, Array]:
        """Every parameter's array after the run. Raises ExecuteError."""
        with np.errstate(all="ignore"):
            self.code.run(Frame({}, (), ()))
        return results(self.func, self.binding, self.arrays)


def compile_program(func: PrimFunc, arrays: Mapping[str, Array]) -> Executable:
    """Compile `func` for the shapes of `arrays`. Raises ExecuteError for arguments that do not fit and for what is not known."""
    binding = bind(func, arrays)
    scope = binding.scope
    compiler = _Compiler(dict(binding.memories), independent_loops(func.body, scope))
    aliases = {v: build.const(x, v.dtype) for v, x in binding.sizes.items()}
    with np.errstate(all="ignore"):
        code = compiler.compile(func.body, Context(scope, {}, aliases))
    return Executable(func, binding, code, arrays)


def run(func: PrimFunc, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Run `func` and return the array of every parameter buffer, by name. The given arrays are left as they are.

    A parameter may be left out when its shape follows from the others; it starts without values. Raises ExecuteError with the code
    "out-of-bounds" or "uninitialized-read" (with buffer, index and loop values), "division-by-zero", "assertion", "unknown-intrinsic",
    "unsupported" or "bad-argument".
    """
    return compile_program(func, arrays).run()


class _Compiler:
    def __init__(self, memories: dict[Buffer, Memory], axes: frozenset[For]) -> None:
        self.memories = memories
        self.axes = axes
        self.expressions = Expressions(memories)

    def compile(self, stmt: Stmt, context: Context) -> Code:
        return _COMPILE[type(stmt)](self, stmt, context)

    # -- loops

    def _loop(self, stmt: For, context: Context) -> Code:
        bounds = loop_bounds(context.scope, stmt)
        scope = context.scope.with_loop(stmt.loop_var, bounds)
        inner = replace(context, scope=scope, loops=(*context.loops, stmt.loop_var))
        first, extent = self._bound(stmt.min, context), self._bound(stmt.extent, context)
        if stmt in self.axes and bounds is not None:
            most = bounds[1] - bounds[0] + 1
            return self._axis(stmt, first, extent, most, replace(inner, axes=(*inner.axes, stmt.loop_var)))
        body = self.compile(stmt.body, inner)
        var, run_body = stmt.loop_var, body.run

        def in_order(frame: Frame) -> None:
            start = first(frame)
            values = frame.values
            for i in range(start, start + extent(frame)):
                values[var] = i
                run_body(frame)

        count = 1 if bounds is None else bounds[1] - bounds[0] + 1
        return Code(in_order, body.volume, count * (body.steps + 1), count * body.work)

    def _axis(
        self, stmt: For, first: Callable[[Frame], int], extent: Callable[[Frame], int], most: int, context: Context
    ) -> Code:
        """All iterations at once, in chunks that keep the frames of the body small."""
        body = self.compile(stmt.body, context)
        chunk, run_body = max(1, LARGEST_FRAME // body.volume), body.run

        def lockstep(frame: Frame) -> None:
            start = first(frame)
            stop = start + extent(frame)
            while start < stop:
                size = min(chunk, stop - start)
                run_body(Frame(frame.values, (*frame.starts, start), (*frame.sizes, size)))
                start += size

        chunks = -(-most // chunk)
        return Code(lockstep, min(chunk, most) * body.volume, chunks * (body.steps + 1), most * body.work)

    def _bound(self, expr: Expr, context: Context) -> Callable[[Frame], int]:
        form = context.scope.form(expr)
        if form is not None and all(context.is_scalar(v) for v in form.variables()):
            return scalar_function(form)
        value = self.expressions.compile(expr, context)
        return lambda frame: int(value(frame))

    # -- blocks and branches

    def _realize(self, stmt: BlockRealize, context: Context) -> Code:
        block = stmt.block
        outside = context
        aliases = dict(context.aliases)
        aliases.update(zip((i.var for i in block.iter_vars), stmt.iter_values, strict=True))
        scope = enter_block(context.scope, stmt)
        for match in block.match_buffers:
            aliases.update(match_symbols(match, context.scope))
        matches = {**context.matches, **{m.buffer: m for m in block.match_buffers}}
        context = replace(context, scope=scope, aliases=aliases, matches=matches)
        owned = [self._allocate(buffer, context) for buffer in block.alloc_buffers]
        parts: list[Code] = []
        if block.init is not None:
            starts = [build.eq(i.var, i.dom.min) for i in block.iter_vars if i.iter_type == "reduce"]
            parts.append(self._guarded(build.logical_and(*starts), block.init, None, context))
        parts.append(self.compile(block.body, context))
        inside = _in_turn(parts)
        if owned:
            inside = replace(inside, run=_after_reset(owned, inside.run))
        if decided(stmt.predicate, outside):
            return inside
        return self._guard(stmt.predicate, outside, inside, lambda c: self._realize(stmt, c), None, None)

    def _allocate(self, buffer: Buffer, context: Context) -> Memory:
        shape = require_constant_shape(buffer, constant_shape(buffer, context.scope))
        memory = self.memories[buffer] = self.memories.get(buffer) or Memory(buffer, shape)
        return memory

    def _allocate_stmt(self, stmt: Allocate, context: Context) -> Code:
        memory = self._allocate(stmt.buffer, context)
        body = self.compile(stmt.body, context)
        return replace(body, run=_after_reset([memory], body.run))

    def _branch(self, stmt: IfThenElse, context: Context) -> Code:
        return self._guarded(stmt.condition, stmt.then_case, stmt.else_case, context)

    def _guarded(self, condition: Expr, yes: Stmt, no: Stmt | None, context: Context) -> Code:
        known = decided(condition, context)
        if known is True:
            return self.compile(yes, context)
        if known is False:
            return Code(_nothing, steps=0, work=0) if no is None else self.compile(no, context)
        then = self.compile(yes, context)
        otherwise = None if no is None else self.compile(no, context)
        again = None if no is None else lambda c: self.compile(no, c)
        return self._guard(condition, context, then, lambda c: self.compile(yes, c), otherwise, again)

    def _guard(
        self,
        condition: Expr,
        context: Context,
        then: Code,
        then_at: Callable[[Context], Code],
        otherwise: Code | None,
        otherwise_at: Callable[[Context], Code] | None,
    ) -> Code:
        """`then` in the iterations where the condition holds, `otherwise` in the rest."""
        test = self.expressions.condition(condition, context)
        yes = _Case(then, then_at, context)
        no = None if otherwise is None or otherwise_at is None else _Case(otherwise, otherwise_at, context)

        def guard(frame: Frame) -> None:
            chosen = test(frame)
            if isinstance(chosen, np.ndarray):
                yes.run(frame, chosen)
                if no is not None:
                    no.run(frame, ~chosen)
            elif chosen:
                then.run(frame)
            elif otherwise is not None:
                otherwise.run(frame)

        codes = [then] if otherwise is None else [then, otherwise]
        return replace(_in_turn(codes), run=guard)

    def _sequence(self, stmt: SeqStmt, context: Context) -> Code:
        return _in_turn([self.compile(s, context) for s in stmt.seq])

    def _let(self, stmt: LetStmt, context: Context) -> Code:
        value, inner = self.expressions.bind_let(stmt.var, stmt.value, context)
        body = self.compile(stmt.body, inner)
        if value is None:
            return body

        def let(frame: Frame) -> None:
            frame.values[stmt.var] = value(frame)
            body.run(frame)

        return Code(let, body.volume, body.steps + 1, body.work + _size(stmt.value))

    def _assert(self, stmt: AssertStmt, context: Context) -> Code:
        test = self.expressions.condition(stmt.condition, context)
        body = self.compile(stmt.body, context)

        def check(frame: Frame) -> None:
            holds = np.asarray(test(frame))
            if not holds.all():
                where = where_of(frame, context, first_true(~holds, frame) if holds.ndim else ())
                raise errors.assertion_failed(stmt.message, where, (stmt,))
            body.run(frame)

        return Code(check, body.volume, body.steps + 1, body.work + _size(stmt.condition))

    # -- leaves

    def _evaluate(self, stmt: Evaluate, context: Context) -> Code:
        if build.is_noop(stmt) or (isinstance(stmt.value, Call) and stmt.value.op in NO_OPERATION):
            return Code(_nothing, steps=0, work=0)
        value = self.expressions.compile(stmt.value, context)
        return Code(lambda frame: cast("None", value(frame)), work=_size(stmt.value))

    def _store(self, stmt: BufferStore, context: Context) -> Code:
        target = self.expressions.access(stmt.buffer, stmt.indices, "write", context, stmt)
        size = _size(stmt)
        update = self._update(stmt, target, context)
        if update is not None:
            return Code(update, work=size)
        value = self.expressions.compile(stmt.value, context)
        return Code(lambda frame: target.store(frame, value(frame)), work=size)

    def _update(self, stmt: BufferStore, target: Any, context: Context) -> Run | None:
        """`C[i] = C[i] + x` on a view, in place."""
        value = stmt.value
        ufunc = _IN_PLACE.get(type(value))
        if ufunc is None or not isinstance(value, BinaryOp) or not isinstance(value.a, BufferLoad):
            return None
        source = self.expressions.access(value.a.buffer, value.a.indices, "read", context, value.a)
        if not isinstance(source, Strided) or not isinstance(target, Strided) or not context.rank:
            return None
        same = source.memory is target.memory and source.base == target.base and source.steps == target.steps
        if not same or set(source.scalars) != set(target.scalars) or value.b.dtype != value.dtype:
            return None
        added: Fn = self.expressions.compile(value.b, context)

        def update(frame: Frame) -> None:
            view = source.elements(frame)
            source.require_written(frame)
            ufunc(view, added(frame), out=view)

        return update


_IN_PLACE: Mapping[type[Expr], Any] = MappingProxyType({Add: np.add, Sub: np.subtract, Mul: np.multiply})


class _Case:
    """A statement under a condition, compiled for whole frames and, when that is first needed, for points."""

    def __init__(self, whole: Code, at: Callable[[Context], Code], context: Context) -> None:
        self.whole, self.at, self.context = whole, at, context
        self.points: Code | None = None

    def run(self, frame: Frame, mask: Array) -> None:
        if mask.all():
            self.whole.run(frame)
        elif mask.any():
            for piece in split(frame, self.context, mask):
                if piece.is_points and self.points is None:
                    self.points = self.at(self.context.as_points())
                (self.points if piece.is_points and self.points is not None else self.whole).run(piece.frame)


def _nothing(frame: Frame) -> None:
    pass


def _in_turn(codes: list[Code]) -> Code:
    steps, work = sum(c.steps for c in codes), sum(c.work for c in codes)
    volume = max(c.volume for c in codes)
    runs = [c.run for c in codes if c.run is not _nothing]
    if len(runs) == 1:
        return Code(runs[0], volume, steps, work)

    def in_turn(frame: Frame) -> None:
        for each in runs:
            each(frame)

    return Code(in_turn, volume, steps, work)


def _after_reset(memories: list[Memory], body: Run) -> Run:
    """`body` upon buffers that hold no values yet."""

    def fresh(frame: Frame) -> None:
        for memory in memories:
            memory.reset()
        body(frame)

    return fresh


def _size(node: Expr | Stmt) -> int:
    """Operations of one iteration, roughly: the nodes of its expressions."""
    return sum(1 for _ in walk(node))


_COMPILE = cast(
    "Mapping[type[Stmt], Callable[[_Compiler, Stmt, Context], Code]]",
    MappingProxyType(
        {
            Allocate: _Compiler._allocate_stmt,
            AssertStmt: _Compiler._assert,
            BlockRealize: _Compiler._realize,
            BufferStore: _Compiler._store,
            Evaluate: _Compiler._evaluate,
            For: _Compiler._loop,
            IfThenElse: _Compiler._branch,
            LetStmt: _Compiler._let,
            SeqStmt: _Compiler._sequence,
        }
    ),
)
