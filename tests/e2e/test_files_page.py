"""Files of a user: autosaved, open on two pages at once, changed by others, and restored after a kill."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.cell_editor import cell_editor, rewrite
from support.browser.page import go_to_example, go_to_gallery, row, until
from support.browser.sizes import wrong_texts
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.served import served

from tilewright.app.server.access import make_policy

FAST = {"timeout": 30_000}


class Folder(NamedTuple):
    """A served folder: its address, and unused files."""

    path: Path
    url: str
    unused: list[Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    work = tmp_path_factory.mktemp("work")
    files = [work / f"mine{n}.py" for n in range(7)]
    for file in files:
        file.write_text(MATMUL_NOTEBOOK)
    with served(work, make_policy(requires_token=False)) as server:
        yield Folder(work, server.url, files)


@pytest.fixture
def path(folder: Folder) -> Path:
    """A file for this test alone, which the gallery lists."""
    return folder.unused.pop()


@pytest.fixture
def pages(folder: Folder, page: Page, path: Path) -> Iterator[Callable[[], Page]]:
    """Further tabs of one browser with one file."""
    tabs: list[Page] = []

    def another() -> Page:
        tab = page.context.new_page() if tabs else page
        tabs.append(tab)
        go_to_example(tab, folder.url, path.name)
        row(tab, "C").wait_for(timeout=30_000)
        return tab

    yield another
    for tab in tabs[1:]:
        tab.close()


def chip(page: Page) -> Locator:
    return page.locator(".file-chip")


def parallel(page: Page, loop: str = "i") -> None:
    """By its key in the tree."""
    row(page, loop).click()
    page.keyboard.press("p")


def saved(page: Page) -> None:
    expect(page.locator('.file-chip[data-file="saved"]')).to_be_visible(**FAST)


def write(path: Path, text: str) -> None:
    """Write the file as another editor does."""
    other = path.with_name("other.tmp")
    other.write_text(text)
    os.replace(other, path)


def test_another_page_shows_who_is_there_and_what_is_selected(pages: Callable[[], Page]) -> None:
    first, second = pages(), pages()
    expect(first.locator(".under .reader")).to_have_text("G2")
    chip(second).click()
    second.get_by_role("menuitem", name="My name").click()
    second.get_by_label("My name").last.fill("Ana Lima")
    second.keyboard.press("Enter")
    row(second, "ki").click()
    expect(row(first, "ki").locator(".reader")).to_have_text("AL")
    expect(first.locator(".under .reader")).to_have_attribute("title", "Ana Lima, at ki")
    expect(row(second, "ki").locator(".reader")).to_have_count(0)


def test_a_conflict_with_another_editor_is_resolved(
    pages: Callable[[], Page], path: Path, shoot: Callable[[Page, str], Path]
) -> None:
    page = pages()
    expect(chip(page)).to_have_attribute("data-file", "saved")
    parallel(page)
    saved(page)
    until(page, lambda: "sch.parallel(i)" in path.read_text(), **FAST)
    # The page changes a line, and another editor the same line in the file.
    page.locator(".step", has_text="sch.parallel(i)").locator(".step-text").press("F2")
    editor = cell_editor(page)
    rewrite(editor, "sch.unroll(ki)")
    write(path, path.read_text().replace("sch.parallel(i)", "sch.vectorize(ki)"))
    expect(page.locator(".banner.is-notice")).to_contain_text("Another program changed the file", **FAST)
    editor.press("Control+Enter")
    dialog = page.get_by_role("dialog", name=f"Two versions of {path.name}")
    expect(dialog).to_be_visible(**FAST)
    expect(dialog).to_contain_text("sch.unroll(ki)")
    expect(dialog).to_contain_text("sch.vectorize(ki)")
    shoot(page, "files-two-versions")
    assert not wrong_texts(page, "two versions of a file")
    assert "sch.unroll" not in path.read_text()  # nothing is overwritten before the decision
    # Later, and then after all.
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chip(page)).to_have_attribute("data-file", "asking")
    page.get_by_role("button", name="Decide…").click()
    dialog.get_by_label("Mine", exact=True).check()
    dialog.get_by_role("button", name="Apply choices").click()
    until(page, lambda: "sch.unroll(ki)" in path.read_text() and "sch.vectorize" not in path.read_text(), **FAST)
    saved(page)


@pytest.mark.slow
def test_a_conflict_of_two_pages_is_resolved(
    pages: Callable[[], Page], path: Path, shoot: Callable[[Page, str], Path]
) -> None:
    one, two = pages(), pages()
    expect(chip(one)).to_have_attribute("data-file", "saved")
    parallel(one)
    step = two.locator(".step", has_text="sch.parallel(i)")
    expect(step).to_be_visible(**FAST)
    saved(one)
    saved(two)
    until(one, lambda: "sch.parallel(i)" in path.read_text(), **FAST)
    # Undo on the other page: the first follows.
    two.get_by_label("Undo (Ctrl+Z)").click()
    expect(one.locator(".step code", has_text="sch.parallel(i)")).to_have_count(0, **FAST)
    until(one, lambda: path.read_text() == MATMUL_NOTEBOOK, **FAST)
    two.get_by_label("Redo (Ctrl+Shift+Z)").click()
    expect(one.locator(".step", has_text="sch.parallel(i)")).to_be_visible(**FAST)
    # One opens the line and types, two changes it meanwhile.
    one.locator(".step", has_text="sch.parallel(i)").locator(".step-text").press("F2")
    editor = cell_editor(one)
    rewrite(editor, "sch.unroll(ki)")
    step.locator(".step-text").press("F2")
    other = cell_editor(two)
    rewrite(other, "sch.vectorize(ki)")
    other.press("Control+Enter")
    until(two, lambda: "sch.vectorize(ki)" in path.read_text(), **FAST)
    editor.press("Control+Enter")
    dialog = one.get_by_role("dialog", name=f"Two versions of {path.name}")
    expect(dialog).to_be_visible(**FAST)
    expect(dialog).to_contain_text("sch.unroll(ki)")
    expect(dialog).to_contain_text("sch.vectorize(ki)")
    shoot(one, "files-two-versions")
    assert "sch.unroll" not in path.read_text()  # nothing is overwritten before the decision
    # Later, and then after all.
    one.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chip(one)).to_have_attribute("data-file", "asking")
    one.get_by_role("button", name="Decide…").click()
    dialog.get_by_label("Mine", exact=True).check()
    dialog.get_by_role("button", name="Apply choices").click()
    expect(two.locator(".step code", has_text="sch.unroll(ki)")).to_be_visible(**FAST)
    until(one, lambda: "sch.unroll(ki)" in path.read_text() and "sch.vectorize" not in path.read_text(), **FAST)
    saved(one)


def test_the_page_follows_another_editor(pages: Callable[[], Page], path: Path) -> None:
    page = pages()
    write(path, MATMUL_NOTEBOOK.replace("# %% report", "sch.parallel(i)\n\n# %% report"))
    expect(page.locator(".step code", has_text="sch.parallel(i)")).to_be_visible(**FAST)
    banner = page.locator(".banner.is-notice")
    expect(banner).to_contain_text("Another program changed the file")
    banner.get_by_role("button", name="Undo").click()
    until(page, lambda: path.read_text() == MATMUL_NOTEBOOK, **FAST)
    expect(banner).to_have_count(0)


@pytest.mark.slow
def test_a_read_only_file_is_saved_elsewhere(pages: Callable[[], Page], path: Path) -> None:
    page = pages()
    path.chmod(0o444)
    parallel(page)
    expect(chip(page)).to_contain_text("Not saved: read-only", **FAST)
    expect(page.locator(".banner.is-unsaved")).to_contain_text(f"{path.name} is read-only")
    expect(page).to_have_title(re.compile("^• "))
    assert not wrong_texts(page, "a read-only file")
    page.keyboard.press("Control+Shift+S")
    name = page.get_by_label("Save as", exact=True).get_by_role("textbox")
    name.fill("elsewhere")
    name.press("Enter")
    saved(page)
    until(page, (path.parent / "elsewhere.py").is_file, **FAST)
    assert "sch.parallel(i)" in (path.parent / "elsewhere.py").read_text() and path.read_text() == MATMUL_NOTEBOOK
    # The menu by keyboard: download a copy.
    chip(page).focus()
    page.keyboard.press("Enter")
    with page.expect_download() as caught:
        page.keyboard.press("d")
    assert caught.value.suggested_filename == "elsewhere.py"
    assert Path(caught.value.path()).read_text() == (path.parent / "elsewhere.py").read_text()


@pytest.mark.slow
def test_files_that_cannot_be_opened_are_in_sight(folder: Folder, page: Page) -> None:
    for name in ("no_text.py", "schedule_of_the_second_attention_block_of_the_decoder_in_half_precision.py"):
        (folder.path / name).write_bytes(f"{MATMUL_NOTEBOOK}# caf\u00e9\n".encode("latin-1"))
    page.goto(folder.url)
    expect(page.locator("[data-closed]")).to_have_count(2)
    page.locator("[data-closed]").last.scroll_into_view_if_needed()
    assert not wrong_texts(page, "files that cannot be opened")


def test_saving_writes_a_deleted_file_again(pages: Callable[[], Page], path: Path) -> None:
    page = pages()
    path.unlink()
    expect(chip(page)).to_contain_text("the file was deleted or moved", **FAST)
    assert not wrong_texts(page, "a deleted file")
    page.locator(".banner.is-unsaved").get_by_role("button", name="Try again").click()
    until(page, lambda: path.is_file() and path.read_text() == MATMUL_NOTEBOOK, **FAST)
    saved(page)


SERVER = """
import os, sys
from pathlib import Path
from tilewright.app.cli import main
Path(sys.argv[2]).write_text(str(os.getpid()))
main(["serve", "--no-token", sys.argv[1], "--port", sys.argv[3]])
"""


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_undo_continues(
    serve_command: Callable[..., str],
    browser: Browser,
    path: Path,
    tmp_path: Path,
    shoot: Callable[[Page, str], Path],
) -> None:
    def opened() -> Page:
        """On a separate server; not a watched page, as its console reports the lost connection."""
        page = browser.new_context().new_page()
        page.set_default_timeout(30_000)
        page.goto(f"{serve_command('-c', SERVER, str(path), str(tmp_path / 'pid'), '{port}')}/file/{path.name}")
        return page

    page = opened()
    parallel(page)
    page.locator(".step code", has_text="sch.parallel(i)").wait_for()
    until(page, lambda: "sch.parallel(i)" in path.read_text(), **FAST)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    lost = page.get_by_role("alert").filter(has_text="The server does not respond")
    expect(lost).to_be_visible(**FAST)
    expect(lost.get_by_role("button")).to_have_text("Reload now")
    shoot(page, "files-server-lost")
    page.context.close()

    page = opened()
    page.locator(".step code", has_text="sch.parallel(i)").wait_for()
    page.get_by_label("Undo (Ctrl+Z)").click()
    until(page, lambda: path.read_text() == MATMUL_NOTEBOOK, **FAST)
    expect(page.locator(".step code", has_text="sch.parallel(i)")).to_have_count(0)
    page.context.close()


@pytest.mark.slow
def test_a_new_notebook_from_the_gallery(folder: Folder, page: Page, path: Path) -> None:
    go_to_gallery(page, folder.url)
    page.get_by_role("button", name="New notebook…").click()
    name = page.get_by_label("New notebook", exact=True).get_by_role("textbox")
    name.fill("fresh")
    name.press("Enter")
    row(page, "C").wait_for(timeout=30_000)
    saved(page)
    assert (path.parent / "fresh.py").is_file()
    page.get_by_label("Gallery").click()
    expect(page.locator('[data-example="fresh.py"]')).to_be_visible(**FAST)
    # An existing name asks first, and is replaced on demand.
    page.locator(f'[data-example="{path.name}"]').click()
    row(page, "C").wait_for(timeout=30_000)
    page.keyboard.press("Control+Shift+S")
    name = page.get_by_label("Save as", exact=True).get_by_role("textbox")
    name.fill("fresh")
    name.press("Enter")
    expect(page.locator(".page-notice")).to_contain_text("the file fresh.py already exists")
    page.get_by_role("button", name="Replace it").click()
    until(page, lambda: (path.parent / "fresh.py").read_text() == MATMUL_NOTEBOOK, **FAST)


@pytest.mark.slow
def test_an_earlier_version_is_shown_and_restored(
    pages: Callable[[], Page], path: Path, shoot: Callable[[Page, str], Path]
) -> None:
    page = pages()
    parallel(page)
    expect(page.locator(".step code", has_text="sch.parallel(i)")).to_be_visible(**FAST)
    saved(page)
    chip(page).click()
    page.get_by_role("menuitem", name="Earlier versions").click()
    dialog = page.get_by_role("dialog", name=f"Versions of {path.name}")
    expect(dialog.get_by_role("option")).to_have_count(2)
    expect(dialog.get_by_role("option").first).to_contain_text("+ sch.parallel(i)")
    expect(dialog.get_by_role("option").first).to_be_focused()
    expect(dialog.get_by_role("button", name="Restore this version")).to_be_disabled()
    page.keyboard.press("ArrowDown")
    expect(dialog.locator(".versions-line.removed")).to_contain_text("sch.parallel(i)")
    expect(dialog.get_by_role("option").last).to_be_focused()
    shoot(page, "files-versions")
    dialog.get_by_role("button", name="Restore this version").click()
    expect(dialog).to_be_hidden()
    until(page, lambda: path.read_text() == MATMUL_NOTEBOOK, **FAST)
    page.get_by_label("Undo (Ctrl+Z)").click()
    until(page, lambda: "sch.parallel(i)" in path.read_text(), **FAST)
    # Shown and closed.
    chip(page).click()
    page.get_by_role("menuitem", name="Earlier versions").click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.slow
def test_axe_accepts_the_file_dialogs(pages: Callable[[], Page], path: Path) -> None:
    page = pages()
    parallel(page)
    saved(page)
    path.chmod(0o444)
    parallel(page, "j")
    expect(page.locator(".banner.is-unsaved")).to_be_visible(**FAST)
    assert_no_violations(page)
    chip(page).click()
    assert_no_violations(page)
    page.get_by_role("menuitem", name="Earlier versions").click()
    expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    assert_no_violations(page)
