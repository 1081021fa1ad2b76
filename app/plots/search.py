"""The figures of the Explore pane without candidates. The page fills their data sources (`static/components/explore`), so that candidates,
filters and other axes are updates of columns instead of new figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
from bokeh.models import ColumnDataSource, GlyphRenderer, HoverTool, Label, LinearScale, LogScale, Range1d, TapTool
from bokeh.plotting import figure

from ...engine.explore import CYCLES, PEAK
from ..views.explore.value import metric
from .panes import dark_colours, item_of
from .study import (
    OUTCOMES,
    Amounts,
    Columns,
    add_axes,
    add_front,
    add_lines,
    add_marks,
    below,
    parallel_frame,
    scatter_frame,
)
from .style import Style, formatter_of, ticker_of

UNITS = ("cycles", "bytes", "pJ")

LINES = {"hidden": 1.0, "candidates": 1.0, "front": 2.2, "selected": 2.6}
"""The width of the lines of each source of the parallel axes, from back to front. Those of "hidden" do not pass the filters."""


@cache
def search_figures() -> str:
    """Both figures and the colours of the dark theme, as JSON."""
    figures = {"scatter": item_of(scatter_figure()), "axes": item_of(axes_figure()), "dark": dark_colours()}
    return msgspec.json.encode(figures).decode()


def scatter_figure() -> figure:
    """The scatter plot: a source for each outcome, "front" and "steps" (the line of the front), "selected" and "selected below" (without
    figures), "now" (the schedule of the notebook), "bound" and "bound x" (the lower bound of the cycles).

    Its tag has the scales, tickers and formatters of the units, which the page exchanges with the axes.
    """
    style = Style("light")
    drawn = scatter_frame(style, metric(PEAK), metric(CYCLES), Amounts([]), Amounts([]), 300)
    text, surface = style.ink("text"), style.ink("surface")
    drawn.hspan(y="y", source=data_source("bound", "y"), line_color=text, line_dash="dashed")
    drawn.vspan(x="x", source=data_source("bound x", "x"), line_color=text, line_dash="dashed")
    names = [name for status in OUTCOMES for name in (status, below(status))]
    sized: Columns = {"size": "size"}
    marks = [add_marks(drawn, style, data_source(name, "x", "y", "number", "size"), **sized) for name in names]
    drawn.step("x", "y", source=data_source("steps", "x", "y"), mode="after", line_color=text, line_width=1.6)
    marks.append(add_front(drawn, style, data_source("front", "x", "y", "number")))
    now = data_source("now", "x", "y", "text")
    for colour, width in ((surface, 5), (text, 2)):
        drawn.scatter(
            "x", "y", source=now, marker="cross", size=15, fill_color=None, line_color=colour, line_width=width
        )
    drawn.text(
        "x", "y", text="text", source=now, x_offset=11, text_baseline="middle", text_color=text, text_font_size="11px"
    )
    edge: Columns = {"x_range_name": "strip", "y_range_name": "strip"}
    for name, where in (("selected", Columns()), (below("selected"), edge)):
        ring = data_source(name, "x", "y")
        drawn.scatter(
            "x", "y", source=ring, marker="circle", size=19, fill_color=None, line_color=text, line_width=2, **where
        )
    drawn.add_layout(
        Label(
            name="bound label", x=6, x_units="screen", y=0, y_offset=2, text="", text_font_size="11px", text_color=text,
            background_fill_color=surface, background_fill_alpha=0.7,
        )
    )  # fmt: skip
    drawn.tags = [
        {
            "log": LogScale(),
            "linear": LinearScale(),
            "formatters": {unit: formatter_of(unit) for unit in UNITS},
            "tickers": {unit: [ticker_of(unit, is_log=is_log) for is_log in (False, True)] for unit in UNITS},
        }
    ]
    return _filled_by_page(drawn, marks)


def axes_figure() -> figure:
    """The parallel axes: a source of lines for each of `LINES`, "axes" and "ticks", and "marks", the parts of axes that filter."""
    style = Style("light")
    drawn = parallel_frame(style, 2, 240)
    drawn.xaxis.visible = False
    drawn.x_range = Range1d(start=-0.4, end=1.4)
    drawn.toolbar_location = "right"
    drawn.toolbar.active_drag = None  # a drag along an axis marks a part of it
    columns = ("xs", "ys", "color", "alpha", "dash", "number")
    lines = {name: add_lines(drawn, data_source(name, *columns), width) for name, width in LINES.items()}
    marks = data_source("marks", "x", "low", "high")
    for width, colour, alpha in ((16, "accent", 0.9), (13, "surface", 1.0), (13, "accent", 0.35)):
        drawn.segment(
            "x", "low", "x", "high", source=marks, line_width=width, line_color=style.ink(colour), line_alpha=alpha
        )
    add_axes(drawn, style, data_source("axes", "x"), data_source("ticks", "x", "y", "text"))
    drawn.tags = [
        {status: style.ink(ink) for status, (_, _, ink) in OUTCOMES.items()}
        | {"hidden": style.ink("line-strong"), "selected": style.ink("text")}
    ]
    return _filled_by_page(drawn, [line for name, line in lines.items() if name != "hidden"])


def data_source(name: str, *columns: str) -> ColumnDataSource:
    """A source without rows, for the page to fill."""
    return ColumnDataSource({column: [] for column in columns}, name=name)


def _filled_by_page(drawn: figure, renderers: Sequence[GlyphRenderer]) -> figure:
    """The figure with the size of its box. The page reads which glyphs of `renderers` are under the pointer or clicked."""
    drawn.height, drawn.sizing_mode = None, "stretch_both"
    for renderer in renderers:
        renderer.nonselection_glyph = renderer.selection_glyph = None
    drawn.add_tools(HoverTool(renderers=[*renderers], tooltips=None, visible=False))
    for tool in drawn.tools:
        if isinstance(tool, TapTool):
            tool.renderers = [*renderers]
    return drawn
