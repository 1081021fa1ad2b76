"""The candidates of a study: a scatter plot of two figures with the Pareto front, and parallel axes of all choices and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from bokeh.models import ColumnDataSource, GlyphRenderer, Range1d
from bokeh.plotting import figure

from ...engine.adopt import Hole
from ...engine.explore import Figures, Study, Trial
from ..views.explore.value import LABELS, Metric, figure_of, figures_value, metric
from ..views.labels.holes import axis_of
from ..views.labels.numbers import grouped, size_text
from .picture import with_picture
from .style import Style, Theme, add_hover, table_axis, write_amounts

Columns = dict[str, Any]

OUTCOMES = {
    "refused": ("refused", "x", "bad"), "failed": ("failed", "x", "bad"), "pruned": ("pruned", "diamond", "faint"),
    "over": ("too large", "triangle", "warn"), "fits": ("fits", "circle", "accent"),
}  # fmt: skip
"""The words, the marker and the colour of each outcome, from back to front: colour is never the only sign."""

DASHES = {"fits": "solid", "over": "dashed", "pruned": "dotted", "refused": "dotdash", "failed": "dotdash"}
"""How the line of each outcome is drawn on parallel axes."""

LOG_RATIO = 12
"""From this ratio of the largest to the smallest value on, an axis is logarithmic."""

MANY = 1_500

MOST_LETTERS = 13

TOOLTIPS = [("candidate", "@number"), ("", "@words"), ("", "@choices"), ("", "@why")]


class Amounts(NamedTuple):
    """The values of an axis."""

    values: Sequence[float]

    @property
    def is_log(self) -> bool:
        """Whether the axis is logarithmic."""
        return bool(self.values) and min(self.values) > 0 and max(self.values) > LOG_RATIO * min(self.values)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the axis, with a margin."""
        low, high = min(self.values, default=0.0), max(self.values, default=1.0)
        if self.is_log:
            return low / 1.12, high * 1.12
        margin = ((high - low) or abs(high) or 1.0) * 0.06
        return (max(0.0, low - margin) if low >= 0 else low - margin), high + margin


def pareto(study: Study, *, theme: Theme | None = None, height: int = 380) -> figure:
    """The candidates in the plane of the study's first two objectives, with the front; of one objective, against the on-chip peak."""
    y, x, *_ = (*study.settings.objectives, "peak", "cycles")
    return scatter(study, "cycles" if x == y else x, y, theme=theme, height=height)


def scatter(
    study: Study, x: str = "peak", y: str = "cycles", *, theme: Theme | None = None, height: int = 380
) -> figure:
    """Two figures of each candidate ("cycles", "energy", "traffic", "peak", "peak local.vtcm"), with a source for each outcome.

    The front (source "front") is a line if both figures are objectives. A dashed line is the least lower bound of the cycles. Candidates
    without figures (refused calls, exceeded limits) are at the lower edge, in sources "refused below", "over below".
    """
    known = [trial for trial in study.trials if trial.outcome.figures is not None]
    xs, ys = (Amounts([figure_of(_figures(t), key) for t in known]) for key in (x, y))
    bounds = [_figures(t).bound for t in known if t.outcome.status in ("fits", "pruned")]
    if y == "cycles" and bounds:
        ys = Amounts([*ys.values, min(bounds)])
    style = Style(theme)
    drawn = scatter_frame(style, metric(x), metric(y), xs, ys, height)
    marks: list[GlyphRenderer] = []
    for status in OUTCOMES:
        own = [trial for trial in study.trials if trial.outcome.status == status]
        for name in (status, below(status)):
            shown = [trial for trial in own if (trial.outcome.figures is None) == (name != status)]
            if shown:
                source = ColumnDataSource(candidate_columns(study, shown, x, y), name=name)
                size, word = 5 if len(known) > MANY else 7, OUTCOMES[status][0]
                marks.append(add_marks(drawn, style, source, size=size, legend_label=word))
    if y == "cycles" and bounds:
        drawn.hspan(min(bounds), line_color=style.ink("text"), line_dash="dashed", name="bound")
    front = sorted(study.front, key=lambda t: (figure_of(_figures(t), x), figure_of(_figures(t), y)))
    source = ColumnDataSource(candidate_columns(study, front, x, y), name="front")
    if x != y and {x, y} <= set(study.settings.objectives):
        drawn.step("x", "y", source=source, mode="after", line_color=style.ink("text"), line_width=1.6)
    add_front(drawn, style, source)
    add_hover(drawn, marks, TOOLTIPS)
    style.legend(drawn.legend[0]) if drawn.legend else None
    counts = ", ".join(f"{count} {OUTCOMES[status][0]}" for status, count in study.counts.items())
    words = f"{metric(y).label} against {metric(x).label} of {len(study.trials)} candidates: {counts}; front of {len(front)}"
    return with_picture(drawn, words)


