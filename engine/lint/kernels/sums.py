"""Lints of a kernel's sums and pipelines: a sum that nothing clears, and a tile that a pipeline overwrites too early."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...adopt import KernelStatements, TextEdit
from ...ir import BlockRealize, Buffer, BufferLoad, BufferStore, TilewrightError, allocated_buffers, walk
from ..finding import LintFinding
from ..subject import Subject
from .texts import edited, language, line_of, statements_of, with_text

SUMMED = ("shared", "local.fragment", "wmma", "m16n8k8")
"""Scopes of tiles, by their beginnings. Single variables of threads have values of their own."""


def find_uncleared_sums(subject: Subject) -> Iterator[LintFinding]:
    """A tile of a TileLang kernel is only added to: no `T.clear`, `T.fill`, copy or `clear_accum=True` gives it a first value, so the sum
    begins with what is in the registers or in the memory."""
    statements = statements_of(subject)
    if statements is None:
        return
    for buffer in allocated_buffers(subject.schedule.func.body):
        updates = _updates(subject, buffer) if buffer.scope.startswith(SUMMED) else []
        if updates:
            first = updates[0]
            message = f"{first}{line_of(statements, first)} adds to {buffer.name}, which nothing clears before"
            yield LintFinding("uncleared-sum", "error", message, tuple(updates), (), (buffer.name,))


def _updates(subject: Subject, buffer: Buffer) -> list[str]:
    """Return the blocks that add to a buffer if no other block writes it."""
    found: list[str] = []
    for realize in (node for node in walk(subject.schedule.func.body) if isinstance(node, BlockRealize)):
        nodes = list(walk(realize.block.body))
        stores = [node for node in nodes if isinstance(node, BufferStore) and node.buffer is buffer]
        if any(isinstance(node, BlockRealize) for node in nodes):
            continue
        if not stores:
            if any(region.buffer is buffer for region in realize.block.writes):
                return []  # by an operation that only declares it
            continue
        loaded = any(
            isinstance(node, BufferLoad) and node.buffer is buffer for store in stores for node in walk(store.value)
        )
        if not loaded or realize.block.init is not None:
            return []
        found.append(realize.block.name)
    return found


def clear_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`T.clear` in front of the loop that adds, in the body that also uses the sum."""
    statements = statements_of(subject)
    (name,) = finding.buffers
    if statements is None:
        return
    readers = [block for block in subject.readers(name) if block not in finding.blocks]
    try:
        updates = [statements.of_block(block) for block in finding.blocks]
        uses = [statements.of_block(block) for block in readers]
    except TilewrightError:
        yield None
        return
    before = _beside(statements, updates[0], [*updates[1:], *uses])
    at = statements.spans.lines(before.lineno, before.lineno)[0]
    yield edited(subject, [TextEdit(at, at, f"{' ' * before.col_offset}{language(updates[0])}.clear({name})\n")])


def _beside(statements: KernelStatements, stmt: ast.stmt, others: list[ast.stmt]) -> ast.stmt:
    """Return the statement around one that stands in the innermost body which has the others as well."""
    while True:
        owner, body = statements.bodies[stmt]
        if others and all(any(other in ast.walk(part) for part in body) for other in others):
            return stmt
        if not isinstance(owner, ast.For | ast.If) or owner not in statements.bodies:
            return stmt
        stmt = owner


# --- pipelines that overwrite too early


def stage_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """The pipelined loops without stages: a copy that overwrites what a statement before it reads must not run ahead."""
    statements = statements_of(subject)
    for number, loop in enumerate(statements.loops if statements is not None else ()):
        if statements is not None and any(key == "num_stages" for key, _ in loop.annotations):
            try:
                yield with_text(subject, statements.with_stages(number, 0))
            except TilewrightError:
                yield None


__all__ = ["clear_fixes", "find_uncleared_sums", "stage_fixes"]
