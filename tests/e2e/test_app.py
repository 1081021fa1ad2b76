"""The page in a real browser: first actions of a user, and layout errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.cell_editor import cell_editor, rewrite
from support.browser.page import code, drag, figure, go_to_example, go_to_gallery, open_example, steps, tree_text

Shoot = Callable[[Page, str], Path]


@pytest.fixture
def app(page: Page, app_url: str) -> Iterator[Page]:
    go_to_gallery(page, app_url)
    yield page


def test_a_drag_updates_all_panes_and_undo_restores_them(app: Page, shoot: Shoot) -> None:
    assert app.title() == "Tilewright"
    open_example(app, "vtcm_double_buffer")
    expect(app.locator("#area-timeline canvas").first).to_be_visible()
    before, lines, cycles, script = tree_text(app), steps(app), figure(app, "Cycles"), code(app, "script")
    assert "T.sblock" in script
    # An illegal drop changes nothing.
    drag(app, "C_local.acc", "ax0")
    refusal = app.locator("#area-tree").get_by_role("alert")
    expect(refusal).to_be_visible()
    assert len(refusal.inner_text()) > 30
    shoot(app, "refused")
    assert (tree_text(app), steps(app)) == (before, lines)
    drag(app, "A_local.vtcm", "mi")
    moved = app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")
    expect(moved).to_have_count(1)
    assert len(steps(app)) == len(lines)  # a step had placed the block: its loop changes
    expect(app.locator('[data-figure="Cycles"] b')).not_to_have_text(cycles)
    assert tree_text(app) != before
    assert code(app, "script") != script
    expect(app.locator("#pane-script .code-line.added").first).to_be_visible()
    shoot(app, "dragged")
    app.get_by_label("Undo (Ctrl+Z)").click()
    expect(moved).to_have_count(0)
    assert (tree_text(app), figure(app, "Cycles"), code(app, "script")) == (before, cycles, script)
    app.get_by_label("Redo (Ctrl+Shift+Z)").click()
    expect(moved).to_have_count(1)
    # The page changes while a button is pressed: the click counts.
    app.get_by_label("Save").hover()
    app.mouse.down()
    app.keyboard.press("Control+z")
    expect(app.get_by_role("treeitem").and_(app.locator('[data-id="A_local.vtcm"]'))).to_be_visible()
    app.wait_for_timeout(500)  # the list as drawn if the button were not pressed
    with app.expect_download():
        app.mouse.up()
    expect(moved).to_have_count(0)
    assert steps(app) == lines


def test_a_step_a_cell_and_the_machine_change_the_panes(app: Page, shoot: Shoot) -> None:
    open_example(app, "what_moves_what")
    now, before = code(app, "script"), tree_text(app)
    app.locator('[data-step="3"] .step-text').click()
    expect(app.locator(".banner")).to_be_visible()
    expect(app.locator("#pane-script")).not_to_contain_text("W_local")
    app.get_by_text("Back to now").click()
    expect(app.locator(".banner")).to_have_count(0)
    expect(app.locator("#pane-script")).to_contain_text("W_local")
    assert code(app, "script") == now
    # Nonsense in a cell: the error is shown there, and the last valid program stays.
    app.locator(".cell.workload").hover()
    app.get_by_label("Edit the workload cell").click()
    rewrite(cell_editor(app), "def f(:\n")
    app.get_by_role("button", name="Apply").click()
    expect(app.locator(".cell.workload .cell-error")).to_contain_text("line")
    assert tree_text(app) == before
    shoot(app, "broken-workload")
    app.get_by_label("Undo (Ctrl+Z)").click()
    expect(app.locator(".cell-error")).to_have_count(0)
    cycles = figure(app, "Cycles")
    app.locator(".machine-picker").select_option("dual-bank-npu")
    expect(app.locator(".cell.machine pre")).to_contain_text('tilewright.machine("dual-bank-npu")')
    expect(app.locator('[data-figure="Cycles"] b')).not_to_have_text(cycles)


@pytest.mark.slow
def test_rows_keep_their_names_after_another_notebook(app: Page) -> None:
    open_example(app, "place_the_copies")  # both have a second loop ax0
    app.get_by_label("Gallery", exact=True).locator("visible=true").click()
    open_example(app, "fused_matmul_relu")
    expect(app.locator('[data-id="ax0~2"] .loop-name')).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off_and_the_page_does_not_scroll(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot, width: int, height: int, dark: bool
) -> None:
    page = open_page(width=width, height=height, dark=dark)
    go_to_example(page, app_url, "vtcm_double_buffer")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark" if dark else "light")
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
