"""On-demand analyses: started once their pane stays visible, reported piece by piece, cancelled when it is hidden."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.sessions.pages import opened_example, report_now
from support.sessions.paper import PaperClock

from tilewright.app.actions.table import ShowPane, act
from tilewright.app.jobs import on_demand as module
from tilewright.app.jobs.analyses.analysis import Analysis
from tilewright.app.jobs.analyses.comparison import comparison_analysis
from tilewright.app.jobs.analyses.machine import sensitivity_analysis
from tilewright.app.jobs.on_demand import OnDemandAnalyses
from tilewright.app.state.comparison import NOW, START, Compare
from tilewright.app.state.derived import Store
from tilewright.app.state.entries import Derived
from tilewright.app.state.model import State


class Subject:
    """States by number; each has one study of three pieces."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.event_loop, self.reports = Store(), PaperClock(), 0
        self.topics = {name: Derived[int](name)() for name in ("a", "b")}
        self.begun: list[str] = []
        monkeypatch.setattr(module, "next_analysis", self.next_analysis)
        self.studies = OnDemandAnalyses(self.store, self.event_loop, self.report)

    def report(self) -> None:
        self.reports += 1

    def next_analysis(self, state: State, store: Store) -> Analysis | None:
        for name in state.named:
            if store.known(self.topics[name]) != 3:
                return Analysis(self.topics[name], lambda name=name: self.pieces(name))
        return None

    def pieces(self, name: str) -> Iterator[Any]:
        self.begun.append(name)
        yield from (1, 2, 3)

    def knows(self, name: str) -> Any:
        return self.store.known(self.topics[name])


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> Subject:
    return Subject(monkeypatch)


def test_each_piece_of_an_analysis_is_stored_and_reported(subject: Subject) -> None:
    subject.studies.update(State(named="a"))
    assert subject.knows("a") is None and not subject.begun  # not before the debounce
    subject.event_loop.run_until(lambda: subject.knows("a") == 3)
    assert subject.reports == 3


def test_a_visible_analysis_is_not_restarted_and_the_next_follows(
    subject: Subject,
) -> None:
    subject.studies.update(State(named="a"))
    subject.studies.update(State(named="ab"))
    subject.event_loop.run_until(lambda: subject.knows("b") == 3)
    assert subject.begun == ["a", "b"]


def test_an_analysis_that_fails_is_not_restarted(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(name: str) -> Iterator[Any]:
        subject.begun.append(name)
        yield 1
        raise ZeroDivisionError

    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: errors.append(failure.exc_type))
    monkeypatch.setattr(subject, "pieces", failing)
    subject.studies.update(State(named="a"))
    subject.event_loop.run_until(lambda: subject.studies._stopped is not None)
    for thread in threading.enumerate():
        if thread.name == "job":
            thread.join()
    assert errors == [ZeroDivisionError]
    subject.studies.update(State(named="a"))
    assert subject.begun == ["a"] and subject.studies._running is None


def test_an_analysis_out_of_view_is_cancelled(subject: Subject) -> None:
    subject.studies.update(State(named="a"))
    subject.studies.update(State(named="b"))
    subject.event_loop.run_until(lambda: subject.knows("b") == 3)
    assert subject.begun == ["b"]


def test_nothing_visible_starts_no_analysis(subject: Subject) -> None:
    subject.studies.update(State(named="a"))
    subject.studies.update(State())
    subject.event_loop.run_until(subject.event_loop.work.empty)
    assert not subject.begun


def test_costs_of_a_comparison_precede_the_sensitivity() -> None:
    state, store = opened_example("place_the_copies"), Store()
    report_now(state, store)
    visible = act(act(state, Compare(START, NOW)), ShowPane("machine"))
    first = comparison_analysis(visible, store)
    assert first is not None and first.entry.name == "report"
    first.run(store)
    assert comparison_analysis(visible, store) is None  # comparing steps of one schedule covers the rest
    after = sensitivity_analysis(visible, store)
    assert after is not None and after.entry.name == "sensitivity"
