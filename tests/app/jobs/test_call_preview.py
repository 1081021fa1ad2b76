"""Predictions for menus and forms: each call is made and simulated in the background; closing the menu cancels the rest."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.session.session import Session
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.tree.predictions import Brief

EXAMPLES = load_examples()


class Screen(PaperScreen):
    """A screen that records the predictions."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[dict[str, Any]] = []

    def show_prediction(self, prediction: dict[str, Any]) -> None:
        self.shown.append(prediction)


@pytest.fixture
def session() -> Session:
    created = Session(PaperClock(), EXAMPLES)
    created.updater.screen = Screen()
    created.receive({"kind": "open", "name": "vtcm_double_buffer"})
    return created


def shown(session: Session) -> list[dict[str, Any]]:
    assert isinstance(session.updater.screen, Screen)
    return session.updater.screen.shown


def tried(session: Session, ticket: int, *calls: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The value of each call, after all predictions."""
    assert isinstance(session.event_loop, PaperClock)
    session.receive({"kind": "try_calls", "ticket": ticket, "calls": list(calls)})
    session.event_loop.run_until(lambda: sum(p.ticket == ticket for p in shown(session)) == len(calls))
    return {p.index: p.value for p in shown(session) if p.ticket == ticket}


def factors(inner: int) -> dict[str, Any]:
    return {"kind": "revise", "method": "split", "target": "ko", "arguments": {"factors": [None, inner]}}


@pytest.mark.slow
def test_previews_have_cycles_and_footprint_and_change_nothing(session: Session) -> None:
    before = session.state.notebook
    values = tried(
        session, 1, factors(64), factors(32), factors(3), {"kind": "call", "method": "parallel", "target": "mo"}
    )
    assert values[0].brief == Brief("same cycles", "same", "vtcm[0] 32\u202fKiB")
    assert values[1].brief.memory == "vtcm[0] 16\u202fKiB" and values[1].brief.trend == "worse"
    assert {line.name for line in values[1].lines} >= {"Cycles", "Bytes moved"}
    assert values[3].brief
    assert session.state.notebook is before


@pytest.mark.slow
def test_a_preview_equals_the_applied_change(session: Session) -> None:
    value = tried(session, 1, factors(32))[0]
    line = next(line for line in value.lines if line.name == "Cycles")
    session.receive(factors(32))
    report = session.store.simulated(session.state)
    assert session.state.notice is None and line.text.endswith(f"→ {report.cycles:,}".replace(",", "\u202f"))  # pyright: ignore


def test_repeated_calls_hit_the_cache(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tried(session, 1, factors(32))
    monkeypatch.setattr("tilewright.app.jobs.call_preview.try_move", None)
    session.receive({"kind": "try_calls", "ticket": 2, "calls": [factors(32)]})
    assert [p.value for p in shown(session) if p.ticket == 2] == list(first.values())


def test_preview_of_a_refused_call_has_the_reason(session: Session) -> None:
    wrong = {"kind": "call", "method": "compute_inline", "target": "C"}
    value = tried(session, 1, wrong, factors(0))
    assert value[0].code and value[0].refused
    assert value[1].refused


@pytest.mark.slow
def test_a_closed_menu_gets_no_more_previews(session: Session) -> None:
    session.receive({"kind": "try_calls", "ticket": 1, "calls": [factors(32), factors(16)]})
    work = session.call_preview._work
    session.receive({"kind": "try_calls", "ticket": 2, "calls": []})
    assert work is not None and work.wait(30) in (True, False)
    assert all(p["ticket"] != 1 for p in shown(session))


def test_a_revision_that_later_steps_need_is_refused_with_them(session: Session) -> None:
    session.receive({"kind": "open", "name": "fused_matmul_relu"})
    session.receive({"kind": "move", "block": "x_local", "loop": "i0", "primitive": "compute_at"})
    assert session.state.notice is not None and session.state.notice.code == "later-steps"
    assert session.state.notice.where == "tree" and "double_buffer(x_local)" in session.state.notice.found
    before = session.state.notebook
    session.receive({"kind": "move", "block": "x_local", "loop": "i0", "primitive": "compute_at", "switch_off": True})
    assert session.state.notice is None
    session.receive({"kind": "undo"})
    assert session.state.notebook is before
