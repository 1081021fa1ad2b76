"""Copies of statements that can stand beside their originals."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace as replace_fields

from ..ir import Node, Stmt, allocated_buffers, fresh_vars, replace_buffers, rewrite

S = TypeVar("S", bound=Stmt)


def fresh_copy(stmt: S) -> S:
    """`stmt` again, with variables, buffers and statements of its own: a statement stands once in a program."""
    copied, _ = fresh_vars(stmt)
    copied = replace_buffers(copied, {b: replace_fields(b) for b in allocated_buffers(copied)})
    return rewrite(copied, _again)


def _again(node: Node) -> Node:
    return replace_fields(node) if isinstance(node, Stmt) else node
