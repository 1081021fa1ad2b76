"""The grid of a buffer: a window of elements with their addresses and banks, and the elements of each access.

A buffer of any rank is shown as rows of its last axis. In a large window, a cell represents several elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import asdict, replace

from ....engine.cancellation import checkpoint
from ....engine.explore.space.layout_choices import Candidate
from ....engine.hwsim import BufferAccess, BufferPlacement, ElementAddresses, Report, accesses_of
from ...state.model import Look
from ..labels.values import Value
from .trials import LayoutTrial, placed, run_of

CELLS = 64
"""The maximum number of cells across and down."""
MOST_CELLED = 4 * CELLS
"""The maximum default width of a window whose cells hold several elements."""
MOST_ELEMENTS = 1 << 20
"""The maximum number of elements evaluated for one grid."""
THUMB = 32
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MOST_ACCESSES = 256
MOST_TAKEN = 12_000
MIXED = -1
UNIT_WORDS = {"bank": "bank", "block": "block", "set": "cache set", "burst": "burst", "memory": "memory"}


class MemoryUnit(Value, frozen=True, kw_only=True):
    """The part of a memory that serves one row at a time: its kind, how many there are, and the bytes of a row."""

    unit: Literal["bank", "block", "set", "burst", "memory"]
    unit_word: str
    unit_count: int
    row_bytes: int
    memory: str
    scope: str
    unit_text: str


class LayoutGrid(MemoryUnit, frozen=True, kw_only=True):
    """A window of the buffer's elements; its cells have `scale` × `scale` elements. `rows`, `columns` and `shape`
    are those of the buffer, `row` and `column` the first ones of the window, `height` and `width` its size in cells,
    `across` the requested width in elements. `base` is the address of the first element; `addresses` and `units` are
    those of the cells, row by row, a unit -1 for several. `preview` is the title of a previewed layout, `axes` are
    the names of the axes."""

    rows: int
    columns: int
    shape: list[int]
    row: int
    column: int
    height: int
    width: int
    scale: int
    across: int
    widest: int
    addresses: list[int]
    units: list[int]
    slot: int
    slots: int
    element_bytes: int
    base: int
    preview: str
    axes: tuple[str, ...] = ()


class LayoutThumb(Value, frozen=True):
    """A picture of a layout, one character per element: `shades` encodes the bank, else the address, from 0 to z;
    `blocks` the physical block. `own_axes`: its elements do not correspond to those of the current tile."""

    height: int
    width: int
    shades: str
    blocks: str
    own_axes: bool


class LayoutAccess(Value, frozen=True):
    """One access. `taken` has the positions of its elements as runs: start, step, count. `hits` are the units with
    its rows and those of other operands at the same time, which `others` names."""

    taken: list[int]
    size: int
    degree: int
    hits: list[tuple[int, int, int]]
    others: list[str]


class LayoutUse(Value, frozen=True, kw_only=True):
    """The accesses of one operand; `all`: `count` is their number, and not only a part; `worst` is the highest degree."""

    block: str
    engine: str
    kind: str
    written: bool
    takes: str
    run_bytes: int
    count: int = 0
    all: bool = False
    worst: int = 1
    steps: Sequence[LayoutAccess] = ()
    note: str = ""


def plane(shape: tuple[int, ...]) -> tuple[int, int]:
    """The numbers of rows and columns of the grid for a buffer."""
    return (prod(shape[:-1]), shape[-1]) if shape else (1, 1)


def grid_value(buffer_placement: BufferPlacement, look: Look, trial: LayoutTrial | None = None) -> LayoutGrid | None:
    """The grid. With a `trial`, the addresses of the same elements in the trial; None if the elements do not correspond."""
    rows, columns = plane(buffer_placement.shape)
    across = _across(buffer_placement, look, rows, columns)
    scale = max(1, -(-across // CELLS))
    across = min(across, CELLS * scale)
    slot = min(look.slot, buffer_placement.placement.slots - 1)
    row = max(0, min(look.row, rows - across))
    column = max(0, min(look.column, columns - across))
    height, width = (-(-min(across, n) // scale) for n in (rows - row, columns - column))
    seen = np.arange(row, min(rows, row + height * scale)), np.arange(column, min(columns, column + width * scale))
    there = buffer_placement if trial is None or trial.buffer_placement is None else trial.buffer_placement
    addresses = (
        _addresses(buffer_placement, *seen, slot)
        if trial is None
        else _spots_in(trial, there, buffer_placement, *seen, slot)
    )
    if addresses is None:
        return None
    units = _joined(addresses.unit, scale)
    addresses = addresses.address[::scale, ::scale]
    return LayoutGrid(
        rows=rows,
        columns=columns,
        shape=list(buffer_placement.shape),
        row=row,
        column=column,
        height=height,
        width=width,
        scale=scale,
        across=across,
        widest=_widest(rows, columns),
        addresses=addresses.reshape(-1).tolist(),
        units=units.reshape(-1).tolist(),
        slot=slot,
        slots=buffer_placement.placement.slots,
        element_bytes=buffer_placement.element_bytes,
        base=_base(there, min(slot, there.placement.slots - 1)),
        preview="" if trial is None else trial.candidate.title,
        **asdict(unit_value(there)),
    )


def _base(buffer_placement: BufferPlacement, slot: int) -> int:
    """The address of the first element of a slot, from which offsets count."""
    first = tuple(np.zeros(1, np.int64) for _ in buffer_placement.shape)
    return int(np.asarray(buffer_placement.addresses(first, slot).address).reshape(-1)[0])


def _across(buffer_placement: BufferPlacement, look: Look, rows: int, columns: int) -> int:
    """The window's width in elements: the requested one, else one element a cell; for physical blocks all elements, up to MOST_CELLED."""
    widest = _widest(rows, columns)
    whole = buffer_placement.unit.kind == "block" and widest <= MOST_CELLED
    return max(4, min(look.across or (widest if whole else CELLS), widest))


