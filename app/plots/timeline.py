"""The timeline of a report: the tasks and the stalls of each engine; and the use of each memory on the same axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Range, Range1d
from bokeh.plotting import figure

from ...engine.hwsim import Report
from ..views.labels.numbers import percent_text, size_text
from ..views.labels.palette import OTHER
from ..views.timeline.causes import CAUSES, HATCHES
from ..views.timeline.data import TimelineData
from ..views.timeline.window import memory_lines
from .events import Rectangle, needs_detail, rectangles
from .picture import with_picture
from .style import TIME_TOOLS, Style, Theme, add_hover, table_axis
from .time_axis import MOST_RECTANGLES, TimeAxis, grouped_exactly, time_range

LANE, STALL = (0.32, 0.94), (0.08, 0.26)
"""The places of tasks and of stalls in the row of an engine, from 0 (bottom) to 1."""

ROW = 0.86
"""The height of a memory in its row: its capacity, or its peak if that is larger."""

Columns = dict[str, Any]


def timeline(
    report: Report, *, x_range: Range | None = None, theme: Theme | None = None, height: int | None = None
) -> figure:
    """Tasks (source "tasks") and stalls (source "stalls") of each engine over real time, repeats included.

    Each rectangle has its exact number of `cycles`: those of an engine's tasks, without its stalls on ports, sum to its busy cycles. A run
    of more than 2 000 tasks and stalls is drawn as the busy share of bins of time; with a server, a zoom shows the events themselves.
    `x_range` is the axis of another figure, to zoom and pan both.
    """
    data = TimelineData(report)
    style = Style(theme)
    lanes = len(data.engines)
    busy_of = {name: work.busy for name, work in zip(data.engines, data.work, strict=True)}
    drawn = style.figure(
        "timeline",
        height=height or 60 + 44 * lanes,
        tools=TIME_TOOLS,
        x_range=x_range or time_range(report.cycles),
        y_range=Range1d(start=0, end=lanes),
    )
    labels = [f"{name}, busy {percent_text(busy / report.cycles)}" for name, busy in busy_of.items()]
    table_axis(drawn.yaxis[0], labels, [lanes - n - 0.5 for n in range(lanes)])
    drawn.ygrid.grid_line_color = None
    tasks, stalls = ColumnDataSource(name="tasks"), ColumnDataSource(name="stalls")
    drawer = _Engines(data, style)

    def redraw(start: int, end: int, origin: int) -> None:
        found = rectangles(data, ("task", "wait"), start, end, MOST_RECTANGLES)
        tasks.data = drawer.tasks([r for r in found if r.what == "task"], origin)
        stalls.data = drawer.stalls([r for r in found if r.what == "wait"], origin)

    axis = TimeAxis(drawn, report.cycles, redraw)
    boxes = {"left": "left", "right": "right", "bottom": "bottom", "top": "top", "line_color": None}
    work = drawn.quad(source=tasks, fill_color="color", fill_alpha=0.92, **boxes)
    waits = drawn.quad(
        source=stalls, fill_color="color", fill_alpha=0.2, hatch_pattern="hatch", hatch_color="color", hatch_scale=6,
        hatch_weight=1.2, **boxes,
    )  # fmt: skip
    when = [("cycles", "@text"), ("from", "@from"), ("engine", "@engine")]
    add_hover(drawn, [work], [("block", "@block"), ("at", "@at"), *when])
    add_hover(drawn, [waits], [("stalled on", "@cause"), *when])
    if needs_detail(report, MOST_RECTANGLES):
        axis.follow()
    engines = ", ".join(f"{name} busy {grouped_exactly(busy)}" for name, busy in busy_of.items())
    return with_picture(drawn, f"Timeline: {grouped_exactly(report.cycles)} cycles; {engines}")


class _Engines:
    """The columns of tasks and stalls."""

    def __init__(self, data: TimelineData, style: Style) -> None:
        self._data = data
        self._colours = [style.buffer(colour) for colour in data.template_colours(data.colours)]
        self._causes = {cause: style.ink(f"stall-{cause}") for cause in CAUSES}

    def tasks(self, found: Sequence[Rectangle], origin: int) -> Columns:
        """The bars of tasks; in a bin, the bars of several blocks are stacked."""
        data = self._data
        height = LANE[1] - LANE[0]
        piled: dict[tuple[int, int], float] = {}
        bottoms: list[float] = []
        tops: list[float] = []
        for r in found:
            lane = data.template_lanes[r.number]
            floor = len(data.engines) - lane - 1 + LANE[0]
            low = piled.get((lane, r.start), 0.0) if r.is_bin else 0.0
            high = piled[lane, r.start] = min(1.0, low + r.share)
            bottoms.append(floor + low * height)
            tops.append(floor + high * height)
        kinds = [data.templates[r.number] for r in found]
        return {
            **_spans(found, origin),
            "bottom": bottoms,
            "top": tops,
            "color": [self._colours[r.number] for r in found],
            "engine": [data.engines[data.template_lanes[r.number]] for r in found],
            "block": [kind.block for kind in kinds],
            "at": [
                ", ".join(f"{loop.name} = {n}" for loop, n in zip(kind.loops, r.place, strict=False))
                for kind, r in zip(kinds, found, strict=True)
            ],
        }

    def stalls(self, found: Sequence[Rectangle], origin: int) -> Columns:
        data = self._data
        kinds = [data.waits[r.number] for r in found]
        floors = [len(data.engines) - kind.lane - 1 + STALL[0] for kind in kinds]
        height = STALL[1] - STALL[0]
        return {
            **_spans(found, origin),
            "bottom": floors,
            "top": [floor + height * r.share for floor, r in zip(floors, found, strict=True)],
            "color": [self._causes[kind.cause] for kind in kinds],
            "hatch": [HATCHES[CAUSES[kind.cause].hatch].character for kind in kinds],
            "engine": [data.engines[kind.lane] for kind in kinds],
            "cause": [f"{CAUSES[kind.cause].word} {kind.what}".strip() for kind in kinds],
        }


def occupancy(
    report: Report, *, x_range: Range | None = None, theme: Theme | None = None, height: int | None = None
) -> figure:
    """The memories over real time: tiles at their addresses (source "tiles"), live bytes (sources "bytes SCOPE") and capacities.

    `x_range` is the axis of another figure, such as `timeline(report).x_range`, to zoom and pan both.
    """
    data = TimelineData(report)
    style = Style(theme)
    count = len(data.rows)
    drawn = style.figure(
        "occupancy",
        height=height or 60 + 70 * max(1, count),
        tools=TIME_TOOLS,
        x_range=x_range or time_range(report.cycles),
        y_range=Range1d(start=0, end=max(1, count)),
    )
    memories = [report.memory[name] for name in data.rows]
    labels = [
        f"{name.removeprefix('local.')}, {size_text(m.peak_bytes)} of {size_text(m.capacity_bytes)}"
        for name, m in zip(data.rows, memories, strict=True)
    ]
    table_axis(drawn.yaxis[0], labels, [count - n - 0.5 for n in range(count)])
    drawn.ygrid.grid_line_color = None
    tiles = ColumnDataSource(name="tiles")
    lines = [ColumnDataSource(name=f"bytes {name}") for name in data.rows]
    drawer = _Memories(data, style)

    def redraw(start: int, end: int, origin: int) -> None:
        found = rectangles(data, ("fill", "live"), start, end, MOST_RECTANGLES)
        tiles.data = drawer.tiles([r for r in found if data.cells[r.number].row < count], origin)
        for source, columns in zip(lines, drawer.lines(start, end, origin), strict=True):
            source.data = columns

    axis = TimeAxis(drawn, report.cycles, redraw)
    boxes = drawn.quad(
        source=tiles, left="left", right="right", bottom="bottom", top="top", line_color=None, fill_color="color",
        fill_alpha="alpha", hatch_pattern="hatch", hatch_color="color", hatch_scale=6,
    )  # fmt: skip
    add_hover(
        drawn,
        [boxes],
        [
            ("tile", "@tile"),
            ("", "@phase"),
            ("size", "@size"),
            ("address", "@address"),
            ("from", "@from"),
            ("cycles", "@text"),
        ],
    )
    for n, (source, memory) in enumerate(zip(lines, memories, strict=True)):
        step = drawn.step("at", "y", source=source, mode="after", line_color=style.ink("text"), line_alpha=0.55)
        add_hover(drawn, [step], [("live", "@size")])
        drawn.hspan(
            count - n - 1 + drawer.height(n, memory.capacity_bytes),
            line_color=style.ink("bad" if memory.overflow_bytes else "muted"),
            line_dash="dashed",
        )
    if needs_detail(report, MOST_RECTANGLES):
        axis.follow()
    return with_picture(drawn, f"Occupancy: {'; '.join(labels) or 'no memories on chip are used'}")


class _Memories:
    """The columns of tiles, and of the lines of live bytes."""

    def __init__(self, data: TimelineData, style: Style) -> None:
        self._data = data
        memory = data.report.memory
        self._scales = [max(memory[name].capacity_bytes, memory[name].peak_bytes, 1) for name in data.rows]
        self._colours = [style.buffer(data.colours.get(cell.buffer, OTHER)) for cell in data.cells]

    def height(self, row: int, size: int) -> float:
        """The height of an amount of bytes in the row of a memory."""
        return ROW * size / self._scales[row]

    def tiles(self, found: Sequence[Rectangle], origin: int) -> Columns:
        data = self._data
        cells = [data.cells[r.number] for r in found]
        floors = [len(data.rows) - cell.row - 1 for cell in cells]
        return {
            **_spans(found, origin),
            "bottom": [f + self.height(c.row, c.low) for f, c in zip(floors, cells, strict=True)],
            "top": [f + self.height(c.row, c.low + c.size_bytes) for f, c in zip(floors, cells, strict=True)],
            "color": [self._colours[r.number] for r in found],
            "alpha": [(0.25 if r.what == "fill" else 0.85) * r.share for r in found],
            "hatch": [HATCHES["forward"].character if r.what == "fill" else " " for r in found],
            "tile": [cell.label for cell in cells],
            "phase": ["is filled" if r.what == "fill" else "is live" for r in found],
            "size": [size_text(cell.size_bytes) for cell in cells],
            "address": [grouped_exactly(cell.low) for cell in cells],
            "memory": [data.rows[cell.row] for cell in cells],
        }

    def lines(self, start: int, end: int, origin: int) -> list[Columns]:
        data = self._data
        found: list[Columns] = []
        for n, line in enumerate(memory_lines(data, data.time_map, start, end)[: len(data.rows)]):
            floor = len(data.rows) - n - 1
            live: list[int] = [*line.live, line.live[-1]]
            found.append(
                {
                    "at": [float(start - origin + at) for at in (*line.at, end - start)],
                    "y": [floor + self.height(n, size) for size in live],
                    "live": live,
                    "size": [size_text(size) for size in live],
                }
            )
        return found


def _spans(found: Sequence[Rectangle], origin: int) -> Columns:
    return {
        "left": np.array([r.start - origin for r in found], np.float64).tolist(),
        "right": np.array([r.end - origin for r in found], np.float64).tolist(),
        "cycles": [r.cycles if r.cycles < 1 << 53 else float(r.cycles) for r in found],
        "from": [grouped_exactly(r.start) for r in found],
        "text": [
            f"{grouped_exactly(r.cycles)}{f' of {grouped_exactly(r.end - r.start)}' if r.is_bin else ''}" for r in found
        ],
    }
