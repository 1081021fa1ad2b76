"""Conversion of operations to the block program of TVM's `te.create_prim_func`: one block per operation, producers first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ..analysis import accessed_regions
from ..arith import simplify
from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    IterVar,
    LetStmt,
    Node,
    PrimFunc,
    Range,
    Stmt,
    Var,
    build,
    replace_buffers,
    rewrite,
    substitute,
    walk,
)
from ..ir.stmt import For
from ..script.reading.blocks import unique_name
from .model import Axis, Compute, Fixed, Operation, Reduction, Scan, Tensor


class MadeProgram(msgspec.Struct, frozen=True, eq=False):
    """The program, the block names of each operation (one per output unless it is a reduction), and the loops of each block."""

    func: PrimFunc
    blocks: dict[Operation, tuple[str, ...]]
    loops: dict[str, tuple[Var, ...]]


def make_prim_func(parameters: Sequence[Tensor | Var], operations: Sequence[Operation]) -> MadeProgram:
    """Build the program with these parameters. `operations` are all operations of the text; those that no parameter needs are left out."""
    owners = {buffer: op for op in operations for buffer in op.buffers}
    tensors = [p for p in parameters if isinstance(p, Tensor)]
    order = needed([t.op for t in tensors], owners)
    given = {t.buffer for t in tensors}
    used: dict[str, int] = {}
    blocks: dict[Operation, tuple[str, ...]] = {}
    loops: dict[str, tuple[Var, ...]] = {}
    stmts: list[Stmt] = []
    scans = [op for op in order if isinstance(op, Scan)]
    inside = {op for scan in scans for op in _steps(scan, order)}
    merged = {b: own for scan in scans for b, own in _merged(scan).items()}

    def add(op: Compute, time: Time | None = None) -> Stmt:
        stmt, blocks[op], variables = _stage(op, used, time)
        loops.update(dict.fromkeys(blocks[op], variables))
        return stmt

    for op in order:
        if isinstance(op, Scan):
            time = _time(op)
            steps = [add(step, time) for step in _steps(op, order)]
            stmts.append(For(time.loop, time.dom.min, time.dom.extent, "serial", build.seq(steps)))
        elif isinstance(op, Compute) and op not in inside:
            stmts.append(add(op))
    made = [b for op in order for b in op.buffers if isinstance(op, Compute)]
    allocated = tuple(b for b in made if b not in given and b not in merged)
    root = BlockRealize((), build.TRUE, Block("root", (), (), (), build.seq(stmts), None, allocated))
    root = replace_buffers(root, merged) if merged else root
    handles = [(Var(f"var_{t.buffer.name}", "handle"), t.buffer) for t in tensors]
    by_tensor = dict(zip(tensors, handles, strict=True))
    params = tuple(p if isinstance(p, Var) else by_tensor[p][0] for p in parameters)
    func = PrimFunc("main", params, tuple(handles), root, (("tirx.noalias", build.TRUE),))
    return MadeProgram(func, blocks, loops)


class Time(msgspec.Struct, frozen=True, eq=False):
    """The loop of a scan over its steps after the initial ones."""

    scan: Scan
    loop: Var
    dom: Range


def _time(scan: Scan) -> Time:
    first, size = scan.init[0].buffers[0].shape[0], scan.buffers[0].shape[0]
    return Time(scan, Var(scan.update[0].axes[0].name, size.dtype), Range(first, simplify(build.sub(size, first))))


def _steps(scan: Scan, order: Sequence[Operation]) -> list[Compute]:
    """Return the operations of a step: the updates, and those that read the state."""
    read = {state.buffers[0] for state in scan.states}
    found: list[Compute] = []
    for op in order:
        if isinstance(op, Compute) and op is not scan and (op in scan.update or not read.isdisjoint(inputs(op))):
            found.append(op)
            read |= {*op.buffers}
    return found[: max(found.index(op) for op in scan.update) + 1]


def _merged(scan: Scan) -> dict[Buffer, Buffer]:
    """Return the buffers that are parts of the state's buffer: the initial values, each step, and the state that a step reads."""
    parts = zip(scan.init, scan.update, scan.states, scan.buffers, strict=True)
    return {part.buffers[0]: own for *ops, own in parts for part in ops}


def needed(ops: Sequence[Operation], owners: dict[Buffer, Operation]) -> list[Operation]:
    """Return `ops` and their inputs, producers first, in the order of TVM's depth-first walk."""
    order: dict[Operation, None] = {}
    pending: list[tuple[Operation, bool]] = [(op, False) for op in reversed(ops)]
    seen: set[Operation] = set()
    while pending:
        op, done = pending.pop()
        if done:
            order[op] = None
        elif op not in seen:
            seen.add(op)
            pending.append((op, True))
            pending.extend((owners[b], False) for b in reversed(inputs(op)))
    return list(order)


def inputs(op: Operation) -> list[Buffer]:
    """Return the buffers that a compute reads, in textual order; buffers in an index precede the indexed buffer."""
    if isinstance(op, Fixed):
        return list(op.reads)
    if isinstance(op, Scan):
        return [part.buffers[0] for part in (*op.init, *op.update)]
    if not isinstance(op, Compute):
        return []
    values = op.reduction.sources if op.reduction is not None else op.values
    found: dict[Buffer, None] = {}
    for value in values:
        _collect(value, found)
    return list(found)


