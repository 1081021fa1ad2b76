"""Geometry of a piece of work, from its actual addresses: its iterations inside of edges, and its contiguous runs in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer, Sum
from ...ir import Buffer, Cast, Expr, Var, build, free_vars
from ...ir import dtype as dt
from ..access.placement import strides_of
from .grid import MAX_POINTS, TooManyPointsError, UnknownValueError, Values, axes, used_vars, values
from .large.listed import held_ranges, listed_iterations
from .work import Access

REACH_BITS = 40
"""Elements between the first and the last group of a buffer with axis separators, as a power of two: no run crosses from one block to the
next, and addresses fit in 64 bits.
"""


SPARSE = 4
"""Iterations are listed one by one if the mask keeps at most one in this many."""


class TaskDomain(msgspec.Struct, frozen=True, eq=False):
    """The iterations of a task, for one choice of the loops around it.

    `extents` are those of its loops, `active` their actual trip counts. `mask`, over all loops, is set only if conditions couple loops;
    `chosen` lists the iterations one by one, if they are few, or if the loops have too many points for a mask. A domain `is_bound` if its
    iterations are too many for both: it is the box around them. A padded copy reads in the iterations of `inside`.
    """

    extents: dict[Var, int]
    active: dict[Var, int]
    iterations: int
    mask: Values | None = None
    outer: dict[Var, int] = {}
    chosen: dict[Var, Values] | None = None
    inside: TaskDomain | None = None
    is_bound: bool = False

    @property
    def is_box(self) -> bool:
        """Whether the domain consists of all iterations of its loops, up to `active`."""
        return self.mask is None and self.chosen is None


def domain(extents: Mapping[Var, int], conditions: Sequence[Expr], outer: Mapping[Var, int]) -> TaskDomain:
    """Returns the iterations for which all conditions hold. A condition that depends on data is assumed to hold."""
    sizes = dict(extents)
    over = {**axes(sizes), **outer}
    single: dict[Var, Values] = {}
    joint: list[Values] = []
    try:
        for condition in conditions:
            used = used_vars(condition, sizes)
            try:
                holds = values(condition, over)
            except TooManyPointsError:
                raise
            except UnknownValueError:
                continue
            if not used:
                if not holds.all():
                    return TaskDomain(sizes, dict.fromkeys(sizes, 0), 0, None, dict(outer))
            elif len(used) == 1:
                (var,) = used
                flat = holds.reshape(-1)
                single[var] = flat if var not in single else single[var] * flat
            else:
                joint.append(holds)
    except TooManyPointsError:
        return _large_domain(sizes, conditions, outer)
    active = {v: int(single[v].sum()) if v in single else e for v, e in sizes.items()}
    prefixes = all(bool(flat[: active[v]].all()) for v, flat in single.items())
    if not joint and prefixes:
        return TaskDomain(sizes, active, prod(active.values()), None, dict(outer))
    if prod(sizes.values()) > MAX_POINTS:
        return _large_domain(sizes, conditions, outer)
    return _masked(sizes, single, joint, outer)


def _large_domain(sizes: dict[Var, int], conditions: Sequence[Expr], outer: Mapping[Var, int]) -> TaskDomain:
    """Returns a domain whose loops have too many points for a mask."""
    known = [c for c in conditions if _is_computed(c, {**dict.fromkeys(sizes, 0), **outer})]
    held: dict[Var, list[tuple[int, int]] | None] = {}
    for var, extent in sizes.items():
        alone = [c for c in known if used_vars(c, sizes) == {var}]
        held[var] = held_ranges(var, extent, alone, outer) if alone else [(0, extent)]
    boxed = {v: sum(stop - start for start, stop in r) for v, r in held.items() if r is not None and len(r) < 2}
    is_coupled = any(len(used_vars(c, sizes)) > 1 for c in known)
    if len(boxed) == len(sizes) and not is_coupled:
        return TaskDomain(sizes, boxed, prod(boxed.values()), None, dict(outer))
    chosen = listed_iterations(sizes, known, outer)
    if chosen is None:
        active = {v: boxed.get(v, n) for v, n in sizes.items()}
        return TaskDomain(sizes, active, prod(active.values()), None, dict(outer), is_bound=True)
    return _of_listed(sizes, chosen, dict(outer))


def _is_computed(condition: Expr, at: Mapping[Var, int]) -> bool:
    """Returns whether a condition depends on no data."""
    try:
        values(condition, at)
    except UnknownValueError:
        return False
    return True


def _of_listed(sizes: dict[Var, int], chosen: dict[Var, Values], outer: dict[Var, int]) -> TaskDomain:
    active = {v: len(np.unique(column)) for v, column in chosen.items()}
    return TaskDomain(sizes, active, len(next(iter(chosen.values()))), None, outer, chosen)


def _masked(
    sizes: dict[Var, int], single: Mapping[Var, Values], joint: Sequence[Values], outer: Mapping[Var, int]
) -> TaskDomain:
    mask = np.ones(tuple(sizes.values()), np.int64)
    for n, var in enumerate(sizes):
        if var in single:
            mask = mask * single[var].reshape([-1 if i == n else 1 for i in range(len(sizes))])
    for holds in joint:
        mask = mask * holds
    others = {v: tuple(i for i in range(len(sizes)) if i != n) for n, v in enumerate(sizes)}
    active = {v: int(mask.any(axis=others[v]).sum()) for v in sizes}
    return _cut(sizes, active, mask, dict(outer))


def _cut(extents: dict[Var, int], active: dict[Var, int], mask: Values, outer: dict[Var, int]) -> TaskDomain:
    iterations = int(mask.sum())
    if iterations == prod(active.values()) and mask[tuple(slice(n) for n in active.values())].all():
        return TaskDomain(extents, active, iterations, None, outer)
    few = iterations * SPARSE <= mask.size
    chosen = dict(zip(extents, np.nonzero(mask), strict=True)) if few else None
    return TaskDomain(extents, active, iterations, mask, outer, chosen)


def without_box(where: TaskDomain, box: Sequence[tuple[int, int]]) -> TaskDomain:
    """Returns the part of a domain without mask outside of a box, a range for each loop: strips along its sides, as listed iterations."""
    active = [np.arange(n) for n in where.active.values()]
    inside = [np.arange(*ends) for ends in box]
    strips: list[Sequence[Values]] = []
    for n, (start, stop) in enumerate(box):
        beside = np.concatenate([active[n][:start], active[n][stop:]])
        if len(beside):
            strip = np.meshgrid(*inside[:n], beside, *active[n + 1 :], indexing="ij", copy=False)
            strips.append([column.reshape(-1) for column in strip])
    chosen = {v: np.concatenate(columns) for v, columns in zip(where.extents, zip(*strips, strict=True), strict=True)}
    return TaskDomain(where.extents, where.active, len(next(iter(chosen.values()))), None, where.outer, chosen)


def without_loops(where: TaskDomain, loops: Collection[Var]) -> TaskDomain:
    """Returns the domain with these loops reduced to one iteration: the union over all of theirs."""
    extents = {v: 1 if v in loops else n for v, n in where.extents.items()}
    active = {v: min(n, 1) if v in loops else n for v, n in where.active.items()}
    if where.mask is None and where.chosen is not None:
        kept = {v: n for v, n in extents.items() if v not in loops}
        rows = np.unique(number_of(where.chosen, kept), return_index=True)[1]
        columns = {v: np.zeros(len(rows), np.int64) if v in loops else c[rows] for v, c in where.chosen.items()}
        return _of_listed(extents, columns, where.outer)
    if where.mask is None:
        return TaskDomain(extents, active, prod(active.values()), None, where.outer)
    mask = where.mask.max(axis=tuple(n for n, v in enumerate(where.extents) if v in loops), keepdims=True, initial=0)
    return _cut(extents, active, mask, where.outer)


class AffineProgression(msgspec.Struct, frozen=True, eq=False):
    """The progression of an index or an address with the loops of a task: `strides` by loop, plus `constant`, plus factors of terms
    `around` the task: loops, and expressions of these.
    """

    strides: dict[Var, int]
    around: dict[Expr, int]
    constant: int

    def ends(self, active: Mapping[Var, int]) -> tuple[int, int]:
        """Returns the minimum and the maximum, loops around at 0."""
        steps = [stride * (active[v] - 1) for v, stride in self.strides.items()]
        return self.constant + sum(s for s in steps if s < 0), self.constant + sum(s for s in steps if s > 0)

    def start(self, outer: Mapping[Var, int]) -> Values | int:
        """Returns the value with the loops of the task at 0; unknown loops around count as 0. Raises UnknownValueError."""
        parts = [
            factor * (outer.get(around, 0) if isinstance(around, Var) else placed(around, outer))
            for around, factor in self.around.items()
        ]
        return sum(parts, self.constant)

    def values(self, over: Mapping[Var, Values | int], outer: Mapping[Var, int]) -> Values:
        """Returns the values, with the loops of the task at `over`. Raises UnknownValueError."""
        return np.asarray(sum((over[v] * stride for v, stride in self.strides.items()), self.start(outer)), np.int64)


def progression_of(expr: Expr, inner: Mapping[Var, int], analyzer: Analyzer) -> AffineProgression | None:
    """Returns the progression of an expression; None if it is not affine in the loops of the task."""
    return _progression(_widened(analyzer.form(expr), analyzer), inner, analyzer)


def _progression(form: Sum, inner: Mapping[Var, int], analyzer: Analyzer) -> AffineProgression | None:
    strides, around = dict[Var, int](), dict[Expr, int]()
    for digit in form.digits:
        source = digit.source
        if digit.is_whole and isinstance(source, Var):
            (strides if source in inner else around)[source] = digit.scale
        elif used_vars(source, inner):
            return None
        else:
            around[analyzer.expr(Sum((replace_fields(digit, scale=1),)), source.dtype)] = digit.scale
    return AffineProgression(strides, around, form.constant)


def _widened(form: Sum, analyzer: Analyzer) -> Sum:
    """Returns the sum with widening casts expanded."""
    if not any(isinstance(digit.source, Cast) for digit in form.digits):
        return form
    found = Sum((), form.constant)
    for digit in form.digits:
        source = digit.source
        if isinstance(source, Cast) and digit.is_whole and dt.is_int(source.value.dtype):
            found = found.plus(_widened(analyzer.form(source.value), analyzer), digit.scale)
        else:
            found = found.plus(Sum((digit,)))
    return found


class Layout(msgspec.Struct, frozen=True, eq=False):
    """The address of an access in elements: its course if it is affine in the task's loops, else the expression."""

    progression: AffineProgression | None
    address: Expr | None = None
    mixed: frozenset[Var] = frozenset()  # variables around the task that change the pattern, not only its start

    @property
    def strides(self) -> dict[Var, int] | None:
        """Strides in elements, by loop; None without a course."""
        return None if self.progression is None else self.progression.strides

    def loops(self, among: Mapping[Var, int]) -> set[Var]:
        """Returns the loops of the task that the address depends on."""
        if self.progression is not None:
            return {*self.progression.strides}
        assert self.address is not None
        return used_vars(self.address, among)

    def values(self, over: Mapping[Var, Values | int], outer: Mapping[Var, int]) -> Values:
        """Returns the addresses, with the loops of the task at `over`; unknown loops around only shift them. Raises UnknownValueError."""
        if self.progression is not None:
            return self.progression.values(over, outer)
        assert self.address is not None
        return placed(self.address, {**over, **outer})


