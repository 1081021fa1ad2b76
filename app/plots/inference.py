"""The figure of one inference over time, without calls: the page fills its data sources (`static/components/model/inference.js`)."""

from __future__ import annotations

from functools import cache

import msgspec
from bokeh.models import HoverTool, Range1d, TapTool
from bokeh.plotting import figure

from ..state.model import State
from ..views.labels.palette import BUFFER_COLOURS
from .panes import dark_colours, item_of
from .search import data_source
from .style import TIME_TOOLS, Style, table_axis, write_amounts

INKS = ("text", "muted", "line-strong", "accent", "bad", "good", "surface")


def inference_now(state: State) -> str:
    """The figure and the colours of the dark theme, as JSON; "" without a model."""
    return "" if state.model is None else inference_figures()


@cache
def inference_figures() -> str:
    return msgspec.json.encode({"figure": item_of(inference_figure()), "dark": dark_colours()}).decode()


def inference_figure() -> figure:
    """The calls (source "calls", with "labels" for those that are wide enough), and below them the busy part of each engine and the used
    part of each on-chip memory ("loads"), a row each. The page sets the labels of the rows. The figure's tag has the colours."""
    style = Style("light")
    drawn = style.figure(
        "inference",
        height=220,
        tools=TIME_TOOLS,
        x_range=Range1d(start=0, end=1, min_interval=4),
        y_range=Range1d(start=0, end=1),
    )
    drawn.ygrid.grid_line_color = None
    write_amounts(drawn.xaxis[0], "cycles")
    table_axis(drawn.yaxis[0], [], [])
    box = ("left", "right", "bottom", "top", "color", "alpha")
    _, loads = (
        drawn.quad(
            "left", "right", "top", "bottom", source=data_source(name, *box), color="color", alpha="alpha", line_color=None
        )
        for name in ("rows", "loads")
    )  # fmt: skip
    calls = drawn.quad(
        "left", "right", "top", "bottom", source=data_source("calls", *box), fill_color="color", fill_alpha="alpha",
        line_color=style.ink("surface"), line_width=1,
    )  # fmt: skip
    drawn.text(
        "x", "y", text="text", source=data_source("labels", "x", "y", "text"), x_offset=4, text_baseline="middle",
        text_color=style.ink("text"), text_font_size="11px",
    )  # fmt: skip
    for renderer in (calls, loads):
        renderer.nonselection_glyph = renderer.selection_glyph = None
    drawn.height, drawn.sizing_mode = None, "stretch_both"
    drawn.add_tools(HoverTool(renderers=[calls], tooltips=None, visible=False))
    for tool in drawn.tools:
        if isinstance(tool, TapTool):
            tool.renderers = [calls]
    drawn.tags = [{"hues": [light for light, _ in BUFFER_COLOURS], **{name: style.ink(name) for name in INKS}}]
    return drawn
