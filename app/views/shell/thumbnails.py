"""Thumbnails of a program and its report, small enough for a card: the loop tree's shape, the engines' busy times, memory occupancy.

A thumbnail holds the digest of its notebook's text, so that stale stored thumbnails are detected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from ....engine.hwsim import Report
from ....engine.ir import BlockRealize, Buffer, BufferRegion, Expr, For, Node, PrimFunc, children
from ...document import Notebook
from ..labels.palette import OTHER, buffer_colours
from ..timeline.data import TimelineData
from ..timeline.window import ExactWindow, MemoryLine, TaskColumns, memory_lines, window

Column = npt.NDArray[np.int64]

WIDTH = 1000
"""The scale of times: integers from 0 to WIDTH."""

HEIGHT = 100
"""The scale of fractions, such as a memory's fill: integers from 0 to HEIGHT."""

MAX_ROWS = 18
"""The maximum number of tree rows in a thumbnail."""

MAX_BARS = 36
"""The maximum number of bars in a row; a row with more is drawn as columns."""

MAX_TASKS = 2_000
"""The maximum number of tasks; the engines of a longer run are drawn as columns."""

COLUMNS = 48
"""The number of columns in a row. A memory's column shows the maximum allocation within it."""

Row = tuple[int, int, int]
"""Depth, width (of a loop by its trip count; of a block 0), colour index of the buffer that a block writes (of a loop -1)."""


Bar = tuple[int, int, int, int]
"""Start, end, colour index, and the engine's busy share of it in units of 1 / HEIGHT."""


class Lane(msgspec.Struct, frozen=True):
    """An engine's bars."""

    name: str
    bars: tuple[Bar, ...]


class FillLevel(msgspec.Struct, frozen=True):
    """A memory's fill by column and its capacity, in units of 1 / HEIGHT; `limit` is 0 if the capacity is beyond the scale."""

    name: str
    fill: tuple[int, ...]
    limit: int
    over: bool


class Thumbnail(msgspec.Struct, frozen=True):
    """`text` is the digest of the notebook's text. Without a report, `cycles` is None and there are no lanes and levels."""

    text: str
    rows: tuple[Row, ...] = ()
    cycles: int | None = None
    overlap: float | None = None
    engines: tuple[Lane, ...] = ()
    memories: tuple[FillLevel, ...] = ()


