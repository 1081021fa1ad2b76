"""The picture of a figure for outputs without a script: a saved notebook, the HTML of nbconvert, a page of text and pictures.

Bokeh draws in the browser only, and exports pictures with one. `svg_of` draws the glyphs that our figures use, from their own data.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any, cast
from xml.sax.saxutils import quoteattr

from bokeh.io import show
from bokeh.io.state import curstate
from bokeh.models import (
    Axis,
    ColumnDataSource,
    FactorRange,
    FixedTicker,
    GlyphRenderer,
    LogScale,
    LogTicker,
    NumeralTickFormatter,
    Range,
)
from bokeh.plotting import figure

from ..views.drawings.canvas import number, shortened, text_width
from ..views.labels.numbers import size_text

WIDTH = 900
TOP, RIGHT, BOTTOM = 16, 20, 40
SIZE = 11

Row = dict[str, Any]


def with_picture(drawn: figure, words: str) -> figure:
    """Make a figure that ends a cell of a notebook appear as a picture, and also live after `bokeh.io.output_notebook()` or
    `panel.extension()`; `words` describe it for readers without sight."""
    drawn.tags = [*drawn.tags, words]

    def output(include: Any = None, exclude: Any = None) -> dict[str, str]:
        if curstate().notebook:  # the notebook has loaded Bokeh's script
            show(drawn)
        return {"text/plain": words, "text/html": _html(drawn, words)}

    # Names with an underscore are the only ones that a Bokeh model accepts beside its properties.
    drawn._repr_mimebundle_ = output  # pyright: ignore[reportAttributeAccessIssue]
    return drawn


def _html(drawn: figure, words: str) -> str:
    """The picture as an image, which a front end hides after the live figure."""
    data = base64.b64encode(svg_of(drawn).encode()).decode()
    name = f"tw-plot-{drawn.id}"
    hidden = f".jp-OutputArea-child:has(.bk-Figure) + .jp-OutputArea-child:has(#{name}) {{ display: none; }}"
    image = (
        f'<img alt={quoteattr(words)} style="max-width: 100%; display: block" src="data:image/svg+xml;base64,{data}">'
    )
    return f'<div id="{name}"><style>{hidden}</style>{image}</div>'


def words_of(drawn: figure) -> str:
    """The description of a figure."""
    return next((str(tag) for tag in drawn.tags), "")


def svg_of(drawn: figure, width: int = WIDTH) -> str:
    """The figure as SVG, `width` pixels wide."""
    return _Picture(drawn, width).svg()


class _Picture:
    """Draws one figure."""

    def __init__(self, drawn: figure, width: int) -> None:
        self._drawn = drawn
        self._height = int(drawn.height or 300)
        self._parts: list[str] = []
        labels = [text_width(text, SIZE) for _, text in _ticks(drawn.yaxis[0], *_ends(drawn.y_range))]
        self._left = min(0.4 * width, max([40.0, *labels]) + 14)
        right = [a for a in drawn.right if isinstance(a, Axis)]
        wide = [text_width(text, SIZE) for axis in right for _, text in _ticks(axis, *_ends(drawn.y_range))]
        self._right = width - max([RIGHT, *(w + 12 for w in wide)])
        above = [a for a in drawn.above if isinstance(a, Axis)]
        self._top, self._bottom, self._width = TOP + 18 * len(above), self._height - BOTTOM, width

    def svg(self) -> str:
        drawn = self._drawn
        frame = (self._left, self._top, self._right - self._left, self._bottom - self._top)
        ground = _paint(drawn.border_fill_color)
        self._add("rect", x=0, y=0, width=self._width, height=self._height, rx=6, **ground)
        self._grid()
        clip = f"clip-{drawn.id}"
        self._parts.append(f'<clipPath id="{clip}">')
        self._add("rect", x=frame[0], y=frame[1], width=frame[2], height=frame[3])
        self._parts.append(f'</clipPath><g clip-path="url(#{clip})">')
        for renderer in drawn.renderers:
            if isinstance(renderer, GlyphRenderer) and renderer.visible:
                self._glyphs(renderer)
        self._parts.append("</g>")
        self._add(
            "rect",
            x=frame[0],
            y=frame[1],
            width=frame[2],
            height=frame[3],
            fill="none",
            stroke=drawn.outline_line_color,
        )
        self._axes()
        words = escape(words_of(drawn))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width} {self._height}" width="{self._width}" '
            f'height="{self._height}" role="img" aria-label="{words}" font-family="system-ui, sans-serif"><title>{words}</title>'
            f"{''.join(self._parts)}</svg>\n"
        )

    # Axes.

    def _grid(self) -> None:
        drawn = self._drawn
        for grid, axis, place in ((drawn.xgrid[0], drawn.xaxis[0], self._x), (drawn.ygrid[0], drawn.yaxis[0], self._y)):
            if grid.grid_line_color is None:
                continue
            is_x = place == self._x
            for at, _ in _ticks(axis, *_ends(drawn.x_range if is_x else drawn.y_range)):
                p = place(at)
                ends = (p, self._top, p, self._bottom) if is_x else (self._left, p, self._right, p)
                self._line(*ends, stroke=grid.grid_line_color)

    def _axes(self) -> None:
        drawn = self._drawn
        middle = (self._left + self._right) / 2
        below = [(a, self._bottom, 14) for a in drawn.below if isinstance(a, Axis)]
        for axis, y, by in (*below, *((a, self._top, -6) for a in drawn.above if isinstance(a, Axis))):
            if not axis.visible:
                continue
            colour = axis.major_label_text_color
            for at, text in _ticks(axis, *_ends(drawn.x_range)):
                self._text(text, self._x(at), y + by, colour, "middle")
            if axis.axis_label and by > 0:
                self._text(str(axis.axis_label), middle, self._bottom + 30, colour, "middle")
        sides = (
            (drawn.yaxis[0], self._left - 6, "end"),
            *((a, self._right + 6, "start") for a in drawn.right if isinstance(a, Axis)),
        )
        for axis, x, anchor in sides:
            if not axis.visible:
                continue
            room = self._left - 10 if anchor == "end" else self._width - x
            for at, text in _ticks(axis, *_ends(drawn.y_range)):
                self._text(shortened(text, room, SIZE), x, self._y(at) + 4, axis.major_label_text_color, anchor)
            if axis.axis_label and anchor == "end":
                self._text(str(axis.axis_label), self._left, self._top - 6, axis.major_label_text_color, "start")

    # Glyphs.

    def _glyphs(self, renderer: GlyphRenderer) -> None:
        glyph: Any = renderer.glyph
        draw: Callable[[Row], None] | None = getattr(self, f"_draw_{type(glyph).__name__.lower()}", None)
        if draw is None:
            raise NotImplementedError(f"a picture has no {type(glyph).__name__}")
        self._x_range = self._drawn.extra_x_ranges.get(renderer.x_range_name, self._drawn.x_range)
        self._y_range = self._drawn.extra_y_ranges.get(renderer.y_range_name, self._drawn.y_range)
        if type(glyph).__name__ in ("Line", "Step"):
            rows = [_together(renderer)]
        else:
            rows = list(_rows(renderer))
        for row in rows:
            draw(row)

    def _draw_quad(self, row: Row) -> None:
        left, right = sorted((self._x(row["left"]), self._x(row["right"])))
        top, bottom = sorted((self._y(row["top"]), self._y(row["bottom"])))
        self._add("rect", x=left, y=top, width=max(0.2, right - left), height=bottom - top, **_look(row))

    def _draw_hbar(self, row: Row) -> None:
        half = row["height"] / 2
        self._draw_quad(row | {"bottom": row["y"] - half, "top": row["y"] + half})

    def _draw_line(self, row: Row) -> None:
        self._polyline(list(zip(row["x"], row["y"], strict=True)), row)

    def _draw_step(self, row: Row) -> None:
        corners: list[tuple[float, float]] = []
        for x, y in zip(row["x"], row["y"], strict=True):
            if corners:
                corners.append((x, corners[-1][1]))
            corners.append((x, y))
        self._polyline(corners, row)

    def _draw_multiline(self, row: Row) -> None:
        self._polyline(list(zip(row["xs"], row["ys"], strict=True)), row)

    def _draw_patches(self, row: Row) -> None:
        points = " ".join(
            f"{number(self._x(x))},{number(self._y(y))}" for x, y in zip(row["xs"], row["ys"], strict=True)
        )
        self._add("polygon", points=points, **_look(row))

    def _draw_segment(self, row: Row) -> None:
        self._line(self._x(row["x0"]), self._y(row["y0"]), self._x(row["x1"]), self._y(row["y1"]), **_look(row))

    def _draw_hspan(self, row: Row) -> None:
        self._line(self._left, self._y(row["y"]), self._right, self._y(row["y"]), **_look(row))

    def _draw_vspan(self, row: Row) -> None:
        self._line(self._x(row["x"]), self._top, self._x(row["x"]), self._bottom, **_look(row))

    def _draw_scatter(self, row: Row) -> None:
        x, y, r = self._x(row["x"]), self._y(row["y"]), row["size"] / 2
        shape = {
            "circle": f"M{number(x - r)} {number(y)}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0",
            "triangle": f"M{number(x)} {number(y - r)}l{r} {2 * r}h{-2 * r}z",
            "diamond": f"M{number(x)} {number(y - r)}l{r} {r}l{-r} {r}l{-r} {-r}z",
            "square": f"M{number(x - r)} {number(y - r)}h{2 * r}v{2 * r}h{-2 * r}z",
            "x": f"M{number(x - r)} {number(y - r)}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
            "cross": f"M{number(x - r)} {number(y)}h{2 * r}m{-r} {-r}v{2 * r}",
        }[row["marker"]]
        self._add("path", d=shape, **_look(row))

    def _draw_text(self, row: Row) -> None:
        anchor = {"left": "start", "center": "middle", "right": "end"}[row["text_align"]]
        x, y = self._x(row["x"]) + row["x_offset"], self._y(row["y"]) + row["y_offset"] + 4
        self._text(str(row["text"]), x, y, row["text_color"], anchor)

    # Elements.

    def _x(self, value: float) -> float:
        return _placed(
            value, getattr(self, "_x_range", self._drawn.x_range), self._drawn.x_scale, self._left, self._right
        )

    def _y(self, value: float) -> float:
        return _placed(
            value, getattr(self, "_y_range", self._drawn.y_range), self._drawn.y_scale, self._bottom, self._top
        )

    def _polyline(self, corners: Sequence[tuple[float, float]], row: Row) -> None:
        points = " ".join(f"{number(self._x(x))},{number(self._y(y))}" for x, y in corners if not math.isnan(y))
        self._add("polyline", points=points, **{**_look(row), "fill": "none"})

    def _line(self, x1: float, y1: float, x2: float, y2: float, **look: Any) -> None:
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, **look)

    def _text(self, text: str, x: float, y: float, colour: Any, anchor: str) -> None:
        look = _attributes({"x": x, "y": y, "font-size": SIZE, "text-anchor": anchor, "fill": colour})
        self._parts.append(f"<text{look}>{escape(text)}</text>")

    def _add(self, tag: str, **attributes: Any) -> None:
        self._parts.append(f"<{tag}{_attributes(attributes)}/>")


def _attributes(values: dict[str, Any]) -> str:
    return "".join(
        f' {name.replace("_", "-")}="{number(float(v)) if isinstance(v, int | float) else escape(str(v))}"'
        for name, v in values.items()
        if v is not None
    )


def _paint(colour: Any, alpha: float = 1.0) -> Row:
    return {"fill": colour or "none", "fill_opacity": alpha if colour and alpha < 1 else None}


def _look(row: Row) -> Row:
    """The attributes of a glyph's fill and line."""
    alpha, dash = row.get("line_alpha", 1.0), row.get("line_dash") or []
    dash = (
        {"dashed": [6], "dotted": [2, 4], "dotdash": [2, 4, 6, 4], "solid": []}.get(dash, [])
        if isinstance(dash, str)
        else dash
    )
    return {
        **_paint(row.get("fill_color"), row.get("fill_alpha", 1.0)),
        "stroke": row.get("line_color"),
        "stroke_opacity": alpha if alpha < 1 else None,
        "stroke_width": row.get("line_width") if row.get("line_color") else None,
        "stroke_dasharray": " ".join(map(str, dash)) or None,
    }


