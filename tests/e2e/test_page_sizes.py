"""Every screen at every window size: no text is cut, covered, or drawn over another one, and no control is outside of the window."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import go_to_example, go_to_gallery
from support.browser.screens import SCREENS
from support.browser.sizes import FONTS, FRAMES, SIZES, set_fonts, wrong_texts


def walk(page: Page, url: str, screen: str, fonts: Iterable[str], sizes: list[tuple[int, int]]) -> list[str]:
    """The findings of all views of a screen."""
    found: list[str] = []
    for view in SCREENS[screen](page, url):
        page.evaluate(FRAMES)
        for name in fonts:
            if set_fonts(page, name):
                found += wrong_texts(page, f"{screen}, {view} in {name}", sizes)
        set_fonts(page, "DejaVu")
    return list(dict.fromkeys(found))


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS)
def test_all_texts_and_controls_are_in_sight(own_page: Page, app_url: str, screen: str) -> None:
    found = walk(own_page, app_url, screen, FONTS, list(SIZES))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("screen", ["start", "menus", "problems"])
def test_all_texts_and_controls_of_the_first_screens_are_in_sight(own_page: Page, app_url: str, screen: str) -> None:
    found = walk(own_page, app_url, screen, ["DejaVu"], [(1280, 720)])
    assert not found, "\n".join(found)


def test_the_first_drop_leaves_all_in_sight(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    for view in SCREENS["first drop"](page, app_url):
        tabs = [page.get_by_role("tab", name=name).bounding_box() for name in ("Next", "Explore")]
        assert len({box["y"] for box in tabs if box is not None}) == 1
        set_fonts(page, "DejaVu")
        found = wrong_texts(page, view, [(1280, 720)])
        assert not found, "\n".join(found)


@pytest.mark.slow
def test_theme_search_and_scroll_position_are_kept(page: Page, app_url: str) -> None:
    go_to_gallery(page, app_url)
    root, gallery = page.locator("html"), page.locator(".gallery")
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-theme", "light")
    page.set_viewport_size({"width": 1100, "height": 540})
    gallery.evaluate("(view) => { view.scrollTop = 300; }")
    page.wait_for_timeout(100)
    page.locator('[data-example="box_blur"]').dispatch_event("click")
    page.get_by_role("treeitem").first.wait_for()
    page.get_by_role("button", name="Gallery").click()
    expect(gallery).to_be_visible()
    page.evaluate(FRAMES)
    assert gallery.evaluate("(view) => view.scrollTop") == 300
    page.get_by_label("Dark theme").locator("visible=true").click()
    page.get_by_label("Find an example").fill("blur")
    page.reload()
    expect(page.get_by_label("Find an example")).to_have_value("blur")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_label("Light theme").locator("visible=true").click()
    page.get_by_label("Find an example").fill("")


@pytest.mark.slow
def test_no_tooltip_covers_the_inspector(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "place_the_copies")
    block = page.locator(".row-block").first
    block.hover(position={"x": 120, "y": 9})
    expect(page.locator(".tip")).to_be_visible()
    tip, inspector = page.locator(".tip").bounding_box(), page.locator("#area-inspector").bounding_box()
    assert tip is not None and inspector is not None and tip["x"] + tip["width"] <= inspector["x"]
    block.click(position={"x": 120, "y": 9})
    page.wait_for_timeout(800)
    expect(page.locator(".tip")).to_have_count(0)
