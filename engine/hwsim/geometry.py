"""How large a piece of work is where edges cut it, and in how many contiguous runs it touches memory: from the actual addresses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt

from ..arith import Analyzer, Linear, linear
from ..ir import Buffer, Cast, Expr, Var, build, free_vars
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
    return Domain(
        extents, active, iterations, mask, outer, dict(zip(extents, np.nonzero(mask), strict=True)) if few else None
    )


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


class Course(msgspec.Struct, frozen=True, eq=False):
    """How an index or an address runs with the loops of a task: by `strides`, from `constant` and what the loops `around` the task add."""

    strides: dict[Var, int]
    around: dict[Var, int]
    constant: int

    def ends(self, active: Mapping[Var, int]) -> tuple[int, int]:
        """Its least and its greatest value, loops around at 0."""
        steps = [stride * (active[v] - 1) for v, stride in self.strides.items()]
        return self.constant + sum(s for s in steps if s < 0), self.constant + sum(s for s in steps if s > 0)


def _course(terms: Sequence[tuple[Var, int]], constant: int, inner: Mapping[Var, int]) -> Course:
    strides, around = dict[Var, int](), dict[Var, int]()
    for var, factor in terms:
        (strides if var in inner else around)[var] = factor
    return Course(strides, around, constant)


class Layout(msgspec.Struct, frozen=True, eq=False):
    """The address of an access in elements: strides by loop variable when it is affine in the task's loops, else only the expression."""

    address: Expr
    strides: dict[Var, int] | None
    mixed: frozenset[Var]  # variables around the task that change the pattern, not only where it begins
    start: Course | None = None  # where it begins, by the loops around the task, if that is a sum of them


def layout(access: Access, inner: Mapping[Var, int], analyzer: Analyzer) -> Layout:
    """Where an access goes in memory, as the loops of `inner` run."""
    return layout_at(flat_address(access.buffer, access.indices), inner, analyzer)


def layout_at(address: Expr, inner: Mapping[Var, int], analyzer: Analyzer) -> Layout:
    """The layout of an address."""
    form = linear(address, analyzer)
    address = analyzer.simplify(address)
    if form is None:
        return Layout(address, None, frozenset())
    terms = list(_terms(form, analyzer))
    if all(isinstance(atom, Var) for atom, _ in terms):
        course = _course(cast("list[tuple[Var, int]]", terms), form.constant, inner)
        return Layout(address, course.strides, frozenset(), course)
    strides: dict[Var, int] | None = {}
    mixed: set[Var] = set()
    for atom, factor in terms:
        if isinstance(atom, Var):
            if atom in inner and strides is not None:
                strides[atom] = factor
        elif used_vars(atom, inner):
            strides = None
            mixed |= used_vars(atom, analyzer.ranges) - set(inner)
    return Layout(address, strides, frozenset(mixed))


def _terms(form: Linear, analyzer: Analyzer) -> Iterator[tuple[Expr, int]]:
    """The terms of a sum, and of the sums that are only made wider in it."""
    for atom, factor in form.terms:
        wide = linear(atom.value, analyzer) if isinstance(atom, Cast) else None
        if wide is None:
            yield atom, factor
        else:
            yield from ((inner, factor * times) for inner, times in wide.terms)


def flat_address(buffer: Buffer, indices: Sequence[Expr]) -> Expr:
    """The address in elements, row-major or by strides within each group of axes; groups in front pick a block far away."""
    address: Expr = build.const(0, indices[0].dtype if indices else "int32")
    if buffer.strides:
        for index, stride in zip(indices, buffer.strides, strict=True):
            address = build.add(address, build.mul(index, stride))
        return address
    far = 0
    if buffer.axis_separators:
        address = build.cast(address, "int64")
        far = 1 << REACH_BITS // len(buffer.axis_separators)
    for first, last in pairwise((0, *buffer.axis_separators, len(indices))):
        place: Expr = build.const(0, indices[0].dtype if indices else "int32")
        for index, extent in zip(indices[first:last], buffer.shape[first:last], strict=True):
            place = build.add(build.mul(place, extent), index)
        if last == len(indices):
            return build.add(address, place)
        address = build.mul(build.add(address, place), build.const(far, "int64"))
    return address


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
        return _counted_runs([x.address for x in layouts], where)
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


