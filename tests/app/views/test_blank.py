"""Panes without content explain why, and offer the next action."""

from __future__ import annotations

from support.sessions.notebooks import MATMUL_NOTEBOOK, SYMBOLIC, with_lines
from support.sessions.pages import painted

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, act
from tilewright.app.plots.panes import traffic_pane
from tilewright.app.state.model import State
from tilewright.app.views.labels.blank import blank_value
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
    state, store = painted(act(state, ApplyFix(tuple(blank.calls))))
    assert timeline_value(state, store).blank is None and timeline_value(state, store).cycles


def test_a_program_that_cannot_run_leads_to_the_problems_pane() -> None:
    state, store = painted(act(State(), OpenText(with_lines('A_shared = sch.cache_read(C, 0, "shared")'))))
    blank = traffic_pane(state, store).blank
    assert "'shared'" in blank.why and blank.calls == () and blank.shows.startswith("This pane shows")
