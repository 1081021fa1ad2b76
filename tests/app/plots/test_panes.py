"""Figures of panes: equal values keep their figure, every colour has a dark one, hidden panes have none."""

from __future__ import annotations

import gc
import json
import re

import msgspec
from bokeh.document import Document
from bokeh.io.doc import patch_curdoc
from bokeh.plotting import figure
from support.sessions.pages import opened_example, painted, report_now

from tilewright.app.components.figures import TrafficView, bokeh_script
from tilewright.app.plots.panes import TrafficFigures, dark_colours, item_of, traffic_pane
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State


def test_both_figures_of_a_report_are_sent_once() -> None:
    state, store = painted(opened_example("vtcm_double_buffer"))
    report_now(state, store)
    first = msgspec.json.encode(traffic_pane(state, store))
    assert msgspec.json.encode(traffic_pane(state, store)) == first
    figures = json.loads(first)["figures"]
    assert set(figures) == {"traffic", "roofline"}
    roots = json.dumps([figure["doc"]["roots"] for figure in figures.values()])
    colours = set(re.findall(r'"(#[0-9a-f]{6})"', roots))
    assert colours and colours <= set(dark_colours())
    assert "CustomJS" not in json.dumps(figures), "the page's policy forbids scripts that are built from text"


def test_no_program_has_no_figure() -> None:
    assert traffic_pane(State(), Store()).figures == TrafficFigures()


def test_the_notebook_script_is_that_of_the_installed_bokeh() -> None:
    view, sent = TrafficView({}), list[dict[str, object]]()
    view.on_sent(sent.append)
    view.receive({"kind": "bokeh"})
    (answer,) = sent
    assert answer == {"kind": "bokeh", "script": bokeh_script()}
    assert "Anaconda" in bokeh_script()[:2_000]


def test_a_figure_is_drawn_while_the_current_document_is_that_of_a_closed_page() -> None:
    page = Document()
    with patch_curdoc(page):
        del page
        gc.collect()
        item = item_of(figure(width=10, height=10))
    assert item.root_id in str(item.doc)
