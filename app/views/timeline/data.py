"""A report as the tables a timeline is drawn from: lanes, kinds of tasks, rows of memories and of a chip with their cells, waits. Times are
compressed: repeats once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, cast

import msgspec
import numpy as np
from propcache.api import cached_property

from ....engine.hwsim import Density, EngineReport, Kind, Report, TimeMap, row_name
from ....engine.hwsim.replay.clocks import CAUSES, NOBODY
from ..labels.palette import Colours, colour_of_slots, colours_by_name
from ..labels.values import Value
from .causes import Cause
from .cores import SCALE, Chip
from .rows import engine_rows
from .spans import Column, Spans, joined, spans


class BufferCell(msgspec.Struct, frozen=True):
    """A slot of a buffer in row `row`, from address `low` on; `shared` if other cells use the same addresses at other times."""

    row: int
    label: str
    buffer: str
    slot: int
    low: int
    size_bytes: int
    shared: bool


class Work(NamedTuple):
    """The tasks of an engine's row that begin in a range of cycles, its busy cycles there, and its stalled cycles by cause."""

    tasks: int
    busy: int
    waits: dict[Cause, int]


class WaitKind(Value, frozen=True):
    """A kind of wait of an engine (lane `lane`): `what` is a cell, a port, a queue or another engine; `block` holds it."""

    lane: int
    cause: Cause
    what: str = ""
    buffer: str = ""
    block: str = ""


