"""Figures of reports: their data equal the metrics of the report, they have their tools, and they compose."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import msgspec
import panel as pn
import pytest
from bokeh.models import BoxZoomTool, ColumnDataSource, HoverTool, Range1d, ResetTool, SaveTool, TapTool
from bokeh.plotting import figure
from support.programs.sources import matmul
from support.sessions.pages import opened_example, report_now
from support.simulator.machines import plain

import tilewright
from tilewright.app.plots import timeline as timelines
from tilewright.app.plots.panes import item_of
from tilewright.app.plots.time_axis import MOST_RECTANGLES, origin_of
from tilewright.app.state.derived import Store
from tilewright.app.views.labels.palette import BUFFER_COLOURS, colours_by_name
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim import Report, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SAMPLED = [
    pytest.param(e.name, marks=() if e.name in ("box_blur", "vtcm_double_buffer") else pytest.mark.slow)
    for e in load_examples()
]


@cache
def example_report(name: str) -> Report:
    return report_now(opened_example(name), Store())


def tiled(k: int) -> Report:
    """A double-buffered matmul of `k` tiles, whose repeats are skipped."""
    sch = Schedule(parse(matmul(8, 8, 8 * k)).program)
    ko, _ = sch.split(sch.get_loops("C")[2], factors=[None, 8], names=["ko", "ki"])
    sch.reorder(ko, *sch.get_loops("C")[:2])
    for n in (0, 1):
        block = sch.cache_read("C", n, "local")
        sch.compute_at(block, ko)
        sch.double_buffer(block)
    sch.cache_write("C", 0, "local")
    return simulate(sch.func, plain(), whole=0)


def data_of(drawn: figure, name: str) -> dict[str, Any]:
    source = drawn.select_one({"name": name, "type": ColumnDataSource})
    assert isinstance(source, ColumnDataSource)
    return dict(source.data)


def busy(drawn: figure) -> dict[str, int]:
    """The cycles of each engine's tasks, excluding stalls on a port or a bus."""
    tasks, stalls, found = data_of(drawn, "tasks"), data_of(drawn, "stalls"), Counter[str]()
    for engine, cycles in zip(tasks["engine"], tasks["cycles"], strict=True):
        found[engine] += cycles
    for engine, cause, cycles in zip(stalls["engine"], stalls["cause"], stalls["cycles"], strict=True):
        found[engine] -= cycles if cause.startswith("port ") else 0
    return dict(found)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SAMPLED)
def test_rectangles_of_an_engine_sum_to_its_busy_cycles(name: str) -> None:
    report = example_report(name)
    drawn = tilewright.plot.timeline(report)
    assert busy(drawn) == {name: e.busy for name, e in report.engines.items() if e.busy}
    tasks = data_of(drawn, "tasks")
    assert len(tasks["left"]) + len(data_of(drawn, "stalls")["left"]) <= MOST_RECTANGLES
    assert all(0 <= left < right <= report.cycles for left, right in zip(tasks["left"], tasks["right"], strict=True))
    colours = {light for light, _ in BUFFER_COLOURS}
    assert set(tasks["color"]) <= colours


@pytest.mark.parametrize("name", SAMPLED)
def test_memory_peaks_equal_those_of_the_report(name: str) -> None:
    report = example_report(name)
    drawn = tilewright.plot.occupancy(report)
    rows = [row for row, m in report.memory.items() if m.peak_bytes and m.scope != "global"]
    for row in rows:
        assert max(data_of(drawn, f"bytes {row}")["live"]) == report.memory[row].peak_live_bytes
    assert set(data_of(drawn, "tiles")["memory"]) <= set(rows)


@pytest.mark.sample(1)
@pytest.mark.parametrize("tiles", [2, 7, 300, 5_000, 10**9, 10**15])
def test_rectangles_are_few_and_sum_to_busy_cycles_at_any_length(tiles: int) -> None:
    report = tiled(tiles)
    drawn = tilewright.plot.timeline(report)
    assert busy(drawn) == pytest.approx({name: e.busy for name, e in report.engines.items() if e.busy}, rel=1e-12)
    assert len(data_of(drawn, "tasks")["left"]) + len(data_of(drawn, "stalls")["left"]) <= MOST_RECTANGLES
    assert msgspec.json.encode(item_of(drawn))


