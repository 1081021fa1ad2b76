"""The bars between the panes: dragged, moved by keys, folded; and pages of any size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tilewright.app.views.shell.gallery import load_examples

Open = Callable[..., Page]
Serve = Callable[..., str]


def opened(page: Page, url: str, example: str = "vtcm_double_buffer") -> Page:
    page.goto(f"{url}/example/{example}")
    page.get_by_role("treeitem").first.wait_for()
    return page


def bar(page: Page, name: str) -> Locator:
    return page.get_by_role("separator", name=name, exact=True)


def size(page: Page, area: str) -> tuple[float, float]:
    box = page.locator(f"#area-{area}").bounding_box()
    return (0, 0) if box is None else (round(box["width"]), round(box["height"]))


def test_given_a_bar_when_dragged_then_its_pane_follows_and_the_size_stays(page: Page, app_url: str) -> None:
    opened(page, app_url)
    before = size(page, "notebook")[0]
    box = bar(page, "Notebook").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 63, box["y"] + 60, steps=4)
    page.mouse.up()
    assert size(page, "notebook")[0] == before + 60
    expect(bar(page, "Notebook")).to_have_attribute("aria-valuenow", str(int(before + 60)))
    page.get_by_role("button", name="Gallery").click()
    page.locator(".card[data-example]").first.wait_for()
    page.locator('[data-example="box_blur"]').click()
    page.get_by_role("treeitem").first.wait_for()
    assert size(page, "notebook")[0] == before + 60


def test_given_the_keyboard_then_bars_move_fold_and_come_back(page: Page, app_url: str) -> None:
    opened(page, app_url)
    lower = size(page, "timeline")[1]
    bar(page, "Timeline and code").focus()
    page.keyboard.press("ArrowUp")
    assert size(page, "timeline")[1] == lower + 16
    page.keyboard.press("End")
    assert size(page, "timeline")[1] == 480
    page.keyboard.press("Home")
    assert size(page, "timeline")[1] == 160
    page.keyboard.press("Enter")
    expect(bar(page, "Timeline and code")).to_have_attribute("aria-valuetext", "folded")
    expect(page.locator("#area-timeline")).to_be_hidden()
    assert size(page, "tree")[1] > 600
    page.get_by_role("button", name="Show timeline and code").click()
    expect(page.locator("#area-timeline")).to_be_visible()
    assert size(page, "timeline")[1] == 160
    right = size(page, "inspector")[0]
    bar(page, "Inspector").focus()
    page.keyboard.press("Shift+ArrowLeft")
    assert size(page, "inspector")[0] == right + 64


def test_given_a_pane_pulled_to_nothing_then_it_is_folded_and_a_click_brings_it_back(page: Page, app_url: str) -> None:
    opened(page, app_url)
    before = size(page, "inspector")[0]
    box = bar(page, "Inspector").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(1270, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(page.locator("#area-inspector")).to_be_hidden()
    page.get_by_role("button", name="Show inspector").click()
    expect(page.locator("#area-inspector")).to_be_visible()
    assert size(page, "inspector")[0] == before


def test_given_panes_wider_than_a_small_window_then_the_tree_keeps_room(open_page: Open, app_url: str) -> None:
    page = opened(open_page(width=1920, height=1080), app_url)
    for name in ("Notebook", "Inspector"):
        bar(page, name).focus()
        page.keyboard.press("End")
    page.set_viewport_size({"width": 1100, "height": 700})
    assert size(page, "tree")[0] >= 0.18 * 1100
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_given_1280_pixels_then_nothing_in_the_top_bar_is_cut_off(page: Page, app_url: str) -> None:
    url = app_url
    page.goto(url)
    page.locator(".card[data-example]").first.wait_for()
    for example in (e.name for e in load_examples()):
        page.locator(f'[data-example="{example}"]').click()
        page.get_by_role("treeitem").first.wait_for()
        expect(page.locator('[data-figure="Cycles"] b')).to_be_visible()
        row = page.locator(".headline-row")
        assert row.evaluate("e => e.scrollWidth <= e.clientWidth && e.clientHeight <= 60"), example
        cut = page.locator(".headline .figure, .headline .tool").evaluate_all(
            "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)"
        )
        assert not cut
        # All boxes at one moment: the figures change while the notebook is simulated.
        boxes = page.locator(".headline-row > *").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).filter((b) => b.width).map((b) => [b.left, b.right])"
        )
        assert all(right <= left + 1 for (_, right), (left, _) in pairwise(boxes)), example
        page.get_by_role("button", name="Gallery").click()
        page.locator(".card[data-example]").first.wait_for()


@pytest.mark.parametrize(("width", "height"), [(640, 400), (320, 512)])
def test_given_a_large_zoom_then_everything_is_there_in_one_column(
    open_page: Open, app_url: str, width: int, height: int
) -> None:
    """640x400 is 1280x800 at 200 %; 320 is what WCAG asks for (1.4.10)."""
    url = app_url
    page = open_page(width=width, height=height)
    page.goto(url)
    page.locator(".card[data-example]").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    opened(page, url)
    for area in ("headline", "tree", "timeline", "panes", "notebook", "inspector"):
        place = page.locator(f"#area-{area}")
        place.scroll_into_view_if_needed()
        expect(place).to_be_in_viewport()
        assert size(page, area)[0] <= width
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
