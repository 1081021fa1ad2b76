"""Variants of one task template: the cost of a task and the cells that it accesses, for given iterations of the loops around it.

Tasks differ in the conditions that cut them, in their address pattern, and in their slots and parts. Each variant is created on its first
occurrence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod

import msgspec
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer
from ...cancellation import checkpoint
from ...ir import Buffer, Expr, Var, build, free_vars
from ..access.alignment import deciding_places, is_aligned_by
from ..access.bank_rows import banks_of_rows, first_row
from ..access.placement import Placement, Places
from ..access.ports import PortSpec, PortUser, atomic_ports, block_demands, ports_of
from ..caches.shared.results import Behind
from ..cost.model import Cost, Measured, cost, measure
from ..machine.parts import Engine, Memory
from ..replay.clocks import Variant
from .geometry import Layout, TaskDomain, at_points, domain
from .grid import MAX_POINTS, UnknownValueError, Values, axes, is_known, used_vars, values
from .large.uneven_splits import join_uneven_splits
from .nest import Loop, Token
from .periodicity import IterationClass
from .representatives import Representatives
from .work import Access, Work

NOTHING = -1
"""Replaces the number of a variant if a predicate leaves no work."""


class TaskVariant(msgspec.Struct, frozen=True, eq=False):
    """A kind of task with its cost; `replay` is its data for the replay, `updates` are cells that it changes in place.

    `engine` is the number in the machine; the replay uses the number of its unit. For the replay the task also writes the cells of
    `destroyed`, as it writes to their addresses.
    """

    template: int
    engine: int
    cost: Cost
    replay: Variant
    updates: tuple[int, ...] = ()
    destroyed: tuple[int, ...] = ()

    @property
    def writes(self) -> tuple[int, ...]:
        """The cells that the task gives new contents."""
        return tuple(cell for cell in self.replay.writes if cell not in self.destroyed)


class TaskPiece(msgspec.Struct, frozen=True, eq=False):
    """Work of a task, with its conditions."""

    measured: Measured
    conditions: tuple[Expr, ...]

    @property
    def is_large(self) -> bool:
        """Whether conditions cut more points than are evaluated at once."""
        return bool(self.conditions) and prod(self.measured.inner.values()) > MAX_POINTS

    def is_bound(self, at: Mapping[Var, int]) -> bool:
        """Returns whether the iterations are too many to count, with the loops around at `at`."""
        return self.is_large and domain(self.measured.inner, self.conditions, at).is_bound


class TaskBuffer(msgspec.Struct, frozen=True, eq=False):
    """A buffer that a task reads or writes: the part of each access, and the piece that accesses it."""

    placement: Placement
    written: bool
    updated: bool
    parts: tuple[tuple[Expr, TaskPiece], ...]

    def cells(self, at: Mapping[Var, int]) -> range:
        """Returns the cells that the task accesses: in the current slot, from the first part to the last."""
        placement = self.placement
        loop = placement.site.slot_loop
        slot = at[loop.var] % placement.slots if loop is not None and loop.var in at else 0
        first = placement.first_cell + slot * placement.parts
        last = placement.indexed_cells - 1
        if last == 0:
            return range(first, first + 1)
        low, high = last, 0
        for part, piece in self.parts:
            try:
                found = _values_at(part, piece, at)
            except UnknownValueError:
                return range(first, first + last + 1)
            if found.size:
                low, high = min(low, int(found.min())), max(high, int(found.max()))
        return range(first + max(low, 0), first + min(high, last) + 1)


def _values_at(part: Expr, piece: TaskPiece, at: Mapping[Var, int]) -> Values:
    """Returns the values of a part in the iterations of a piece. Raises UnknownValueError."""
    inner = {v: n for v, n in piece.measured.inner.items() if v in free_vars(part)}
    if not (inner and piece.conditions):
        return values(part, {**at, **axes(inner)})
    where = _domain(piece, at)
    (found,) = at_points(where, lambda place: [values(part, {**at, **place})])
    return found


def pieces_of(
    works: Sequence[tuple[Sequence[Work], Sequence[Loop]]],
    outer: Sequence[Loop],
    analyzer: Analyzer,
    allocating: Collection[Var] = (),
) -> tuple[TaskPiece, ...]:
    """Returns the pieces of a task: of each leaf its works, with the loops around them inside of the task. Buffers are allocated under the
    loops in `allocating`."""
    around = {loop.var for loop in outer}
    found: list[TaskPiece] = []
    for leaf, path in works:
        for work in leaf:
            inner = {loop.var: loop.extent for loop in (*path, *work.piece.loops) if loop.var not in around}
            conditions = tuple(analyzer.simplify(c) for c in work.piece.conditions)
            if conditions and prod(inner.values()) > MAX_POINTS:
                fixed = {*work.piece.lanes, *work.piece.vectorized, *allocating}
                joined, inner, conditions = join_uneven_splits(work, inner, conditions, fixed, analyzer)
                found.append(TaskPiece(measure(joined, inner, analyzer), conditions))
                continue
            found.append(TaskPiece(measure(work, inner, analyzer), conditions))
    return tuple(found)


def part_of(placement: Placement, access: Access, analyzer: Analyzer) -> Expr:
    """Returns the part of its buffer that an access is to: the first group of axes, row-major, including an indexed slot."""
    lead, own = placement.site.lead, placement.site.own_axis
    part: Expr = build.const(0, "int32")
    for index, extent in zip(access.indices[:lead], placement.buffer.shape[:lead], strict=True):
        part = build.add(build.mul(part, extent), index)
    if own is not None:
        part = build.add(build.mul(part, placement.buffer.shape[own]), access.indices[own])
    return analyzer.simplify(part)


class Tokens(msgspec.Struct, frozen=True, eq=False):
    """The tokens that the tasks of a template await and signal."""

    awaits: tuple[Token, ...] = ()
    signals: tuple[Token, ...] = ()

    def cells(self, places: Places) -> tuple[int, ...]:
        """Returns the cells of all of them."""
        return tuple(cell for name, _ in (*self.awaits, *self.signals) for cell in places.tokens[name])

    def at(self, places: Places, at: Mapping[Var, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the cells that a task awaits and signals; all of a name whose number is not known."""
        found: list[dict[int, None]] = [{}, {}]
        for side, tokens in zip(found, (self.awaits, self.signals), strict=True):
            for name, index in tokens:
                cells = places.tokens[name]
                try:
                    number = int(values(index, at)) if {*free_vars(index)} <= {*at} else None
                except UnknownValueError:
                    number = None
                side.update(
                    dict.fromkeys(cells if number is None else cells[number : number + 1] if number >= 0 else ())
                )
        return tuple(found[0]), tuple(found[1])


