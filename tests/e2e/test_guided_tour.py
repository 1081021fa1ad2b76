"""The guided tour, the help menu and the pages of primitives, with the mouse and with the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import choose, drag, go_to_gallery, row, steps

from tilewright.app.views.shell.tour import TOURS
from tilewright.engine.schedule import PRIMITIVES

STEPS = TOURS["tour"].steps
AT = {step.title: n for n, step in enumerate(STEPS)}
COMPUTE_AT, SET_SCOPE = AT["compute_at moves a computation"], AT["set_scope moves a memory"]


@pytest.fixture
def gallery(page: Page, app_url: str) -> Page:
    go_to_gallery(page, app_url)
    return page


def is_at(page: Page, step: int) -> None:
    expect(page.locator(".tour .tour-head")).to_contain_text(f"Step {step + 1} of {len(STEPS)}")


def part(page: Page, name: str) -> None:
    page.locator(f'.tour [data-part="{name}"]').click()


def begin(page: Page, step: int) -> None:
    page.get_by_role("button", name="Guided tour, 2 minutes").click()
    is_at(page, 0)
    for _ in range(step):
        part(page, "next")
    is_at(page, step)


@pytest.mark.slow
def test_the_tour_detects_each_task_done_by_mouse(gallery: Page) -> None:
    begin(gallery, 1)
    expect(gallery.locator(".tour")).to_contain_text("Point at a bar")
    box = gallery.locator("#area-timeline").bounding_box()
    assert box is not None
    gallery.mouse.move(box["x"] + 300, box["y"] + 100)
    expect(gallery.locator(".tour .is-done")).to_contain_text("Done.")
    part(gallery, "next")
    is_at(gallery, COMPUTE_AT)
    expect(gallery.locator(".tour-ring")).to_have_count(2)
    gallery.mouse.move(700, 440)
    gallery.mouse.down()
    expect(gallery.locator(".tour.is-away")).to_have_count(1)  # out of the way of the drag
    gallery.mouse.up()
    expect(gallery.locator(".tour.is-away")).to_have_count(0)
    drag(gallery, "B", "io")
    expect(gallery.locator(".tour-result")).to_contain_text("16\u202fKiB to 4\u202fKiB")
    expect(gallery.locator("[role=status].tw-hidden").first).to_contain_text("Done.")
    part(gallery, "next")
    is_at(gallery, SET_SCOPE)
    choose(gallery, "B", "Set scope…")
    gallery.locator(".form [name=storage_scope]").fill("local")
    gallery.locator(".form [type=submit]").click()
    expect(gallery.locator(".tour-result")).to_contain_text("no loop changed")
    # An undone task is open again.
    gallery.get_by_label("Undo (Ctrl+Z)").click()
    expect(gallery.locator(".tour-result")).to_have_count(0)
    expect(gallery.locator('.tour [data-part="next"]')).to_have_text("Skip")


def test_the_tour_of_a_kernel_begins_on_the_start_page_and_in_help(gallery: Page) -> None:
    gallery.get_by_role("button", name="TileLang tour").click()
    expect(gallery.locator(".tour .tour-head")).to_contain_text("Step 1 of 5")
    for _ in range(2):
        part(gallery, "next")
    part(gallery, "do")
    expect(gallery.locator(".tour-result")).to_contain_text("num_stages=1")
    gallery.keyboard.press("Escape")
    expect(gallery.locator(".tour")).to_be_hidden()
    gallery.get_by_role("button", name="Help", exact=True).click()
    gallery.get_by_role("menuitem", name="TileLang tour").click()
    expect(gallery.locator(".tour .tour-head")).to_contain_text("Step 1 of 5")


@pytest.mark.slow
def test_the_keyboard_alone_completes_the_tour(gallery: Page) -> None:
    gallery.keyboard.press("?")
    expect(gallery.get_by_role("menu", name="Help")).to_be_visible()
    gallery.keyboard.press("t")
    is_at(gallery, 0)
    expect(gallery.locator(".tour")).to_be_focused()
    for _ in range(COMPUTE_AT):
        gallery.keyboard.press("Alt+n")
    is_at(gallery, COMPUTE_AT)
    part(gallery, "there")
    expect(row(gallery, "B")).to_be_focused()
    gallery.keyboard.press("Enter")
    gallery.locator(".row[data-offer]").first.wait_for()
    gallery.keyboard.press("ArrowDown")
    expect(row(gallery, "io")).to_be_focused()
    gallery.keyboard.press("Enter")
    expect(gallery.locator(".tour-result")).to_be_visible()
    assert steps(gallery)[-1].strip() == "sch.compute_at(B, io)"
    for n in range(SET_SCOPE, len(STEPS)):
        gallery.keyboard.press("Alt+n")
        is_at(gallery, n)
        do = gallery.locator('.tour [data-part="do"]')
        if STEPS[n].calls:
            do.press("Enter")
            expect(gallery.locator(".tour-result")).to_be_visible()
            expect(gallery.locator('.tour [data-part="next"]')).to_be_focused()
    # Another notebook ends it.
    part(gallery, "example")
    expect(gallery.locator(".tour")).to_be_hidden()
    expect(gallery.locator(".headline .title")).to_contain_text("what moves what")
    expect(gallery.locator(".tour-ring")).to_have_count(0)
    # And again, from the top bar.
    gallery.locator(".headline [data-help]").focus()
    gallery.keyboard.press("Enter")
    gallery.keyboard.press("t")
    is_at(gallery, 0)
    expect(gallery.locator(".tour")).to_be_focused()
    gallery.keyboard.press("Escape")
    expect(gallery.locator(".tour")).to_be_hidden()


def test_the_reference_has_every_call_with_its_drawing(gallery: Page) -> None:
    gallery.keyboard.press("?")
    gallery.keyboard.press("p")
    dialog = gallery.locator("dialog.reference")
    expect(dialog.locator("[data-call]:not(.is-guide)")).to_have_count(len(PRIMITIVES))
    gallery.keyboard.type("set_scope")
    expect(dialog.locator("[data-call]:not(.is-guide)")).to_have_count(1)
    expect(dialog.locator("article h2")).to_have_text("set_scope")
    expect(dialog.locator("article figure").nth(1)).to_contain_text('scope="local"')
    gallery.keyboard.press("Escape")
    gallery.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.slow
def test_the_rewrite_of_a_menu_entry_is_drawn_beside_it(
    gallery: Page,
) -> None:
    gallery.locator('[data-example="place_the_copies"]').click()
    row(gallery, "A_local.vtcm").hover()
    gallery.get_by_label("Actions of A_local.vtcm", exact=True).click()
    item = gallery.get_by_role("menuitem", name="Double buffer")
    item.hover()
    card = gallery.locator(".prim-card")
    expect(card).to_be_visible()
    expect(card).to_contain_text("Double-buffer the output of a block")
    expect(card).to_contain_text("double_buffer_scope")
    described = item.get_attribute("aria-describedby")
    assert described is not None and card.get_attribute("id") in described.split()
    gallery.keyboard.press("?")
    expect(card).to_be_hidden()
    gallery.keyboard.press("?")
    expect(card).to_be_visible()
    gallery.keyboard.press("Escape")
    expect(gallery.get_by_role("menu")).to_have_count(0)