@pytest.mark.parametrize("tiles", [10**6, pytest.param(10**15, marks=pytest.mark.slow)])
def test_zooming_draws_every_task_even_beyond_browser_numbers(tiles: int) -> None:
    report = tiled(tiles)
    drawn = tilewright.plot.timeline(report)
    memories = tilewright.plot.occupancy(report, x_range=drawn.x_range)
    span = drawn.x_range
    assert isinstance(span, Range1d) and not origin_of(span)
    centre = report.cycles // 2
    while span.end - span.start > 2_000:  # interactive zooming goes by steps
        width = int(span.end - span.start) // 8
        middle = centre - origin_of(span)
        span.update(start=float(middle - width // 2), end=float(middle + width // 2))
    origin = origin_of(span)
    assert (origin > 0) == (report.cycles > 1 << 53)
    assert abs(origin + int(span.start) - centre) < 2_000
    tasks = data_of(drawn, "tasks")
    expected = [s for s in report.segments.between(origin + int(span.start), origin + int(span.end)) if s.end > s.start]
    drawn_tasks = {
        (origin + int(left), origin + int(right), engine)
        for left, right, engine in zip(tasks["left"], tasks["right"], tasks["engine"], strict=True)
    }
    assert expected and {(s.start, s.end, s.engine) for s in expected} <= drawn_tasks
    assert all(
        cycles == right - left
        for cycles, left, right in zip(tasks["cycles"], tasks["left"], tasks["right"], strict=True)
    )
    (row,) = (name for name, m in report.memory.items() if m.peak_bytes and m.scope != "global")
    at = data_of(memories, f"bytes {row}")["at"]
    assert at[0] <= span.start and at[-1] >= span.end
    assert data_of(memories, "tiles")["tile"]


def test_the_roofline_point_is_that_of_the_report() -> None:
    before, after = example_report("fused_matmul_relu_roundtrip"), example_report("fused_matmul_relu")
    drawn = tilewright.plot.roofline({"with the round trip": before, "now": after})
    points = data_of(drawn, "points")
    assert points["label"] == ["with the round trip", "now"]
    assert points["x"] == [r.roofline.intensity for r in (before, after)]
    assert points["y"] == [r.roofline.attained for r in (before, after)]
    slope = data_of(drawn, "roofs")["text"][-1]
    assert f"{after.roofline.bytes_per_cycle}" in slope
    assert list(data_of(tilewright.plot.roofline(after), "points")["label"]) == ["now"]
    with pytest.raises(ValueError, match="no report"):
        tilewright.plot.roofline({})


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SAMPLED)
def test_traffic_flows_are_the_reported_bytes(name: str) -> None:
    report = example_report(name)
    flows = data_of(tilewright.plot.traffic(report), "flows")
    rows = list(zip(*(flows[k] for k in ("kind", "buffer", "source", "destination", "bytes")), strict=True))
    assert sorted(row[1:] for row in rows if row[0] == "copy") == sorted(
        (t.buffer, t.source, t.destination, t.bytes) for t in report.traffic
    )
    accessed = sum(row[-1] for row in rows if row[0] == "access")
    assert accessed == sum(a.read_bytes + a.written_bytes for a in report.accesses)
    widest = [max(ys) - min(ys) for ys in flows["ys"]]
    most = max(zip(flows["bytes"], widest, strict=True))
    assert most[1] == max(widest)


def test_the_round_trip_is_marked() -> None:
    assert data_of(tilewright.plot.traffic(example_report("fused_matmul_relu_roundtrip")), "round_trips")["text"]
    assert not data_of(tilewright.plot.traffic(example_report("fused_matmul_relu")), "round_trips")["text"]


def test_sensitivity_bars_are_the_saved_cycles() -> None:
    sch = Schedule(parse(matmul(8, 8, 64)).program)
    found = tilewright.sensitivity(sch.func, plain())
    bars = data_of(tilewright.plot.sensitivity(found, most=3), "parameters")
    assert bars["saved"] == [p.saved for p in found if p.saved > 0][:3]
    assert bars["path"] == [p.path for p in found if p.saved > 0][:3]
    assert not data_of(tilewright.plot.sensitivity([]), "parameters")["saved"]


@pytest.mark.slow
def test_figures_have_their_tools_and_share_an_axis() -> None:
    report = example_report("vtcm_double_buffer")
    timeline = tilewright.plot.timeline(report)
    occupancy = tilewright.plot.occupancy(report, x_range=timeline.x_range)
    assert occupancy.x_range is timeline.x_range
    for drawn in (timeline, occupancy, tilewright.plot.roofline(report)):
        kinds = {type(tool) for tool in drawn.tools}
        assert {BoxZoomTool, HoverTool, TapTool, SaveTool, ResetTool} <= kinds
    layout = pn.Column(timeline, occupancy, tilewright.plot.traffic(report))
    assert len(layout.get_root().children) == 3


@pytest.mark.slow
def test_figures_use_the_colours_of_the_theme_and_the_views() -> None:
    report = example_report("vtcm_double_buffer")
    dark, light = (tilewright.plot.timeline(report, theme=theme) for theme in ("dark", "light"))
    assert dark.background_fill_color != light.background_fill_color
    copied = colours_by_name(report.program.source)["A_local.vtcm"]
    for number, drawn in enumerate((light, dark)):
        tasks = data_of(drawn, "tasks")
        of = dict(zip(tasks["block"], tasks["color"], strict=True))
        assert of["A_local.vtcm"] == BUFFER_COLOURS[copied][number]
    before = pn.config.theme
    try:
        pn.config.theme = "dark"
        assert tilewright.plot.timeline(report).background_fill_color == dark.background_fill_color
    finally:
        pn.config.theme = before


def test_a_stacked_bin_stays_in_its_lane() -> None:
    drawn = tilewright.plot.timeline(tiled(5_000))
    tasks = data_of(drawn, "tasks")
    low, high = timelines.LANE
    for bottom, top in zip(tasks["bottom"], tasks["top"], strict=True):
        assert low - 1e-9 <= bottom % 1 <= top - int(bottom) <= high + 1e-9
