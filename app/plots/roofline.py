"""The roofline: the machine's bound for each arithmetic intensity, and the points of a program's versions below it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from ...engine.hwsim import Report
from ..views.labels.numbers import grouped
from ..views.machine.roofline import MemorySlope, Roofline, RooflinePoint, value_of
from .picture import with_picture
from .placement import Label, Offset, along_line, beside_mark, beside_slope, place_labels
from .style import Style, Theme, add_hover

FRAME_PX = 380
"""The width of the frame in the narrowest pane. Offsets of labels are in pixels: labels apart here are apart in wider frames."""

AXES_PX = 75
"""The part of the height above and below the frame."""

LEAST_DECADES = 2.5
"""On fewer than two decades Bokeh labels every unit, and the labels run into one another."""

Columns = dict[str, Any]

MARKERS = {"now": "circle", "start": "square"}


def roofline(report: Report | Mapping[str, Report], *, theme: Theme | None = None, height: int = 300) -> figure:
    """The roofline of a report, or of several by their labels, the present one last (source "points").

    x is operations per byte of the largest memory, y operations per cycle.
    """
    reports = report if isinstance(report, Mapping) else {"now": report}
    if not reports:
        raise ValueError("there is no report to plot")
    versions = [(label, label, found) for label, found in reports.items()]
    *_, last = reports.values()
    return draw_roofline(value_of(last.program.machine, versions), theme, height)


def draw_roofline(value: Roofline, theme: Theme | None = None, height: int = 300) -> figure:
    """The figure of the value of `views.machine.roofline`."""
    style = Style(theme)
    points = value.points
    peaks = [roof.peak for roof in value.roofs if roof.used]
    xs = _range([p.x for p in points] + ([value.ridge] if value.ridge else []), 3, 3)
    ys = _range([p.y for p in points] + peaks, 3, 2)
    drawn = style.figure(
        "roofline",
        height=height,
        x_axis_type="log",
        y_axis_type="log",
        x_range=Range1d(start=xs[0], end=xs[1]),
        y_range=Range1d(start=ys[0], end=ys[1]),
        x_axis_label="operations per byte of the far memory",
        y_axis_label="operations per cycle",
    )
    roofs = _roofs(value, xs, ys)
    beside_points, beside_roofs = _placed(points, roofs, xs, ys, height - AXES_PX)
    _draw_roofs(drawn, roofs, beside_roofs, style)
    _draw_points(drawn, points, beside_points, style)
    return with_picture(drawn, f"Roofline. {value.words or value.note}")


def _roofs(value: Roofline, xs: tuple[float, float], ys: tuple[float, float]) -> list[dict[str, Any]]:
    """The slope of the memory's bandwidth up to the fastest used engine, and a flat roof for each engine."""
    slope = value.slope or MemorySlope("", 1)
    width = slope.bytes_per_cycle
    rows: list[dict[str, Any]] = []
    for roof in value.roofs:
        if ys[0] < roof.peak < ys[1]:
            start = min(max(xs[0], roof.peak / width), xs[1])
            text = f"{roof.name} {_count(roof.peak)}{'' if roof.used else ' (no work)'}"
            rows.append(_roof(start, roof.peak, xs[1], roof.peak, text, roof.used, at=(xs[1], roof.peak)))
    used = [roof.peak for roof in value.roofs if roof.used] or [roof.peak for roof in value.roofs]
    start, end = max(xs[0], ys[0] / width), min(xs[1], max(used, default=ys[1]) / width)
    if end > start:
        middle = math.sqrt(start * end)
        text = f"{slope.name} {_count(width)} B/cycle"
        rows.append(_roof(start, start * width, end, end * width, text, True, at=(middle, middle * width)))
    return rows


def _draw_roofs(drawn: figure, rows: Sequence[dict[str, Any]], labels: Columns, style: Style) -> None:
    columns = ("x0", "y0", "x1", "y1", "text", "used", "x", "y")
    data: Columns = {name: [row[name] for row in rows] for name in columns} | labels
    data["color"] = [style.ink("text" if row["used"] else "faint") for row in rows]
    data["dash"] = ["solid" if row["used"] else "dashed" for row in rows]
    source = ColumnDataSource(data, name="roofs")
    drawn.segment("x0", "y0", "x1", "y1", source=source, line_color="color", line_dash="dash", line_width=1.6)
    _label(drawn, source, "text", style.ink("muted"))


