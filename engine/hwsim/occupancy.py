"""What lies in each memory over time: a slot's life from its first write to its last use, and what is reserved for it meanwhile.

A tile of a buffer lives from the start of the first task that writes it to the end of the last that touches it; until its last write is
done it is filling. Memory stays reserved for as long as the allocation lives: for a double buffered one, that is all of the loop that
its slots take turns over.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec
import numpy as np
import numpy.typing as npt

from .nest import Site
from .place import row_name
from .replay import Timeline
from .tasks import TaskProgram

Column = npt.NDArray[np.int64]


class Tile(msgspec.Struct, frozen=True):
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
    """A step function: from `times[i]` on (cycles), `allocated[i]` and `live[i]` bytes. Starts at 0, ends at the makespan with nothing."""

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
        """When the allocated bytes first reach their peak."""
        return self.times[self.allocated.index(self.peak_allocated)] if self.times else 0


class Occupancy(msgspec.Struct, frozen=True, eq=False):
    """`steps` by row, and every life of every tile in the order of the starts (parameters live all the time and are not among them)."""

    steps: dict[str, Steps]
    tiles: tuple[Tile, ...]


def occupancy(program: TaskProgram, timeline: Timeline) -> Occupancy:
    """Follows every task of a replayed program through the cells it touches."""
    places = program.places
    lives, reserved = _lives(program, timeline)
    rows: dict[str, tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]] = {}
    for memory in places.machine.memories:
        for bank in range(memory.blocks):
            rows[row_name(memory, bank)] = ([], [])
    tiles: list[Tile] = []
    for cell, placement in enumerate(places.of_cell):
        row = row_name(placement.memory, placement.bank_of(cell))
        size = placement.part_bytes
        if placement.is_param:
            rows[row][0].append((0, timeline.cycles, size))
            rows[row][1].append((0, timeline.cycles, size))
            continue
        rows[row][0].extend((start, end, size) for start, end in reserved[cell])
        rows[row][1].extend((start, end, size) for start, _, end in lives[cell])
        slot, label = placement.slot_of(cell), placement.label(cell)
        tiles.extend(Tile(a, f, e, placement.buffer.name, slot, row, size, label) for a, f, e in lives[cell])
    tiles.sort(key=lambda t: (t.start, t.row, t.buffer, t.slot))
    return Occupancy({row: _steps(allocated, live) for row, (allocated, live) in rows.items()}, tuple(tiles))


Life = tuple[int, int, int]
Hold = tuple[int, int]


def _lives(program: TaskProgram, timeline: Timeline) -> tuple[list[list[Life]], list[list[Hold]]]:
    """For each cell its lives (start, filled, end), and when memory is reserved for it."""
    cells = len(program.places.of_cell)
    lives: list[list[Life]] = [[] for _ in range(cells)]
    holds: list[list[Hold]] = [[] for _ in range(cells)]
    life_of, hold_of = [-1] * cells, [-1] * cells
    since, filled, until, held = [0] * cells, [0] * cells, [0] * cells, [0] * cells
    touches = _touches(program)
    lengths = [(v.cost.duration, v.cost.latency) for v in program.variants]
    for number, instance, start in zip(program.sequence, program.instances, timeline.starts, strict=True):
        duration, latency = lengths[number]
        for cell, written, first, per_life, per_hold in touches[number]:
            life, hold = (instance - first) // per_life, (instance - first) // per_hold
            if life != life_of[cell]:
                if life_of[cell] >= 0:
                    # What is overwritten while it is still on its way is dead by then.
                    end = min(until[cell], start)
                    lives[cell].append((since[cell], min(filled[cell], end), end))
                life_of[cell] = life
                since[cell] = filled[cell] = until[cell] = start
            if hold != hold_of[cell]:
                if hold_of[cell] >= 0:
                    holds[cell].append((held[cell], lives[cell][-1][2]))
                hold_of[cell], held[cell] = hold, start
            end = start + duration
            if written:
                end += latency
                filled[cell] = end
            if end > until[cell]:
                until[cell] = end
    for cell in range(cells):
        if life_of[cell] >= 0:
            lives[cell].append((since[cell], filled[cell], until[cell]))
            holds[cell].append((held[cell], until[cell]))
    return lives, holds


Touch = tuple[int, bool, int, int, int]


def _touches(program: TaskProgram) -> list[tuple[Touch, ...]]:
    """For each variant the cells it touches: (cell, whether it is written, first instance, instances in one life, in one hold)."""
    found: list[tuple[Touch, ...]] = []
    for variant in program.variants:
        template = program.templates[variant.template]
        rows: list[Touch] = []
        for cells, written in ((variant.replay.reads, False), (variant.replay.writes, True)):
            for cell in cells:
                placement = program.places.of_cell[cell]
                if placement.is_param:
                    continue
                extents = [loop.extent for loop in template.outer]
                around = len(placement.site.loops)
                per_life = prod(extents[around:])
                per_hold = prod(extents[_slot_depth(placement.site) :])
                rows.append((cell, written, template.first_instance, per_life, per_hold))
        found.append(tuple(rows))
    return found


def _slot_depth(site: Site) -> int:
    """How many loops stand around the memory of a buffer: with slots, it is outside of the loop that they take turns over."""
    if site.slot_loop is None:
        return len(site.loops)
    return next(n for n, loop in enumerate(site.loops) if loop.var is site.slot_loop.var)


def _steps(allocated: Sequence[tuple[int, int, int]], live: Sequence[tuple[int, int, int]]) -> Steps:
    """The sums of intervals (start, end, bytes) as step functions on common times."""
    if not allocated and not live:
        return Steps([0], [0], [0])
    table = [np.array(x, np.int64).reshape(-1, 3) for x in (allocated, live)]
    times = np.unique(np.concatenate([np.zeros(1, np.int64), *(t[:, :2].reshape(-1) for t in table)]))
    sums: list[Column] = []
    for rows in table:
        delta = np.zeros(len(times), np.int64)
        np.add.at(delta, np.searchsorted(times, rows[:, 0]), rows[:, 2])
        np.add.at(delta, np.searchsorted(times, rows[:, 1]), -rows[:, 2])
        sums.append(np.cumsum(delta))
    return Steps(times.tolist(), sums[0].tolist(), sums[1].tolist())
