"""The timeline's value: the tables for its bars, marks and texts, and the first window. The browser requests further windows.

Lanes of engines and rows of memories are numbered as they are listed; a task's `kind`, a tile's cell and a wait's kind are entries of
tables, so that an event travels as a few numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import MemoryReport, Report
from ....engine.hwsim.replay.repeats import runs_of
from ....engine.ir import BlockRealize, For, TilewrightError, loops_and_blocks
from ....engine.schedule import Schedule
from ...state.derived import Store
from ...state.model import State
from ...state.row_ids import RowIds, row_ids
from ..labels.blank import blank_value
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.palette import colours_by_name
from .data import BufferCell, TimelineData, WaitKind
from .window import BINS, MAX_EVENTS, edges_of, packed, window

HEADROOM = 1.35
"""A memory that is nearly empty is shown up to this times its peak: its tiles would be hairlines under the capacity."""

NEARLY_EMPTY = 2

OVERVIEW_BINS = 240

OTHER = 9
"""The colour of what belongs to no buffer."""

LISTS = ("repeats", "engines", "rows", "cells", "templates", "kinds", "waits", "figures", "buffers")

NOTHING: dict[str, Any] = {
    "report": 0,
    "cycles": 0,
    "length": 0,
    "note": "",
    "blank": None,
    "lines": {},
    **{name: [] for name in LISTS},
}

BLANK = "This pane shows the tasks and stalls of each engine over time, and the contents of each memory."


def timeline_value(state: State, store: Store) -> dict[str, Any]:
    """All that the timeline shows of the picture; the same object as long as nothing changed but the theme. Without a report: why."""
    report = store.report_now(state)
    if isinstance(report, TilewrightError):
        refusal = report.refusal
        expected = f" Expected: {refusal.expected}." if refusal.expected else ""
        blank = blank_value(state, store, BLANK)
        return {**NOTHING, "note": f"{refusal.message}.{expected}", "blank": blank}
    if state.moment is None:
        return NOTHING
    if report is None:
        return {**NOTHING, "note": "Simulation in progress"}
    return timeline_of(report, state.moment.schedule, store)


def timeline_of(report: Report, schedule: Schedule, store: Store) -> dict[str, Any]:
    """The value of a report, made once."""
    return store.remember("timeline", (report, schedule.func), lambda: value_of(report, schedule, store))


def timeline_data(report: Report, store: Store) -> TimelineData:
    """The tables of a report, made once."""
    return store.remember("timeline-data", (report,), lambda: TimelineData(report))


def value_of(report: Report, schedule: Schedule, store: Store) -> dict[str, Any]:
    """The value of a report, in the names and colours of the schedule's program."""
    func = schedule.func
    data = timeline_data(report, store)
    colours = colours_by_name(func, store.colours)
    ids = store.remember("row-ids", (func,), lambda: row_ids(func))
    scales = [_scale(report.memory[name]) for name in data.rows]
    return {
        "report": id(report),
        "cycles": report.cycles,
        "length": data.length,
        "repeats": _repeats(data),
        "engines": [_engine(report, name) for name in data.engines],
        "rows": [_row(report, name, scale) for name, scale in zip(data.rows, scales, strict=True)],
        "cells": [_cell(cell, scales[cell.row], colours) for cell in data.cells],
        "templates": _templates(data, ids, store.index(func), colours),
        "kinds": [
            {
                "template": int(t), "reads": k.reads, "writes": k.writes,
                "inputs": _cells_of(v.reads, data), "outputs": _cells_of(v.writes, data),
            }
            for k, t, v in zip(data.kinds, data.template_of_kind.tolist(), data.variants, strict=True)
        ],
        "waits": [_wait(wait, ids, colours) for wait in data.waits],
        "lines": store.remember("row-lines", (func,), lambda: _lines(schedule, ids, store)),
        "overview": _overview(data),
        "window": window(data, 0, report.cycles, folded=False),
        "figures": _figures(report),
        "buffers": _buffers(report, data, colours),
        "note": "",
    }  # fmt: skip


