"""The timeline's value: the tables for its bars, marks and texts, and the run in compressed time, from which the browser cuts windows. It
requests a window where the tasks are too many.

Lanes of engines and rows of memories are numbered as they are listed; a task's `kind`, a tile's cell and a wait's kind are entries of
tables, so that an event travels as a few numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

import numpy as np
from msgspec.structs import asdict, replace

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import MemoryReport, Report
from ....engine.hwsim.replay.repeats import runs_of
from ....engine.hwsim.replay.series import Orders
from ....engine.hwsim.report.critical_path import PathPart
from ....engine.ir import BlockRealize, For, TilewrightError, loops_and_blocks
from ....engine.schedule import Schedule
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ...state.row_ids import RowIds, row_ids
from ..labels.blank import Blank, blank_value
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.palette import OTHER, Colours
from ..labels.values import Answer, Value
from .causes import Cause
from .cores import SCALE
from .data import BufferCell, TimelineData, WaitKind
from .window import BINS, MAX_EVENTS, BinnedWindow, ExactWindow, edges_of, packed, whole_bins, whole_run, window

HEADROOM = 1.35
"""A memory that is nearly empty is shown up to this times its peak: its tiles would be hairlines under the capacity."""

NEARLY_EMPTY = 2

OVERVIEW_BINS = 240


_TIMELINE = Derived["Timeline"]("timeline")
_LINES = Derived[dict[str, int]]("lines of rows")


class TimelineRepeat(Value, frozen=True, kw_only=True):
    """An interval of compressed time that occurs `extra` more times in real time, `cycles` apart; as in the engine's
    `Repeat`. `level` counts the repeats around it, `names` and `extents` are those of its loops, `base` their
    indices in the first copy, `iterations` those in one copy; `length` has the terms of a copy's cycles, a factor
    and the orders of repeats each; `runs` counts the copies in the whole run."""

    start: int
    end: int
    cycles: int
    extra: int
    first: int
    last: int
    depth: int
    extents: tuple[int, ...]
    iterations: int
    level: int
    names: list[str]
    base: tuple[int, ...]
    length: tuple[tuple[int, Orders], ...]
    more: Mapping[int, int]
    runs: int
    moves: Mapping[int, tuple[int, ...]]


class EngineLane(Value, frozen=True):
    """An engine, or what it does for a group of warps, with its busy cycles, its tasks, and its stalled cycles by cause."""

    name: str
    engine: str
    kind: str
    busy: int
    tasks: int
    waits: dict[Cause, int]


class MemoryRow(Value, frozen=True):
    """A memory: `scale` are the bytes that the row's height represents, `limit` is the capacity as a part of the
    height, 0 if beyond the scale; `over`: whether the capacity is exceeded. A class of cores has the blocks that each holds in place of
    bytes, a port its busy part; `tip` says more about these."""

    name: str
    scope: str
    scale: int
    capacity: int
    limit: float
    text: str
    over: bool
    kind: Literal["memory", "cores", "port"] = "memory"
    tip: str = ""


class MemoryCell(Value, frozen=True):
    """A slot of a buffer at a byte `address`; `low` and `high` are parts of its row's height. Other slots use the
    addresses of a `shared` one at other times."""

    row: int
    label: str
    buffer: str
    colour: int
    bytes: str
    address: str
    shared: bool
    low: float
    high: float


class LoopAround(Value, frozen=True):
    """A loop around tasks, and its row of the tree."""

    name: str
    row: str
    extent: int


class TaskTemplate(Value, frozen=True):
    """The tasks of one block: the loops around, and the rows of the tree for both. On a chip, `grid` are the first and the last (exclusive)
    of the loops whose iterations run on the cores."""

    lane: int
    block: str
    rows: list[str]
    loops: list[LoopAround]
    colour: int
    grid: tuple[int, int] = (0, 0)


class TaskKind(Value, frozen=True):
    """`reads` and `writes` are labels of cells, `inputs` and `outputs` the cells that the replay waits for: numbers and labels. `place` is
    the place for the block on its core."""

    template: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    inputs: list[tuple[int, str]]
    outputs: list[tuple[int, str]]
    place: int = 0


class CoreClass(Value, frozen=True):
    """`count` cores from number `first` on, whose row is `row`. They are `idle` in intervals of compressed time while others run blocks."""

    row: int
    first: int
    count: int
    idle: list[tuple[int, int]]


class BlockNumbers(Value, frozen=True):
    """How blocks are numbered; as in `cores.Numbering`."""

    step: int
    stride: int
    is_static: bool


class ChipCores(Value, frozen=True):
    """The cores of a chip, named by their `level`. Without `numbers` only the tasks of the first core are known."""

    level: str
    cores: int
    classes: list[CoreClass]
    numbers: BlockNumbers | None


class StallKind(WaitKind, frozen=True, kw_only=True):
    """A kind of stall: `what` is the awaited slot, port, queue or engine; `block` holds it, and `row` is its row of the tree."""

    colour: int
    row: str


class Overview(Value, frozen=True):
    """The whole run in real time: the busy share of each engine by bin, and the share with at least two busy
    engines, as bytes in base 64."""

    count: int
    lanes: list[str]
    overlap: str


class ColouredBuffer(Value, frozen=True):
    """A buffer that bars represent."""

    name: str
    colour: int


class Timeline(Value, frozen=True, kw_only=True, omit_defaults=True):
    """The tables and the events. Times are in cycles: `cycles` of the run in real time, `length` in compressed time,
    which contains each repeat once. `run` has all events in compressed time, unless they are too many. `bins` are the
    whole run in real time, if it has more tasks than the `drawn` ones of a window; in a replay also in compressed time.
    Lanes and rows are numbered as they are listed; `lines` has the line of the program's text by row of the tree.
    Without a report `cycles` is 0, and the tables are empty."""

    report: int
    cycles: int
    length: int
    repeats: list[TimelineRepeat]
    engines: list[EngineLane]
    rows: list[MemoryRow]
    cells: list[MemoryCell]
    templates: list[TaskTemplate]
    kinds: list[TaskKind]
    waits: list[StallKind]
    lines: dict[str, int]
    figures: list[tuple[str, str]]
    buffers: list[ColouredBuffer]
    note: str
    drawn: int
    blank: Blank | None = None
    overview: Overview | None = None
    run: ExactWindow | None = None
    bins: Sequence[BinnedWindow] = ()
    chip: ChipCores | None = None


class PathSteps(Value, frozen=True):
    """The steps of the path, backward in time and relative to its start."""

    lane: list[int]
    start: list[int]
    length: list[int]


class PathAnswer(Answer, frozen=True, tag="path"):
    """The critical path from cycle `start` to `end`: its steps, or the share of each bin on each lane; and its parts by cause."""

    ticket: int
    report: int
    start: int
    end: int
    parts: Sequence[PathPart]
    steps: PathSteps | None
    lanes: list[str]


class FoundAnswer(Answer, frozen=True, tag="found"):
    """The cycle at which a task starts; None if it does not run."""

    ticket: int
    report: int
    cycle: int | None


NOTHING = Timeline(
    report=0,
    cycles=0,
    length=0,
    repeats=[],
    engines=[],
    rows=[],
    cells=[],
    templates=[],
    kinds=[],
    waits=[],
    lines={},
    figures=[],
    buffers=[],
    note="",
    drawn=MAX_EVENTS,
)

BLANK = "This pane shows the tasks and stalls of each engine over time, and the contents of each memory."


def timeline_value(state: State, store: Store) -> Timeline:
    """All that the timeline shows of the picture; the same object as long as nothing changed but the theme. Without a report: why."""
    report = store.known_report(state)
    if isinstance(report, TilewrightError):
        refusal = report.refusal
        expected = f" Expected: {refusal.expected}." if refusal.expected else ""
        blank = blank_value(state, store, BLANK)
        return replace(NOTHING, note=f"{refusal.message}.{expected}", blank=blank)
    if state.moment is None:
        return NOTHING
    if report is None:
        return replace(NOTHING, note="Simulation in progress")
    return timeline_of(report, state.moment.schedule, store)


def timeline_of(report: Report, schedule: Schedule, store: Store) -> Timeline:
    """The value of a report, made once."""
    return store.remember(_TIMELINE(report, schedule.func), lambda: value_of(report, schedule, store))


def timeline_data(report: Report, store: Store) -> TimelineData:
    """The tables of a report, made once."""
    return store.once(TimelineData, report)


def value_of(report: Report, schedule: Schedule, store: Store) -> Timeline:
    """The value of a report, in the names of the schedule's program."""
    func = schedule.func
    data = timeline_data(report, store)
    ids = store.once(row_ids, func)
    scales = [_scale(report.memory[name]) for name in data.rows]
    return Timeline(
        report=id(report),
        cycles=report.cycles,
        length=data.length,
        repeats=list(_repeats(data)),
        engines=[
            EngineLane(lane.name, lane.engine, report.engines[lane.engine].kind, work.busy, work.tasks, work.waits)
            for lane, work in zip(data.lanes, data.work, strict=True)
        ],
        rows=[
            *(_row(report, name, scale) for name, scale in zip(data.rows, scales, strict=True)),
            *_rows_of_chip(data),
        ],
        cells=[_cell(cell, [*scales, SCALE][min(cell.row, len(scales))], data.colours) for cell in data.cells],
        templates=_templates(data, ids, store.index(func)),
        kinds=[
            TaskKind(t, k.reads, k.writes, _cells_of(v.reads, data), _cells_of(v.writes, data), place)
            for k, t, v, place in zip(
                data.kinds, data.template_of_kind.tolist(), data.variants, data.places, strict=True
            )
        ],
        waits=[_wait(wait, ids, data.colours) for wait in data.waits],
        lines=store.remember(_LINES(func), lambda: _lines(schedule, ids, store)),
        overview=_overview(data),
        run=whole_run(data),
        bins=whole_bins(data, folded=False),
        figures=_figures(report),
        buffers=_buffers(report, data),
        note="",
        drawn=MAX_EVENTS,
        chip=_chip(data),
    )


