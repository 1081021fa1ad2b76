"""Candidate layouts of a buffer, each as one schedule call; the simulator evaluates them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import gcd
from typing import Any, Protocol, cast

import msgspec

from ...adopt.kernels.layouts import MAKERS, PADDED
from ...hwsim import BufferPlacement, Report, placement_of
from ...ir import AXIS_SEPARATOR, Block, IndexMap, Var, build
from ...ir.build import Term
from ...script import read_calls

SEPARATOR = "AXIS_SEPARATOR"
MOST_ORDERS = 3
MOST_LAYOUTS = 4
NAMED = ("banks", "assume_injective_transform", "pad_value")
TILES = (32, 16, 8, 4)
WIDE = 16
"""Bytes of a wide load, which needs rows that begin at multiples of it."""


class LayoutAccess(Protocol):
    """A block that reads or writes the buffer. Calls name the block by `row` and the buffer by `argument`."""

    @property
    def row(self) -> str: ...
    @property
    def side(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def argument(self) -> list[Any]: ...


class Candidate(msgspec.Struct, frozen=True):
    """A layout as the call `method(target, **arguments)`, its arguments as a form sends them. `method` is "" for the present layout.

    `index_map` maps elements to their places, `note` describes the layout.
    """

    key: str
    title: str
    note: str
    method: str = ""
    target: str = ""
    arguments: tuple[tuple[str, Any], ...] = ()
    index_map: str = ""

    @property
    def text(self) -> str:
        """The call as source text."""
        if not self.method:
            return ""
        if self.method == KERNEL_LAYOUT:
            return self.title
        words = [_argument(name, value) for name, value in self.arguments]
        return f"sch.{self.method}({', '.join([self.target, *words])})"


def _argument(name: str, value: Any) -> str:
    """An argument as in the line of the notebook: required arguments are positional."""
    text = value if name == "index_map" else _word(value)
    return f"{name}={text}" if name in NAMED else text


def _word(value: Any) -> str:
    if isinstance(value, list):
        value = cast("list[Any]", value)
        inner = ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in value)
        return f"({inner})" if any(isinstance(v, str) for v in value) else f"[{inner}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


KERNEL_LAYOUT = "kernel_layout"
"""The edit of `T.annotate_layout` in a TileLang kernel's text."""


class LayoutSubject(msgspec.Struct, frozen=True, eq=False):
    """The buffer to lay out: the block by which a call names it, its declared extents (None if one is symbolic), the names of its axes,
    and its present placement."""

    access: LayoutAccess
    extents: tuple[int, ...] | None
    names: tuple[str, ...]
    buffer_placement: BufferPlacement
    is_param: bool

    @property
    def tile(self) -> tuple[int, ...]:
        """The live extent of each axis; the whole extents if the live part has a different rank."""
        live = self.buffer_placement.shape
        return live if len(live) == len(self.names) else self.extents or ()


NOW = Candidate("now", "unchanged", "the layout of the shown program")


def candidates_of(subject: LayoutSubject) -> tuple[Candidate, ...]:
    """Layouts for a buffer, the present one first."""
    if not subject.names:
        return (NOW,)
    found = [NOW, *_orders(subject)]
    if subject.extents is not None:
        found += [*_banked(subject, subject.extents), *_tiled(subject), *_swizzled(subject)]
    elif not subject.is_param and len(subject.tile) == len(subject.names):
        found += _banked(subject, tuple(None for _ in subject.names))
    found += [*_padded(subject), *_whole_orders(subject)]
    return tuple({c.key: c for c in found}.values())


