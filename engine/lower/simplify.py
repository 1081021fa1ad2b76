"""StmtSimplify: shorter indices and conditions, and no branches with a known condition.

Source: TVM src/s_tir/transform/stmt_simplify.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace as replace_fields

from ..arith import Analyzer
from ..ir import Buffer, Expr, For, IfThenElse, Node, PrimFunc, Range, Stmt, build, map_children, structural_equal


def simplify_stmts(func: PrimFunc) -> PrimFunc:
    """Simplify every expression under the ranges of the loops around it, and resolve branches with a known condition.

    A condition that an outer branch tests counts as known.
    """
    body = _visit(func.body, Analyzer(), ())
    return func if body is func.body else replace_fields(func, body=body)


def _visit(stmt: Stmt, known: Analyzer, facts: Sequence[Expr]) -> Stmt:
    """`facts`: conditions that hold here, simplified."""
    match stmt:
        case For():
            return _loop(stmt, known, facts)
        case IfThenElse():
            return _branch(stmt, known, facts)
        case _:
            return map_children(stmt, lambda child: _child(child, known, facts))


def _child(node: Node, known: Analyzer, facts: Sequence[Expr]) -> Node:
    if isinstance(node, Expr):
        return known.simplify(node)
    if isinstance(node, Stmt):
        return _visit(node, known, facts)
    return node if isinstance(node, Buffer) else map_children(node, lambda child: _child(child, known, facts))


def _loop(loop: For, known: Analyzer, facts: Sequence[Expr]) -> For:
    start, extent = known.simplify(loop.min), known.simplify(loop.extent)
    inside = Analyzer({**known.ranges, loop.loop_var: Range(start, extent)})
    body = _visit(loop.body, inside, facts)
    if start is loop.min and extent is loop.extent and body is loop.body:
        return loop
    return replace_fields(loop, min=start, extent=extent, body=body)


def _branch(stmt: IfThenElse, known: Analyzer, facts: Sequence[Expr]) -> Stmt:
    terms = build.conjuncts(known.simplify(stmt.condition))
    open_terms = [t for t in terms if not any(structural_equal(t, f) for f in facts)]
    condition = build.logical_and(*open_terms)
    if build.is_true(condition):
        return _visit(stmt.then_case, known, facts)
    if build.is_const(condition, 0):
        return build.seq([]) if stmt.else_case is None else _visit(stmt.else_case, known, facts)
    then_case = _visit(stmt.then_case, known, (*facts, *open_terms))
    otherwise = None if stmt.else_case is None else _visit(stmt.else_case, known, facts)
    same = then_case is stmt.then_case and otherwise is stmt.else_case and structural_equal(condition, stmt.condition)
    return stmt if same else cast("Stmt", IfThenElse(condition, then_case, otherwise))