def drawn_window(state: State, store: Store) -> ExactWindow | BinnedWindow | None:
    """The whole run in real time, for a drawing; None without a report."""
    report = store.known_report(state)
    return window_value(report, store, 0, report.cycles, folded=False) if isinstance(report, Report) else None


def window_value(report: Report, store: Store, start: int, end: int, *, folded: bool) -> ExactWindow | BinnedWindow:
    """Another window of the timeline."""
    return window(timeline_data(report, store), start, end, folded=folded)


def _cells_of(cells: tuple[int, ...], data: TimelineData) -> list[tuple[int, str]]:
    """The engine's numbers of cells of buffers, with their labels."""
    places = data.report.program.places
    return [(cell, places.of_cell[cell].label(cell)) for cell in cells if not places.is_token(cell)]


def path_value(report: Report, store: Store, start: int, end: int, ticket: int = 0) -> PathAnswer:
    """The critical path from cycle `start` to `end`."""
    data, path = timeline_data(report, store), report.critical_path
    end = max(start + 1, min(end, report.cycles))
    steps = list(islice(path.steps(start, end), MAX_EVENTS + 1))
    found = PathAnswer(ticket, id(report), start, end, path.parts, None, [])
    if len(steps) > MAX_EVENTS:
        shares = path.shares(edges_of(start, end, BINS), data.lane_of_task.tolist(), len(data.lanes))
        return replace(found, lanes=[packed(column) for column in shares.T])
    lanes = [int(data.lane_of_task[step.row]) for step in steps]
    lengths = [step.until - step.start for step in steps]
    return replace(found, steps=PathSteps(lanes, [step.start - start for step in steps], lengths))


