"""How large a piece of work is where edges cut it, and in how many contiguous runs it touches memory: from the actual addresses."""

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
from .grid import MAX_POINTS, UnknownValueError, Values, axes, used_vars, values
from .work import Access

REACH_BITS = 40
"""Elements between the first and the last group of a buffer with axis separators, as a power of two: no run crosses from one block to
the next, and addresses stay numbers of 64 bits."""


SPARSE = 4
"""Iterations of which a mask leaves so small a part are looked at one by one."""


class Domain(msgspec.Struct, frozen=True, eq=False):
    """The iterations of a task, for one choice of the loops around it.

    `extents` are of its loops, `active` how far each really gets. `mask`, over all loops, is there only where conditions couple loops;
    `chosen` has the iterations one by one, where they are few.
    """

    extents: dict[Var, int]
    active: dict[Var, int]
    iterations: int
    mask: Values | None = None
    outer: dict[Var, int] = {}
    chosen: dict[Var, Values] | None = None

    @property
    def is_box(self) -> bool:
        """Whether it is all iterations of its loops, as far as these get."""
        return self.mask is None and self.chosen is None


def domain(extents: Mapping[Var, int], conditions: Sequence[Expr], outer: Mapping[Var, int]) -> Domain:
    """The iterations for which all conditions hold. A condition that depends on data is taken to hold."""
    sizes = dict(extents)
    over = {**axes(sizes), **outer}
    single: dict[Var, Values] = {}
    joint: list[Values] = []
    for condition in conditions:
        try:
            holds = values(condition, over)
        except UnknownValueError:
            continue
        used = used_vars(condition, sizes)
        if not used:
            if not holds.all():
                return Domain(sizes, dict.fromkeys(sizes, 0), 0, None, dict(outer))
        elif len(used) == 1:
            (var,) = used
            flat = holds.reshape(-1)
            single[var] = flat if var not in single else single[var] * flat
        else:
            joint.append(holds)
    active = {v: int(single[v].sum()) if v in single else e for v, e in sizes.items()}
    prefixes = all(bool(flat[: active[v]].all()) for v, flat in single.items())
    if not joint and prefixes:
        return Domain(sizes, active, prod(active.values()), None, dict(outer))
    return _masked(sizes, single, joint, outer)


def _masked(
    sizes: dict[Var, int], single: Mapping[Var, Values], joint: Sequence[Values], outer: Mapping[Var, int]
) -> Domain:
    if prod(sizes.values()) > MAX_POINTS:
        # Too many points to look at: the largest box is a safe assumption.
        active = {v: int(single[v].sum()) if v in single else e for v, e in sizes.items()}
        return Domain(sizes, active, prod(active.values()), None, dict(outer))
    mask = np.ones(tuple(sizes.values()), np.int64)
    for n, var in enumerate(sizes):
        if var in single:
            mask = mask * single[var].reshape([-1 if i == n else 1 for i in range(len(sizes))])
    for holds in joint:
        mask = mask * holds
    others = {v: tuple(i for i in range(len(sizes)) if i != n) for n, v in enumerate(sizes)}
    active = {v: int(mask.any(axis=others[v]).sum()) for v in sizes}
    return _cut(sizes, active, mask, dict(outer))


def _cut(extents: dict[Var, int], active: dict[Var, int], mask: Values, outer: dict[Var, int]) -> Domain:
    iterations = int(mask.sum())
    few = iterations * SPARSE <= mask.size
    chosen = dict(zip(extents, np.nonzero(mask), strict=True)) if few else None
    return Domain(extents, active, iterations, mask, outer, chosen)


def without_box(where: Domain, box: Sequence[tuple[int, int]]) -> Domain:
    """What is left of a domain without mask around a box, a range for each loop: strips along its sides, one by one."""
    active = [np.arange(n) for n in where.active.values()]
    inside = [np.arange(*ends) for ends in box]
    strips: list[Sequence[Values]] = []
    for n, (start, stop) in enumerate(box):
        beside = np.concatenate([active[n][:start], active[n][stop:]])
        if len(beside):
            strip = np.meshgrid(*inside[:n], beside, *active[n + 1 :], indexing="ij", copy=False)
            strips.append([column.reshape(-1) for column in strip])
    chosen = {v: np.concatenate(columns) for v, columns in zip(where.extents, zip(*strips, strict=True), strict=True)}
    return Domain(where.extents, where.active, len(next(iter(chosen.values()))), None, where.outer, chosen)


def without_loops(where: Domain, loops: Collection[Var]) -> Domain:
    """The domain with these loops at one iteration: what is done in any of theirs."""
    extents = {v: 1 if v in loops else n for v, n in where.extents.items()}
    active = {v: min(n, 1) if v in loops else n for v, n in where.active.items()}
    if where.mask is None:
        return Domain(extents, active, prod(active.values()), None, where.outer)
    mask = where.mask.max(axis=tuple(n for n, v in enumerate(where.extents) if v in loops), keepdims=True, initial=0)
    return _cut(extents, active, mask, where.outer)