NO_TOKENS = Tokens()


class Variants:
    """The variants of one template, by the iterations of the loops around it; new ones are added to the program's `table`.

    `shared` numbers the ports that its tasks may have to share with others; `waits` are stall cycles of each instance on caches, in all
    dimensions of the loops around.
    """

    def __init__(self, table: list[TaskVariant], template: int, engine: int, unit: int, outer: tuple[Loop, ...],
                 pieces: tuple[TaskPiece, ...], places: Places, analyzer: Analyzer, shared: Mapping[PortSpec, int],
                 waits: Values | None = None, tokens: Tokens = NO_TOKENS, behind: Behind | None = None) -> None:  # fmt: skip
        self._table = table
        self._template = template
        self._engine = engine
        self._unit = unit
        self._pieces = pieces
        self._places = places
        self._shared = shared
        self._partners = 0
        self._sides = _sides(pieces, places, analyzer)
        self._waits = waits
        self._behind = behind
        self._outer = tuple(loop.var for loop in outer)
        here = places.machine.engines[engine]
        places_of_loops = tuple(
            e
            for p in pieces
            for e in deciding_places(here, p.measured.work, p.measured.layouts, p.measured.inner, places, analyzer)
        )
        self._tokens = tokens
        numbers = [index for _, index in (*tokens.awaits, *tokens.signals)]
        self.iteration_class = _iteration_class(pieces, self._sides, outer, (*places_of_loops, *numbers))
        if waits is not None:
            self.iteration_class = msgspec.structs.replace(self.iteration_class, single=self._outer)
        used = self.iteration_class.variables()
        mattering = [loop for loop in outer if loop.var in used]
        self._matters = tuple(loop.var for loop in mattering)
        self._representatives = Representatives(mattering, self.iteration_class, analyzer)
        self._decide = _deciding(pieces, here, places, places_of_loops, self._matters)
        self._costs: dict[tuple[int, ...], tuple[Cost, object] | None] = {}
        self._known: dict[tuple[int, ...], int] = {}
        self._numbers: dict[object, int] = {}

    @property
    def pieces(self) -> tuple[TaskPiece, ...]:
        """The work of the task, with its conditions."""
        return self._pieces

    @property
    def costs(self) -> int:
        """How many costs were computed so far."""
        return len(self._costs)

    @property
    def cells(self) -> tuple[int, ...]:
        """All cells that any variant may access or destroy."""
        accessed = self._accessed(None)
        return (*(accessed | self._sharing(accessed)), *self._tokens.cells(self._places))

    @property
    def changed_cells(self) -> frozenset[int]:
        """All cells that any variant may write or destroy."""
        written = self._accessed(True)
        return frozenset(written | self._sharing(written))

    def _accessed(self, written: bool | None) -> dict[int, None]:
        """Returns the cells of buffers that are accessed, or only of those that are written."""
        sides = (s.placement for s in self._sides if written in (None, s.written))
        return dict.fromkeys(cell for p in sides for cell in range(p.first_cell, p.first_cell + p.cells))

    def _sharing(self, cells: Iterable[int]) -> dict[int, None]:
        return dict.fromkeys(other for cell in cells for other in self._places.sharing.get(cell, ()))

    def synchronise(self, partners: int) -> None:
        """Sets the number of other units whose tasks these depend on, which is also the number of those that depend on them."""
        self._partners = partners

    @property
    def port_user(self) -> PortUser:
        """Ports and cells that the tasks use, for `contended`."""
        machine = self._places.machine
        sides = [(s.placement.memory, s.placement.banks, s.written) for s in self._sides]
        sides += [(s.placement.memory, s.placement.banks, False) for s in self._sides if s.updated]
        ports = ports_of(machine.engines[self._engine], machine, sides)
        updated = (p.measured.work.writes[0].buffer for p in self._pieces if p.measured.work.atomic)
        ports = (*ports, *(port for b in updated for port in atomic_ports(self._places.by_buffer[b].memory, b)))
        behind = self._behind
        if behind is not None and self._template in behind.misses:
            ports = (*ports, *behind.ports)
        sure = [(s.placement.first_cell, s.written) for s in self._sides if s.placement.cells == 1]
        reads, writes = (frozenset(cell for cell, written in sure if written is side) for side in (False, True))
        return PortUser(self._unit, ports, reads, writes)

    def at(self, at: Mapping[Var, int]) -> int:
        """Returns the number of the variant in the program's table; NOTHING if there is no work."""
        key = tuple(at[v] for v in self._matters)
        found = self._known.get(key)
        if found is None:
            first = self._representatives.of(key)
            same = tuple(first.values())
            if same not in self._known:
                self._known[same] = self._found(first)
            found = self._known[key] = self._known[same]
        return found

    def _found(self, at: dict[Var, int]) -> int:
        checkpoint()
        found = self._cost(at)
        if found is None:
            return NOTHING
        costs, same = found
        if self._waits is not None:
            waited = int(self._waits[tuple(at[v] for v in self._outer)])
            costs = msgspec.structs.replace(costs, duration=costs.duration + waited)
        if self._behind is not None:
            costs = costs.with_misses(self._behind, self._template, self._places)
        cells = tuple(side.cells(at) if self._accesses(side, at) else range(0) for side in self._sides)
        costs = costs.with_blocks(self._in_blocks(costs, cells, at)) if costs.in_blocks else costs
        engine = self._places.machine.engines[self._engine]
        if self._partners:
            costs = costs.with_tokens(self._partners * engine.wait_cycles, self._partners * engine.signal_cycles)
        tokens = self._tokens.at(self._places, at)
        key = (same, costs.duration, costs.demands, costs.spare, cells, tokens)
        if key not in self._numbers:
            variant = self._variant(costs, cells, *tokens)
            self._numbers[key] = len(self._table)
            self._table.append(variant)
        return self._numbers[key]

    def _accesses(self, side: TaskBuffer, at: Mapping[Var, int]) -> bool:
        """Returns whether a piece that accesses a buffer has iterations; of a task with one piece, it has."""
        if len(self._pieces) == 1:
            return True
        return any(not piece.conditions or _domain(piece, at).iterations for _, piece in side.parts)

    def _cost(self, at: dict[Var, int]) -> tuple[Cost, object] | None:
        """Returns the cost of a task and its key, cached by what determines the cost."""
        key = tuple(int(values(e, at)) for e in self._decide)
        if key not in self._costs:
            pieces = [(p.measured, _domain(p, at)) for p in self._pieces]
            found = cost(self._places.machine.engines[self._engine], pieces, self._places)
            self._costs[key] = None if found is None else (found, found.key)
        return self._costs[key]

    def _in_blocks(self, costs: Cost, cells: Sequence[range], at: Mapping[Var, int]) -> dict[PortSpec, int]:
        """Returns the demands of physical blocks that have their own ports, for the cells of a task, and of interleaved banks."""
        accessed = [(s.placement.buffer, s.written, c) for s, c in zip(self._sides, cells, strict=True) if c]
        of_buffer = {buffer: c for buffer, _, c in accessed}
        of_side = {(buffer, written): c for buffer, written, c in accessed}
        moved: list[tuple[Memory, bool, int, list[int]]] = []
        for t in costs.in_blocks:
            placement = self._places.by_buffer[t.buffer]
            touched = of_side.get((t.buffer, t.written), of_buffer[t.buffer])
            if placement.memory.has_bank_ports:
                parts = banks_of_rows(placement, self._accessing(t.buffer, at, written=t.written))
            else:
                parts = [placement.bank_of(cell) for cell in touched]
            moved.append((placement.memory, t.written, t.size_bytes, parts))
        return block_demands(moved)

    def _accessing(
        self, buffer: Buffer, at: Mapping[Var, int], *, written: bool
    ) -> list[tuple[Access, Layout, TaskDomain]]:
        """Returns the accesses to a buffer, each with its layout and iterations."""
        found: list[tuple[Access, Layout, TaskDomain]] = []
        for piece in self._pieces:
            work = piece.measured.work
            for access, layout in zip(piece.measured.accesses, piece.measured.layouts, strict=True):
                is_write = any(access is w for w in work.writes)
                if access.buffer is buffer and (is_write == written or (is_write and work.updates)):
                    where = _domain(piece, at)
                    found.append((access, layout, where if is_write or where.inside is None else where.inside))
        return found

    def _variant(
        self, costs: Cost, cells: Sequence[range], awaited: Sequence[int], signalled: Sequence[int]
    ) -> TaskVariant:
        reads: dict[int, None] = {}
        writes: dict[int, None] = {}
        updates: dict[int, None] = {}
        for side, touched in zip(self._sides, cells, strict=True):
            (writes if side.written else reads).update(dict.fromkeys(touched))
            if side.updated:
                updates.update(dict.fromkeys(touched))
        # A cell that the task also writes is no input of it.
        inputs = tuple(cell for cell in reads if cell not in writes)
        asked = tuple((self._shared[port], cycles) for port, cycles in costs.demands if port in self._shared)
        levels = self._places.machine.shared_levels
        spare = tuple(
            (self._shared[port], left, port.bytes_per_cycle)
            for port, left in costs.spare
            if left and port in self._shared and port.level in levels
        )
        sharing = self._places.sharing
        destroyed = tuple({other: None for cell in writes for other in sharing.get(cell, ()) if other not in writes})
        written = (*writes, *destroyed, *signalled)
        ahead = dict(costs.preloaded)
        preloads = tuple((cell, ahead[b]) for cell in inputs if (b := self._places.of_cell[cell].buffer) in ahead)
        preloads = (*preloads, *((cell, 0) for cell in awaited))
        replayed = Variant(
            self._unit,
            costs.duration,
            costs.latency,
            inputs,
            written,
            costs.setup,
            asked,
            preloads,
            spare,
            costs.waited,
        )
        return TaskVariant(self._template, self._engine, costs, replayed, tuple(updates), destroyed)


