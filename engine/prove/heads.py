"""Heads: the values behind reads that only forward them. A head is an operator, an input, or a folded sum."""

from __future__ import annotations

from typing import Protocol

import islpy as isl
import msgspec

from ..ir import Buffer, Expr
from .flow import Flow
from .program import Statement


class StatementTerm(msgspec.Struct, frozen=True, eq=False):
    """An expression of a statement."""

    flow: Flow
    statement: Statement
    expr: Expr

    def of(self, expr: Expr) -> StatementTerm:
        return StatementTerm(self.flow, self.statement, expr)


class InitialRead(msgspec.Struct, frozen=True, eq=False):
    """A read that no write reaches: of an input, or of uninitialised memory."""

    flow: Flow
    buffer: Buffer
    access: isl.Map

    @property
    def is_input(self) -> bool:
        return self.flow.program.is_param(self.buffer)


class FoldedSum(msgspec.Struct, frozen=True, eq=False):
    """The value of an update: all terms since the start, folded by one operator."""

    flow: Flow
    final: Statement

    @property
    def operator(self) -> type[Expr]:
        return self.flow.term(self.final).operator


Head = StatementTerm | InitialRead | FoldedSum
Found = list[tuple[Head, isl.Map]]
"""Heads, each with a relation from its instances to the instances that use them."""


class Follows(Protocol):
    """The methods of the comparison that the pairing of sums uses."""

    def resolve(self, term: StatementTerm, relation: isl.Map) -> Found: ...

    def placed(self, elements: isl.Map) -> isl.Map: ...

    def same(self, a: StatementTerm, b: StatementTerm, relation: isl.Map) -> None: ...


def described(head: Head) -> str:
    match head:
        case InitialRead(buffer=buffer):
            return f"a load of {buffer.name}"
        case FoldedSum(final=final):
            return f"a reduction in {final.store.buffer.name}"
        case StatementTerm(statement=statement):
            return f"the value of block {statement.block!r}"


def pair_text(flow_a: Flow, flow_b: Flow, relation: isl.Map) -> tuple[str, str]:
    """One pair of a relation, in the names of the two programs."""
    left = relation.domain().sample_point()
    right = relation.intersect_domain(isl.Set.from_point(left)).range().sample_point()
    return flow_a.program.point_text(left), flow_b.program.point_text(right)
