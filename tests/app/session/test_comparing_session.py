"""Messages of the machine panel and of the comparison, and the analyses that run while these are visible."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.actions.opening import OpenText
from tilewright.app.session.session import Session
from tilewright.app.state.comparison import side_state
from tilewright.app.state.model import State
from tilewright.app.views.compare.value import choices, compare_value
from tilewright.app.views.machine.sensitivity import tried_now
from tilewright.app.views.machine.value import machine_value
from tilewright.app.views.shell.gallery import Example, load_examples
from tilewright.app.views.timeline.explanation import explanation_value
from tilewright.engine.hwsim import Report

EXAMPLES: tuple[Example, ...] = load_examples()


@pytest.fixture
def session() -> Session:
    created = Session(PaperClock(), EXAMPLES)
    created.updater.screen = PaperScreen()
    created.dispatch(OpenText(MATMUL_NOTEBOOK))
    return created


def send(session: Session, kind: str, **fields: Any) -> State:
    session.receive({"kind": kind, **fields})
    return session.state


def wait(session: Session, done: Any) -> None:
    assert isinstance(session.event_loop, PaperClock)
    session.event_loop.run_until(done)


def keys(state: State) -> tuple[str, str]:
    assert state.comparison is not None
    return state.comparison.a.key, state.comparison.b.key


def test_typed_parameters_are_read_with_their_units(session: Session) -> None:
    state = send(session, "set_parameter", path="memories.vtcm.capacity_bytes", value="0.5 MiB")
    assert state.notebook is not None and state.notebook.machine is not None
    assert state.notebook.machine.memory("vtcm").capacity_bytes == 1 << 19
    assert send(session, "set_parameter", path="clock_hz", value="1.2 GHz").notice is None
    state = send(session, "reset_parameter", path=None)
    assert state.notebook is not None and state.notebook.document.text == MATMUL_NOTEBOOK


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "set_parameter", "path": "memories.vtcm.banks", "value": "many"},
        {"kind": "set_parameter", "path": "memories.vtcm.name", "value": "4"},
        {"kind": "set_parameter", "path": "memories.vtcm.scopes", "value": "4"},
        {"kind": "set_parameter", "path": 'memories.vtcm.banks", 4)\nimport os #', "value": "4"},
        {"kind": "set_parameter", "path": "memories.vtcm.mapping", "value": 'block")\nimport os #'},
        {"kind": "set_parameter", "path": "", "value": ""},
        {"kind": "set_parameter"},
        {"kind": "reset_parameter", "path": "no.such.figure"},
        {"kind": "compare", "a": "step:many"},
        {"kind": "compare", "a": "step:-1"},
        {"kind": "compare", "a": "step:-99999999999999999999"},
        {"kind": "compare", "a": "branch:none"},
        {"kind": "compare", "a": "example:../../etc/passwd"},
        {"kind": "compare_text", "side": "a", "name": "x", "text": "def (:"},
        {"kind": "compare_text", "side": "a"},
        {"kind": "show_span", "start": "now", "end": []},
    ],
)
def test_a_malformed_message_shows_a_notice_and_changes_nothing(session: Session, message: dict[str, Any]) -> None:
    before = session.state
    session.receive(message)
    assert session.state.notebook is before.notebook
    assert session.state.comparison is None
    if message["kind"] != "span":  # without a comparison there is nothing to zoom
        assert session.state.notice is not None


def test_sensitivity_is_analysed_while_the_machine_pane_is_visible(session: Session) -> None:
    assert tried_now(session.state, session.store) is None
    session.store.simulated(session.state)
    send(session, "pane", pane="machine")
    wait(session, lambda: tried_now(session.state, session.store) is not None)
    found = tried_now(session.state, session.store)
    assert found is not None and found.done < found.total
    assert "Simulating" in machine_value(session.state, session.store).limit.text
    send(session, "pane", pane="script")
    send(session, "pane", pane="machine")
    wait(session, lambda: (now := tried_now(session.state, session.store)) is not None and now.is_complete)
    assert machine_value(session.state, session.store).sensitivities


def test_compare_last_change_simulates_after_the_paint(session: Session) -> None:
    state = send(session, "compare")
    assert keys(state) == ("step:3", "now")

    def explained() -> bool:
        return bool(explanation_value(session.state, session.store).text)

    wait(session, explained)
    value = compare_value(session.state, session.store, EXAMPLES)
    assert value.table and not any(side.waiting for side in value.sides)
    assert send(session, "end_compare").comparison is None


def test_changing_one_operand_keeps_the_other(session: Session) -> None:
    send(session, "compare", a="step:0", b="now")
    assert keys(send(session, "compare", b="example:box_blur")) == ("step:0", "example:box_blur")
    assert keys(send(session, "compare", a="example:box_blur", b="step:0")) == ("example:box_blur", "step:0")
    state = send(session, "compare_text", side="b", name="mine", text=MATMUL_NOTEBOOK)
    assert keys(state) == ("example:box_blur", "file:mine")
    assert {"Files"} <= {group.title for group in choices(state, EXAMPLES)}
    refused = send(session, "compare", a="step:x")
    assert refused.notice is not None and keys(refused) == keys(state)


def test_each_branch_can_be_compared_as_a_program(session: Session) -> None:
    send(session, "add_branch", name="wide", steps=None)
    assert session.state.moment is not None
    j = session.state.moment.names["j"]
    send(session, "call", method="vectorize", target=j.name, arguments={})
    state = send(session, "compare", a="branch:main", b="branch:wide")
    assert state.comparison is not None, state.notice
    a, b = (side_state(state, side).moment for side in (state.comparison.a, state.comparison.b))
    assert a is not None and b is not None
    assert len(a.schedule.trace.steps) + 1 == len(b.schedule.trace.steps)
    groups = {group.title: [item.text for item in group.items] for group in choices(state, EXAMPLES)}
    assert groups["Branches"] == ["main", "wide"]


def test_an_operand_that_follows_includes_later_edits(session: Session) -> None:
    send(session, "compare", a="step:0", b="now")
    send(session, "set_parameter", path="memories.ddr.read_bytes_per_cycle", value="52")
    state = session.state
    assert state.comparison is not None and state.shown is not None
    now = side_state(state, state.comparison.b)
    machine = session.store.machine(now)
    assert machine is session.store.machine(state)
    opened = send(session, "compare", a="opened")
    assert opened.comparison is not None
    before = session.store.machine(side_state(opened, opened.comparison.a))
    assert before != machine
    assert isinstance(session.store.simulated(side_state(opened, opened.comparison.a)), Report)