class TimelineData:
    """The tables of one report. Engines without tasks and memories without tiles are left out, and so is global memory. `lanes` are the
    rows of engines, `engines` their names."""

    def __init__(self, report: Report) -> None:
        self.report = report
        line = report.timeline
        self.line = line
        self.length = line.length
        self.time_map = line.time_map
        self.rows = [name for name, m in report.memory.items() if m.peak_bytes and m.scope != "global"]
        numbers, first = np.unique(line.numbers, return_inverse=True)
        self.kinds: list[Kind] = [report.segments.kind(n) for n in numbers.tolist()]
        self.variants = [report.program.variants[n].replay for n in numbers.tolist()]
        self.kind_of: Column = first.astype(np.int64)
        run = line.chip
        self.places = [n % run.residents if run else 0 for n in numbers.tolist()]
        self.chip = Chip(report, self.kinds, self.kind_of, self.places) if run else None
        self.templates = list({k.template: k for k in self.kinds}.values())
        self.lanes, self.template_lanes = engine_rows(report, self.templates)
        self.engines = [lane.name for lane in self.lanes]
        place = {k.template: n for n, k in enumerate(self.templates)}
        self.template_of_kind = np.array([place[k.template] for k in self.kinds], np.int64)
        self.lane_of_task: Column = np.array(self.template_lanes, np.int64)[self.template_of_kind[self.kind_of]]
        self.cells, self._cell_of = _cells(report, self.rows)
        self._first_of_chip = len(self.cells)
        self.cells += _cells_of_cores(self.chip, len(self.rows)) if self.chip else []
        self.waits, self.wait_spans = _waits(self)

    @cached_property
    def identity_map(self) -> TimeMap:
        """The identity map: compressed time without repeats."""
        return TimeMap((), self.length)

    @cached_property
    def colours(self) -> Colours:
        """The colour of each buffer of the program."""
        return colours_by_name(self.report.program.source)

    def template_colours(self, colours: Colours) -> list[int]:
        """The colour of each template's tasks, in these colours of buffers."""
        return [colour_of_slots((*k.writes, *k.reads), colours) for k in self.templates]

    @cached_property
    def task_spans(self) -> Spans:
        """The tasks, by template."""
        return Spans(self.line.starts, self.line.ends, self.template_of_kind[self.kind_of])

    @cached_property
    def overlaps(self) -> Spans:
        """Where at least two engines are busy."""
        line = self.line
        times = np.unique(np.concatenate([line.starts, line.ends]))
        if len(times) < 2:
            return spans([], [], [])
        delta = np.zeros(len(times), np.int64)
        np.add.at(delta, np.searchsorted(times, line.starts), 1)
        np.add.at(delta, np.searchsorted(times, line.ends), -1)
        both = np.concatenate([[False], np.cumsum(delta)[:-1] > 1, [False]])
        starts, ends = np.flatnonzero(both[1:] & ~both[:-1]), np.flatnonzero(both[:-1] & ~both[1:])
        return Spans(times[starts], times[ends], np.zeros(len(starts), np.int64))

    @cached_property
    def tile_spans(self) -> tuple[Spans, Spans]:
        """While cells are filled, and while they are live."""
        start, filled, end, cell = self.report.occupancy.tiles.columns()
        shown = np.isin(cell, np.array(list(self._cell_of), np.int64))
        of = np.array([self._cell_of[c] for c in cell[shown].tolist()], np.int64)
        fills, lives = Spans(start[shown], filled[shown], of), Spans(filled[shown], end[shown], of)
        if self.chip is None:
            return joined(fills), joined(lives)
        starts, blocks = self.chip.spans(self._first_of_chip)
        return joined(fills, starts), joined(lives, blocks)

    @cached_property
    def steps(self) -> list[tuple[Column, Column, Column]]:
        """For each memory: times, and the live and allocated bytes from each on. The rows of a chip follow: the blocks on a core of each
        class, and the busy part of each shared port."""
        each = [self.report.occupancy.steps[row] for row in self.rows]
        memories = [
            (np.array(s.times, np.int64), np.array(s.live, np.int64), np.array(s.allocated, np.int64)) for s in each
        ]
        chip = self.chip
        if chip is None:
            return memories
        return [*memories, *map(chip.held, chip.groups), *map(chip.busy, chip.ports)]

    @cached_property
    def bands(self) -> tuple[tuple[str, int], ...]:
        """The bands of a density: ("task", template), ("wait", kind), ("overlap", 0), ("fill", cell), ("live", cell)."""
        cells = [(what, n) for what in ("fill", "live") for n in range(len(self.cells))]
        tasks = [("task", n) for n in range(len(self.templates))]
        return (*tasks, *(("wait", n) for n in range(len(self.waits))), ("overlap", 0), *cells)

    @cached_property
    def real_time_density(self) -> Density:
        """Each band's density over real time."""
        return self._density(self.time_map)

    @cached_property
    def compressed_density(self) -> Density:
        """Each band's density over compressed time."""
        return self._density(self.identity_map) if self.line.repeats else self.real_time_density

    @cached_property
    def busy(self) -> Density:
        """The busy density of each engine over real time; the last band is the overlap of at least two."""
        tasks = self.task_spans
        by_lane = Spans(tasks.starts, tasks.ends, np.array(self.template_lanes, np.int64)[tasks.of])
        return _density((by_lane, self.overlaps), (len(self.engines), 1), self.time_map)

    def work_between(self, start: int, end: int) -> list[Work]:
        """What each lane does from `start` to `end`, exclusive. Counts are exact, also over repeats."""
        busy, begun, cycles = (
            density.before([start, end]) for density in (self.busy, self.begun_by_kind, self.real_time_density)
        )
        tasks, waits = Counter[int](), [Counter[Cause]() for _ in self.lanes]
        for template, count in zip(self.template_of_kind.tolist(), (begun[1] - begun[0]).tolist(), strict=True):
            tasks[self.template_lanes[template]] += count
        for (what, number), amount in zip(self.bands, (cycles[1] - cycles[0]).tolist(), strict=True):
            if what == "wait" and amount:
                kind = self.waits[number]
                waits[kind.lane][kind.cause] += amount
        return [Work(tasks[n], int(busy[1, n] - busy[0, n]), dict(waits[n])) for n in range(len(self.lanes))]

    @cached_property
    def work(self) -> list[Work]:
        """What each lane does in the whole run, on all cores of a chip; busy cycles are those without stalls on ports."""
        if any(lane.threads for lane in self.lanes):
            parts = self.work_between(0, max(1, self.report.cycles))
            return [part._replace(busy=part.busy - part.waits.get("port", 0)) for part in parts]
        engines = [self.report.engines[lane.engine] for lane in self.lanes]
        return [Work(engine.tasks, engine.busy, _stalls(engine)) for engine in engines]

    def tasks_between(self, start: int, end: int, *, folded: bool) -> int:
        """How many tasks begin from `start` to `end`, exclusive, in compressed (`folded`) or real time."""
        starts = self.line.starts
        if folded:
            return int(np.count_nonzero((start <= starts) & (starts < end)))
        begun = self._begun.before([start, end])
        return int(begun[1, 0] - begun[0, 0])

    @cached_property
    def _begun(self) -> Density:
        """How many tasks began by a moment of the clock: each lasts one cycle of the timeline."""
        starts = self.line.starts
        return _density((Spans(starts, starts + 1, np.zeros(len(starts), np.int64)),), (1,), self.time_map)

    @cached_property
    def begun_by_kind(self) -> Density:
        """How many tasks of each kind began by a moment of real time."""
        starts = self.line.starts
        return _density((Spans(starts, starts + 1, self.kind_of),), (len(self.kinds),), self.time_map)

    def _density(self, time_map: TimeMap) -> Density:
        each = (self.task_spans, self.wait_spans, self.overlaps, *self.tile_spans)
        sizes = (len(self.templates), len(self.waits), 1, len(self.cells), len(self.cells))
        return _density(each, sizes, time_map)


def _stalls(engine: EngineReport) -> dict[Cause, int]:
    return cast("dict[Cause, int]", {cause: cycles for cause, cycles in engine.stall.items() if cycles})


def _density(each: Sequence[Spans], sizes: Sequence[int], time_map: TimeMap) -> Density:
    """The density of several sets of spans; `sizes` are their numbers of bands."""
    firsts = np.cumsum([0, *sizes])
    starts, ends = (np.concatenate([s[n] for s in each]) for n in (0, 1))
    of = np.concatenate([s.of + first for s, first in zip(each, firsts.tolist(), strict=False)])
    return Density(starts, ends, of, int(firsts[-1]), time_map)


