"""Messages become intents, and analyses run after the paint; with a fake clock and a fake screen."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.programs.sources import ELEMENTWISE_CHAIN
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.actions.drops import FindRepair
from tilewright.app.actions.opening import OpenText
from tilewright.app.session import queries
from tilewright.app.session.queries import repair
from tilewright.app.session.session import Session
from tilewright.app.state.derived import REPORT
from tilewright.app.state.model import State
from tilewright.app.state.row_ids import row_ids
from tilewright.app.views.labels.values import Answer
from tilewright.app.views.notebook.value import known_changes, notebook_value
from tilewright.app.views.shell.gallery import Example, load_examples
from tilewright.app.views.tree.targets import DropTarget, DropTargets
from tilewright.engine.hwsim import Report

EXAMPLES: tuple[Example, ...] = load_examples()


@pytest.fixture
def session() -> Session:
    created = Session(PaperClock(), EXAMPLES)
    created.updater.screen = PaperScreen()
    return created


def send(session: Session, kind: str, **fields: Any) -> State:
    session.receive({"kind": kind, **fields})
    return session.state


def opened(session: Session) -> Session:
    session.dispatch(OpenText(MATMUL_NOTEBOOK))
    return session


def schedule_text(session: Session) -> str:
    assert session.state.notebook is not None
    return "".join(cell.body for cell in session.state.notebook.document.of_kind("schedule"))


def verdict_known(session: Session) -> bool:
    return (
        session.state.moment is not None
        and session.store.verdict(session.state, session.state.moment.schedule) is not None
    )


def test_a_shown_notebook_is_verified_and_simulated_after_the_paint(session: Session) -> None:
    send(session, "open", name="vtcm_double_buffer")
    assert isinstance(session.updater.screen, PaperScreen) and isinstance(session.event_loop, PaperClock)
    assert len(session.updater.screen.drawn) == 1 and not session.updater.screen.later
    machine = session.store.machine(session.state)

    def reports() -> list[object]:
        return [session.store.known(REPORT(m.schedule.func, machine)) for m in session.state.shown.states]

    session.event_loop.run_until(lambda: verdict_known(session) and None not in reports())
    session.event_loop.run_until(session.event_loop.work.empty)
    assert session.updater.screen.later and len(session.updater.screen.drawn) == 1
    moment = session.state.moment
    assert moment is not None
    verdict = session.store.verdict(session.state, moment.schedule)
    assert verdict is not None and verdict.status == "proved"
    assert all(isinstance(report, Report) for report in reports())
    changes = known_changes(session.state, session.store)
    assert {change.trend for change in changes.values()} == {"better", "worse"}
    cells = notebook_value(session.state, session.store, changes).cells
    assert any(row.change for cell in cells for row in cell.rows or () if row.kind == "step")


def test_a_closed_page_is_not_drawn(session: Session) -> None:
    screen = session.updater.screen
    opened(session)
    session.close()
    assert isinstance(session.event_loop, PaperClock) and isinstance(screen, PaperScreen)
    while not session.event_loop.work.empty():
        session.event_loop.work.get_nowait()()
    assert len(screen.drawn) == 1 and not screen.later


def test_tree_messages_become_calls_on_their_rows(session: Session) -> None:
    opened(session)
    send(session, "call", method="parallel", target="i", arguments={})
    send(session, "call", method="split", target="j", arguments={"factors": [None, 16], "names": ["jo", "ji"]})
    send(session, "reorder", loops=["ji", "jo"])
    assert session.state.notice is None
    assert schedule_text(session).endswith(
        'sch.parallel(i)\njo, ji = sch.split(j, factors=[None, 16], names=["jo", "ji"])\nsch.reorder(ji, jo)\n\n'
    )


def test_repairing_an_impossible_drop_makes_both_calls(session: Session) -> None:
    send(session, "open_text", text=ELEMENTWISE_CHAIN)
    assert session.state.moment is not None
    ids = row_ids(session.state.moment.schedule.func)
    loop = ids.of(session.state.moment.schedule.index.loops_of("D")[0].loop_var)
    request = {"block": "B", "loop": loop, "primitive": "compute_at"}
    calls = repair(session.state, FindRepair(**request)).calls
    assert [call.partition("(")[0] for call in calls] == ["sch.compute_inline", "sch.compute_at"]
    none = repair(session.state, FindRepair(block="nobody", loop=loop, primitive="compute_at"))
    assert none.calls == none.blocks == []
    send(session, "repair", method="compute_at", target="B", arguments={"loop": loop})
    assert session.state.notice is None
    assert 'sch.compute_inline("C")' in schedule_text(session)


def test_equal_menus_of_loops_are_sent_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = DropTarget(False, False, "compute_at", "", "not here", "", ())
    entries = [replace(entry, loop=loop) for loop in ("i", "j")] + [replace(entry, legal=True, loop="k")]
    monkeypatch.setattr(queries, "targets", lambda state, store, rows: entries)
    answers: list[Answer] = []
    session.receive({"kind": "targets", "rows": ["C"]}, answers.append)
    (answer,) = answers
    assert isinstance(answer, DropTargets)
    assert [(e.legal, e.loops) for e in answer.entries] == [(False, ("i", "j")), (True, ("k",))]


def test_a_move_computes_the_block_at_the_loop() -> None:
    session = Session(PaperClock(), EXAMPLES)
    send(session, "open", name="what_moves_what")
    send(session, "move", block="W_local", loop="ii", primitive="compute_at")
    assert "sch.compute_at(WL, ii)" in schedule_text(session)


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "move", "block": "C", "loop": "i", "primitive": "undo"},
        {"kind": "move", "block": "nobody", "loop": "i", "primitive": "compute_at"},
        {"kind": "move", "block": "C"},
        {"kind": "call", "method": "__init__", "target": "i", "arguments": {}},
        {"kind": "call", "method": "split", "target": "i", "arguments": {"no_such": 3}},
        {"kind": "call", "method": "split", "target": "i", "arguments": 3},
        {"kind": "reorder", "loops": ["nobody"]},
        {"kind": "open", "name": "../../etc/passwd"},
        {"kind": "remove_item", "item": 999},
        {"kind": "edit", "cell": 999, "body": ""},
        {"kind": "view", "count": "x"},
    ],
)
def test_an_impossible_message_shows_a_notice_and_changes_nothing(session: Session, message: dict[str, Any]) -> None:
    before = opened(session).state
    session.receive(message)
    assert session.state.notebook is before.notebook
    assert session.state.notice is not None and session.state.notice.message


@pytest.mark.parametrize("message", [{"kind": "no-such-kind"}, {}, {"kind": ["x"]}, 3, None, "undo"])
def test_a_malformed_message_is_refused_and_changes_nothing(session: Session, message: object) -> None:
    before = opened(session).state
    session.receive(message)
    assert session.state.notebook is before.notebook
    assert session.state.notice is not None and session.state.notice.code == "bad-message"


def test_each_query_of_the_tree_is_answered(session: Session) -> None:
    opened(session)
    answers: list[Any] = []
    for message in (
        {"kind": "targets", "rows": ["C"]},
        {"kind": "targets", "rows": ["nobody"]},
        {"kind": "menu", "row": "i"},
        {"kind": "menu", "row": "nobody"},
        {"kind": "find_repair", "block": "C", "loop": "nobody", "primitive": "compute_at"},
        {"kind": "rename", "id": "i", "name": "m"},
    ):
        session.receive(message, answers.append)
    targets, no_targets, menu, no_menu, no_repair, answered = answers
    assert {loop for entry in targets.entries for loop in entry.loops} == {"i", "j", "ko", "ki"}
    assert menu.row == "i" and menu.entries
    assert no_targets.entries == no_menu.entries == no_repair.calls == []
    assert no_repair.request == FindRepair(block="C", loop="nobody", primitive="compute_at")
    assert answered == queries.Answered() and session.state.notice is None


def test_an_exported_script_has_the_calls(session: Session) -> None:
    send(session, "open", name="vtcm_double_buffer")
    send(session, "export", reviewed=True)
    assert isinstance(session.updater.screen, PaperScreen)
    assert "sch.compute_at(AL, ko)" in session.updater.screen.files["schedule_tvm.py"]


def test_targets_of_a_block_are_its_legal_loops(session: Session) -> None:
    send(session, "open", name="vtcm_double_buffer")
    entries = session.targets(["A_local.vtcm"])
    assert any(entry.legal for entry in entries) and any(not entry.legal for entry in entries)
    assert session.targets(["nobody"]) == []


def test_saving_without_a_file_downloads_the_notebook(session: Session) -> None:
    opened(session)
    send(session, "save")
    assert isinstance(session.updater.screen, PaperScreen)
    assert session.updater.screen.files["notebook.py"] == MATMUL_NOTEBOOK
