"""Classification of loops: loops that run all iterations in lockstep, as an axis of NumPy arrays, and loops that run in order.

A loop is an "axis" if, for every buffer that is written below it and outlives an iteration, accesses from different iterations never touch
the same element. Any interleaving that keeps the order within each iteration then computes the same result, bit for bit. A loop is a
"reduce" axis if its iterations otherwise share only elements updated by one store `X[i] = X[i] op e` whose e does not read X: the values
of e are computed at once and folded in iteration order. A store to X that can only occur in the first iteration (the init of a reduction)
may precede that update.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from ..arith import Analyzer, Linear, bounds, detect_iter_map, linear
from ..cancellation import checkpoint
from ..ir import (
    EQ,
    Add,
    Allocate,
    BinaryOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    Let,
    LetStmt,
    Max,
    Min,
    Mul,
    Node,
    Range,
    Stmt,
    Sub,
    Var,
    While,
    build,
    children,
    free_vars,
    structural_equal,
    uses_var,
    walk,
)
from .plain import reads_memory

Kind = Literal["axis", "reduce"]
Ranges = Mapping[Var, Range]

LARGE_BODY = (
    256  # elements; above that, a loop whose variable is divided runs in order, as gathering costs more than stepping
)


class StoreUpdate(msgspec.Struct, frozen=True, eq=False):
    """The form `X[i] = X[i] op value` of a store; `flipped` if the element is the right operand."""

    op: type[BinaryOp]
    value: Expr
    flipped: bool
    load: BufferLoad


def find_update(store: BufferStore) -> StoreUpdate | None:
    """The update of the written element if the store is a fold, otherwise None."""
    value = store.value
    if not isinstance(value, Add | Sub | Mul | Max | Min):
        return None
    sides = (
        [(value.a, value.b, False)] if isinstance(value, Sub) else [(value.a, value.b, False), (value.b, value.a, True)]
    )
    for mine, other, flipped in sides:
        if (
            isinstance(mine, BufferLoad)
            and mine.buffer is store.buffer
            and not any(map(reads_memory, store.indices))
            and all(structural_equal(a, b) for a, b in zip(mine.indices, store.indices, strict=True))
        ):
            return StoreUpdate(type(value), other, flipped, mine)
    return None


class _Access(msgspec.Struct, eq=False):
    """One load or store. `update` is the store that folds at this element; `conditions` hold at every occurrence of the access."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    forms: tuple[Linear | None, ...]
    is_write: bool
    update: BufferStore | None
    conditions: tuple[Expr, ...]
    in_order: bool = False  # below a loop that runs in order


class _Facts(msgspec.Struct, eq=False):
    """Facts about a statement's subtree: accesses in text order, variables defined, and variables and buffers in loop bounds."""

    accesses: list[_Access] = []
    defined: set[Var] = set()
    bounding: set[Var] = set()
    counting: set[Buffer] = set()
    volume: int = 1  # iterations of the axes below
    must_order: bool = False  # the loops around must run in order