def window_value(report: Report, store: Store, start: int, end: int, *, folded: bool) -> dict[str, Any]:
    """Another window of the timeline."""
    return window(timeline_data(report, store), start, end, folded=folded)


def _cells_of(cells: tuple[int, ...], data: TimelineData) -> list[tuple[int, str]]:
    """The engine's numbers of cells, with their labels."""
    places = data.report.program.places
    return [(cell, places.of_cell[cell].label(cell)) for cell in cells]


def path_value(report: Report, store: Store, start: int, end: int) -> dict[str, Any]:
    """The critical path from cycle `start` to `end`: its steps backward in time, or the share of each bin on each lane; and its parts."""
    data, path = timeline_data(report, store), report.critical_path
    end = max(start + 1, min(end, report.cycles))
    steps = list(islice(path.steps(start, end), MAX_EVENTS + 1))
    found: dict[str, Any] = {
        "start": start,
        "end": end,
        "parts": msgspec.to_builtins(path.parts),
        "steps": None,
        "lanes": [],
    }
    if len(steps) > MAX_EVENTS:
        shares = path.shares(edges_of(start, end, BINS))
        return found | {"lanes": [packed(shares[:, n]) for n in np.argsort(data.lane_of) if data.lane_of[n] >= 0]}
    lanes = [int(data.lane_of[data.line.engines[step.row]]) for step in steps]
    lengths = [step.until - step.start for step in steps]
    return found | {"steps": {"lane": lanes, "start": [step.start - start for step in steps], "length": lengths}}


def start_of_task(report: Report, store: Store, template: int, place: tuple[int, ...]) -> int | None:
    """When the task of a template at `place` (iterations of the loops around it) starts, in real time. Raises IndexError for an unknown
    template."""
    data = timeline_data(report, store)
    segments, wanted = data.report.segments, data.templates[template].template
    variants = range(int(data.line.numbers.max(initial=-1)) + 1)
    return data.line.find(np.array([segments.kind(n).template == wanted for n in variants], bool), place)


def _repeats(data: TimelineData) -> list[dict[str, Any]]:
    """The repeats: each is drawn once and occurs `extra` more times. `level` counts its outer repeats, `names` and `extents` are
    those of its loops."""
    found: list[dict[str, Any]] = []
    levels = data.time_map.levels()
    runs = runs_of(data.line.repeats)
    for number, repeat in enumerate(data.line.repeats):
        first = data.kind_of[repeat.first] if repeat.first < repeat.last else None
        loops = data.kinds[first].loops[repeat.depth :][: len(repeat.extents)] if first is not None else ()
        base = data.line.places[repeat.first][repeat.depth :][: len(repeat.extents)] if first is not None else ()
        found.append(
            {
                "start": repeat.start, "end": repeat.end, "cycles": repeat.cycles, "extra": repeat.extra, "first": repeat.first,
                "last": repeat.last, "depth": repeat.depth, "extents": repeat.extents, "iterations": repeat.iterations,
                "level": levels.get(number, 0), "names": [loop.name for loop in loops], "base": base,
                "length": repeat.length.terms, "more": {str(around): more for around, more in repeat.more.items()},
                "runs": runs[number],
                "moves": {str(row): move for row, move in repeat.moves.items()},
            }
        )  # fmt: skip
    return found


def _engine(report: Report, name: str) -> dict[str, Any]:
    engine = report.engines[name]
    return {
        "name": name, "kind": engine.kind, "busy": engine.busy, "tasks": engine.tasks,
        "waits": {cause: cycles for cause, cycles in engine.stall.items() if cycles},
    }  # fmt: skip


def _scale(memory: MemoryReport) -> int:
    """The bytes that the row's height represents: the capacity; less for a nearly empty memory, more if the capacity is exceeded."""
    if memory.peak_bytes * NEARLY_EMPTY < memory.capacity_bytes:
        return max(1, round(memory.peak_bytes * HEADROOM))
    return max(memory.capacity_bytes, memory.peak_bytes)


