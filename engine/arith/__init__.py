"""Integer reasoning: canonical forms, bounds, proofs, symbolic hulls, iterator maps. Depends on expressions, not on programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from ..ir import Expr, IndexMap, IntImm, Range, Var, build
from ..ir import dtype as dt
from .analyzer import Analyzer, Ranges
from .clamps import least_of
from .division import Bounds
from .divisors import divisors
from .forms import Sum, digit_expr
from .interval import Interval, Relaxer
from .iter_map import IterMap, detect_iter_map, inverse
from .padded_map import PaddedMap, keeps_order, padded_inverse
from .presburger import Names, NotAffine, affine_text, condition_text, isl_context, value_cases
from .subspace import Count, Division, subspace_divide

__all__ = [
    "Analyzer",
    "Bounds",
    "Count",
    "Division",
    "Interval",
    "IterMap",
    "Linear",
    "Names",
    "NotAffine",
    "PaddedMap",
    "Ranges",
    "Relaxer",
    "Sum",
    "affine_text",
    "bounds",
    "condition_text",
    "detect_iter_map",
    "divisors",
    "interval",
    "inverse",
    "isl_context",
    "keeps_order",
    "least_of",
    "linear",
    "map_shape",
    "padded_inverse",
    "prove",
    "prove_equal",
    "simplify",
    "subspace_divide",
    "value_cases",
]


class Linear(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A linear sum, `constant + sum(factor * atom)`; an atom is a variable or an expression other than a sum."""

    terms: tuple[tuple[Expr, int], ...]
    constant: int


def simplify(expr: Expr, ranges: Ranges | None = None) -> Expr:
    """Return an equal expression, simplified if possible; the same object when nothing changes."""
    return Analyzer(ranges).simplify(expr)


def bounds(expr: Expr, ranges: Ranges | None = None) -> Bounds:
    """Return inclusive constant bounds of an integer expression."""
    return Analyzer(ranges).bounds(expr)


def prove(condition: Expr, ranges: Ranges | None = None) -> bool:
    """Whether the condition provably holds for all values of the variables; False if unknown."""
    return Analyzer(ranges).proves(condition)


def prove_equal(a: Expr, b: Expr, ranges: Ranges | None = None) -> bool:
    """Whether both expressions provably have the same value; False if unknown."""
    if type(a) is IntImm and type(b) is IntImm:
        return a.value == b.value
    return a is b or Analyzer(ranges).proves_equal(a, b)


def linear(expr: Expr, analyzer: Analyzer | None = None) -> Linear | None:
    """Return the expression as a linear sum in the analyzer's canonical form; None for a non-integer."""
    if not dt.is_int(expr.dtype):
        return None
    if isinstance(expr, Var) and analyzer is None:
        return Linear(((expr, 1),), 0)
    if isinstance(expr, IntImm):
        return Linear((), expr.value)
    return _plain_linear(expr) if analyzer is None else _linear(analyzer.form(expr))


def _linear(form: Sum) -> Linear:
    return Linear(tuple((digit_expr(d, scale=1), d.scale) for d in form.digits), form.constant)


@lru_cache(maxsize=4096)
def _plain_linear(expr: Expr) -> Linear:
    """The linear sum without known ranges; cached, because the calls of a schedule analyze the same bindings and indices again."""
    return _linear(Analyzer().form(expr))


def interval(expr: Expr, relaxed: Mapping[Var, Range], ranges: Ranges | None = None) -> Interval | None:
    """Return the hull of `expr` over the `relaxed` variables, in terms of the others; None if it has no known hull."""
    return Relaxer(relaxed, Analyzer(ranges)).interval(expr)


def map_shape(index_map: IndexMap, shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the shape that contains every index of a buffer of `shape` after the map. Raises ValueError when it is unbounded."""
    domain = {
        p: build.make_range(build.const(0, p.dtype), build.cast(e, p.dtype))
        for p, e in zip(index_map.params, shape, strict=True)
    }
    relaxer = Relaxer(domain, Analyzer())
    result: list[Expr] = []
    for index in index_map.indices:
        found = relaxer.interval(index)
        if found is None:
            raise ValueError("an axis of the index map has no upper bound")
        result.append(simplify(build.add(found.max, 1)))
    return tuple(result)
