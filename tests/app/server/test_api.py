"""The action API over HTTP: programs can do everything that the screen does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.pasted.carriers import TWICE, code, markdown, notebook
from support.sessions.served import Served, served

from tilewright.app.protocol.messages import MESSAGES, REQUESTS
from tilewright.app.server.access import make_policy
from tilewright.app.state.intents import Intent, Message, Query, kinds_of
from tilewright.app.views.shell.gallery import load_examples

PLACE = next(e.text for e in load_examples() if e.name == "place_the_copies")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "mine.py").write_text(PLACE)
    (folder / "notes.py").write_text("x = 1\n")
    outside = tmp_path_factory.mktemp("outside") / "secret.py"
    outside.write_text(PLACE.replace("two copies", "a secret"))
    (folder / "link.py").symlink_to(outside)
    (folder / "circle.py").symlink_to("circle.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    with served(folder) as running:
        yield running


@pytest.fixture
def session(server: Served) -> Iterator[str]:
    address = server.opened()
    yield address
    server.ask("DELETE", address)


def call(method: str, target: str, **arguments: Any) -> dict[str, Any]:
    return {"kind": "call", "method": method, "target": target, "arguments": arguments}


def until(holds: Callable[[], bool]) -> None:
    """A background thread writes the files."""
    cancel = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < cancel
        time.sleep(0.05)


def test_every_intent_is_offered_except_internal_ones() -> None:
    inner = {intent.__name__ for intent in kinds_of(Intent) if not issubclass(intent, Message)}
    resolved = {
        "MakeCall",
        "MakeCalls",
        "EditKernel",
        "RepairCall",
        "Drop",
        "DropSeveral",
        "Revise",
        "ApplyFoundFix",
        "OpenDocument",
        "OpenNotebook",
        "Compare",
    }
    assert inner == {"Say", "Saved", "KeepTyped", "EndDerivation", "EndSearch"} | resolved
    pages = {kind for kind, message in MESSAGES.items() if kind not in REQUESTS and not issubclass(message, Query)}
    assert pages == {
        "go", "compare_text", "discard_draft", "download", "export", "dismiss_file_message",
        "name_reader", "show_versions", "version", "hide_versions", "restore_version",
        "begin_drag", "drag_over", "end_drag", "try_calls", "cancel_work", "resume", "refresh_model", "open_upload", "rename_draft",
    }  # fmt: skip
    assert {"call", "undo", "edit", "view", "set_parameter", "add_branch", "open", "save"} <= REQUESTS.keys()


def test_requests_without_a_token_get_no_data(server: Served) -> None:
    answer = server.ask("GET", "/api/sessions", token=None)
    assert answer.status == 401 and answer.json["error"]["code"] == "token-needed"
    assert "sessions" not in answer.body.decode()


def test_the_index_lists_the_api(server: Served) -> None:
    index = server.ask("GET", "/api").json
    assert "gemmini" in index["machines"] and "tree" in index["parts"]
    assert "call" in str(server.ask("GET", "/api/schema").json["$defs"]["CallOnRow"]["properties"]["kind"])


def test_a_folder_lists_its_notebooks_but_no_outside_links(server: Served) -> None:
    found = {n["name"]: n["path"] for n in server.ask("GET", "/api/notebooks").json["notebooks"]}
    assert found["mine.py"].endswith("mine.py") and found["box_blur"] is None
    assert not found.keys() & {"link.py", "notes.py", "circle.py", "zero.py", "pipe.py", "folder.py"}
    for name in ("link.py", "circle.py", "pipe.py", "../outside/secret.py", "/etc/passwd", "mine.py\x00"):
        refused = server.ask("POST", "/api/sessions", {"name": name})
        assert (refused.status, refused.json["error"]["code"]) == (409, "no-such-notebook")


def test_a_call_writes_its_line_and_undo_removes_it(server: Served, session: str) -> None:
    done = server.ask(
        "POST", f"{session}?parts=steps,rows,python,script", call("compute_at", "A_local.vtcm", loop="ko")
    )
    assert done.status == 200
    state = done.json["state"]
    assert state["steps"][-1]["text"] == "sch.compute_at(AL, ko)"
    assert state["rows"].index("A_local.vtcm") > state["rows"].index("ko")
    assert "compute_at" in state["python"] and "def matmul" in state["script"]
    undone = server.ask("POST", f"{session}?parts=steps,notebook", {"kind": "undo"}).json["state"]
    assert "compute_at(AL" not in str(undone["steps"])
    assert undone["notebook"]["redo"] == 1 and undone["notebook"]["text"] == PLACE


def test_a_refused_call_has_the_reason_and_a_working_repair(server: Served) -> None:
    session = server.opened("what_moves_what")
    before = server.ask("GET", f"{session}?parts=notebook").json["state"]["notebook"]["text"]
    rows = server.ask("GET", f"{session}?parts=rows").json["state"]["rows"]
    refusals: list[dict[str, Any]] = []
    for row in rows:
        for target in server.ask("GET", f"{session}/targets?row={row}").json["targets"]:
            if not target["legal"]:
                answer = server.ask("POST", session, call(target["primitive"], row, loop=target["loop"]))
                assert answer.status == 409
                refusals.append(answer.json["error"])
    assert refusals and all(r["code"] and r["message"] and r["fix"] is not None for r in refusals)
    assert server.ask("GET", f"{session}?parts=notebook").json["state"]["notebook"]["text"] == before
    server.ask("DELETE", session)


def test_waiting_returns_report_verdict_and_problems(server: Served) -> None:
    session = server.opened("vtcm_double_buffer")
    first = server.ask("GET", f"{session}?parts=report,verdict")
    assert first.status in (200, 202)
    assert (first.status == 202) == bool(first.json["pending"])
    done = server.ask("GET", f"{session}?parts=report,verdict,problems&wait=60")
    assert done.status == 200 and done.json["pending"] == []
    state = done.json["state"]
    assert state["report"]["cycles"] == 203_064
    (wait,) = state["report"]["engines"]["matrix"]["waits"]
    assert "cache_read(C, 1" in wait["origin"]["text"]
    assert state["verdict"]["status"] in ("proved", "tested")
    assert isinstance(state["problems"], list)
    trace = server.ask("GET", f"{session}/trace")
    assert trace.status == 200 and trace.json["traceEvents"]
    server.ask("DELETE", session)


@pytest.mark.slow
def test_since_waits_for_the_next_version(server: Served, session: str) -> None:
    server.ask("GET", f"{session}?parts=report,verdict,problems&wait=60")
    now = server.ask("GET", session).json["version"]
    quiet = server.ask("GET", f"{session}?since={now}&wait=0.2&parts=rows")
    assert quiet.json["version"] >= now
    server.ask("POST", session, call("compute_at", "A_local.vtcm", loop="ko"))
    later = server.ask("GET", f"{session}?since={now}&wait=10&parts=steps")
    assert later.json["version"] > now


def test_drops_of_a_row_are_predicted(server: Served, session: str) -> None:
    answer = server.ask("GET", f"{session}/targets?row=A_local.vtcm&predict=1&wait=60")
    assert answer.status == 200
    predictions = {entry["loop"]: entry["value"] for entry in answer.json["predictions"]}
    assert predictions.keys() == {t["loop"] for t in answer.json["targets"] if t["legal"]}
    assert "ko" in predictions
    assert server.ask("GET", f"{session}/menu?row=ko").json["menu"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("intent", "part", "expected"),
    [
        ({"kind": "machine", "name": "cpu-core"}, "machine", "cpu-core"),
        ({"kind": "set_parameter", "path": "memories.vtcm.banks", "value": 4}, "cells", "memories.vtcm.banks"),
        ({"kind": "rename", "id": "ko", "name": "outer"}, "rows", "outer"),
        ({"kind": "add_branch", "name": "other"}, "branches", "other"),
        ({"kind": "fix", "calls": ["sch.compute_at(AL, ko)"]}, "steps", "sch.compute_at(AL, ko)"),
        ({"kind": "call_sequence", "calls": [call("compute_at", r, loop="ko") for r in ("A_local.vtcm", "B_local.vtcm")]},
         "steps", "BL, ko"),
        ({"kind": "pane", "pane": "machine"}, "notebook", "machine"),
        ({"kind": "compare", "a": "step:3", "b": "now"}, "notebook", "step:3"),
        ({"kind": "open", "name": "box_blur"}, "notebook", "blur"),
        ({"kind": "open_text", "text": PLACE.replace("two copies", "my own copies")}, "notebook", "my own copies"),
        ({"kind": "remove_item", "item": 1}, "steps", "step"),
        ({"kind": "view", "count": 2}, "notebook", "'steps_shown': 2"),
        ({"kind": "select", "id": "ko"}, "notebook", "'row': 'ko'"),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_the_state_shows_that_an_intent_was_done(
    server: Served, session: str, intent: dict[str, Any], part: str, expected: str
) -> None:
    answer = server.ask("POST", f"{session}?parts={part}", intent)
    assert answer.status in (200, 202), answer.body
    assert expected in str(answer.json["state"][part])


def test_a_notebook_of_jupyter_opens(server: Served, session: str) -> None:
    text = notebook(markdown("# Twice\n\nIt is slow."), code(TWICE))
    answer = server.ask("POST", f"{session}?parts=rows", {"kind": "open_text", "text": text})
    assert answer.status in (200, 202), answer.body
    assert "'b'" in str(answer.json["state"]["rows"])


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"{", 400, "truncated"),
        (b"[]", 400, "object"),
        ({"kind": "nonsense"}, 400, "$.kind"),
        ({"kind": "say", "refusal": {}}, 400, "$.kind"),
        ({"kind": "view", "count": "3"}, 400, "$.count"),
        ({"kind": "call", "method": "compute_at", "made": {}}, 400, "made"),
        ({"kind": "call", "method": "__class__", "target": "C"}, 409, "unknown"),
        ({"kind": "call", "method": "compute_at", "target": "gone"}, 409, "unknown-row"),
        ({"kind": "call", "method": "split", "target": "ko", "arguments": {"factors": {"a": 1}}}, 409, "bad"),
        ({"kind": "edit", "cell": 99, "body": ""}, 409, "no-such-cell"),
        ({"kind": "open_text", "text": "x = 1"}, 409, ""),
        ({"kind": "open_text", "text": "a\ud800"}, 400, ""),
        ({"kind": "open_text", "text": "a\x00"}, 409, "not-text"),
        ({"kind": "save"}, 409, "no-path"),
        ({"kind": "compare", "a": "branch:none", "b": "now"}, 409, ""),
        (b"[" * 100_000, 400, ""),
    ],
)  # fmt: skip
def test_invalid_requests_are_refused_and_change_nothing(
    server: Served, session: str, body: Any, status: int, expected: str
) -> None:
    before = server.ask("GET", f"{session}?parts=notebook").json["state"]["notebook"]["text"]
    answer = server.ask("POST", session, body)
    assert (answer.status, expected in str(answer.json["error"])) == (status, True), answer.body
    assert server.ask("GET", f"{session}?parts=notebook").json["state"]["notebook"]["text"] == before


def test_wrong_addresses_are_reported(server: Served, session: str) -> None:
    assert server.ask("GET", "/api/nothing").status == 404
    assert server.ask("GET", "/api/sessions/ffffffffffff").json["error"]["code"] == "no-such-session"
    assert server.ask("GET", f"{session}?parts=secrets").status == 400
    assert server.ask("GET", f"{session}?wait=soon").status == 400
    assert server.ask("GET", f"{session}?wait=nan&parts=rows").status == 200
    assert server.ask("PUT", session).status == 405
    assert server.ask("POST", session, b'{"kind": "undo"}', Content_Type="text/plain").status == 415
    assert server.ask("POST", "/api/sessions", {"name": "box_blur", "path": "/etc/passwd"}).status == 400
    assert server.ask("POST", session, {"kind": "undo"}, Origin="http://evil.example").status == 403


def test_save_writes_the_file(server: Served) -> None:
    session = server.opened("mine.py")
    path = Path(
        next(n["path"] for n in server.ask("GET", "/api/notebooks").json["notebooks"] if n["name"] == "mine.py")
    )
    assert server.ask("POST", session, call("compute_at", "B_local.vtcm", loop="ko")).status == 200
    assert server.ask("POST", session, {"kind": "save"}).status == 200
    server.ask("DELETE", session)
    until(lambda: "sch.compute_at(BL, ko)" in path.read_text())


@pytest.mark.slow
def test_an_edited_heading_renames_the_session(server: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("headed")
    (folder / "mine.py").write_text(PLACE)
    with served(folder) as other:
        session = other.opened("mine.py")
        was = other.ask("GET", session).json["state"]["notebook"]["title"]
        (folder / "mine.py").write_text(PLACE.replace(was, "Called otherwise"))
        until(lambda: other.ask("GET", session).json["state"]["notebook"]["title"] == "Called otherwise")
        assert [s["title"] for s in other.ask("GET", "/api/sessions").json["sessions"]] == ["Called otherwise"]
        other.ask("POST", f"{session}?wait=60", {"kind": "undo"})
        assert other.ask("GET", session).json["state"]["notebook"]["title"] == was


@pytest.mark.slow
def test_save_as_writes_only_in_the_folder(server: Served, session: str) -> None:
    for name in ("../out", "/out", "a/b", "..", "", "x\x00", "mine"):
        refused = server.ask("POST", session, {"kind": "save_as", "name": name})
        assert refused.status == 409, name
        assert refused.json["error"]["code"] in ("bad-name", "file-exists"), refused.body
    assert server.ask("POST", session, {"kind": "save_as", "name": "another"}).status in (200, 202)
    until(lambda: "another.py" in server.ask("GET", "/api/notebooks").body.decode())
    assert server.ask("POST", f"{session}?parts=notebook", {"kind": "new_file", "name": "fresh"}).status in (
        200,
        202,
        409,
    )


def test_too_many_sessions_are_refused_until_one_ends(server: Served) -> None:
    opened = [server.ask("POST", "/api/sessions", {}) for _ in range(70)]
    assert {answer.status for answer in opened} == {201, 429}
    for answer in opened:
        if answer.status == 201:
            assert server.ask("DELETE", answer.headers["location"]).status == 200
    server.ask("DELETE", server.opened())


def test_an_open_server_exchanges_the_token_without_cookies() -> None:
    with served(policy=make_policy("0.0.0.0", "a-token-of-some-length")) as server:
        first = server.ask("GET", "/?token=a-token-of-some-length", token=None)
        path, _, entry = first.headers["location"].partition("?entry=")
        assert (first.status, path) == (302, "/") and "set-cookie" not in first.headers
        given = server.ask("POST", "/login", {"entry": entry}, token=None)
        assert (
            given.status == 200 and "set-cookie" not in given.headers and given.headers["cache-control"] == "no-store"
        )
        page = server.ask("GET", f"/?ticket={given.json['ticket']}", token=None)
        assert b'"token":' in page.body and "set-cookie" not in page.headers
        again = server.ask("POST", "/login", {"key": given.json["key"]}, token=None)
        assert again.status == 200 and again.json["ticket"] != given.json["ticket"]
        assert server.ask("GET", "/api", token=given.json["key"]).status == 401
        wrong = server.ask("POST", "/login", {"token": "wrong"}, token=None)
        assert wrong.status == 401 and wrong.json["error"]["code"] == "wrong-token" and "key" not in wrong.json
        assert server.ask("POST", "/login", {"token": "a-token-of-some-length"}, token=None).status == 200
        form = b"token=a-token-of-some-length"
        sent = server.ask("POST", "/login", form, token=None, Content_Type="application/x-www-form-urlencoded")
        assert sent.status == 415, "a form of another site could send it"
        for body in (b"", b"[]", b"{", b'{"token": 1}', b'{"other": ""}', b"[" * 100_000, b"\xff"):
            assert server.ask("POST", "/login", body, token=None).status == 400, body
        assert server.ask("POST", "/login", {}, token=None).status == 401
