"""Equivalence check: do two programs compute the same expression of the inputs for every element? It follows values backwards from the
outputs, all instances at once.

A relation pairs the instances of one program with those of the other that must have equal values. A read is followed to the writes that it
sees; equal operators require equal operands; sums require a pairing of their terms. A relation that recurs in its own proof is assumed
(values come from earlier instances only), and is widened if it grew.

Source: S. Verdoolaege, G. Janssens, M. Bruynooghe, "Equivalence checking of static affine programs using widening to handle recurrences",
CAV 2009.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from ..arith import NotAffine
from ..cancellation import checkpoint
from ..execute import ParameterLayout
from ..ir import (
    EQ,
    NE,
    Add,
    And,
    BinaryOp,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Predicate,
    Select,
    StringImm,
    children,
)
from ..ir import dtype as dt
from .errors import Differs, UndecidedError
from .flow import Flow, Sources
from .heads import FoldedSum, Found, Head, InitialRead, StatementTerm, described, pair_text
from .program import END, Statement, identity
from .sums import Pairing

COMMUTATIVE = (Add, Mul, Min, Max, And, Or, EQ, NE)
OPERATORS = (BinaryOp, Predicate, Not, Select, Cast, BufferLoad)
STEPS = 100
"""Copies followed in a row; more means a chain through time."""
WIDENINGS = 5
Key = tuple[object, ...]


class _Grew(Exception):  # noqa: N818
    def __init__(self, key: Key, relation: isl.Map) -> None:
        super().__init__()
        self.key, self.relation = key, relation


class EqualityProof:
    """One proof: `left` is the original, `right` the schedule. `reassociated` names a float sum whose order may have changed."""

    def __init__(self, left: Flow, right: Flow, layouts: Sequence[ParameterLayout] = ()) -> None:
        self.left, self.right = left, right
        self._layouts = layouts
        self.reassociated: str | None = None
        self._shown: dict[Key, isl.Map] = {}
        self._open: dict[Key, isl.Map] = {}
        self._places: dict[str, isl.Map] = {}

    def outputs(self) -> None:
        """Shows that every parameter buffer that either program writes has equal final values. Raises Differs, Unknown."""
        for mine, theirs, places in self._parameters():
            if self.left.program.writers(mine) or self.right.program.writers(theirs):
                self._require_no_padding(mine)
                places = places.set_tuple_name(isl.dim_type.in_, END).set_tuple_name(isl.dim_type.out, END)
                for a, from_a in self._at_end(self.left, mine):
                    for b, from_b in self._at_end(self.right, theirs):
                        self._heads(a, b, from_a.apply_range(places).apply_range(from_b.reverse()))

    def resolve(self, term: StatementTerm, relation: isl.Map, steps: int = STEPS) -> Found:
        """The heads of a term, each with `relation` (instances of the term → others) carried over to its instances."""
        if steps == 0:
            raise UndecidedError("a chain of copies is too long")
        flow, statement, expr = term.flow, term.statement, term.expr
        match expr:
            case BufferLoad() if not flow.program.is_gather(statement, expr):
                read = InitialRead(flow, expr.buffer, flow.program.access(statement, expr))
                return self._followed(read, flow.of(statement, expr), relation, steps)
            case Select(condition=c, true_value=a, false_value=b) | Call(op="if_then_else", args=(c, a, b)):
                try:
                    holds = flow.program.where(statement, c)
                except NotAffine:
                    return [(term, relation)]
                parts = ((a, relation.intersect_domain(holds)), (b, relation.subtract_domain(holds)))
                return [
                    h for value, part in parts if not part.is_empty() for h in self.resolve(term.of(value), part, steps)
                ]
            case _:
                return [(term, relation)]

    def same(self, a: StatementTerm, b: StatementTerm, relation: isl.Map) -> None:
        """Shows that each pair of the relation has equal values. Raises Differs, Unknown."""
        for left, to_right in self.resolve(a, relation):
            for right, to_left in self.resolve(b, to_right.reverse()):
                self._heads(left, right, to_left.reverse())

    # The parameters of both programs in pairs, each with the map from elements of the left to those of the right.
    def _parameters(self) -> list[tuple[Buffer, Buffer, isl.Map]]:
        mine, theirs = self.left.program, self.right.program
        if len(mine.func.buffers) != len(theirs.func.buffers) or len(mine.scalars) != len(theirs.scalars):
            raise UndecidedError("the programs have different parameters")
        found: list[tuple[Buffer, Buffer, isl.Map]] = []
        for a, b in zip(mine.func.buffers, theirs.func.buffers, strict=True):
            places, wanted = mine.places(a, self._layouts), theirs.shape_of(b)
            moved = any(layout.name == a.name for layout in self._layouts)
            fits = places.dim(isl.dim_type.out) == wanted.dim(isl.dim_type.set)
            fits = fits and (places.range().is_subset(wanted) if moved else places.range().is_equal(wanted))
            if a.dtype != b.dtype or not fits:
                raise UndecidedError(f"parameter {a.name} has a different shape or dtype")
            self._places[str(wanted.get_tuple_name())] = places
            found.append((a, b, places))
        return found

    # The proof does not cover the padding of an output; a run compares it.
    def _require_no_padding(self, buffer: Buffer) -> None:
        if any(layout.name == buffer.name and layout.pad_value is not None for layout in self._layouts):
            raise UndecidedError(f"the output {buffer.name} is padded")

    def placed(self, elements: isl.Map) -> isl.Map:
        """Maps a relation to elements of a parameter of the original to their places in the schedule's parameter."""
        return elements.apply_range(self._places[str(elements.get_tuple_name(isl.dim_type.out))])

    # The heads of the elements of an output, after the last statement.
    def _at_end(self, flow: Flow, buffer: Buffer) -> Found:
        reads = flow.program.final_reads(buffer)
        return self._followed(
            InitialRead(flow, buffer, reads), flow.at_end(reads, buffer), identity(reads.domain()), STEPS
        )

    # The heads of a read: the values of the writes that it sees, and the read itself for instances that see none.
    def _followed(self, read: InitialRead, sources: Sources, relation: isl.Map, steps: int) -> Found:
        found: Found = []
        for writer, to_writer in sources.writers:
            found += self._behind(read.flow, writer, to_writer.reverse().apply_range(relation), steps)
        rest = relation.intersect_domain(sources.none)
        return found if rest.is_empty() else [*found, (read, rest)]

    def _behind(self, flow: Flow, writer: Statement, relation: isl.Map, steps: int) -> Found:
        if relation.is_empty():
            return []
        if flow.is_update(writer):
            return [(FoldedSum(flow, writer), relation)]
        return self.resolve(StatementTerm(flow, writer, writer.value), relation, steps - 1)

    def _heads(self, a: Head, b: Head, relation: isl.Map) -> None:
        checkpoint()
        if relation.is_empty():
            return
        match a, b:
            case StatementTerm(), StatementTerm():
                self._memoised((a.statement.name, a.expr, b.statement.name, b.expr), a, b, relation)
            case FoldedSum(), FoldedSum():
                self._memoised((a.final.name, b.final.name), a, b, relation)
            case InitialRead(), InitialRead() if a.is_input and b.is_input:
                self._same_elements(a, b, relation)
            case InitialRead(), _ if not a.is_input:
                raise UndecidedError(f"the original reads elements of {a.buffer.name} that are never written")
            case _:
                raise self._differs(a, b, relation)

    def _memoised(
        self, key: Key, a: StatementTerm | FoldedSum, b: StatementTerm | FoldedSum, relation: isl.Map
    ) -> None:
        for known in (self._shown.get(key), self._open.get(key)):
            if known is not None and relation.is_subset(known):
                return
        if key in self._open:
            raise _Grew(key, relation)
        for attempt in range(WIDENINGS):
            self._open[key] = relation
            before = dict(self._shown)
            try:
                self._compared(a, b, relation)
            except (_Grew, UndecidedError, Differs) as stopped:
                self._shown = before  # proofs since then assumed this relation
                if isinstance(stopped, Differs) and attempt:
                    raise UndecidedError(f"no relation was found for a recurrence: {stopped}") from None
                if not isinstance(stopped, _Grew) or stopped.key != key:
                    raise
                relation = _widened(relation.union(stopped.relation), _statement(a), _statement(b))
            else:
                shown = self._shown.get(key)
                self._shown[key] = relation if shown is None else shown.union(relation)
                return
            finally:
                del self._open[key]
        raise UndecidedError("the relation of a recurrence keeps growing")

    def _compared(self, a: StatementTerm | FoldedSum, b: StatementTerm | FoldedSum, relation: isl.Map) -> None:
        if isinstance(a, FoldedSum) and isinstance(b, FoldedSum):
            self._sums(a, b, relation)
        elif isinstance(a, StatementTerm) and isinstance(b, StatementTerm):
            self._operators(a, b, relation)

    def _operators(self, a: StatementTerm, b: StatementTerm, relation: isl.Map) -> None:
        x, y = a.expr, b.expr
        if dt.is_index(x.dtype) and x.dtype == y.dtype:
            try:
                values = a.flow.program.values(a.statement, x), b.flow.program.values(b.statement, y)
            except NotAffine:
                pass
            else:
                if not _is_identity(values[0].reverse().apply_range(relation).apply_range(values[1])):
                    raise self._differs(a, b, relation)
                return
        if not _same_operator(x, y):
            raise self._differs(a, b, relation)
        mine, theirs = _operands(x), _operands(y)
        try:
            self._pairwise(a, mine, b, theirs, relation)
        except Differs as in_this_order:
            if not isinstance(x, COMMUTATIVE):
                raise
            try:
                self._pairwise(a, mine, b, theirs[::-1], relation)
            except Differs:
                raise in_this_order from None

    def _pairwise(
        self, a: StatementTerm, mine: list[Expr], b: StatementTerm, theirs: list[Expr], relation: isl.Map
    ) -> None:
        for x, y in zip(mine, theirs, strict=True):
            self.same(a.of(x), b.of(y), relation)

    def _same_elements(self, a: InitialRead, b: InitialRead, relation: isl.Map) -> None:
        _require_inside(a, relation.domain())
        _require_inside(b, relation.range())
        pairs = a.access.reverse().apply_range(relation).apply_range(b.access)
        if pairs.get_tuple_name(isl.dim_type.in_) != pairs.get_tuple_name(isl.dim_type.out):
            raise self._differs(a, b, relation)
        wrong = pairs.subtract(self._places[str(pairs.get_tuple_name(isl.dim_type.in_))])
        if not wrong.is_empty():
            bad = a.access.apply_range(wrong).apply_range(b.access.reverse()).intersect(relation)
            raise self._differs(a, b, bad)

    def _sums(self, a: FoldedSum, b: FoldedSum, relation: isl.Map) -> None:
        dtype = a.final.store.buffer.dtype
        if a.operator is not b.operator or dtype != b.final.store.buffer.dtype:
            raise self._differs(a, b, relation)
        if not Pairing(self, a, b, relation).check():
            self.reassociated = a.final.store.buffer.name

    def _differs(self, a: Head, b: Head, relation: isl.Map) -> Differs:
        left, right = pair_text(self.left, self.right, relation)
        return Differs(f"the original uses {described(a)} at {left}, but the schedule uses {described(b)} at {right}")


