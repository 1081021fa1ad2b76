"""Background analysis of the shown program: quick results are in the first paint; slow ones show their status and can be stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.sessions.paper import PaperClock, PaperScreen
from support.sessions.slow import Slow

from tilewright.app.jobs import background_analysis as module
from tilewright.app.jobs.background_job import JobStatus
from tilewright.app.session.session import Session
from tilewright.app.state.derived import CHECK_STOPPED
from tilewright.app.views.notebook.value import known_changes
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.shell.headline import headline_value
from tilewright.app.views.timeline.value import timeline_value
from tilewright.engine.execute import Verdict
from tilewright.engine.hwsim import Report
from tilewright.engine.ir import TilewrightError

EXAMPLES = load_examples()


class Watched:
    """A session that paints at once, and a record of its job statuses."""

    def __init__(self, patience: float) -> None:
        self.event_loop, self.screen = PaperClock(), PaperScreen()
        self.session = Session(self.event_loop, EXAMPLES, patience=lambda: patience)
        self.session.updater.screen, self.session.updater.tell_doing = self.screen, self.record
        self.doing: tuple[JobStatus, ...] = ()

    def record(self, doing: tuple[JobStatus, ...]) -> None:
        self.doing = doing

    def open(self, name: str = "vtcm_double_buffer") -> None:
        self.session.receive({"kind": "open", "name": name})

    def until(self, done: Callable[[], bool]) -> None:
        self.event_loop.run_until(done)

    def names(self) -> set[str]:
        return {entry.key for entry in self.doing}

    @property
    def verdict(self) -> Verdict | None:
        moment = self.session.state.moment
        assert moment is not None
        return self.session.store.verdict(self.session.state, moment.schedule)

    @property
    def report(self) -> Report | TilewrightError | None:
        return self.session.store.known_report(self.session.state)


Watch = Callable[[float], Watched]


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Sessions by their time limit; each ends with its test."""
    created: list[Watched] = []

    def begin(patience: float) -> Watched:
        created.append(Watched(patience))
        return created[-1]

    yield begin
    for watched in created:
        watched.session.close()


@pytest.fixture
def slow_report(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    slow = Slow(module.report_of)
    monkeypatch.setattr(module, "report_of", slow)
    yield slow
    slow.may_end.set()


@pytest.fixture
def slow_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    slow = Slow(module.verdict_of)
    monkeypatch.setattr(module, "verdict_of", slow)
    yield slow
    slow.may_end.set()


@pytest.mark.slow
def test_a_long_simulation_is_filled_in_after_the_paint(watch: Watch, slow_report: Slow) -> None:
    watched = watch(0)
    watched.open()
    state, store = watched.session.state, watched.session.store
    assert len(watched.screen.drawn) == 1 and watched.report is None
    assert headline_value(state, store).figures[0].value == "…"
    assert "Simulation in progress" in timeline_value(state, store).note
    assert JobStatus("report", "area-timeline", "Simulating") in watched.doing
    slow_report.may_end.set()
    watched.until(lambda: isinstance(watched.report, Report))
    watched.until(lambda: len(watched.screen.drawn) == 2)
    assert "report" not in watched.names()


def test_a_quick_simulation_is_in_the_first_paint(watch: Watch) -> None:
    watched = watch(60)
    watched.open()
    assert len(watched.screen.drawn) == 1 and isinstance(watched.report, Report)
    assert "report" not in watched.names()


def test_a_stopped_simulation_is_shown_as_stopped_and_resumes(watch: Watch, slow_report: Slow) -> None:
    watched = watch(0)
    watched.open()
    assert slow_report.begun.wait(60)
    watched.session.receive({"kind": "cancel_work"})
    assert slow_report.unwound.wait(60)
    assert isinstance(watched.report, TilewrightError) and watched.report.code == "given-up"
    assert all(entry.stopped for entry in watched.doing) and "report" in watched.names()
    assert "stopped" in timeline_value(watched.session.state, watched.session.store).note
    slow_report.may_end.set()
    watched.session.receive({"kind": "resume"})
    watched.until(lambda: isinstance(watched.report, Report))


@pytest.mark.slow
def test_a_stopped_check_leaves_the_verdict_unknown_and_can_resume(watch: Watch, slow_check: Slow) -> None:
    watched = watch(60)
    watched.open()
    watched.until(slow_check.begun.is_set)
    assert "verdict" in watched.names()
    watched.session.receive({"kind": "cancel_work"})
    assert slow_check.unwound.wait(60)
    assert watched.verdict == Verdict(status="unknown", detail=CHECK_STOPPED)
    assert headline_value(watched.session.state, watched.session.store).verdict.stopped
    slow_check.may_end.set()
    watched.session.receive({"kind": "resume"})
    watched.until(lambda: watched.verdict is not None and watched.verdict.status == "proved")


def test_a_check_stopped_before_its_start_does_not_run(watch: Watch, slow_check: Slow) -> None:
    watched = watch(60)
    watched.open()
    watched.session.receive({"kind": "cancel_work"})
    watched.until(watched.event_loop.work.empty)
    assert not slow_check.begun.is_set()
    assert watched.verdict == Verdict(status="unknown", detail=CHECK_STOPPED)


@pytest.mark.slow
def test_an_edit_cancels_a_running_check(watch: Watch, slow_check: Slow) -> None:
    watched = watch(60)
    watched.open()
    watched.until(slow_check.begun.is_set)
    watched.session.receive({"kind": "undo"})  # nothing to undo: the same state stays visible
    assert slow_check.unwound.wait(60)
    slow_check.may_end.set()
    watched.until(lambda: watched.verdict is not None)  # so the check still runs


def test_selecting_a_row_keeps_a_check_running(watch: Watch, slow_check: Slow) -> None:
    watched = watch(60)
    watched.open()
    watched.until(slow_check.begun.is_set)
    watched.session.receive({"kind": "select", "id": "no"})
    assert not slow_check.unwound.wait(0.05)


@pytest.mark.slow
def test_costs_of_many_steps_report_their_progress(watch: Watch) -> None:
    watched = watch(60)
    counts: list[tuple[int, int]] = []
    record = watched.record

    def count(doing: tuple[JobStatus, ...]) -> None:
        record(doing)
        counts.extend((entry.done, entry.total) for entry in doing if entry.key == "steps")

    watched.session.updater.tell_doing = count
    watched.open()
    watched.until(lambda: bool(counts) and counts[-1][0] == counts[-1][1] > 5 and "steps" not in watched.names())
    assert [done for done, _ in counts] == sorted(done for done, _ in counts)
    assert known_changes(watched.session.state, watched.session.store)


def test_the_work_of_a_closed_page_ends(watch: Watch, slow_check: Slow) -> None:
    watched = watch(60)
    watched.open()
    watched.until(slow_check.begun.is_set)
    watched.session.close()
    assert slow_check.unwound.wait(60)


@pytest.mark.slow
def test_leaving_a_fresh_picture_still_checks_it(
    watch: Watch,
) -> None:
    watched = watch(60)
    watched.open()
    watched.session.receive({"kind": "export", "to": "script"})
    assert "verdict" in watched.names()
    watched.until(lambda: watched.verdict is not None)
