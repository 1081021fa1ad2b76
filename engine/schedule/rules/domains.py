"""Iterator domains that cover a required region: the arithmetic of moving blocks between loops.

In one run, a block touches a box of each buffer, as a function of its iterators (`provided`). Other blocks require a box (`required`,
as a function of the loops that stay outside). Solving for the iterators gives a hull for each: it contains every iteration that meets
the required box.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ...analysis import hull, unfused
from ...arith import Analyzer, Relaxer, inverse, prove, simplify
from ...ir import (
    Add,
    Block,
    Buffer,
    BufferRegion,
    Expr,
    FloorDiv,
    FloorMod,
    IndexMap,
    IterVar,
    Mul,
    Range,
    Sub,
    Var,
    build,
    free_vars,
)
from ..errors import refuse

Ranges = Mapping[Var, Range]
Boxes = Mapping[Buffer, BufferRegion]
End = Callable[[Expr], Expr]


class Span(msgspec.Struct, frozen=True, eq=False):
    """`low <= x <= high`, both inclusive."""

    low: Expr
    high: Expr

    @property
    def first_and_extent(self) -> Range:
        return Range(self.low, build.add(build.sub(self.high, self.low), 1))


class Domain(msgspec.Struct, frozen=True, eq=False):
    """The range of an iterator. `guard` is the span that a predicate must enforce, or None if `span` never leaves the iterator's domain."""

    span: Span
    guard: Span | None = None


class _Solution(msgspec.Struct, frozen=True, eq=False):
    """Hulls of the iterator: `needed` over the required box, `possible` over the whole buffer."""

    needed: Span
    possible: Span


def needed_domains(
    block: Block, provided: Sequence[BufferRegion], required: Boxes, ranges: Ranges, *, every: bool
) -> tuple[Domain, ...]:
    """The domain of each iterator of `block`, in order, such that the block covers the `required` boxes.

    `every`: cover all iterations that meet any of the boxes; otherwise cover all that meet one of the boxes, and the others as far as that
    one does. Iterators that no box bounds run over their whole domain. Refuses "region-not-solvable".
    """
    known, found = Analyzer(ranges), dict[Var, _Solution]()
    bounded: list[set[Var]] = []
    for buffer, box in required.items():
        mine = [r for r in provided if r.buffer is buffer]
        axes = hull(mine, {}, {}).region if len(mine) > 1 else mine[0].region
        if not every:
            require_within(block, BufferRegion(buffer, tuple(axes)))
        solved = _solve_map(block, axes, box, known)
        if solved is None:
            solved = _solve_axes(block, axes, box, known)
        bounded.append(set(solved))
        for var, solution in solved.items():
            found[var] = _united(found[var], solution, known) if var in found else solution
    _require_covering(block, bounded, set(found), every=every)
    return tuple(_domain(iv, found.get(iv.var), known) for iv in block.iter_vars)


# An iteration that reads outside of the buffer only (the border of a padding) meets no required box, so the new domain would omit it.
def require_within(block: Block, region: BufferRegion) -> None:
    known = Analyzer({iv.var: iv.dom for iv in block.iter_vars})
    for axis, size in zip(region.region, region.buffer.shape, strict=True):
        end = build.add(axis.min, axis.extent)
        if not (known.proves(build.ge(axis.min, 0)) and known.proves(build.le(end, size))):
            raise refuse(
                "region-not-solvable",
                f"some iterations of block {block.name!r} read no element of {region.buffer.name!r} and would be lost",
                block, region.buffer, found="an index out of bounds", expected="compute_at or compute_inline of the producer",
            )  # fmt: skip


# An iterator that one box bounds and another leaves open would omit iterations that the second box needs.
def _require_covering(block: Block, bounded: Sequence[set[Var]], found: set[Var], *, every: bool) -> None:
    fits = [found <= mine for mine in bounded]
    if fits and not (all(fits) if every else any(fits)):
        raise refuse(
            "region-not-solvable", f"the regions required of block {block.name!r} in its buffers belong to different iterations", block,
            found="iterators that only one buffer bounds", expected="a buffer whose indices use all iterators that the other buffers bound",
        )  # fmt: skip


