"""Copies of statements that can be used beside their originals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, get_args

from msgspec.structs import replace as replace_fields

from ..ir import BINDING, Expr, For, Node, Stmt, Var, allocated_buffers, defined_vars, rewrite, substitute

S = TypeVar("S", bound=Stmt)


class Copies(Generic[S]):
    """The source of copies of a statement, each with fresh variables, buffers and statements: each statement object occurs once in a
    program."""

    def __init__(self, stmt: S) -> None:
        self._stmt = stmt
        self._vars = defined_vars(stmt)
        self._buffers = list(allocated_buffers(stmt))

    def at(self, values: Mapping[Var, Expr]) -> S:
        """A copy with these values instead of variables that the statement uses."""
        fresh = {var: Var(var.name, var.dtype, var.points_to) for var in self._vars}
        used: dict[Var, Expr] = {**values, **fresh}
        buffers = {buffer: replace_fields(substitute(buffer, used)) for buffer in self._buffers}

        def leave(node: Node) -> Node:
            if isinstance(node, For):
                return replace_fields(node, loop_var=fresh[node.loop_var])
            if isinstance(node, BINDING):
                return replace_fields(node, var=fresh[node.var])
            return replace_fields(node)

        return rewrite(self._stmt, leave, kinds=_COPIED, known={**used, **buffers})


_COPIED = frozenset((*Stmt.__subclasses__(), *get_args(BINDING)))
