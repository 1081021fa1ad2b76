"""The page in a real browser: the first minute, and what must not happen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.cell_editor import cell_editor, rewrite
from support.browser.page import code, drag, figure, go_to_gallery, open_example, steps, tree_text
from support.programs.sources import MATMUL

from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.shell.model_cards import example_models

Shoot = Callable[[Page, str], Path]


@pytest.fixture
def app(page: Page, app_url: str) -> Iterator[Page]:
    go_to_gallery(page, app_url)
    yield page


def test_given_the_gallery_then_every_example_has_a_card(app: Page, shoot: Shoot) -> None:
    expect(app.locator(".card[data-example]")).to_have_count(len(load_examples()) + len(example_models()))
    assert app.title() == "Tilewright"
    shoot(app, "gallery")


def test_given_an_example_when_opened_then_tree_timeline_code_and_figures_are_there(app: Page, shoot: Shoot) -> None:
    open_example(app, "vtcm_double_buffer")
    expect(app.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=30_000)
    assert int(re.sub(r"\D", "", figure(app, "Cycles"))) > 100_000
    assert "T.sblock" in code(app, "script")
    expect(app.locator("#area-timeline canvas").first).to_be_visible()
    expect(app.locator(".step .change").last).to_contain_text("%", timeout=30_000)
    shoot(app, "vtcm-double-buffer")


def test_given_a_block_when_dragged_onto_a_loop_then_tree_code_figures_and_notebook_follow_and_undo_brings_it_back(
    app: Page, shoot: Shoot
) -> None:
    open_example(app, "vtcm_double_buffer")
    before, lines, cycles, script = tree_text(app), steps(app), figure(app, "Cycles"), code(app, "script")
    drag(app, "A_local.vtcm", "mi")
    expect(app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(1)
    assert len(steps(app)) == len(lines)  # a step had placed the block: it has another loop now
    expect(app.locator('[data-figure="Cycles"] b')).not_to_have_text(cycles)
    assert tree_text(app) != before
    assert code(app, "script") != script
    expect(app.locator("#pane-script .code-line.added").first).to_be_visible()
    shoot(app, "dragged")
    app.get_by_label("Undo (Ctrl+Z)").click()
    expect(app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(0)
    assert (tree_text(app), figure(app, "Cycles"), code(app, "script")) == (before, cycles, script)
    app.get_by_label("Redo (Ctrl+Shift+Z)").click()
    expect(app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(1)


def test_given_an_illegal_drop_then_the_reason_is_shown_and_nothing_changes(app: Page, shoot: Shoot) -> None:
    open_example(app, "vtcm_double_buffer")
    before, lines = tree_text(app), steps(app)
    drag(app, "C_local.acc", "ax0")
    expect(app.locator("#area-tree").get_by_role("alert")).to_be_visible()
    assert len(app.locator("#area-tree").get_by_role("alert").inner_text()) > 30
    shoot(app, "refused")
    assert (tree_text(app), steps(app)) == (before, lines)


def test_given_another_machine_when_picked_then_the_notebook_names_it_and_the_report_is_of_it(app: Page) -> None:
    open_example(app, "what_moves_what")
    cycles = figure(app, "Cycles")
    app.locator(".machine-picker").select_option("dual-bank-npu")
    expect(app.locator(".cell.machine pre")).to_contain_text('tilewright.machine("dual-bank-npu")')
    expect(app.locator('[data-figure="Cycles"] b')).not_to_have_text(cycles)


def test_given_an_earlier_step_when_clicked_then_the_page_says_so_and_shows_the_program_there(app: Page) -> None:
    open_example(app, "what_moves_what")
    now = code(app, "script")
    app.locator('[data-step="3"] .step-text').click()
    expect(app.locator(".banner")).to_be_visible()
    expect(app.locator("#pane-script")).not_to_contain_text("W_local")
    app.get_by_text("Back to now").click()
    expect(app.locator(".banner")).to_have_count(0)
    expect(app.locator("#pane-script")).to_contain_text("W_local")
    assert code(app, "script") == now


def test_given_export_then_a_python_file_with_the_calls_is_downloaded(app: Page) -> None:
    open_example(app, "vtcm_double_buffer")
    app.get_by_role("button", name="Export").click()
    with app.expect_download() as download:
        app.get_by_role("dialog").get_by_role("button", name="Download").click()
    text = Path(download.value.path()).read_text()
    assert "sch.compute_at(AL, ko)" in text
    assert download.value.suggested_filename == "schedule_tvm.py"
    app.get_by_role("tab", name="Python").click()
    expect(app.locator("#pane-python")).to_contain_text("sch.compute_at(AL, ko)")


def test_given_a_cell_when_edited_into_nonsense_then_the_error_stands_there_and_the_picture_stays(
    app: Page, shoot: Shoot
) -> None:
    open_example(app, "what_moves_what")
    before = tree_text(app)
    app.locator(".cell.workload").hover()
    app.get_by_label("Edit the workload cell").click()
    rewrite(cell_editor(app), "def f(:\n")
    app.get_by_role("button", name="Apply").click()
    expect(app.locator(".cell.workload .cell-error")).to_contain_text("line")
    assert tree_text(app) == before
    shoot(app, "broken-workload")
    app.get_by_label("Undo (Ctrl+Z)").click()
    expect(app.locator(".cell-error")).to_have_count(0)


def test_given_pasted_tvmscript_then_it_opens_and_nonsense_is_refused_with_a_reason(app: Page) -> None:
    area = app.get_by_label("A TVMScript program or a notebook")
    area.fill("def f(:\n")
    app.get_by_role("button", name="Open").click()
    expect(app.locator(".paste-problem")).to_contain_text("line 1")
    area.fill(MATMUL)
    app.get_by_role("button", name="Open").click()
    app.get_by_role("treeitem").first.wait_for()
    assert len(tree_text(app)) >= 4


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize("dark", [False, True])
def test_given_any_size_and_theme_then_nothing_is_cut_off_and_the_page_does_not_scroll(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot, width: int, height: int, dark: bool
) -> None:
    page = open_page(width=width, height=height)
    page.goto(f"{app_url}/example/vtcm_double_buffer")
    page.get_by_role("treeitem").first.wait_for()
    if dark:
        page.get_by_label("Dark theme").locator("visible=true").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=30_000)
    page.wait_for_timeout(400)
    shoot(page, f"page-{width}-{'dark' if dark else 'light'}")
    scrolls = (
        "() => [document.documentElement.scrollWidth > innerWidth, document.documentElement.scrollHeight > innerHeight]"
    )
    assert page.evaluate(scrolls) == [False, False]
    for selector in (".headline", ".figure", ".headline .title", ".timeline-head", ".code-bar .quiet"):
        for part in page.locator(selector).locator("visible=true").all():
            cut = part.evaluate("e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]")
            assert cut[0] <= 1 and cut[1] <= 2, (selector, part.inner_text(), cut)


def test_given_a_button_that_is_held_down_when_the_page_changes_below_it_then_its_click_counts(app: Page) -> None:
    open_example(app, "vtcm_double_buffer")
    lines = steps(app)
    drag(app, "A_local.vtcm", "mi")
    expect(app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(1)
    app.get_by_label("Save").hover()
    app.mouse.down()
    app.keyboard.press("Control+z")
    expect(app.get_by_role("treeitem").and_(app.locator('[data-id="A_local.vtcm"]'))).to_be_visible()
    app.wait_for_timeout(500)  # what would be drawn, were the button not held
    with app.expect_download():
        app.mouse.up()
    expect(app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(0)
    assert steps(app) == lines