def _rows(renderer: GlyphRenderer) -> Iterator[Row]:
    """The properties of each of a renderer's glyphs, with its data in place of the names of columns."""
    columns, same = _columns(renderer)
    count = len(next(iter(columns.values()))) if columns else 1
    for n in range(count):
        yield same | {name: column[n] for name, column in columns.items()}


def _together(renderer: GlyphRenderer) -> Row:
    columns, same = _columns(renderer)
    return same | columns


def _columns(renderer: GlyphRenderer) -> tuple[dict[str, Sequence[Any]], Row]:
    source = renderer.data_source
    assert isinstance(source, ColumnDataSource)
    columns: dict[str, Sequence[Any]] = {}
    same: Row = {}
    for name, value in renderer.glyph.properties_with_values(include_defaults=True).items():
        field = getattr(value, "field", None) or (value.get("field") if isinstance(value, dict) else None)
        value = value["value"] if isinstance(value, dict) and "value" in value else getattr(value, "value", value)
        if field is None:
            same[name] = value
        else:
            columns[name] = cast(Sequence[Any], source.data[str(field)])
    return columns, same


def _ends(span: Range) -> tuple[float, float]:
    assert not isinstance(span, FactorRange)
    start, end = (getattr(span, name, None) for name in ("start", "end"))
    return (float(start), float(end)) if start is not None and end is not None else (0.0, 1.0)