def scatter_frame(style: Style, x: Metric, y: Metric, xs: Amounts, ys: Amounts, height: int) -> figure:
    """An empty scatter plot. The ranges named "strip" place candidates without figures at the lower edge."""
    drawn = style.figure(
        "scatter",
        height=height,
        x_axis_type="log" if xs.is_log else "linear",
        y_axis_type="log" if ys.is_log else "linear",
        x_range=Range1d(start=xs.ends[0], end=xs.ends[1]),
        y_range=Range1d(start=ys.ends[0], end=ys.ends[1]),
        x_axis_label=x.label,
        y_axis_label=y.label,
    )
    for axis, unit in ((drawn.xaxis[0], x.unit), (drawn.yaxis[0], y.unit)):
        write_amounts(axis, unit)
    drawn.extra_x_ranges = {"strip": Range1d(start=0, end=1)}
    drawn.extra_y_ranges = {"strip": Range1d(start=0, end=1)}
    return drawn


def below(status: str) -> str:
    """The name of the source of the candidates without figures."""
    return f"{status} below"


def add_marks(drawn: figure, style: Style, source: ColumnDataSource, **options: Any) -> GlyphRenderer:
    """Add the marks of the candidates of a source, which is named by their outcome, or by `below` of it."""
    status, _, edge = str(source.name).partition(" ")
    _, marker, ink = OUTCOMES[status]
    colour = style.ink(ink)
    where: Columns = {"x_range_name": "strip", "y_range_name": "strip"} if edge else {}
    return drawn.scatter(
        "x", "y", source=source, marker=marker, line_color=colour, line_alpha=0.8,
        fill_color=colour if status == "fits" else None, fill_alpha=0.6, name=source.name, **where, **options,
    )  # fmt: skip


def add_front(drawn: figure, style: Style, source: ColumnDataSource) -> GlyphRenderer:
    """Add the marks of the Pareto front."""
    return drawn.scatter(
        "x", "y", source=source, marker="circle", size=10, fill_color=style.ink("accent"), line_color=style.ink("text"),
        line_width=1.6, name="front",
    )  # fmt: skip


def candidate_columns(study: Study, trials: Sequence[Trial], x: str, y: str) -> Columns:
    """The columns of candidates: their figures x and y, and the texts of the hover."""
    return {
        "x": [_place(trial, x) for trial in trials],
        "y": [0.02 if trial.outcome.figures is None else figure_of(_figures(trial), y) for trial in trials],
        "number": [trial.number for trial in trials],
        "words": [_words(trial) for trial in trials],
        "choices": [_choices(study.space.holes, trial) for trial in trials],
        "why": [trial.outcome.message for trial in trials],
    }


def _place(trial: Trial, x: str) -> float:
    return jitter(trial.number) if trial.outcome.figures is None else figure_of(_figures(trial), x)


def jitter(number: int) -> float:
    """A number from 0 to 1 that separates candidates with equal values; always the same for a candidate."""
    return (number * 0.618034) % 1


def _figures(trial: Trial) -> Figures:
    assert trial.outcome.figures is not None
    return trial.outcome.figures


def _words(trial: Trial) -> str:
    figures = trial.outcome.figures
    if figures is None:
        return OUTCOMES[trial.outcome.status][0]
    least = "" if figures.exact else "at least "
    return f"{least}{grouped(figures.cycles)} cycles, {size_text(sum(figures.peaks.values()))} on chip"


def _choices(holes: Sequence[Hole], trial: Trial) -> str:
    return ", ".join(f"{hole.name} = {hole.texts[n]}" for hole, n in zip(holes, trial.point, strict=True))


# Parallel axes.


class ParallelAxis(NamedTuple):
    """An axis from 0 (bottom) to 1: its name, labelled places, and the place of each trial (None without figures)."""

    name: str
    ticks: list[tuple[float, str]]
    places: list[float | None]


