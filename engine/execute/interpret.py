"""The meaning of programs, one element at a time: slow, plain, and the oracle that the vectorised executor is tested against.

Loops of every kind run in order. A block binds its iterators, runs `init` first when all reduction iterators are at the start of
their domain (TVM `src/s_tir/transform/lower_init_block.cc`), and allocates its buffers anew, without values, on each execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ..ir import (
    Allocate,
    And,
    AssertStmt,
    BinaryOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Evaluate,
    Expr,
    FloatImm,
    For,
    IfThenElse,
    IntImm,
    Let,
    LetStmt,
    MatchBufferRegion,
    Node,
    Not,
    Or,
    Predicate,
    PrimFunc,
    Select,
    SeqStmt,
    Stmt,
    Var,
)
from ..ir import dtype as dt
from . import errors
from .binding import Binding, bind, results
from .memory import Memory, require_constant_shape, row_major
from .values import (
    BINARY,
    COMPARISONS,
    DIVISIONS,
    KNOWN_INTRINSICS,
    NO_OPERATION,
    UNARY,
    Value,
    binary,
    convert,
    scalar,
)

Array = np.ndarray[Any, Any]


def interpret(func: PrimFunc, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """`run`, element by element. Raises ExecuteError."""
    binding = bind(func, arrays)
    with np.errstate(all="ignore"):
        _Interpreter(binding).run(func.body)
    return results(func, binding, arrays)


class _Interpreter:
    def __init__(self, binding: Binding) -> None:
        self.values: dict[Var, Value] = {v: scalar(x, v.dtype) for v, x in binding.sizes.items()}
        self.memories: dict[Buffer, Memory] = dict(binding.memories)
        self.matched: dict[Buffer, tuple[Buffer, tuple[int, ...], tuple[int, ...]]] = {}  # source, first element, shape
        self.loops: dict[str, int] = {}

    def run(self, stmt: Stmt) -> None:
        _STATEMENTS[type(stmt)](self, stmt)

    def value(self, expr: Expr) -> Value:
        if isinstance(expr, BinaryOp):
            return self.arithmetic(expr)
        if isinstance(expr, Predicate) and not isinstance(expr, And | Or):
            return COMPARISONS[type(expr)](self.value(expr.a), self.value(expr.b))
        return _EXPRESSIONS[type(expr)](self, expr)

    def integer(self, expr: Expr) -> int:
        return int(self.value(expr))

    def arithmetic(self, expr: BinaryOp) -> Value:
        a, b = self.value(expr.a), self.value(expr.b)
        if isinstance(expr, DIVISIONS) and not dt.is_float(expr.dtype) and b == 0:
            raise errors.division_by_zero(self.loops, (expr,))
        return convert(binary(type(expr), expr.dtype)(a, b), expr.dtype)

    def locate(self, buffer: Buffer, index: tuple[int, ...], action: str, node: Node) -> tuple[Memory, int]:
        """The memory and the position of an element, after bounds checks."""
        match = self.matched.get(buffer)
        shape = match[2] if match is not None else self.memories[buffer].shape
        if len(index) != len(shape):
            raise errors.unsupported(f"{len(index)} indices into {buffer.name}", f"{len(shape)} indices", (node,))
        for axis, (i, extent) in enumerate(zip(index, shape, strict=True)):
            if not 0 <= i < extent:
                raise errors.out_of_bounds(buffer.name, action, index, axis, extent, self.loops, (node,))
        if match is not None:
            source, first, _ = match
            lead = len(first) - len(index)
            moved = tuple(f + (index[axis - lead] if axis >= lead else 0) for axis, f in enumerate(first))
            return self.locate(source, moved, action, node)
        memory = self.memories[buffer]
        return memory, sum(i * s for i, s in zip(index, memory.strides, strict=True))

    def load(self, expr: BufferLoad) -> Value:
        index = tuple(self.integer(i) for i in expr.indices)
        memory, position = self.locate(expr.buffer, index, "read", expr)
        if memory.written is not None and not memory.written[position]:
            raise errors.uninitialized_read(expr.buffer.name, index, self.loops, (expr,))
        return memory.flat[position]

    def store(self, stmt: BufferStore) -> None:
        value = self.value(stmt.value)
        index = tuple(self.integer(i) for i in stmt.indices)
        memory, position = self.locate(stmt.buffer, index, "write", stmt)
        memory.flat[position] = value
        if memory.written is not None:
            memory.written[position] = True

    def allocate(self, buffer: Buffer) -> None:
        shape = require_constant_shape(buffer, tuple(self.integer(e) for e in buffer.shape))
        self.memories[buffer] = Memory(buffer, shape)

    def match(self, match: MatchBufferRegion) -> None:
        """Bind the new name, and the variables of its shape, strides and offset that are not known yet."""
        first = tuple(self.integer(r.min) for r in match.source.region)
        shape = tuple(self.integer(r.extent) for r in match.source.region)[len(first) - len(match.buffer.shape) :]
        strides = self.strides(match.source)
        pairs = [*zip(match.buffer.shape, shape, strict=True)]
        if match.buffer.strides:
            pairs += zip(match.buffer.strides, strides[len(strides) - len(match.buffer.strides) :], strict=True)
        if match.buffer.elem_offset is not None:
            pairs.append((match.buffer.elem_offset, sum(f * s for f, s in zip(first, strides, strict=True))))
        for symbol, value in pairs:
            if isinstance(symbol, Var) and symbol not in self.values:
                self.values[symbol] = scalar(value, symbol.dtype)
        self.matched[match.buffer] = (match.source.buffer, first, tuple(self.integer(e) for e in match.buffer.shape))

    def strides(self, region: BufferRegion) -> tuple[int, ...]:
        if region.buffer.strides:
            return tuple(self.integer(s) for s in region.buffer.strides)
        return row_major(tuple(self.integer(e) for e in region.buffer.shape))

    def realize(self, stmt: BlockRealize) -> None:
        block = stmt.block
        for iter_, value in zip(block.iter_vars, stmt.iter_values, strict=True):
            self.values[iter_.var] = self.value(value)
        if not self.value(stmt.predicate):
            return
        for buffer in block.alloc_buffers:
            self.allocate(buffer)
        for match in block.match_buffers:
            self.match(match)
        if block.init is not None and self.at_first_reduction(block):
            self.run(block.init)
        self.run(block.body)

    def at_first_reduction(self, block: Block) -> bool:
        reduced = [i for i in block.iter_vars if i.iter_type == "reduce"]
        return all(self.value(i.var) == self.value(i.dom.min) for i in reduced)

    def loop(self, stmt: For) -> None:
        first, extent = self.integer(stmt.min), self.integer(stmt.extent)
        for i in range(first, first + extent):
            self.values[stmt.loop_var] = scalar(i, stmt.loop_var.dtype)
            self.loops[stmt.loop_var.name] = i
            self.run(stmt.body)
        self.loops.pop(stmt.loop_var.name, None)

    def sequence(self, stmt: SeqStmt) -> None:
        for each in stmt.seq:
            self.run(each)

    def branch(self, stmt: IfThenElse) -> None:
        if self.value(stmt.condition):
            self.run(stmt.then_case)
        elif stmt.else_case is not None:
            self.run(stmt.else_case)

    def let_stmt(self, stmt: LetStmt) -> None:
        self.values[stmt.var] = self.value(stmt.value)
        self.run(stmt.body)

    def assertion(self, stmt: AssertStmt) -> None:
        if not self.value(stmt.condition):
            raise errors.assertion_failed(stmt.message, self.loops, (stmt,))
        self.run(stmt.body)

    def evaluate(self, stmt: Evaluate) -> None:
        if not (isinstance(stmt.value, Call) and stmt.value.op in NO_OPERATION):
            self.value(stmt.value)

    def allocate_stmt(self, stmt: Allocate) -> None:
        self.allocate(stmt.buffer)
        self.run(stmt.body)

    def let(self, expr: Let) -> Value:
        self.values[expr.var] = self.value(expr.value)
        return self.value(expr.body)

    def select(self, expr: Select) -> Value:
        # Both sides: a side that cannot be evaluated needs if_then_else.
        true_value, false_value = self.value(expr.true_value), self.value(expr.false_value)
        return true_value if self.value(expr.condition) else false_value

    def call(self, expr: Call) -> Value:
        if expr.op == "if_then_else":
            return self.value(expr.args[1] if self.value(expr.args[0]) else expr.args[2])
        if expr.op in UNARY and len(expr.args) == 1:
            return convert(UNARY[expr.op](self.value(expr.args[0])), expr.dtype)
        if expr.op in BINARY and len(expr.args) == 2:
            return convert(BINARY[expr.op](self.value(expr.args[0]), self.value(expr.args[1])), expr.dtype)
        raise errors.unknown_intrinsic(expr.op, KNOWN_INTRINSICS, (expr,))

    def variable(self, expr: Var) -> Value:
        if expr not in self.values:
            raise errors.unsupported(f"the unbound variable {expr.name}", "a loop, an iterator or a parameter", (expr,))
        return self.values[expr]

    def logic(self, expr: And | Or) -> Value:
        # Short-circuit, as in C.
        left = self.value(expr.a)
        return self.value(expr.b) if bool(left) == isinstance(expr, And) else left


_STATEMENTS = cast(
    "Mapping[type[Stmt], Callable[[_Interpreter, Stmt], None]]",
    {
        Allocate: _Interpreter.allocate_stmt,
        AssertStmt: _Interpreter.assertion,
        BlockRealize: _Interpreter.realize,
        BufferStore: _Interpreter.store,
        Evaluate: _Interpreter.evaluate,
        For: _Interpreter.loop,
        IfThenElse: _Interpreter.branch,
        LetStmt: _Interpreter.let_stmt,
        SeqStmt: _Interpreter.sequence,
    },
)
_EXPRESSIONS = cast(
    "Mapping[type[Expr], Callable[[_Interpreter, Expr], Value]]",
    {
        And: _Interpreter.logic,
        BufferLoad: _Interpreter.load,
        Call: _Interpreter.call,
        Cast: lambda self, e: convert(self.value(e.value), e.dtype),
        FloatImm: lambda self, e: scalar(e.value, e.dtype),
        IntImm: lambda self, e: scalar(e.value, e.dtype),
        Let: _Interpreter.let,
        Not: lambda self, e: np.logical_not(self.value(e.a)),
        Or: _Interpreter.logic,
        Select: _Interpreter.select,
        Var: _Interpreter.variable,
    },
)
