"""RemoveNoOp: removes statements without effect and unused allocations.

Source: TVM src/tirx/transform/remove_no_op.cc.
"""

from __future__ import annotations

from ..ir import (
    Allocate,
    BufferData,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    LetStmt,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    build,
    rewrite,
    walk,
)


def remove_no_op(func: PrimFunc) -> PrimFunc:
    """Remove loops without trips or body, empty branches, unused values and unused buffers."""
    return rewrite(func, _left, enter=lambda node: node if isinstance(node, Expr) else None)


def _left(node: Node) -> Node:
    match node:
        case For() if build.is_noop(node.body) or build.int_value(node.extent) == 0:
            return build.seq([])
        case IfThenElse():
            return _branch(node)
        case LetStmt() if build.is_noop(node.body) and _is_pure(node.value):
            return node.body
        case Evaluate() if _is_pure(node.value) and not build.is_noop(node):
            return build.seq([])
        case Allocate():
            return _allocation(node)
        case SeqStmt() if any(build.is_noop(s) or isinstance(s, SeqStmt) for s in node.seq):
            return build.seq(node.seq)
        case _:
            return node


def _branch(stmt: IfThenElse) -> Node:
    otherwise = None if stmt.else_case is None or build.is_noop(stmt.else_case) else stmt.else_case
    if not build.is_noop(stmt.then_case):
        return stmt if otherwise is stmt.else_case else IfThenElse(stmt.condition, stmt.then_case, None)
    if not _is_pure(stmt.condition):
        return stmt
    return build.seq([]) if otherwise is None else IfThenElse(build.logical_not(stmt.condition), otherwise)


def _is_pure(expr: Expr) -> bool:
    """Whether evaluation provably has no effect: an intrinsic other than if_then_else may have one."""
    return not any(isinstance(n, Call) and n.op != "if_then_else" for n in walk(expr))


def _allocation(stmt: Allocate) -> Stmt:
    accessed = {n.buffer for n in walk(stmt.body) if isinstance(n, BufferData | BufferLoad | BufferStore)}
    kept = [b for b in stmt.buffers if b in accessed]
    same = len(kept) == len(stmt.buffers) and not isinstance(stmt.body, Allocate)
    return stmt if same else build.allocate(kept, stmt.body, stmt.annotations if kept else ())