def _cells(report: Report, rows: list[str]) -> tuple[list[BufferCell], dict[int, int]]:
    """The cells that tiles live in, row by row, and the engine's numbers of them."""
    places = report.program.places
    cells: list[BufferCell] = []
    numbers: dict[int, int] = {}
    for number in np.unique(report.occupancy.tiles.columns()[3]).tolist():
        placement = places.of_cell[number]
        row = row_name(placement.memory, placement.bank_of(number))
        if row in rows:
            numbers[number] = len(cells)
            cells.append(
                BufferCell(
                    rows.index(row),
                    placement.label(number),
                    placement.buffer.name,
                    placement.slot_of(number),
                    placement.address_of(number),
                    placement.part_bytes,
                    number in places.sharing,
                )
            )
    return cells, numbers


def _cells_of_cores(chip: Chip, first_row: int) -> list[BufferCell]:
    """The places for blocks on a core of each class."""
    size = SCALE // chip.places
    return [
        BufferCell(
            first_row + row, f"block {n + 1}" if chip.places > 1 else "block", "", n, n * size, size, shared=False
        )
        for row in range(len(chip.groups))
        for n in range(chip.places)
    ]


def _waits(data: TimelineData) -> tuple[list[WaitKind], Spans]:
    """The kinds of waits, and their intervals: in the gap before a task, or (for a port) while it runs."""
    line, program = data.line, data.report.program
    rows = [(s.task, CAUSES.index(s.cause), s.cell, s.by, s.cycles) for s in line.stalls]
    task, cause, cell, by, cycles = np.array(rows, np.int64).reshape(-1, 5).T
    is_port = cause == CAUSES.index("port")
    starts = np.where(is_port, line.ends[task] - cycles, np.maximum(line.starts[task] - cycles, _before(data)[task]))
    ends = np.where(is_port, line.ends[task], line.starts[task])
    templates = np.array([v.template for v in program.variants] + [-1], np.int64)
    blamed = np.where(cause == CAUSES.index("issue"), by, templates[np.where(by < 0, -1, by)])
    key = np.stack([data.lane_of_task[task], cause, cell, blamed], axis=1)
    distinct, number = np.unique(key, axis=0, return_inverse=True)
    # Cells of one slot have one label.
    labelled = [_wait_kind(data, *row) for row in distinct.tolist()]
    kinds = list(dict.fromkeys(labelled))
    of = np.array([kinds.index(kind) for kind in labelled], np.int64)[number.reshape(-1)]
    return _with_mates(data, kinds, Spans(starts, ends, of))


def _before(data: TimelineData) -> Column:
    """When the engine (or its unit) was done with the task before each."""
    line = data.line
    units = np.array(data.report.program.machine.units, np.int64)[line.engines]
    order = np.argsort(units, kind="stable")
    before = np.zeros(len(units), np.int64)
    same = units[order][1:] == units[order][:-1]
    before[order[1:]] = np.where(same, line.ends[order[:-1]], 0)
    return before


def _wait_kind(data: TimelineData, lane: int, cause: int, cell: int, blamed: int) -> WaitKind:
    program = data.report.program
    name = CAUSES[cause]
    if name == "issue":
        queue = "start of a block" if blamed == NOBODY else f"queue of {program.machine.unit_names[blamed]}"
        return WaitKind(lane, name, queue)
    if name == "port":
        return WaitKind(lane, name, program.ports[cell].name)
    placement = program.places.of_cell[cell]
    return WaitKind(lane, name, placement.label(cell), placement.buffer.name, program.templates[blamed].name)


def _with_mates(data: TimelineData, kinds: list[WaitKind], found: Spans) -> tuple[list[WaitKind], Spans]:
    """Adds the turns of other engines of a unit, and the idle time after an engine's last task."""
    line, machine = data.line, data.report.program.machine
    parts = [found]
    kinds = list(kinds)
    lanes = np.array([k.lane for k in kinds], np.int64)
    names = [engine.name for engine in machine.engines]
    units = [machine.units[names.index(lane.engine)] for lane in data.lanes]
    for lane, unit in enumerate(units):
        for other, name in enumerate(data.engines):
            if other != lane and units[other] == unit:
                its = data.lane_of_task == other
                waiting = lanes[found.of] == other if len(kinds) and len(lanes) else np.zeros(0, bool)
                starts = np.concatenate([line.starts[its], found.starts[waiting]])
                ends = np.concatenate([line.ends[its], found.ends[waiting]])
                parts.append(Spans(starts, ends, np.full(len(starts), len(kinds), np.int64)))
                kinds.append(WaitKind(lane, "unit", name))
        last = int(line.free[unit])
        if last < data.length:
            parts.append(spans([last], [data.length], [len(kinds)]))
            kinds.append(WaitKind(lane, "idle"))
    return kinds, joined(*parts)
