"""A history locked by another process delays no answer, is reported, and receives every edit after the lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.faults.locked_history import ALONE, WRITING, held
from support.sessions.filed import QUICK, Desk, filed, send, text_of
from support.sessions.notebooks import MATMUL_NOTEBOOK, SMALL
from support.sessions.served import Answer, Served, served

from tilewright.app.document.files.history import BUSY, Draft, Edit, Entry, History, Kept
from tilewright.app.server.access import make_policy
from tilewright.app.storage.registry import OpenFileRegistry

ANSWER_S = 4.0
"""Seconds: more than an answer needs beyond its time without a lock, on a busy machine, and less than SQLite's own wait of 5 seconds."""

HOLDS = pytest.mark.parametrize("how", [WRITING, ALONE], ids=["writing", "alone"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a notebook that has a history."""
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(MATMUL_NOTEBOOK)
    history = History(folder)
    history.commit([Entry("mine.py", (Edit(MATMUL_NOTEBOOK + "# was\n", MATMUL_NOTEBOOK),), MATMUL_NOTEBOOK)])
    history.close()
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[Served]:
    with served(folder, make_policy(requires_token=False)) as running:
        yield running


def recorded(folder: Path, name: str = "mine.py") -> Kept | None:
    history = History(folder)
    try:
        return history.load(name)
    finally:
        history.close()


def timed(server: Served, method: str, target: str, body: Any = None) -> tuple[Answer, float]:
    """The answer to a request, and its time in seconds."""
    began = time.perf_counter()
    return server.ask(method, target, body), time.perf_counter() - began


def prose(text: str) -> dict[str, Any]:
    return {"kind": "edit_prose", "cell": 0, "text": text}


def file_of(answer: Answer) -> dict[str, Any]:
    return answer.json["state"]["file"]


def until(done: Callable[[], bool]) -> None:
    cancel = time.monotonic() + 20
    while not done():
        assert time.monotonic() < cancel
        time.sleep(0.02)


@pytest.mark.sample(1)
@HOLDS
def test_opening_and_editing_do_not_wait_for_a_locked_history(server: Served, folder: Path, how: str) -> None:
    _, usual = timed(server, "POST", "/api/sessions", {"name": "mine.py"})
    server.ask("DELETE", server.ask("POST", "/api/sessions", {"name": "mine.py"}).headers["location"])
    for key in list(server.sessions.all):
        server.ask("DELETE", f"/api/sessions/{key}")
    time.sleep(0.3)  # the server closes the history
    with held(folder, how):
        opened, took = timed(server, "POST", "/api/sessions", {"name": "mine.py"})
        assert opened.status == 201 and took < usual + ANSWER_S
        session = opened.headers["location"]
        for number in range(4):
            answer, took = timed(server, "POST", session, prose(f"# Edit {number}"))
            assert took < ANSWER_S, number
            assert answer.status == 200 and answer.json["durable"] is True
            assert (folder / "mine.py").read_text() == answer.json["state"]["notebook"]["text"]
            assert file_of(answer)["error"]["code"] == BUSY, "and says so"
        for intent in ({"kind": "undo"}, {"kind": "save"}):
            answer, took = timed(server, "POST", session, intent)
            assert took < ANSWER_S, intent
            assert answer.status == 200
        text = (folder / "mine.py").read_text()
    until(lambda: (kept := recorded(folder)) is not None and kept.text == text)
    kept = recorded(folder)
    assert kept is not None and "# Edit 1" in kept.past[-1] and "# Edit 3" in kept.future[0]
    assert kept.past[0] == MATMUL_NOTEBOOK + "# was\n"
    until(lambda: server.ask("GET", session).json["state"]["file"]["error"] is None)


@pytest.mark.sample(1)
@HOLDS
def test_edits_of_a_closed_page_are_recorded_after_the_lock(server: Served, folder: Path, how: str) -> None:
    session = server.ask("POST", "/api/sessions", {"name": "mine.py"}).headers["location"]
    server.ask("POST", session, prose("# Before"))
    server.ask("DELETE", session)
    time.sleep(0.3)
    with held(folder, how):
        session = server.ask("POST", "/api/sessions", {"name": "mine.py"}).headers["location"]
        server.ask("POST", session, prose("# Meanwhile"))
        _, took = timed(server, "DELETE", session)
        assert took < ANSWER_S
        time.sleep(1.2)
    until(lambda: (kept := recorded(folder)) is not None and "# Meanwhile" in kept.text)


def test_other_folders_are_recorded_despite_a_locked_history(server: Served, folder: Path) -> None:
    mine = server.ask("POST", "/api/sessions", {"name": "mine.py"}).headers["location"]
    server.ask("POST", mine, prose("# Before"))
    draft = server.ask("POST", "/api/sessions", {"text": MATMUL_NOTEBOOK}).headers["location"]
    with held(folder, WRITING):
        for number in range(5):
            server.ask("POST", mine, prose(f"# Edit {number}"))
            answer, took = timed(server, "POST", draft, prose(f"# Draft {number}"))
            assert took < ANSWER_S and file_of(answer)["error"] is None and answer.json["durable"] is True


def test_a_draft_in_a_locked_history_is_reported_at_once(folder: Path) -> None:
    drafts = folder.parent / "state" / "drafts"
    drafts.mkdir(mode=0o700, exist_ok=True)
    history = History(drafts)
    history.commit([Entry("0123456789ab.py", (Edit(SMALL, SMALL + "# more\n"),))])
    history.close()
    desk = Desk(folder)
    desk.open_files = OpenFileRegistry(folder, QUICK, drafts=drafts)
    page = desk.page()
    with held(drafts, ALONE):
        began = time.perf_counter()
        send(page, "go", path="/draft/0123456789ab")
        assert time.perf_counter() - began < ANSWER_S
        assert page.state.notice is not None and page.state.notice.code == BUSY
    send(page, "go", path="/draft/0123456789ab")
    assert text_of(page).endswith("# more\n")
    desk.close()


def desk_with_unsaved_edit(folder: Path, text: str, drafts: tuple[Draft, ...] = ()) -> Path:
    """A file whose history has an edit that did not reach the file: the last server was killed."""
    path = folder / "mine.py"
    history = History(folder)
    history.commit([Entry(path.name, (Edit(MATMUL_NOTEBOOK, text),), MATMUL_NOTEBOOK, text, drafts)])
    history.close()
    return path


UNSAVED = MATMUL_NOTEBOOK + "# unsaved edit\n"


def test_unsaved_edits_return_after_the_lock(folder: Path) -> None:
    path = desk_with_unsaved_edit(folder, UNSAVED)
    desk = Desk(folder)
    with held(folder, ALONE):
        page = desk.page(path)
        assert text_of(page) == MATMUL_NOTEBOOK and filed(page).save.no_history is not None
    desk.until(lambda: text_of(page) == UNSAVED)
    assert "restored" in filed(page).save.notice
    desk.until(lambda: path.read_text() == UNSAVED)
    assert text_of_after(page, "undo") == MATMUL_NOTEBOOK
    desk.close()


def text_of_after(page: Any, kind: str) -> str:
    send(page, kind)
    return text_of(page)


def test_edits_on_both_sides_of_a_lock_are_merged(folder: Path) -> None:
    path = desk_with_unsaved_edit(folder, UNSAVED)
    desk = Desk(folder)
    with held(folder, ALONE):
        page = desk.page(path)
        send(page, "edit_prose", cell=0, text="# Meanwhile")
        mine = text_of(page)
        desk.until(lambda: path.read_text() == mine)
    desk.until(lambda: "# unsaved edit" in text_of(page))
    assert text_of(page) == mine + "# unsaved edit\n"
    desk.until(lambda: path.read_text() == text_of(page) and filed(page).save.no_history is None)
    desk.until(lambda: (kept := recorded(folder)) is not None and kept.text == text_of(page))
    desk.close()


def test_conflicting_edits_lead_undo_to_those_of_the_history(folder: Path) -> None:
    path = desk_with_unsaved_edit(folder, MATMUL_NOTEBOOK.replace("# # A matmul", "# # Theirs"))
    desk = Desk(folder)
    with held(folder, ALONE):
        page = desk.page(path)
        send(page, "edit_prose", cell=0, text="# Mine")
        mine = text_of(page)
    desk.until(lambda: filed(page).save.no_history is None)
    desk.until(lambda: any("# # Theirs" in one.document.text for one in page.state.past))
    assert text_of(page) == mine
    assert "# # Theirs" in text_of_after(page, "undo")
    desk.close()


def test_versions_of_a_locked_history_are_reported_as_locked(folder: Path) -> None:
    desk = Desk(folder)
    page = desk.page(folder / "mine.py")
    with held(folder, ALONE):
        began = time.perf_counter()
        send(page, "show_versions")
        assert time.perf_counter() - began < ANSWER_S
        assert page.state.notice is not None and page.state.notice.code == BUSY and page.state.looked_back is None
    send(page, "show_versions")
    assert page.state.looked_back is not None and page.state.looked_back.versions
    desk.close()


def test_undo_reaches_versions_before_the_opening_after_the_lock(folder: Path) -> None:
    desk = Desk(folder)
    with held(folder, ALONE):
        page = desk.page(folder / "mine.py")
        send(page, "edit_prose", cell=0, text="# Meanwhile")
    desk.until(lambda: len(page.state.past) > 1)
    assert text_of_after(page, "undo") == MATMUL_NOTEBOOK
    assert text_of_after(page, "undo") == MATMUL_NOTEBOOK + "# was\n"
    desk.close()