def digest(text: str) -> str:
    """The key of a thumbnail: 16 hex digits of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def drawn(text: str, notebook: Notebook, report: Report | None) -> Thumbnail:
    """The thumbnail of an evaluated notebook."""
    assert notebook.schedule is not None
    func = notebook.schedule.func
    rows = tuple(_rows(func, func.body, 0, buffer_colours(func)))
    made = Thumbnail(digest(text), rows[:MAX_ROWS])
    if report is None:
        return made
    data = TimelineData(report)
    return msgspec.structs.replace(
        made,
        cycles=report.cycles,
        overlap=round(report.overlap, 4) if report.dma_cycles else None,
        engines=tuple(_lanes(data)),
        memories=tuple(_levels(data)),
    )


def _rows(func: PrimFunc, node: Node, depth: int, colours: dict[Buffer, int]) -> Iterator[Row]:
    """The rows below a node, in the order of the loop tree."""
    for child in children(node):
        if isinstance(child, Expr | Buffer | BufferRegion):
            continue
        if isinstance(child, For):
            yield depth, _width(child), -1
        elif isinstance(child, BlockRealize):
            written = [region.buffer for region in child.block.writes]
            yield depth, 0, colours.get(written[0], OTHER) if written else OTHER
        yield from _rows(func, child, depth + isinstance(child, For | BlockRealize), colours)


def _width(loop: For) -> int:
    """The bit length of the trip count; 4 for a symbolic extent."""
    trips = getattr(loop.extent, "value", None)
    return max(1, trips.bit_length()) if isinstance(trips, int) else 4


def _lanes(data: TimelineData) -> Iterator[Lane]:
    """The engines over real time: the tasks, if they are few, else the busy share of columns."""
    shades, engines = (
        np.array(column, np.int64) for column in (data.template_colours(data.colours), data.template_lanes)
    )
    last = max(1, data.report.cycles)
    edges = np.arange(COLUMNS + 1, dtype=np.int64) * last // COLUMNS
    bands = [n for n, (what, _) in enumerate(data.bands) if what == "task"]
    cycles = np.diff(data.real_time_density.before(edges.tolist()), axis=0)[:, bands]
    shown = window(data, 0, last, folded=False, most=MAX_TASKS)
    tasks = shown.tasks if isinstance(shown, ExactWindow) else None
    for number, name in enumerate(data.engines):
        bars = None if tasks is None else _bars(*_tasks_of(data, tasks, engines == number), shades, last)
        own = np.flatnonzero(engines == number)
        yield Lane(name, tuple(bars or _columns(cycles[:, own], shades[own], edges, last)))


def _tasks_of(data: TimelineData, tasks: TaskColumns, own: npt.NDArray[np.bool_]) -> tuple[Column, Column, Column]:
    """Starts, ends and templates of the tasks whose templates are `own`."""
    templates = data.template_of_kind[np.array(tasks.kind, np.int64)]
    starts, lengths = (np.array(column, np.int64)[own[templates]] for column in (tasks.start, tasks.length))
    return starts, starts + lengths, templates[own[templates]]


def _bars(starts: Column, ends: Column, templates: Column, shades: Column, last: int) -> list[Bar] | None:
    """The tasks of an engine, ordered by their starts, with neighbours merged across small gaps; None if they are more than MAX_BARS."""
    bars: list[Bar] = []
    for from_, until, share in _merged(starts, ends, last) or ():
        within = np.minimum(ends, until) - np.maximum(starts, from_)
        main = int(np.bincount(shades[templates], np.maximum(within, 0)).argmax())
        bars.append(_bar(from_, until, main, share, last))
    return bars or None


def _columns(cycles: Column, shades: Column, edges: Column, last: int) -> Iterator[Bar]:
    """The busy columns of an engine, from the cycles of each template (second axis) in each column (first axis)."""
    for row, (left, right) in zip(cycles, pairwise(edges.tolist()), strict=True):
        total = int(row.sum())
        if total:
            share = min(HEIGHT, max(1, round(HEIGHT * total / (right - left))))
            yield _bar(left, right, int(np.bincount(shades, row).argmax()), share, last)


def _bar(start: int, end: int, shade: int, share: int, last: int) -> Bar:
    left, right = start * WIDTH // last, -(-end * WIDTH // last)
    return left, max(right, left + 1), shade, share


Piece = tuple[int, int, int]
"""Start, end, and the busy share in units of 1 / HEIGHT."""


def _merged(starts: Column, ends: Column, last: int) -> list[Piece] | None:
    """The busy pieces of a row: single tasks, or neighbours merged across the smallest gap that leaves MAX_BARS; None without one."""
    for gap in (0, last // 400, last // 100):
        groups: list[list[int]] = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if groups and start - groups[-1][1] < gap:
                groups[-1][1:] = [max(end, groups[-1][1]), groups[-1][2] + end - start]
            else:
                groups.append([start, end, end - start])
        if len(groups) <= MAX_BARS:
            return [(a, b, min(HEIGHT, max(1, round(HEIGHT * busy / max(1, b - a))))) for a, b, busy in groups]
    return None


def _levels(data: TimelineData) -> Iterator[FillLevel]:
    last = max(1, data.report.cycles)
    lines = memory_lines(data, data.time_map, 0, last)
    for name, line in zip(data.rows, lines, strict=False):
        memory = data.report.memory[name]
        needed = memory.peak_bytes
        capacity = memory.capacity_bytes
        shown = max(capacity, needed) if 4 * needed >= capacity else max(1, round(1.35 * needed))
        limit = round(HEIGHT * capacity / shown) if shown >= capacity else 0
        yield FillLevel(name, _fill(line, last, shown), limit, needed > capacity)


def _fill(line: MemoryLine, last: int, scale: int) -> tuple[int, ...]:
    """The maximum allocation in each column, in units of `scale` / HEIGHT bytes."""
    edges = np.arange(COLUMNS + 1, dtype=np.int64) * last // COLUMNS
    times, sizes = (np.array(column, np.int64) for column in (line.at, line.allocated))
    firsts = np.maximum(0, np.searchsorted(times, edges[:-1], "right") - 1)
    behind = np.maximum(firsts + 1, np.searchsorted(times, edges[1:], "left"))
    highest = [int(sizes[a:b].max()) for a, b in zip(firsts.tolist(), behind.tolist(), strict=True)]
    return tuple(round(HEIGHT * size / scale) for size in highest)
