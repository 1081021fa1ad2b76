"""The traffic of a report: memories and engines side by side, and an arrow for the bytes of a buffer from one to another."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, LinearAxis, Range1d
from bokeh.plotting import figure

from ...engine.hwsim import Report
from ..views.labels.palette import colours_by_name
from ..views.machine.traffic import RoundTrip, TrafficColumn, TrafficDiagram, TrafficFlow, value_of
from .picture import with_picture
from .style import Style, Theme, add_hover, table_axis

ROW_PX = 25
THICKEST, THINNEST = 0.72, 0.08
"""The height of an arrow in its row."""

GAP = 0.8
"""The room between copies and the accesses of engines."""

HEAD = 0.05
"""The length of an arrow's head, as a share of the width of the figure."""


def traffic(report: Report, *, theme: Theme | None = None, height: int | None = None) -> figure:
    """The bytes of each buffer that are copied from memory to memory, or that an engine reads or writes (source "flows").

    The height of an arrow is its `bytes`; the solid part is the lower bound, `least_bytes`. Round trips are marked.
    """
    value = value_of(report, report.program.machine, colours_by_name(report.program.source))
    return draw_traffic(value, theme, height)


def draw_traffic(value: TrafficDiagram, theme: Theme | None = None, height: int | None = None) -> figure:
    """The figure of the value of `views.machine.traffic`."""
    style = Style(theme)
    flows, columns = value.flows, value.columns
    places = row_places(flows)
    bottom = min(places, default=0.0) - 0.6
    drawn = style.figure(
        "traffic",
        height=height or round(76 - bottom * ROW_PX),
        tools="box_zoom,ywheel_zoom,pan,tap,save,reset",
        x_range=Range1d(start=-0.3, end=max(1, len(columns) - 1) + 0.3),
        y_range=Range1d(start=bottom, end=0.6),
        x_axis_location="above",
    )
    drawn.grid.grid_line_color = None
    table_axis(drawn.xaxis[0], [_heading(c) for c in columns], [float(n) for n in range(len(columns))])
    table_axis(drawn.yaxis[0], [flow.buffer for flow in flows], places)
    drawn.add_layout(style.axis(LinearAxis()), "right")
    table_axis(drawn.yaxis[1], [_amounts(flow) for flow in flows], places)
    _draw_bars(drawn, columns, style, bottom)
    _draw_flows(drawn, flows, [column.name for column in columns], places, style)
    _draw_trips(drawn, value.trips, flows, places, columns, style)
    return with_picture(drawn, f"Traffic. {value.total or value.note}")


def row_places(flows: Sequence[TrafficFlow]) -> list[float]:
    """The heights of the rows, from 0 down: copies, a gap, then the accesses of engines."""
    first = next((n for n, flow in enumerate(flows) if flow.kind == "access"), 0)
    return [-float(n) - (GAP if first and n >= first else 0.0) for n in range(len(flows))]


def _draw_bars(drawn: figure, columns: Sequence[TrafficColumn], style: Style, bottom: float) -> None:
    xs = list(range(len(columns)))
    color = style.ink("line-strong")
    drawn.segment(xs, [bottom] * len(xs), xs, [0.6] * len(xs), line_color=color, line_width=6, line_cap="round")


