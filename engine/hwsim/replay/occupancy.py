"""Occupancy of each memory over time: the lives of tiles from first write to last use, and the memory reserved for them.

A tile of a buffer lives from the start of the first task that writes it to the end of the last that accesses it; until its last write ends
it is filling. A slot of a software pipeline holds a new tile after a write that follows a read. Memory stays reserved for the life of the
allocation: for a double buffer, that is all of the loop over which its slots rotate.

Times are compressed: each repeat is replayed once. Repeated tiles live once per repeat, with equal bytes each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import overload

import msgspec
import numpy as np
import numpy.typing as npt

from ...cancellation import checkpoint
from ..access.placement import Placement, Places, row_name
from ..machine.parts import Memory
from ..tasks.tree import TaskProgram
from .timeline import Column, ReplayTimeline


class CellLife(msgspec.Struct, frozen=True):
    """One life of one cell, in cycles: filling from `start` to `filled`, live until `end`. `row` is the memory or the physical block."""

    start: int
    filled: int
    end: int
    buffer: str
    slot: int
    row: str
    size_bytes: int
    label: str


class Steps(msgspec.Struct, frozen=True, eq=False):
    """A step function: from `times[i]` on (cycles), `allocated[i]` and `live[i]` bytes. Starts at 0, ends at the makespan with 0 bytes."""

    times: list[int]
    allocated: list[int]
    live: list[int]

    @property
    def peak_allocated(self) -> int:
        return max(self.allocated, default=0)

    @property
    def peak_live(self) -> int:
        return max(self.live, default=0)

    @property
    def peak_time(self) -> int:
        """The time at which the allocated bytes first reach their peak."""
        return self.times[self.allocated.index(self.peak_allocated)] if self.times else 0


class Tiles(Sequence[CellLife]):
    """Lives of all tiles in the order of their starts, constructed on access. `columns` returns bare numbers for drawing many."""

    def __init__(self, places: Places, lives: Column) -> None:
        self._places = places
        self._lives = lives[np.lexsort((lives[:, 3], lives[:, 0]))]

    def __len__(self) -> int:
        return len(self._lives)

    @overload
    def __getitem__(self, index: int) -> CellLife: ...
    @overload
    def __getitem__(self, index: slice) -> list[CellLife]: ...
    def __getitem__(self, index: int | slice) -> CellLife | list[CellLife]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        start, filled, end, cell = map(int, self._lives[index])
        placement = self._places.of_cell[cell]
        return CellLife(
            start,
            filled,
            end,
            placement.buffer.name,
            placement.slot_of(cell),
            row_name(placement.memory, placement.bank_of(cell)),
            placement.part_bytes,
            placement.label(cell),
        )

    def columns(self) -> tuple[Column, Column, Column, Column]:
        """Returns (start, filled, end, cell) of every life."""
        return self._lives[:, 0], self._lives[:, 1], self._lives[:, 2], self._lives[:, 3]

    def of(self, placement: Placement) -> Column:
        """Returns (start, end, slot) of every life of one buffer, a row each, in the order of the starts."""
        first, cell = placement.first_cell, self._lives[:, 3]
        mine = self._lives[(cell >= first) & (cell < first + len(placement.banks))]
        return np.stack([mine[:, 0], mine[:, 2], (mine[:, 3] - first) // placement.parts], axis=1)


class Occupancy(msgspec.Struct, frozen=True, eq=False):
    """`steps` by row, and the lives of all `tiles` (without parameters, which are always live)."""

    steps: dict[str, Steps]
    tiles: Tiles


def occupancy(program: TaskProgram, timeline: ReplayTimeline) -> Occupancy:
    """Follows every task of a replayed program through the cells it accesses."""
    places = program.places
    lives, holds = _lives(program, timeline)
    rows = {row_name(memory, bank): n for n, (memory, bank) in enumerate(_banks(places))}
    last = int(timeline.there.max(initial=0))
    cells = [(rows[row_name(p.memory, p.bank_of(c))], p.part_bytes) for c, p in enumerate(places.of_cell)]
    row, size = np.array(cells, np.int64).reshape(-1, 2).T
    always = [(0, last, cell) for cell, placement in enumerate(places.of_cell) if placement.is_param]
    params = np.array(always, np.int64).reshape(-1, 3)
    steps = _steps(np.concatenate([holds, params]), np.concatenate([lives[:, [0, 2, 3]], params]), row, size, len(rows))
    return Occupancy(dict(zip(rows, steps, strict=True)), Tiles(places, lives))


def _banks(places: Places) -> Iterator[tuple[Memory, int]]:
    return ((memory, bank) for memory in places.machine.memories for bank in range(memory.blocks))


def _lives(program: TaskProgram, timeline: ReplayTimeline) -> tuple[Column, Column]:
    """Returns the lives of all cells (start, filled, end, cell), cell by cell, and the reservations of memory (start, end, cell)."""
    touched = _touched(program, timeline)
    cells, ends = touched.cells, touched.ends
    checkpoint()
    # A new life begins with another cell, or another run of its allocation.
    first = _firsts(cells, touched.lives)
    cell, since = cells[first], touched.starts[first]
    until = _reduced(np.maximum, ends, first)
    # A tile that is overwritten before its result arrives is dead by then.
    same = cell[1:] == cell[:-1]
    until[:-1] = np.where(same, np.minimum(until[:-1], since[1:]), until[:-1])
    last_write = _reduced(np.maximum, np.where(touched.written, np.arange(len(cells)), -1), first)
    filled = np.minimum(np.where(last_write < 0, since, ends[last_write]), until)

    held = _firsts(cell, touched.holds[first])
    hold_ends = np.append(held[1:], len(cell)) - 1 if len(held) else held
    return np.stack([since, filled, until, cell], axis=1), np.stack([since[held], until[hold_ends], cell[held]], axis=1)


class _Touched(msgspec.Struct, frozen=True, eq=False):
    """Every access of a task to a cell, ordered by cell, then in program order; the life and the reservation of the cell that it belongs
    to.
    """

    cells: Column
    starts: Column
    ends: Column
    written: npt.NDArray[np.bool_]
    lives: Column
    holds: Column


def _touched(program: TaskProgram, timeline: ReplayTimeline) -> _Touched:
    by_variant = _touches(program)
    table = np.array([touch for touches in by_variant for touch in touches], np.int64).reshape(-1, 4)
    counts = np.array([len(touches) for touches in by_variant], np.int64)
    sequence = timeline.numbers
    tasks = np.repeat(np.arange(len(sequence)), counts[sequence])
    # The rows of the table for a task's variant, task by task.
    before = np.cumsum(counts[sequence]) - counts[sequence]
    rows = (np.cumsum(counts) - counts)[sequence][tasks] + np.arange(len(tasks)) - before[tasks]
    checkpoint()
    order = np.argsort(table[rows, 0], kind="stable")
    tasks, (cells, written, per_life, per_hold) = tasks[order], table[rows[order]].T
    ends = np.where(written != READ, timeline.there[tasks], timeline.ends[tasks])
    number = timeline.instances[tasks]
    lives = np.where(per_life == 0, _refills(cells, written), number // np.maximum(per_life, 1))
    return _Touched(cells, timeline.starts[tasks], ends, written != READ, lives, number // per_hold)


def _refills(cells: Column, written: Column) -> Column:
    """Returns how often, up to each access, a cell was refilled: written by a task that does not update it, after a read."""
    was_read = np.append(False, (written[:-1] == READ) & (cells[:-1] == cells[1:])) if len(cells) else np.zeros(0, bool)
    return np.cumsum((written == FILL) & was_read)


def _firsts(*columns: Column) -> Column:
    """Returns the starts of runs of equal rows."""
    changes = np.zeros(max(0, len(columns[0]) - 1), bool)
    for column in columns:
        changes |= np.diff(column) != 0
    return np.flatnonzero(np.append(True, changes)) if len(columns[0]) else np.zeros(0, np.int64)


def _reduced(how: np.ufunc, column: Column, firsts: Column) -> Column:
    """Reduces each run by `how`."""
    return how.reduceat(column, firsts) if len(firsts) else np.zeros(0, np.int64)


READ, FILL, UPDATE = 0, 1, 2

Touch = tuple[int, int, int, int]


def _touches(program: TaskProgram) -> list[tuple[Touch, ...]]:
    """Returns for each variant its accesses to cells: (cell, kind of access, instances in one life, in one reservation).

    The life of an indexed slot is no fixed number of instances: 0.
    """
    found: list[tuple[Touch, ...]] = []
    for variant in program.variants:
        template = program.templates[variant.template]
        rows: list[Touch] = []
        for cells, written in ((variant.replay.reads, False), (variant.writes, True)):
            for cell in cells:
                placement = program.places.of_cell[cell]
                if placement.is_param:
                    continue
                extents = [loop.extent for loop in template.outer]
                around = len(placement.site.loops)
                per_life = 0 if placement.site.indexed else prod(extents[around:])
                per_hold = prod(extents[placement.site.depth :])
                how = (UPDATE if cell in variant.updates else FILL) if written else READ
                rows.append((cell, how, per_life, per_hold))
        found.append(tuple(rows))
    return found


def _steps(allocated: Column, live: Column, row: Column, size: Column, rows: int) -> list[Steps]:
    """Returns the sums over intervals (start, end, cell) as step functions on common times, for each row; `row` and `size` are by cell."""
    checkpoint()
    # In every row all intervals end, so a single running sum serves the rows one after the other.
    zeros = np.zeros(rows, np.int64)
    times = np.concatenate([zeros, allocated[:, 0], allocated[:, 1], live[:, 0], live[:, 1]])
    of_allocated, of_live = row[allocated[:, 2]], row[live[:, 2]]
    which = np.concatenate([np.arange(rows), of_allocated, of_allocated, of_live, of_live])
    held, used = size[allocated[:, 2]], size[live[:, 2]]
    changes = np.zeros((2, len(times)), np.int64)
    split = rows + 2 * len(held)
    changes[0, rows:split] = np.concatenate([held, -held])
    changes[1, split:] = np.concatenate([used, -used])
    order = np.lexsort((times, which))
    times, which = times[order], which[order]
    last = np.flatnonzero(np.append((times[1:] != times[:-1]) | (which[1:] != which[:-1]), True))
    columns = [column.tolist() for column in (times[last], *np.cumsum(changes[:, order], axis=1)[:, last])]
    ends = np.searchsorted(which[last], np.arange(rows), side="right").tolist()
    return [Steps(*(column[start:end] for column in columns)) for start, end in pairwise([0, *ends])]
