"""The "Make it fast" button: a background derivation, its schedule as a branch with the first metrics, and the search of parameters."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.sessions.paper import PaperClock, PaperScreen
from support.sessions.searching import DOUBLE, SMALL_HOLES

from tilewright.app.actions.exploring import EndDerivation, MakeFast, StopExploring
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.document.editing.branches import current_branch
from tilewright.app.jobs import derivation as derivation_module
from tilewright.app.jobs.exploration import Searches
from tilewright.app.jobs.search_slots import SearchSlots
from tilewright.app.limits import LIMITS
from tilewright.app.session.session import Session
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.state.search_results import Found, derived_now, found_now
from tilewright.app.storage.databases import DatabaseChoice, folder_database
from tilewright.app.storage.registry import OpenFileRegistry
from tilewright.app.views.explore.value import SearchDatabase, explore_value
from tilewright.engine.cancellation import CancellationToken
from tilewright.engine.explore import Database

FRESH = DOUBLE[: DOUBLE.index("# %% schedule")]


@pytest.fixture(autouse=True)
def no_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.app.jobs.exploration.LIMITS", replace(LIMITS, search_workers=0))


class Watcher:
    """The searches of a page, with the ends of its derivations."""

    def __init__(self, slots: SearchSlots | None = None) -> None:
        self.store, self.event_loop = Store(), PaperClock()
        self.better: list[int] = []
        self.ended: list[EndDerivation] = []
        self.state = State()
        self.searches = Searches(
            self.store, self.event_loop, self.found, slots or SearchSlots(databases=DatabaseChoice(is_off=True)),
            on_end=lambda end: self.ended.append(end) if isinstance(end, EndDerivation) else None,
        )  # fmt: skip

    def found(self) -> None:
        derivation = self.state.derivation
        found = None if derivation is None else derived_now(derivation, self.store)
        if found is not None and found.outcome.figures is not None:
            self.better.append(found.outcome.figures.cycles)

    def show(self, state: State) -> None:
        self.state = state
        self.searches.update(state)


def test_each_faster_schedule_is_reported_and_the_last_opened() -> None:
    watcher = Watcher()
    watcher.show(act(act(State(), OpenText(FRESH)), MakeFast()))
    assert watcher.searches.running and watcher.state.derivation is not None and watcher.state.pane == "explore"
    assert explore_value(watcher.state, watcher.store).deriving.cycles is None
    watcher.event_loop.run_until(lambda: bool(watcher.ended))
    assert watcher.better and watcher.better == sorted(watcher.better, reverse=True)
    deriving = explore_value(watcher.state, watcher.store).deriving
    assert deriving.cycles == watcher.better[-1] and deriving.decisions and deriving.machine == "dual-bank-npu"
    (end,) = watcher.ended
    assert end.error is None and end.found is not None
    before = watcher.state
    watcher.show(act(watcher.state, end))
    state = watcher.state
    assert state.notice is None and state.derivation is None and state.exploration is not None
    assert state.notebook is not None and state.notebook.error is None and "choose(" in state.notebook.document.text
    # The derived schedule is the first candidate, before any worker has an answer.
    exploration = state.exploration
    assert exploration.request.settings.objectives == ("cycles",) and exploration.request.settings.seconds == 60

    def first() -> Found | None:
        found = found_now(exploration, watcher.store)
        return found if found is not None and found.trials else None

    watcher.event_loop.run_until(lambda: first() is not None)
    found = first()
    assert found is not None and found.trials[0].outcome == end.found.outcome
    assert found.trials[0].point == exploration.request.space.default and found.at[0] >= end.found.seconds > 0
    search = explore_value(state, watcher.store).search
    assert search.decisions == end.found.space.decisions and search.best == 0
    watcher.searches.close()
    assert act(before, replace(end, derivation=replace(end.derivation))) is before, "a derivation of another press"


@pytest.mark.slow
def test_a_derived_schedule_is_a_branch_and_stops_a_search() -> None:
    state = act(State(), OpenText(SMALL_HOLES))
    searching = act(state, MakeFast(5.0))
    assert searching.derivation is not None and searching.derivation.settings.seconds == 5
    watcher = Watcher()
    watcher.show(searching)
    watcher.event_loop.run_until(lambda: bool(watcher.ended))
    after = act(watcher.state, watcher.ended[0])
    assert after.notebook is not None and current_branch(after.notebook.document) == "auto"
    assert after.exploration is not None and after.exploration.request.branch == "auto"
    again = act(after, MakeFast())
    assert again.exploration is not None and not again.exploration.going
    watcher.searches.close()


def test_a_stop_ends_the_derivation() -> None:
    watcher = Watcher()
    watcher.show(act(act(State(), OpenText(FRESH)), MakeFast()))
    watcher.show(act(watcher.state, StopExploring()))
    assert watcher.state.derivation is None and not watcher.searches.running
    watcher.show(act(watcher.state, MakeFast()))
    watcher.event_loop.run_until(lambda: bool(watcher.ended))
    assert len(watcher.ended) == 1, "the first derivation tells nothing"
    watcher.searches.close()


def test_a_derivation_waits_for_a_free_slot() -> None:
    slots, acquired, released = SearchSlots(1, DatabaseChoice(is_off=True)), threading.Event(), threading.Event()

    def hold() -> None:
        with slots.slot(CancellationToken()):
            acquired.set()
            released.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert acquired.wait(10)
    watcher = Watcher(slots)
    watcher.show(act(act(State(), OpenText(FRESH)), MakeFast()))
    assert watcher.searches.running and not watcher.better
    released.set()
    holder.join()
    watcher.event_loop.run_until(lambda: bool(watcher.ended))
    assert watcher.better
    watcher.searches.close()


@pytest.mark.slow
def test_a_long_derivation_ends_with_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation_module, "LONGEST_S", 0.0)
    watcher = Watcher()
    watcher.show(act(act(State(), OpenText(FRESH)), MakeFast()))
    watcher.event_loop.run_until(lambda: bool(watcher.ended))
    (end,) = watcher.ended
    assert end.found is not None and end.found.outcome.fits
    watcher.searches.close()


def test_a_failed_derivation_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no rule")

    monkeypatch.setattr(derivation_module, "deriving", broken)
    watcher = Watcher()
    watcher.show(act(act(State(), OpenText(FRESH)), MakeFast()))
    watcher.event_loop.run_until(lambda: bool(watcher.ended))
    after = act(watcher.state, watcher.ended[0])
    assert after.derivation is None and after.exploration is None and after.notebook is watcher.state.notebook
    assert after.notice is not None and "no rule" in after.notice.message
    watcher.searches.close()


class Opened:
    """A page on a file of a folder."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        file = folder / name
        file.write_text(text)
        self.event_loop = PaperClock()
        self.open_files = OpenFileRegistry(folder)
        self.session = Session(self.event_loop, (), open_files=self.open_files, places=SearchSlots())
        self.session.updater.screen = PaperScreen()
        self.session.open_file(str(file))

    def ended(self) -> Found:
        """The results of a click on "Make it fast"."""
        self.session.receive({"kind": "make_fast", "seconds": 30})
        self.event_loop.run_until(lambda: self.session.state.exploration is not None)

        def found() -> Found | None:
            exploration = self.session.state.exploration
            return None if exploration is None else found_now(exploration, self.session.store)

        self.event_loop.run_until(lambda: (now := found()) is not None and now.status in ("ended", "failed"))
        now = found()
        assert now is not None
        return now

    def close(self) -> None:
        self.session.close()
        self.open_files.close()


