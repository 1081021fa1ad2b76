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
from .style import Style, Theme, add_hover

LABEL_PX = 13

BESIDE = 0.35
"""Labels whose points are nearer than this share of the width could cover each other."""

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
    _draw_roofs(drawn, value, style, xs, ys)
    _draw_points(drawn, points, style, ys, height)
    return with_picture(drawn, f"Roofline. {value.words or value.note}")


def _draw_roofs(drawn: figure, value: Roofline, style: Style, xs: tuple[float, float], ys: tuple[float, float]) -> None:
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
    columns = ("x0", "y0", "x1", "y1", "text", "used", "x", "y")
    data: Columns = {name: [row[name] for row in rows] for name in columns}
    data["color"] = [style.ink("text" if row["used"] else "faint") for row in rows]
    data["dash"] = ["solid" if row["used"] else "dashed" for row in rows]
    source = ColumnDataSource(data, name="roofs")
    drawn.segment("x0", "y0", "x1", "y1", source=source, line_color="color", line_dash="dash", line_width=1.6)
    drawn.text(
        "x", "y", text="text", source=source, text_color=style.ink("muted"), text_font_size="11px", text_align="right",
        x_offset=-4, y_offset=-4,
    )  # fmt: skip


def _roof(x0: float, y0: float, x1: float, y1: float, text: str, used: bool, at: tuple[float, float]) -> dict[str, Any]:
    return {"x0": x0, "y0": y0, "x1": x1, "y1": y1, "text": text, "used": used, "x": at[0], "y": at[1]}


def _draw_points(
    drawn: figure, points: Sequence[RooflinePoint], style: Style, ys: tuple[float, float], height: int
) -> None:
    accent, surface = style.ink("accent"), style.ink("surface")
    names = ("key", "label", "x", "y", "operations", "bytes", "cycles")
    data: Columns = {name: [getattr(point, name) for point in points] for name in names} | {
        "roof": [_count(point.roof) for point in points],
        "share": [f"{100 * point.share:.2g} %" for point in points],
        "marker": [MARKERS.get(point.key, "diamond") for point in points],
        "fill": [accent if n == len(points) - 1 else surface for n in range(len(points))],
        "shift": label_shifts([(math.log(p.x), math.log(p.y)) for p in points], ys, height - 75),
    }
    source = ColumnDataSource(data, name="points")
    if len(points) > 1:
        drawn.line("x", "y", source=source, line_color=accent, line_dash="dotted", line_alpha=0.8)
    marks = drawn.scatter("x", "y", source=source, marker="marker", size=11, fill_color="fill", line_color=accent)
    drawn.text(
        "x", "y", text="label", source=source, x_offset=9, y_offset="shift", text_color=style.ink("text"),
        text_font_size="11px", text_baseline="middle",
    )  # fmt: skip
    attained = [("attained", "@y{0.[000]} operations/cycle, @share of its roof @roof"), ("cycles", "@cycles")]
    work = [("operations", "@operations"), ("bytes", "@bytes, @x{0.[000]} operations/byte")]
    add_hover(drawn, [marks], [("", "@label"), *attained, *work])


def label_shifts(points: Sequence[tuple[float, float]], ys: tuple[float, float], height: float) -> list[float]:
    """How many pixels the label of each point moves down, so that labels beside each other have room. Points are logarithms."""
    span = math.log(ys[1] / ys[0])
    width = max((x for x, _ in points), default=0.0) - min((x for x, _ in points), default=0.0)
    shifts = [0.0] * len(points)
    placed: list[tuple[float, float]] = []
    for n in sorted(range(len(points)), key=lambda n: -points[n][1]):
        x, y = points[n][0], -points[n][1] / span * height
        beside = [other for at, other in placed if abs(at - x) <= BESIDE * max(width, 1.0)]
        label = max([y, *(other + LABEL_PX for other in beside)])
        shifts[n] = label - y
        placed.append((x, label))
    return shifts


def _range(values: Sequence[float], below: float, above: float) -> tuple[float, float]:
    """The range of an axis: all positive values with factors of margin, rounded to half decades."""
    positive = [value for value in values if value > 0] or [1.0]
    low = math.floor(2 * math.log10(min(positive) / below)) / 2
    high = math.ceil(2 * math.log10(max(positive) * above)) / 2
    return 10**low, 10 ** max(high, low + 1)


def _count(value: float) -> str:
    return grouped(round(value)) if value >= 1000 else f"{value:.3g}"
