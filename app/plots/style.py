"""The look of the figures: colours of the theme, axes, tools, and how amounts are written on an axis."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

from bokeh.models import (
    AdaptiveTicker,
    Axis,
    BasicTicker,
    GlyphRenderer,
    HoverTool,
    Legend,
    LogAxis,
    LogTicker,
    NumeralTickFormatter,
    Ticker,
    TickFormatter,
)
from bokeh.plotting import figure

from ..views.drawings.inks import inks

Theme = Literal["light", "dark"]

TOOLS = "box_zoom,wheel_zoom,pan,tap,save,reset"

TIME_TOOLS = "xbox_zoom,xwheel_zoom,xpan,tap,save,reset"
"""The tools of a time axis: the other axis is a list of engines or memories."""


def theme_of(theme: Theme | None) -> Theme:
    """The theme, or that of the person's Panel app; "light" without one."""
    if theme is not None:
        return theme
    panel: Any = sys.modules.get("panel")
    return "dark" if panel is not None and panel.config.theme == "dark" else "light"


class Style:
    """The colours of a theme."""

    def __init__(self, theme: Theme | None) -> None:
        self.theme = theme_of(theme)

    def ink(self, name: str) -> str:
        """A colour of the style sheets: "text", "accent", "stall-data", "buffer-3"."""
        return inks()[name][self.theme == "dark"]

    def buffer(self, index: int) -> str:
        """The colour of a buffer's index, the same as in every view."""
        return self.ink(f"buffer-{index}")

    def figure(self, name: str, *, height: int, tools: str = TOOLS, **options: Any) -> figure:
        """An empty figure with the theme's colours. `name` identifies it in a document."""
        options.setdefault("sizing_mode", "stretch_width")
        drawn = figure(name=name, height=height, tools=tools, toolbar_location="above", **options)
        drawn.toolbar.logo = None
        drawn.toolbar.autohide = False
        for part in ("background_fill_color", "border_fill_color"):
            setattr(drawn, part, self.ink("surface"))
        drawn.outline_line_color = self.ink("line-strong")
        drawn.grid.grid_line_color = self.ink("line")
        for axis in drawn.axis:
            self.axis(axis)
        return drawn

    def axis(self, axis: Axis) -> Axis:
        """Give an axis the theme's colours."""
        axis.axis_line_color = axis.major_tick_line_color = self.ink("line-strong")
        axis.minor_tick_line_color = None
        axis.major_label_text_color = axis.axis_label_text_color = self.ink("muted")
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "11px"
        axis.axis_label_text_font_style = "normal"
        return axis

    def legend(self, legend: Legend) -> None:
        """Give a legend the theme's colours; a click on an entry hides its glyphs."""
        legend.background_fill_color = self.ink("surface")
        legend.background_fill_alpha = 0.85
        legend.border_line_color = self.ink("line")
        legend.label_text_color = self.ink("text")
        legend.label_text_font_size = "11px"
        legend.spacing, legend.margin = 1, 6
        legend.glyph_height = legend.glyph_width = 16
        legend.click_policy = "hide"


def add_hover(drawn: figure, renderers: Sequence[GlyphRenderer], tooltips: Sequence[tuple[str, str]]) -> None:
    """Show `tooltips`, pairs of a word and a column, for the glyphs of `renderers`."""
    drawn.add_tools(HoverTool(renderers=[*renderers], tooltips=list(tooltips), point_policy="follow_mouse"))


def write_amounts(axis: Axis, unit: str) -> None:
    """Write the labels of an axis in a unit: "cycles" (150k), "bytes" (64 KiB), others as plain numbers."""
    axis.formatter = formatter_of(unit)
    axis.ticker = ticker_of(unit, is_log=isinstance(axis, LogAxis))


def formatter_of(unit: str) -> TickFormatter:
    """The labels of amounts: 150k cycles, 64 KiB."""
    formats = {"cycles": "0.[00]a", "bytes": "0.[0] ib"}
    return NumeralTickFormatter(format=formats.get(unit, "0.[000]"))


def ticker_of(unit: str, *, is_log: bool) -> Ticker:
    """Ticks at round amounts: powers of two of bytes."""
    if is_log:
        return LogTicker(base=2 if unit == "bytes" else 10)
    if unit == "bytes":
        return AdaptiveTicker(base=1024, mantissas=[2.0**n for n in range(10)], desired_num_ticks=5)
    return BasicTicker()


def table_axis(axis: Axis, labels: Sequence[str], places: Sequence[float]) -> None:
    """Label an axis with words at `places`."""
    axis.ticker = list(places)
    axis.major_label_overrides = dict(zip(places, labels, strict=True))
    axis.major_tick_line_color = None