def start_of_task(report: Report, store: Store, template: int, place: tuple[int, ...]) -> int | None:
    """When the task of a template at `place` (iterations of the loops around it) starts, in real time. Raises IndexError for an unknown
    template."""
    data = timeline_data(report, store)
    segments, wanted = data.report.segments, data.templates[template].template
    variants = range(int(data.line.numbers.max(initial=-1)) + 1)
    return data.line.find(np.array([segments.kind(n).template == wanted for n in variants], bool), place)


def _repeats(data: TimelineData) -> Iterator[TimelineRepeat]:
    levels = data.time_map.levels()
    runs = runs_of(data.line.repeats)
    for number, repeat in enumerate(data.line.repeats):
        first = data.kind_of[repeat.first] if repeat.first < repeat.last else None
        loops = data.kinds[first].loops[repeat.depth :][: len(repeat.extents)] if first is not None else ()
        base = data.line.places[repeat.first][repeat.depth :][: len(repeat.extents)] if first is not None else ()
        yield TimelineRepeat(
            start=repeat.start, end=repeat.end, cycles=repeat.cycles, extra=repeat.extra, first=repeat.first, last=repeat.last,
            depth=repeat.depth, extents=repeat.extents, iterations=repeat.iterations, level=levels.get(number, 0),
            names=[loop.name for loop in loops], base=base, length=repeat.length.terms, more=repeat.more, runs=runs[number],
            moves=repeat.moves,
        )  # fmt: skip


