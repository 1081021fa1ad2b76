"""Flags, barriers and waits as annotations of the blocks and loops beside them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ....ir import (
    Annotations,
    AttrStmt,
    BlockRealize,
    Expr,
    For,
    IfThenElse,
    NodeAttr,
    SeqStmt,
    Stmt,
    build,
)
from ...reading.source import PositionTable
from .statement import sync_of, text_of
from .tokens import Tokens

BEFORE, AFTER = "tl.sync_before", "tl.sync_after"
"""Annotations with the flags, barriers and waits of the text that stand before or after a block or loop."""


class Noted:
    """Takes the statements of flags and barriers out of a body: they become annotations, and tokens of blocks."""

    def __init__(self, positions: PositionTable, tokens: Tokens) -> None:
        self.positions, self.tokens = positions, tokens

    def noted(self, stmt: Stmt) -> Stmt:
        match stmt:
            case SeqStmt(seq=seq):
                return self._beside([self.noted(part) if sync_of(part) is None else part for part in seq])
            case For(body=body) | AttrStmt(body=body) | NodeAttr(body=body):
                made: Stmt = replace(stmt, body=self._alone(body))
            case IfThenElse(condition, then, other):
                first, second = self._alone(then), None if other is None else self._alone(other)
                if build.is_noop(first) and (second is None or build.is_noop(second)):
                    return first  # of flags only
                made = IfThenElse(condition, first, second)
            case BlockRealize():
                return self._with_notes(stmt, self.tokens.notes(stmt))
            case _:
                return stmt
        return self._placed(stmt, made)

    def _alone(self, body: Stmt) -> Stmt:
        return build.seq([]) if sync_of(body) is not None else self.noted(body)

    def _beside(self, stmts: list[Stmt]) -> Stmt:
        found: list[Stmt] = []
        waiting: list[Expr] = []
        for stmt in stmts:
            call = sync_of(stmt)
            if call is not None:
                waiting += [call.args[0]] if text_of(call) else []
                continue
            if waiting and isinstance(stmt, For | BlockRealize):
                stmt = self._noted(stmt, BEFORE, waiting)
                waiting = []
            found.append(stmt)
        if waiting and found and isinstance(found[-1], For | BlockRealize):
            found[-1] = self._noted(found[-1], AFTER, waiting)
        return build.seq(found)

    def _noted(self, stmt: Stmt, key: str, texts: Sequence[Expr]) -> Stmt:
        note = (key, tuple(texts))
        if isinstance(stmt, For):
            return self._placed(stmt, replace(stmt, annotations=(*stmt.annotations, note)))
        assert isinstance(stmt, BlockRealize)
        return self._with_notes(stmt, (note,))

    def _with_notes(self, stmt: BlockRealize, notes: Annotations) -> BlockRealize:
        if not notes:
            return stmt
        block = replace(stmt.block, annotations=(*stmt.block.annotations, *notes))
        for place in self.positions.places(stmt.block):
            self.positions.add(block, place)
        made = replace(stmt, block=block)
        for place in self.positions.places(stmt):
            self.positions.add(made, place)
        return made

    def _placed(self, old: Stmt, new: Stmt) -> Stmt:
        for place in self.positions.places(old):
            self.positions.add(new, place)
        return new


__all__ = ["AFTER", "BEFORE", "Noted"]
