"""Copies of statements that can be used beside their originals."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace as replace_fields

from ..ir import Node, Stmt, allocated_buffers, fresh_vars, replace_buffers, rewrite

S = TypeVar("S", bound=Stmt)


def fresh_copy(stmt: S) -> S:
    """A copy of `stmt` with fresh variables, buffers and statements: each statement object occurs once in a program."""
    copied, _ = fresh_vars(stmt)
    copied = replace_buffers(copied, {b: replace_fields(b) for b in allocated_buffers(copied)})
    return rewrite(copied, _again)


def _again(node: Node) -> Node:
    return replace_fields(node) if isinstance(node, Stmt) else node