def _united(a: _Solution, b: _Solution, known: Analyzer) -> _Solution:
    def union(x: Span, y: Span) -> Span:
        low = _least_or_most(x.low, y.low, known, most=False)
        return Span(low, _least_or_most(x.high, y.high, known, most=True))

    return _Solution(union(a.needed, b.needed), union(a.possible, b.possible))


def _domain(iter_var: IterVar, solution: _Solution | None, known: Analyzer) -> Domain:
    """The needed span, cut to the iterator's possible values: directly if that is provable, otherwise by a guard."""
    whole = _inclusive(iter_var.dom)
    if solution is None:
        return Domain(whole)
    needed = solution.needed
    possible = _intersection(solution.possible, whole, known)
    both = _intersection(needed, possible, known)
    if _same(needed, both, known):
        return Domain(needed)
    if _same(possible, both, known):
        return Domain(possible)
    if build.int_value(both.low) is not None and build.int_value(both.high) is not None:
        return Domain(both)
    return Domain(needed, possible)


def _inclusive(dom: Range) -> Span:
    return Span(dom.min, build.sub(build.add(dom.min, dom.extent), 1))


def _intersection(a: Span, b: Span, known: Analyzer) -> Span:
    return Span(_least_or_most(a.low, b.low, known, most=True), _least_or_most(a.high, b.high, known, most=False))


def _least_or_most(a: Expr, b: Expr, known: Analyzer, *, most: bool) -> Expr:
    """The larger (or smaller) of two ends: one of them unchanged if the comparison is provable."""
    gap = known.bounds(build.sub(a, b) if most else build.sub(b, a))
    if gap.low is not None and gap.low >= 0:
        return a
    if gap.high is not None and gap.high <= 0:
        return b
    return known.simplify(build.maximum(a, b) if most else build.minimum(a, b))


def _same(a: Span, b: Span, known: Analyzer) -> bool:
    return known.proves_equal(a.low, b.low) and known.proves_equal(a.high, b.high)


# Case 1: the index map is invertible. Each iterator is a function of the axes, with a hull over the box.


def _solve_map(block: Block, axes: Sequence[Range], box: BufferRegion, known: Analyzer) -> dict[Var, _Solution] | None:
    """The solution if the block's iterators map one to one onto the elements that it touches; None otherwise."""
    if not all(build.is_const(axis.extent, 1) for axis in axes):
        return None
    params = tuple(iv.var for iv in block.iter_vars)
    back = inverse(IndexMap(params, tuple(axis.min for axis in axes)), [iv.dom for iv in block.iter_vars])
    if back is None:
        return None
    needed = Relaxer(dict(zip(back.params, box.region, strict=True)), known)
    possible = Relaxer(dict(zip(back.params, build.full_region(box.buffer).region, strict=True)), known)
    result: dict[Var, _Solution] = {}
    values = dict(zip(params, back.indices, strict=True))
    for param, axis in zip(back.params, axes, strict=True):
        if isinstance(axis.min, Var) and axis.min in values:
            values[axis.min] = param  # an iterator of one trip is met only if the box contains it
    for var, value in values.items():
        over_box, over_buffer = needed.interval(value), possible.interval(value)
        if over_box is None or over_buffer is None:
            return None
        result[var] = _Solution(Span(over_box.min, over_box.max), Span(over_buffer.min, over_buffer.max))
    return result


# Case 2: axis by axis; each axis uses at most one iterator.


def _solve_axes(block: Block, axes: Sequence[Range], box: BufferRegion, known: Analyzer) -> dict[Var, _Solution]:
    iterators = {iv.var for iv in block.iter_vars}
    result: dict[Var, _Solution] = {}
    for axis, needed, extent in zip(axes, box.region, box.buffer.shape, strict=True):
        if not free_vars(axis.min) & iterators:
            continue
        over_buffer = Span(build.const(0, extent.dtype), build.sub(extent, 1))
        for var, solution in _solve_axis(axis, _Solution(_inclusive(needed), over_buffer), iterators).items():
            solution = _simplified(solution, known)
            result[var] = _united(result[var], solution, known) if var in result else solution
    return result