def _scale(memory: MemoryReport) -> int:
    """The bytes that the row's height represents: the capacity; less for a nearly empty memory, more if the capacity is exceeded."""
    if memory.peak_bytes * NEARLY_EMPTY < memory.capacity_bytes:
        return max(1, round(memory.peak_bytes * HEADROOM))
    return max(memory.capacity_bytes, memory.peak_bytes)


def _row(report: Report, name: str, scale: int) -> MemoryRow:
    memory = report.memory[name]
    peak, capacity = size_text(memory.peak_bytes), size_text(memory.capacity_bytes)
    over = memory.overflow_bytes > 0
    near = scale >= memory.capacity_bytes
    limit = memory.capacity_bytes / scale if near else 0.0
    short = name.removeprefix("local.")
    return MemoryRow(short, name, scale, memory.capacity_bytes, limit, f"{peak} of {capacity}", over)


def _rows_of_chip(data: TimelineData) -> Iterator[MemoryRow]:
    chip = data.chip
    if chip is None:
        return
    level = chip.report.level
    for group in chip.groups:
        blocks = f"{' + '.join(map(grouped, group.blocks))} block{'' if sum(group.blocks) == 1 else 's'}"
        at_once = f", {chip.residents} at once" if max(group.blocks) > 1 and chip.residents > 1 else ""
        last = group.first + group.count - 1
        numbers = f"{level} {group.first} to {last}" if group.count > 1 else f"{level} {last}"
        rest = sum(end - start for start, end in chip.idle(group))
        idle = f", idle for {grouped(rest)} cycles while others run blocks" if rest else ""
        yield MemoryRow(
            f"{grouped(group.count)} × {level}", f"{level} {group.first}", SCALE, SCALE, 1.0, f"{blocks}{at_once}", over=False,
            kind="cores", tip=f"{numbers}: {blocks} each{at_once}{idle}",
        )  # fmt: skip
    for port in chip.ports:
        waits = ", ".join(
            f"{engine} of {level} 0 waits {grouped(cycles)} cycles" for engine, cycles in port.waited.items()
        )
        if port.longest is not None and port.longest[0]:
            core, cycles = port.longest
            waits = f"{waits}{'; ' if waits else ''}{level} {core} waits longest, {grouped(cycles)} cycles"
        waits = f"; {waits}" if waits else ""
        share = percent_text(port.cycles / data.report.cycles)
        moved = f", {size_text(port.bytes)}" if port.bytes else ""
        where = f" at most, on {port.busiest} of {grouped(port.segments)} segments" if port.busiest else ""
        hops = f", up to {grouped(port.hops)} hops" if port.hops > 1 else ""
        yield MemoryRow(
            port.name, port.name, SCALE, SCALE, 1.0, f"{share} busy{moved}", over=False, kind="port",
            tip=f"{port.name}: {share} busy{where}{moved} of all cores{hops}{waits}; bursts spread over their tasks",
        )  # fmt: skip


