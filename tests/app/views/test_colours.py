"""A buffer has one colour: in every view, drawing, figure and recording, in Jupyter, after edits and after a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from bokeh.models import ColumnDataSource
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.pages import opened_example, painted, report_now

import tilewright
from tilewright.app.actions.calls import MakeCall
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import SelectRow, act
from tilewright.app.export.replay import recording
from tilewright.app.jupyter import Timeline
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.drawings import layout_svg, timeline_svg, tree_svg
from tilewright.app.views.inspector.value import inspector_value
from tilewright.app.views.labels.buffer_ids import buffer_ids
from tilewright.app.views.labels.palette import BUFFER_COLOURS, OTHER, colours_by_name
from tilewright.app.views.machine.traffic import traffic_value
from tilewright.app.views.shell.thumbnails import drawn
from tilewright.app.views.timeline.after_drop import timeline_after
from tilewright.app.views.timeline.value import drawn_window, timeline_value
from tilewright.app.views.tree.after_drop import tree_after
from tilewright.app.views.tree.tree_now import costs_now, rows_now
from tilewright.engine.adopt import call_of
from tilewright.engine.ir import PrimFunc

EXAMPLES = ("fused_matmul_relu", "vtcm_double_buffer", "what_moves_what")
NAMES = ("buffer", "name")


def coloured(value: object) -> Iterator[tuple[str, int]]:
    """The names of buffers with their colours in a view's value."""
    if isinstance(value, dict):
        name = next((value[key] for key in NAMES if value.get(key)), None)
        if name and isinstance(value.get("colour"), int):
            yield name, value["colour"]
        for part in value.values():
            yield from coloured(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from coloured(part)


def func_of(state: State) -> PrimFunc:
    assert state.moment is not None
    return state.moment.schedule.func


def written_by_block(state: State, store: Store) -> dict[str, str]:
    return {row.name: row.writes[0].name for row in rows_now(state, store) if row.writes}


def in_views(state: State, store: Store) -> Iterator[tuple[str, str, int]]:
    """(view, buffer, colour number) of the page's views, and of the recording of a replay."""
    picked = [act(state, SelectRow(buffer=buffer)) for buffer in buffer_ids(func_of(state))]
    views: dict[str, Any] = {
        "tree": rows_now(state, store),
        "timeline": timeline_value(state, store),
        "inspector": [inspector_value(x, store) for x in (state, act(state, SelectRow(rows_now(state, store)[-1].id)))],
        "layouts": [inspector_value(x, store).picker for x in picked],
        "traffic": traffic_value(state, store).flows,
        "replay": recording(state, store, report_now(state, store), 100).value,
    }
    for view, value in views.items():
        found = list(coloured(msgspec.to_builtins(value)))
        assert found, view
        yield from ((view, name, colour) for name, colour in found)


def in_numbers(state: State, store: Store) -> Iterator[tuple[str, str, int]]:
    """(view, buffer, colour number) of the views that send colours without names."""
    func, report, written = func_of(state), report_now(state, store), written_by_block(state, store)
    lanes = timeline_after(((), "", ""), report, store, 0, report.cycles).lanes
    for work in lanes.values():
        for *_, colour, words in work.bars:
            yield "after a drop", written.get(words.split()[0], ""), colour
    for row in (row for group in tree_after(func, func, [], "", "").groups for row in group.rows):
        yield "tree after a drop", written.get(row.name, ""), row.colour or 0
    assert state.notebook is not None
    blocks = [row.writes[0].name for row in rows_now(state, store) if row.writes]
    shades = [colour for _, _, colour in drawn("", state.notebook, report).rows if colour >= 0]
    yield from (("thumbnail", name, colour) for name, colour in zip(blocks, shades, strict=False))


def in_drawings(state: State, store: Store) -> Iterator[tuple[str, str, str]]:
    """(drawing, buffer, colour as hex) of the boxes with a name in SVG text and in figures."""
    drawings = {
        "timeline.svg": timeline_svg(timeline_value(state, store), drawn_window(state, store), theme="light"),
        "Timeline(report).svg": Timeline(report_now(state, store))._pictures()[0],
    }
    for drawing, svg in drawings.items():
        root = ElementTree.fromstring(svg)
        for group in root.iter("{http://www.w3.org/2000/svg}g"):
            for shape in group.iter("{http://www.w3.org/2000/svg}path") if group.get("data-cell") else ():
                if re.fullmatch("#[0-9a-f]{6}", shape.get("fill", "")):
                    yield drawing, group.get("data-cell", "").partition("#")[0], shape.get("fill", "")
    report, written = report_now(state, store), written_by_block(state, store)
    tasks, tiles = (tilewright.plot.timeline(report, theme="light"), tilewright.plot.occupancy(report, theme="light"))
    for figure, name, column, buffer_of in (
        (tasks, "tasks", "block", lambda block: written.get(block, "")),
        (tiles, "tiles", "tile", lambda tile: tile.partition("#")[0]),
    ):
        source = figure.select_one({"name": name, "type": ColumnDataSource})
        assert isinstance(source, ColumnDataSource)
        for label, colour in zip(source.data[column], source.data["color"], strict=True):
            yield f"plot {name}", buffer_of(label), colour


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_view_has_the_same_colours(name: str) -> None:
    state, store = painted(opened_example(name))
    colours = colours_by_name(func_of(state))
    numbers = [*in_views(state, store), *in_numbers(state, store)]
    wrong = {(view, buffer, n) for view, buffer, n in numbers if n != OTHER and n != colours.get(buffer, n)}
    assert not wrong
    light = {buffer: BUFFER_COLOURS[n][0] for buffer, n in colours.items()}
    shown = list(in_drawings(state, store))
    assert not {entry for entry in shown if entry[2] != light.get(entry[1], entry[2])}
    assert {"timeline.svg", "Timeline(report).svg", "plot tasks", "plot tiles"} == {view for view, *_ in shown}
    assert tree_svg(rows_now(state, store), costs_now(state, store), theme="light")
    picker = next(inspector_value(act(state, SelectRow(buffer=b)), store).picker for b in buffer_ids(func_of(state)))
    assert layout_svg(picker, theme="light")


def test_colours_stay_as_buffers_are_added_and_are_the_same_after_a_reload() -> None:
    first, session = act(State(), OpenText(MATMUL_NOTEBOOK)), Store()
    before = dict(coloured(msgspec.to_builtins(rows_now(first, session))))
    caches = [MakeCall(call_of("cache_read", ("C", number, "local"))) for number in (0, 1)]
    both = act(act(first, caches[0]), caches[1])
    for state in (act(first, caches[0]), both, act(first, caches[1]), act(act(first, caches[1]), caches[0])):
        shown = dict(coloured(msgspec.to_builtins(rows_now(state, session))))
        assert before.items() < shown.items()
        assert state.notebook is not None
        reloaded = act(State(), OpenText(state.notebook.document.text))
        assert dict(coloured(msgspec.to_builtins(rows_now(reloaded, Store())))) == shown
