"""Exact dataflow of one program: which write each read sees, by isl's dependence analysis."""

from __future__ import annotations

import islpy as isl
import msgspec

from ..cancellation import checkpoint
from ..ir import Add, And, Buffer, BufferLoad, Expr, FloatImm, IntImm, Max, Min, Mul, Or, structural_equal, walk
from .program import Statement, StatementProgram

REDUCERS = (Add, Mul, Min, Max, And, Or)


class Sources(msgspec.Struct, frozen=True, eq=False):
    """The sources of one read: maps from its instances to those of each statement whose value it sees, and the instances that see no
    write."""

    writers: tuple[tuple[Statement, isl.Map], ...]
    none: isl.Set


class SumUpdate(msgspec.Struct, frozen=True, eq=False):
    """`old operator term`, where `old` is the previous value of the element."""

    operator: type[Expr]
    old: BufferLoad
    term: Expr


class Flow:
    """The sources of the reads of a program, computed on demand."""

    def __init__(self, program: StatementProgram) -> None:
        self.program = program
        self._found: dict[tuple[str, BufferLoad], Sources] = {}
        self._updates: dict[str, SumUpdate | None] = {}
        self._chains: dict[str, list[tuple[Statement, isl.Map]]] = {}

    def of(self, statement: Statement, load: BufferLoad) -> Sources:
        """The sources of a read in a statement."""
        key = (statement.name, load)
        if key not in self._found:
            reads = self.program.access(statement, load)
            self._found[key] = self._sources(reads, statement.time, load.buffer)
        return self._found[key]

    def at_end(self, reads: isl.Map, buffer: Buffer) -> Sources:
        """The sources of reads after the last statement."""
        return self._sources(reads, self.program.after_all(reads), buffer)

    def _sources(self, reads: isl.Map, time: isl.Map, buffer: Buffer) -> Sources:
        sink = isl.UnionMap.from_map(reads)
        if not self.program.writers(buffer):
            return Sources((), reads.domain())
        sources, schedule = isl.UnionMap.empty(sink.get_space()), isl.UnionMap.from_map(time)
        for writer in self.program.writers(buffer):
            write = isl.UnionMap.from_map(writer.write)
            sources = sources.union(write)
            schedule = schedule.union(isl.UnionMap.from_map(writer.time))
        checkpoint()
        info = isl.UnionAccessInfo.from_sink(sink).set_must_source(sources).set_schedule_map(schedule)
        flow = info.compute_flow()
        found: list[tuple[Statement, isl.Map]] = []
        for dependence in _maps(flow.get_must_dependence()):
            name = dependence.get_tuple_name(isl.dim_type.in_)
            found.append((self.program.statements[str(name)], dependence.reverse()))
        missing = flow.get_must_no_source()
        none = reads.domain().subtract(reads.domain())
        for rest in _maps(missing):
            none = none.union(rest.domain())
        return Sources(tuple(found), none)

    # Reductions.

    def is_update(self, statement: Statement) -> bool:
        """Whether the statement is `C[i] = C[i] + term`."""
        return self._update(statement) is not None

    def term(self, statement: Statement) -> SumUpdate:
        """The parts of an update."""
        update = self._update(statement)
        assert update is not None, "asked of an update only"
        return update

    def _update(self, statement: Statement) -> SumUpdate | None:
        if statement.name not in self._updates:
            self._updates[statement.name] = _update_of(statement)
        return self._updates[statement.name]

    def chain(self, final: Statement) -> list[tuple[Statement, isl.Map]]:
        """Maps from an update to all updates whose terms its value contains, itself included."""
        if final.name not in self._chains:
            self._chains[final.name] = self._chain(final)
        return self._chains[final.name]

    def _chain(self, final: Statement) -> list[tuple[Statement, isl.Map]]:
        operator, writers = self.term(final).operator, self.program.writers(final.store.buffer)
        updates = [w for w in writers if self.is_update(w) and self.term(w).operator is operator]
        others = [w for w in writers if w not in updates]
        found: list[tuple[Statement, isl.Map]] = []
        for update in updates:
            earlier = update.time.lex_lt_map(final.time)
            if update is final:
                earlier = earlier.union(isl.Map.identity(earlier.get_space()).intersect_domain(final.domain))
            linked = earlier.intersect(update.write.apply_range(final.write.reverse()))
            for other in others:
                checkpoint()
                after = update.time.lex_lt_map(other.time).intersect(update.write.apply_range(other.write.reverse()))
                before = other.time.lex_lt_map(final.time).intersect(other.write.apply_range(final.write.reverse()))
                linked = linked.subtract(after.apply_range(before))
            # Coalesced, because proofs of long programs would otherwise need too many steps. Equalities are detected first: isl 2026.2 may
            # end the process when it joins pieces with undetected equalities, such as those of a union of relations.
            linked = linked.reverse().detect_equalities().coalesce()
            if not linked.is_empty():
                found.append((update, linked))
        return found


def _update_of(statement: Statement) -> SumUpdate | None:
    value, store = statement.value, statement.store
    if not isinstance(value, REDUCERS):
        return None
    for old, term in ((value.a, value.b), (value.b, value.a)):
        if (
            isinstance(old, BufferLoad)
            and old.buffer is store.buffer
            and all(structural_equal(x, y) for x, y in zip(old.indices, store.indices, strict=True))
            and not any(isinstance(n, BufferLoad) and n.buffer is store.buffer for n in walk(term))
        ):
            return SumUpdate(type(value), old, term)
    return None


def is_neutral(operator: type[Expr], value: Expr) -> bool:
    """Whether the value is the neutral element of the operator."""
    if isinstance(value, IntImm | FloatImm):
        if operator is Add or operator is Or:
            return value.value == 0
        if operator is Mul or operator is And:
            return value.value == 1
    return False


def _maps(union: isl.UnionMap) -> list[isl.Map]:
    maps = union.get_map_list()
    return [maps.get_at(n) for n in range(maps.n_map())]
