"""Files in the served folder that cannot be opened: the start page and the API list each with the reason, and all others still open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.served import Served, served

from tilewright.app.limits import LIMITS
from tilewright.app.server.access import make_policy
from tilewright.app.views.shell.gallery import load_folder

TEXT = MATMUL_NOTEBOOK.encode()

REASONS = {
    r"bad\xff.py": "name-not-utf-8",
    r"surrogate\xed\xb3\xbf.py": "name-not-utf-8",
    "latin.py": "not-utf-8",
    "wide.py": "not-utf-8",
    "large.py": "file-too-large",
}
"""The shown name of each file, and the code of the reason."""


def fill(folder: Path) -> None:
    """A folder with one notebook that opens, the files of `REASONS`, and files that are no notebooks."""
    at = os.fsencode(folder)
    for name, data in {
        b"good.py": TEXT,
        b"bad\xff.py": TEXT,
        b"surrogate\xed\xb3\xbf.py": TEXT,
        b"latin.py": TEXT + "# caf\u00e9\n".encode("latin-1"),
        b"wide.py": MATMUL_NOTEBOOK.encode("utf-16"),
        b"large.py": TEXT + b"# a comment\n" * (LIMITS.file_bytes // 12),
        b"setup\xff.py": b"print('nothing to see')\n",
        b"setup.py": "print('caf\u00e9')\n".encode("latin-1"),
    }.items():
        with open(at + b"/" + name, "wb") as file:
            file.write(data)
    (folder.parent / "elsewhere.py").write_bytes(TEXT)
    (folder / "away.py").symlink_to(folder.parent / "elsewhere.py")
    (folder / "broken.py").symlink_to(folder / "nothing.py")
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    for name in (b"net\xff", b"net"):
        os.makedirs(at + b"/" + name + b"/kernels")
        with open(at + b"/" + name + b"/model.py", "wb") as file:
            file.write("# caf\u00e9\n".encode("latin-1"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("up") / "folder"
    folder.mkdir()
    fill(folder)
    with served(folder, make_policy(requires_token=False)) as running:
        yield running


def listed(server: Served) -> dict[str, Any]:
    found = server.ask("GET", "/api/notebooks").json["notebooks"]
    return {entry["name"]: entry for entry in found if entry["path"] is not None}


def test_unreadable_files_are_listed_with_their_reasons(server: Served) -> None:
    found = listed(server)
    assert {name: entry["error"]["code"] for name, entry in found.items() if entry["error"]} == {
        **REASONS,
        r"net\xff/model.py": "name-not-utf-8",
        "net/model.py": "not-utf-8",
    }
    assert set(found) - set(REASONS) == {"good.py", "net/model.py", r"net\xff/model.py"}
    assert all(entry["error"]["expected"] for entry in found.values() if entry["error"]), "what to do"


def test_the_start_page_is_complete_beside_unreadable_files(server: Served, capfd: pytest.CaptureFixture[str]) -> None:
    page = server.ask("GET", "/").body
    assert b'"token":' in page, "the page of Bokeh's document"
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("name", [*REASONS, "net/model.py", r"net\xff/model.py"])
def test_the_api_answers_with_the_reason_of_an_unreadable_file(server: Served, name: str) -> None:
    answer = server.ask("POST", "/api/sessions", {"name": name})
    assert answer.status == 409 and answer.json["error"]["code"] == {**REASONS}.get(name, answer.json["error"]["code"])
    assert answer.json["error"]["code"] in {*REASONS.values()}


def test_a_readable_file_beside_them_opens(server: Served) -> None:
    answer = server.ask("POST", "/api/sessions", {"name": "good.py"})
    assert answer.status == 201
    server.ask("DELETE", answer.headers["location"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", ["file", "example", "draft", "model", "kernel"])
@pytest.mark.parametrize("name", ["bad%FF.py", "%ED%B3%BF", "%zz", "a%0d%0aX: y", "." + "a" * 300], ids=range(5))
def test_a_missing_file_shows_the_start_page(
    server: Served, place: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = server.ask("GET", f"/{place}/{name}".replace(" ", "%20"))
    assert answer.status == 200 and b'"token":' in answer.body
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "path", ["/static/extensions/panel/", "/static/js/", "/api/", "/api/sessions/", "/login", "/", "/favicon.ico"]
)
@pytest.mark.parametrize(
    "end", ["%00", "a%00b", "%", "%zz", "%ff", "%ED%A0%80", "%c0%ae%c0%ae", "%2500", "a" * 5000], ids=range(9)
)
def test_an_escaped_path_of_no_file_is_refused(
    server: Served, path: str, end: str, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = server.ask("GET", path + end)
    assert answer.status in (400, 403, 404)
    assert "Traceback" not in capfd.readouterr().err


def test_notebooks_open_in_a_folder_with_a_non_utf8_name(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "good.py").write_bytes(TEXT)
    (found,) = load_folder(folder)
    assert found.obstacle is not None and found.obstacle.code == "name-not-utf-8"
    with served(folder, make_policy(requires_token=False)) as server:
        assert b'"token":' in server.ask("GET", "/").body
        assert server.ask("GET", "/api/notebooks").status == 200
        assert server.ask("POST", "/api/sessions", {"name": "place_the_copies"}).status == 201
