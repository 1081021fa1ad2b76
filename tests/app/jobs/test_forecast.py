"""Drop previews: a map of legal targets at once, predictions nearest first from a thread, and drops that reuse them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.sessions.paper import PaperClock, PaperScreen
from support.sessions.slow import Slow

from tilewright.app.actions.calls import MakeCall, MakeCalls
from tilewright.app.document import Notebook, apply_call
from tilewright.app.jobs import tried_move as tried_move
from tilewright.app.session.queries import menu
from tilewright.app.session.session import Session
from tilewright.app.state.derived import REPORT, Store
from tilewright.app.state.model import State
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.adopt import call_of
from tilewright.engine.hwsim import Report
from tilewright.engine.ir import ScheduleCall

COPY = "A_local.vtcm"


class Queue:
    """A clock that runs its callbacks on request."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.session: Session | None = None

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        pass

    def soon(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def run(self) -> None:
        """Wait for the thread, then run the callbacks that it queued."""
        if self.session is not None and self.session.drop_preview._work is not None:
            assert self.session.drop_preview._work.wait(60)
        while self.waiting:
            self.waiting.pop(0)()


class Paper:
    def __init__(self) -> None:
        self.predictions: list[dict[str, Any]] = []

    def draw(self, state: State, store: Store) -> None:
        pass

    def draw_results(self, state: State, store: Store) -> None:
        pass

    def download(self, name: str, text: str) -> None:
        pass

    def show_prediction(self, prediction: dict[str, Any]) -> None:
        self.predictions.append(prediction)


@pytest.fixture
def page() -> tuple[Session, Queue, Paper]:
    event_loop, screen = Queue(), Paper()
    session = event_loop.session = Session(event_loop, load_examples())
    session.updater.screen = screen  # pyright: ignore[reportAttributeAccessIssue]
    session.receive({"kind": "open", "name": "place_the_copies"})
    return session, event_loop, screen


def legal(session: Session, *rows: str) -> list[str]:
    return [e.loop for e in session.targets(list(rows)) if e.legal]


@pytest.mark.slow
def test_a_drag_predicts_every_legal_drop_nearest_first(page: tuple[Session, Queue, Paper]) -> None:
    session, event_loop, screen = page
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    predicted = [entry.loop for entry in screen.predictions]
    assert sorted(predicted) == sorted(legal(session, COPY))
    assert predicted[0] == "ko"
    assert all(entry.rows == (COPY,) and entry.value.lines for entry in screen.predictions)


def test_a_drop_reuses_the_predicted_program_and_report(
    page: tuple[Session, Queue, Paper], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, event_loop, _ = page
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    monkeypatch.setattr("tilewright.app.actions.calls.apply_call", lambda *_: pytest.fail("the call is made again"))
    monkeypatch.setattr("tilewright.app.state.derived.simulate", lambda *_, **__: pytest.fail("simulated again"))
    session.receive({"kind": "move", "block": COPY, "loop": "ko", "primitive": "compute_at"})
    assert session.state.notice is None
    assert session.state.notebook is not None
    assert session.state.notebook.document.text.count("sch.compute_at(AL, ko)") == 1
    assert session.store.simulated(session.state) is not None
    assert len(session.state.past) == 1


def test_a_drop_during_its_prediction_waits_without_blocking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event_loop = PaperClock()
    session = Session(event_loop, load_examples(), moment=lambda: 0.0)
    session.updater.screen = PaperScreen()
    session.receive({"kind": "open", "name": "place_the_copies"})
    event_loop.run_until(
        lambda: session.state.moment is not None and session.store.simulated(session.state) is not None
    )
    trying = Slow(tried_move.report_of)
    monkeypatch.setattr(tried_move, "report_of", trying)
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    assert trying.begun.wait(60)
    calls: list[tuple[str, str]] = []  # of this drop, and of later predictions

    def noted(notebook: Notebook, call: ScheduleCall) -> Notebook:
        calls.append((call.method, call.argument("loop").name))
        return apply_call(notebook, call)

    monkeypatch.setattr("tilewright.app.actions.drops.apply_call", noted)
    session.receive({"kind": "move", "block": COPY, "loop": "ko", "primitive": "compute_at"})
    session.receive({"kind": "select", "id": "ki"})
    assert session.queue.busy and session.state.selected == "ki", "who looks around is answered"
    monkeypatch.setattr(
        "tilewright.app.jobs.background_analysis.report_of", lambda *_, **__: pytest.fail("simulated again")
    )
    trying.may_end.set()
    event_loop.run_until(lambda: not session.queue.busy)
    assert session.state.notice is None and len(session.state.past) == 1
    assert ("compute_at", "ko") not in calls, "the call is made again"
    assert session.store.simulated(session.state) is not None
    session.close()


@pytest.mark.slow
def test_predicted_cycles_equal_those_of_the_drop(page: tuple[Session, Queue, Paper]) -> None:
    session, event_loop, screen = page
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    value = next(entry.value for entry in screen.predictions if entry.loop == "ko")
    session.receive({"kind": "move", "block": COPY, "loop": "ko", "primitive": "compute_at"})
    report = session.store.simulated(session.state)
    cycles = value.lines[0].text.replace("\u202f", "").split("→")[1]
    assert int(cycles) == report.cycles  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]


def test_a_second_drag_reports_cached_predictions_at_once(page: tuple[Session, Queue, Paper]) -> None:
    session, event_loop, screen = page
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    before = len(screen.predictions)
    session.receive({"kind": "end_drag"})
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "mo"})
    assert len(screen.predictions) == 2 * before
    assert not event_loop.waiting