def kernel_candidates(subject: LayoutSubject, buffer: str) -> tuple[Candidate, ...]:
    """Layouts of a shared buffer that an entry of `T.annotate_layout` gives it, the present one first."""
    extents, size = subject.extents, subject.buffer_placement.element_bytes
    if extents is None or len(extents) < 2:
        return (NOW,)
    rows, columns = extents[-2:]
    widths = {"swizzled": 32, "half_bank_swizzled": 64, "quarter_bank_swizzled": 32}
    titles = {
        "swizzled": ("swizzle", "16 B columns permuted by the row, as wide as rows allow"),
        "half_bank_swizzled": ("swizzle of 64 B", "16 B columns permuted by the row, in 64 B"),
        "quarter_bank_swizzled": ("swizzle of 32 B", "16 B columns permuted by the row, in 32 B"),
        "linear": ("linear", "row-major, without swizzle"),
    }
    names = [n for n in MAKERS if n == "linear" or (columns * size % widths[n] == 0 and rows % 8 == 0)]
    found = [(name, *titles[name]) for name in names]
    if len(extents) == 2 and WIDE % size == 0:
        padding = WIDE // size
        found.append((f"{PADDED}{columns + padding}", f"padded by {padding}", f"{WIDE} B of padding per row"))
    found.append(("", "by the compiler", "no entry of T.annotate_layout"))
    row = subject.access.row
    return (
        NOW,
        *(
            Candidate(layout or "compiler", title, note, KERNEL_LAYOUT, row, (("buffer", buffer), ("layout", layout)))
            for layout, title, note in found
        ),
    )


def mapped(
    subject: LayoutSubject, key: str, title: str, note: str, indices: Sequence[str], *, trusted: bool = False
) -> Candidate:
    """A layout by an index map. A `trusted` map is no sum of quotients and remainders: it is tried out element by element."""
    text = f"lambda {', '.join(subject.names)}: [{', '.join(indices)}]"
    return by_map(subject.access, text, key, title, note, trusted=trusted)


def by_map(
    access: LayoutAccess, text: str, key: str, title: str, note: str = "", *, trusted: bool = False
) -> Candidate:
    """The call that lays out a buffer by the index map `text`."""
    arguments: list[tuple[str, Any]] = [("buffer", access.argument), ("index_map", text)]
    if trusted:
        arguments.append(("assume_injective_transform", True))
    return Candidate(key, title, note, "transform_layout", access.row, tuple(arguments), text)


def _orders(subject: LayoutSubject) -> Iterator[Candidate]:
    """Other orders of the axes; unit axes keep their positions."""
    rank, tile = len(subject.names), subject.tile
    wide = [n for n in range(rank) if not tile or n >= len(tile) or tile[n] > 1]
    if len(wide) < 2:
        return
    orders: list[list[int]] = []
    for chosen in [tuple(reversed(wide)), (*wide[1:], wide[0]), *permutations(wide)][: 2 + 24]:
        order = list(range(rank))
        for place, axis in zip(wide, chosen, strict=True):
            order[place] = axis
        if order not in orders and order != list(range(rank)):
            orders.append(order)
    yield from (_order(subject, order) for order in orders[:MOST_ORDERS])


def _whole_orders(subject: LayoutSubject) -> Iterator[Candidate]:
    """Orders of all axes, for a buffer of which only a part lives at a time: the part has unit axes, which `_orders` leaves in place."""
    rank, tile = len(subject.names), subject.tile
    if rank > 2 and len(tile) == rank and 1 in tile and any(live > 1 for live in tile):
        for order in ([*range(1, rank), 0], list(reversed(range(rank)))):
            yield _order(subject, order)


def _order(subject: LayoutSubject, order: list[int]) -> Candidate:
    names = ", ".join(subject.names[n] for n in order)
    title = "column-major" if len(order) == 2 else f"order {names}"
    arguments = (("buffer", subject.access.argument), ("order_or_strides", order))
    note = f"{subject.names[order[-1]]} is the innermost axis"
    index_map = f"lambda {', '.join(subject.names)}: [{names}]"
    return Candidate(f"order {order}", title, note, "set_layout", subject.access.row, arguments, index_map)


