"""Addresses of a buffer's elements on a machine, and the accesses that an engine groups them into, for drawings of layouts.

Addresses, lanes, runs, banks and lost cycles are computed by the same code as a report's metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal

import msgspec
import numpy as np

from ...ir import Buffer, Expr, IndexMap, Var
from ...ir import dtype as dt
from ..cost.model import Measured
from ..machine.parts import KINDS, DmaEngine, MatrixEngine, SystolicEngine, VectorEngine
from ..tasks.geometry import TaskDomain, at_points, domain, listed, number_of, run_order
from ..tasks.grid import UnknownValueError, Values, values
from ..tasks.product import indexing
from ..tasks.tree import TaskProgram, Template
from ..tasks.work import Access, Work, element_bytes
from .bank_conflicts import AccessedElements, banking, cycles_lost, in_phases
from .byte_addresses import byte_addresses, stored_places
from .lanes import LaneAccess, in_operations, lanes_of
from .placement import Placement, Places, constant_shape, strides_of
from .ports import over
from .vectors import accessed_at_once, lanes_follow, vector_width

MOST_ITERATIONS = 1 << 18
"""Limit on the listed iterations of a task, the first ones."""

UnitKind = Literal["bank", "block", "set", "burst", "memory"]


class Unit(msgspec.Struct, frozen=True):
    """The unit in which a memory serves accesses: `count` banks, physical blocks, or sets of a cache, over which rows of `row_bytes` are
    interleaved; else bursts of `row_bytes`, or the memory as a whole.
    """

    kind: UnitKind
    count: int
    row_bytes: int


class ElementAddresses(msgspec.Struct, frozen=True, eq=False):
    """For each element its byte address in its memory (its physical block), the unit that serves it, and the row in that unit."""

    address: Values
    unit: Values
    row: Values


class BufferPlacement(msgspec.Struct, frozen=True, eq=False):
    """The allocation of a buffer: `shape` is that of the live part, `strides` are in elements, `buffer` is the lowered one."""

    placement: Placement
    places: Places
    unit: Unit

    @property
    def buffer(self) -> Buffer:
        return self.placement.buffer

    @property
    def shape(self) -> tuple[int, ...]:
        return constant_shape(self.buffer)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours of each axis, in its group of axes."""
        return strides_of(self.buffer)

    @property
    def element_bytes(self) -> int:
        return dt.size_bytes(self.buffer.dtype)

    def addresses(self, indices: Sequence[Values], slot: int = 0) -> ElementAddresses:
        """Returns the addresses of elements; each of `indices` has one axis of all of them. `slot` selects one of the rotating slots."""
        placement, size = self.placement, self.element_bytes
        lead = placement.site.lead
        part = np.zeros((), np.int64)
        for axis, extent in zip(indices[:lead], self.shape[:lead], strict=True):
            part = part * extent + axis
        part = part + slot * placement.parts * (not placement.site.indexed)
        places = sum((i * s for i, s in zip(indices[lead:], self.strides[lead:], strict=True)), np.zeros((), np.int64))
        within = stored_places(placement, np.asarray(places, np.int64)) * size
        block = np.asarray(placement.banks)[np.clip(part, 0, placement.cells - 1)]
        address = np.asarray(placement.addresses)[np.clip(part, 0, placement.cells - 1)] + within
        row = address // self.unit.row_bytes
        match self.unit.kind:
            case "block":
                unit = block
            case "bank" | "set":
                unit, row = row % self.unit.count, row // self.unit.count
            case "burst" | "memory":
                unit = np.zeros_like(row)
        shape = np.broadcast_shapes(*(np.shape(i) for i in indices)) if len(indices) else ()
        return ElementAddresses(*(np.broadcast_to(np.asarray(x, np.int64), shape) for x in (address, unit, row)))


def placement_of(program: TaskProgram, buffer: Buffer) -> BufferPlacement | None:
    """Returns the placement of a buffer of the simulated program; a buffer that a pass has replaced is found by its name. None if it has
    none.
    """
    places = program.places
    placement = places.by_buffer.get(buffer)
    if placement is None:
        named = [p for b, p in places.by_buffer.items() if b.name == buffer.name]
        placement = named[0] if len(named) == 1 else None
    return None if placement is None else BufferPlacement(placement, places, _unit(program, placement))


def _unit(program: TaskProgram, placement: Placement) -> Unit:
    memory = placement.memory
    rule = banking(memory)
    if rule is not None:
        return Unit("bank", rule.groups, rule.row_bytes)
    if memory.blocks > 1:
        return Unit("block", memory.blocks, max(memory.burst_bytes, 1))
    cache = next((c for c in program.machine.caches if c.memory == memory.name), None)
    if cache is not None:
        return Unit("set", cache.sets, cache.line_bytes)
    return Unit("burst" if memory.burst_bytes > 1 else "memory", 1, memory.burst_bytes)


