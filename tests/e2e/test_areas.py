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


def test_every_area_fills_the_screen_and_returns(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    page.get_by_role("tab", name="TVMScript").click()
    for name, left in (("tree", 300), ("inspector", 300), ("timeline", 300), ("panes", 0), ("notebook", 0)):
        area = page.locator(f"#area-{name}")
        before = area.bounding_box()
        while area_of_focus(page) != f"area-{name}":
            page.keyboard.press("F6")
        page.keyboard.press("Alt+Enter")
        expect(page.locator("html")).to_have_attribute("data-large", name)
        large = area.bounding_box()
        assert large is not None and large["x"] + large["width"] > 1270 and large["height"] > 600, name
        assert large["x"] <= left + 60, name
        page.keyboard.press("Alt+Enter")
        until(page, lambda area=area, before=before: area.bounding_box() == before)
    # The code takes the place of the notebook, other panes do not.
    page.get_by_role("tab", name="Machine").click()
    page.keyboard.press("Alt+Enter")
    expect(page.locator("#area-notebook")).to_be_visible()
    panes = page.locator("#area-panes").bounding_box()
    assert panes is not None and panes["x"] > 250
    page.keyboard.press("Escape")


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
