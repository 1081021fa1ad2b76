"""A function as isl sees it: statements with their iterations, times, reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import islpy as isl
import msgspec
from propcache.api import cached_property

from ..arith import Names, NotAffine, affine_text, condition_text, value_cases
from ..cancellation import checkpoint
from ..execute import ParameterLayout
from ..ir import (
    EQ,
    Allocate,
    AssertStmt,
    Block,
    BlockRealize,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    Let,
    LetStmt,
    Node,
    PrimFunc,
    Ramp,
    SeqStmt,
    Stmt,
    Var,
    addressed_buffers,
    child_stmts,
    children,
    rewrite,
    substitute,
    walk,
)
from ..lower import PASSES, is_fragment, is_shared_over, size_variables
from .errors import Differs, UndecidedError

PREPARED_BY = ("PlanAndUpdateBufferAllocationLocation", "LowerMatchBuffer")
"""Passes that determine which iterations share a buffer, and the memory of a matched buffer."""
END = "E"
"""The space of the reads after the last statement, one per element."""
CONCURRENT = ("parallel", "vectorized", "thread_binding")


class Statement(msgspec.Struct, frozen=True, eq=False):
    """A store with its enclosing loops. Its instances are the points of `domain`; `time` orders the instances of all statements.

    `iters` maps to the values of the enclosing block's iterators, in the order of their names. `value` depends on loops and buffers only.
    """

    name: str
    store: BufferStore
    loops: tuple[For, ...]
    names: Names
    domain: isl.Set
    time: isl.Map
    write: isl.Map
    block: str
    iter_names: tuple[str, ...]
    iters: isl.Map

    @property
    def value(self) -> Expr:
        return self.store.value


class StatementProgram:
    """The statements of a function. Parameters are named P0, P1, … by position, so that those of two functions match."""

    def __init__(self, func: PrimFunc, context: isl.Context, label: str) -> None:
        passes = {p.name: p.apply for p in PASSES}
        for name in PREPARED_BY:
            func = passes[name](func)
        self.func, self.context, self.label = func, context, label
        self._require_plain()
        self.scalars = {v: f"p_{n}" for n, v in enumerate(size_variables(func).values())}
        self._spaces = {b: f"P{n}" for n, b in enumerate(func.buffers)}
        self._private: dict[Buffer, tuple[For, ...]] = {}
        self._threads = _threads_around(func.body)
        self._reads: dict[tuple[str, BufferLoad], isl.Map] = {}
        self.statements: dict[str, Statement] = {}
        for raw in list(self._stores(func.body, _Place())):
            statement = self._statement(raw)
            self._require_inside(statement)
            self.statements[statement.name] = statement

    def writers(self, buffer: Buffer) -> list[Statement]:
        return self._writers.get(buffer, [])

    @cached_property
    def _writers(self) -> dict[Buffer, list[Statement]]:
        found: dict[Buffer, list[Statement]] = {}
        for statement in self.statements.values():
            found.setdefault(statement.store.buffer, []).append(statement)
        return found

    def is_param(self, buffer: Buffer) -> bool:
        return self._spaces[buffer].startswith("P")

    def access(self, statement: Statement, load: BufferLoad) -> isl.Map:
        """The element that each instance reads."""
        key = (statement.name, load)
        if key not in self._reads:
            reads = self._access(statement.name, statement.loops, statement.names, load.buffer, load.indices)
            self._reads[key] = reads.intersect_domain(statement.domain)
        return self._reads[key]

    def shape_of(self, buffer: Buffer) -> isl.Set:
        """The elements of a buffer, in the space of its accesses."""
        extra = [f"l{n}" for n in range(len(self._private.get(buffer, ())))]
        axes = [f"e{n}" for n in range(len(buffer.shape))]
        try:
            bounds = [f"0 <= {e} < {affine_text(s, self.scalars)}" for e, s in zip(axes, buffer.shape, strict=True)]
        except NotAffine:
            raise UndecidedError(f"the shape of {buffer.name} is not affine") from None
        return self.set(f"{self._spaces[buffer]}[{', '.join((*extra, *axes))}]", bounds)

    def set(self, space: str, bounds: list[str]) -> isl.Set:
        checkpoint()
        known = [f"{p} >= 1" for p in self._extents]  # buffers are not empty
        return isl.Set.read_from_str(
            self.context, f"{self._parameters} -> {{ {space} : {' and '.join((*bounds, *known)) or '0 = 0'} }}"
        )

    def map(self, text: str) -> isl.Map:
        checkpoint()
        return isl.Map.read_from_str(self.context, f"{self._parameters} -> {{ {text} }}")

    def _mapped(
        self, space: str, target: str, values: Sequence[Expr], names: Names, first: Sequence[str] = ()
    ) -> isl.Map:
        """Maps each point of a space to the names of `first` and the values there. Raises NotAffine."""
        return self.map(
            "; ".join(
                f"{space} -> {target}[{', '.join((*first, *texts))}] : {where}0 = 0"
                for where, texts in value_cases(values, names)
            )
        )

    def is_gather(self, statement: Statement, load: BufferLoad) -> bool:
        """Whether data selects the element of an input."""
        if self.writers(load.buffer) or not self.is_param(load.buffer):
            return False
        try:
            value_cases(load.indices, statement.names)
        except NotAffine:
            return True
        return False

    def places(self, buffer: Buffer, layouts: Sequence[ParameterLayout]) -> isl.Map:
        """Maps each element of a parameter to its place after the layouts of that parameter."""
        space = self._spaces[buffer]
        elements = self.shape_of(buffer)
        found = identity(elements)
        for layout in layouts:
            if layout.name != buffer.name:
                continue
            names: dict[Var, str] = {**self.scalars, **{v: f"e{n}" for n, v in enumerate(layout.index_map.params)}}
            axes = ", ".join(names[v] for v in layout.index_map.params)
            try:
                moved = self._mapped(f"{space}[{axes}]", space, layout.index_map.indices, names)
            except NotAffine:
                raise UndecidedError(f"the layout of {buffer.name} is not affine") from None
            found = found.apply_range(moved)
        return found

    def final_reads(self, buffer: Buffer) -> isl.Map:
        """Reads of every element, as instances of E."""
        elements = self.shape_of(buffer)
        axes = ", ".join(f"e{n}" for n in range(elements.dim(isl.dim_type.set)))
        return self.map(f"{END}[{axes}] -> {self._spaces[buffer]}[{axes}]").intersect_range(elements)

    def point_text(self, point: isl.Point) -> str:
        """A point as text: the block with its loops, or the element of an output."""
        points = isl.Set.from_point(point)
        count = points.dim(isl.dim_type.set)
        numbers = [str(point.get_coordinate_val(isl.dim_type.set, n)) for n in range(count)]
        statement = self.statements.get(str(points.get_tuple_name()))
        if statement is None:
            return f"element [{', '.join(numbers)}]"
        at = ", ".join(f"{f.loop_var.name}={v}" for f, v in zip(statement.loops, numbers, strict=True))
        return f"{statement.block}({at})"

    def after_all(self, reads: isl.Map) -> isl.Map:
        """A time after every statement, for the instances of `reads`."""
        name = reads.get_tuple_name(isl.dim_type.in_)
        axes = ", ".join(f"e{n}" for n in range(reads.dim(isl.dim_type.in_)))
        times = ", ".join(("1", *["0"] * (self._depth - 1)))
        return self.map(f"{name}[{axes}] -> T[{times}]").intersect_domain(reads.domain())

    def values(self, statement: Statement, expr: Expr) -> isl.Map:
        """The value of an integer expression at each instance. Raises NotAffine."""
        return self._mapped(_space(statement), "V", (expr,), statement.names).intersect_domain(statement.domain)

    def where(self, statement: Statement, expr: Expr) -> isl.Set:
        """The instances at which a condition holds. Raises NotAffine."""
        return self.set(_space(statement), [condition_text(expr, statement.names)]).intersect(statement.domain)

    @cached_property
    def _parameters(self) -> str:
        return f"[{', '.join(self.scalars.values())}]"

    @cached_property
    def _extents(self) -> list[str]:
        sizes = {s for buffer in self.func.buffers for s in buffer.shape}
        return [name for var, name in self.scalars.items() if var in sizes]

    def _require_plain(self) -> None:
        addressed = addressed_buffers(self.func.body)
        if addressed:
            raise UndecidedError(f"the address of {next(iter(addressed)).name} is used")
        for buffer in self.func.buffers:
            if buffer.strides:
                raise UndecidedError(f"{buffer.name} has explicit strides")

    def _require_inside(self, statement: Statement) -> None:
        buffer = statement.store.buffer
        outside = statement.write.subtract(statement.write.intersect_range(self.shape_of(buffer)))
        if not outside.is_empty():
            self.statements[statement.name] = statement
            where = self.point_text(outside.domain().sample_point())
            raise Differs(f"the {self.label} writes {buffer.name} out of bounds at {where}")

    # Statements.

    def _stores(self, stmt: Stmt, place: _Place) -> Iterator[tuple[BufferStore, _Place]]:
        match stmt:
            case BufferStore() if any(isinstance(n, Ramp | Broadcast) for n in walk(stmt)):
                raise UndecidedError("vectors are not supported: the proof does not distinguish their lanes")
            case BufferStore():
                yield cast("BufferStore", _plain(substitute(stmt, place.values))), place
            case SeqStmt(seq=seq):
                for n, child in enumerate(seq):
                    yield from self._stores(child, place.at(n))
            case For(loop_var=var, body=body):
                loop = msgspec.structs.replace(
                    stmt, min=substitute(stmt.min, place.values), extent=substitute(stmt.extent, place.values)
                )
                inner = msgspec.structs.replace(place, loops=(*place.loops, loop), time=(*place.time, var))
                yield from self._stores(body, inner)
            case IfThenElse(condition=c, then_case=then_case, else_case=else_case):
                c = substitute(c, place.values)
                yield from self._stores(then_case, place.when(c, holds=True).at(0))
                if else_case is not None:
                    yield from self._stores(else_case, place.when(c, holds=False).at(1))
            case BlockRealize():
                yield from self._block(stmt, place)
            case LetStmt(var=var, value=value, body=body):
                value = substitute(value, place.values)
                if any(isinstance(n, BufferLoad) for n in walk(value)):
                    # The value is loaded here: a load at the use could return another one.
                    kept = Buffer(var.name, (), var.dtype)
                    self._allocate(kept, place)
                    yield BufferStore(kept, value, ()), place.at(0)
                    value = BufferLoad(kept, ())
                yield from self._stores(body, place.with_values({var: value}).at(1))
            case Allocate(buffers=buffers, body=body):
                for buffer in buffers:
                    self._allocate(buffer, place)
                yield from self._stores(body, place)
            case Evaluate(value=IntImm() | Call(op="assume")):
                pass
            case AssertStmt(body=body):
                yield from self._stores(body, place)
            case _:
                raise UndecidedError(f"the effect of a {type(stmt).__name__} is unknown")

    # Each iteration of the enclosing loops has a separate buffer, and so has each thread that does not share the buffer's scope.
    def _allocate(self, buffer: Buffer, place: _Place) -> None:
        self._spaces[buffer] = f"B{len(self._spaces)}"
        own = (loop for loop in self._threads.get(buffer, ()) if _has_own(loop, buffer.scope))
        self._private[buffer] = tuple({loop.loop_var: loop for loop in (*place.loops, *own)}.values())

    def _block(self, realize: BlockRealize, place: _Place) -> Iterator[tuple[BufferStore, _Place]]:
        block = realize.block
        values = {
            iv.var: substitute(v, place.values) for iv, v in zip(block.iter_vars, realize.iter_values, strict=True)
        }
        for buffer in block.alloc_buffers:
            self._allocate(buffer, place)
        inner = place.when(substitute(realize.predicate, place.values), holds=True).with_values(values)
        ordered = sorted(values, key=lambda v: v.name)
        inner = msgspec.structs.replace(
            inner, block=block.name, iters=tuple(values[v] for v in ordered), iter_names=tuple(v.name for v in ordered)
        )
        if block.init is not None:
            first = inner
            for iv in block.iter_vars:
                if iv.iter_type == "reduce":
                    first = first.when_equal(values[iv.var], iv.dom.min)
            yield from self._stores(block.init, first.at(0))
        yield from self._stores(block.body, inner.at(1))

    def _statement(self, raw: tuple[BufferStore, _Place]) -> Statement:
        store, place = raw
        name = f"S{len(self.statements)}"
        names: dict[Var, str] = {**self.scalars, **{f.loop_var: f"i{n}" for n, f in enumerate(place.loops)}}
        space = f"{name}[{', '.join(f'i{n}' for n in range(len(place.loops)))}]"
        try:
            bounds = [_range(f, names) for f in place.loops] + [c.text(names) for c in place.guards]
            iters = self._mapped(space, "I", place.iters, names)
        except NotAffine:
            raise UndecidedError(f"the iterations of block {place.block!r} are not affine") from None
        domain = self.set(space, bounds)
        time = ["0", *(names[t] if isinstance(t, Var) else str(t) for t in place.time)]
        return Statement(
            name, store, place.loops, names, domain,
            self.map(f"{space} -> T[{', '.join((*time, *['0'] * (self._depth - len(time))))}]").intersect_domain(domain),
            self._access(name, place.loops, names, store.buffer, store.indices).intersect_domain(domain),
            place.block,
            place.iter_names,
            iters.intersect_domain(domain),
        )  # fmt: skip

    @cached_property
    def _depth(self) -> int:
        def depth(stmt: Node) -> int:
            below = max((depth(c) for c in child_stmts(stmt)), default=0)
            return below + (1 if isinstance(stmt, For | SeqStmt | IfThenElse | Block | LetStmt) else 0)

        return depth(self.func.body) + 2

    def _access(
        self, name: str, loops: tuple[For, ...], names: Names, buffer: Buffer, indices: tuple[Expr, ...]
    ) -> isl.Map:
        space = f"{name}[{', '.join(f'i{n}' for n in range(len(loops)))}]"
        private = [names[f.loop_var] for f in self._private.get(buffer, ())]
        try:
            return self._mapped(space, self._spaces[buffer], indices, names, private)
        except NotAffine:
            raise UndecidedError(f"an access of {buffer.name} is not affine") from None


class _Guard(msgspec.Struct, frozen=True, eq=False):
    condition: Expr
    holds: bool = True
    equals: Expr | None = None

    def text(self, names: Names) -> str:
        if self.equals is not None:
            return condition_text(EQ(self.condition, self.equals), names)
        text = condition_text(self.condition, names)
        return text if self.holds else f"(not {text})"


class _Place(msgspec.Struct, frozen=True, eq=False):
    """A position of the traversal: the enclosing loops and conditions, the time, and the values of block iterators."""

    loops: tuple[For, ...] = ()
    guards: tuple[_Guard, ...] = ()
    time: tuple[Var | int, ...] = ()
    values: dict[Var, Expr] = {}
    block: str = ""
    iters: tuple[Expr, ...] = ()
    iter_names: tuple[str, ...] = ()

    def at(self, n: int) -> _Place:
        return msgspec.structs.replace(self, time=(*self.time, n))

    def when(self, expr: Expr, *, holds: bool) -> _Place:
        return msgspec.structs.replace(self, guards=(*self.guards, _Guard(expr, holds)))

    def when_equal(self, a: Expr, b: Expr) -> _Place:
        return msgspec.structs.replace(self, guards=(*self.guards, _Guard(a, True, b)))

    def with_values(self, values: dict[Var, Expr]) -> _Place:
        return msgspec.structs.replace(self, values={**self.values, **values})


def _range(loop: For, names: Names) -> str:
    low, var = affine_text(loop.min, names), names[loop.loop_var]
    ends = " or ".join(f"({where}{var} < {low} + {extent})" for where, (extent,) in value_cases((loop.extent,), names))
    return f"({low} <= {var} and ({ends}))"


def _space(statement: Statement) -> str:
    return f"{statement.name}[{', '.join(f'i{n}' for n in range(len(statement.loops)))}]"


def _plain(stmt: Node) -> Node:
    """Substitutes the values of let-bound names."""

    def leave(node: Node) -> Node:
        return substitute(node.body, {node.var: node.value}) if isinstance(node, Let) else node

    return rewrite(stmt, leave)


def _has_own(loop: For, scope: str) -> bool:
    """Whether each thread of a loop has a buffer of its own; the lanes of a warp hold a fragment together."""
    assert loop.thread_tag is not None
    return not is_shared_over(scope, loop) and (loop.thread_tag.startswith("blockIdx") or not is_fragment(scope))


def _threads_around(body: Stmt) -> dict[Buffer, list[For]]:
    """The thread loops around all accesses of each buffer."""
    found: dict[Buffer, list[For]] = {}
    pending: list[tuple[Node, tuple[For, ...]]] = [(body, ())]
    while pending:
        node, around = pending.pop()
        if isinstance(node, For) and node.thread_tag is not None:
            around = (*around, node)
        if isinstance(node, BufferLoad | BufferStore):
            known = found.setdefault(node.buffer, [*around])
            found[node.buffer] = [loop for loop in known if any(loop is other for other in around)]
        pending += [(child, around) for child in children(node)]
    return found


def identity(points: isl.Set) -> isl.Map:
    """The identity map on a set of points."""
    return isl.Map.identity(points.get_space().map_from_set()).intersect_domain(points)
