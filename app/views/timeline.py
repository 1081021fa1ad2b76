"""The timeline's value: a report as lanes of engines and memories, and the legend above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from ...engine.hwsim import MemoryReport, Report, Tile
from ...engine.ir import TilewrightError
from ..state import State
from ..store import Store
from .chart import Again, Bar, Bars, Chart, Clock, Excess, Lane, Steps
from .numbers import grouped, percent_text, size_text
from .palette import buffer_colours

HEADROOM = 1.35
"""A memory that is nearly empty is shown up to this times its peak: its tiles would be hairlines under the capacity."""

NEARLY_EMPTY = 4

MAX_EXCESSES = 500
"""More stretches of too many bytes than this are not marked: a row that is red so often needs no more of it."""

EMPTY = Chart()


def timeline_chart(state: State, store: Store) -> Chart:
    """The chart of the picture; the same object as long as nothing changed. Without a report: an empty one."""
    report = store.report_now(state)
    if state.moment is None or not isinstance(report, Report):
        return EMPTY
    func = state.moment.schedule.func
    colours = {buffer.name: index for buffer, index in buffer_colours(func).items()}
    return store.remember("chart", (report, func), lambda: chart_of(report, colours))


def chart_of(report: Report, colours: Mapping[str, int]) -> Chart:
    """Engines that have tasks, and memories (or their physical blocks) that something is allocated in; global memory is left out."""
    engines = [name for name, engine in report.engines.items() if engine.tasks]
    rows = {name: memory for name, memory in report.memory.items() if memory.peak_bytes and memory.scope != "global"}
    cells = _cells(report)
    scales = {name: _scale(memory, [t for t in cells.values() if t.row == name]) for name, memory in rows.items()}
    return Chart(
        cycles=int(report.timeline.there.max(initial=0)),
        clock=_clock(report),
        repeats=_repeats(report),
        engines=tuple(Lane(name) for name in engines),
        engine_bars=_engine_bars(report, engines, colours),
        memories=tuple(_memory_lane(name, memory, scales[name]) for name, memory in rows.items()),
        memory_bars=_tile_bars(report, cells, scales, colours),
        memory_steps=tuple(_steps(report, name, lane, scales[name]) for lane, name in enumerate(rows)),
        excesses=tuple(
            e
            for lane, (name, memory) in enumerate(rows.items())
            for e in _excesses(report, name, memory, lane, scales[name])
        ),
    )


def _clock(report: Report) -> Clock:
    ends = sorted({r.end for r in report.timeline.repeats})
    later = report.timeline.real(ends) - np.array(ends, np.int64)
    return Clock(tuple(ends), tuple(later.tolist()))


def _repeats(report: Report) -> tuple[Again, ...]:
    """The repeats, with how often each stretch comes; the ones around others first."""
    line = report.timeline
    found: list[Again] = []
    for r in sorted(line.repeats, key=lambda r: (r.start, -r.end)):
        around = [a for a in found if a.start <= r.start and r.end <= a.end]
        segment = report.segments[r.first] if r.first < r.last else None
        loop = segment.indices[r.depth] if segment is not None else ("", 0)
        tip = (
            f"×{grouped(1 + r.extra)}: {r.iterations} {'iteration' if r.iterations == 1 else 'iterations'} of {loop[0]} "
            f"(from {loop[0]} = {loop[1]}) in {grouped(r.cycles)} cycles, drawn once"
        )
        found.append(Again(r.start, r.end, f"×{grouped(1 + r.extra)}", len(around), tip))
    return tuple(found)


def _cells(report: Report) -> dict[int, Tile]:
    """The first tile of each cell: what they all have in common (row, label, size) is a cell's."""
    cell = report.occupancy.tiles.columns()[3]
    numbers, first = np.unique(cell, return_index=True)
    return {n: report.occupancy.tiles[at] for n, at in zip(numbers.tolist(), first.tolist(), strict=True)}


def _engine_bars(report: Report, engines: list[str], colours: Mapping[str, int]) -> Bars:
    lane_of = {number: engines.index(name) for number, name in enumerate(report.engines) if name in engines}
    engine, start, end = report.segments.columns()
    later = report.timeline.real(start) - start

    def make(n: int) -> Bar:
        segment = report.segments[n]
        written = (*segment.writes, *segment.reads)
        indices = ", ".join(f"{name} = {value}" for name, value in segment.indices)
        first = int(later[n])
        lines = [
            f"{segment.block}  {indices}".rstrip(),
            f"{', '.join(segment.reads) or 'nothing'} → {', '.join(segment.writes) or 'nothing'}",
            f"{grouped(segment.start + first)} to {grouped(segment.end + first)}: {grouped(segment.end - segment.start)} cycles",
        ]
        if segment.times > 1:
            lines.append(f"the first of {grouped(segment.times)}")
        colour = colours.get(_buffer(written[0]), 9) if written else 9
        return Bar(lane_of[engine[n]], segment.start, segment.end, "\n".join(lines), colour)

    return Bars(start, end, engine, make)


def _buffer(label: str) -> str:
    return label.partition("#")[0]