def test_releasing_the_drag_ends_the_predictions(page: tuple[Session, Queue, Paper]) -> None:
    session, event_loop, screen = page
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    session.receive({"kind": "end_drag"})
    event_loop.run()
    assert screen.predictions == []


def test_dragging_a_loop_predicts_new_orders(page: tuple[Session, Queue, Paper]) -> None:
    session, event_loop, screen = page
    session.receive({"kind": "begin_drag", "rows": ["ko"], "near": "ko"})
    event_loop.run()
    assert {entry.primitive for entry in screen.predictions} == {"reorder"}
    order = next(e.order for e in session.targets(["ko"]) if e.loop == "mi")
    session.receive({"kind": "reorder", "loops": order})
    assert session.state.notice is None
    assert session.state.notebook is not None
    assert "sch.reorder(mi, ko)" in session.state.notebook.document.text


def test_one_undo_reverts_a_drop_of_several_blocks(
    page: tuple[Session, Queue, Paper],
) -> None:
    session, event_loop, screen = page
    rows = ["B_local.vtcm", COPY]
    session.receive({"kind": "begin_drag", "rows": rows, "near": "ko"})
    event_loop.run()
    assert any(entry.loop == "ko" for entry in screen.predictions)
    session.receive({"kind": "moves", "rows": rows, "loop": "ko"})
    assert session.state.notebook is not None
    text = session.state.notebook.document.text
    assert "sch.compute_at(AL, ko)" in text and "sch.compute_at(BL, ko)" in text
    session.receive({"kind": "undo"})
    assert session.state.notebook.document.text != text
    assert "compute_at(AL" not in session.state.notebook.document.text


@pytest.mark.slow
def test_a_primitive_applies_to_all_selected_rows_or_none(
    page: tuple[Session, Queue, Paper],
) -> None:
    session, _, _ = page
    rows = ["B_local.vtcm", COPY]
    session.receive({"kind": "moves", "rows": rows, "loop": "ko"})
    session.receive({"kind": "calls", "method": "double_buffer", "targets": rows, "arguments": {}})
    assert session.state.notebook is not None
    text = session.state.notebook.document.text
    assert text.count("sch.double_buffer(") == 2
    session.receive({"kind": "calls", "method": "compute_inline", "targets": [COPY, "C"], "arguments": {}})
    assert session.state.notice is not None
    assert session.state.notice.where == "tree"
    assert session.state.notebook.document.text == text


def test_a_rename_updates_the_text_and_a_clash_is_reported(
    page: tuple[Session, Queue, Paper],
) -> None:
    session, _, _ = page
    session.receive({"kind": "rename", "id": "ko", "name": "kk"})
    assert session.state.notebook is not None
    assert 'names=["kk", "ki"]' in session.state.notebook.document.text
    session.receive({"kind": "rename", "id": "kk", "name": "ki"})
    assert session.state.notice is not None
    assert session.state.notice.where == "tree"
    assert session.state.notice.code == "name-taken"


def test_the_menu_of_a_row_lists_its_primitives(page: tuple[Session, Queue, Paper]) -> None:
    session, _, _ = page
    assert {e.method for e in menu(session.state, session.store, "ko")} >= {"split", "fuse", "vectorize"}
    assert {e.method for e in menu(session.state, session.store, COPY)} >= {"cache_read", "double_buffer"}
    assert menu(session.state, session.store, "nobody") == []


def test_a_move_without_a_prediction_has_no_cached_result(page: tuple[Session, Queue, Paper]) -> None:
    session, _, _ = page
    call = call_of("compute_at", (COPY, next(iter(session.state.moment.schedule.index.loops)).loop_var))  # pyright: ignore[reportOptionalMemberAccess]
    assert session.drop_preview.with_precomputed(session.state, MakeCall(call)).made is None
    assert session.drop_preview.with_precomputed(session.state, MakeCalls((call,))).made is None


def test_a_predicted_drop_caches_its_tree_and_timeline(page: tuple[Session, Queue, Paper]) -> None:
    session, event_loop, _ = page
    answers: list[dict[str, Any]] = []
    place = {"rows": [COPY], "loop": "ko", "primitive": "compute_at"}
    session.receive({"kind": "tree_after", **place}, answers.append)
    assert answers == []
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    session.receive({"kind": "tree_after", **place}, answers.append)
    session.receive({"kind": "timeline_after", **place, "start": 0, "end": 100_000}, answers.append)
    tree, timeline = answers
    assert [row.name for row in tree.groups[0].rows] == ["ax0", "ax1", COPY]
    session.receive({"kind": "move", "block": COPY, "loop": "ko", "primitive": "compute_at"})
    report = session.store.simulated(session.state)
    assert isinstance(report, Report)
    assert timeline.cycles == report.cycles
    assert timeline.end == 100_000
    assert set(timeline.lanes) == {name for name, engine in report.engines.items() if engine.tasks}
    assert all(max(line.live) <= report.memory[scope].peak_bytes for scope, line in timeline.bytes.items())