def _sides(pieces: Sequence[TaskPiece], places: Places, analyzer: Analyzer) -> tuple[TaskBuffer, ...]:
    grouped: dict[tuple[Placement, bool], list[tuple[Expr, TaskPiece]]] = {}
    updated: set[Placement] = set()
    for piece in pieces:
        measured = piece.measured
        for access in measured.accesses:
            placement = places.by_buffer[access.buffer]
            written = any(access is w for w in measured.work.writes)
            part = part_of(placement, access, analyzer)
            grouped.setdefault((placement, written), []).append((part, piece))
            if written and measured.work.updates:
                updated.add(placement)
    return tuple(
        TaskBuffer(p, written, written and p in updated, tuple(parts)) for (p, written), parts in grouped.items()
    )


def _deciding(
    pieces: Sequence[TaskPiece], engine: Engine, places: Places, places_of_loops: Sequence[Expr], among: Sequence[Var]
) -> tuple[Expr, ...]:
    """Returns what affects a task's cost: the loops around it in conditions and in addresses without strides, and where its accesses begin
    (`deciding_places`). Other loops select slots and parts.
    """
    free: list[Expr] = []
    found = [*places_of_loops]
    for piece in pieces:
        measured = piece.measured
        free += [*piece.conditions, *measured.work.inside]
        for access, layout, progression in zip(measured.accesses, measured.layouts, measured.progressions, strict=True):
            placement = places.by_buffer[access.buffer]
            slot_loop = placement.site.slot_loop
            if layout.strides is None or progression is None:
                free += [*access.indices, *access.extents]
            if slot_loop is not None and is_aligned_by(engine, placement.memory, places):
                found.append(build.floormod(slot_loop.var, placement.slots))
    loops = {v: None for v in among if any(v in free_vars(e) for e in free)}
    known = (e for e in found if is_known(e) and free_vars(e) <= {*among} and not free_vars(e) <= {*loops})
    return tuple(dict.fromkeys((*loops, *known)))


