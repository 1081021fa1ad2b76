"""Nested loops that are bound to one thread tag: they are the same threads, so one of them suffices.

Source: TVM src/s_tir/transform/lift_thread_binding.cc and unify_thread_binding.cc.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    Expr,
    For,
    LaunchThread,
    Let,
    LetStmt,
    Node,
    PrimFunc,
    Stmt,
    Var,
    build,
    children,
    map_children,
    substitute,
    walk_stmts,
)


class _Thread(NamedTuple):
    """The outer loop of a tag: its variable and extent, and the variables whose values depend on it."""

    var: Var
    extent: Expr
    dependents: frozenset[Var]


_Threads = Mapping[str, _Thread]


def same_threads(func: PrimFunc) -> PrimFunc:
    """`func` without loops that repeat threads: an outer loop that contains nothing but inner loops of its tag, else the inner loops, whose
    bodies use the outer variable instead.

    TVM requires equal extents. Loops with other extents remain, and so do those whose bodies use the outer variable too.
    """
    tags = [tag for s in walk_stmts(func.body) if isinstance(s, For | LaunchThread) and (tag := s.thread_tag)]
    if len(tags) == len(set(tags)):
        return func
    return map_children(func, lambda node: _unified(node, {}))


def _unified(node: Node, threads: _Threads) -> Node:
    if isinstance(node, Expr | Buffer):
        return node
    if isinstance(node, BlockRealize):
        values = zip(node.block.iter_vars, node.iter_values, strict=True)
        threads = _bound(threads, [(iter_var.var, value) for iter_var, value in values])
    elif isinstance(node, LetStmt):
        threads = _bound(threads, [(node.var, node.value)])
    elif isinstance(node, For | LaunchThread) and node.thread_tag:
        var = node.loop_var if isinstance(node, For) else node.var
        outer = threads.get(node.thread_tag)
        if outer is None and _is_repeated(node, var):
            return _unified(substitute(node.body, {var: build.const(0, var.dtype)}), threads)
        if outer is None:
            threads = {**threads, node.thread_tag: _Thread(var, node.extent, frozenset({var}))}
        elif _repeats(node, outer):
            return _unified(substitute(node.body, {var: outer.var}), threads)
    return map_children(node, lambda child: _unified(child, threads))


def _bound(threads: _Threads, values: list[tuple[Var, Expr]]) -> _Threads:
    """The threads, with the variables among `values` that depend on each."""
    return {tag: thread._replace(dependents=_dependents(thread.dependents, values)) for tag, thread in threads.items()}


def _dependents(known: frozenset[Var], values: list[tuple[Var, Expr]]) -> frozenset[Var]:
    return known | {var for var, value in values if _uses(value, known)}


def _is_repeated(loop: For | LaunchThread, var: Var) -> bool:
    """Whether all that a loop contains is in inner loops of the same threads, and does not depend on the loop."""
    tag, extent = loop.thread_tag, loop.extent

    def is_inside(node: Node) -> bool:
        if isinstance(node, For | LaunchThread) and node.thread_tag == tag:
            return _are_equal(node, extent)
        below = [child for child in children(node) if isinstance(child, Stmt | Block)]
        return bool(below) and all(map(is_inside, below))

    return is_inside(loop.body) and not _uses(loop.body, frozenset({var}))


def _repeats(loop: For | LaunchThread, outer: _Thread) -> bool:
    return _are_equal(loop, outer.extent) and not _uses(loop.body, outer.dependents)


def _are_equal(loop: For | LaunchThread, extent: Expr) -> bool:
    starts_at_zero = isinstance(loop, LaunchThread) or build.is_const(loop.min, 0)
    return starts_at_zero and build.int_value(loop.extent) == build.int_value(extent) is not None


def _uses(node: Node, variables: frozenset[Var]) -> bool:
    """Whether a node uses any of the variables, through iterators and let values too. Unused iterators do not count."""
    match node:
        case Var():
            return node in variables
        case Buffer():
            return False
        case BlockRealize(block=block):
            inside = _dependents(
                variables, [(iv.var, value) for iv, value in zip(block.iter_vars, node.iter_values, strict=True)]
            )
            parts = (*block.match_buffers, block.init, block.body)
            return _uses(node.predicate, variables) or any(_uses(p, inside) for p in parts if p is not None)
        case LetStmt() | Let():
            inside = _dependents(variables, [(node.var, node.value)])
            return _uses(node.body, inside)
        case _:
            return any(_uses(child, variables) for child in children(node))
