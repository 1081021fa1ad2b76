"""Equality of folded sums: their terms pair one to one, equal in each pair, and their starts are equal."""

from __future__ import annotations

import islpy as isl
import msgspec

from ..cancellation import checkpoint
from ..ir import Add, BufferLoad, Expr, Mul, walk
from ..ir import dtype as dt
from .errors import Differs, UndecidedError
from .flow import Flow, is_neutral
from .heads import FoldedSum, Follows, InitialRead, StatementTerm, pair_text
from .program import Statement, identity

NESTED = 8
"""Maximum nesting of sums that are opened."""


class SumPart(msgspec.Struct, frozen=True, eq=False):
    """The terms of one update statement: `chain` maps an instance of the sum to the instances whose terms it contains."""

    term: StatementTerm
    chain: isl.Map

    @property
    def update(self) -> Statement:
        return self.term.statement

    @property
    def operator(self) -> type[Expr]:
        return self.term.flow.term(self.update).operator


class SumStart(msgspec.Struct, frozen=True, eq=False):
    """The value that the first update of a sum reads: `chain` maps an instance of the sum to that update."""

    old: StatementTerm
    chain: isl.Map


class Pairing:
    """Compares the sums `a` and `b` at each pair of `relation`."""

    def __init__(self, follows: Follows, a: FoldedSum, b: FoldedSum, relation: isl.Map) -> None:
        self._follows, self._a, self._b = follows, a, b
        pairs = identity(relation.wrap())
        self._to_a, self._to_b = pairs.range_factor_domain(), pairs.range_factor_range()
        self._mine = parts(follows, a)
        self._theirs = parts(follows, b)

    def check(self) -> bool:
        """Shows that the sums are equal; returns whether the order of the terms is the same, or does not matter. Raises Differs or Unknown
        if the sums are not shown to be equal."""
        for mine in starts(self._a):
            for theirs in starts(self._b):
                both = self._both(mine.chain, theirs.chain)
                if not both.is_empty():
                    self._follows.same(mine.old, theirs.old, both.range().unwrap())
        exact = not dt.is_float(self._a.final.store.buffer.dtype)
        in_order = exact or len(self._mine) == len(self._theirs) == 1
        left: dict[SumPart, isl.Map] = {}
        right: dict[SumPart, isl.Map] = {}
        for x in self._mine:
            for y in self._theirs:
                both = self._matched(x, y)
                if both is None:
                    continue
                _take(left, x, both.range_factor_domain())
                _take(right, y, both.range_factor_range())
                in_order = in_order and (exact or _keeps_order(x.update, y.update, both))
        for to_sum, ps, used in ((self._to_a, self._mine, left), (self._to_b, self._theirs, right)):
            for part in ps:
                self._require_used(part, to_sum.apply_range(part.chain), used.get(part))
        return in_order

    def _both(self, x_chain: isl.Map, y_chain: isl.Map) -> isl.Map:
        return self._to_a.apply_range(x_chain).range_product(self._to_b.apply_range(y_chain))

    # Maps a pair of sums to pairs of equal terms; None if every candidate pairing is empty.
    def _matched(self, x: SumPart, y: SumPart) -> isl.Map | None:
        failed: Differs | UndecidedError | None = None
        everything = self._both(x.chain, y.chain)
        for candidate in candidates(self._follows, x.term, y.term):
            checkpoint()
            both = everything.intersect_range(candidate.wrap())
            if both.is_empty():
                continue
            try:
                _require_one_to_one(both)
                self._follows.same(x.term, y.term, both.range().unwrap())
            except (Differs, UndecidedError) as error:
                failed = failed or error
            else:
                return both
        if failed is not None:
            raise failed
        return None

    def _require_used(self, part: SumPart, terms: isl.Map, used: isl.Map | None) -> None:
        rest = terms if used is None else terms.subtract(used)
        if not rest.is_empty() and part.operator is Add:
            rest = rest.subtract_range(vanishing(self._follows, part.term, rest.range()))
        if not rest.is_empty():
            raise Differs(
                f"a term of the sum in {self._a.final.store.buffer.name} occurs in only one of the programs: {self._where(rest)}"
            )

    def _where(self, rest: isl.Map) -> str:
        left, right = pair_text(self._a.flow, self._b.flow, rest.domain().unwrap())
        return f"{left} of the original, {right} of the schedule"


def parts(follows: Follows, total: FoldedSum) -> list[SumPart]:
    """All terms of a sum. Terms that are sums with the same operator and a neutral start are opened."""
    chains = total.flow.chain(total.final)
    return [p for update, chain in chains for p in _opened(follows, total.flow, update, chain, NESTED)]


