"""Tree and timeline as self-contained SVG that agrees with the report and the rows."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.record.address_map import NOTEBOOK, PICTURE, address_map
from support.sessions.notebooks import with_lines
from support.sessions.pages import painted

from tilewright.app.document import evaluate, load_document, read_document
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.drawings import timeline_svg, tree_svg
from tilewright.app.views.drawings.inks import inks
from tilewright.app.views.timeline.value import Timeline, drawn_window, timeline_value
from tilewright.app.views.timeline.window import BinnedWindow, Bins
from tilewright.app.views.tree.costs import row_costs
from tilewright.app.views.tree.rows import Badge, Row, tree_rows
from tilewright.engine.hwsim import Report

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"
SVG = "{http://www.w3.org/2000/svg}"


def opened(text_or_name: str) -> tuple[State, Store]:
    file = EXAMPLES / f"{text_or_name}.py"
    notebook = evaluate(load_document(file) if "\n" not in text_or_name else read_document(text_or_name))
    return painted(State(notebook=notebook, shown=notebook))


def drawn(name: str, **options: Any) -> tuple[ElementTree.Element, Report, dict[str, Any]]:
    state, store = opened(name)
    value = timeline_value(state, store)
    report = store.simulated(state)
    assert isinstance(report, Report)
    return ElementTree.fromstring(timeline_svg(value, drawn_window(state, store), **options)), report, value


def words(root: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["place_the_copies", "fused_matmul_relu", "box_blur", "what_moves_what"])
def test_task_boxes_are_as_long_as_in_the_report(name: str) -> None:
    root, report, value = drawn(name, width=20_000)
    assert not value.bins and not value.repeats
    per_cycle = (20_000 - 192 - 12) / value.cycles
    for group in root.iter(f"{SVG}g"):
        if (engine := group.get("data-engine")) is None:
            continue
        boxes = [box for box in group.iter(f"{SVG}rect") if box.get("data-cycles")]
        cycles = sum(int(box.attrib["data-cycles"]) for box in boxes)
        engine_report = report.engines[engine]
        assert cycles == engine_report.busy + engine_report.stall["port"]  # stalls on a port occur while the task runs
        assert engine_report.busy == int(group.attrib["data-busy"])
        assert len(boxes) == engine_report.tasks
        for box in boxes:
            assert float(box.attrib["width"]) == pytest.approx(int(box.attrib["data-cycles"]) * per_cycle, abs=0.9)
            assert float(box.attrib["x"]) == pytest.approx(192 + int(box.attrib["data-start"]) * per_cycle, abs=0.01)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["place_the_copies", "fused_matmul_relu", "fused_matmul_relu_roundtrip"])
def test_hatched_stall_cycles_equal_those_of_the_report(name: str) -> None:
    root, report, value = drawn(name)
    assert not value.bins and not value.repeats
    found: dict[tuple[str, str], int] = {}
    for group in root.iter(f"{SVG}g"):
        if (cause := group.get("data-wait")) is not None:
            key = group.attrib["data-of"], cause
            found[key] = found.get(key, 0) + int(group.attrib["data-cycles"])
    expected = {
        (name, cause): n for name, e in report.engines.items() for cause, n in e.stall.items() if n and cause != "idle"
    }
    assert {key: n for key, n in found.items() if key[1] != "idle"} == expected


@pytest.mark.parametrize("name", ["vtcm_double_buffer", "gemmini_gemm", "place_the_copies"])
def test_metrics_engines_memories_and_slots_are_named(name: str) -> None:
    root, report, value = drawn(name)
    drawn_text = " ".join(words(root)).replace("\u202f", "")
    assert str(report.cycles) in drawn_text
    for engine in value.engines:
        assert engine.name in drawn_text
    memories = [group.attrib["data-memory"] for group in root.iter(f"{SVG}g") if group.get("data-memory")]
    assert memories == [row.scope for row in value.rows]
    cells = {group.attrib["data-cell"] for group in root.iter(f"{SVG}g") if group.get("data-cell")}
    assert cells == {cell.label for cell in value.cells}
    assert f"{report.cycles}" in root.attrib["aria-label"].replace("\u202f", "")


def test_repeats_are_drawn_to_scale() -> None:
    root, report, value = drawn("gemmini_gemm", width=1000)
    assert value.repeats and value.length < report.cycles
    labels = [text for text in root.iter(f"{SVG}text") if "".join(text.itertext()).replace("\u202f", "").isdigit()]
    cycles = [int("".join(text.itertext()).replace("\u202f", "")) for text in labels]
    axis = max(float(text.attrib["y"]) for text in labels)
    marks = [(c, float(t.attrib["x"])) for c, t in zip(cycles, labels, strict=True) if float(t.attrib["y"]) == axis]
    assert len(marks) > 4
    for cycle, x in marks:
        assert x == pytest.approx(192 + 3 + cycle * (1000 - 192 - 12) / report.cycles, abs=0.1)


def test_bins_of_many_tasks_keep_the_busy_share() -> None:
    state, store = opened("place_the_copies")
    value = timeline_value(state, store)
    root = ElementTree.fromstring(timeline_svg(value, _as_bins(value), width=1000))
    shares: dict[str, float] = {}
    for group in root.iter(f"{SVG}g"):
        if (engine := group.get("data-engine")) is not None:
            area = sum(_area(path.attrib["d"]) for path in group.iter(f"{SVG}path"))
            shares[engine] = shares.get(engine, 0.0) + area / (25 * (1000 - 192 - 12))
    assert set(shares) == {"dma"}
    assert shares["dma"] == pytest.approx(0.5, abs=0.01)


def _as_bins(value: Timeline) -> BinnedWindow:
    """A window of 100 bins, every other one full."""
    levels = base64.b64encode(bytes([255, 0] * 50)).decode()
    lane = next(n for n, e in enumerate(value.engines) if e.name == "dma")
    template = next(n for n, t in enumerate(value.templates) if t.lane == lane)
    bins = Bins(100, task=[(template, levels)], wait=[], overlap=[(0, levels)], fill=[], live=[])
    assert value.run is not None
    return BinnedWindow(folded=False, start=0, end=value.cycles, bytes=value.run.bytes, bins=bins)


def _area(path: str) -> float:
    return sum(float(w) * float(h) for w, h in re.findall(r"h([\d.]+)v([\d.]+)h-", path))


def test_the_drawing_of_an_impossible_run_has_the_reason() -> None:
    state, store = opened(with_lines('CL = sch.cache_write(C, 0, "local.nowhere")'))
    value = timeline_value(state, store)
    assert value.note
    drawn_text = words(ElementTree.fromstring(timeline_svg(value, None, title="A & B < C", width=3000)))
    assert value.note in drawn_text and "A & B < C" in drawn_text


@pytest.mark.parametrize("name", ["vtcm_double_buffer", "bank_conflicts", "what_moves_what"])
def test_tree_draws_each_row_with_depth_and_costs(name: str) -> None:
    state, store = opened(name)
    assert state.moment is not None
    func, report = state.moment.schedule.func, store.simulated(state)
    assert isinstance(report, Report)
    rows, costs = tree_rows(func), row_costs(func, report)
    root = ElementTree.fromstring(tree_svg(rows, costs, title=name))
    groups = [group for group in root.iter(f"{SVG}g") if group.get("data-row")]
    assert [(g.attrib["data-row"], g.attrib["data-kind"], int(g.attrib["data-depth"])) for g in groups] == [
        (row.id, row.kind, row.depth) for row in rows
    ]
    tops: list[float] = []
    for group, row in zip(groups, rows, strict=True):
        drawn_text = " ".join(words(group))
        assert row.name in drawn_text
        for buffer in [*row.reads, *row.writes]:
            assert buffer.name in drawn_text
        if row.id in costs and costs[row.id].cycles.share:
            assert costs[row.id].cycles.text in drawn_text
        tops.append(min(float(text.attrib["y"]) for text in group.iter(f"{SVG}text")))
    assert tops == sorted(tops) and len(set(tops)) == len(tops)
    width = float(root.attrib["width"])
    assert all(0 <= float(text.attrib["x"]) <= width for text in root.iter(f"{SVG}text"))


def test_themes_have_their_colours_and_auto_follows_the_reader() -> None:
    state, store = opened(with_lines('AL = sch.cache_read(C, 0, "local.vtcm")'))
    assert state.moment is not None
    rows = tree_rows(state.moment.schedule.func)
    text_light, text_dark = inks()["text"]
    assert (text_light, text_dark) == ("#1b1f27", "#e6e9ef")
    for draw in (
        lambda theme: tree_svg(rows, theme=theme),
        lambda theme: timeline_svg(timeline_value(state, store), drawn_window(state, store), theme=theme),
    ):
        light, dark, auto = draw("light"), draw("dark"), draw("auto")
        assert text_light in light and text_dark not in light
        assert text_dark in dark and text_light not in dark
        assert "prefers-color-scheme:dark" in auto and text_light in auto and text_dark in auto
        for text in (light, dark, auto):
            assert not re.search(r"(href|src|@import|url\((?!#))", text), "a drawing needs nothing from elsewhere"
            assert "<script" not in text


def test_markup_in_names_is_drawn_as_text() -> None:
    badge = Badge('"><image href="x"/>', "warn", "'&")
    row = Row(
        id="x", parent="", depth=0, kind="loop", name="<script>alert(1)</script>\x00", extent="4 & 5", detail="",
        badges=(badge,), tooltip="a < b",
    )  # fmt: skip
    root = ElementTree.fromstring(tree_svg([row], title="</svg>"))
    assert not list(root.iter(f"{SVG}script")) and not list(root.iter(f"{SVG}image"))
    assert "</svg>" in words(root)


def test_an_empty_tree_is_labelled() -> None:
    assert "no loops and no blocks" in tree_svg([])


@pytest.mark.slow
def test_two_drawings_on_a_page_share_no_rules_or_patterns() -> None:
    names = {drawn(name)[0].attrib["id"] for name in ("vtcm_double_buffer", "gemmini_gemm")}
    assert len(names) == 2
    for name in ("vtcm_double_buffer", "gemmini_gemm"):
        root = drawn(name)[0]
        own = root.attrib["id"]
        assert all(pattern.attrib["id"].startswith(f"{own}-") for pattern in root.iter(f"{SVG}pattern"))
        used = {found for e in root.iter() for found in re.findall(r"url\(#(.+?)\)", e.get("fill", ""))}
        assert used == {pattern.attrib["id"] for pattern in root.iter(f"{SVG}pattern")}
        style = root.find(f"{SVG}style")
        assert style is not None and style.text is not None
        assert all(
            f"#{own}" in rule for rule in re.findall(r"[^{}]+(?=\{[^{}]*\})", style.text) if "@media" not in rule
        )


def test_the_address_map_in_the_docs_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == address_map(), (
        "run: PYTHONPATH=tests python -m support.record.address_map"
    )
    state, store = opened(NOTEBOOK)
    report = store.simulated(state)
    assert isinstance(report, Report)
    placed = {p.buffer.name: p.address for p in report.program.places.of_cell if p.memory.name == "vtcm"}
    assert placed["D"] == placed["A"] and len(set(placed.values())) == 3
    memory = report.memory["local.vtcm"]
    assert (memory.used_bytes, memory.fragmented_bytes, memory.free_bytes) == (49_152, 0, 8_192)
