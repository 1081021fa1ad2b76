"""LowerOpaqueBlock: blocks become branches and allocations, and loops of one trip are removed.

Source: TVM src/s_tir/transform/lower_opaque_block.cc.
"""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ..ir import (
    Allocate,
    BlockRealize,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    build,
    rewrite,
    substitute,
)
from .errors import refuse
from .pipelining.slots import bank_notes, banks_noted


def lower_opaque_block(func: PrimFunc) -> PrimFunc:
    """Lower blocks: a realize becomes `if predicate:`, `alloc_buffers` become Allocate with the banks of their slots. Other annotations of
    blocks are dropped.

    A loop of one trip is replaced by its body, unless it is bound to a thread or annotated. Needs opaque blocks without match_buffer
    and init (otherwise refuses "not-opaque").
    """
    units: dict[Var, Expr] = {}

    def leave(node: Node) -> Node:
        if isinstance(node, BlockRealize):
            return _lowered(node)
        if isinstance(node, SeqStmt) and any(isinstance(s, Allocate) for s in node.seq[:-1]):
            return _allocating(node.seq)
        if isinstance(node, For) and _is_unit(node):
            units[node.loop_var] = node.min
            return node.body
        return node

    body = rewrite(func.body, leave)
    return _with_body(func, _substituted(body, units))


def _lowered(realize: BlockRealize) -> Stmt:
    block = realize.block
    if block.iter_vars or block.init is not None or block.match_buffers:
        raise refuse("not-opaque", f"block {block.name!r} still has iterators, an init or match_buffers", block)
    body = block.body
    if not build.is_true(realize.predicate):
        body = IfThenElse(realize.predicate, body)
    banks = banks_noted(block.annotations)
    for buffer in reversed(block.alloc_buffers):
        body = build.allocate((buffer,), body, bank_notes({buffer: banks.get(buffer.name, ())}))
    return body


def _allocating(stmts: tuple[Stmt, ...]) -> Stmt:
    """The statements in sequence; an allocation lasts to the end of the sequence, like TVM's allocations, which have no body."""
    found: list[Stmt] = []
    for stmt in reversed(stmts):
        found = [_followed(stmt, found)] if isinstance(stmt, Allocate) else [stmt, *found]
    return build.seq(found)


def _followed(stmt: Stmt, after: list[Stmt]) -> Stmt:
    if isinstance(stmt, Allocate):
        return build.allocate(stmt.buffers, _followed(stmt.body, after), stmt.annotations)
    return build.seq([stmt, *after])


def _is_unit(loop: For) -> bool:
    return build.is_const(loop.extent, 1) and loop.kind != "thread_binding" and not loop.annotations


def _substituted(body: Stmt, units: dict[Var, Expr]) -> Stmt:
    """`body` with variables of unit loops replaced by their starts, which may use variables of other unit loops."""
    known: dict[Var, Expr] = {}
    for var, start in reversed(units.items()):  # `leave` visits inner loops first
        known[var] = substitute(start, known)
    return substitute(body, known)


def _with_body(func: PrimFunc, body: Stmt) -> PrimFunc:
    return func if body is func.body else replace_fields(func, body=body)
