"""An answer of the API means durable: its status of the disk, its time, and conflicts resolved through it."""

from __future__ import annotations

import errno
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.served import Answer, Served, served

from tilewright.app.document.files import read_write as files
from tilewright.app.document.files.history import History


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "mine.py").write_text(MATMUL_NOTEBOOK)
    with served(tmp_path) as running:
        yield running


@pytest.fixture
def session(server: Served) -> str:
    return server.opened("mine.py")


def prose(text: str) -> dict[str, Any]:
    return {"kind": "edit_prose", "cell": 0, "text": text}


def parallel() -> dict[str, Any]:
    return {"kind": "call", "method": "parallel", "target": "i", "arguments": {}}


def refuse_writes(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files, "_replace_file", failing)


def refuse_history(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(History, "_connected", failing)


def file_of(answer: Answer) -> Any:
    return answer.json["state"]["file"]


def test_an_answered_edit_is_in_the_history(server: Served, session: str, tmp_path: Path) -> None:
    for number in range(5):
        answer = server.ask("POST", session, prose(f"# Edit {number}"))
        kept = History(tmp_path).load("mine.py")
        assert answer.status == 200 and answer.json["durable"] is True
        assert kept is not None and kept.text == answer.json["state"]["notebook"]["text"]
        assert f"# Edit {number}" in kept.text


def test_each_answer_carries_the_revision_of_its_text(server: Served, session: str) -> None:
    before = server.ask("GET", session).json
    after = server.ask("POST", session, parallel()).json
    undone = server.ask("POST", session, {"kind": "undo"}).json
    listed = server.ask("GET", "/api/sessions").json["sessions"]
    assert before["durable"] and before["revision"] != after["revision"] and undone["revision"] == before["revision"]
    assert [one["revision"] for one in listed] == [before["revision"]]
    assert server.ask("POST", session, {"kind": "redo"}).json["revision"] == after["revision"]
    refused = server.ask("POST", session, {"kind": "edit_item", "item": 99, "text": "x"})
    assert refused.status == 409 and refused.json["revision"] == after["revision"] and refused.json["durable"] is True


def test_a_draft_in_a_file_without_history_outlives_the_server(server: Served, session: str, tmp_path: Path) -> None:
    answer = server.ask("POST", session, {"kind": "draft_cell", "cell": 0, "text": "# Half a title\n"})
    kept = History(tmp_path).load("mine.py")
    assert answer.json["durable"] is True
    assert kept is not None and kept.text == MATMUL_NOTEBOOK and "# Half a title" in kept.drafts[0].text


def test_an_edit_turns_an_example_into_a_durable_draft(server: Served) -> None:
    session = server.opened("place_the_copies")
    assert server.ask("GET", session).json["durable"] is False, "no edit yet, and no file"
    answer = server.ask("POST", session, {"kind": "set_parameter", "path": "clock_hz", "value": 2_000_000_000})
    assert answer.json["durable"] is True and "error" not in answer.json
    assert answer.status in (200, 202) and answer.json["state"]["file"]["draft"] is True


def test_an_answered_save_is_in_the_file(server: Served, session: str, tmp_path: Path) -> None:
    edited = server.ask("POST", session, parallel())
    saved = server.ask("POST", session, {"kind": "save"})
    assert saved.status == 200 and file_of(saved)["status"] == "saved"
    assert (tmp_path / "mine.py").read_text() == edited.json["state"]["notebook"]["text"]
    for intent, name in (
        ({"kind": "save_as", "name": "copy"}, "copy.py"),
        ({"kind": "new_file", "name": "new"}, "new.py"),
    ):
        answer = server.ask("POST", session, intent)
        assert answer.status == 200 and answer.json["durable"] is True
        assert (tmp_path / name).read_text() == answer.json["state"]["notebook"]["text"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "no-space"),
        (errno.EACCES, "read-only"),
        pytest.param(errno.EDQUOT, "no-space", marks=pytest.mark.slow),
        pytest.param(errno.EIO, "disk-error", marks=pytest.mark.slow),
        pytest.param(errno.EROFS, "read-only", marks=pytest.mark.slow),
        pytest.param(errno.ENOENT, "no-folder", marks=pytest.mark.slow),
    ],
)
def test_a_save_to_an_unwritable_file_is_507_and_kept_in_history(
    server: Served, session: str, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    refuse_writes(monkeypatch, number)
    edited = server.ask("POST", session, parallel())
    assert edited.status == 200 and edited.json["durable"] is True
    saved = server.ask("POST", session, {"kind": "save"})
    assert saved.status == 507 and saved.json["error"]["code"] == code
    assert saved.json["durable"] is True and file_of(saved)["status"] == "failed"
    monkeypatch.undo()
    assert server.ask("POST", session, {"kind": "save"}).status == 200


def test_without_history_an_edit_is_answered_once_the_file_has_it(
    server: Served, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_history(monkeypatch)
    for number in range(5):
        answer = server.ask("POST", session, prose(f"# Edit {number}"))
        assert answer.status == 200 and answer.json["durable"] is True
        assert (tmp_path / "mine.py").read_text() == answer.json["state"]["notebook"]["text"]
        assert file_of(answer)["error"]["code"] == "no-history"


def test_without_history_and_file_an_edit_is_507_with_the_state(
    server: Served, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    refuse_history(monkeypatch)
    refuse_writes(monkeypatch, errno.ENOSPC)
    answer = server.ask("POST", session, parallel())
    assert answer.status == 507 and answer.json["durable"] is False and answer.json["error"]["code"] == "no-space"
    assert "sch.parallel(i)" in answer.json["state"]["notebook"]["text"]
    again = server.ask("POST", session, {"kind": "select", "id": "i"})
    assert again.status == 507, "the edit is still nowhere"
    assert server.ask("GET", session).status == 200 and server.ask("GET", session).json["durable"] is False
    monkeypatch.undo()
    mended = server.ask("POST", session, {"kind": "save"})
    assert mended.status == 200 and mended.json["durable"] is True
    assert "sch.parallel(i)" in (tmp_path / "mine.py").read_text()
    text, cancel = "", time.monotonic() + 10
    while "the history of edits works again" not in text and time.monotonic() < cancel:
        time.sleep(0.05)
        text += capfd.readouterr().err
    lines = [line for line in text.splitlines() if line.startswith("tilewright: mine.py")]
    assert ["is not saved: " in lines[0], "undo is lost when the server stops" in lines[1]] == [True, True]
    assert lines[2:] == ["tilewright: mine.py is saved again", "tilewright: mine.py: the history of edits works again"]


@pytest.mark.slow
def test_an_edit_that_no_disk_takes_is_rescued_with_its_exit_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(MATMUL_NOTEBOOK)
    (tmp_path / "mine.py").chmod(0o444)
    (tmp_path / "no_folder").touch()
    (tmp_path / "temporary").mkdir()
    token = "a-token-of-this-test"
    environment = os.environ | {
        "TILEWRIGHT_STATE_DIR": str(tmp_path / "no_folder"),
        "TMPDIR": str(tmp_path / "temporary"),
        "TILEWRIGHT_TOKEN": token,
    }
    command = [sys.executable, "-m", "tilewright", "serve", str(tmp_path), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    announced = ""
    while not announced.rstrip().endswith("}"):
        announced += process.stdout.readline()
    port = urlsplit(json.loads(announced)["address"]).port
    assert port is not None
    session = _request(port, token, "/api/sessions", {"name": "mine.py"})[1]["session"]
    status, state = _request(port, token, f"/api/sessions/{session}", parallel())
    assert status == 507 and state["error"]["code"] == "read-only"
    process.terminate()
    _, stderr = process.communicate(timeout=30)
    (rescued,) = (tmp_path / "temporary").glob("tilewright-rescued-*/mine-*.py")
    assert process.returncode == 1 and f"its text is in {rescued}" in stderr
    assert rescued.read_text() == state["state"]["notebook"]["text"]
    assert (tmp_path / "mine.py").read_text() == MATMUL_NOTEBOOK


def _request(port: int, token: str, target: str, body: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", target, json.dumps(body), headers)
    answer = connection.getresponse()
    result = answer.status, json.loads(answer.read())
    connection.close()
    return result


def test_a_conflict_of_two_sessions_is_shown_and_resolved(server: Served, session: str, tmp_path: Path) -> None:
    other = server.opened("mine.py")
    server.ask("POST", session, parallel())
    steps = server.ask("GET", f"{other}?parts=steps&wait=5").json["state"]["steps"]
    item = steps[-1]["item"]
    server.ask("POST", session, {"kind": "draft_item", "item": item, "text": "sch.vectorize(j)"})
    server.ask("POST", other, {"kind": "edit_item", "item": item, "text": "sch.unroll(i)"})
    clashing = server.ask("POST", session, {"kind": "edit_item", "item": item, "text": "sch.vectorize(j)"})
    clash = file_of(clashing)["conflict"]
    assert clashing.status == 200 and clashing.json["durable"] is True, "the history has it as a draft"
    assert clash["who"] == "page" and file_of(clashing)["status"] == "asking"
    assert [(p["ours"], p["theirs"]) for p in clash["places"]] == [("sch.vectorize(j)\n", "sch.unroll(i)\n")]
    kept = History(tmp_path).load("mine.py")
    assert kept is not None and any("sch.vectorize(j)" in draft.text for draft in kept.drafts)
    _refuses_wrong_answers(server, session)
    done = server.ask("POST", session, {"kind": "resolve", "choices": ["both"], "id": clash["id"]})
    assert done.status == 200 and file_of(done)["conflict"] is None and done.json["durable"] is True
    text = done.json["state"]["notebook"]["text"]
    assert "sch.vectorize(j)" in text and "sch.unroll(i)" in text
    kept = History(tmp_path).load("mine.py")
    assert kept is not None and kept.text == text and not kept.drafts


def _refuses_wrong_answers(server: Served, session: str) -> None:
    assert server.ask("POST", session, {"kind": "save"}).json["error"]["code"] == "two-versions"
    for fields, code in (
        ({"choices": []}, "bad-choices"),
        ({"choices": ["ours", "ours"]}, "bad-choices"),
        ({"choices": ["ours"], "id": "0"}, "changed-meanwhile"),
    ):
        refused = server.ask("POST", session, {"kind": "resolve", **fields})
        assert refused.status == 409 and refused.json["error"]["code"] == code
    assert server.ask("POST", session, {"kind": "resolve", "choices": ["mine"]}).status == 400


def test_a_conflict_with_another_program_is_shown_and_resolved(
    server: Served, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_writes(monkeypatch, errno.ENOSPC)
    ours = server.ask("POST", session, parallel()).json["state"]["notebook"]["text"]
    (tmp_path / "mine.py").write_text(ours.replace("sch.parallel(i)", "sch.unroll(i)"))
    version, clash = None, None
    while clash is None:
        answer = server.ask("GET", f"{session}?parts=file&wait=10&since={version}")
        version, clash = answer.json["version"], file_of(answer)["conflict"]
    assert clash["who"] == "program" and answer.json["durable"] is True
    monkeypatch.undo()
    server.ask("POST", session, {"kind": "resolve", "choices": ["theirs"], "id": clash["id"]})
    saved = server.ask("POST", session, {"kind": "save"})
    assert saved.status == 200 and "sch.unroll(i)" in (tmp_path / "mine.py").read_text()
    assert server.ask("POST", session, {"kind": "resolve", "choices": []}).json["error"]["code"] == "no-conflict"


def test_text_typed_in_an_ended_session_is_in_the_history(server: Served, session: str, tmp_path: Path) -> None:
    server.ask("POST", session, {"kind": "draft_cell", "cell": 0, "text": "# Left behind\n"})
    assert server.ask("DELETE", session).status == 200
    again = server.opened("mine.py")
    assert "# Left behind" in server.ask("GET", again).json["state"]["notebook"]["text"]
    assert (tmp_path / "mine.py").read_text()
