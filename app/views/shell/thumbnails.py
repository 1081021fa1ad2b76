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

from ....engine.hwsim import Report, Steps
from ....engine.ir import BlockRealize, Buffer, BufferRegion, Expr, For, Node, PrimFunc, TilewrightError, children
from ...actions.cell_actions import checked_text
from ...document import Notebook, evaluate, read_document
from ...state.derived import Store
from ...state.model import State
from ..labels.palette import buffer_colours, colours_by_name

Column = npt.NDArray[np.int64]

WIDTH = 1000
"""The scale of times: integers from 0 to WIDTH."""

HEIGHT = 100
"""The scale of fractions, such as a memory's fill: integers from 0 to HEIGHT."""

MAX_ROWS = 18
"""The maximum number of tree rows in a thumbnail; `left_away` counts the rest."""

MAX_BARS = 36
"""The maximum number of bars in a row; a row with more is drawn as columns."""

COLUMNS = 48
"""The number of columns in a row. A memory's column shows the maximum allocation within it."""

NO_BUFFER = 9
"""The colour index, a grey, for tasks and blocks without a buffer."""

Row = tuple[int, int, int]
"""Depth, width (of a loop by its trip count; of a block 0), colour index of the buffer that a block writes (of a loop -1)."""


Bar = tuple[int, int, int, int]
"""Start, end, colour index, and the engine's busy share of it in units of 1 / HEIGHT."""


class Lane(msgspec.Struct, frozen=True):
    """An engine's bars."""

    name: str
    bars: tuple[Bar, ...]


class Level(msgspec.Struct, frozen=True):
    """A memory's fill by column and its capacity, in units of 1 / HEIGHT; `limit` is 0 if the capacity is beyond the scale."""

    name: str
    fill: tuple[int, ...]
    limit: int
    over: bool


class Thumbnail(msgspec.Struct, frozen=True):
    """`text` is the digest of the notebook's text. Without a report, `cycles` is None and there are no lanes and levels."""

    text: str
    rows: tuple[Row, ...] = ()
    left_away: int = 0
    cycles: int | None = None
    overlap: float | None = None
    engines: tuple[Lane, ...] = ()
    memories: tuple[Level, ...] = ()


def digest(text: str) -> str:
    """The key of a thumbnail: 16 hex digits of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def thumbnail_of(text: str) -> Thumbnail:
    """The thumbnail of a notebook's text as the app would show it. An invalid notebook yields only the digest; a program that the machine
    cannot run has no report."""
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
    colours = colours_by_name(func)
    return msgspec.structs.replace(
        made,
        cycles=report.cycles,
        overlap=round(report.overlap, 4) if report.dma_cycles else None,
        engines=tuple(_lanes(report, colours)),
        memories=tuple(_levels(report)),
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
            yield depth, 0, colours.get(written[0], NO_BUFFER) if written else NO_BUFFER
        yield from _rows(func, child, depth + isinstance(child, For | BlockRealize), colours)


def _width(loop: For) -> int:
    """The bit length of the trip count; 4 for a symbolic extent."""
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
    """The colour index of each task: that of the buffer that it writes. All tasks of a variant write the same buffer."""
    found, first, which = np.unique(report.timeline.numbers, return_index=True, return_inverse=True)
    of_variant = np.full(len(found), NO_BUFFER, np.int64)
    for n, row in enumerate(first.tolist()):
        segment = report.segments[row]
        touched = (*segment.writes, *segment.reads)
        if touched:
            of_variant[n] = colours.get(touched[0].partition("#")[0], NO_BUFFER)
    return of_variant[which]


Piece = tuple[int, int, int]
"""Start, end, and the busy share in units of 1 / HEIGHT."""


def _shown(starts: Column, ends: Column, last: int) -> list[Piece]:
    """The busy pieces of a row: single tasks; above MAX_BARS, neighbours merged across small gaps; above it again, columns."""
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
    """The maximum allocation in each column, in units of `scale` / HEIGHT bytes."""
    edges = np.arange(COLUMNS + 1, dtype=np.int64) * last // COLUMNS
    times = np.asarray(steps.times, np.int64)
    sizes = np.asarray(steps.allocated, np.int64)
    if not len(times):
        return (0,) * COLUMNS
    firsts = np.maximum(0, np.searchsorted(times, edges[:-1], "right") - 1)
    behind = np.maximum(firsts + 1, np.searchsorted(times, edges[1:], "left"))
    highest = [int(sizes[a:b].max()) for a, b in zip(firsts.tolist(), behind.tolist(), strict=True)]
    return tuple(round(HEIGHT * size / scale) for size in highest)