def _collect(expr: Expr, found: dict[Buffer, None]) -> None:
    loads = [node for node in walk(expr) if isinstance(node, BufferLoad)]
    inner = {
        id(part) for load in loads for index in load.indices for part in walk(index) if isinstance(part, BufferLoad)
    }
    for load in loads:
        if id(load) in inner:
            continue
        for index in load.indices:
            _collect(index, found)
        found[load.buffer] = None


def _stage(
    op: Compute, used: dict[str, int], time: Time | None = None
) -> tuple[Stmt, tuple[str, ...], tuple[Var, ...]]:
    """Build the loops of one operation around its blocks; the loop of its first axis is that of `time`, if given."""
    if isinstance(op, Fixed):
        return _fixed(op, used)
    axes = (*op.axes, *op.reduce_axes)
    loops = [(Var(axis.name, axis.var.dtype), axis) for axis in axes]
    if time is not None:
        loops[0] = (time.loop, axes[0])
    outputs = [0] if op.reduction is not None else range(len(op.buffers))
    names: list[str] = []
    realizes: list[Stmt] = []
    for output in outputs:
        hint = op.buffers[output].name if op.reduction is None else _plain(op)
        names.append(unique_name(hint, used))
        realizes.append(_realize(op, output, names[-1], loops, time))
    body = build.seq(realizes)
    for var, axis in reversed(loops if time is None else loops[1:]):
        dom = _dom(axis)
        body = For(var, dom.min, dom.extent, "serial", body)
    return body, tuple(names), tuple(var for var, _ in loops)


def _fixed(op: Fixed, used: dict[str, int]) -> tuple[Stmt, tuple[str, ...], tuple[Var, ...]]:
    """Return a given statement, with names of its blocks that no other block has."""
    names: list[str] = []

    def leave(node: Node) -> Node:
        if not isinstance(node, Block):
            return node
        names.append(unique_name(node.name, used))
        return replace_fields(node, name=names[-1])

    stmt = rewrite(op.stmt, leave)
    return stmt, tuple(names), tuple(node.loop_var for node in walk(stmt) if isinstance(node, For))


def _plain(op: Compute) -> str:
    name = op.buffers[0].name
    return name if len(op.buffers) == 1 else name.removesuffix("_v0")


def _dom(axis: Axis) -> Range:
    assert axis.dom is not None, "axes of operations have domains"
    return Range(simplify(axis.dom.min), simplify(axis.dom.extent))


def _realize(op: Compute, output: int, name: str, loops: Sequence[tuple[Var, Axis]], time: Time | None) -> BlockRealize:
    iterators = {axis: Var(f"v_{axis.name}", axis.var.dtype) for _, axis in loops}
    iter_vars = tuple(IterVar(iterators[axis], _dom(axis), axis.kind) for _, axis in loops)
    if time is not None:
        kind = "scan" if op in time.scan.update else "spatial"
        iter_vars = (IterVar(iter_vars[0].var, time.dom, kind), *iter_vars[1:])
    values: tuple[Expr, ...] = tuple(var for var, _ in loops)
    if not loops:  # a block has at least one iterator
        iter_vars, values = (IterVar(Var("vi"), build.make_range(0, 1)),), (build.const(0, "int32"),)
    inside: dict[Var, Expr] = {axis.var: var for axis, var in iterators.items()}
    at = tuple(iterators[axis] for axis in op.axes)
    if op.reduction is not None:
        init, body = _reduction(op.buffers, op.reduction, at, inside)
    else:
        value = simplify(substitute(op.values[output], inside))
        init, body = None, BufferStore(op.buffers[output], value, at)
    block = Block(name, iter_vars, (), (), body, init)
    reads, writes = accessed_regions(block)
    return BlockRealize(values, build.TRUE, Block(name, iter_vars, reads, writes, body, init))


def _reduction(
    buffers: Sequence[Buffer], reduction: Reduction, at: tuple[Expr, ...], inside: dict[Var, Expr]
) -> tuple[Stmt, Stmt]:
    """Build the init and the update. With several outputs, all are computed before the first is stored."""
    current = [BufferLoad(buffer, at) for buffer in buffers]
    added = [simplify(substitute(source, inside)) for source in reduction.sources]
    operands: dict[Var, Expr] = dict(zip((*reduction.left, *reduction.right), (*current, *added), strict=True))
    joined = [substitute(substitute(e, operands), inside) for e in reduction.joined]
    init = build.seq([BufferStore(b, e, at) for b, e in zip(buffers, reduction.identity, strict=True)])
    if len(buffers) == 1:
        return init, BufferStore(buffers[0], joined[0], at)
    results = [Var(f"v_{b.name}", b.dtype) for b in buffers]
    body = build.seq([BufferStore(b, v, at) for b, v in zip(buffers, results, strict=True)])
    for var, value in reversed(list(zip(results, joined, strict=True))):
        body = LetStmt(var, value, body)
    return init, body


__all__ = ["MadeProgram", "inputs", "make_prim_func", "needed"]
