"""The loop tree as a drawing: the rows of the page, blocks as cards with their buffers, and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..tree.costs import Cost, CostPart
from ..tree.rows import Badge, BufferChip, Row
from .canvas import Canvas, TextPiece, Theme, text_width

MARGIN = 12
STEP = 16
LOOP_HEIGHT, BLOCK_HEIGHT, HEAD_HEIGHT = 22, 32, 30
LEAST_WIDTH = 380
GAP = 22
LOOP_INDENT = 16
COST_BAR, COST = 56, 118
"""The width of a cost bar, and of bar, text and surrounding space."""

LETTERS = {"spatial": "S", "reduce": "R", "scan": "C", "opaque": "O"}
TONES = {"accent": "accent", "warn": "warn", "good": "good", "bad": "bad"}


def tree_svg(
    rows: Sequence[Row], costs: Mapping[str, Cost] | None = None, *, title: str = "", theme: Theme = "auto"
) -> str:
    """The drawing of `views.tree.tree_rows`, with cycle bars if `views.costs.row_costs` are given."""
    canvas = Canvas(theme)
    costs = costs or {}
    wide = max([LEAST_WIDTH, *(_natural_width(row) for row in rows), text_width(title, 13, bold=True) + 2 * MARGIN])
    width = wide + (COST if costs else 0)
    top = HEAD_HEIGHT if title or costs else 6
    if title:
        canvas.text(title, MARGIN, 17, size=13, bold=True)
    if costs:
        canvas.text("busy cycles", width - MARGIN, 17, "muted", size=10, anchor="end")
    places: dict[str, tuple[float, float]] = {}
    y = float(top)
    for row in rows:
        height = BLOCK_HEIGHT if row.kind == "block" else LOOP_HEIGHT
        places[row.id] = (y, y + height)
        y += height
    _guides(canvas, rows, places)
    for row in rows:
        begin, end = places[row.id]
        with canvas.group(row.tooltip, row=row.id, kind=row.kind, depth=row.depth):
            (_block if row.kind == "block" else _loop)(canvas, row, (begin + end) / 2, wide)
            if row.id in costs:
                _cost(canvas, costs[row.id].cycles, (begin + end) / 2, width)
    if not rows:
        canvas.text("no loops and no blocks", MARGIN, y + 11, "muted", size=12)
        y += LOOP_HEIGHT
    blocks = sum(row.kind == "block" for row in rows)
    label = f"Loop tree{f' of {title}' if title else ''}: {len(rows) - blocks} loops, {blocks} blocks"
    return canvas.finished(width, y + 8, label)


def _left(row: Row) -> float:
    return MARGIN + STEP * row.depth


def _guides(canvas: Canvas, rows: Sequence[Row], places: Mapping[str, tuple[float, float]]) -> None:
    """Draw a line from each row along all its descendants."""
    last: dict[str, float] = {}
    parents = {row.id: row.parent for row in rows}
    for row in rows:
        above = row.parent
        while above:
            last[above] = places[row.id][1]
            above = parents.get(above, "")
    for row in rows:
        if row.id in last:
            x = _left(row) + 4.5
            canvas.line(x, places[row.id][1] - 3, x, last[row.id] - 4, "line-strong")


def _loop(canvas: Canvas, row: Row, y: float, _: float) -> None:
    canvas.path(f"M{_left(row) + 1.5} {y - 2}l3 4 3-4", stroke="faint", width=1.4)
    canvas.words(_loop_words(row), _left(row) + LOOP_INDENT, y)


def _loop_words(row: Row) -> list[TextPiece]:
    words = [
        TextPiece(row.name, size=12.5, bold=True, mono=True),
        TextPiece(row.extent, "muted", 12.5, mono=True),
    ]
    if row.variable:
        words.append(TextPiece(row.variable, "muted", mono=True))
    if row.reduces:
        words.append(TextPiece("Σ", "faint", 12))
    if row.detail:
        words.append(TextPiece(row.detail, "accent", bold=True))
    return words + [TextPiece(badge.text, TONES.get(badge.tone, "muted"), 10.5, bold=True) for badge in row.badges]


def _block(canvas: Canvas, row: Row, y: float, width: float) -> None:
    left = float(_left(row))
    right = width - MARGIN
    half = BLOCK_HEIGHT / 2 - 2
    colour = f"buffer-{row.writes[0].colour}" if row.writes else "line-strong"
    canvas.rect(left, y - half, right - left, 2 * half, "raised", stroke="line-strong", radius=4)
    canvas.path(f"M{left + 4} {y - half}h-1a3 3 0 0 0-3 3v{2 * half - 6}a3 3 0 0 0 3 3h1z", colour)
    x = left + 13
    canvas.text(row.name, x, y, size=12.5, bold=True, mono=True)
    x += text_width(row.name, 12.5, mono=True) + 8
    if row.variable:
        canvas.text(row.variable, x, y, "muted", size=11, mono=True)
        x += text_width(row.variable, 11, mono=True) + 8
    for iterator in row.iters:
        reduces = iterator.type == "reduce"
        canvas.rect(
            x,
            y - 6.5,
            12,
            13,
            "warn-soft" if reduces else "sunken",
            radius=3,
            tip=f"{iterator.name}: {iterator.type}",
        )
        canvas.text(
            LETTERS.get(iterator.type, "?"),
            x + 6,
            y,
            "warn" if reduces else "faint",
            size=9.5,
            mono=True,
            anchor="middle",
        )
        x += 14
    x += 6 if row.iters else 0
    for badge in row.badges:
        x += _badge(canvas, badge, x, y) + 6
    if row.detail:
        canvas.text(row.detail, x, y, "muted", size=11)
    _flow(canvas, row, right - 9, y)


def _badge(canvas: Canvas, badge: Badge, x: float, y: float) -> float:
    tone = TONES.get(badge.tone, "")
    width = text_width(badge.text, 10.5, bold=True) + 8
    canvas.rect(x, y - 8, width, 16, f"{tone}-soft" if tone else "sunken", radius=4, tip=badge.tip)
    canvas.text(badge.text, x + width / 2, y, tone or "muted", size=10.5, bold=True, anchor="middle")
    return width


def _flow(canvas: Canvas, row: Row, right: float, y: float) -> None:
    """Draw the read buffers, an arrow and the written buffers, right-aligned in the card."""
    x = right - _flow_width(row)
    for buffer in row.reads:
        x = _chip(canvas, buffer, x, y, written=False)
    canvas.text("→", x, y, "faint", size=12)
    x += 17
    for buffer in row.writes:
        x = _chip(canvas, buffer, x, y, written=True)


def _chip(canvas: Canvas, buffer: BufferChip, x: float, y: float, *, written: bool) -> float:
    canvas.rect(x, y - 4, 8, 8, f"buffer-{buffer.colour}", radius=2)
    x += 12
    canvas.text(buffer.name, x, y, size=11, mono=True)
    x += text_width(buffer.name, 11, mono=True) + 5
    for text, ink in _chip_words(buffer, written=written):
        canvas.text(text, x, y, ink, size=11)
        x += text_width(text, 11) + 5
    return x + 6


def _chip_words(buffer: BufferChip, *, written: bool) -> list[tuple[str, str]]:
    """The scope and size of a written buffer; empty for a read. The scope is omitted if the name contains it."""
    if not written:
        return []
    scope = "" if f"_{buffer.scope}" in buffer.name else buffer.scope
    return [(text, ink) for text, ink in ((scope, "faint"), (buffer.bytes, "muted")) if text]


def _chip_width(buffer: BufferChip, *, written: bool) -> float:
    words = _chip_words(buffer, written=written)
    return 12 + text_width(buffer.name, 11, mono=True) + 5 + sum(text_width(t, 11) + 5 for t, _ in words) + 6


def _flow_width(row: Row) -> float:
    chips = [(buffer, False) for buffer in row.reads] + [(buffer, True) for buffer in row.writes]
    return 17 + sum(_chip_width(buffer, written=written) for buffer, written in chips) - (11 if row.writes else 0)


def _natural_width(row: Row) -> float:
    """The width that a row needs for its full text, margins included."""
    if row.kind == "loop":
        return _left(row) + LOOP_INDENT + sum(word.width + word.gap for word in _loop_words(row)) + MARGIN
    words = 13 + text_width(row.name, 12.5, mono=True) + 8 + 14 * len(row.iters) + 6
    words += text_width(row.variable, 11, mono=True) + 8 if row.variable else 0
    words += sum(text_width(badge.text, 10.5, bold=True) + 14 for badge in row.badges)
    words += text_width(row.detail, 11)
    return _left(row) + words + GAP + _flow_width(row) + 9 + MARGIN


def _cost(canvas: Canvas, cost: CostPart, y: float, width: float) -> None:
    if not cost.share:
        return
    x = width - COST + 2
    canvas.rect(x, y - 3, COST_BAR, 6, "sunken", radius=3)
    canvas.rect(
        x,
        y - 3,
        max(1.5, COST_BAR * cost.share),
        6,
        "accent",
        radius=min(3, COST_BAR * cost.share / 2),
        tip=cost.tip,
    )
    canvas.text(cost.text, width - MARGIN, y, "muted", size=11, mono=True, anchor="end")