# No statement writes an intermediate buffer outside of its shape; inputs are checked here, if their value is used.
def _require_inside(read: InitialRead, instances: isl.Set) -> None:
    program = read.flow.program
    reads = read.access.intersect_domain(instances)
    outside = reads.subtract(reads.intersect_range(program.shape_of(read.buffer)))
    if not outside.is_empty():
        where = program.point_text(outside.domain().sample_point())
        raise Differs(f"the {program.label} reads {read.buffer.name} out of bounds at {where}")


def _same_operator(x: Expr, y: Expr) -> bool:
    if type(x) is not type(y) or x.dtype != y.dtype:
        return False
    match x, y:
        case (IntImm(), IntImm()) | (FloatImm(), FloatImm()) | (StringImm(), StringImm()):
            return x.value == y.value
        case Call(), Call():
            return x.op == y.op and len(x.args) == len(y.args) and not x.op.startswith("call_")
        case BufferLoad(), BufferLoad():
            return True
        case _:
            return isinstance(x, OPERATORS)


def _operands(expr: Expr) -> list[Expr]:
    if isinstance(expr, BufferLoad):
        return list(expr.indices)
    return [c for c in children(expr) if isinstance(c, Expr)]


def _statement(head: StatementTerm | FoldedSum) -> Statement:
    return head.statement if isinstance(head, StatementTerm) else head.final


# The affine hull of the relation, within the domains of both statements.
def _widened(met: isl.Map, a: Statement, b: Statement) -> isl.Map:
    return isl.Map.from_basic_map(met.affine_hull()).intersect_domain(a.domain).intersect_range(b.domain)


def _is_identity(pairs: isl.Map) -> bool:
    return pairs.is_subset(isl.Map.identity(pairs.get_space()))
