"""The timeline in Bokeh: engines above, memories below, one range of cycles for both. Made once; a new chart replaces the columns only."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
from bokeh.core.properties import value
from bokeh.events import RangesUpdate
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    LabelSet,
    PanTool,
    Range1d,
    WheelZoomTool,
)
from bokeh.plotting import figure

from ..views.chart import Bar, Chart, Lane
from ..views.palette import colour
from .esm import bundle
from .json_view import JsonView

MAX_BARS = 1_500
"""More rectangles than this cost a visible pause on a canvas; they are drawn joined until one zooms in."""

FEW_BARS = 300

MAX_CORNERS = 1_500

NARROW = 0.04
"""A stretch that takes less of the width than this has no room for a word."""

GAP = 0.2
"""Between lanes, as a part of a lane."""

INK = {
    "text": ("#1b1f27", "#e6e9ef"),
    "muted": ("#59616f", "#a0a8b6"),
    "line": ("#e3e6eb", "#272b34"),
    "surface": ("#ffffff", "#17191f"),
    "limit": ("#b93a3a", "#f08c86"),
    "again": ("#3b56c9", "#9db1ff"),
}
"""tilewright.css's colours, (light, dark), for the canvas."""

TICKS = """
let later = 0
for (let n = 0; n < ends.length && ends[n] <= tick; n++) later = shifts[n]
const at = tick + later
const fine = Math.abs(at) < 1e15 ? Math.round(at).toString().replace(/\\B(?=(\\d{3})+(?!\\d))/g, "\\u202f") : at.toExponential(1)
return fine
"""

FONT = "Helvetica, Arial, sans-serif"

TOOLTIP = '<div style="white-space:pre;font:12px/1.4 system-ui,sans-serif;max-width:420px">@tip</div>'


class LegendView(JsonView):
    """The line above the timeline: figures, the colours of buffers. Message: fit."""

    _esm = bundle("legend.js")


class Timeline:
    """`view` is what the page embeds; `show(chart, dark=…)` draws."""

    def __init__(self) -> None:
        self._chart = Chart()
        self._dark = False
        self.range = Range1d(start=0, end=1, bounds=(0, 1))
        self._engines = _Lanes(self.range, axis=False)
        self._memories = _Lanes(self.range, axis=True)
        self._memories.figure.xaxis.visible = False  # until there are cycles to count
        self.legend = LegendView(
            data={"figures": [], "buffers": [], "note": ""}, sizing_mode="stretch_width", height=26
        )
        self.legend.on_intent(lambda message: self.fit() if message["kind"] == "fit" else None)
        for lanes in (self._engines, self._memories):
            lanes.figure.on_event(RangesUpdate, self._on_range)
        self._engine_pane = pn.pane.Bokeh(self._engines.figure, sizing_mode="stretch_width", height=70, margin=0)
        self._memory_pane = pn.pane.Bokeh(self._memories.figure, sizing_mode="stretch_both", margin=0)
        self.view = pn.Column(self.legend, self._engine_pane, self._memory_pane, sizing_mode="stretch_both", margin=0)

    def show(self, chart: Chart, *, dark: bool) -> None:
        """Draw `chart`. The zoom stays when the chart is as long as before."""
        if chart is self._chart and dark == self._dark:
            return
        longer = chart.cycles != self._chart.cycles
        recolour = dark != self._dark or not self._chart.engines
        self._chart, self._dark = chart, dark
        if recolour:
            self._engines.paint(dark)
            self._memories.paint(dark)
        if longer:
            self._memories.figure.xaxis.visible = chart.cycles > 0
            end = max(1, chart.cycles)
            self.range.update(bounds=(0, end), start=0, end=end)
        height = max(30, 22 * len(chart.engines) + 6)
        if self._engine_pane.height != height:
            self._engine_pane.height = height
            self._engines.figure.height = height
        self._engines.show_lanes(chart.engines)
        self._memories.show_lanes(chart.memories)
        self._draw()

    def fit(self) -> None:
        """All cycles in sight."""
        self.range.update(start=0, end=max(1, self._chart.cycles))
        self._draw()

    def _on_range(self, _: Any) -> None:
        chart = self._chart
        if chart.repeats or max(len(chart.engine_bars), len(chart.memory_bars)) > MAX_BARS:
            self._draw()

    def _bounds(self) -> tuple[float, float]:
        """The cycles in sight."""
        start, end = self.range.start, self.range.end
        assert isinstance(start, int | float) and isinstance(end, int | float)
        return float(start), float(end)

    def _draw(self) -> None:
        start, end = self._bounds()
        chart = self._chart
        self._engines.show_bars(chart.engine_bars.in_sight(start, end, MAX_BARS), self._dark)
        self._memories.show_bars(chart.memory_bars.in_sight(start, end, MAX_BARS), self._dark)
        self._memories.show_steps(chart, start, end)
        for lanes in (self._engines, self._memories):
            lanes.show_repeats(chart, (end - start) * NARROW)


