"""Loops whose iterations differ only in the trip counts of inner loops: `for q: for k in range(q + 1)`.

The edges of the inner loops are affine in the outer one. While their order is the same, and the shift of an edge per period is a constant,
iterations one period apart run the same tasks, except that runs between edges with different shifts grow or shrink by a constant number of
iterations. The order of affine edges is the same in a range if it is the same at both ends.

    k ──┬───────┬──      q:      below the diagonal, the diagonal, nothing
    k ──┬─────────┬      q + 1:  the first run is one iteration longer, the other two moved by one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import lcm
from typing import NamedTuple

from ...arith import Analyzer
from ...cancellation import checkpoint
from ...ir import Expr, Predicate, Var, build, substitute, uses_var
from .periodicity import IterationClass, Run, comes_back, edges, is_compared, moves_evenly, period_of, shift_of, zone_of

SHORT = 4
"""A range of up to this many periods is replayed one by one."""

MAX_PERIOD = 16
MAX_PIECES = 32
MAX_ZONE = 16
"""Limit on the iterations of an inner loop that a condition cuts inside of a task, as along a diagonal."""


class Level(NamedTuple):
    """A loop, what decides about the iterations of all that is inside of it, and the loops and tasks inside."""

    var: Var
    extent: int
    iteration_class: IterationClass
    inside: tuple[Level | IterationClass, ...]


class _DifferentError(Exception):
    """The iterations differ in more than trip counts."""


def growing(level: Level, run: Run, at: Mapping[Var, int], analyzer: Analyzer) -> list[Run]:
    """Cuts a run without equivalent iterations into ranges that grow evenly, and the rest; outer loops are at `at`."""
    found: list[Run] = []
    start, stop = run.start, run.stop
    proof = _Proof(level, run, at, analyzer)
    period = proof.period
    while stop - start > SHORT * period and period <= MAX_PERIOD and len(found) < MAX_PIECES:
        end = proof.reach(start, stop)
        if end - start > SHORT * period:
            found.append(Run(start, end, period, grows=True))
        else:
            end = start + period
            found.append(Run(start, end, period))
        start = end
    return [*found, Run(start, stop, stop - start)] if start < stop else found


class _Proof:
    def __init__(self, level: Level, run: Run, at: Mapping[Var, int], analyzer: Analyzer) -> None:
        self._level = level
        self._at = at
        self._analyzer = analyzer
        self.period = _common_period(level)
        self._shapes: dict[int, object] = {}
        self._shifts: dict[tuple[Expr, tuple[tuple[Var, int], ...]], int | None] = {}
        # Conditions that do not change in this run.
        known = {v: build.const(n, v.dtype) for v, n in at.items()}
        self._decided = frozenset(
            c
            for c in level.iteration_class.conditions
            if uses_var(c, level.var)
            and not any(
                low < run.stop and run.start < high
                for low, high in edges(substitute(c, known), level.var, level.extent, analyzer)[1]
            )
        )

    def reach(self, start: int, stop: int) -> int:
        """Returns the end of the longest range from `start` in which all iterations one period apart grow evenly; `start` if none."""
        shapes = [self._shape(start + r) for r in range(self.period)]
        if None in shapes:
            return start

        def is_even(end: int) -> bool:
            # The last iterations of each remainder.
            return all(self._shape(i) == shapes[(i - start) % self.period] for i in range(end - self.period, end))

        if is_even(stop):
            return stop
        low, high = start + self.period, stop
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_even(middle) else (low, middle)
        return low

    def _shape(self, i: int) -> object:
        checkpoint()
        if i not in self._shapes:
            level = self._level
            try:
                found = self._of(level.inside, {**self._at, level.var: i}, {level.var: self.period}, self._decided)
            except _DifferentError:
                found = None
            self._shapes[i] = found
        return self._shapes[i]

    def _of(self, inside: Sequence[Level | IterationClass], at: Mapping[Var, int], shifts: Mapping[Var, int],
            decided: frozenset[Expr]) -> tuple[object, ...]:  # fmt: skip
        """Returns the order of all edges inside, with loops at `at`, which are shifted by `shifts` per period."""
        found: list[object] = []
        for part in inside:
            if isinstance(part, IterationClass):
                self._require_equal(part, shifts, decided)
            else:
                found.append(self._loop(part, at, shifts, decided))
        return tuple(found)

    def _loop(self, level: Level, at: Mapping[Var, int], shifts: Mapping[Var, int], decided: frozenset[Expr]) -> object:
        var, extent, own = level.var, level.extent, level.iteration_class
        period = period_of(var, own)
        if period >= extent:
            if extent > MAX_ZONE:
                raise _DifferentError
            return tuple(self._of(level.inside, {**at, var: i}, shifts, decided) for i in range(extent))
        if var in own.single or not moves_evenly(var, period, own, self._analyzer):
            raise _DifferentError
        known = {v: build.const(n, v.dtype) for v, n in at.items()}
        points = [(0, -1, 0), (extent, -2, 0)]  # position, label, shift per period
        zones: dict[Expr, tuple[int, int]] = {}
        for n, condition in enumerate(own.conditions):
            if not uses_var(condition, var) or comes_back(condition, var, period, self._analyzer):
                continue
            zone = zone_of(substitute(condition, known), var, self._analyzer) if _is_linear(condition) else None
            moved = self._shift(condition, shifts)
            if zone is None or moved is None or moved % zone.factor:
                raise _DifferentError
            step = -moved // zone.factor
            points += [(zone.start, 2 * n, step), (zone.stop, 2 * n + 1, step)]
            zones[condition] = zone.start, zone.stop
        points.sort()
        # An affine edge has the same offset in all iterations one period apart.
        i, steady = at[self._level.var], self.period
        order = tuple((label, position * steady - step * i) for position, label, step in points)
        apart = tuple(a[0] < b[0] for a, b in pairwise(points))
        pieces = [
            self._piece(level, (a, b), at, shifts, decided, zones)
            for a, b in pairwise(points)
            if a[0] < b[0] and a[0] >= 0 and b[0] <= extent
        ]
        return order, apart, tuple(pieces)

    def _piece(self, level: Level, ends: tuple[tuple[int, int, int], tuple[int, int, int]], at: Mapping[Var, int],
               shifts: Mapping[Var, int], decided: frozenset[Expr], zones: Mapping[Expr, tuple[int, int]]) -> object:  # fmt: skip
        """Returns the order of all edges inside of the iterations between two edges."""
        (start, _, step), (stop, _, last_step) = ends
        cut = {c for c, (low, high) in zones.items() if low <= start and stop <= high}
        if cut and (step != last_step or stop - start > MAX_ZONE):
            raise _DifferentError
        count = stop - start if cut else min(period_of(level.var, level.iteration_class), stop - start)
        moved = {**shifts, level.var: step}
        known = decided | (zones.keys() - cut)
        return tuple(self._of(level.inside, {**at, level.var: start + i}, moved, known) for i in range(count))

    def _require_equal(self, own: IterationClass, shifts: Mapping[Var, int], decided: frozenset[Expr]) -> None:
        is_equal = (
            not own.single
            and all(c in decided or self._is_same(c, shifts) for c in own.conditions)
            and all(self._shift(e, shifts) is not None for e in own.shifted)
            and all(self._shift(e, shifts) == 0 for e in own.fixed)
            and all(shifts.get(var, 0) % count == 0 for var, count in own.slots)
        )
        if not is_equal:
            raise _DifferentError

    def _is_same(self, condition: Expr, shifts: Mapping[Var, int]) -> bool:
        if _is_linear(condition):
            return self._shift(condition, shifts) == 0
        later = substitute(condition, {v: build.add(v, n) for v, n in shifts.items()})
        return self._analyzer.proves_equal(later, condition)

    def _shift(self, expr: Expr, shifts: Mapping[Var, int]) -> int | None:
        """Returns the constant increase of an expression, or of the difference that a condition compares; None if it is not constant."""
        key = expr, tuple(shifts.items())
        if key not in self._shifts:
            amount = build.sub(expr.a, expr.b) if isinstance(expr, Predicate) else expr
            self._shifts[key] = shift_of(amount, shifts, self._analyzer)
        return self._shifts[key]


def _is_linear(condition: Expr) -> bool:
    return isinstance(condition, Predicate) and is_compared(condition)


def _common_period(level: Level) -> int:
    found = period_of(level.var, level.iteration_class)
    for part in level.inside:
        if isinstance(part, Level):
            found = lcm(found, _common_period(part))
    return found