def _roof(x0: float, y0: float, x1: float, y1: float, text: str, used: bool, at: tuple[float, float]) -> dict[str, Any]:
    return {"x0": x0, "y0": y0, "x1": x1, "y1": y1, "text": text, "used": used, "x": at[0], "y": at[1]}


def _draw_points(drawn: figure, points: Sequence[RooflinePoint], labels: Columns, style: Style) -> None:
    accent, surface = style.ink("accent"), style.ink("surface")
    names = ("key", "label", "x", "y", "operations", "bytes", "cycles")
    data: Columns = (
        {name: [getattr(point, name) for point in points] for name in names}
        | labels
        | {
            "roof": [_count(point.roof) for point in points],
            "share": [f"{100 * point.share:.2g} %" for point in points],
            "marker": [MARKERS.get(point.key, "diamond") for point in points],
            "fill": [accent if n == len(points) - 1 else surface for n in range(len(points))],
        }
    )
    source = ColumnDataSource(data, name="points")
    if len(points) > 1:
        drawn.line("x", "y", source=source, line_color=accent, line_dash="dotted", line_alpha=0.8)
    marks = drawn.scatter("x", "y", source=source, marker="marker", size=11, fill_color="fill", line_color=accent)
    _label(drawn, source, "label", style.ink("text"))
    attained = [("attained", "@y{0.[000]} operations/cycle, @share of its roof @roof"), ("cycles", "@cycles")]
    work = [("operations", "@operations"), ("bytes", "@bytes, @x{0.[000]} operations/byte")]
    add_hover(drawn, [marks], [("", "@label"), *attained, *work])


def _placed(
    points: Sequence[RooflinePoint],
    roofs: Sequence[Mapping[str, Any]],
    xs: tuple[float, float],
    ys: tuple[float, float],
    height: float,
) -> tuple[Columns, Columns]:
    """The columns of the labels of points and roofs. The present point is the last one and chooses first."""

    def pixel(x: float, y: float) -> tuple[float, float]:
        across, up = (math.log(v / r[0]) / math.log(r[1] / r[0]) for v, r in ((x, xs), (y, ys)))
        return across * FRAME_PX, (1 - up) * height

    marks = [pixel(point.x, point.y) for point in points]
    of_points = [Label(*at, point.label, [*beside_mark()]) for at, point in zip(marks, points, strict=True)]
    of_roofs = [
        Label(*pixel(r["x"], r["y"]), r["text"], [*(along_line() if r["y0"] == r["y1"] else beside_slope())])
        for r in roofs
    ]
    found = place_labels([*reversed(of_points), *of_roofs], marks, FRAME_PX, height)
    return _columns(found[: len(points)][::-1]), _columns(found[len(points) :])


def _columns(offsets: Sequence[Offset]) -> Columns:
    return {"dx": [o.x for o in offsets], "dy": [o.y for o in offsets], "align": [o.align for o in offsets]}


def _label(drawn: figure, source: ColumnDataSource, text: str, colour: str) -> None:
    """Draw the labels of a source with the columns of `_columns`."""
    drawn.text(
        "x", "y", text=text, source=source, x_offset="dx", y_offset="dy", text_align="align", text_color=colour,
        text_font_size="11px", text_baseline="middle",
    )  # fmt: skip


def _range(values: Sequence[float], below: float, above: float) -> tuple[float, float]:
    """The range of an axis: all positive values with factors of margin, rounded to half decades."""
    positive = [value for value in values if value > 0] or [1.0]
    low = math.floor(2 * math.log10(min(positive) / below)) / 2
    high = math.ceil(2 * math.log10(max(positive) * above)) / 2
    return 10**low, 10 ** max(high, low + LEAST_DECADES)


def _count(value: float) -> str:
    return grouped(round(value)) if value >= 1000 else f"{value:.3g}"