class Listing(msgspec.Struct, frozen=True, eq=False):
    """The first accesses of a task to a buffer: for each element the number of its access and its position in the buffer (row-major).
    `lost[n]` are the cycles that access `n` loses to conflicts.

    `beside` has other operands of the same accesses: name, number of the access and address of each element.
    """

    access: Values
    position: Values
    lost: Values
    whole: bool
    beside: tuple[tuple[str, Values, Values], ...] = ()

    @property
    def count(self) -> int:
        return len(self.lost)


class BufferAccess(msgspec.Struct, frozen=True, eq=False):
    """A block's access to a buffer, on the engine that runs it. An access has at most `width` elements (0: not known statically).
    `run_bytes` is the length of a descriptor's run, or the mean of different lengths; 0 without a copy.
    """

    block: str
    engine: str
    engine_kind: str
    written: bool
    width: int
    run_bytes: int
    buffer_placement: BufferPlacement
    side: Access
    measured: Measured
    where: TaskDomain
    whole: bool

    def listing(self) -> Listing | None:
        """Returns the listing; None if the addresses depend on data, or the block only declares the region that it accesses."""
        if self.side.extents or not self.where.iterations:
            return None
        try:
            return _listing(self)
        except UnknownValueError:
            return None


def accesses_of(
    program: TaskProgram, buffer_placement: BufferPlacement, most: int = MOST_ITERATIONS
) -> tuple[BufferAccess, ...]:
    """Returns the accesses to a buffer, in program order: of each kind the first task, in the first iteration of the loops around it, and
    at most `most` of its iterations.
    """
    found: list[BufferAccess] = []
    for template in program.templates:
        at = {loop.var: 0 for loop in template.outer}
        for piece in template.variants.pieces:
            work = piece.measured.work
            for access in (*work.reads, *work.writes):
                if access.buffer is not buffer_placement.buffer:
                    continue
                sizes = _first(piece.measured.inner, set(work.piece.lanes), most)
                where = domain(sizes, piece.conditions, at)
                written = any(access is w for w in work.writes)
                whole = sizes == piece.measured.inner
                found.append(_use(program, template, buffer_placement, access, written, piece.measured, where, whole))
    return tuple(found)