def _chip(data: TimelineData) -> ChipCores | None:
    chip, first = data.chip, len(data.rows)
    if chip is None:
        return None
    numbers, found = chip.numbering, chip.report
    return ChipCores(
        found.level,
        found.cores,
        [CoreClass(first + n, g.first, g.count, chip.idle(g)) for n, g in enumerate(chip.groups)],
        None if numbers is None else BlockNumbers(numbers.step, numbers.stride, numbers.is_static),
    )


def _wait(wait: WaitKind, ids: RowIds, colours: Colours) -> StallKind:
    row = ids.of(wait.block) if ids.has(wait.block) else ""
    return StallKind(**asdict(wait), colour=colours.get(wait.buffer, OTHER), row=row)


def _cell(cell: BufferCell, scale: int, colours: Colours) -> MemoryCell:
    low, high = cell.low / scale, (cell.low + cell.size_bytes) / scale
    size, colour = size_text(cell.size_bytes), colours.get(cell.buffer, OTHER)
    return MemoryCell(cell.row, cell.label, cell.buffer, colour, size, grouped(cell.low), cell.shared, low, high)


def _templates(data: TimelineData, ids: RowIds, index: ProgramIndex) -> list[TaskTemplate]:
    """The templates of tasks: their block, the loops around, and the rows of the tree for both."""
    rows = {handle: row for row, handle in ids.items()}
    found: list[TaskTemplate] = []
    colours = data.template_colours(data.colours)
    for kind, lane, colour in zip(data.templates, data.template_lanes, colours, strict=True):
        blocks = [name for name in kind.blocks if name in rows]
        # Passes recreate some loops: these are matched by name among the loops around the block.
        above = [loop.loop_var for name in blocks for loop in reversed(index.loops_of(name))]
        around = {var.name: rows[var] for var in above if var in rows}
        loops = [LoopAround(x.name, rows.get(x.var) or around.get(x.name, ""), x.extent) for x in kind.loops]
        grid = data.chip.grid_of(kind) if data.chip else (0, 0)
        found.append(TaskTemplate(lane, kind.block, [rows[name] for name in blocks], loops, colour, grid))
    return found


def _lines(schedule: Schedule, ids: RowIds, store: Store) -> dict[str, int]:
    """Row of the tree -> the line of its TVMScript text."""
    positions = store.printed(schedule).positions
    rows = {handle: row for row, handle in ids.items()}
    found: dict[str, int] = {}
    for stmt in loops_and_blocks(schedule.func.body):
        handle = stmt.loop_var if isinstance(stmt, For) else stmt.block.name
        node = stmt.block if isinstance(stmt, BlockRealize) and stmt.block in positions else stmt
        if handle in rows and node in positions:
            found[rows[handle]] = positions[node][0].line
    return found


def _overview(data: TimelineData) -> Overview:
    edges = edges_of(0, max(1, data.report.cycles), OVERVIEW_BINS)
    *lanes, both = map(packed, data.busy.shares(edges).T)
    return Overview(len(edges) - 1, lanes, both)


def _figures(report: Report) -> list[tuple[str, str]]:
    figures = [
        ("Overlap", percent_text(report.overlap)),
        ("Tasks", grouped(sum(e.tasks for e in report.engines.values()))),
    ]
    if all(memory.scope == "global" or not memory.peak_bytes for memory in report.memory.values()):
        figures.append(("On-chip data", "none"))
    return figures


def _buffers(report: Report, data: TimelineData) -> list[ColouredBuffer]:
    """The buffers that the bars represent."""
    names = {cell.buffer for cell in data.cells}
    names |= {row.buffer for row in report.traffic if row.destination == "global"}
    return [ColouredBuffer(name, index) for name, index in data.colours.items() if name in names]