def _counted_runs(addresses: Sequence[Expr], where: Domain) -> tuple[Runs, ...]:
    order, breaks = run_order(addresses[-1], where)
    for column in listed(addresses[:-1], where):
        breaks[1:] |= np.diff(column[order]) != 1
    lengths = np.diff(np.append(np.flatnonzero(breaks), len(order)))
    found, counts = np.unique(lengths, return_counts=True)
    return tuple(Runs(int(e), int(c)) for e, c in zip(found, counts, strict=True))


def run_order(address: Expr, where: Domain) -> tuple[Values, npt.NDArray[np.bool_]]:
    """The iterations of a domain in the order of addresses, and where a run begins: wherever it does not go on by one. Loops that the
    address does not depend on go over the same addresses again. Raises UnknownValueError."""
    again = [v for v in where.extents if v not in used_vars(address, where.extents)]
    place, *rounds = listed([address, *again], where)
    number = np.zeros(len(place), np.int64)
    for var, column in zip(again, rounds, strict=True):
        number = number * where.extents[var] + column
    is_sorted = not again and bool((np.diff(place) >= 0).all())
    order = np.arange(len(place)) if is_sorted else np.lexsort((place, number))
    breaks = np.ones(len(order), np.bool_)
    breaks[1:] = (np.diff(place[order]) != 1) | (np.diff(number[order]) != 0)
    return order, breaks


def listed(exprs: Sequence[Expr], where: Domain) -> list[Values]:
    """The values of expressions at every iteration of a domain, in the order of its `points`. Raises UnknownValueError."""
    if prod(where.extents.values()) > MAX_POINTS:
        raise UnknownValueError
    over = {**points(where), **where.outer}
    return spread([_placed(e, over) for e in exprs], where)


def points(where: Domain) -> dict[Var, Values]:
    """The loops of a domain as axes (`grid.axes`), iterations in program order; those that were chosen, one by one."""
    return axes(where.extents) if where.chosen is None else where.chosen


def spread(columns: Sequence[Values], where: Domain) -> list[Values]:
    """What is known at the `points` of a domain, at each of its iterations, in their order."""
    if where.chosen is not None:
        return [np.broadcast_to(column, (where.iterations,)) for column in columns]
    every = [np.broadcast_to(column, tuple(where.extents.values())) for column in columns]
    if where.mask is not None:
        holds = where.mask.astype(np.bool_)
        return [column[holds] for column in every]
    box = tuple(slice(count) for count in where.active.values())
    return [column[box].reshape(-1) for column in every]


def origin(place: Layout, where: Domain) -> int:
    """The address, in elements, where all loops of the task are at 0; one that depends on data is taken as 0."""
    if place.start is not None:
        return place.start.constant + sum(f * where.outer.get(v, 0) for v, f in place.start.around.items())
    try:
        return int(_placed(place.address, {**dict.fromkeys(where.extents, 0), **where.outer}))
    except UnknownValueError:
        return 0


def _placed(address: Expr, over: Mapping[Var, Values | int]) -> Values:
    """The address where variables around the task that only shift it are taken as zero."""
    return values(address, {**over, **dict.fromkeys(free_vars(address) - set(over), 0)})


def courses(access: Access, inner: Mapping[Var, int], analyzer: Analyzer) -> tuple[Course, ...] | None:
    """How the indices of an access run; None where one of them is no sum of loops."""
    if access.extents:
        return None
    found: list[Course] = []
    for index in access.indices:
        form = linear(index, analyzer)
        if form is None or not all(isinstance(atom, Var) for atom, _ in form.terms):
            return None
        found.append(_course(cast("Sequence[tuple[Var, int]]", form.terms), form.constant, inner))
    return tuple(found)


def box_elements(accesses: Sequence[tuple[Access, tuple[Course, ...] | None]], where: Domain) -> int:
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
    for access in accesses:
        try:
            start = _placed(access.indices[axis], over)
            end = start + (_placed(access.extents[axis], over) if access.extents else 1)
        except UnknownValueError:
            return 0, build.int_value(access.buffer.shape[axis]) or 1
        low.append(int(start.min()))
        high.append(int(end.max()))
    return min(low), max(high)
