"""Areas of the timeline with their totals, bookmarks and pinned rows, by mouse and by keyboard; a reload keeps all settings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import drag, in_real_time, open_example, open_small

LONG = 30_000
"""Milliseconds on a busy machine."""


@pytest.fixture
def app(page: Page, app_url: str) -> Page:
    open_small(page, app_url, "vtcm_double_buffer")
    page.locator(".plot").wait_for()
    return page


def playhead(page: Page) -> Locator:
    return page.get_by_role("slider", name="Playhead")


def totals(page: Page) -> Locator:
    return page.get_by_role("region", name="Totals of the selected area")


def pin(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=f"Pin {name}", exact=True)


def drag_area(page: Page) -> None:
    """An area, by a drag with Shift."""
    box = page.locator("canvas.plot").bounding_box()
    assert box is not None
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 300, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 420, box["y"] + 20, steps=6)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(totals(page)).to_be_visible(timeout=LONG)


@pytest.mark.slow
def test_areas_have_totals(app: Page) -> None:
    drag_area(app)
    expect(totals(app).get_by_role("row", name="dma")).to_contain_text("%")
    expect(totals(app)).to_contain_text("Stalled: operand")
    expect(totals(app).get_by_role("columnheader", name="Bytes")).to_be_visible()
    expect(totals(app)).to_contain_text("KiB")
    playhead(app).focus()
    app.keyboard.press("Escape")
    expect(totals(app)).to_be_hidden()

    app.keyboard.press("Home")
    app.keyboard.press("[")
    expect(totals(app)).to_contain_text("Cycles 0 to 36 808: 36 808", timeout=LONG)
    app.keyboard.press("t")
    engines = app.locator(".table-view table", has_text="Engines over").get_by_role("row", name="dma")
    busy = engines.locator("td").nth(1).inner_text()
    expect(totals(app).get_by_role("row", name="dma").locator("td").nth(1)).to_have_text(busy)
    totals(app).get_by_role("button", name="Close").click()
    expect(totals(app)).to_be_hidden()
    playhead(app).focus()
    app.keyboard.press("t")
    expect(app.locator(".table-view")).to_be_hidden()


def test_an_area_stays_after_an_edit_and_goes_with_its_program(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    playhead(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("[")
    expect(totals(page)).to_be_visible(timeout=LONG)
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator('[data-figure="Cycles"] .change')).to_be_visible(timeout=LONG)
    expect(totals(page)).to_be_visible()
    page.locator("#screen-notebook").get_by_label("Gallery", exact=True).click()
    open_example(page, "box_blur")
    expect(totals(page)).to_be_hidden()


@pytest.mark.slow
def test_bookmarks_pins_and_folding_survive_a_reload(app: Page) -> None:
    in_real_time(app)
    playhead(app).focus()
    app.keyboard.press("Home")
    for _ in range(3):
        app.keyboard.press("ArrowRight")
    first, last = "1104", "36807"  # three hundredths of the run, and its end
    expect(playhead(app)).to_have_attribute("aria-valuenow", first)
    app.keyboard.press("m")
    app.keyboard.press("End")
    expect(playhead(app)).to_have_attribute("aria-valuenow", last)
    app.keyboard.press("m")
    app.keyboard.press("b")  # around the end
    expect(playhead(app)).to_have_attribute("aria-valuenow", first)
    app.keyboard.press("Shift+B")
    expect(playhead(app)).to_have_attribute("aria-valuenow", last)
    app.keyboard.press("m")  # removed

    app.keyboard.press("p")
    expect(pin(app, "dma")).to_be_focused()
    app.keyboard.press("ArrowDown")
    expect(pin(app, "matrix")).to_be_focused()
    app.keyboard.press("Enter")
    expect(pin(app, "matrix")).to_have_attribute("aria-pressed", "true")
    expect(pin(app, "matrix")).to_be_focused()
    expect(app.get_by_role("status").filter(has_text="matrix pinned")).to_have_count(1)
    top, below = pin(app, "matrix").bounding_box(), pin(app, "dma").bounding_box()
    assert top is not None and below is not None and top["y"] < below["y"]
    app.keyboard.press("Enter")
    app.keyboard.press("Escape")
    expect(playhead(app)).to_be_focused()

    # A pinned row stays at the top while the others scroll.
    app.locator(".stage").evaluate("(stage) => { stage.style.maxHeight = '110px'; }")
    pin(app, "vtcm[0]").click()
    expect(pin(app, "vtcm[0]")).to_have_attribute("aria-pressed", "true")
    expect(pin(app, "dma")).to_have_attribute("aria-pressed", "false")
    app.locator(".stage").evaluate("(stage) => { stage.scrollTop = 40; }")
    expect(app.locator(".pinned-plot")).to_be_visible()
    stage, row = app.locator(".stage").bounding_box(), pin(app, "vtcm[0]").bounding_box()
    assert stage is not None and row is not None
    assert 0 <= row["y"] - stage["y"] < 30
    tip = app.locator(".timeline-tip")
    for _ in range(50):  # until the window of the run has arrived
        app.mouse.move(row["x"] + 390, row["y"] + 0.75 * row["height"])
        app.mouse.move(row["x"] + 400, row["y"] + 0.75 * row["height"])
        app.wait_for_timeout(100)
        if tip.is_visible():
            break
    expect(tip).to_contain_text("vtcm[0]")
    app.get_by_role("button", name="Fold repeats").click()

    app.reload()
    app.get_by_role("treeitem").first.wait_for()
    expect(pin(app, "vtcm[0]")).to_have_attribute("aria-pressed", "true", timeout=LONG)
    expect(app.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "true")
    playhead(app).focus()
    for _ in range(2):
        app.keyboard.press("b")
        expect(playhead(app)).to_have_attribute("aria-valuenow", first)


@pytest.mark.slow
def test_areas_and_pins_are_accessible(app: Page, shoot: Callable[[Page, str], object]) -> None:
    drag_area(app)
    pin(app, "matrix").click()
    shoot(app, "timeline-pinned")
    assert_no_violations(app, "#area-timeline")
