"""The start screen in a real browser: pictures, search, pasted programs and files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import drag, go_to_gallery
from support.programs.sources import MATMUL
from support.sessions.notebooks import with_lines

from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.shell.model_cards import example_models

Open = Callable[..., Page]
Serve = Callable[..., str]


@pytest.fixture
def gallery(page: Page, app_url: str) -> Page:
    go_to_gallery(page, app_url)
    return page


@pytest.mark.slow
def test_each_card_has_picture_metrics_and_question(gallery: Page) -> None:
    expect(gallery.locator(".card[data-example]")).to_have_count(len(load_examples()) + len(example_models()))
    for example in load_examples():
        card = gallery.locator(f'[data-example="{example.name}"]')
        assert card.locator("svg .thumb-block").count() >= 1, example.name
        assert "cycles" in card.locator(".card-facts").inner_text()
    expect(gallery.locator('[data-example="what_moves_what"] q')).to_contain_text("difference between the compute_at")
    # The colours are the page's, so they change with the theme.
    block = gallery.locator('[data-example="box_blur"] .thumb-block').first
    light = block.evaluate("e => getComputedStyle(e).fill")
    gallery.get_by_label("Dark theme").locator("visible=true").click()
    expect(gallery.locator("html")).to_have_attribute("data-theme", "dark")
    assert block.evaluate("e => getComputedStyle(e).fill") != light
    gallery.get_by_label("Light theme").locator("visible=true").click()


def test_words_and_kinds_find_cards(gallery: Page) -> None:
    field = gallery.get_by_role("searchbox")
    field.fill("double_buffer gemmini")
    expect(gallery.locator(".card[data-example]")).to_have_count(1)
    expect(gallery.locator(".card[data-example]")).to_have_attribute("data-example", "gemmini_gemm")
    expect(gallery.locator(".found")).to_have_text(f"1 of {len(load_examples()) + len(example_models())}")
    field.fill("nothing has this word")
    expect(gallery.get_by_text("No example matches.")).to_be_visible()
    field.press("Escape")
    expect(gallery.locator(".card[data-example]")).to_have_count(len(load_examples()) + len(example_models()))
    gallery.get_by_role("button", name="From the forum").click()
    expect(gallery.locator(".card[data-example]")).to_have_count(sum(bool(e.question) for e in load_examples()))
    expect(gallery.get_by_role("button", name="From the forum")).to_be_focused()
    gallery.keyboard.press("Tab")
    gallery.keyboard.press("Enter")
    expect(gallery.get_by_role("button", name="dual-bank-npu")).to_have_attribute("aria-pressed", "true")
    expect(gallery.locator(".card[data-example]")).to_have_count(
        sum(e.machine == "dual-bank-npu" for e in (*load_examples(), *example_models()))
    )
    gallery.locator(".card[data-example]").first.press("Enter")
    gallery.get_by_role("treeitem").first.wait_for()


def test_a_file_is_chosen_or_dropped(gallery: Page, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("def f(:\n")
    gallery.get_by_label("A file", exact=True).set_input_files(file)
    expect(gallery.locator(".paste-problem")).to_contain_text("line 1")
    drop = """
        (view, text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "matmul.py"));
          const how = {dataTransfer: data, bubbles: true, cancelable: true};
          for (const kind of ["dragover", "drop"]) view.dispatchEvent(new DragEvent(kind, how));
        }
    """
    gallery.locator(".gallery").evaluate(drop, MATMUL)
    gallery.get_by_role("treeitem").first.wait_for()
    expect(gallery.locator(".headline .title")).to_have_text("matmul")


@pytest.mark.slow
def test_a_folder_lists_its_files_and_why_some_are_unreadable(page: Page, serve_page: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "older.py").write_text(MATMUL)
    os.utime(folder / "older.py", (1, 1))
    (folder / "latin.py").write_bytes((with_lines() + "# caf\u00e9\n").encode("latin-1"))
    with open(os.fsencode(folder) + b"/bad\xff.py", "w") as file:
        file.write(with_lines())
    mine = folder / "mine.py"
    mine.write_text(with_lines('AL = sch.cache_read(C, 0, "local.vtcm")'))
    page.goto(serve_page(folder))
    files = page.locator("button.file[data-example]")
    expect(files.locator(".card-title")).to_have_text(["A matmul", "older.py"])
    expect(files.first).to_contain_text("mine.py · ")
    expect(files.first.locator(".thumb-block")).to_have_count(2, timeout=20_000)
    expect(page.get_by_role("heading", name="Recent files in mine")).to_be_visible()
    closed = page.locator(".is-closed")
    expect(closed).to_have_count(2)
    expect(closed.filter(has_text=r"bad\xff.py")).to_contain_text("the file's name is not UTF-8")
    expect(closed.filter(has_text="latin.py")).to_contain_text("latin.py is not UTF-8 text")
    files.first.click()
    page.get_by_role("treeitem").first.wait_for()
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step code").last).to_contain_text("sch.compute_at(AL, ko)")
    expect(page.locator(".headline")).to_contain_text("A matmul")
    page.keyboard.press("Control+s")
    expect(page.locator('.file-chip[data-file="saved"]')).to_be_visible()
    expect(page.get_by_label("Save the notebook (Ctrl+S)")).to_be_disabled()
    assert "sch.compute_at(AL, ko)" in mine.read_text()