def _widest(rows: int, columns: int) -> int:
    """The width of a window over the whole buffer, limited by MOST_ELEMENTS."""
    widest = max(rows, columns)
    while min(widest, rows) * min(widest, columns) > MOST_ELEMENTS:
        widest //= 2
    return widest


def unit_value(buffer_placement: BufferPlacement) -> MemoryUnit:
    unit, memory = buffer_placement.unit, buffer_placement.placement.memory
    words = {
        "bank": f"{unit.count} banks of {unit.row_bytes} B rows",
        "block": f"{unit.count} physical blocks",
        "set": f"{unit.count} cache sets of {unit.row_bytes} B lines",
        "burst": f"bursts of {unit.row_bytes} B",
        "memory": "one bank",
    }[unit.kind]
    return MemoryUnit(
        unit=unit.kind,
        unit_word=UNIT_WORDS[unit.kind],
        unit_count=unit.count,
        row_bytes=unit.row_bytes,
        memory=memory.name,
        scope=memory.scope,
        unit_text=words,
    )


def _addresses(buffer_placement: BufferPlacement, rows: np.ndarray, columns: np.ndarray, slot: int) -> ElementAddresses:
    if not buffer_placement.shape:
        one = np.zeros((1, 1), np.int64)
        found = buffer_placement.addresses((), slot)
        return ElementAddresses(one + found.address, one + found.unit, one + found.row)
    return buffer_placement.addresses(points(buffer_placement.shape, rows, columns), slot)


def _spots_in(
    trial: LayoutTrial, there: BufferPlacement, now: BufferPlacement, rows: np.ndarray, columns: np.ndarray, slot: int
) -> ElementAddresses | None:
    """The addresses of the current tile's elements in a trial."""
    moved = placed(trial.candidate, there, now.shape, points(now.shape, rows, columns) if now.shape else ())
    return None if moved is None else there.addresses(moved, min(slot, there.placement.slots - 1))


def points(shape: tuple[int, ...], rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, ...]:
    """The indices of the elements in `rows` and `columns` of the plane, one array per axis."""
    lead = np.unravel_index(rows, shape[:-1]) if len(shape) > 1 else ()
    grid = (len(rows), len(columns))
    return (*(np.broadcast_to(axis[:, None], grid) for axis in lead), np.broadcast_to(columns, grid))


