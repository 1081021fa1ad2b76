"""Lanes of the operations of a piece of work: the elements that one operation accesses, and their byte addresses.

Where addresses are affine, one access of each kind is analysed (`bank_conflicts`); otherwise the elements are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import msgspec
import numpy as np
from msgspec.structs import replace as replace_fields

from ...ir import Var
from ..tasks.boxes import Inside, inside
from ..tasks.geometry import Layout, TaskDomain, at_points, listed, number_of, origin, run_loops, run_order
from ..tasks.grid import UnknownValueError, Values
from ..tasks.work import Access, Work, element_bytes
from .bank_conflicts import (
    AccessedElements,
    BankConflicts,
    Banking,
    VectorOperand,
    affine_conflicts,
    exact_conflicts,
    listed_conflicts,
)
from .byte_addresses import byte_addresses, step_bytes
from .placement import Places
from .ports import over


class LaneAccess(msgspec.Struct, frozen=True, eq=False):
    """An access of the work, its layout, and whether it stores. An accumulator has two: it is loaded and stored."""

    access: Access
    layout: Layout
    written: bool


class Lanes(msgspec.Struct, frozen=True, eq=False):
    """The loops that number the lanes, the fastest first, and the lanes of an operation. Iterations that conditions leave out take no lane,
    unless the lanes are threads. Without loops each iteration is an operation, or lanes follow contiguous addresses (`by_address`).
    """

    loops: tuple[Var, ...]
    width: int
    are_threads: bool = False
    by_address: bool = False

    def are_whole(self, where: TaskDomain) -> bool:
        """Returns whether the iterations are a box, and lanes without work are only the last ones."""
        cut = self.loops[:-1] if self.are_threads else ()
        return where.is_box and all(where.active[v] == where.extents[v] for v in cut)

    def of_an_operation(self, where: TaskDomain) -> Lanes:
        """Drops the loops that only advance at the end of an operation; lanes are whole."""
        lanes = 1
        for n, var in enumerate(self.loops, 1):
            lanes *= where.active[var]
            if lanes % self.width == 0:
                return replace_fields(self, loops=self.loops[:n])
        return self


class PieceIterations:
    """The iterations of a piece, with the analyses that its accesses share."""

    def __init__(self, work: Work, layouts: Sequence[Layout], where: TaskDomain, places: Places) -> None:
        self._work = work
        self._layouts = layouts
        self._where = where
        self._places = places
        self._inside: dict[tuple[Var, ...], Inside | None] = {}

    def conflicts(self, rule: Banking, group: Sequence[LaneAccess], along: Layout, width: int) -> BankConflicts | None:
        """Returns conflicts from the address period if addresses are affine, else from a listing; None if they depend on data, or are too
        many to list.
        """
        return self.in_lanes(rule, group, lanes_of(self._work, along, width, self._where), along)

    def in_lanes(self, rule: Banking, group: Sequence[LaneAccess], lanes: Lanes, along: Layout) -> BankConflicts | None:
        """Like `conflicts`, for these lanes."""
        where, places = self._where, self._places
        try:
            if not lanes.are_whole(where):
                return _listed(rule, group, lanes, along, where, places)
            if along.strides is not None and all(s.layout.strides is not None for s in group):
                affine = _affine(rule, group, lanes, where, places)
                return (
                    _listed(rule, group, lanes, along, where, places) if affine is None else affine_conflicts(*affine)
                )
            # No condition cuts lanes: only the other loops have edges.
            lanes = lanes.of_an_operation(where)
            whole = self._box(lanes)
            here = [] if whole is None else [(s, whole.layout(s.layout)) for s in group]
            known = [replace_fields(s, layout=x) for s, x in here if x is not None]
            if whole is not None and len(known) == len(group):
                affine = _affine(rule, known, lanes, whole.box, places)
                exact = None if affine is None else exact_conflicts(*affine)
                if exact is not None:
                    return exact + _listed(rule, group, lanes, along, whole.rest, places)
            return _listed(rule, group, lanes, along, where, places)
        except UnknownValueError:
            return None

    def _box(self, lanes: Lanes) -> Inside | None:
        """Returns a box of the other loops in which no choice in the piece's accesses changes its side."""
        loops = tuple(v for v, n in self._where.active.items() if n > 1 and v not in lanes.loops) if lanes.loops else ()
        if loops not in self._inside:
            self._inside[loops] = inside(self._layouts, self._where, loops)
        return self._inside[loops]