class Axes:
    """An analysis of the kinds of all loops below a plain statement; loops that are not in `kinds` run in order."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.analyzer = Analyzer(ranges)
        self.kinds: dict[Var, Kind] = {}

    def visit(self, node: Node, conditions: tuple[Expr, ...] = ()) -> _Facts:
        match node:
            case For():
                return self.loop(node, conditions)
            case BufferStore():
                return self.store(node, conditions)
            case BufferLoad():
                return self.join(map(self.visit, node.indices), [self.access(node, None, conditions)])
            case IfThenElse(condition, then_case, else_case):
                parts = [self.visit(condition), self.visit(then_case, (*conditions, *build.conjuncts(condition)))]
                if else_case is not None:
                    parts.append(self.visit(else_case, conditions))
                return self.join(parts)
            case Allocate(buffers, body):
                facts = self.visit(body, conditions)
                own = set(buffers)
                facts.must_order |= not own.isdisjoint(facts.counting)  # an element for each iteration of an axis
                facts.accesses = [a for a in facts.accesses if a.buffer not in own]
                return facts
            case LetStmt(var, value, body) | Let(var, value, body):
                facts = self.join([self.visit(value), self.visit(body, conditions)])
                facts.defined.add(var)
                facts.must_order = True  # a remaining let reads memory, so it has one value at a time
                return facts
            case While():
                facts = self.join([self.visit(node.condition), self.visit(node.body)])
                facts.must_order = True  # iterations of the loops around run it different numbers of times
                return facts
            case Buffer():
                return _Facts()
            case _:
                inner = conditions if isinstance(node, Stmt) else ()
                return self.join(self.visit(child, inner) for child in children(node))

    def join(self, parts: Iterable[_Facts], accesses: Sequence[_Access] = ()) -> _Facts:
        facts = _Facts([], set(), set(), set())
        for part in parts:
            facts.accesses += part.accesses
            facts.defined |= part.defined
            facts.bounding |= part.bounding
            facts.counting |= part.counting
            facts.volume = max(facts.volume, part.volume)
            facts.must_order |= part.must_order
        facts.accesses += accesses
        return facts

    def access(
        self, node: BufferLoad | BufferStore, update: BufferStore | None, conditions: tuple[Expr, ...]
    ) -> _Access:
        forms = tuple(map(linear, node.indices))
        return _Access(node.buffer, node.indices, forms, isinstance(node, BufferStore), update, conditions)

    def store(self, node: BufferStore, conditions: tuple[Expr, ...]) -> _Facts:
        update = find_update(node)
        parts = [self.visit(index) for index in node.indices]
        if update is None:
            return self.join([*parts, self.visit(node.value)], [self.access(node, None, conditions)])
        own = [self.access(update.load, node, conditions), self.access(node, node, conditions)]
        return self.join([*parts, self.visit(update.value)], own)

    def loop(self, loop: For, conditions: tuple[Expr, ...]) -> _Facts:
        checkpoint()
        facts = self.visit(loop.body, conditions)
        kind = self.kind(loop, facts)
        if kind is not None:
            self.kinds[loop.loop_var] = kind
            facts.volume *= build.int_value(self.ranges[loop.loop_var].extent) or 1
        else:
            for access in facts.accesses:
                access.in_order = True
        facts.defined.add(loop.loop_var)
        for bound in (loop.min, loop.extent):
            facts.counting |= {node.buffer for node in walk(bound) if isinstance(node, BufferLoad)}
            facts.bounding |= free_vars(bound)
        return facts

    def kind(self, loop: For, facts: _Facts) -> Kind | None:
        var = loop.loop_var
        if var not in self.ranges or var in facts.bounding or facts.must_order or self.gathers(var, facts):
            return None
        if any(a.is_write and a.buffer in facts.counting for a in facts.accesses):
            return None  # the bounds of an inner loop may be others in another iteration
        by_buffer: dict[Buffer, list[_Access]] = {}
        for access in facts.accesses:
            by_buffer.setdefault(access.buffer, []).append(access)
        kind: Kind = "axis"
        for accesses in by_buffer.values():
            if not any(a.is_write for a in accesses) or self.tells(var, accesses, facts.defined):
                continue
            if not self.folds(var, accesses):
                return None
            kind = "reduce"
        return kind

    def gathers(self, var: Var, facts: _Facts) -> bool:
        """Whether the variable occurs in a division within an index, with a large volume of iterations below."""
        return facts.volume >= LARGE_BODY and any(
            form is None or any(not isinstance(atom, Var) and uses_var(atom, var) for atom, _ in form.terms)
            for access in facts.accesses
            for form, index in zip(access.forms, access.indices, strict=True)
            if uses_var(index, var)
        )

    # -- an axis

    def tells(self, var: Var, accesses: Sequence[_Access], inner: set[Var]) -> bool:
        ranks = {len(a.indices) for a in accesses}
        if len(ranks) != 1:
            return False
        by_step = any(self.tells_by_step(var, accesses, axis, inner) for axis in range(ranks.pop()))
        return by_step or self.tells_by_value(var, accesses, inner)

    def tells_by_step(self, var: Var, accesses: Sequence[_Access], axis: int, inner: set[Var]) -> bool:
        """Whether the index is `step * var + outside + rest`, with common step and outside, and the range of rest smaller than one step."""
        first: tuple[int, Expr] | None = None
        low = high = 0
        for number, access in enumerate(accesses):
            form = access.forms[axis]
            parts = None if form is None else self._split(form, var, inner, access.indices[axis].dtype)
            if parts is None:
                return False
            step, outside, rest = parts
            spread = self.analyzer.bounds(rest)
            if spread.low is None or spread.high is None:
                return False
            if first is None:
                first, low, high = (step, outside), spread.low, spread.high
            elif step != first[0] or not _same(outside, first[1]):
                return False
            low, high = min(low, spread.low) if number else spread.low, max(high, spread.high)
        return first is not None and high - low < abs(first[0])

    def _split(self, form: Linear, var: Var, inner: set[Var], dtype: str) -> tuple[int, Expr, Expr] | None:
        """(step of `var`, terms fixed outside, terms that change inside and the constant)."""
        step = 0
        outside: list[tuple[Expr, int]] = []
        rest: list[tuple[Expr, int]] = [(build.const(1, dtype), form.constant)]
        for atom, factor in form.terms:
            used = free_vars(atom)
            if atom is var:
                step = factor
            elif var in used or reads_memory(atom):
                return None
            else:
                (rest if used & inner else outside).append((atom, factor))
        return step, _sum(outside, dtype), _sum(rest, dtype)

    def tells_by_value(self, var: Var, accesses: Sequence[_Access], inner: set[Var]) -> bool:
        """Whether the axes that all accesses index identically have different values in each iteration: `A[f // 16, f % 16]`."""
        values: list[Expr] = []
        for axis, index in enumerate(accesses[0].indices):
            form = accesses[0].forms[axis]
            if form is None or reads_memory(index) or not all(_same(a.indices[axis], index) for a in accesses[1:]):
                continue
            own = [(atom, factor) for atom, factor in form.terms if uses_var(atom, var)]
            # The index's other terms are the same in all iterations, unless loops inside change them.
            if own and not free_vars(index) & inner and all(free_vars(atom) == {var} for atom, _ in own):
                values.append(_sum(own, index.dtype))
        found = detect_iter_map(values, {var: self.ranges[var]}) if values else None
        return found is not None and found.injective

    # -- a reduction

    def folds(self, var: Var, accesses: Sequence[_Access]) -> bool:
        """Whether iterations share only elements that one store updates."""
        store = next((a.update for a in reversed(accesses) if a.update is not None), None)
        if store is None or any(uses_var(index, var) for a in accesses for index in a.indices):
            return False
        seen_update = False
        for access in accesses:
            if access.update is store:
                seen_update = True
                if access.in_order:
                    return False
            elif not access.is_write or access.update or seen_update or not self.only_first(var, access.conditions):
                return False
        return True

    def only_first(self, var: Var, conditions: Sequence[Expr]) -> bool:
        """Whether some condition `a == b` fails in every iteration except the first."""
        domain = self.ranges[var]
        rest = Range(build.add(domain.min, 1), build.sub(domain.extent, 1))
        for condition in conditions:
            if isinstance(condition, EQ):
                gap = bounds(build.sub(condition.a, condition.b), {**self.ranges, var: rest})
                if (gap.low is not None and gap.low > 0) or (gap.high is not None and gap.high < 0):
                    return True
        return False


def _sum(terms: Sequence[tuple[Expr, int]], dtype: str) -> Expr:
    total = build.const(0, dtype)
    for atom, factor in terms:
        total = build.add(total, build.mul(atom, factor))
    return total


def _same(a: Expr, b: Expr) -> bool:
    """Whether two indices are provably equal."""
    if structural_equal(a, b):
        return True
    gap = linear(build.sub(a, b))
    return gap is not None and not gap.terms and gap.constant == 0