def _draw_flows(
    drawn: figure, flows: Sequence[TrafficFlow], names: Sequence[str], places: Sequence[float], style: Style
) -> None:
    most = max((flow.bytes for flow in flows), default=1)
    ends = [(names.index(flow.source), names.index(flow.destination)) for flow in flows]
    thick = [max(THINNEST, THICKEST * flow.bytes / most) for flow in flows]
    arrows = [
        arrow(a, b, y, t, HEAD * max(1, len(names) - 1)) for (a, b), y, t in zip(ends, places, thick, strict=True)
    ]
    least = [
        t if flow.least is None else t * flow.least / max(1, flow.bytes) for flow, t in zip(flows, thick, strict=True)
    ]
    source = ColumnDataSource(
        {
            "xs": [xs for xs, _ in arrows],
            "ys": [ys for _, ys in arrows],
            **{
                name: [getattr(flow, name) for flow in flows]
                for name in ("kind", "buffer", "source", "destination", "bytes")
            },
            "least_bytes": [flow.least for flow in flows],
            "exact": [flow.exact for flow in flows],
            "bound": [_bound(flow) for flow in flows],
            "color": [style.buffer(flow.colour) for flow in flows],
            "left": [min(xs[0], xs[1]) for xs, _ in arrows],
            "right": [max(xs[0], xs[1]) for xs, _ in arrows],
            "bottom": [y - t / 2 for y, t in zip(places, least, strict=True)],
            "top": [y + t / 2 for y, t in zip(places, least, strict=True)],
        },
        name="flows",
    )
    bands = drawn.patches("xs", "ys", source=source, fill_color="color", fill_alpha=0.25, line_color="color")
    drawn.quad(
        left="left", right="right", bottom="bottom", top="top", source=source, fill_color="color", fill_alpha=0.75,
        line_color=None,
    )  # fmt: skip
    tooltips = [
        ("", "@buffer"),
        ("from", "@source"),
        ("to", "@destination"),
        ("bytes", "@exact"),
        ("at least", "@bound"),
    ]
    add_hover(drawn, [bands], tooltips)


def arrow(start: float, end: float, y: float, thick: float, head: float) -> tuple[list[float], list[float]]:
    """The outline of an arrow between two columns."""
    way = 1 if end > start else -1
    a, b = start + 0.03 * way, end - 0.03 * way
    neck, half, wide = b - head * way, thick / 2, thick / 2 + 0.1
    return [a, neck, neck, b, neck, neck, a], [y - half, y - half, y - wide, y, y + wide, y + half, y + half]


def _draw_trips(
    drawn: figure,
    trips: Sequence[RoundTrip],
    flows: Sequence[TrafficFlow],
    places: Sequence[float],
    columns: Sequence[TrafficColumn],
    style: Style,
) -> None:
    """A bracket at the far memory from one copy of a round trip to the other."""
    names = [column.name for column in columns]
    rows: list[tuple[float, float, float]] = []
    for trip in trips:
        both = [
            y
            for flow, y in zip(flows, places, strict=True)
            if flow.round_trip and flow.buffer == trip.buffer and trip.scope in (flow.source, flow.destination)
        ]
        if len(both) >= 2:
            rows.append((names.index(trip.scope) - 0.06, max(both), min(both)))
    source = ColumnDataSource(
        {
            "xs": [[x + 0.05, x, x, x + 0.05] for x, _, _ in rows],
            "ys": [[top, top, low, low] for _, top, low in rows],
            "x": [x for x, _, _ in rows],
            "y": [(top + low) / 2 for _, top, low in rows],
            "text": ["⟲ round trip"] * len(rows),
        },
        name="round_trips",
    )
    drawn.multi_line("xs", "ys", source=source, line_color=style.ink("bad"), line_width=2)
    drawn.text(
        "x", "y", text="text", source=source, text_color=style.ink("bad"), text_font_size="11px", x_offset=24,
        text_baseline="middle",
    )  # fmt: skip


def _heading(column: TrafficColumn) -> str:
    return f"{column.short}\n{column.hint}" if column.kind == "memory" else f"{column.short}\nengine"


def _amounts(flow: TrafficFlow) -> str:
    if flow.least is None:
        return flow.text
    beside = " of 0" if flow.round_trip else f" of {flow.least_text}" if flow.times else " least"
    return f"{flow.text}{beside}"


def _bound(flow: TrafficFlow) -> str:
    if flow.least is None:
        return "not known"
    return "none: a round trip" if flow.round_trip else f"{flow.least_text} {flow.times}".strip()
