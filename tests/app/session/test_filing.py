"""A page and its file: autosave, undo after a restart, two pages, other programs, and failing disks."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.sessions.filed import Desk, filed, send, text_of
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.document.files import read_write as files
from tilewright.app.document.files.history import History
from tilewright.app.document.notebook import revision_of
from tilewright.app.folders.state import folder_state
from tilewright.app.session.session import Session
from tilewright.app.storage.file_status import Presence
from tilewright.app.views.notebook.file_status import file_value


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    created = Desk(tmp_path)
    yield created
    created.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MATMUL_NOTEBOOK)
    return file


def parallel(page: Session) -> None:
    send(page, "call", method="parallel", target="i", arguments={})


def unroll(page: Session) -> None:
    send(page, "call", method="unroll", target="ki", arguments={})


def test_viewing_a_file_writes_nothing(desk: Desk, path: Path) -> None:
    before = path.stat()
    page = desk.page(path)
    desk.settle()
    page.close()
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    assert [entry.name for entry in path.parent.iterdir()] == ["mine.py"]


def test_an_edit_is_autosaved_and_recorded_in_the_history(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    parallel(page)
    assert filed(page).save.status == "saving" and not page.state.unsaved
    desk.settle()
    assert path.read_text() == text_of(page) and "sch.parallel(i)" in path.read_text()
    kept = History(path.parent).load("mine.py")
    assert kept is not None and kept.text == text_of(page) and kept.past == (MATMUL_NOTEBOOK,)
    assert [entry.name for entry in path.parent.iterdir()] == ["mine.py"], "nothing else is in the person's folder"


def test_undo_and_redo_continue_after_a_restart(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    parallel(page)
    once = text_of(page)
    unroll(page)
    twice = text_of(page)
    send(page, "undo")
    desk.settle()
    desk.close()

    again = Desk(path.parent)
    page = again.page(path)
    assert text_of(page) == once and len(page.state.past) == 1 and len(page.state.future) == 1
    assert page.state.good is page.state.notebook
    send(page, "redo")
    assert text_of(page) == twice
    send(page, "undo")
    send(page, "undo")
    assert text_of(page) == MATMUL_NOTEBOOK and page.state.moment is not None
    again.settle()
    assert path.read_text() == MATMUL_NOTEBOOK
    again.close()


def test_two_pages_share_edits_and_undo(desk: Desk, path: Path) -> None:
    one, two = desk.page(path), desk.page(path)
    parallel(one)
    desk.until(lambda: text_of(two) == text_of(one))
    unroll(two)
    desk.until(lambda: text_of(two) == text_of(one))
    assert "sch.parallel(i)" in text_of(one) and "sch.unroll(ki)" in text_of(one)
    send(one, "undo")
    desk.until(lambda: text_of(two) == text_of(one))
    assert "sch.unroll(ki)" not in text_of(two) and len(two.state.past) == 1 and len(two.state.future) == 1
    desk.settle()
    assert path.read_text() == text_of(one)


def test_pages_on_a_file_see_each_other(desk: Desk, path: Path) -> None:
    first, second = desk.page(path), desk.page(path)
    desk.until(lambda: [other.name for other in filed(first).others] == ["guest 2"])
    assert [other.name for other in filed(second).others] == ["guest 1"]
    send(second, "name_reader", name=" Ana  Lima ")
    send(second, "select", id="ki")
    send(second, "view", count=2)
    desk.until(lambda: filed(first).others == (Presence("Ana Lima", 2, "ki"),))
    (other,) = file_value(first.state).others
    assert (other.name, other.step, other.row) == ("Ana Lima", 2, "ki")
    second.close()
    desk.pages.remove(second)
    desk.until(lambda: filed(first).others == ())


def test_saved_is_reported_only_for_the_written_text(desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = desk.page(path)
    file = page.file_sync._file
    assert file is not None
    statuses: list[str] = []
    record = file._history_writer.writing

    def recording(text: str, temporary: str) -> None:
        monkeypatch.setattr(file, "_now", lambda: SimpleNamespace(text=file._disk.text))  # undone at this moment
        statuses.append(file.save_status.status)
        monkeypatch.setattr(file, "_now", now)
        record(text, temporary)

    now = file._now
    monkeypatch.setattr(file._history_writer, "writing", recording)
    parallel(page)
    desk.until(lambda: "sch.parallel(i)" in path.read_text())
    assert statuses == ["saving"]


def test_an_edit_of_another_page_merges_with_a_draft(desk: Desk, path: Path) -> None:
    one, two = desk.page(path), desk.page(path)
    cell = next(i for i, c in enumerate(one.state.notebook.document.cells) if c.kind == "markdown")
    send(one, "draft_cell", cell=cell, text="# Half")
    parallel(two)
    desk.until(lambda: "sch.parallel(i)" in path.read_text())
    assert "sch.parallel(i)" not in text_of(one) and one.state.draft_of is not None
    send(one, "edit_prose", cell=cell, text="# Half a title, and the rest")
    desk.until(lambda: text_of(one) == text_of(two))
    assert "the rest" in text_of(one) and "sch.parallel(i)" in text_of(one)
    desk.settle()
    assert path.read_text() == text_of(one)


def clash(desk: Desk, path: Path) -> tuple[Session, Session]:
    """Both pages changed one line: the first page has the conflict."""
    one, two = desk.page(path), desk.page(path)
    parallel(one)
    desk.until(lambda: text_of(two) == text_of(one))
    send(one, "draft_item", item=last_item(one), text="sch.vectorize(j)")
    send(two, "edit_item", item=last_item(two), text="sch.unroll(i)")
    send(one, "edit_item", item=last_item(one), text="sch.vectorize(j)")
    desk.until(lambda: bool(filed(one).apart) and filed(two).save.status == "saved")
    return one, two


def last_item(page: Session) -> int:
    from tilewright.app.document import schedule_items

    return schedule_items(page.state.notebook.document)[-1].index


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("choice", "there"), [("ours", ["vectorize"]), ("theirs", ["unroll"]), ("both", ["vectorize", "unroll"])]
)
def test_the_later_page_resolves_a_conflict_in_one_line(desk: Desk, path: Path, choice: str, there: list[str]) -> None:
    one, two = clash(desk, path)
    assert one.state.unsaved and one.state.loses_work and not two.state.unsaved
    assert "sch.unroll(i)" in path.read_text() and "sch.vectorize(j)" not in path.read_text()
    send(one, "resolve", choices=[choice])
    desk.until(lambda: text_of(one) == text_of(two) == path.read_text())
    assert [name for name in ("vectorize", "unroll") if name in path.read_text()] == there
    send(one, "undo")
    assert "vectorize" in text_of(one)  # each side is one undo away
    send(one, "undo")
    assert "unroll" in text_of(one)


def test_edits_made_before_a_conflict_is_resolved_are_kept(desk: Desk, path: Path) -> None:
    one, two = clash(desk, path)
    cell = next(i for i, c in enumerate(two.state.notebook.document.cells) if c.kind == "markdown")
    send(two, "edit_prose", cell=cell, text="# Meanwhile")
    desk.settle()
    send(one, "resolve", choices=["ours"])
    desk.until(lambda: text_of(one) == text_of(two) == path.read_text())
    assert "Meanwhile" in path.read_text() and "vectorize" in path.read_text() and "unroll" not in path.read_text()


def test_undo_restores_the_edit_of_a_page_closed_in_conflict(desk: Desk, path: Path) -> None:
    one, two = clash(desk, path)
    one.close()
    desk.until(lambda: bool(two.state.past) and "vectorize" in two.state.past[-1].document.text)
    desk.settle()
    assert "unroll" in path.read_text() and "vectorize" not in path.read_text()
    send(two, "undo")
    assert "sch.vectorize(j)" in text_of(two)


def test_a_message_about_an_absent_object_is_refused(desk: Desk, path: Path) -> None:
    one, two = desk.page(path), desk.page(path)
    seen = revision_of(two.state.notebook)
    parallel(one)
    desk.until(lambda: text_of(two) == text_of(one))
    before = text_of(two)
    send(two, "remove_item", item=0, base=seen)
    assert two.state.notice is not None and two.state.notice.code == "changed-meanwhile" and text_of(two) == before
    send(two, "remove_item", item=last_item(two), base=revision_of(two.state.notebook))
    assert "sch.parallel(i)" not in text_of(two)


def test_an_open_editor_merges_into_the_edit_of_another_page(desk: Desk, path: Path) -> None:
    one, two = desk.page(path), desk.page(path)
    cell = next(i for i, c in enumerate(two.state.notebook.document.cells) if c.kind == "schedule")
    seen, body = revision_of(two.state.notebook), two.state.notebook.document.cells[cell].body
    parallel(one)
    desk.until(lambda: text_of(two) == text_of(one))
    send(two, "edit", cell=cell, body="# mine\n" + body, base=seen)
    desk.until(lambda: text_of(two) == text_of(one))
    assert "# mine" in text_of(one) and "sch.parallel(i)" in text_of(one)


def test_an_external_write_is_reloaded_and_can_be_undone(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    path.write_text(MATMUL_NOTEBOOK + "sch.parallel(i)\n")
    desk.until(lambda: "sch.parallel(i)" in text_of(page))
    assert "Another program" in filed(page).save.notice
    desk.settle()
    send(page, "undo")
    desk.settle()
    assert path.read_text() == MATMUL_NOTEBOOK


def test_a_file_that_is_emptied_before_it_is_written_is_read_when_it_is_complete(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    path.write_text("")
    desk.settle()
    path.write_text(MATMUL_NOTEBOOK + "sch.parallel(i)\n")
    desk.until(lambda: "sch.parallel(i)" in text_of(page))
    send(page, "undo")
    desk.settle()
    assert path.read_text() == MATMUL_NOTEBOOK


def hold_writes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Files cannot be written until the returned function is called."""
    fails: list[OSError] = [OSError(errno.ENOSPC, "No space left on device")]
    replace = files._replace_file

    def replaced(*arguments: object) -> object:
        if fails:
            raise fails[0]
        return replace(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(files, "_replace_file", replaced)
    return fails.clear


def test_unsaved_edits_merge_with_external_ones_elsewhere(
    desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = desk.page(path)
    let = hold_writes(monkeypatch)
    parallel(page)
    desk.until(lambda: filed(page).save.status == "failed")
    path.write_text("# A line of another editor.\n" + MATMUL_NOTEBOOK)
    desk.until(lambda: "another editor" in text_of(page))
    let()
    desk.settle()
    assert path.read_text().startswith("# A line of another") and "sch.parallel(i)" in path.read_text()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("choice", "there"), [("ours", ["parallel"]), ("theirs", ["unroll"]), ("both", ["parallel", "unroll"])]
)
def test_unsaved_edits_conflict_with_external_ones_in_the_same_lines(
    desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, there: list[str]
) -> None:
    page = desk.page(path)
    let = hold_writes(monkeypatch)
    parallel(page)
    desk.until(lambda: filed(page).save.status == "failed")
    theirs = text_of(page).replace("sch.parallel(i)", "sch.unroll(i)")
    path.write_text(theirs)
    desk.until(lambda: filed(page).save.status == "asking")
    let()
    assert path.read_text() == theirs and "sch.parallel(i)" in text_of(page)
    send(page, "resolve", choices=[choice])
    desk.settle()
    assert [name for name in ("parallel", "unroll") if name in path.read_text()] == there
    send(page, "undo")
    assert text_of(page) == theirs


def test_a_full_disk_is_reported_and_saved_later_without_loss(
    desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = desk.page(path)
    let = hold_writes(monkeypatch)
    parallel(page)
    desk.until(lambda: filed(page).save.status == "failed")
    standing = filed(page).save
    assert standing.why is not None and standing.why.code == "no-space" and "disk is full" in standing.why.message
    assert standing.durable and page.state.unsaved and not page.state.loses_work  # the history has it
    assert path.read_text() == MATMUL_NOTEBOOK
    let()
    desk.settle()  # by itself
    assert path.read_text() == text_of(page)


def test_a_read_only_file_is_kept_and_its_edits_survive_a_restart(desk: Desk, path: Path) -> None:
    path.chmod(0o444)
    page = desk.page(path)
    parallel(page)
    desk.until(lambda: filed(page).save.status == "failed")
    why = filed(page).save.why
    assert why is not None and why.code == "read-only" and "Save as" in why.expected
    mine = text_of(page)
    desk.close()
    assert path.read_text() == MATMUL_NOTEBOOK
    again = Desk(path.parent)
    page = again.page(path)
    assert text_of(page) == mine and "were restored" in filed(page).save.notice
    path.chmod(0o644)
    again.settle()
    assert path.read_text() == mine
    again.close()


def test_a_deleted_file_is_reported_and_only_saving_restores_it(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    path.unlink()
    desk.until(lambda: filed(page).save.status == "failed")
    assert filed(page).save.why.code == "gone"
    parallel(page)
    desk.until(lambda: filed(page).save.durable)
    assert not path.exists()
    send(page, "save")
    desk.settle()
    assert path.read_text() == text_of(page)


def test_a_file_replaced_by_a_folder_is_reported_and_save_as_works(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    path.unlink()
    path.mkdir()
    parallel(page)
    desk.until(lambda: filed(page).save.status == "failed")
    assert filed(page).save.why.code == "not-a-file"
    send(page, "save_as", name="other")
    desk.settle()
    assert filed(page).name == "other.py" and "sch.parallel(i)" in (path.parent / "other.py").read_text()


def test_a_file_replaced_by_binary_data_is_not_overwritten(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    path.write_bytes(b"\xff\x00binary")
    desk.until(lambda: filed(page).save.status == "failed")
    parallel(page)
    send(page, "save")
    desk.until(lambda: filed(page).save.durable)
    assert path.read_bytes() == b"\xff\x00binary" and filed(page).save.status == "failed"


def test_a_file_without_a_history_folder_is_still_saved(
    desk: Desk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path.parent / "in_the_way").write_text("")
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(path.parent / "in_the_way"))
    page = desk.page(path)
    parallel(page)
    desk.settle()
    assert path.read_text() == text_of(page)
    standing = filed(page).save
    assert standing.no_history is not None and standing.no_history.code == "no-history" and standing.durable


def test_a_broken_history_is_set_aside_for_the_file(desk: Desk, path: Path) -> None:
    folder = folder_state(path.parent)
    (folder / "history.sqlite3").write_bytes(b"no database" * 1000)
    page = desk.page(path)
    assert text_of(page) == MATMUL_NOTEBOOK
    parallel(page)
    desk.settle()
    assert path.read_text() == text_of(page) and list(folder.glob("broken-*"))


def test_closing_the_page_commits_a_draft(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    send(page, "draft_cell", cell=0, text="# Typed and left\n")
    page.close()
    desk.until(lambda: "Typed and left" in path.read_text())


def test_save_as_continues_in_the_new_file_with_its_undo(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    parallel(page)
    send(page, "save_as", name="copy")
    unroll(page)
    desk.settle()
    desk.until(lambda: "sch.parallel(i)" in path.read_text())
    assert "sch.unroll(ki)" not in path.read_text() and "sch.unroll(ki)" in (path.parent / "copy.py").read_text()
    assert len(page.state.past) == 2


def test_save_as_over_a_file_asks_first_and_can_be_undone(desk: Desk, path: Path) -> None:
    other = path.parent / "other.py"
    other.write_text(MATMUL_NOTEBOOK + "sch.unroll(ki)\n")
    page = desk.page(path)
    parallel(page)
    send(page, "save_as", name="other.py")
    assert page.state.notice is not None and page.state.notice.code == "file-exists"
    send(page, "save_as", name="other.py", replacing=True)
    desk.settle()
    assert "sch.parallel(i)" in other.read_text() and "sch.unroll" not in other.read_text()
    send(page, "undo")
    desk.settle()
    assert "sch.unroll(ki)" in other.read_text()


@pytest.mark.parametrize("name", ["../out", "a/b", "/etc/x", "..", "", ".hidden", "a\0b", "x" * 300, "a\nb", "con\\x"])
def test_save_as_outside_the_folder_is_refused(desk: Desk, path: Path, name: str) -> None:
    page = desk.page(path)
    for kind in ("save_as", "new_file"):
        send(page, kind, name=name)
        assert page.state.notice is not None and page.state.notice.code == "bad-name"
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["mine.py"]


def test_a_link_out_of_the_folder_is_not_written_through(
    desk: Desk, path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "precious.py"
    outside.write_text("precious")
    os.symlink(outside, path.parent / "link.py")
    page = desk.page(path)
    send(page, "save_as", name="link", replacing=True)
    assert page.state.notice is not None and page.state.notice.code == "bad-name" and outside.read_text() == "precious"


def test_a_new_notebook_is_created_at_once(desk: Desk, tmp_path: Path) -> None:
    page = desk.page()
    send(page, "new_file", name="fresh")
    assert page.state.notice is None and page.state.moment is not None
    desk.settle()
    assert (tmp_path / "fresh.py").read_text() == text_of(page)


def test_the_first_edit_of_a_plain_program_creates_a_notebook_beside_it(desk: Desk, tmp_path: Path) -> None:
    from support.programs.sources import ELEMENTWISE_CHAIN

    program = tmp_path / "chain.py"
    program.write_text(ELEMENTWISE_CHAIN)
    page = desk.page(program)
    assert filed(page).save.status == "new" and sorted(e.name for e in tmp_path.iterdir()) == ["chain.py"]
    send(page, "theme", theme="dark")
    send(page, "call", method="parallel", target="i", arguments={})
    send(page, "machine", name="cpu-core")
    desk.settle()
    assert program.read_text() == ELEMENTWISE_CHAIN
    assert filed(page).name == "chain_blocks.py" and (tmp_path / "chain_blocks.py").read_text() == text_of(page)
    again = desk.page(program)  # the same in another tab and after a restart
    assert filed(again).name == "chain_blocks.py" and text_of(again) == text_of(page)


def test_a_broken_text_opens_with_its_last_valid_program(desk: Desk, path: Path) -> None:
    page = desk.page(path)
    cell = next(i for i, c in enumerate(page.state.notebook.document.cells) if c.kind == "workload")
    send(page, "edit", cell=cell, body="def broken(:\n")
    desk.settle()
    desk.close()
    again = Desk(path.parent)
    page = again.page(path)
    assert "def broken(:" in text_of(page) and page.state.moment is not None
    send(page, "undo")
    assert text_of(page) == MATMUL_NOTEBOOK
    again.close()