@pytest.mark.slow
def test_a_search_begins_with_the_database_of_the_folder(
    tmp_path: Path,
) -> None:
    one = Opened(tmp_path, "one.py", FRESH)
    found = one.ended()
    one.close()
    assert found.status == "ended" and found.warm_start.text == "" and found.warm_start.written
    best = min(t.outcome.figures.cycles for t in found.trials if t.outcome.fits and t.outcome.figures)
    with Database(folder_database(tmp_path)) as database:
        (record,) = database.records()
    assert record.cycles == best and record.choice == found_choice(one)
    # A program of equal structure under other names begins with the record: its first candidate is as good.
    names = FRESH.replace("double", "twice").replace("for i ", "for a ").replace("(64, i)", "(64, a)")
    other = Opened(tmp_path, "other.py", names)
    again = other.ended()
    search = explore_value(other.session.state, other.session.store).search
    other.close()
    assert again.warm_start.exact == 1 and again.trials[0].outcome.figures is not None
    assert again.trials[0].outcome.figures.cycles == best
    assert search.database == SearchDatabase(again.warm_start.text, failed=False)
    assert search.database.text.startswith("starts from the schedule found before: double(")


def found_choice(page: Opened) -> object:
    exploration = page.session.state.exploration
    assert exploration is not None and exploration.request.derived is not None
    return exploration.request.derived.space.choice


@pytest.mark.slow
def test_a_damaged_database_does_not_stop_the_search(tmp_path: Path) -> None:
    page = Opened(tmp_path, "one.py", FRESH)
    file = folder_database(tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"not a database" * 100)
    found = page.ended()
    search = explore_value(page.session.state, page.session.store).search
    page.close()
    assert found.status == "ended" and found.counts["fits"] and found.offers
    assert search.database.failed and "the search goes on without it" in search.database.text
    assert file.read_bytes().startswith(b"not a database")
