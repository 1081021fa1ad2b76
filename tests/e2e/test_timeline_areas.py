"""Areas of the timeline with their totals, by mouse and by keyboard, and bookmarks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example

LONG = 30_000
"""Milliseconds that a busy machine may take."""


@pytest.fixture
def page(open_page: Callable[..., Page], app_url: str) -> Page:
    page = open_page()
    go_to_example(page, app_url, "vtcm_double_buffer")
    page.locator(".plot").wait_for()
    return page


def totals(page: Page) -> Locator:
    return page.get_by_role("region", name="Totals of the selected area")


def test_given_a_drag_with_shift_then_the_area_has_totals_until_escape(page: Page) -> None:
    box = page.locator("canvas.plot").bounding_box()
    assert box is not None
    y = box["y"] + 20
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 300, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 420, y, steps=6)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(totals(page)).to_be_visible(timeout=LONG)
    expect(totals(page).get_by_role("row", name="dma")).to_contain_text("%")
    expect(totals(page)).to_contain_text("Stalled: operand")
    expect(totals(page).get_by_role("columnheader", name="Bytes")).to_be_visible()
    expect(totals(page)).to_contain_text("KiB")
    assert_no_violations(page, "#area-timeline")
    page.get_by_role("slider", name="Playhead").focus()
    page.keyboard.press("Escape")
    expect(totals(page)).to_be_hidden()


def test_given_brackets_then_the_area_of_the_whole_run_has_the_figures_of_the_report(page: Page) -> None:
    playhead = page.get_by_role("slider", name="Playhead")
    playhead.focus()
    page.keyboard.press("Home")
    page.keyboard.press("[")
    expect(totals(page)).to_contain_text("Cycles 0 to 203 064: 203 064", timeout=LONG)
    page.keyboard.press("t")
    engines = page.locator(".table-view table", has_text="Engines over").get_by_role("row", name="dma")
    busy = engines.locator("td").nth(1).inner_text()
    expect(totals(page).get_by_role("row", name="dma").locator("td").nth(1)).to_have_text(busy)
    totals(page).get_by_role("button", name="Close").click()
    expect(totals(page)).to_be_hidden()


def test_given_bookmarks_then_keys_go_from_one_to_the_next_and_a_reload_keeps_them(page: Page) -> None:
    playhead = page.get_by_role("slider", name="Playhead")
    playhead.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    first, last = "6092", "203063"  # three hundredths of the run, and its end
    expect(playhead).to_have_attribute("aria-valuenow", first)
    page.keyboard.press("m")
    page.keyboard.press("End")
    expect(playhead).to_have_attribute("aria-valuenow", last)
    page.keyboard.press("m")
    page.keyboard.press("b")  # around the end
    expect(playhead).to_have_attribute("aria-valuenow", first)
    page.keyboard.press("Shift+B")
    expect(playhead).to_have_attribute("aria-valuenow", last)
    page.keyboard.press("m")  # removed
    page.reload()
    page.get_by_role("treeitem").first.wait_for()
    playhead.focus()
    page.keyboard.press("b")
    expect(playhead).to_have_attribute("aria-valuenow", first)
    page.keyboard.press("b")
    expect(playhead).to_have_attribute("aria-valuenow", first)


def pin(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=f"Pin {name}", exact=True)


def test_given_a_pinned_row_then_it_stays_at_the_top_while_the_others_scroll_and_is_kept_for_the_notebook(
    page: Page, shoot: Callable[[Page, str], object]
) -> None:
    small = "(stage) => { stage.style.maxHeight = '110px'; }"
    page.locator(".stage").evaluate(small)
    pin(page, "vtcm[0]").click()
    expect(pin(page, "vtcm[0]")).to_have_attribute("aria-pressed", "true")
    expect(pin(page, "dma")).to_have_attribute("aria-pressed", "false")
    page.locator(".stage").evaluate("(stage) => { stage.scrollTop = 40; }")
    expect(page.locator(".pinned-plot")).to_be_visible()
    stage, row = page.locator(".stage").bounding_box(), pin(page, "vtcm[0]").bounding_box()
    assert stage is not None and row is not None
    assert 0 <= row["y"] - stage["y"] < 30
    tip = page.locator(".timeline-tip")
    for _ in range(50):  # until the window of the run has arrived
        page.mouse.move(row["x"] + 390, row["y"] + 0.75 * row["height"])
        page.mouse.move(row["x"] + 400, row["y"] + 0.75 * row["height"])
        page.wait_for_timeout(100)
        if tip.is_visible():
            break
    expect(tip).to_contain_text("vtcm[0]")
    shoot(page, "timeline-pinned")
    page.reload()
    page.locator(".plot").wait_for()
    expect(pin(page, "vtcm[0]")).to_have_attribute("aria-pressed", "true", timeout=LONG)
    pin(page, "vtcm[0]").click()
    expect(pin(page, "vtcm[0]")).to_have_attribute("aria-pressed", "false")


def test_given_the_keyboard_then_p_goes_to_the_rows_arrows_choose_one_and_enter_pins_it(page: Page) -> None:
    page.get_by_role("slider", name="Playhead").focus()
    page.keyboard.press("p")
    expect(pin(page, "dma")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(pin(page, "matrix")).to_be_focused()
    page.keyboard.press("Enter")
    expect(pin(page, "matrix")).to_have_attribute("aria-pressed", "true")
    expect(pin(page, "matrix")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="matrix pinned")).to_have_count(1)
    first, second = pin(page, "matrix").bounding_box(), pin(page, "dma").bounding_box()
    assert first is not None and second is not None and first["y"] < second["y"]
    assert_no_violations(page, "#area-timeline")
    page.keyboard.press("Escape")
    expect(page.get_by_role("slider", name="Playhead")).to_be_focused()