def test_an_evicted_drop_is_predicted_again_on_hover(
    page: tuple[Session, Queue, Paper], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, event_loop, screen = page
    monkeypatch.setattr("tilewright.app.jobs.drop_preview.MAX_KEPT", 1)
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    count, first = len(screen.predictions), screen.predictions[0]
    answers: list[dict[str, Any]] = []
    hovered = {"kind": "tree_after", "rows": [COPY], "loop": first.loop, "primitive": first.primitive}
    session.receive(hovered, answers.append)
    assert answers == []
    event_loop.run()
    assert screen.predictions[count:] == [first]
    session.receive(hovered, answers.append)
    assert [answer.loop for answer in answers] == [first.loop]
    assert session.predictions([COPY])[1]


@pytest.mark.slow
def test_only_the_newest_predictions_are_kept(
    page: tuple[Session, Queue, Paper], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, event_loop, screen = page
    monkeypatch.setattr("tilewright.app.jobs.drop_preview.MAX_KEPT", 3)
    session.receive({"kind": "begin_drag", "rows": [COPY], "near": "ko"})
    event_loop.run()
    assert len(session.drop_preview._kept) == 3
    tried = [entry.loop for entry in screen.predictions]
    last = tried[-1]
    primitive = next(entry.primitive for entry in screen.predictions if entry.loop == last)
    session.receive({"kind": "move", "block": COPY, "loop": last, "primitive": primitive})
    assert session.state.notice is None
    moment = session.state.moment
    assert moment is not None
    session.receive({"kind": "begin_drag", "rows": ["B_local.vtcm"], "near": "ko"})
    event_loop.run()
    machine = session.store.machine(session.state)
    assert session.store.has(REPORT(session.store.costed(session.state, moment.schedule), machine))
    # An evicted drop is executed like one that was never predicted.
    session.receive({"kind": "undo"})
    session.receive({"kind": "move", "block": COPY, "loop": tried[0], "primitive": "compute_at"})
    assert session.state.notice is None


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "message",
    [
        {"kind": "begin_drag"},
        {"kind": "begin_drag", "rows": 3},
        {"kind": "begin_drag", "rows": ["nobody", {}], "near": []},
        {"kind": "drag_over"},
        {"kind": "moves", "rows": [[]], "loop": 1},
        {"kind": "moves", "rows": ["C"], "loop": "C"},
        {"kind": "calls", "method": "__class__", "targets": ["C"], "arguments": {}},
        {"kind": "calls", "method": "copy", "targets": ["C"], "arguments": {}},
        {"kind": "calls", "method": "split", "targets": 7, "arguments": []},
        {"kind": "rename", "id": {}, "name": []},
        {"kind": "rename", "id": "ko", "name": {"a": 1}},
    ],
)
def test_a_malformed_message_changes_nothing(page: tuple[Session, Queue, Paper], message: dict[str, Any]) -> None:
    session, event_loop, screen = page
    before = session.state.notebook
    session.receive(message)
    event_loop.run()
    assert session.state.notebook is before
    assert screen.predictions == []


def test_a_predicted_relocation_is_one_undo_step(
    page: tuple[Session, Queue, Paper],
) -> None:
    session, event_loop, screen = page
    rows = ["B_local.vtcm", COPY]
    session.receive({"kind": "moves", "rows": rows, "loop": "ko"})
    assert session.state.notebook is not None
    text = session.state.notebook.document.text
    event_loop.run()
    screen.predictions.clear()
    assert {e.loop for e in session.targets(rows) if e.legal} >= {"mo", "no"}
    session.receive({"kind": "begin_drag", "rows": rows, "near": "no"})
    event_loop.run()
    assert any(entry.loop == "no" and entry.value.lines for entry in screen.predictions)
    session.receive({"kind": "moves", "rows": rows, "loop": "no"})
    assert session.state.notice is None
    moved = text.replace("compute_at(AL, ko)", "compute_at(AL, no)").replace("compute_at(BL, ko)", "compute_at(BL, no)")
    assert session.state.notebook.document.text == moved != text
    session.receive({"kind": "undo"})
    assert session.state.notebook.document.text == text


@pytest.mark.slow
def test_no_repair_proposes_the_current_loop(page: tuple[Session, Queue, Paper]) -> None:
    session, _, _ = page
    session.receive({"kind": "moves", "rows": [COPY], "loop": "ko"})
    entries = session.targets([COPY])
    assert entries and not any("compute_at('A_local.vtcm', ko)" in call for e in entries for call in e.fix)