def _scale(memory: MemoryReport, tiles: list[Tile]) -> int:
    """Bytes that the height of the row stands for: the capacity; less where that would leave nothing to see, more where it is exceeded."""
    needed = max(memory.peak_bytes, sum(tile.size_bytes for tile in tiles))
    if needed * NEARLY_EMPTY < memory.capacity_bytes:
        return max(1, round(needed * HEADROOM))
    return max(memory.capacity_bytes, needed)


def _memory_lane(name: str, memory: MemoryReport, scale: int) -> Lane:
    shown = name.removeprefix("local.")
    if scale < memory.capacity_bytes:
        return Lane(shown, limit_text=f"{size_text(memory.peak_bytes)} of {size_text(memory.capacity_bytes)}")
    over = memory.peak_bytes > memory.capacity_bytes
    text = size_text(memory.capacity_bytes)
    return Lane(
        shown, memory.capacity_bytes / scale, f"{text}, {size_text(memory.peak_bytes)} needed" if over else text, over
    )


def _excesses(report: Report, row: str, memory: MemoryReport, lane: int, scale: int) -> list[Excess]:
    """Where the allocated bytes of a row are more than it has."""
    steps = report.occupancy.steps[row]
    found: list[Excess] = []
    for start, end, size in zip(steps.times, steps.times[1:], steps.allocated, strict=False):
        if size <= memory.capacity_bytes or len(found) == MAX_EXCESSES:
            continue
        if found and found[-1].end == start and found[-1].high == size / scale:
            found[-1] = replace(found[-1], end=end)
        else:
            tip = f"{size_text(size)} allocated in {row}, which has {size_text(memory.capacity_bytes)}"
            found.append(Excess(lane, start, end, size / scale, tip))
    return found


def _tile_bars(
    report: Report, cells: Mapping[int, Tile], scales: Mapping[str, int], colours: Mapping[str, int]
) -> Bars:
    """Two bars a tile: while it is filled, and while it is live. The cells of a row stand on one another."""
    lanes = {name: lane for lane, name in enumerate(scales)}
    heights: dict[int, tuple[float, float]] = {}
    filled_up = dict.fromkeys(scales, 0)
    for cell, tile in cells.items():
        if tile.row in scales:
            low = filled_up[tile.row]
            filled_up[tile.row] = low + tile.size_bytes
            heights[cell] = (low / scales[tile.row], (low + tile.size_bytes) / scales[tile.row])
    start, filled, end, cell = report.occupancy.tiles.columns()
    clock = (
        report.timeline.real(start),
        report.timeline.real(filled, ending=True),
        report.timeline.real(end, ending=True),
    )
    shown = np.nonzero(np.isin(cell, list(heights)))[0]
    numbers, band = shown.tolist(), 2 * cell[shown]

    def make(n: int) -> Bar:
        filling = n < len(numbers)
        number = numbers[n % len(numbers)]
        tile = report.occupancy.tiles[number]
        low, high = heights[int(cell[number])]
        from_, until = (tile.start, tile.filled) if filling else (tile.filled, tile.end)
        tip = _tile_tip(tile, *(int(c[number]) for c in clock))
        return Bar(lanes[tile.row], from_, until, tip, colours.get(tile.buffer, 9), low, high, soft=filling)

    return Bars(
        np.concatenate([start[shown], filled[shown]]),
        np.concatenate([filled[shown], end[shown]]),
        np.concatenate([band + 1, band]),
        make,
    )


def _tile_tip(tile: Tile, start: int, filled: int, end: int) -> str:
    return "\n".join(
        (
            f"{tile.label}  {size_text(tile.size_bytes)} in {tile.row}",
            f"filled from {grouped(start)} to {grouped(filled)}",
            f"used until {grouped(end)}",
        )
    )


def _steps(report: Report, row: str, lane: int, scale: int) -> Steps:
    """The live bytes of a row."""
    steps = report.occupancy.steps[row]
    return Steps(lane, np.asarray(steps.times, np.int64), np.asarray(steps.live, np.float64) / scale)


def legend_value(state: State, store: Store) -> dict[str, Any]:
    """Figures [name, value], the buffers {name, colour} that bars stand for, and why there are none."""
    report = store.report_now(state)
    if isinstance(report, TilewrightError):
        refusal = report.refusal
        expected = f" Expected: {refusal.expected}." if refusal.expected else ""
        return {"figures": [], "buffers": [], "note": f"{refusal.message}.{expected}"}
    if state.moment is None or report is None:
        return {"figures": [], "buffers": [], "note": ""}
    colours = {buffer.name: index for buffer, index in buffer_colours(state.moment.schedule.func).items()}
    names = {tile.buffer for tile in store.remember("cells", (report,), lambda: _cells(report)).values()}
    names |= {row.buffer for row in report.traffic if row.destination == "global"}
    buffers = [{"name": name, "colour": index} for name, index in colours.items() if name in names]
    figures = [
        ("Overlap", percent_text(report.overlap)),
        ("Tasks", grouped(sum(e.tasks for e in report.engines.values()))),
    ]
    if all(memory.scope == "global" or not memory.peak_bytes for memory in report.memory.values()):
        figures.append(("On chip", "nothing"))
    return {"figures": figures, "buffers": buffers, "note": ""}
