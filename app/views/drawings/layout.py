"""The layout of a buffer as a drawing: its elements shaded by bank, and its facts beside them."""

from __future__ import annotations

from collections.abc import Iterator

from ..layouts.grid import LayoutGrid
from ..layouts.value import LayoutPicker
from .canvas import Canvas, Theme, number, shortened, text_width

MARGIN, HEAD, FACT, SIDE = 12, 34, 19, 256
FACTS_WIDTH, NAMES = 330, 92
SHADES = 8
"""The number of opacity levels of the buffer's colour; with more banks, banks share a level, as on the page."""

HATCHES = ("", "forward", "back", "dots")


def layout_svg(picker: LayoutPicker | None, *, theme: Theme = "auto") -> str:
    """The drawing of `views.layouts.layout_value` without its controls and cards. `picker` is None if no buffer is chosen."""
    canvas = Canvas(theme)
    if picker is None:
        canvas.text("no such buffer", MARGIN, 20, "muted", size=12)
        return canvas.finished(FACTS_WIDTH, 40, "No such buffer")
    title = f"{picker.name}"
    canvas.text(title, MARGIN, 18, size=13, bold=True)
    what = f"{picker.dtype} in {picker.scope}"
    canvas.text(what, MARGIN + text_width(title, 13, bold=True) + 10, 18, "muted")
    grid = picker.grid
    left = MARGIN if grid is None else MARGIN + SIDE + 20
    bottom = HEAD if grid is None else _grid(canvas, grid, f"buffer-{picker.colour}")
    y = float(HEAD)
    for name, value, _ in picker.facts:
        canvas.text(name, left, y + FACT / 2, "muted", size=12)
        canvas.text(shortened(value, FACTS_WIDTH - NAMES, 12), left + NAMES, y + FACT / 2, size=12)
        y += FACT
    if picker.note:
        canvas.text(shortened(picker.note, FACTS_WIDTH, 12), left, y + FACT / 2, "muted", size=12)
        y += FACT
    label = f"Layout of {title}, {what}: " + ", ".join(f"{name} {value}" for name, value, _ in picker.facts)
    return canvas.finished(left + FACTS_WIDTH, max(y, bottom) + MARGIN, label)


def _grid(canvas: Canvas, grid: LayoutGrid, ink: str) -> float:
    """Draw the cells as runs of one bank; return the lower end of the grid."""
    cell = SIDE / max(grid.width, grid.height)
    found: dict[int, list[str]] = {}
    for unit, row, start, end in _runs(grid):
        x, y = MARGIN + start * cell, HEAD + row * cell
        box = f"M{number(x)} {number(y)}h{number((end - start) * cell)}v{number(cell)}h{number((start - end) * cell)}z"
        found.setdefault(unit, []).append(box)
    count = max(1, grid.unit_count)
    for unit, boxes in sorted(found.items()):
        if unit < 0:
            canvas.path("".join(boxes), ink, hatch="sparse", opacity=0.5)
            continue
        level = (unit % count) * min(SHADES, count) // count / max(1, min(SHADES, count) - 1)
        canvas.path("".join(boxes), ink, opacity=0.25 + 0.75 * level)
        if grid.unit == "block" and (hatch := HATCHES[unit % len(HATCHES)]):
            canvas.path("".join(boxes), "surface", hatch=hatch, opacity=0.5)
    wide, high = grid.width * cell, grid.height * cell
    canvas.path(f"M{MARGIN} {HEAD}h{number(wide)}v{number(high)}h{number(-wide)}z", stroke="line-strong")
    shown = (
        "all elements"
        if (grid.height * grid.scale, grid.width * grid.scale) >= (grid.rows, grid.columns)
        else "a corner"
    )
    said = f"{shown} {grid.rows} × {grid.columns}, in {grid.unit_text} of {grid.memory}"
    canvas.text(shortened(said, SIDE + 20, 11), MARGIN, HEAD + high + 13, "muted")
    return HEAD + high + 22


def _runs(grid: LayoutGrid) -> Iterator[tuple[int, int, int, int]]:
    """The runs of cells with one unit: (unit, row, first column, column after the last)."""
    width, units = grid.width, grid.units
    for row in range(grid.height):
        line = units[row * width : (row + 1) * width]
        start = 0
        for column in range(1, len(line) + 1):
            if column == len(line) or line[column] != line[start]:
                yield line[start], row, start, column
                start = column
