"""Index expressions as integer forms over loop variables whose ranges are known numbers.

Here every extent is a number (sizes are bound when a program runs), so ranges are pairs of integers and a division by a constant can be
split into a part that divides and a rest: enough to see strides, exact bounds, and which loops an index tells apart. A form is only
made where no step of the expression can leave its dtype's range, so computing it in unbounded integers is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from ..ir import Add, Cast, Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var
from ..ir import dtype as dt

Interval = tuple[int, int]  # both ends included
Ranges = Mapping[Var, Interval]


class Quotient(msgspec.Struct, frozen=True):
    """`form // divisor`, or `form % divisor` when `rest`; the form does not divide, the divisor is positive."""

    form: Affine
    divisor: int
    rest: bool

    def variables(self) -> Iterator[Var]:
        return self.form.variables()


class Affine(msgspec.Struct, frozen=True):
    """The sum of coefficient times atom, plus a constant."""

    terms: frozenset[tuple[Var | Quotient, int]]
    constant: int

    def variables(self) -> Iterator[Var]:
        """Every variable, those inside of quotients too."""
        for atom, _ in self.terms:
            if isinstance(atom, Var):
                yield atom
            else:
                yield from atom.variables()

    @property
    def is_linear(self) -> bool:
        """Whether there are no quotients."""
        return all(isinstance(atom, Var) for atom, _ in self.terms)

    def coefficients(self) -> list[tuple[Var, int]]:
        """The terms of a linear form."""
        return [(atom, coefficient) for atom, coefficient in self.terms if isinstance(atom, Var)]


def constant(value: int) -> Affine:
    return Affine(frozenset(), value)


def variable(var: Var) -> Affine:
    return Affine(frozenset({(var, 1)}), 0)


def combine(a: Affine, b: Affine, factor: int = 1) -> Affine:
    """`a + factor * b`."""
    sums = dict(a.terms)
    for atom, coefficient in b.terms:
        sums[atom] = sums.get(atom, 0) + factor * coefficient
    return Affine(frozenset((atom, c) for atom, c in sums.items() if c), a.constant + factor * b.constant)


def scale(form: Affine, factor: int) -> Affine:
    return combine(constant(0), form, factor)


def interval(form: Affine, ranges: Ranges) -> Interval | None:
    """The least and the greatest value; exact when the atoms do not depend on one another. None when a range is unknown."""
    low = high = form.constant
    for atom, coefficient in form.terms:
        bounds = ranges.get(atom) if isinstance(atom, Var) else _quotient_interval(atom, ranges)
        if bounds is None:
            return None
        ends = (bounds[0] * coefficient, bounds[1] * coefficient)
        low += min(ends)
        high += max(ends)
    return low, high


def _quotient_interval(atom: Quotient, ranges: Ranges) -> Interval | None:
    bounds = interval(atom.form, ranges)
    if bounds is None:
        return (0, atom.divisor - 1) if atom.rest else None
    if not atom.rest:
        return bounds[0] // atom.divisor, bounds[1] // atom.divisor
    if bounds[0] // atom.divisor == bounds[1] // atom.divisor:
        return bounds[0] % atom.divisor, bounds[1] % atom.divisor
    return 0, atom.divisor - 1


def floor_divide(form: Affine, divisor: int, ranges: Ranges, rest: bool) -> Affine:
    """`form // divisor`, or `form % divisor` with `rest`, for a positive divisor."""
    whole = {(atom, c // divisor) for atom, c in form.terms if c % divisor == 0}
    left = Affine(frozenset((atom, c) for atom, c in form.terms if c % divisor), form.constant % divisor)
    quotient = Affine(frozenset(whole), form.constant // divisor)
    bounds = interval(left, ranges)
    if bounds is not None and bounds[0] // divisor == bounds[1] // divisor:
        known = bounds[0] // divisor
        return combine(left, constant(known * divisor), -1) if rest else combine(quotient, constant(known))
    atom = Affine(frozenset({(Quotient(left, divisor, rest), 1)}), 0)
    return atom if rest else combine(quotient, atom)


def evaluate(form: Affine, values: Callable[[Var], object]) -> object:
    """The value when each variable is what `values` says: integers or NumPy integer arrays."""
    total: object = form.constant
    for atom, coefficient in form.terms:
        if isinstance(atom, Var):
            value = values(atom)
        else:
            inner = evaluate(atom.form, values)
            value = inner % atom.divisor if atom.rest else inner // atom.divisor  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
        total = total + coefficient * value  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
    return total  # pyright: ignore[reportUnknownVariableType]


class Scope(msgspec.Struct, frozen=True, eq=False):
    """What is known at a place of a program: the ranges of loop variables, and what other integer variables stand for."""

    ranges: dict[Var, Interval]
    forms: dict[Var, Affine | None]

    def with_loop(self, var: Var, bounds: Interval | None) -> Scope:
        """Inside a loop. Without bounds the variable is a name for an unknown value."""
        ranges, forms = dict(self.ranges), dict(self.forms)
        ranges.pop(var, None)
        if bounds is not None:
            ranges[var] = bounds
        forms[var] = variable(var)
        return Scope(ranges, forms)

    def with_value(self, var: Var, form: Affine | None) -> Scope:
        """Where `var` is a name for `form`, or for something that is no form."""
        return Scope(self.ranges, {**self.forms, var: form})

    def interval(self, expr: Expr) -> Interval | None:
        form = self.form(expr)
        return None if form is None else interval(form, self.ranges)

    def form(self, expr: Expr) -> Affine | None:
        """`expr` as a form, or None."""
        if isinstance(expr, Var):
            return self.forms.get(expr)
        if isinstance(expr, IntImm):
            return constant(expr.value)
        make = _FORMS.get(type(expr))
        form = None if make is None else make(self, expr)
        return form if form is not None and _stays_inside(form, expr.dtype, self.ranges) else None


def _stays_inside(form: Affine, dtype: str, ranges: Ranges) -> bool:
    """Whether no value of the form wraps around in `dtype`."""
    bounds = interval(form, ranges)
    if bounds is None or not dt.is_int(dtype):
        return False
    width = dt.bits(dtype)
    least, most = (0, 2**width - 1) if dtype.startswith("uint") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    return least <= bounds[0] and bounds[1] <= most


def _operands(scope: Scope, a: Expr, b: Expr) -> tuple[Affine, Affine] | None:
    left = scope.form(a)
    right = None if left is None else scope.form(b)
    return None if left is None or right is None else (left, right)


def _sum(scope: Scope, expr: Add | Sub) -> Affine | None:
    both = _operands(scope, expr.a, expr.b)
    return None if both is None else combine(*both, 1 if isinstance(expr, Add) else -1)


def _product(scope: Scope, expr: Mul) -> Affine | None:
    both = _operands(scope, expr.a, expr.b)
    if both is None:
        return None
    a, b = both
    if not b.terms:
        return scale(a, b.constant)
    return scale(b, a.constant) if not a.terms else None


def _quotient(scope: Scope, expr: FloorDiv | FloorMod) -> Affine | None:
    both = _operands(scope, expr.a, expr.b)
    if both is None or both[1].terms or both[1].constant <= 0:
        return None
    return floor_divide(both[0], both[1].constant, scope.ranges, isinstance(expr, FloorMod))


def _extreme(scope: Scope, expr: Min | Max) -> Affine | None:
    both = _operands(scope, expr.a, expr.b)
    bounds = None if both is None else interval(combine(*both, -1), scope.ranges)
    if both is None or bounds is None or (bounds[0] < 0 < bounds[1]):
        return None
    least = 0 if bounds[1] <= 0 else 1
    return both[least if isinstance(expr, Min) else 1 - least]


def _cast(scope: Scope, expr: Cast) -> Affine | None:
    return scope.form(expr.value) if dt.is_int(expr.value.dtype) else None


_FORMS: Mapping[type[Expr], Callable[[Scope, object], Affine | None]] = {
    Add: _sum,
    Sub: _sum,
    Mul: _product,
    FloorDiv: _quotient,
    FloorMod: _quotient,
    Min: _extreme,
    Max: _extreme,
    Cast: _cast,
}  # pyright: ignore[reportAssignmentType]
