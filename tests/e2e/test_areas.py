"""The areas of the notebook's screen: F6 goes round them, and each can be enlarged."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from support.browser.page import open_small, until


def area_of_focus(page: Page) -> str:
    return page.evaluate("() => document.activeElement?.closest('.area')?.id ?? ''")


def test_an_area_is_reached_and_enlarged_with_a_key(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    found = []
    for _ in range(6):
        page.keyboard.press("F6")
        found.append(area_of_focus(page).removeprefix("area-"))
    assert found == ["tree", "inspector", "timeline", "panes", "notebook", "tree"]
    root, timeline = page.locator("html"), page.locator("#area-timeline")
    page.keyboard.press("Alt+Enter")
    expect(root).to_have_attribute("data-large", "tree")
    expect(timeline).to_be_hidden()
    page.keyboard.press("Escape")
    expect(timeline).to_be_visible()
    timeline.hover()
    page.get_by_role("button", name="Enlarge: timeline").click()
    expect(page.locator("#area-tree")).to_be_hidden()
    box = timeline.bounding_box()
    assert box is not None and box["height"] > 600 and box["width"] > 900
    page.get_by_role("button", name="Restore the screen").click()
    expect(page.locator("#area-tree")).to_be_visible()


def test_the_palette_goes_to_an_area(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    page.keyboard.press("Control+Shift+P")
    page.get_by_role("textbox", name="Find any action").or_(page.get_by_role("searchbox")).first.fill("Go to: time")
    page.keyboard.press("Enter")
    until(page, lambda: area_of_focus(page) == "area-timeline")


def test_the_next_notebook_begins_with_the_whole_screen(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    page.keyboard.press("Alt+Enter")
    expect(page.locator("html")).to_have_attribute("data-large", "tree")
    page.locator("#screen-notebook").get_by_label("Gallery", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-screen", "gallery")
    expect(page.locator("html")).not_to_have_attribute("data-large", "tree")