class AffineProgression(msgspec.Struct, frozen=True, eq=False):
    """How an index or an address runs with the loops of a task: by `strides`, from `constant` and what is `around` the task: loops, and
    expressions of these."""

    strides: dict[Var, int]
    around: dict[Expr, int]
    constant: int

    def ends(self, active: Mapping[Var, int]) -> tuple[int, int]:
        """Its least and its greatest value, loops around at 0."""
        steps = [stride * (active[v] - 1) for v, stride in self.strides.items()]
        return self.constant + sum(s for s in steps if s < 0), self.constant + sum(s for s in steps if s > 0)

    def start(self, outer: Mapping[Var, int]) -> Values | int:
        """Its value where the loops of the task are at 0; loops around that are not known count as 0. Raises UnknownValueError."""
        parts = [
            factor * (outer.get(around, 0) if isinstance(around, Var) else _placed(around, outer))
            for around, factor in self.around.items()
        ]
        return sum(parts, self.constant)

    def values(self, over: Mapping[Var, Values | int], outer: Mapping[Var, int]) -> Values:
        """Its values, loops of the task `over` these. Raises UnknownValueError."""
        return np.asarray(sum((over[v] * stride for v, stride in self.strides.items()), self.start(outer)), np.int64)


def course_of(expr: Expr, inner: Mapping[Var, int], analyzer: Analyzer) -> AffineProgression | None:
    """How an expression runs; None where it is not affine in the loops of the task."""
    return _course(_widened(analyzer.form(expr), analyzer), inner, analyzer)


def _course(form: Sum, inner: Mapping[Var, int], analyzer: Analyzer) -> AffineProgression | None:
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
    """The sum with those that are only made wider in it."""
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
    """The address of an access in elements: its course when it is affine in the task's loops, else the expression."""

    course: AffineProgression | None
    address: Expr | None = None
    mixed: frozenset[Var] = frozenset()  # variables around the task that change the pattern, not only where it begins

    @property
    def strides(self) -> dict[Var, int] | None:
        """In elements, by loop; None where there is no course."""
        return None if self.course is None else self.course.strides

    def loops(self, among: Mapping[Var, int]) -> set[Var]:
        """Those of the task's loops that it depends on."""
        if self.course is not None:
            return {*self.course.strides}
        assert self.address is not None
        return used_vars(self.address, among)

    def values(self, over: Mapping[Var, Values | int], outer: Mapping[Var, int]) -> Values:
        """The addresses, loops of the task `over` these; loops around that are not known only shift them. Raises UnknownValueError."""
        if self.course is not None:
            return self.course.values(over, outer)
        assert self.address is not None
        return _placed(self.address, {**over, **outer})


def layout(access: Access, inner: Mapping[Var, int], analyzer: Analyzer) -> Layout:
    """Where an access goes in memory, as the loops of `inner` run."""
    form = _widened(flat_form(access.buffer, access.indices, analyzer), analyzer)
    course = _course(form, inner, analyzer)
    if course is not None:
        return Layout(course)
    together = [used for used in (free_vars(digit.source) for digit in form.digits) if used & inner.keys()]
    mixed = {v for used in together for v in used if v in analyzer.ranges and v not in inner}
    return Layout(None, analyzer.expr(form, access.indices[0].dtype), frozenset(mixed))


def flat_form(buffer: Buffer, indices: Sequence[Expr], analyzer: Analyzer) -> Sum:
    """The address in elements, row-major or by strides within each group of axes; groups in front pick a block far away."""
    found = Sum(())
    if buffer.strides:
        for index, stride in zip(indices, buffer.strides, strict=True):
            step = build.int_value(stride)
            moved = analyzer.form(index if step is not None else build.mul(index, stride))
            found = found.plus(moved, 1 if step is None else step)
        return found
    separators = buffer.axis_separators
    far = 1 << REACH_BITS // len(separators) if separators else 1
    for axis, (index, step) in enumerate(zip(indices, strides_of(buffer), strict=True)):
        found = found.plus(analyzer.form(index), step * far ** sum(axis < s for s in separators))
    return found


class Runs(msgspec.Struct, frozen=True):
    """`count` runs of `elements` each."""

    elements: int
    count: int