def _first(inner: Mapping[Var, int], kept: set[Var], most: int) -> dict[Var, int]:
    """Limits the iterations of each loop so that they can be listed: the outermost are cut first."""
    sizes = dict(inner)
    for var in inner:
        rest = prod(sizes.values()) // max(sizes[var], 1)
        if var not in kept and rest * sizes[var] > most:
            sizes[var] = max(1, most // max(rest, 1))
    return sizes


def _use(
    program: TaskProgram,
    template: Template,
    buffer_placement: BufferPlacement,
    access: Access,
    written: bool,
    measured: Measured,
    where: TaskDomain,
    whole: bool,
) -> BufferAccess:
    engine = program.machine.engines[template.engine]
    block = next(
        (c.leaf.block.name for c in template.choices if any(w is measured.work for w in c.works)), template.name
    )
    match engine:
        case VectorEngine():
            width = vector_width(engine, measured.work)
        case DmaEngine():
            width = 0
        case MatrixEngine():
            width = engine.tile_rows * engine.tile_depth
        case SystolicEngine():
            width = engine.rows * engine.columns
        case _:
            width = 1
    run = 0
    if isinstance(engine, DmaEngine):
        costs = [v.cost.descriptor for v in program.variants if v.template == template.number]
        run = min((d.wanted_bytes // max(d.runs, 1) for d in costs if d is not None), default=0)
    return BufferAccess(
        block, engine.name, KINDS[type(engine)], written, width, run, buffer_placement, access, measured, where, whole
    )


def _listing(use: BufferAccess) -> Listing:
    work, where = use.measured.work, use.where
    layouts = dict(zip(use.measured.accesses, use.measured.layouts, strict=True))
    engine = use.buffer_placement.places.machine.engine(use.engine)
    position = _position(use.buffer_placement.shape, use.side.indices, where)
    match engine:
        case VectorEngine():
            return _by_lanes(use, engine, position)
        case DmaEngine():
            order, breaks = run_order(layouts[work.writes[0]], where)
            for column in listed(use.measured.layouts[:-1], where):
                breaks[1:] |= np.diff(column[order]) != 1
            access = np.cumsum(breaks) - 1
            return _made(use, access, position[order])
        case MatrixEngine():
            sizes = engine.tile_rows, engine.tile_columns, engine.tile_depth
            return _made(use, _by_tiles(work, where, sizes), position)
        case SystolicEngine():
            all_of = max(prod(where.extents.values()), 1)
            sizes = {"output_stationary": (engine.rows, engine.columns, all_of), "weight_stationary": (all_of, engine.columns, engine.rows),
                     "input_stationary": (engine.columns, all_of, engine.rows)}[engine.dataflow]  # fmt: skip
            return _made(use, _by_tiles(work, where, sizes), position)
        case _:
            return _made(use, np.arange(len(position)), position)


def _position(shape: Sequence[int], indices: Sequence[Expr], where: TaskDomain) -> Values:
    columns = listed(indices, where)
    place = np.zeros(where.iterations, np.int64)
    for extent, column in zip(shape, columns, strict=True):
        place = place * extent + column
    return place


def _made(use: BufferAccess, access: Values, position: Values) -> Listing:
    """Returns a listing with each element once per access, without losses."""
    return _once(use, access, position, np.zeros(int(access.max(initial=-1)) + 1, np.int64))


def _once(use: BufferAccess, access: Values, position: Values, lost: Values) -> Listing:
    every = prod(use.buffer_placement.shape)
    # Sorting is several times faster than `np.unique` if most of them differ.
    pairs = np.sort(access * every + position)
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    return Listing(pairs // every, pairs % every, lost, use.whole)


def _by_lanes(use: BufferAccess, engine: VectorEngine, position: Values) -> Listing:
    work, layouts, where, places = use.measured.work, use.measured.layouts, use.where, use.buffer_placement.places
    width = vector_width(engine, work)
    along = lanes_follow(work, layouts, where, width)
    lanes = lanes_of(work, along, width, where)
    order, access, lane = in_operations(lanes, along, where)
    memory = use.buffer_placement.placement.memory
    rule = banking(memory)
    if rule is None:
        return _made(use, access, position[order])
    sides = next((group for group in accessed_at_once(engine, work, layouts, where) if _has(group, use)), None)
    if sides is None:
        return _made(use, access, position[order])
    here = [s for s in sides if places.by_buffer[s.access.buffer].memory is memory]
    elements: list[AccessedElements] = []
    for side, column in zip(here, listed([s.layout for s in here], where), strict=True):
        addresses = byte_addresses(places.by_buffer[side.access.buffer], column[order], where.outer)
        elements.append(AccessedElements(access, addresses, element_bytes(side.access), side.written))
    count, phased = in_phases(rule, elements, lane)
    lost = cycles_lost(rule, phased, count)
    beside = tuple(
        (side.access.buffer.name, e.access, e.address)
        for side, e in zip(here, phased, strict=True)
        if side.access is not use.side or side.written != use.written
    )
    return msgspec.structs.replace(_once(use, phased[0].access, position[order], lost), beside=beside)


def _has(group: Sequence[LaneAccess], use: BufferAccess) -> bool:
    return any(s.access is use.side and s.written == use.written for s in group)


def _by_tiles(work: Work, where: TaskDomain, sizes: tuple[int, int, int]) -> Values:
    """Returns the number of the tile that computes each iteration, in the order in which tiles begin."""
    if not work.reads:
        return np.arange(where.iterations)
    first, second, result = (indexing(a, where) for a in (work.reads[0], work.reads[-1], work.writes[0]))
    groups = first & result - second, second & result - first, (first & second) - result
    others = [v for v in where.extents if not any(v in group for group in groups)]

    def found(place: Mapping[Var, Values]) -> list[Values]:
        number = number_of(place, {v: where.extents[v] for v in others})
        for group, size in zip(groups, sizes, strict=True):
            inside = {v: n for v, n in where.extents.items() if v in group}
            number = number * over(prod(inside.values()), size) + number_of(place, inside) // size
        return [number]

    (column,) = at_points(where, found)
    _, begins, which = np.unique(column, return_index=True, return_inverse=True)
    rank = np.empty(len(begins), np.int64)
    rank[np.argsort(begins)] = np.arange(len(begins))
    return rank[which.reshape(-1)]


class AccessDistribution(msgspec.Struct, frozen=True):
    """Bytes of a buffer that all tasks read and write together."""

    read_bytes: int
    written_bytes: int


def distribution_of(
    program: TaskProgram, counts: Mapping[int, int], buffer_placement: BufferPlacement
) -> AccessDistribution:
    """Returns the bytes read from and written to a buffer; `counts` is the number of runs of each kind of task."""
    moved = {False: 0, True: 0}
    for number, count in counts.items():
        for touched in program.variants[number].cost.touched:
            if touched.buffer is buffer_placement.buffer:
                moved[touched.written] += touched.size_bytes * count
    return AccessDistribution(moved[False], moved[True])


def through(index_map: IndexMap, indices: Sequence[Values]) -> list[Values] | None:
    """Maps indices of elements through an index map; None if the map depends on unknown values."""
    known = dict(zip(index_map.params, indices, strict=True))
    try:
        return [values(index, known) for index in index_map.indices]
    except UnknownValueError:
        return None
