"""A program and its report in miniature: the shape of the loop tree, who is busy when, how full each memory is. Small enough for a card.

A thumbnail says of which text it is, so that one that was kept can be told from one that is out of date.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from ....engine.hwsim import Report, Steps
from ....engine.ir import BlockRealize, Buffer, BufferRegion, Expr, For, Node, PrimFunc, TilewrightError, children
from ...actions.cell_actions import checked_text
from ...document import Notebook, evaluate, read_document
from ...state.derived import Store
from ...state.model import State
from ..labels.palette import buffer_colours

Column = npt.NDArray[np.int64]

WIDTH = 1000
"""Times are whole numbers from 0 to this."""

HEIGHT = 100
"""And fractions of a memory's row."""

MAX_ROWS = 18
"""Rows of a tree that are drawn; what is below is left away."""

MAX_BARS = 36
"""Bars in one row; where there are more of them, columns are drawn."""

COLUMNS = 48
"""Columns of a row: of a memory's, as high as the most that was in it."""

NO_BUFFER = 9
"""The colour index of what is of no buffer: a grey."""

Row = tuple[int, int, int]
"""Depth, width (of a loop: by its trips; of a block 0), colour index of what a block writes (of a loop -1)."""


Bar = tuple[int, int, int, int]
"""Start, end, colour index, and how much of it the engine is busy, as a part of HEIGHT."""


class Lane(msgspec.Struct, frozen=True):
    """An engine's bars."""

    name: str
    bars: tuple[Bar, ...]


class Level(msgspec.Struct, frozen=True):
    """A memory's fill, column by column, and its capacity, as parts of HEIGHT; `limit` 0 where the capacity is out of sight."""

    name: str
    fill: tuple[int, ...]
    limit: int
    over: bool


class Thumbnail(msgspec.Struct, frozen=True):
    """`text` is the digest of the notebook it is of. Without a report: no cycles, no lanes."""

    text: str
    rows: tuple[Row, ...] = ()
    left_away: int = 0
    cycles: int | None = None
    overlap: float | None = None
    engines: tuple[Lane, ...] = ()
    memories: tuple[Level, ...] = ()


def digest(text: str) -> str:
    """What a thumbnail is known by."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def thumbnail_of(text: str) -> Thumbnail:
    """The thumbnail of a notebook's text: what the app would show of it. Of a text that is none, or that cannot be run, what there is."""
    try:
        notebook = evaluate(read_document(checked_text(text)))
    except TilewrightError:
        return Thumbnail(digest(text))
    if notebook.schedule is None:
        return Thumbnail(digest(text))
    report = Store().report_now(State(notebook=notebook, shown=notebook))
    return drawn(text, notebook, report if isinstance(report, Report) else None)


def drawn(text: str, notebook: Notebook, report: Report | None) -> Thumbnail:
    """The thumbnail of an evaluated notebook."""
    assert notebook.schedule is not None
    func = notebook.schedule.func
    rows = tuple(_rows(func, func.body, 0, buffer_colours(func)))
    made = Thumbnail(digest(text), rows[:MAX_ROWS], max(0, len(rows) - MAX_ROWS))
    if report is None:
        return made
    colours = {buffer.name: index for buffer, index in buffer_colours(func).items()}
    return msgspec.structs.replace(
        made,
        cycles=report.cycles,
        overlap=round(report.overlap, 4) if report.dma_cycles else None,
        engines=tuple(_lanes(report, colours)),
        memories=tuple(_levels(report)),
    )


def _rows(func: PrimFunc, node: Node, depth: int, colours: dict[Buffer, int]) -> Iterator[Row]:
    """What stands below a node, as the loop tree has it."""
    for child in children(node):
        if isinstance(child, Expr | Buffer | BufferRegion):
            continue
        if isinstance(child, For):
            yield depth, _width(child), -1
        elif isinstance(child, BlockRealize):
            written = [region.buffer for region in child.block.writes]
            yield depth, 0, colours.get(written[0], NO_BUFFER) if written else NO_BUFFER
        yield from _rows(func, child, depth + isinstance(child, For | BlockRealize), colours)


