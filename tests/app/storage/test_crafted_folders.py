"""A crafted folder is harmless: no file outside is touched, and inside only files that the user opens."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.faults.crafted import CRAFTS, SMALL, Craft, outside_files
from support.sessions.filed import Desk, filed, send
from support.sessions.paper import PaperClock
from support.sessions.served import served

from tilewright.app.page.notebook_catalog import NotebookCatalog
from tilewright.app.protocol.messages import Open
from tilewright.app.server.api import ApiContext
from tilewright.app.session.execute_request import opened_with
from tilewright.app.session.registry import SessionRegistry
from tilewright.app.session.session import Session
from tilewright.app.storage.registry import OpenFileRegistry, open_file_registry
from tilewright.app.storage.save_debounce import Times
from tilewright.engine.ir import TilewrightError

FAST = Times(quiet=0.005, longest=0.02, look=0.005, again=0.02)


def snapshot(folder: Path) -> dict[str, Any]:
    """Type, mode, size, time and content of a folder and everything below it; links are not followed."""
    found: dict[str, Any] = {}
    paths = [folder, *(Path(at) / name for at, folders, files in os.walk(folder) for name in (*folders, *files))]
    for path in paths:
        seen = path.lstat()
        content: object = None
        if stat.S_ISREG(seen.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(seen.st_mode):
            content = os.readlink(path)
        found[str(path.relative_to(folder))] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, content)
    return found


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    outside_files(outside)
    (inside / "mine.py").write_text(SMALL)
    return inside, outside


def open_all(desk: Desk, folder: Path) -> list[Session]:
    """Open every entry of a folder by the gallery, by its path and by the API, if possible."""
    catalog = NotebookCatalog(folder)
    api_context = ApiContext(SessionRegistry(), folder, desk.open_files)
    names = {example.name for example in (*catalog.examples, *api_context.notebooks()) if example.path is not None}
    for name in sorted({*names, *os.listdir(folder)}):
        page = desk.page()
        with suppress(TilewrightError):
            page.open_file(str(folder / name))
        program = Session(PaperClock(), api_context.notebooks(), open_files=desk.open_files)
        desk.pages.append(program)
        opened_with(program, Open(name), lambda _: None)
    return [page for page in desk.pages if page.state.file is not None]


def test_at_least_two_hundred_folders_are_crafted() -> None:
    names = {craft.name for craft in CRAFTS}
    assert len(names) == len(CRAFTS) >= 200 and names >= DEFAULT


DEFAULT = {
    *(
        "history-other-text-in-linked-folder",
        "entry-link-to-notebook",
        "entry-pipe",
        "entry-link-in-circle",
        "name-0-notebook",
    ),
    *("leftover-0-link-to-notebook", "machine-0", "program-link-to-text", "state-itself-link-to-folder"),
}
"""One message of each kind."""


@pytest.mark.parametrize(
    "craft",
    [pytest.param(craft, id=craft.name, marks=() if craft.name in DEFAULT else pytest.mark.slow) for craft in CRAFTS],
)
def test_an_edit_in_a_crafted_folder_changes_only_its_file(places: tuple[Path, Path], craft: Craft) -> None:
    inside, outside = places
    craft.fill(inside, outside)
    before, others = snapshot(inside), snapshot(outside)
    desk = Desk(inside, FAST)
    pages = open_all(desk, inside)
    assert pages, "the notebook that is right is opened"
    assert not any((page.file_sync._file.real).is_relative_to(outside) for page in pages if page.file_sync._file)
    time.sleep(0.02)  # several polls of the files
    desk.turn()
    desk.close()
    assert snapshot(inside) == before and snapshot(outside) == others

    edit(craft, inside)
    assert snapshot(outside) == others
    after = snapshot(inside)
    changed = {name for name in {*before, *after} - {"."} if before.get(name) != after.get(name)}
    assert changed in ({craft.made}, {"prog_blocks.py"}), "the notebook that was edited, and nothing else"


def edit(craft: Craft, inside: Path) -> None:
    """A person's edit of one notebook of the folder."""
    desk = Desk(inside, FAST)
    page = desk.page(inside / craft.edited)
    if craft.edited == "prog.py":
        send(page, "machine", name="cpu-core")
    else:
        send(page, "edit_prose", cell=0, text="# Edited by a person")
    desk.until(lambda: filed(page).save.status == "saved" and filed(page).save.durable)
    desk.close()


