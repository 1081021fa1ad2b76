"""Edits of a kernel's text as fixes of lints: each is read again."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...adopt import KernelStatements, TextEdit, read_statements, with_edits
from ...ir import PrimFunc, TilewrightError
from ...prove import tested
from ..subject import Subject


def statements_of(subject: Subject) -> KernelStatements | None:
    """Return the statements of the kernel that the program is; None for other programs, and for a text that cannot be read."""
    try:
        return read_statements(subject.source) if subject.source else None
    except TilewrightError:
        return None


def line_of(statements: KernelStatements | None, block: str) -> str:
    """Return the line of a block's statement, " (line 12)"; "" if it has none."""
    try:
        return "" if statements is None else f" (line {statements.of_block(block).lineno})"
    except TilewrightError:
        return ""


def with_text(subject: Subject, text: str, *, same: bool = False) -> Subject | None:
    """Return the subject with another text of its kernel; None if it cannot be read. `same`: or if it computes something else."""
    try:
        program: PrimFunc = read_statements(text).func
    except TilewrightError:
        return None
    if same and tested(program, subject.schedule.func, ()).status not in ("tested", "proved"):
        return None
    return subject.with_text(text, program)


def edited(subject: Subject, edits: Sequence[TextEdit], *, same: bool = False) -> Subject | None:
    return with_text(subject, with_edits(subject.source, edits), same=same)


def language(stmt: ast.stmt) -> str:
    """Return the name by which a statement calls TileLang: "T"."""
    for node in ast.walk(stmt):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            return node.func.value.id
    return "T"


__all__ = ["edited", "language", "line_of", "statements_of", "with_text"]
