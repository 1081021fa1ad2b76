"""Loops whose iterations differ only in the trip counts of inner loops: `for q: for k in range(q + 1)`.

The edges of the inner loops are affine in the outer one. While their order is the same, and the shift of an edge per period is a constant,
iterations one period apart run the same tasks, except that runs between edges with different shifts grow or shrink by a constant number of
iterations. The order of affine edges is the same in a range if it is the same at both ends.

    k ──┬───────┬──      q:      below the diagonal, the diagonal, nothing
    k ──┬─────────┬      q + 1:  the first run is one iteration longer, the other two moved by one

In a triangle within a triangle (`for i: for j in range(i): for k in range(j)`) the iterations of the middle loop grow, too. They are cut
where the order of the edges inside of them changes; these cuts are edges of the middle loop, and have to be affine in the outer one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import lcm
from typing import NamedTuple

from ...arith import Analyzer
from ...cancellation import checkpoint
from ...ir import Expr, Predicate, Var, build, substitute, uses_var
from .grid import at_values
from .periodicity import IterationClass, Run, comes_back, edges, is_compared, moves_evenly, period_of, shift_of, zone_of

SHORT = 4
"""A range of up to this many periods is replayed one by one."""

MAX_PERIOD = 16
MAX_PIECES = 32
MAX_ZONE = 16
"""Limit on the iterations of an inner loop that a condition cuts inside of a task, as along a diagonal."""


class TriangleLevel(NamedTuple):
    """A loop, what decides about the iterations of all that is inside of it, and the loops and tasks inside."""

    var: Var
    extent: int
    iteration_class: IterationClass
    inside: tuple[TriangleLevel | IterationClass, ...]


class _Point(NamedTuple):
    """An edge of a loop at some iterations of the loops around, and its shift in each direction."""

    position: int
    label: object
    steps: tuple[int, ...]


class _Shape(NamedTuple):
    """The order of all edges in a part of the program: a value that is equal for equal orders; and the edges of each loop, in order."""

    value: object
    points: tuple[list[_Point], ...]


_Directions = tuple[Mapping[Var, int], ...]
"""Shifts of loops, from an iteration to another that runs the same up to trip counts."""


class _DifferentError(Exception):
    """The iterations differ in more than trip counts."""


def growing(level: TriangleLevel, run: Run, at: Mapping[Var, int], analyzer: Analyzer) -> list[Run]:
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
    def __init__(self, level: TriangleLevel, run: Run, at: Mapping[Var, int], analyzer: Analyzer) -> None:
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
                for low, high in edges(at_values(c, known), level.var, level.extent, analyzer)[1]
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
                directions = ({level.var: self.period},)
                found = self._of(level.inside, {**self._at, level.var: i}, directions, self._decided).value
            except _DifferentError:
                found = None
            self._shapes[i] = found
        return self._shapes[i]

    def _of(
        self,
        inside: Sequence[TriangleLevel | IterationClass],
        at: Mapping[Var, int],
        directions: _Directions,
        decided: frozenset[Expr],
    ) -> _Shape:
        """Returns the order of all edges inside, with loops at `at`. Conditions in `decided` do not change."""
        found: list[_Shape] = []
        for part in inside:
            if isinstance(part, IterationClass):
                self._require_equal(part, directions, decided)
            else:
                found.append(self._loop(part, at, directions, decided))
        return _together(found)

    def _loop(
        self, level: TriangleLevel, at: Mapping[Var, int], directions: _Directions, decided: frozenset[Expr]
    ) -> _Shape:
        var, extent, own = level.var, level.extent, level.iteration_class
        period = period_of(var, own)
        if period >= extent:
            if extent > MAX_ZONE:
                raise _DifferentError
            return _together([self._of(level.inside, {**at, var: i}, directions, decided) for i in range(extent)])
        if var in own.single or not moves_evenly(var, period, own, self._analyzer):
            raise _DifferentError
        points, zones = self._edges(level, at, directions)
        order, pieces = list(points), list[_Shape]()
        for start, end in pairwise(points):
            if start.position >= end.position or start.position < 0 or end.position > extent:
                continue
            cut = {c for c, (low, high) in zones.items() if low <= start.position and end.position <= high}
            known = decided | (zones.keys() - cut)
            length = end.position - start.position
            if not cut or (start.steps == end.steps and length <= MAX_ZONE):
                count = length if cut else min(period, length)
                pieces.append(self._iterations(level, at, start, count, directions, known))
                continue
            at_edge = start
            while at_edge.position < end.position:
                piece, at_edge = self._triangle(level, at, at_edge, end, directions, known)
                pieces.append(piece)
                order.append(at_edge)
        # An affine edge has the same offset in all iterations one period apart.
        i, steady = at[self._level.var], self.period
        offsets = tuple((label, position * steady - steps[0] * i) for position, label, steps in order)
        apart = tuple(a.position < b.position for a, b in pairwise(points))
        inside = _together(pieces)
        return _Shape((offsets, apart, inside.value), (sorted(order, key=lambda p: p.position), *inside.points))

    def _edges(
        self, level: TriangleLevel, at: Mapping[Var, int], directions: _Directions
    ) -> tuple[list[_Point], dict[Expr, tuple[int, int]]]:
        """Returns the edges of a loop, in order, and the zones of its conditions."""
        var, own = level.var, level.iteration_class
        period = period_of(var, own)
        known = {v: build.const(n, v.dtype) for v, n in at.items()}
        still = (0,) * len(directions)
        points = [_Point(0, -1, still), _Point(level.extent, -2, still)]
        zones: dict[Expr, tuple[int, int]] = {}
        for n, condition in enumerate(own.conditions):
            if not uses_var(condition, var) or comes_back(condition, var, period, self._analyzer):
                continue
            zone = zone_of(at_values(condition, known), var, self._analyzer) if _is_linear(condition) else None
            if zone is None:
                raise _DifferentError
            steps = tuple(_quotient(self._shift(condition, shifts), -zone.factor) for shifts in directions)
            points += [_Point(zone.start, 2 * n, steps), _Point(zone.stop, 2 * n + 1, steps)]
            zones[condition] = zone.start, zone.stop
        return sorted(points, key=lambda p: (p.position, p.label)), zones

    def _iterations(
        self,
        level: TriangleLevel,
        at: Mapping[Var, int],
        start: _Point,
        count: int,
        directions: _Directions,
        known: frozenset[Expr],
    ) -> _Shape:
        """Returns the order of all edges inside of some iterations from an edge on."""
        moved = tuple({**shifts, level.var: step} for shifts, step in zip(directions, start.steps, strict=True))
        return _together(
            [self._of(level.inside, {**at, level.var: start.position + i}, moved, known) for i in range(count)]
        )

    def _triangle(
        self,
        level: TriangleLevel,
        at: Mapping[Var, int],
        start: _Point,
        end: _Point,
        directions: _Directions,
        known: frozenset[Expr],
    ) -> tuple[_Shape, _Point]:
        """Returns the order of the edges inside of iterations that grow, and where it changes first; from one edge to at most another."""
        checkpoint()
        period = period_of(level.var, level.iteration_class)
        shifted = tuple({**shifts, level.var: step} for shifts, step in zip(directions, start.steps, strict=True))
        moved = (*shifted, {level.var: period})
        own, until = len(directions), end
        shapes: list[_Shape] = []
        for r in range(min(period, end.position - start.position)):
            shape = self._of(level.inside, {**at, level.var: start.position + r}, moved, known)
            shapes.append(shape)
            for points in shape.points:
                for a, b in pairwise(points):
                    crossing = _crossing(a, b, own)
                    if crossing is not None and start.position + r + crossing * period < until.position:
                        steps = tuple(
                            step + period * shift
                            for step, shift in zip(start.steps, _shift_of_crossing(a, b, own), strict=True)
                        )
                        until = _Point(
                            start.position + r + crossing * period, (start.label, a.label, b.label, r), steps
                        )
        return _together(shapes), until

    def _require_equal(self, own: IterationClass, directions: _Directions, decided: frozenset[Expr]) -> None:
        if own.single or not all(self._is_equal(own, shifts, decided) for shifts in directions):
            raise _DifferentError

    def _is_equal(self, own: IterationClass, shifts: Mapping[Var, int], decided: frozenset[Expr]) -> bool:
        return (
            all(c in decided or self._is_same(c, shifts) for c in own.conditions)
            and all(self._shift(e, shifts) is not None for e in own.shifted)
            and all(self._shift(e, shifts) == 0 for e in own.fixed)
            and all(shifts.get(var, 0) % count == 0 for var, count in own.slots)
        )

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


def _together(shapes: Sequence[_Shape]) -> _Shape:
    return _Shape(tuple(shape.value for shape in shapes), tuple(points for shape in shapes for points in shape.points))


def _quotient(amount: int | None, factor: int) -> int:
    """Returns amount / factor. Raises _DifferentError if it is no integer."""
    if amount is None or amount % factor:
        raise _DifferentError
    return amount // factor


def _crossing(a: _Point, b: _Point, own: int) -> int | None:
    """Returns after how many steps in a direction two edges, in order, are first not in this order, or apart (if they coincide); None if
    never.
    """
    apart, closer = b.position - a.position, a.steps[own] - b.steps[own]
    if not apart:
        return 1 if closer else None
    return -(-apart // closer) if closer > 0 else None


def _shift_of_crossing(a: _Point, b: _Point, own: int) -> list[int]:
    """Returns the shift of the crossing of two edges in the other directions."""
    closer = a.steps[own] - b.steps[own]
    if a.position == b.position:
        return [0] * own
    return [_quotient(b.steps[n] - a.steps[n], closer) for n in range(own)]


def _is_linear(condition: Expr) -> bool:
    return isinstance(condition, Predicate) and is_compared(condition)


def _common_period(level: TriangleLevel) -> int:
    found = period_of(level.var, level.iteration_class)
    for part in level.inside:
        if isinstance(part, TriangleLevel):
            found = lcm(found, _common_period(part))
    return found