@pytest.mark.parametrize(
    "name",
    [
        "entry-link-to-notebook",
        "history-other-text-in-linked-folder",
        pytest.param("entry-pipe", marks=pytest.mark.slow),
    ],
)
def test_the_api_opens_nothing_outside_a_crafted_folder(places: tuple[Path, Path], name: str) -> None:
    inside, outside = places
    next(craft for craft in CRAFTS if craft.name == name).fill(inside, outside)
    before, others = snapshot(inside), snapshot(outside)
    with served(inside) as server:
        listed = [n["name"] for n in server.ask("GET", "/api/notebooks").json["notebooks"] if n["path"]]
        assert listed == ["mine.py"]
        assert server.ask("POST", "/api/sessions", {"name": "evil.py"}).status == 409
        session = server.opened("mine.py")
        assert "somebody else" not in server.ask("GET", session).json["state"]["notebook"]["text"]
        answer = server.ask("POST", session, {"kind": "save_as", "name": "evil", "replacing": True})
        assert answer.status == (409 if "entry" in name else 200)
        assert "evil.py" in before or (inside / "evil.py").read_text() == SMALL
    assert snapshot(outside) == others
    assert {n: seen for n, seen in snapshot(inside).items() if n in before and n != "."} == {
        n: seen for n, seen in before.items() if n != "."
    }


def test_a_link_to_a_draft_is_not_opened(places: tuple[Path, Path], tmp_path: Path) -> None:
    inside, drafts = places[0], tmp_path / "drafts"
    drafts.mkdir()
    (drafts / "own.py").write_text(SMALL)
    (drafts / "link.py").symlink_to(places[1] / "notebook.py")
    (inside / "link.py").symlink_to(drafts / "own.py")
    open_files = OpenFileRegistry(inside, FAST, drafts=drafts)
    assert open_files.place_of(drafts / "own.py") == drafts / "own.py"
    for path in (inside / "link.py", drafts / "link.py", drafts / ".." / "outside" / "notebook.py"):
        with pytest.raises(TilewrightError, match="outside of"):
            open_files.place_of(path)


def test_an_open_file_that_becomes_a_link_is_not_followed(
    places: tuple[Path, Path],
) -> None:
    inside, outside = places
    others = snapshot(outside)
    desk = Desk(inside, FAST)
    page = desk.page(inside / "mine.py")
    (inside / "mine.py").unlink()
    (inside / "mine.py").symlink_to(outside / "notebook.py")
    send(page, "edit_prose", cell=0, text="# Edited by a person")
    desk.until(lambda: filed(page).save.status == "failed" and filed(page).save.durable)
    assert filed(page).save.why.code == "not-a-file"
    send(page, "save")
    time.sleep(0.05)
    desk.close()
    assert snapshot(outside) == others and (inside / "mine.py").is_symlink()


def test_an_open_folder_that_becomes_a_link_is_not_followed(
    places: tuple[Path, Path],
) -> None:
    inside, outside = places
    others = snapshot(outside)
    desk = Desk(inside, FAST)
    page = desk.page(inside / "mine.py")
    inside.rename(inside.with_name("moved"))
    inside.symlink_to(outside / "folder")
    send(page, "edit_prose", cell=0, text="# Edited by a person")
    desk.until(lambda: filed(page).save.status == "failed" and filed(page).save.durable)
    assert filed(page).save.why.code == "no-folder"
    desk.close()
    assert snapshot(outside) == others


def test_a_link_named_on_the_command_line_is_written_through(places: tuple[Path, Path]) -> None:
    inside, outside = places
    (inside / "link.py").symlink_to(outside / "notebook.py")
    desk = Desk(inside, FAST)
    desk.open_files = open_file_registry(inside / "link.py")
    page = desk.page(inside / "link.py")
    send(page, "edit_prose", cell=0, text="# Edited by a person")
    desk.until(lambda: filed(page).save.status == "saved")
    desk.close()
    assert (inside / "link.py").is_symlink() and "Edited by a person" in (outside / "notebook.py").read_text()