def layout(access: Access, inner: Mapping[Var, int], analyzer: Analyzer) -> Layout:
    """Returns the layout of an access over the loops of `inner`."""
    form = _widened(flat_form(access.buffer, access.indices, analyzer), analyzer)
    progression = _progression(form, inner, analyzer)
    if progression is not None:
        return Layout(progression)
    together = [used for used in (free_vars(digit.source) for digit in form.digits) if used & inner.keys()]
    mixed = {v for used in together for v in used if v in analyzer.ranges and v not in inner}
    return Layout(None, analyzer.expr(form, access.indices[0].dtype), frozenset(mixed))


def flat_form(buffer: Buffer, indices: Sequence[Expr], analyzer: Analyzer) -> Sum:
    """Returns the address in elements, row-major or by strides within each group of axes; leading groups select a distant block."""
    found = Sum(())
    if buffer.strides:
        for index, stride in zip(indices, buffer.strides, strict=True):
            step = build.int_value(stride)
            moved = analyzer.form(index if step is not None else build.mul(index, stride))
            found = found.plus(moved, 1 if step is None else step)
        return found
    separators, far = buffer.axis_separators, far_elements(buffer)
    for axis, (index, step) in enumerate(zip(indices, strides_of(buffer), strict=True)):
        found = found.plus(analyzer.form(index), step * far ** sum(axis < s for s in separators))
    return found


