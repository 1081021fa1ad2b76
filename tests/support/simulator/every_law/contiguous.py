"""Contiguous elements: strides, runs of a copy, and lanes of vector operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.engine.ir import Var

from .elements import Ints, Part, Points

Strides = Mapping[Var, int]


def strides_of(part: Part) -> list[Strides | None]:
    """The strides of each operand in elements, over all iterations of its loops and of the loops around; None if it moves unevenly."""
    whole = part.whole()
    lines = [part.over(_line(part, var, 2 * extent + 2)) for var, extent in part.extents.items() if extent > 1]
    found: list[Strides | None] = []
    for number, operand in enumerate(whole.operands):
        strides: dict[Var, int] = {}
        even = operand.place[0] + np.zeros(whole.points.count, np.int64)
        is_even = True
        for line, var in zip(lines, (v for v, n in part.extents.items() if n > 1), strict=True):
            steps = np.diff(line.operands[number].place)
            strides[var] = int(steps[0])
            is_even = is_even and bool((steps == steps[0]).all())
            even = even + whole.points.loops[var] * steps[0]
        is_even = is_even and bool((even == operand.place).all())
        found.append({v: s for v, s in strides.items() if s} if is_even else None)
    return found


def _line(part: Part, along: Var, count: int) -> Points:
    """The first iterations of one loop, the others at 0."""
    steps = np.arange(count, dtype=np.int64)
    return Points({v: steps if v is along else np.zeros(count, np.int64) for v in part.extents}, count, None)


def chain(strides: Sequence[Strides], counts: Mapping[Var, int]) -> tuple[Var, ...]:
    """The loops of a run, the fastest first: each continues where the previous ones end. Of two equal ones the longer is chosen."""
    found: list[Var] = []
    while True:
        length = prod(counts[v] for v in found)
        fit = [v for v, n in counts.items() if n > 1 and v not in found and all(s.get(v, 0) == length for s in strides)]
        if not fit:
            return tuple(found)
        found.append(max(fit, key=lambda v: counts[v]))


def runs(
    strides: Sequence[Strides | None], places: Sequence[Ints], domain: Points, moving: Sequence[Var]
) -> Counter[int]:
    """How many runs there are of each length. `moving` are the loops of the last place; the other loops repeat it."""
    known = [s for s in strides if s is not None]
    if domain.box is not None and len(known) == len(strides):
        length = prod(domain.box[v] for v in chain(known, domain.box))
        return Counter({length: domain.count // length})
    order, begins = in_order(places[-1], domain, moving)
    for place in places[:-1]:
        begins[1:] |= np.diff(place[order]) != 1
    lengths = np.diff([*np.flatnonzero(begins), len(order)])
    return Counter(int(n) for n in lengths)


def in_order(place: Ints, domain: Points, moving: Sequence[Var]) -> tuple[Ints, np.ndarray]:
    """The iterations in the order of places, for each combination of the other loops; and whether each begins a run."""
    rounds = [domain.loops[v] for v in domain.loops if v not in moving]
    order = np.lexsort((place, *reversed(rounds)))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.diff(place[order]) != 1
    for column in rounds:
        begins[1:] |= np.diff(column[order]) != 0
    return order, begins


class Operations(NamedTuple):
    """For each iteration the operation that does it, and its lane."""

    number: Ints
    lane: Ints

    @property
    def count(self) -> int:
        return len(np.unique(self.number))


def numbered(loops: Sequence[Var], width: int, domain: Points, extents: Mapping[Var, int]) -> Operations:
    """Operations of `width` lanes, which are numbered through loops, the fastest first, in each iteration of the other loops."""
    position, outside = (np.zeros(domain.count, np.int64) for _ in range(2))
    for var in reversed(loops):
        position = position * extents[var] + domain.loops[var]
    for var in extents:
        if var not in loops:
            outside = outside * extents[var] + domain.loops[var]
    groups = -(-prod(extents[v] for v in loops) // width)
    return Operations(outside * groups + position // width, position % width)


def in_runs(strides: Strides | None, place: Ints, width: int, domain: Points, moving: Sequence[Var]) -> Operations:
    """Operations of `width` lanes along the runs of a place."""
    if strides is not None and domain.box is not None:
        return numbered(chain([strides], domain.box), width, domain, domain.box)
    order, begins = in_order(place, domain, moving)
    run = np.cumsum(begins) - 1
    position = np.arange(len(order)) - np.flatnonzero(begins)[run]
    number, lane = (np.empty(len(order), np.int64) for _ in range(2))
    number[order] = run * (len(order) + 1) + position // width
    lane[order] = position % width
    return Operations(number, lane)
