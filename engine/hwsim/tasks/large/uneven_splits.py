"""Loops of an uneven split, whose last step is cut by a condition: `i * 48 + j < 1000` is one loop of 1000 iterations again.

The iterations are then a box, which costs no enumeration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace as replace_fields

from ....arith import Analyzer
from ....ir import LT, Expr, FloorDiv, FloorMod, Range, Var, build, substitute, uses_var, walk
from ..work import Access, Work

Joined = tuple[Work, dict[Var, int], tuple[Expr, ...]]
"""Work, its loops, and its conditions."""


def join_uneven_splits(
    work: Work, inner: dict[Var, int], conditions: tuple[Expr, ...], fixed: Collection[Var], analyzer: Analyzer
) -> Joined:
    """Returns the work with the loops of uneven splits as one loop each. Loops in `fixed` stay as they are."""
    for condition in conditions:
        loops = _digits(condition, inner, analyzer)
        if len(loops) > 1 and not any(v in fixed for v in loops):
            joined = _joined(work, inner, conditions, condition, loops, analyzer)
            if joined is not None:
                return join_uneven_splits(*joined, fixed, analyzer)
    return work, inner, conditions


def _digits(condition: Expr, inner: Mapping[Var, int], analyzer: Analyzer) -> tuple[Var, ...]:
    """Returns the loops that a condition compares as the digits of a number, the highest first; () for another condition."""
    if not isinstance(condition, LT) or build.int_value(condition.b) is None:
        return ()
    form = analyzer.form(condition.a)
    factors = {digit.source: digit.scale for digit in form.digits if digit.is_whole and isinstance(digit.source, Var)}
    if form.constant or len(factors) < len(form.digits) or not factors.keys() <= inner.keys():
        return ()
    loops = sorted(factors, key=lambda v: factors[v], reverse=True)
    step = 1
    for var in reversed(loops):
        if factors[var] != step:
            return ()
        step *= inner[var]
    return tuple(loops)


def _joined(
    work: Work, inner: Mapping[Var, int], conditions: Sequence[Expr], condition: Expr, loops: Sequence[Var], analyzer: Analyzer
) -> Joined | None:  # fmt: skip
    """Returns the work with one loop in place of these; None if an index depends on one of them alone."""
    assert isinstance(condition, LT)
    whole, count = Var(loops[-1].name, loops[-1].dtype), build.int_value(condition.b) or 0
    values, step = dict[Var, Expr](), 1
    for var in reversed(loops):
        shifted = build.floordiv(whole, step)
        values[var] = shifted if var is loops[0] else build.floormod(shifted, inner[var])
        step *= inner[var]
    near = Analyzer({**analyzer.ranges, whole: Range(build.const(0, whole.dtype), build.const(step, whole.dtype))})

    def changed(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(near.simplify(substitute(e, values)) for e in exprs)

    def moved(access: Access) -> Access:
        return replace_fields(access, indices=changed(access.indices), extents=changed(access.extents))

    others = changed([c for c in conditions if c is not condition])
    found = replace_fields(
        work, reads=tuple(map(moved, work.reads)), writes=tuple(map(moved, work.writes)), inside=changed(work.inside)
    )
    used = [e for a in (*found.reads, *found.writes) for e in (*a.indices, *a.extents)]
    if any(_splits(e, whole) for e in (*used, *others, *found.inside)):
        return None
    rest = {v: n for v, n in inner.items() if v not in loops}
    return found, {whole: min(count, step), **rest}, others


def _splits(expr: Expr, var: Var) -> bool:
    """Whether an expression has a quotient or a remainder of a loop."""
    return any(isinstance(n, FloorDiv | FloorMod) and uses_var(n.a, var) for n in walk(expr))