def _banked(subject: LayoutSubject, extents: Sequence[int | None]) -> Iterator[Candidate]:
    """Layouts over the physical blocks of a memory: a part of the live tile in each block, or whole tiles in turn. Of a symbolic extent
    (None) nobody knows that the tile divides it: its map is trusted, and the last tile may have places without an element."""
    blocks = subject.buffer_placement.unit.count
    if subject.buffer_placement.unit.kind != "block" or blocks < 2:
        return
    for axis, (name, extent, live) in enumerate(zip(subject.names, extents, subject.tile, strict=True)):
        if live % blocks == 0 and (extent is None or extent % live == 0):
            part = live // blocks
            which = f"{name} // {part}" if live == extent else f"{name} // {part} % {blocks}"
            rest = [f"{name} % {part}"] if live == extent else [f"{name} // {live}", f"{name} % {part}"]
            note = f"{'half' if blocks == 2 else f'1/{blocks}'} of {name} in each block"
            yield mapped(subject, f"parts {axis}", f"[{blocks}][…] parts of {name}", note,
                         [which, SEPARATOR, *_in_place(subject, {axis: rest})], trusted=extent is None)  # fmt: skip
        if extent is not None and live < extent and extent % (live * blocks) == 0:
            rest = [f"{name} // {live * blocks}", f"{name} % {live}"]
            yield mapped(subject, f"turns {axis}", f"[{blocks}][…] tiles of {name} in turn", "consecutive tiles in consecutive blocks",
                         [f"{name} // {live} % {blocks}", SEPARATOR, *_in_place(subject, {axis: rest})])  # fmt: skip


def _in_place(subject: LayoutSubject, new: dict[int, list[str]]) -> list[str]:
    return [part for n, name in enumerate(subject.names) for part in new.get(n, [name])]


def _tiled(subject: LayoutSubject) -> Iterator[Candidate]:
    """Tiles of the last two axes with a live extent above 1, each tile contiguous."""
    assert subject.extents is not None
    wide = [n for n, live in enumerate(subject.tile) if live > 1][-2:]
    if len(wide) < 2:
        return
    row, column = wide
    for size in TILES:
        if all(subject.tile[n] % size == 0 and subject.extents[n] % size == 0 and subject.tile[n] > size for n in wide):
            outer = _in_place(subject, {n: [f"{subject.names[n]} // {size}"] for n in wide})
            inner = [f"{subject.names[row]} % {size}", f"{subject.names[column]} % {size}"]
            yield mapped(
                subject, f"tiled {size}", f"tiled {size} × {size}", "each tile is contiguous", [*outer, *inner]
            )
            return