def _joined(units: np.ndarray, scale: int) -> np.ndarray:
    """The unit of each cell; MIXED if its elements are in several units."""
    if scale == 1:
        return units
    rows, columns = (-(-n // scale) * scale for n in units.shape)
    padded = np.pad(units, ((0, rows - units.shape[0]), (0, columns - units.shape[1])), mode="edge")
    cells = padded.reshape(rows // scale, scale, columns // scale, scale)
    low, high = cells.min(axis=(1, 3)), cells.max(axis=(1, 3))
    return np.where(low == high, low, MIXED)


class Thumb(msgspec.Struct, frozen=True, eq=False):
    """A thumbnail of a layout. `places` are the element addresses and units, for comparison; None if the elements do not correspond to
    those of the current tile."""

    value: LayoutThumb
    places: bytes | None


def thumb(candidate: Candidate, trial: BufferPlacement, now: BufferPlacement) -> Thumb:
    """The thumbnail of a candidate: the first elements of the current tile for banks and cache sets, else elements
    spread evenly over it."""
    near = trial.unit.kind in ("bank", "set")
    rows, columns = (_picked(n, near=near) for n in plane(now.shape))
    moved = placed(candidate, trial, now.shape, points(now.shape, rows, columns) if now.shape else ())
    if moved is None:
        rows, columns = (_picked(n, near=near) for n in plane(trial.shape))
    addresses = _addresses(trial, rows, columns, 0) if moved is None else trial.addresses(moved)
    low, high = int(addresses.address.min(initial=0)), int(addresses.address.max(initial=0))
    level = addresses.unit / max(trial.unit.count - 1, 1) if near else (addresses.address - low) / max(high - low, 1)
    blocks = _characters(addresses.unit % len(DIGITS)) if trial.unit.kind == "block" else ""
    shades = _characters(level * (len(DIGITS) - 1))
    value = LayoutThumb(len(rows), len(columns), shades, blocks, own_axes=moved is None)
    return Thumb(value, None if moved is None else addresses.address.tobytes() + addresses.unit.tobytes())


def _picked(extent: int, *, near: bool) -> np.ndarray:
    count = min(extent, THUMB)
    return np.arange(count) if near else np.linspace(0, extent - 1, count).astype(int)


def _characters(levels: np.ndarray) -> str:
    return "".join(DIGITS[n] for n in levels.astype(int).reshape(-1).tolist())


def uses_value(report: Report, buffer_placement: BufferPlacement) -> list[LayoutUse]:
    """The uses of the buffer: block, engine, kind; the first accesses with their elements, the rows in each bank, and the degree."""
    return [_use_value(use) for use in accesses_of(report.program, buffer_placement)]


def _use_value(use: BufferAccess) -> LayoutUse:
    listing = use.listing()
    value = LayoutUse(
        block=use.block,
        engine=use.engine,
        kind=use.engine_kind,
        written=use.written,
        takes=_takes(use),
        run_bytes=run_of(use),
    )
    if listing is None:
        return replace(value, note="its elements depend on data, or are unknown")
    ends = np.searchsorted(listing.access, np.arange(listing.count), "right").tolist()
    steps: list[LayoutAccess] = []
    begin = taken = 0
    for number, end in enumerate(ends[:MOST_ACCESSES]):
        positions = listing.position[begin : min(end, begin + MOST_TAKEN)]
        taken += len(positions)
        if steps and taken > MOST_TAKEN:
            break
        beside = [(name, address[access == number]) for name, access, address in listing.beside]
        steps.append(_step(use, positions, beside, int(listing.lost[number]) + 1, end - begin))
        begin = end
    worst = int(listing.lost.max(initial=0)) + 1
    return replace(value, count=listing.count, all=listing.whole, worst=worst, steps=steps)


def _step(
    use: BufferAccess, positions: np.ndarray, beside: list[tuple[str, np.ndarray]], degree: int, size: int
) -> LayoutAccess:
    checkpoint()
    buffer_placement = use.buffer_placement
    hits: list[tuple[int, int, int]] = []
    if buffer_placement.shape and buffer_placement.unit.kind in ("bank", "block", "set"):
        addresses = buffer_placement.addresses(np.unravel_index(positions, buffer_placement.shape))
        own = _rows_of(addresses.unit, addresses.row)
        rows = [address // buffer_placement.unit.row_bytes for _, address in beside]
        other = [_rows_of(row % buffer_placement.unit.count, row // buffer_placement.unit.count) for row in rows]
        units = sorted({*own, *(unit for found in other for unit in found)})
        hits = [(unit, own.get(unit, 0), sum(found.get(unit, 0) for found in other)) for unit in units]
    others = list(dict.fromkeys(name for name, _ in beside))
    return LayoutAccess(_runs(positions), size, degree, hits, others)


def _rows_of(units: np.ndarray, rows: np.ndarray) -> dict[int, int]:
    """The number of distinct rows in each unit."""
    pairs = np.unique(np.stack([units.reshape(-1), rows.reshape(-1)]), axis=1)
    found, counts = np.unique(pairs[0], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _runs(positions: np.ndarray) -> list[int]:
    """The positions run-length encoded for the browser: start, step, count, start, step, count, …"""
    found: list[int] = []
    values = positions.tolist()
    at = 0
    while at < len(values):
        step = values[at + 1] - values[at] if at + 1 < len(values) else 1
        end = at + 1
        while end < len(values) and values[end] - values[end - 1] == step:
            end += 1
        found += [values[at], step, end - at]
        at = end
    return found


def _takes(use: BufferAccess) -> str:
    size = use.buffer_placement.element_bytes
    match use.engine_kind:
        case "dma":
            return f"runs of {use.run_bytes} B"
        case "vector":
            return f"{use.width} lanes of {size} B"
        case "matrix":
            return "tile by tile"
        case _:
            return "element by element"