def far_elements(buffer: Buffer) -> int:
    """Returns the distance of groups of axes in a layout, in elements; 1 without axis separators."""
    separators = buffer.axis_separators
    return 1 << REACH_BITS // len(separators) if separators else 1


class Runs(msgspec.Struct, frozen=True):
    """`count` runs of `elements` each."""

    elements: int
    count: int


def runs(layouts: Sequence[Layout], where: TaskDomain) -> tuple[Runs, ...]:
    """Returns the contiguous runs in which all layouts advance together, over the iterations of a domain.

    An affine pattern has runs of equal length, as a descriptor has; elements that are neighbours only at a corner of it are not joined.
    """
    if where.iterations == 0:
        return ()
    strides = [x.strides for x in layouts]
    if where.is_box and all(s is not None for s in strides):
        return _affine_runs(cast("list[dict[Var, int]]", strides), where)
    try:
        return _counted_runs(layouts, where)
    except UnknownValueError:
        return (Runs(1, where.iterations),)


def _affine_runs(strides: Sequence[Mapping[Var, int]], where: TaskDomain) -> tuple[Runs, ...]:
    length = prod(where.active[v] for v in run_loops(strides, where))
    return (Runs(length, where.iterations // length),)


def run_loops(strides: Sequence[Mapping[Var, int]], where: TaskDomain) -> tuple[Var, ...]:
    """Returns the loops that form a run, the finest first. Of two with equal strides (a sliding window: `x + rx`) the longer is used."""
    length = 1
    open_loops = sorted((v for v, count in where.active.items() if count > 1), key=lambda v: -where.active[v])
    found: list[Var] = []
    while True:
        step = next((v for v in open_loops if all(s.get(v, 0) == length for s in strides)), None)
        if step is None:
            return tuple(found)
        open_loops.remove(step)
        found.append(step)
        length *= where.active[step]


def _counted_runs(layouts: Sequence[Layout], where: TaskDomain) -> tuple[Runs, ...]:
    order, breaks = run_order(layouts[-1], where)
    for column in listed(layouts[:-1], where):
        breaks[1:] |= np.diff(column[order]) != 1
    lengths = np.diff(np.append(np.flatnonzero(breaks), len(order)))
    found, counts = np.unique(lengths, return_counts=True)
    return tuple(Runs(int(e), int(c)) for e, c in zip(found, counts, strict=True))


def run_order(along: Layout, where: TaskDomain) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Returns the iterations of a domain in the order of addresses, and flags for the first of each run: an address that is not its
    predecessor plus one. Loops that the address does not depend on repeat the same addresses. Raises UnknownValueError.
    """
    moving = along.loops(where.extents)
    again = [v for v in where.extents if v not in moving]
    place, *rounds = listed([along, *again], where)
    number = np.zeros(len(place), np.int64)
    for var, column in zip(again, rounds, strict=True):
        number = number * where.extents[var] + column
    is_sorted = not again and bool((np.diff(place) >= 0).all())
    order = np.arange(len(place)) if is_sorted else np.lexsort((place, number))
    breaks = np.ones(len(order), np.bool_)
    breaks[1:] = (np.diff(place[order]) != 1) | (np.diff(number[order]) != 0)
    return order, breaks


def listed(places: Sequence[Layout | Expr], where: TaskDomain) -> list[Values]:
    """Returns the values of the layouts or expressions at every iteration of a domain. Raises UnknownValueError."""
    outer = where.outer

    def found(over: Mapping[Var, Values]) -> list[Values]:
        return [p.values(over, outer) if isinstance(p, Layout) else placed(p, {**over, **outer}) for p in places]

    return at_points(where, found)


def at_points(where: TaskDomain, found: Callable[[Mapping[Var, Values]], Sequence[Values]]) -> list[Values]:
    """Evaluates `found` with the loops as axes, and returns its values at each iteration of a domain, always in the same order. Raises
    UnknownValueError.
    """
    if where.chosen is not None:
        count = len(next(iter(where.chosen.values())))
        return [np.broadcast_to(column, (count,)) for column in found(where.chosen)]
    if prod(where.extents.values()) > MAX_POINTS:
        raise UnknownValueError
    every = [np.broadcast_to(column, tuple(where.extents.values())) for column in found(axes(where.extents))]
    if where.mask is not None:
        holds = where.mask.astype(np.bool_)
        return [column[holds] for column in every]
    box = tuple(slice(count) for count in where.active.values())
    return [column[box].reshape(-1) for column in every]


def number_of(place: Mapping[Var, Values], extents: Mapping[Var, int]) -> Values:
    """Returns the loops of `extents` as one number, the last the fastest."""
    number = np.zeros((), np.int64)
    for var, extent in extents.items():
        number = number * extent + place[var]
    return number


def origin(place: Layout, where: TaskDomain) -> int:
    """Returns the address, in elements, with all loops of the task at 0; 0 if it depends on data."""
    try:
        if place.progression is not None:
            return int(place.progression.start(where.outer))
        return int(place.values(dict.fromkeys(where.extents, 0), where.outer))
    except UnknownValueError:
        return 0


def placed(address: Expr, over: Mapping[Var, Values | int]) -> Values:
    """Returns the address with the unknown variables around the task, which only shift it, at zero."""
    return values(address, {**over, **dict.fromkeys(free_vars(address) - set(over), 0)})
