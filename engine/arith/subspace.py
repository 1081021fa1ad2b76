"""Subspace division: a value of two groups of iterators as `outer * extent + inner + base` (TVM's SubspaceDivide).

With `i_1` as an inner iterator, `i_0 * 16 + i_1` is place `i_1` in tile `i_0` of width 16.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..ir import Expr, Range, Var, build, free_vars, substitute, uses_var
from .analyzer import Analyzer
from .interval import Relaxer
from .iter_map import detect_iter_map

Ranges = Mapping[Var, Range]


class Count(msgspec.Struct, frozen=True, eq=False):
    """The least of a set of values, and the number of consecutive values from there; None if unknown."""

    first: Expr
    trips: Expr | None


class Division(msgspec.Struct, frozen=True, eq=False):
    """The division of a value: `outer` depends only on the outer iterators, `inner` only on the inner ones.

    `inner` None: the value is `outer`. `width` None: the value is `inner`, and `outer` is 0. Else the value is
    `outer * width + inner + base`, where `inner` is never negative and less than `width`.
    """

    outer: Expr
    outer_count: Count
    inner: Expr | None = None
    inner_count: Count | None = None
    width: Expr | None = None
    base: Expr | None = None


def subspace_divide(value: Expr, outer: Ranges, inner: Ranges, *, keep_units: bool = True) -> Division | None:
    """Divide the value; None if it is not a tile of the outer iterators plus a place of the inner ones.

    With `keep_units`, iterators that run once stay in the values.
    """
    known = Analyzer({v: r for v, r in {**outer, **inner}.items() if not (keep_units and build.is_const(r.extent, 1))})
    whole = known.simplify(substitute(value, {v: r.min for v, r in inner.items()}))
    if _is_zero(build.sub(value, whole), outer, inner):
        return Division(whole, _counted(whole, outer, known))
    if not any(uses_var(value, v) for v in outer):
        zero, one = build.const(0, value.dtype), build.const(1, value.dtype)
        place = known.simplify(value)
        return Division(zero, Count(zero, one), place, _counted(place, inner, known))
    return _tiled(value, whole, outer, inner, known)


def _tiled(value: Expr, whole: Expr, outer: Ranges, inner: Ranges, known: Analyzer) -> Division | None:
    """Divide a value with both groups of iterators; `whole` is the value at the start of the inner iterators."""
    at_start = {v: r.min for v, r in outer.items()}
    place = known.simplify(build.sub(substitute(value, at_start), substitute(whole, at_start)))
    count = _counted(place, inner, known)
    width = count.trips
    if width is None or not build.is_const(count.first, 0) or free_vars(width) & (outer.keys() | inner.keys()):
        return None
    if not _is_zero(build.sub(value, build.add(whole, place)), outer, inner):
        return None
    base = known.simplify(build.floormod(whole, width))
    tile = known.simplify(build.floordiv(build.sub(whole, base), width))
    if free_vars(base) & outer.keys():
        return None
    if not _is_zero(build.sub(whole, build.add(build.mul(tile, width), base)), outer, inner):
        return None
    tiles = _counted(tile, outer, known)
    return None if tiles.trips is None else Division(tile, tiles, place, count, width, base)


def _is_zero(value: Expr, outer: Ranges, inner: Ranges) -> bool:
    return build.is_const(Analyzer({**outer, **inner}).simplify(value), 0)


def _counted(value: Expr, iters: Ranges, known: Analyzer) -> Count:
    used = {v: r for v, r in iters.items() if uses_var(value, v)}
    span = Relaxer(used, known).interval(value)
    if span is None or (free_vars(span.min) | free_vars(span.max)) & iters.keys():
        return Count(known.simplify(substitute(value, {v: r.min for v, r in iters.items()})), None)
    found = detect_iter_map([value], used)
    trips = known.simplify(build.add(build.sub(span.max, span.min), 1))
    return Count(span.min, trips if found is not None and found.sums[0].compact else None)