def _width(loop: For) -> int:
    """How many trips, as a power of two."""
    trips = getattr(loop.extent, "value", None)
    return max(1, trips.bit_length()) if isinstance(trips, int) else 4


def _lanes(report: Report, colours: dict[str, int]) -> Iterator[Lane]:
    last = int(report.timeline.there.max(initial=1)) or 1
    names = list(report.engines)
    engine, start, end = report.segments.columns()
    shades = _shades(report, colours)
    for number, name in enumerate(names):
        own = np.flatnonzero(engine == number)
        if not len(own):
            continue
        own = own[np.argsort(start[own], kind="stable")]
        colour = shades[own]
        bars: list[Bar] = []
        for from_, until, share in _shown(start[own], end[own], last):
            within = np.minimum(end[own], until) - np.maximum(start[own], from_)
            main = np.bincount(colour, np.maximum(within, 0)).argmax()
            left, right = from_ * WIDTH // last, -(-until * WIDTH // last)
            bars.append((left, max(right, left + 1), int(main), share))
        yield Lane(name, tuple(bars))


def _shades(report: Report, colours: dict[str, int]) -> Column:
    """The colour index of each task: of the buffer that it writes. The tasks of a variant write the same one."""
    found, first, which = np.unique(report.timeline.numbers, return_index=True, return_inverse=True)
    of_variant = np.full(len(found), NO_BUFFER, np.int64)
    for n, row in enumerate(first.tolist()):
        segment = report.segments[row]
        touched = (*segment.writes, *segment.reads)
        if touched:
            of_variant[n] = colours.get(touched[0].partition("#")[0], NO_BUFFER)
    return of_variant[which]


Piece = tuple[int, int, int]
"""Its start and end, how much of it is busy, as a part of HEIGHT."""


def _shown(starts: Column, ends: Column, last: int) -> list[Piece]:
    """Tasks one by one, or neighbours with hardly a gap between them as one; where there are too many of either, columns."""
    for gap in (0, last // 400, last // 100):
        groups: list[list[int]] = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if groups and start - groups[-1][1] < gap:
                groups[-1][1:] = [max(end, groups[-1][1]), groups[-1][2] + end - start]
            else:
                groups.append([start, end, end - start])
            if len(groups) > MAX_BARS:
                break
        else:
            return [(a, b, min(HEIGHT, round(HEIGHT * busy / max(1, b - a)))) for a, b, busy in groups]
    return list(_columns(starts, ends, last))


def _columns(starts: Column, ends: Column, last: int) -> Iterator[Piece]:
    edges = np.arange(COLUMNS + 1, dtype=np.int64) * last // COLUMNS
    for left, right in pairwise(edges.tolist()):
        busy = np.minimum(ends, right) - np.maximum(starts, left)
        total = int(busy[busy > 0].sum())
        if total:
            yield left, right, min(HEIGHT, max(1, round(HEIGHT * total / (right - left))))


def _levels(report: Report) -> Iterator[Level]:
    last = int(report.timeline.there.max(initial=1)) or 1
    for name, memory in report.memory.items():
        if memory.scope == "global" or not memory.peak_bytes:
            continue
        needed = memory.peak_bytes
        capacity = memory.capacity_bytes
        shown = max(capacity, needed) if 4 * needed >= capacity else max(1, round(1.35 * needed))
        limit = round(HEIGHT * capacity / shown) if shown >= capacity else 0
        yield Level(name, _fill(report.occupancy.steps[name], last, shown), limit, needed > capacity)


def _fill(steps: Steps, last: int, scale: int) -> tuple[int, ...]:
    """The most that is allocated in each column."""
    edges = np.arange(COLUMNS + 1, dtype=np.int64) * last // COLUMNS
    times = np.asarray(steps.times, np.int64)
    sizes = np.asarray(steps.allocated, np.int64)
    if not len(times):
        return (0,) * COLUMNS
    firsts = np.maximum(0, np.searchsorted(times, edges[:-1], "right") - 1)
    behind = np.maximum(firsts + 1, np.searchsorted(times, edges[1:], "left"))
    highest = [int(sizes[a:b].max()) for a, b in zip(firsts.tolist(), behind.tolist(), strict=True)]
    return tuple(round(HEIGHT * size / scale) for size in highest)
