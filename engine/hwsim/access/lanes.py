"""Lanes of the operations of a piece of work: the elements that one operation accesses, and their byte addresses.

Where addresses are affine, one access of each kind is analysed (`bank_conflicts`); otherwise the elements are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod

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
    The first loop is the vector of a thread if only some of its elements, `at_once`, are accessed at once: the next ones follow after all
    threads.
    """

    loops: tuple[Var, ...]
    width: int
    are_threads: bool = False
    by_address: bool = False
    at_once: int = 0

    def are_whole(self, where: TaskDomain) -> bool:
        """Returns whether the iterations are a box, and lanes without work are only the last ones."""
        cut = self.loops[:-1] if self.are_threads else ()
        return where.is_box and all(where.active[v] == where.extents[v] for v in cut)

    def of_an_operation(self, where: TaskDomain) -> Lanes:
        """Drops the loops that only advance at the end of an operation; lanes are whole."""
        if self.at_once:
            return self
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
            if rule.thread_bytes:
                rule, lanes = self._by_thread(rule, group, lanes)
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

    def _by_thread(self, rule: Banking, group: Sequence[LaneAccess], lanes: Lanes) -> tuple[Banking, Lanes]:
        """Returns the lanes of threads that access as many elements of their vector at once as are consecutive and not too long."""
        if not lanes.are_threads or lanes.loops[0] not in self._work.piece.vectorized:
            return replace_fields(rule, joins=False), lanes
        size = max(element_bytes(s.access) for s in group)
        is_whole = all(_is_consecutive(s, lanes.loops, self._where, self._places) for s in group)
        at_once = gcd(self._where.extents[lanes.loops[0]], max(1, rule.thread_bytes // size)) if is_whole else 1
        # Threads that access one row of a bank each are a single phase.
        joins = rule.joins and at_once * size > rule.row_bytes
        return replace_fields(rule, thread_lanes=at_once, joins=joins), replace_fields(lanes, at_once=at_once)

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
    across, outer = [where.active[v] for v in lanes.loops], [where.active[v] for v in others]
    if lanes.at_once:
        outer.append(across[0] // lanes.at_once)
        across[0] = lanes.at_once
        operands = [replace_fields(o, strides=(*o.strides, o.lane_strides[0] * lanes.at_once)) for o in operands]
    return rule, across, outer, operands, lanes.width


def _is_consecutive(side: LaneAccess, loops: Sequence[Var], where: TaskDomain, places: Places) -> bool:
    """Returns whether the elements along the first loop are consecutive in memory, for all iterations of the others. Raises
    UnknownValueError.
    """
    at = np.meshgrid(*(np.arange(where.extents[v]) for v in loops), indexing="ij", sparse=True)
    over: dict[Var, Values | int] = {**dict.fromkeys(where.extents, 0), **dict(zip(loops, at, strict=True))}
    elements = np.broadcast_to(side.layout.values(over, where.outer), [where.extents[v] for v in loops])
    addresses = byte_addresses(places.by_buffer[side.access.buffer], elements, where.outer)
    return bool((np.diff(addresses, axis=0) == element_bytes(side.access)).all())


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
        if lanes.at_once:
            thread, element = np.divmod(position, extents[lanes.loops[0]])
            part, within = np.divmod(element, lanes.at_once)
            threads = prod(extents[v] for v in lanes.loops[1:])
            position = (part * threads + thread) * lanes.at_once + within
        outside = number_of(place, {v: n for v, n in extents.items() if v not in lanes.loops})
        return outside * groups + position // lanes.width, position % lanes.width

    access, lane = at_points(where, found)
    return access, lane


def threads_of(work: Work, where: TaskDomain) -> tuple[Var, ...]:
    return tuple(v for v in work.piece.lanes if v in where.extents)
