"""Searches: each candidate reported once, stopped and resumed, queued behind others, restored after a kill."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.sessions.paper import PaperClock, PaperScreen
from support.sessions.searching import HOLES, searched, with_holes
from support.sessions.slow import Slow

from tilewright.app.actions.exploring import Explore, ResumeExploring, StopExploring
from tilewright.app.actions.opening import OpenDocument, OpenText
from tilewright.app.actions.table import act
from tilewright.app.folders.state import state_path
from tilewright.app.jobs.exploration import Searches
from tilewright.app.jobs.search_slots import SearchSlots
from tilewright.app.jobs.study_files import load_search
from tilewright.app.session.session import Session
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.state.search_results import Found, found_now
from tilewright.app.storage.registry import OpenFileRegistry
from tilewright.engine.cancellation import CancellationToken
from tilewright.engine.execute import Verdict


@pytest.mark.slow
def test_a_search_tries_each_candidate_once_and_checks_the_front() -> None:
    state, _, found = searched()
    assert found.status == "ended" and found.error is None
    assert sorted(trial.number for trial in found.trials) == list(range(12))
    assert found.counts["refused"] == 4 and sum(found.counts.values()) == found.total == 12
    assert found.front and set(found.offers) == set(found.front)
    assert {verdict.status for verdict in found.offers.values()} <= {"proved", "tested"}
    assert len(found.at) == 12 and list(found.at) == sorted(found.at)
    assert state.exploration is not None


@pytest.mark.slow
def test_each_notebook_of_a_page_has_its_own_outcomes() -> None:
    watcher = Watcher()
    for text in (HOLES, HOLES.replace("[64, 32]", "[32, 16]")):
        watcher.show(act(act(State(), OpenText(text)), Explore()))
        watcher.event_loop.run_until(lambda: bool(watcher.found and watcher.found.status in ("ended", "failed")))
        assert watcher.found is not None and watcher.found.error is None
    watcher.searches.close()


class Watcher:
    """The searches of a page, with their reports."""

    def __init__(self, slots: SearchSlots | None = None) -> None:
        self.store, self.event_loop = Store(), PaperClock()
        self.reports: list[Found] = []
        self.state = State()
        self.searches = Searches(self.store, self.event_loop, self.report, slots)

    def report(self) -> None:
        found = self.found
        assert found is not None
        self.reports.append(found)

    @property
    def found(self) -> Found | None:
        return None if self.state.exploration is None else found_now(self.state.exploration, self.store)

    def show(self, state: State) -> None:
        self.state = state
        self.searches.update(state)


@pytest.mark.slow
def test_a_stopped_search_resumes() -> None:
    watcher = Watcher()
    watcher.show(act(with_holes(), Explore()))
    watcher.event_loop.run_until(lambda: bool(watcher.found and len(watcher.found.trials) >= 2))
    watcher.show(act(watcher.state, StopExploring()))
    assert watcher.found is not None and watcher.found.status == "stopped"
    known = watcher.found.trials
    assert known
    watcher.show(act(watcher.state, ResumeExploring()))
    watcher.event_loop.run_until(lambda: bool(watcher.found and watcher.found.status == "ended"))
    assert watcher.found.trials[: len(known)] == known
    assert sorted(trial.number for trial in watcher.found.trials) == list(range(12))
    watcher.searches.close()


@pytest.mark.slow
def test_stopping_during_the_checks_keeps_those_that_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first_check = threading.Event()
    resumed = threading.Event()

    def checked(*_: object) -> Verdict:
        if first_check.is_set():
            resumed.wait(30)
        first_check.set()
        return Verdict("proved", "as it was told")

    monkeypatch.setattr("tilewright.engine.explore.search.loop.verdict_of", checked)
    watcher = Watcher()
    state = act(with_holes(), Explore())
    watcher.show(state)
    watcher.event_loop.run_until(
        lambda: bool(watcher.found and watcher.found.checking and watcher.found.checking[0] == 1)
    )
    assert watcher.found is not None and watcher.found.status == "running" and len(watcher.found.trials) == 12
    front = len(watcher.found.front)
    assert front > 1 and watcher.found.checking == (1, front)
    watcher.show(act(state, StopExploring()))
    assert watcher.found.status == "stopped" and watcher.found.checking is None
    resumed.set()
    monkeypatch.setattr(
        "tilewright.engine.explore.search.loop.verdict_of", lambda *_: Verdict("tested", "another time")
    )
    watcher.show(act(watcher.state, ResumeExploring()))
    watcher.event_loop.run_until(lambda: bool(watcher.found and watcher.found.status == "ended"))
    statuses = [verdict.status for _, verdict in sorted(watcher.found.offers.items())]
    assert len(statuses) == front and "proved" in statuses, "a check that was made is not made again"
    watcher.searches.close()


def test_stopping_a_search_cancels_its_running_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = Slow(lambda *_: Verdict("proved", "too late"))
    monkeypatch.setattr("tilewright.engine.explore.search.loop.verdict_of", slow)
    watcher = Watcher()
    state = act(with_holes(), Explore())
    watcher.show(state)
    watcher.event_loop.run_until(slow.begun.is_set)
    watcher.show(act(state, StopExploring()))
    assert slow.unwound.wait(60) and not slow.ended
    watcher.searches.close()


@pytest.mark.slow
def test_a_search_waits_for_a_free_slot() -> None:
    slots, acquired, released = SearchSlots(1), threading.Event(), threading.Event()

    def hold() -> None:
        with slots.slot(CancellationToken()) as has:
            assert has
            acquired.set()
            released.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert acquired.wait(10)
    watcher = Watcher(slots)
    watcher.show(act(with_holes(), Explore()))
    assert watcher.found is not None and watcher.found.status == "waiting"
    gone, cancelled = threading.Event(), CancellationToken()
    cancelled.cancel()
    with pytest.raises(AssertionError), slots.slot(cancelled) as has:
        gone.set()
        assert has
    assert gone.is_set()
    released.set()
    holder.join()
    watcher.event_loop.run_until(lambda: bool(watcher.found and watcher.found.status == "ended"))
    watcher.searches.close()


def test_a_failed_search_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr("tilewright.app.jobs.exploration.search_from", broken)
    watcher = Watcher()
    watcher.show(act(with_holes(), Explore()))
    watcher.event_loop.run_until(lambda: bool(watcher.found and watcher.found.status == "failed"))
    assert watcher.found is not None and watcher.found.error is not None and "no disk" in str(watcher.found.error)
    watcher.searches.close()


@pytest.mark.slow
def test_results_of_a_search_survive_reopening_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HOLES)
    open_files, event_loop = OpenFileRegistry(tmp_path), PaperClock()
    first = Session(event_loop, (), open_files=open_files)
    first.updater.screen = PaperScreen()
    first.open_file(str(file))
    first.receive({"kind": "explore", "objectives": ["cycles"], "budgets": {}, "trials": 5, "seed": 0})
    exploration = first.state.exploration
    assert exploration is not None

    def known() -> int:
        found = found_now(exploration, first.store)
        return 0 if found is None else len(found.trials)

    event_loop.run_until(lambda: known() >= 3)
    first.close()
    second = Session(event_loop, (), open_files=open_files)
    second.updater.screen = PaperScreen()
    second.open_file(str(file))
    event_loop.run_until(lambda: second.state.exploration is not None)
    again = second.state.exploration
    assert again is not None and not again.going
    found = found_now(again, second.store)
    assert found is not None and len(found.trials) >= 3
    second.receive({"kind": "resume_exploring"})

    def ended() -> bool:
        now = found_now(again, second.store)
        return now is not None and now.status == "ended"

    event_loop.run_until(ended)
    found = found_now(again, second.store)
    assert found is not None and sorted(trial.number for trial in found.trials) == list(range(12))
    second.close()
    open_files.close()
    assert second.state.notebook is not None
    back = load_search(second.state.notebook)
    assert back is not None and found.offers, "the verdicts are restored too"
    assert (back[1].status, back[1].front, back[1].offers) == ("ended", found.front, found.offers)
    state = act(State(), OpenDocument(HOLES.replace("[64, 32]", "[32]"), path=str(file)))
    assert state.notebook is not None
    kept = load_search(state.notebook)
    assert kept is not None and kept[0].notebook.document.text == HOLES, "it stays one of the text that was searched"
    (state_path(tmp_path) / "explore" / "mine.py.json").write_text("{")
    assert load_search(state.notebook) is None
    assert load_search(replace(state.notebook, document=replace(state.notebook.document, path=None))) is None