class _Lanes:
    """A figure of lanes with its columns."""

    def __init__(self, x_range: Range1d, *, axis: bool) -> None:
        self.bars = ColumnDataSource({name: [] for name in BAR_COLUMNS})
        self.steps = ColumnDataSource({"xs": [], "ys": []})
        self.limits = ColumnDataSource({"x0": [], "x1": [], "y": [], "label": [], "ink": []})
        self.again = ColumnDataSource({name: [] for name in ("start", "end", "low", "high", "text", "drop", "tip")})
        self.excess = ColumnDataSource({name: [] for name in ("start", "end", "low", "high", "tip")})
        self._dark = False
        self._is_top = not axis
        self._lanes: tuple[Lane, ...] | None = None
        self._drawn: list[Bar] | None = None
        self._drawn_dark = False
        self.bottoms: list[float] = []
        self.heights: list[float] = []
        zoom, pan = WheelZoomTool(dimensions="width"), PanTool(dimensions="width")
        self.figure = figure(
            x_range=x_range,
            y_range=Range1d(start=0, end=1),
            tools=[zoom, pan],
            active_scroll=zoom,
            active_drag=pan,
            toolbar_location=None,
            min_border_left=118,
            min_border_right=14,
            min_border_top=2,
            min_border_bottom=22 if axis else 2,
            output_backend="canvas",
            sizing_mode="stretch_both" if axis else "stretch_width",
            height=120 if axis else 70,
        )
        self._glyphs()
        self._axes(axis)

    def _glyphs(self) -> None:
        self.repeats = self.figure.quad(
            left="start", right="end", bottom="low", top="high", source=self.again, fill_alpha=0.09, line_alpha=0.7, line_dash="dotted",
        )  # fmt: skip
        self.repeat_labels = LabelSet(
            x="start", y="high", text="text", source=self.again, text_font_size="10.5px", text_font_style="bold", x_offset=3,
            y_offset="drop", text_font=value(FONT), text_baseline="top", background_fill_alpha=0.85,
        )  # fmt: skip
        self.repeat_labels.level = "annotation"
        self.figure.add_layout(self.repeat_labels)
        quads = self.figure.quad(
            left="start", right="end", bottom="low", top="high", source=self.bars, fill_color="fill", fill_alpha="alpha",
            line_color="edge", line_width=1,
        )  # fmt: skip
        # Not by colour alone: what is too much is hatched, and the label of the line says by how much.
        self.over = self.figure.quad(
            left="start", right="end", bottom="low", top="high", source=self.excess, fill_alpha=0.25, line_width=1.5,
            hatch_pattern="right_diagonal_line", hatch_alpha=0.9, hatch_weight=1.5, hatch_scale=9,
        )  # fmt: skip
        self.line = self.figure.multi_line("xs", "ys", source=self.steps, line_width=1, line_alpha=0.75)
        self.limit = self.figure.segment("x0", "y", "x1", "y", source=self.limits, line_dash="dashed", line_width=1)
        self.limit_labels = LabelSet(
            x=6, y="y", x_units="screen", text="label", source=self.limits, text_font_size="10px", y_offset=-1, text_font=value(FONT),
            text_baseline="top", text_color="ink", background_fill_alpha=0.8,
        )  # fmt: skip
        self.figure.add_layout(self.limit_labels)
        self.figure.add_tools(
            HoverTool(
                renderers=[quads, self.over, self.repeats], tooltips=TOOLTIP, point_policy="follow_mouse", visible=False
            )
        )

    def _axes(self, axis: bool) -> None:
        plot = self.figure
        plot.ygrid.visible = False
        plot.xgrid.visible = True
        plot.outline_line_color = None
        plot.border_line_color = None
        plot.yaxis.ticker = FixedTicker(ticks=[])
        plot.yaxis.axis_line_color = None
        plot.yaxis.major_tick_line_color = None
        plot.yaxis.major_label_text_font_size = "11px"
        plot.yaxis.major_label_text_font = FONT
        plot.xaxis.visible = axis
        plot.xaxis.formatter = CustomJSTickFormatter(code=TICKS, args={"ends": [], "shifts": []})
        plot.xaxis.axis_line_color = None
        plot.xaxis.minor_tick_line_color = None
        plot.xaxis.major_tick_line_color = None
        plot.xaxis.major_label_text_font_size = "10.5px"
        plot.xaxis.major_label_text_font = FONT

    def paint(self, dark: bool) -> None:
        """The colours that do not belong to bars."""
        ink = {name: pair[dark] for name, pair in INK.items()}
        plot = self.figure
        plot.background_fill_color = plot.border_fill_color = None
        plot.styles = {"background-color": ink["surface"]}
        plot.xgrid.grid_line_color = ink["line"]
        plot.yaxis.major_label_text_color = ink["text"]
        plot.xaxis.major_label_text_color = ink["muted"]
        self.line.glyph.line_color = ink["text"]
        self.repeats.glyph.update(fill_color=ink["again"], line_color=ink["again"])
        self.repeat_labels.update(text_color=ink["again"], background_fill_color=ink["surface"])
        self.limit.glyph.line_color = ink["limit"]
        self.limit_labels.background_fill_color = ink["surface"]
        self.over.glyph.update(fill_color=ink["limit"], line_color=ink["limit"], hatch_color=ink["limit"])
        self._dark = dark

    def show_lanes(self, lanes: tuple[Lane, ...]) -> None:
        """Names and heights; the first lane is the topmost."""
        if lanes == self._lanes:
            return
        self._lanes = lanes
        self._drawn = None
        total = len(lanes)
        self.bottoms, self.heights = [], []
        top = float(total)
        for _ in lanes:
            top -= 1
            self.bottoms.append(top)
            self.heights.append(1 - GAP)
        self.figure.y_range.update(start=-GAP, end=max(total, 0.1))
        middles = [low + high / 2 for low, high in zip(self.bottoms, self.heights, strict=True)]
        axis = self.figure.yaxis[0]
        # A ticker of its own each time would have Bokeh look for new models in the whole page.
        axis.ticker.update(ticks=middles)  # pyright: ignore[reportAttributeAccessIssue]  (its stub is that of the setter)
        axis.major_label_overrides = {middle: lane.name for middle, lane in zip(middles, lanes, strict=True)}

    def show_repeats(self, chart: Chart, least: float) -> None:
        """What comes again is marked, and the axis counts it. How often is said where there is room: of `least` cycles."""
        texts = [a.text if self._is_top and a.end - a.start >= least else "" for a in chart.repeats]
        data = {
            "start": [a.start for a in chart.repeats],
            "end": [a.end for a in chart.repeats],
            "low": [-GAP for _ in chart.repeats],
            "high": [max(len(self.bottoms), 0.1) for _ in chart.repeats],
            "text": texts,
            "drop": [-12 * a.level for a in chart.repeats],
            "tip": [a.tip for a in chart.repeats],
        }
        if data != self.again.data:
            self.again.data = data
            ticks = {"ends": list(chart.clock.ends), "shifts": [float(n) for n in chart.clock.later]}
            self.figure.xaxis[0].formatter = CustomJSTickFormatter(code=TICKS, args=ticks)

    def show_bars(self, bars: list[Bar], dark: bool) -> None:
        """The rectangles, when they are others than those drawn."""
        if bars == self._drawn and dark == self._drawn_dark:
            return
        self._drawn, self._drawn_dark = bars, dark
        self.bars.data = self._columns(bars, dark)

    def _columns(self, bars: list[Bar], dark: bool) -> dict[str, Any]:
        # An edge sets neighbours apart; where bars are a pixel or two wide it would be all there is to see.
        surface = INK["surface"][dark] if len(bars) <= FEW_BARS else None
        fills = [colour(bar.colour, dark=dark) for bar in bars]
        return {
            "start": _packed([bar.start for bar in bars]),
            "end": _packed([bar.end for bar in bars]),
            "low": _packed([self.bottoms[bar.lane] + bar.low * self.heights[bar.lane] for bar in bars]),
            "high": _packed([self.bottoms[bar.lane] + bar.high * self.heights[bar.lane] for bar in bars]),
            "fill": fills,
            "alpha": _packed([0.28 if bar.soft else 0.9 for bar in bars]),
            "edge": [fill if bar.soft or surface is None else surface for bar, fill in zip(bars, fills, strict=True)],
            "tip": [bar.tip for bar in bars],
        }

    def show_steps(self, chart: Chart, start: float, end: float) -> None:
        """The lines of live bytes, and of capacity."""
        lines = [(steps.lane, *steps.in_sight(start, end, MAX_CORNERS)) for steps in chart.memory_steps]
        self.steps.data = {
            "xs": [_packed(xs) for _, xs, _ in lines],
            "ys": [_packed([self.bottoms[lane] + y * self.heights[lane] for y in ys]) for lane, _, ys in lines],
        }
        limited = [(n, lane) for n, lane in enumerate(chart.memories) if lane.limit_text]
        data = {
            "x0": [0 for _ in limited],
            "x1": [max(1, chart.cycles) if lane.limit else 0 for _, lane in limited],
            "y": [self.bottoms[n] + (lane.limit or 1) * self.heights[n] for n, lane in limited],
            "label": [lane.limit_text for _, lane in limited],
            "ink": [INK["limit" if lane.over else "muted"][self._dark] for _, lane in limited],
        }
        if data != self.limits.data:
            self.limits.data = data
        self._show_excess(chart)

    def _show_excess(self, chart: Chart) -> None:
        """Red above the lines of capacity."""
        data = {
            "start": [e.start for e in chart.excesses],
            "end": [e.end for e in chart.excesses],
            "low": [self.bottoms[e.lane] + chart.memories[e.lane].limit * self.heights[e.lane] for e in chart.excesses],
            "high": [self.bottoms[e.lane] + e.high * self.heights[e.lane] for e in chart.excesses],
            "tip": [e.tip for e in chart.excesses],
        }
        if data != self.excess.data:
            self.excess.data = data


def _packed(numbers: list[float]) -> Any:
    """Many numbers as an array, which travels as bytes; a few as they are, since each array is a message of its own."""
    return np.array(numbers, np.float64) if len(numbers) > FEW_BARS else numbers


BAR_COLUMNS = ("start", "end", "low", "high", "fill", "alpha", "edge", "tip")
