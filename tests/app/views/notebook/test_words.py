"""Completion in the notebook's editors: calls with their parameters, handles, and words inside strings."""

from __future__ import annotations

import inspect

from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ViewStep, act
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.notebook.words import KnownHandle, calls_to_write, words_value
from tilewright.engine.adopt import QUERIES
from tilewright.engine.schedule import PRIMITIVES


def test_completion_has_every_call_with_parameters_and_a_sentence() -> None:
    calls = {call.name: call for call in calls_to_write()}
    assert set(calls) == {*PRIMITIVES, *QUERIES, "machine"}
    for name, primitive in PRIMITIVES.items():
        expected = list(inspect.signature(primitive.apply).parameters)[1:]
        assert [p.name for p in calls[name].parameters] == expected
    assert all(call.summary for call in calls.values())


def test_parameters_have_types_and_defaults() -> None:
    calls = {call.name: {p.name: p for p in call.parameters} for call in calls_to_write()}
    assert calls["split"]["loop"].takes == "loop" and calls["split"]["loop"].default is None
    assert calls["split"]["preserve_unit_iters"].default == "True"
    assert calls["tile"]["loops"].many and calls["tile"]["factors"].named
    assert calls["cache_read"]["storage_scope"].takes == "scope"
    assert calls["get_block"]["name"].takes == "block" and calls["machine"]["name"].takes == "machine"


def test_completion_has_stale_handles_last_and_strings_of_the_program() -> None:
    state, store = act(State(), OpenText(MATMUL_NOTEBOOK)), Store()
    state = act(state, OpenText(with_lines("xo, xi = sch.split(i, [None, 4])")))
    words = words_value(state, store)
    handles = {handle.name: handle for handle in words.handles}
    assert handles["xi"] == KnownHandle("xi", "loop", "4")
    assert handles["i"].detail == "no longer in the program"
    gone = [h.detail.startswith("not") for h in words.handles]
    assert gone == sorted(gone), "what is there comes first"
    assert handles["C"].kind == "block"
    assert words.schedule == "sch"
    assert "C" in words.strings["block"] and "global" in words.strings["scope"]
    assert "dual-bank-npu" in words.strings["machine"] and "threadIdx.x" in words.strings["thread"]
    back = words_value(act(state, ViewStep(0)), store)
    assert {h.name: h.detail for h in back.handles}["i"] != "no longer in the program"


def test_completion_without_a_notebook_has_calls_and_machines() -> None:
    words = words_value(State(), Store())
    assert words.calls and words.handles == [] and words.strings["block"] == []