def _opened(follows: Follows, flow: Flow, update: Statement, chain: isl.Map, depth: int) -> list[SumPart]:
    shape = flow.term(update)
    term = StatementTerm(flow, update, shape.term)
    if not isinstance(shape.term, BufferLoad) or depth == 0:
        return [SumPart(term, chain)]
    heads = follows.resolve(term, identity(chain.range()))
    found: list[SumPart] = []
    for head, to_update in heads:
        if not (isinstance(head, FoldedSum) and head.operator is shape.operator and _starts_neutral(follows, head)):
            return [SumPart(term, chain)]
        for inner, inner_chain in flow.chain(head.final):
            whole = chain.apply_range(to_update.reverse()).apply_range(inner_chain)
            if not _each_once(chain, to_update.reverse().apply_range(inner_chain)):
                return [SumPart(term, chain)]
            found += _opened(follows, flow, inner, whole, depth - 1)
    return found


# Whether each inner term is reached from one outer term only.
def _each_once(chain: isl.Map, inner: isl.Map) -> bool:
    outer = identity(chain.wrap())
    to_sum, to_update = outer.range_factor_domain(), outer.range_factor_range()
    reached = to_sum.range_product(to_update.apply_range(inner)).reverse()
    return reached.apply_range(outer.range_factor_range()).is_single_valued()


def _starts_neutral(follows: Follows, total: FoldedSum) -> bool:
    for start in starts(total):
        for head, _ in follows.resolve(start.old, identity(start.chain.range())):
            if not (isinstance(head, StatementTerm) and is_neutral(total.operator, head.expr)):
                return False
    return True


def starts(total: FoldedSum) -> list[SumStart]:
    """The first updates of a sum: those that read a value from outside of the chain."""
    flow = total.flow
    chains = flow.chain(total.final)
    updates = {update for update, _ in chains}
    found: list[SumStart] = []
    for update, chain in chains:
        old = flow.term(update).old
        sources = flow.of(update, old)
        first = update.domain
        for writer, to_writer in sources.writers:
            if writer in updates:
                first = first.subtract(to_writer.domain())
        chain = chain.intersect_range(first)
        if not chain.is_empty():
            found.append(SumStart(StatementTerm(flow, update, old), chain))
    return found


def vanishing(follows: Follows, term: StatementTerm, instances: isl.Set) -> isl.Set:
    """The instances at which a term is zero: padding, or a product with it. Values are assumed to be finite."""
    zero = instances.subtract(instances)
    for head, to_term in follows.resolve(term, identity(instances)):
        if not isinstance(head, StatementTerm):
            continue
        if is_neutral(Add, head.expr):
            zero = zero.union(to_term.range())
        elif isinstance(head.expr, Mul):
            for factor in (head.expr.a, head.expr.b):
                zero = zero.union(vanishing(follows, head.of(factor), to_term.domain()).apply(to_term))
    return zero


def candidates(follows: Follows, x: StatementTerm, y: StatementTerm) -> list[isl.Map]:
    """Candidate pairings of the instances of two terms: equal iterators of the same block, or equal elements of the inputs."""
    found: list[isl.Map] = []
    a, b = x.statement, y.statement
    if a.block == b.block and a.iter_names == b.iter_names:
        found.append(a.iters.apply_range(b.iters.reverse()))
    by_inputs = isl.Map.from_domain_and_range(a.domain, b.domain)
    for mine, theirs in zip(_loads(x.expr), _loads(y.expr), strict=False):
        a_elements, b_elements = _elements(follows, x.of(mine)), _elements(follows, y.of(theirs))
        if a_elements is None or b_elements is None:
            continue
        a_elements = follows.placed(a_elements)
        if a_elements.range().get_space().is_equal(b_elements.range().get_space()):
            by_inputs = by_inputs.intersect(a_elements.apply_range(b_elements.reverse()))
    found.append(by_inputs)
    return found


def _loads(expr: Expr) -> list[BufferLoad]:
    return [n for n in walk(expr) if isinstance(n, BufferLoad)]


# The input elements that a load forwards; None if it may forward another value.
def _elements(follows: Follows, load: StatementTerm) -> isl.Map | None:
    found: isl.Map | None = None
    for head, to_load in follows.resolve(load, identity(load.statement.domain)):
        if not (isinstance(head, InitialRead) and head.is_input):
            return None
        elements = to_load.reverse().apply_range(head.access)
        if found is not None and not found.has_equal_space(elements):
            return None
        found = elements if found is None else found.union(elements)
    return found


def _require_one_to_one(both: isl.Map) -> None:
    if not both.uncurry().is_single_valued() or not both.range_reverse().uncurry().is_single_valued():
        raise UndecidedError("the terms of a sum are paired in more than one way")


def _take(used: dict[SumPart, isl.Map], part: SumPart, terms: isl.Map) -> None:
    before = used.get(part)
    if before is not None and not before.is_disjoint(terms):
        raise UndecidedError("a term of a sum is paired twice")
    used[part] = terms if before is None else before.union(terms)


# Whether of any two terms of a sum, the earlier one is still added earlier.
def _keeps_order(x: Statement, y: Statement, both: isl.Map) -> bool:
    checkpoint()
    swapped = x.time.lex_lt_map(x.time).product(y.time.lex_ge_map(y.time))
    return both.apply_range(swapped).is_disjoint(both)