def _affine(
    rule: Banking, group: Sequence[LaneAccess], lanes: Lanes, where: TaskDomain, places: Places
) -> tuple[Banking, list[int], list[int], list[VectorOperand], int] | None:
    """Returns the arguments of `bank_conflicts.affine_conflicts`; None if the iterations access several parts of a buffer that are not
    evenly spaced.
    """
    others = tuple(v for v, count in where.active.items() if count > 1 and v not in lanes.loops)
    operands: list[VectorOperand] = []
    for side in group:
        size, placement = element_bytes(side.access), places.by_buffer[side.access.buffer]
        steps = {v: step_bytes(placement, n) for v, n in (side.layout.strides or {}).items() if where.active[v] > 1}
        if not all(step is not None for step in steps.values()):
            return None
        across, outer = (tuple(steps.get(v) or 0 for v in loops) for loops in (lanes.loops, others))
        base = int(byte_addresses(placement, origin(side.layout, where), where.outer))
        operands.append(VectorOperand(size, base, across, outer, side.written))
    active = where.active
    return rule, [active[v] for v in lanes.loops], [active[v] for v in others], operands, lanes.width


def _listed(
    rule: Banking, group: Sequence[LaneAccess], lanes: Lanes, along: Layout, where: TaskDomain, places: Places
) -> BankConflicts:
    order, access, lane = in_operations(lanes, along, where)
    found = [column[order] for column in listed([s.layout for s in group], where)]
    elements: list[AccessedElements] = []
    for side, column in zip(group, found, strict=True):
        addresses = byte_addresses(places.by_buffer[side.access.buffer], column, where.outer)
        elements.append(AccessedElements(access, addresses, element_bytes(side.access), side.written))
    return listed_conflicts(rule, elements, lane)


def lanes_of(work: Work, along: Layout, width: int, where: TaskDomain) -> Lanes:
    """Returns the numbering of lanes: the threads of the program, else along the runs of the result."""
    threads = threads_of(work, where)
    if threads:
        return Lanes(threads, width, are_threads=True)
    if where.is_box and along.strides is not None:
        return Lanes(run_loops([along.strides], where), width)
    return Lanes((), width, by_address=True)


def in_operations(lanes: Lanes, along: Layout, where: TaskDomain) -> tuple[Values | slice, Values, Values]:
    """Returns an order of the domain's iterations, and in that order the operation and the lane of each. Raises UnknownValueError."""
    if not lanes.by_address:
        return slice(None), *numbered(lanes, where)
    order, breaks = run_order(along, where)
    first = np.flatnonzero(breaks)
    length = np.diff(np.append(first, len(order)))
    place = np.arange(len(order)) - np.repeat(first, length)
    before = np.cumsum(-(-length // lanes.width)) - -(-length // lanes.width)
    return order, np.repeat(before, length) + place // lanes.width, place % lanes.width


def numbered(lanes: Lanes, where: TaskDomain) -> tuple[Values, Values]:
    """Returns for each iteration of a domain its thread group and its thread in that. Raises UnknownValueError."""
    extents = where.active if where.is_box and not lanes.are_threads else where.extents
    groups = over(prod(extents[v] for v in lanes.loops), lanes.width)

    def found(place: Mapping[Var, Values]) -> tuple[Values, Values]:
        position = number_of(place, {v: extents[v] for v in reversed(lanes.loops)})
        outside = number_of(place, {v: n for v, n in extents.items() if v not in lanes.loops})
        return outside * groups + position // lanes.width, position % lanes.width

    access, lane = at_points(where, found)
    return access, lane


def threads_of(work: Work, where: TaskDomain) -> tuple[Var, ...]:
    return tuple(v for v in work.piece.lanes if v in where.extents)