def _simplified(solution: _Solution, known: Analyzer) -> _Solution:
    spans = (Span(known.simplify(s.low), known.simplify(s.high)) for s in (solution.needed, solution.possible))
    return _Solution(*spans)


def _solve_axis(axis: Range, wanted: _Solution, iterators: set[Var]) -> dict[Var, _Solution]:
    """The solution for the iterator of an axis, such that the axis meets the wanted span; empty if the axis does not bound it."""
    index, width = simplify(axis.min), axis.extent
    match index:
        case Mul(a=Var() as var, b=step) if var in iterators and not free_vars(step) & iterators:
            if not prove(build.le(width, step)):
                raise not_solvable(axis)
            return {var: _mapped(wanted, lambda end: build.floordiv(end, step), lambda end: build.floordiv(end, step))}
        case _ if not build.is_const(width, 1):
            raise not_solvable(axis)
        case _:
            return _solve_point(index, wanted, iterators, axis)


def _solve_point(index: Expr, wanted: _Solution, iterators: set[Var], axis: Range) -> dict[Var, _Solution]:
    match index:
        case Var() if index in iterators:
            return {index: wanted}
        case Add(a=inner, b=offset) if not free_vars(offset) & iterators:
            shifted = _mapped(wanted, lambda end: build.sub(end, offset), lambda end: build.sub(end, offset))
            return _solve_point(inner, shifted, iterators, axis)
        case Sub(a=inner, b=offset) if not free_vars(offset) & iterators:
            shifted = _mapped(wanted, lambda end: build.add(end, offset), lambda end: build.add(end, offset))
            return _solve_point(inner, shifted, iterators, axis)
        case Sub(a=offset, b=inner) if not free_vars(offset) & iterators:
            return _solve_point(inner, _reflected(wanted, offset), iterators, axis)
        case FloorDiv(a=inner, b=factor) if build.int_value(factor) is not None:
            # low <= x // f <= high  where  low * f <= x <= high * f + f - 1
            widened = _mapped(
                wanted,
                lambda end: build.mul(end, factor),
                lambda end: build.add(build.mul(end, factor), build.sub(factor, 1)),
            )
            return _solve_point(inner, widened, iterators, axis)
        case FloorMod():
            return {}
        case _:
            raise not_solvable(axis)


def _mapped(solution: _Solution, low: End, high: End) -> _Solution:
    return _Solution(*(Span(low(s.low), high(s.high)) for s in (solution.needed, solution.possible)))


def _reflected(solution: _Solution, offset: Expr) -> _Solution:
    """`low <= offset - x <= high` solved for x."""
    spans = (Span(build.sub(offset, s.high), build.sub(offset, s.low)) for s in (solution.needed, solution.possible))
    return _Solution(*spans)


def not_solvable(axis: Range):
    return refuse(
        "region-not-solvable", "the indices of the block do not determine the iterators that cover the required region", axis,
        expected="indices that are iterators, their multiples, or a one-to-one affine map",
    )  # fmt: skip


def with_var(domain: Domain, var: Var | None) -> Expr:
    """The value bound to the iterator: the start of its span plus its loop variable."""
    return domain.span.low if var is None else build.add(domain.span.low, var)


def guard_terms(value: Expr, guard: Span | None, ranges: Ranges) -> list[Expr]:
    """The conditions that keep `value` in `guard`, without those that provably hold."""
    if guard is None:
        return []
    terms = [build.ge(value, guard.low), build.lt(value, build.add(guard.high, 1))]
    apart, loops = unfused(terms, ranges)
    return [t for t, plain in zip(terms, apart, strict=True) if not prove(plain, loops)]


__all__ = ["Boxes", "Domain", "Span", "guard_terms", "needed_domains", "with_var"]