def _row(report: Report, name: str, scale: int) -> dict[str, Any]:
    """A memory: `limit` is its capacity as a fraction of the row's height, 0 if beyond the scale."""
    memory = report.memory[name]
    peak, capacity = size_text(memory.peak_bytes), size_text(memory.capacity_bytes)
    over = memory.overflow_bytes > 0
    near = scale >= memory.capacity_bytes
    return {
        "name": name.removeprefix("local."), "scope": name, "scale": scale, "capacity": memory.capacity_bytes,
        "limit": memory.capacity_bytes / scale if near else 0.0, "text": f"{peak} of {capacity}", "over": over,
    }  # fmt: skip


def _wait(wait: WaitKind, ids: RowIds, colours: Mapping[str, int]) -> dict[str, Any]:
    """A kind of wait; `row` is the tree row of the block that holds the resource."""
    return {
        "lane": wait.lane, "cause": wait.cause, "what": wait.what, "buffer": wait.buffer, "block": wait.block,
        "colour": colours.get(wait.buffer, OTHER), "row": ids.of(wait.block) if ids.has(wait.block) else "",
    }  # fmt: skip


def _cell(cell: BufferCell, scale: int, colours: Mapping[str, int]) -> dict[str, Any]:
    """A slot of a buffer; `low` and `high`, its addresses, are parts of its row's height."""
    return {
        "row": cell.row, "label": cell.label, "buffer": cell.buffer, "colour": colours.get(cell.buffer, OTHER),
        "bytes": size_text(cell.size_bytes), "address": grouped(cell.low), "shared": cell.shared,
        "low": cell.low / scale, "high": (cell.low + cell.size_bytes) / scale,
    }  # fmt: skip


def _templates(
    data: TimelineData, ids: RowIds, index: ProgramIndex, colours: Mapping[str, int]
) -> list[dict[str, Any]]:
    """The templates of tasks: their block, the loops around, and the rows of the tree for both."""
    rows = {handle: row for row, handle in ids.items()}
    found: list[dict[str, Any]] = []
    for kind in data.templates:
        touched = [label.partition("#")[0] for label in (*kind.writes, *kind.reads)]
        blocks = [name for name in kind.blocks if name in rows]
        # Passes recreate some loops: these are matched by name among the loops around the block.
        above = [loop.loop_var for name in blocks for loop in reversed(index.loops_of(name))]
        around = {var.name: rows[var] for var in above if var in rows}
        loops = [
            {"name": x.name, "row": rows.get(x.var) or around.get(x.name, ""), "extent": x.extent} for x in kind.loops
        ]
        found.append(
            {
                "lane": data.engines.index(kind.engine), "block": kind.block, "rows": [rows[name] for name in blocks], "loops": loops,
                "colour": next((colours[name] for name in touched if name in colours), OTHER),
            }
        )  # fmt: skip
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


def _overview(data: TimelineData) -> dict[str, Any]:
    """The whole run in real time: the busy share of each engine by bin, and the share with at least two busy engines."""
    edges = edges_of(0, max(1, data.report.cycles), OVERVIEW_BINS)
    *lanes, both = map(packed, data.busy.shares(edges).T)
    return {"count": len(edges) - 1, "lanes": lanes, "overlap": both}


def _figures(report: Report) -> list[tuple[str, str]]:
    figures = [
        ("Overlap", percent_text(report.overlap)),
        ("Tasks", grouped(sum(e.tasks for e in report.engines.values()))),
    ]
    if all(memory.scope == "global" or not memory.peak_bytes for memory in report.memory.values()):
        figures.append(("On-chip data", "none"))
    return figures


def _buffers(report: Report, data: TimelineData, colours: Mapping[str, int]) -> list[dict[str, Any]]:
    """The buffers that the bars represent."""
    names = {cell.buffer for cell in data.cells}
    names |= {row.buffer for row in report.traffic if row.destination == "global"}
    return [{"name": name, "colour": index} for name, index in colours.items() if name in names]
