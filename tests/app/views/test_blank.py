"""Panes without content explain why, and offer the next action."""

from __future__ import annotations

from support.sessions.notebooks import MATMUL_NOTEBOOK, SYMBOLIC, with_lines
from support.sessions.pages import painted

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, act
from tilewright.app.document import read_document
from tilewright.app.plots.panes import traffic_pane
from tilewright.app.state.model import State
from tilewright.app.views.labels.blank import blank_value
from tilewright.app.views.labels.settings import setting_fields
from tilewright.app.views.next.value import next_value
from tilewright.app.views.timeline.value import timeline_value


def test_no_pane_of_a_runnable_program_is_blank() -> None:
    state, store = painted(act(State(), OpenText(MATMUL_NOTEBOOK)))
    assert blank_value(state, store, "shows") is None
    assert timeline_value(state, store).blank is None and traffic_pane(state, store).blank is None


def test_unknown_sizes_offer_the_line_that_fills_the_pane() -> None:
    state, store = painted(act(State(), OpenText(SYMBOLIC)))
    blank = timeline_value(state, store).blank
    assert blank.why.startswith("The size n has no value")
    assert blank.calls == ('sizes = {"n": 256}',)
    assert [(field.name, field.example) for field in blank.fields] == [("n", "256")]
    assert next_value(state, store).fields == blank.fields
    state, store = painted(act(state, ApplyFix(tuple(blank.calls))))
    assert timeline_value(state, store).blank is None and timeline_value(state, store).cycles


def test_sizes_begin_with_the_numbers_of_the_prose() -> None:
    document = read_document("# %% [markdown]\n# For M = N = 1024 and k = 0.5 it is slow; chans is 4.\n")
    _, fields = setting_fields('sizes = {"M": 256, "N": 256, "k": 256, "chans": 3}', document)
    assert [field.example for field in fields] == ["1024", "1024", "256", "4"]
    assert setting_fields("sch.unroll(i)", document) == ("", [])


def test_a_program_that_cannot_run_leads_to_the_problems_pane() -> None:
    state, store = painted(act(State(), OpenText(with_lines('A_shared = sch.cache_read(C, 0, "shared")'))))
    blank = traffic_pane(state, store).blank
    assert "'shared'" in blank.why and blank.calls == () and blank.shows.startswith("This pane shows")