def _placed(value: float, span: Any, scale: Any, first: float, last: float) -> float:
    start, end = _ends(span)
    if isinstance(scale, LogScale) and start > 0:
        start, end, value = math.log(start), math.log(end), math.log(max(value, 1e-300))
    return first + (value - start) / ((end - start) or 1.0) * (last - first)


def _ticks(axis: Axis, start: float, end: float) -> list[tuple[float, str]]:
    """The places and the labels of an axis: its own words, else round numbers."""
    if not axis.visible:
        return []
    words: dict[Any, Any] = axis.major_label_overrides
    ticker = axis.ticker
    if isinstance(ticker, FixedTicker):
        return [(float(at), str(words.get(at, _amount(axis, at)))) for at in ticker.ticks if start <= at <= end]
    if isinstance(ticker, LogTicker):
        return [(at, _amount(axis, at)) for at in _powers(start, end, ticker.base)]
    step = _step((end - start) / 6, 2 if _is_bytes(axis) else 10)
    return [(n * step, _amount(axis, n * step)) for n in range(math.ceil(start / step), math.floor(end / step) + 1)]


def _powers(start: float, end: float, base: float) -> list[float]:
    """The powers of a base in a range, at most about ten; of few powers of ten also their doubles and fives."""
    low, high = (math.floor(math.log(max(v, 1e-300), base)) for v in (start, end))
    factors = (1, 2, 5) if base == 10 and high - low < 3 else (1,)
    found = [f * float(base) ** n for n in range(low, high + 1) for f in factors]
    inside = [at for at in found if start <= at <= end]
    return inside[:: max(1, len(inside) // 8)]


def _step(about: float, base: int) -> float:
    power = float(base) ** math.floor(math.log(max(about, 1e-12), base))
    return next(f * power for f in ((1, 2) if base == 2 else (1, 2, 5, 10)) if f * power >= about * 0.999)


def _is_bytes(axis: Axis) -> bool:
    return isinstance(axis.formatter, NumeralTickFormatter) and "ib" in str(axis.formatter.format)


def _amount(axis: Axis, value: float) -> str:
    if _is_bytes(axis):
        return size_text(round(value))
    for size, unit in ((1e12, "t"), (1e9, "b"), (1e6, "m"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"