def _domain(piece: TaskPiece, at: Mapping[Var, int]) -> TaskDomain:
    """Returns the iterations of a piece, and those in which a padded copy reads."""
    inner, inside = piece.measured.inner, piece.measured.work.inside
    found = domain(inner, piece.conditions, at)
    return replace_fields(found, inside=domain(inner, (*piece.conditions, *inside), at)) if inside else found


# Conditions on data are left out: their values are unknown (`grid.values`), so they do not distinguish tasks.
def _iteration_class(
    pieces: Sequence[TaskPiece], sides: Sequence[TaskBuffer], outer: Sequence[Loop], places_of_loops: Sequence[Expr]
) -> IterationClass:
    around = {loop.var: loop.extent for loop in outer}

    def decisive(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple(e for e in exprs if used_vars(e, around) and is_known(e))

    turns = dict.fromkeys((s.placement.site.slot_loop, s.placement.slots) for s in sides)
    banked = {s.placement.buffer: s.placement.memory for s in sides if s.placement.memory.has_bank_ports}
    first_rows = (
        first_row(banked[a.buffer], a, x, p.measured.inner)
        for p in pieces
        for a, x in zip(p.measured.accesses, p.measured.layouts, strict=True)
        if a.buffer in banked
    )
    return IterationClass(
        decisive(c for p in pieces for c in (*p.conditions, *p.measured.work.inside)),
        decisive(
            x.address for p in pieces for x in p.measured.layouts if x.address is not None and x.mixed & set(around)
        ),
        decisive(
            (*(e for s in sides if s.placement.indexed_cells > 1 for e, _ in s.parts), *first_rows, *places_of_loops)
        ),
        tuple((loop.var, slots) for loop, slots in turns if loop is not None and loop.var in around),
    )