def parallel_axes(study: Study, *, theme: Theme | None = None, height: int = 320) -> figure:
    """An axis for each choice and each figure, and a line for each candidate (source "candidates"; "front" has those of the front).

    The line of a candidate without figures ends after the choices.
    """
    style = Style(theme)
    axes = [*_hole_axes(study), *_figure_axes(study)]
    drawn = parallel_frame(style, len(axes), height)
    table_axis(drawn.xaxis[0], [axis.name for axis in axes], [float(n) for n in range(len(axes))])
    front = {trial.number for trial in study.front}
    lines: list[GlyphRenderer] = []
    for name, width, alpha in (
        ("candidates", 1.0, max(0.06, min(0.6, 90 / max(1, len(study.trials))))),
        ("front", 2.2, 1.0),
    ):
        chosen = [n for n, trial in enumerate(study.trials) if (trial.number in front) == (name == "front")]
        trials = [study.trials[n] for n in chosen]
        outlines = [_line(axes, n) for n in chosen]
        source = ColumnDataSource(
            {
                "xs": [xs for xs, _ in outlines],
                "ys": [ys for _, ys in outlines],
                "color": [style.ink(OUTCOMES[trial.outcome.status][2]) for trial in trials],
                "alpha": [alpha if trial.outcome.fits else alpha / 3 for trial in trials],
                "dash": [DASHES[trial.outcome.status] for trial in trials],
                **candidate_columns(study, trials, "peak", "cycles"),
            },
            name=name,
        )
        lines.append(add_lines(drawn, source, width))
    add_hover(drawn, lines, TOOLTIPS)
    xs = list(range(len(axes)))
    ticks = [(float(x), y, text) for x, axis in enumerate(axes) for y, text in axis.ticks]
    columns: Columns = {name: [tick[n] for tick in ticks] for n, name in enumerate(("x", "y", "text"))}
    add_axes(drawn, style, ColumnDataSource({"x": xs}, name="axes"), ColumnDataSource(columns, name="ticks"))
    return with_picture(
        drawn, f"Parallel axes of {len(study.trials)} candidates: {', '.join(axis.name for axis in axes)}"
    )


def parallel_frame(style: Style, count: int, height: int) -> figure:
    """An empty plot of `count` parallel axes, at 0, 1, 2 ... from left to right; each reaches from 0 to 1."""
    drawn = style.figure(
        "parallel_axes",
        height=height,
        x_range=Range1d(start=-0.3, end=max(1, count - 1) + 0.45),
        y_range=Range1d(start=-0.04, end=1.06),
        x_axis_location="above",
    )
    drawn.grid.grid_line_color = None
    drawn.yaxis.visible = False
    return drawn


def add_lines(drawn: figure, source: ColumnDataSource, width: float) -> GlyphRenderer:
    """Add a line for each candidate, with columns "xs", "ys", "color", "alpha" and "dash"."""
    return drawn.multi_line(
        "xs",
        "ys",
        source=source,
        line_color="color",
        line_width=width,
        line_alpha="alpha",
        line_dash="dash",
        name=source.name,
    )


def add_axes(drawn: figure, style: Style, axes: ColumnDataSource, ticks: ColumnDataSource) -> None:
    """Add the axes (column "x") and their labels (columns "x", "y" and "text")."""
    drawn.segment("x", 0.0, "x", 1.0, source=axes, line_color=style.ink("line-strong"))
    ground: Columns = {"background_fill_color": style.ink("surface"), "background_fill_alpha": 0.6}
    drawn.text(
        "x", "y", text="text", source=ticks, x_offset=10, text_baseline="middle", text_font_size="10px",
        text_color=style.ink("text"), **ground,
    )  # fmt: skip


def _hole_axes(study: Study) -> list[ParallelAxis]:
    found: list[ParallelAxis] = []
    for index, hole in enumerate(study.space.holes):
        axis = axis_of(hole)
        order: list[int] = axis.order
        height = {position: (place + 0.5) / len(order) for place, position in enumerate(order)}
        ticks = [(height[position], _plain(axis.values[position])) for position in order]
        spread = 0.5 / len(order)
        places = [height[t.point[index]] + (jitter(t.number) - 0.5) * spread for t in study.trials]
        found.append(ParallelAxis(str(axis.name), ticks, [*places]))
    return found


def _figure_axes(study: Study) -> list[ParallelAxis]:
    found: list[ParallelAxis] = []
    objectives = study.settings.objectives
    for entry in figures_value(study.machine):
        if entry.key not in LABELS and entry.key not in objectives:
            continue  # the peak of one memory
        values = [
            None if trial.outcome.figures is None else figure_of(trial.outcome.figures, entry.key)
            for trial in study.trials
        ]
        amounts = Amounts([value for value in values if value is not None])
        low, high = amounts.ends
        ticks = [(n / 4, _amount_text(entry.unit, low + n / 4 * (high - low))) for n in range(5)]
        places = [None if value is None else (value - low) / (high - low) for value in values]
        found.append(ParallelAxis(entry.label, ticks, places))
    return found


def _amount_text(unit: str, amount: float) -> str:
    if unit == "bytes":
        return size_text(round(amount))
    return f"{amount / 1e6:.3g} µJ" if unit == "pJ" else grouped(round(amount))


def _plain(text: str) -> str:
    """A value of a choice without the quotes and brackets of its code, shortened."""
    plain = re.sub(r"[\"'\[\]]", "", text)
    return plain if len(plain) <= MOST_LETTERS else f"{plain[: MOST_LETTERS - 1]}…"


def _line(axes: Sequence[ParallelAxis], trial: int) -> tuple[list[float], list[float]]:
    ys: list[float] = []
    for axis in axes:
        place = axis.places[trial]
        if place is None:
            break
        ys.append(place)
    return [float(x) for x in range(len(ys))], ys
