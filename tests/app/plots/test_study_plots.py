"""Figures of studies: every candidate occurs once, the front is that of the study, axes are those of the space."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from bokeh.models import LogScale
from bokeh.plotting import figure
from support.sessions.searching import HOLES

import tilewright
from tilewright.app.document import evaluate, read_document
from tilewright.app.plots.study import Amounts
from tilewright.engine.explore import Study


@cache
def study() -> Study:
    return tilewright.explore(evaluate(read_document(HOLES)), objectives=("cycles", "peak"))


def candidates(drawn: figure) -> dict[int, dict[str, Any]]:
    """The candidates of a scatter plot by number, with their outcome."""
    found: dict[int, dict[str, Any]] = {}
    for source in {r.data_source for r in drawn.renderers if r.name and r.name.split()[0] in study().counts}:
        for n, number in enumerate(source.data["number"]):
            assert number not in found
            found[number] = {"source": source.name, **{name: column[n] for name, column in source.data.items()}}
    return found


def _source(drawn: figure, name: str) -> Any:
    (found,) = {r.data_source for r in drawn.renderers if r.data_source.name == name}
    return found


@pytest.mark.slow
def test_each_candidate_of_a_study_is_a_mark_at_its_metrics() -> None:
    drawn = tilewright.plot.scatter(study(), "traffic", "cycles")
    found = candidates(drawn)
    assert sorted(found) == [trial.number for trial in study().trials]
    for trial in study().trials:
        mark, figures = found[trial.number], trial.outcome.figures
        assert mark["source"] == trial.outcome.status + (" below" if figures is None else "")
        if figures is not None:
            assert (mark["x"], mark["y"]) == (figures.traffic_bytes, figures.cycles)
        else:
            assert mark["why"] == trial.outcome.message and 0 <= mark["x"] <= 1
    bound = next(r.glyph.y for r in drawn.renderers if r.name == "bound")
    known = [t.outcome.figures for t in study().trials if t.outcome.status in ("fits", "pruned")]
    assert bound in (min(f.bound for f in known if f), {"value": min(f.bound for f in known if f)})


def test_pareto_front_of_two_objectives_is_a_line() -> None:
    drawn = tilewright.plot.pareto(study())
    front = _source(drawn, "front").data
    assert sorted(front["number"]) == sorted(trial.number for trial in study().front)
    assert front["x"] == sorted(front["x"]) and front["y"] == sorted(front["y"], reverse=True)
    steps = [r for r in drawn.renderers if type(r.glyph).__name__ == "Step"]
    assert len(steps) == 1
    assert not [r for r in tilewright.plot.scatter(study(), "energy").renderers if type(r.glyph).__name__ == "Step"]


def test_parallel_axes_have_a_line_per_candidate() -> None:
    drawn = tilewright.plot.parallel_axes(study())
    names = list(drawn.xaxis[0].major_label_overrides.values())
    assert names[: len(study().space.holes)] == [hole.name for hole in study().space.holes]
    lines = [_source(drawn, name).data for name in ("candidates", "front")]
    numbers = sorted(number for line in lines for number in line["number"])
    assert numbers == [trial.number for trial in study().trials]
    holes = len(study().space.holes)
    by_number = {
        n: (xs, ys) for line in lines for n, xs, ys in zip(line["number"], line["xs"], line["ys"], strict=True)
    }
    for trial in study().trials:
        xs, ys = by_number[trial.number]
        assert len(xs) == (holes if trial.outcome.figures is None else len(names))
        assert all(0 <= y <= 1 for y in ys)
    ordered = sorted((t for t in study().trials if t.outcome.figures), key=lambda t: t.outcome.figures.cycles)
    heights = [by_number[t.number][1][holes] for t in ordered]
    assert heights == sorted(heights)


@pytest.mark.parametrize(
    ("values", "is_log"), [([], False), ([5.0], False), ([1.0, 100.0], True), ([0.0, 100.0], False)]
)
def test_the_axis_contains_its_values(values: list[float], is_log: bool) -> None:
    amounts = Amounts(values)
    low, high = amounts.ends
    assert amounts.is_log == is_log and low < high and all(low <= value <= high for value in values)


def test_a_wide_range_gets_a_logarithmic_axis() -> None:
    assert (
        isinstance(tilewright.plot.scatter(study(), "cycles", "cycles").x_scale, LogScale)
        == Amounts([t.outcome.figures.cycles for t in study().trials if t.outcome.figures]).is_log
    )