def _swizzled(subject: LayoutSubject) -> Iterator[Candidate]:
    """The columns of each row permuted by xor with the row number: a column is in a different bank in each row, without padding."""
    unit, size = subject.buffer_placement.unit, subject.buffer_placement.element_bytes
    wide = [n for n, live in enumerate(subject.tile) if live > 1][-2:]
    if unit.kind not in ("bank", "set") or len(wide) < 2 or wide[1] != len(subject.names) - 1:
        return
    assert subject.extents is not None
    i, j = (subject.names[n] for n in wide)
    live, extent = subject.tile[wide[1]], subject.extents[wide[1]]
    row = max(1, unit.row_bytes // size)
    # Pieces of one bank row never conflict; pieces of a wide load keep its elements together.
    for per, key, note in (
        (row, "swizzled", "no padding"),
        (WIDE // size, "swizzled wide", f"{WIDE} B stay contiguous"),
    ):
        width = _power_below(min(unit.count * row // max(per, 1), live // max(per, 1))) if per >= row else 0
        if width < 2 or extent % (width * per) or (key != "swizzled" and per == row):
            continue
        fast = f"{j} % {width} ^ {i} % {width}" if per == 1 else f"{j} // {per} % {width} ^ {i} % {width}"
        parts = [fast] if per == 1 else [fast, f"{j} % {per}"]
        if extent > width * per:
            parts = [f"{j} // {width * per}", *parts]
        title = "swizzled (xor)" if key == "swizzled" else f"swizzled by {WIDE} B"
        yield mapped(subject, key, title, f"columns rotated by {i}, {note}",
                     _in_place(subject, {wide[1]: parts}), trusted=True)  # fmt: skip


def _power_below(number: int) -> int:
    return 1 << max(number, 1).bit_length() - 1


def _padded(subject: LayoutSubject) -> Iterator[Candidate]:
    """Rows further apart by one row of a bank, or by 16 bytes, as wide loads require."""
    access, unit, size = subject.access, subject.buffer_placement.unit, subject.buffer_placement.element_bytes
    rank = len(subject.names)
    if subject.is_param or rank < 2 or access.side != "write":
        return
    banked = unit.kind in ("bank", "set")
    period = max(1, (unit.row_bytes * unit.count if banked else max(unit.row_bytes, 64)) // size)
    factor = gcd(period, subject.tile[-1] if subject.tile else period)
    for room in dict.fromkeys((max(size, unit.row_bytes), WIDE) if banked else (WIDE,)):
        offset = max(1, room // size)
        if offset >= factor:
            continue
        arguments = (("buffer_index", access.position), ("axis", rank - 2), ("factor", factor), ("offset", offset))
        yield Candidate(
            f"padded {offset}", f"padded by {offset}", f"rows {offset * size} B of padding per row", "storage_align", access.row, arguments
        )  # fmt: skip


class _Written(msgspec.Struct, frozen=True):
    """The block that fills a buffer, as an Access."""

    row: str
    side: str = "write"
    position: int = 0

    @property
    def argument(self) -> list[Any]:
        return [self.side, self.position]


def layout_maps(report: Report, block: Block) -> tuple[IndexMap, ...]:
    """Index maps for the buffer that a block fills, the present layout first: over the blocks of its memory if it has several, all known
    ones if bank conflicts cost cycles. Empty if neither applies."""
    name = block.writes[0].buffer.name
    placement = next((p for p in report.program.places.placements if p.buffer.name == name), None)
    buffer_placement = None if placement is None else placement_of(report.program, placement.buffer)
    shape = [build.int_value(e) for e in block.writes[0].buffer.shape]
    extents = tuple(e for e in shape if e is not None)
    if buffer_placement is None or not extents or len(extents) != len(shape):
        return ()
    conflicts = any(name in row.buffers and row.cycles for row in report.conflicts)
    if buffer_placement.unit.kind != "block" and not conflicts:
        return ()
    names = tuple(f"i{n}" for n in range(len(extents)))
    found = candidates_of(LayoutSubject(_Written(block.name), extents, names, buffer_placement, is_param=False))
    wanted = [c for c in found if c.index_map and c.method and (conflicts or c.key.startswith(("parts", "turns")))]
    same = f"lambda {', '.join(names)}: [{', '.join(names)}]"
    return tuple(map(index_map_of, (same, *(c.index_map for c in wanted[:MOST_LAYOUTS]))))


def index_map_of(text: str) -> IndexMap:
    """The index map that a text such as `lambda i, j: [j, i]` gives. Raises ParseError."""
    (value,) = read_calls(f"index_map = {text}")[0].args
    assert isinstance(value, IndexMap)
    return value


def column_layouts(rank: int, columns: int, blocks: int) -> tuple[IndexMap, IndexMap]:
    """Index maps: the identity, and groups of columns distributed over the blocks in turn."""
    axes = [Var(f"i{n}") for n in range(rank)]
    last = Term(axes[-1])
    parts = (last // columns % blocks, AXIS_SEPARATOR, *axes[:-1], last // (columns * blocks), last % columns)
    return IndexMap.from_items(axes, axes), IndexMap.from_items(axes, parts)
