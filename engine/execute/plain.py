"""Expansion of a program to plain loops: blocks are replaced by their semantics, so the executor runs only one kind of program.

A block realize becomes its predicate as a condition, its buffers an `Allocate`, its init a branch for the start of all reduction
iterators, and its iterators their bindings. Matched buffers become their source buffers (with the source's bounds checks), loops of one
iteration their only value, and vector stores loops over lanes. The result contains only For, SeqStmt, IfThenElse, BufferStore, Allocate,
LetStmt, AssertStmt, Evaluate, While, `Within`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..arith import Analyzer, linear
from ..ir import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    LaunchThread,
    Let,
    LetStmt,
    Node,
    Ramp,
    Range,
    SeqStmt,
    Stmt,
    Var,
    While,
    build,
    rewrite,
    structural_equal,
    walk,
)
from ..ir import dtype as dt
from .errors import unsupported
from .lanes import element, lane_of, lanes_of


class Within(Stmt, frozen=True, eq=False):
    """`body` as a part of the block `name`, for messages."""

    name: str
    body: Stmt


class Plain:
    """A rewriter to plain statements. It also collects `ranges`, the constant bounds of loop variables, the `shapes` of buffers, and
    `origins`, which maps each new load and store to the original one.
    """

    def __init__(self, sizes: Mapping[Var, Expr]) -> None:
        self.values: dict[Var, Expr] = dict(sizes)
        self.sources: dict[Buffer, BufferRegion] = {}
        self.ranges: dict[Var, Range] = {}
        self.shapes: dict[Buffer, tuple[int, ...]] = {}
        self.scalars: dict[Buffer, Buffer] = {}
        self.origins: dict[Node, Node] = {}
        self.analyzer = Analyzer(self.ranges)

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case SeqStmt(seq):
                return build.seq([self.stmt(s) for s in seq])
            case For():
                return self.loop(stmt)
            case BlockRealize():
                return self.realize(stmt)
            case BufferStore(buffer, value, indices):
                buffer, indices = self.access(buffer, tuple(map(self.expr, indices)))
                store = BufferStore(buffer, self.expr(value), indices)
                self.origins[store] = stmt
                return self.by_lane(store) if indices and isinstance(indices[-1], Ramp) else store
            case IfThenElse(condition, then_case, else_case):
                return self.branch(
                    self.expr(condition), self.stmt(then_case), None if else_case is None else self.stmt(else_case)
                )
            case LetStmt(var, value, body):
                if not reads_memory(value):
                    self.values[var] = self.expr(value)
                    return self.stmt(body)
                if dt.is_vector(var.dtype):
                    return self.kept(var, self.expr(value), body)
                return LetStmt(var, self.expr(value), self.stmt(body))
            case While(condition, body):
                return While(self.expr(condition), self.stmt(body))
            case LaunchThread(var, _, extent, body):
                return self.loop(build.serial(var, extent, body))
            case Allocate(buffers, body):
                return Allocate(tuple(map(self.allocated, buffers)), self.stmt(body))
            case AttrStmt(_, _, body):
                return self.stmt(body)
            case AssertStmt(condition, message, body):
                return AssertStmt(self.expr(condition), message, self.stmt(body))
            case Evaluate(value):
                if dt.is_vector(value.dtype):
                    raise unsupported("a vector that is not stored", nodes=(value,))
                return Evaluate(self.expr(value))
            case _:
                raise unsupported(f"a misplaced {type(stmt).__name__}", nodes=(stmt,))

    def loop(self, loop: For) -> Stmt:
        first, extent = self.expr(loop.min), self.expr(loop.extent)
        if build.is_const(extent, 1):
            self.values[loop.loop_var] = first
            return self.stmt(loop.body)
        low = self.analyzer.bounds(first).low
        last = self.analyzer.bounds(build.sub(build.add(first, extent), 1)).high
        if low is not None and last is not None:
            self.ranges[loop.loop_var] = build.make_range(low, max(1, last - low + 1))
        return For(loop.loop_var, first, extent, "serial", self.stmt(loop.body))

    def realize(self, realize: BlockRealize) -> Stmt:
        block: Block = realize.block
        predicate = self.expr(realize.predicate)
        self.values.update(zip((iv.var for iv in block.iter_vars), map(self.expr, realize.iter_values), strict=True))
        for match in block.match_buffers:
            source = match.source
            box = tuple(Range(self.expr(r.min), self.expr(r.extent)) for r in source.region)
            self.sources[match.buffer] = BufferRegion(source.buffer, box)
        parts: list[Stmt] = []
        if block.init is not None:
            starts = [
                build.eq(self.values[iv.var], self.expr(iv.dom.min))
                for iv in block.iter_vars
                if iv.iter_type == "reduce"
            ]
            parts.append(self.branch(build.logical_and(*starts), self.stmt(block.init), None))
        parts.append(self.stmt(block.body))
        body = build.seq(parts)
        if block.alloc_buffers:
            body = Allocate(tuple(map(self.allocated, block.alloc_buffers)), body)
        return self.branch(predicate, Within(block.name, body), None)

    def branch(self, condition: Expr, then: Stmt, otherwise: Stmt | None) -> Stmt:
        """A branch without the terms of its condition that always hold."""
        doubtful = [term for term in build.conjuncts(condition) if not self.always_holds(term)]
        if not doubtful:
            return then
        return IfThenElse(build.logical_and(*doubtful), then, otherwise)

    def always_holds(self, term: Expr) -> bool:
        # Arithmetic on data may wrap, which the analyzer ignores.
        return not reads_memory(term) and self.analyzer.decided(term) is True

    # -- expressions

    def expr(self, expr: Expr) -> Expr:
        """`expr` in terms of loop variables and allocated memory."""
        return rewrite(expr, lambda node: node, enter=self._enter)

    def _enter(self, node: Node) -> Node | None:
        if isinstance(node, Buffer):
            return node  # buffers are compared by identity
        if isinstance(node, Var):
            return self.values.get(node, node)
        if isinstance(node, Let) and not reads_memory(node.value):
            self.values[node.var] = self.expr(node.value)
            return self.expr(node.body)
        if isinstance(node, BufferLoad):
            buffer, indices = self.access(node.buffer, tuple(map(self.expr, node.indices)))
            load = BufferLoad(buffer, indices)
            self.origins[load] = node
            return load
        return None

    def access(self, buffer: Buffer, indices: Sequence[Expr]) -> tuple[Buffer, tuple[Expr, ...]]:
        """The buffer that owns the memory, and simplified indices into it."""
        while buffer in self.sources or dt.is_vector(buffer.dtype):
            if dt.is_vector(buffer.dtype) and buffer not in self.sources:
                buffer, indices = self.of_lanes(buffer), (*indices, self.all_lanes(buffer.dtype))
                continue
            region = self.sources[buffer].region
            lead = len(region) - len(indices)
            indices = [
                build.add(r.min, indices[axis - lead]) if axis >= lead else r.min for axis, r in enumerate(region)
            ]
            buffer = self.sources[buffer].buffer
        if len(indices) != len(self.shape(buffer)):
            raise unsupported(
                f"{len(indices)} indices into {buffer.name}", f"{len(self.shape(buffer))} indices", (buffer,)
            )
        return buffer, tuple(map(self.index, indices))

    # -- vectors

    def by_lane(self, store: BufferStore) -> Stmt:
        """A loop over the lanes of a vector store; the whole vector is computed before any lane is stored."""
        *points, last = store.indices
        assert isinstance(last, Ramp)
        if any(
            isinstance(n, BufferLoad)
            and n.buffer is store.buffer
            and not all(structural_equal(a, b) for a, b in zip(n.indices, store.indices, strict=True))
            for n in walk(store.value)
        ):
            made = self.vector_buffer(store.value.dtype)
            there = self.all_lanes(store.value.dtype)
            first = self.by_lane(BufferStore(made, store.value, (there,)))
            second = self.by_lane(BufferStore(store.buffer, BufferLoad(made, (there,)), store.indices))
            return Allocate((made,), build.seq([first, second]))
        lanes = lanes_of(store.value.dtype)
        lane = Var("lane", last.base.dtype)
        self.ranges[lane] = build.make_range(0, lanes)
        one = BufferStore(store.buffer, lane_of(store.value, lane, self.record_origin), (*points, element(last, lane)))
        self.origins[one] = self.origins.get(store, store)
        return build.serial(lane, lanes, one)

    def record_origin(self, old: BufferLoad, new: BufferLoad) -> None:
        self.origins[new] = self.origins.get(old, old)

    def kept(self, var: Var, value: Expr, body: Stmt) -> Stmt:
        """`body` with a vector value that is read once, into a temporary buffer."""
        made = self.vector_buffer(value.dtype)
        load = BufferLoad(made, (self.all_lanes(value.dtype),))
        self.values[var] = load
        return Allocate((made,), build.seq([self.by_lane(BufferStore(made, value, load.indices)), self.stmt(body)]))

    def vector_buffer(self, dtype: str) -> Buffer:
        made = Buffer("vector", (build.const(lanes_of(dtype), "int32"),), dt.element(dtype), "local")
        self.shape(made)
        return made

    def all_lanes(self, dtype: str) -> Ramp:
        return Ramp(build.const(0, "int32"), build.const(1, "int32"), build.const(lanes_of(dtype), "int32"))

    def allocated(self, buffer: Buffer) -> Buffer:
        self.shape(buffer)
        return self.of_lanes(buffer) if dt.is_vector(buffer.dtype) else buffer

    def of_lanes(self, buffer: Buffer) -> Buffer:
        """A scalar buffer for a buffer of vectors, with the lanes as its last axis."""
        found = self.scalars.get(buffer)
        if found is None:
            shape = (*buffer.shape, build.const(lanes_of(buffer.dtype), "int32"))
            found = Buffer(buffer.name, shape, dt.element(buffer.dtype), buffer.scope)
            self.scalars[buffer] = found
            self.shape(found)
        return found

    def index(self, index: Expr) -> Expr:
        if isinstance(index, Ramp):
            return Ramp(self.index(index.base), index.stride, index.lanes)
        form = linear(index)
        if reads_memory(index) or (form is not None and all(isinstance(atom, Var) for atom, _ in form.terms)):
            return index
        return self.analyzer.simplify(index)

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        """The extents as numbers. Raises ExecuteError if they depend on loops."""
        found = self.shapes.get(buffer)
        if found is None:
            extents = [build.int_value(self.analyzer.simplify(self.expr(extent))) for extent in buffer.shape]
            found = tuple(e for e in extents if e is not None)
            if len(found) != len(extents):
                raise unsupported(f"buffer {buffer.name} of a shape that is not constant", nodes=(buffer,))
            self.shapes[buffer] = found
        return found


def reads_memory(expr: Expr) -> bool:
    return any(isinstance(node, BufferLoad) for node in walk(expr))