def runs(layouts: Sequence[Layout], where: Domain) -> tuple[Runs, ...]:
    """The contiguous runs in which all layouts advance together, over the iterations of a domain.

    An affine pattern has runs of one length, as a descriptor has; elements that are neighbours only at a corner of it are not joined.
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


def _affine_runs(strides: Sequence[Mapping[Var, int]], where: Domain) -> tuple[Runs, ...]:
    length = prod(where.active[v] for v in run_loops(strides, where))
    return (Runs(length, where.iterations // length),)


def run_loops(strides: Sequence[Mapping[Var, int]], where: Domain) -> tuple[Var, ...]:
    """The loops that make a run, the finest first. Of two with one stride (a window that slides: `x + rx`) the longer one makes it."""
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


def _counted_runs(layouts: Sequence[Layout], where: Domain) -> tuple[Runs, ...]:
    order, breaks = run_order(layouts[-1], where)
    for column in listed(layouts[:-1], where):
        breaks[1:] |= np.diff(column[order]) != 1
    lengths = np.diff(np.append(np.flatnonzero(breaks), len(order)))
    found, counts = np.unique(lengths, return_counts=True)
    return tuple(Runs(int(e), int(c)) for e, c in zip(found, counts, strict=True))


def run_order(along: Layout, where: Domain) -> tuple[Values, npt.NDArray[np.bool_]]:
    """The iterations of a domain in the order of addresses, and where a run begins: wherever it does not go on by one. Loops that the
    address does not depend on go over the same addresses again. Raises UnknownValueError."""
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


def listed(places: Sequence[Layout | Expr], where: Domain) -> list[Values]:
    """The values of these at every iteration of a domain. Raises UnknownValueError."""
    outer = where.outer

    def found(over: Mapping[Var, Values]) -> list[Values]:
        return [p.values(over, outer) if isinstance(p, Layout) else _placed(p, {**over, **outer}) for p in places]

    return at_points(where, found)


def at_points(where: Domain, found: Callable[[Mapping[Var, Values]], Sequence[Values]]) -> list[Values]:
    """What is found over the loops as axes, at each iteration of a domain, always in the same order. Raises UnknownValueError."""
    if prod(where.extents.values()) > MAX_POINTS:
        raise UnknownValueError
    if where.chosen is not None:
        return [np.broadcast_to(column, (where.iterations,)) for column in found(where.chosen)]
    every = [np.broadcast_to(column, tuple(where.extents.values())) for column in found(axes(where.extents))]
    if where.mask is not None:
        holds = where.mask.astype(np.bool_)
        return [column[holds] for column in every]
    box = tuple(slice(count) for count in where.active.values())
    return [column[box].reshape(-1) for column in every]


def number_of(place: Mapping[Var, Values], extents: Mapping[Var, int]) -> Values:
    """The loops of `extents` as one number, the last the fastest."""
    number = np.zeros((), np.int64)
    for var, extent in extents.items():
        number = number * extent + place[var]
    return number


def origin(place: Layout, where: Domain) -> int:
    """The address, in elements, where all loops of the task are at 0; one that depends on data is taken as 0."""
    try:
        if place.course is not None:
            return int(place.course.start(where.outer))
        return int(place.values(dict.fromkeys(where.extents, 0), where.outer))
    except UnknownValueError:
        return 0


def _placed(address: Expr, over: Mapping[Var, Values | int]) -> Values:
    """The address where variables around the task that only shift it are taken as zero."""
    return values(address, {**over, **dict.fromkeys(free_vars(address) - set(over), 0)})


def courses(access: Access, inner: Mapping[Var, int], analyzer: Analyzer) -> tuple[AffineProgression, ...] | None:
    """How the indices of an access run; None where one of them is no sum of loops."""
    if access.extents:
        return None
    found: list[AffineProgression] = []
    for index in access.indices:
        course = course_of(index, inner, analyzer)
        if course is None or not all(isinstance(around, Var) for around in course.around):
            return None
        found.append(course)
    return tuple(found)


def box_elements(accesses: Sequence[tuple[Access, tuple[AffineProgression, ...] | None]], where: Domain) -> int:
    """Elements of the smallest box that holds all accesses (of one buffer) over the domain; at most one for each access and iteration."""
    if where.iterations == 0:
        return 0
    box = 1
    for axis, size in enumerate(accesses[0][0].buffer.shape):
        runs = [course[axis] for _, course in accesses if course is not None]
        if len(runs) == len(accesses) and all(run.around == runs[0].around for run in runs):
            ends = [run.ends(where.active) for run in runs]
            low, high = min(least for least, _ in ends), max(greatest for _, greatest in ends) + 1
        else:
            low, high = _ends([access for access, _ in accesses], axis, where)
        extent = build.int_value(size)
        box *= high - low if extent is None else min(high - low, extent)
    return box if any(a.extents for a, _ in accesses) else min(box, where.iterations * len(accesses))


def _ends(accesses: Sequence[Access], axis: int, where: Domain) -> tuple[int, int]:
    """The least value of an index, and one more than the greatest; the whole axis where they are not known."""
    over: dict[Var, Values | int] = {**axes(where.active), **where.outer}
    low: list[int] = []
    high: list[int] = []
    # Accesses have indices in common.
    for index, extent in dict.fromkeys((a.indices[axis], a.extents[axis] if a.extents else None) for a in accesses):
        try:
            start = _placed(index, over)
            end = start + (1 if extent is None else _placed(extent, over))
        except UnknownValueError:
            return 0, build.int_value(accesses[0].buffer.shape[axis]) or 1
        low.append(int(start.min()))
        high.append(int(end.max()))
    return min(low), max(high)
