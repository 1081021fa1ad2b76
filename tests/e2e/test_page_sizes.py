"""Every view at every size of window: no text is cut, covered, or drawn over another one."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from support.browser.page import go_to_example
from support.browser.sizes import FRAMES, wrong_texts

PANES = ("next", "script", "python", "problems", "machine", "traffic", "explore")


def test_given_any_size_of_window_then_all_texts_of_the_gallery_can_be_read(page: Page, app_url: str) -> None:
    page.goto(app_url)
    page.locator(".card[data-example]").first.wait_for()
    assert not wrong_texts(page, "gallery")


def test_given_any_size_of_window_then_all_texts_of_a_notebook_can_be_read(page: Page, app_url: str) -> None:
    found: list[str] = []

    def look(view: str) -> None:
        page.evaluate(FRAMES)
        found.extend(wrong_texts(page, view))

    go_to_example(page, app_url, "vtcm_double_buffer")
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=30_000)
    for pane in PANES:
        page.locator(f'[data-pane-tab="{pane}"]').click()
        look(pane)
    page.locator(".row-block").first.click(position={"x": 120, "y": 9})
    expect(page.locator(".inspector h2").first).to_be_visible()
    look("block")
    page.locator('.row-block [data-act="buffer"]').last.click()
    expect(page.locator(".layout-picker .layout-card").first).to_be_visible(timeout=30_000)
    look("layout picker")
    page.get_by_role("button", name="Widen").click()
    look("wide layout picker")
    page.get_by_role("button", name="Narrow").click()
    page.locator(".other-forms").click()
    look("export")
    page.get_by_role("menuitem", name="Python for TVM 0.23 or older", exact=True).click()
    expect(page.get_by_role("dialog", name="What the export leaves out")).to_be_visible()
    look("export review")
    page.keyboard.press("Escape")
    page.locator(".step .step-text").nth(2).click()
    expect(page.locator(".banner, .banner-tools").first).to_be_visible()
    look("history")
    page.get_by_role("button", name="A/B comparison").click()
    expect(page.locator("#area-compare .ab-line").first).to_be_visible()
    look("comparison")
    assert not found, "\n".join(dict.fromkeys(found))


CONVOLUTION = """
@T.prim_func(s_tir=True)
def conv2d(X: T.Buffer((1, 32, 58, 58), "float32"), W: T.Buffer((64, 32, 3, 3), "float32"), Y: T.Buffer((1, 64, 56, 56), "float32")):
    convolution_result = T.sblock_alloc_buffer((1, 64, 56, 56), "float32")
    for n, f, y, x, c, ky, kx in T.grid(1, 64, 56, 56, 32, 3, 3):
        with T.sblock("convolution"):
            vn, vf, vy, vx, vc, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ky, kx])
            with T.init():
                convolution_result[vn, vf, vy, vx] = T.float32(0)
            convolution_result[vn, vf, vy, vx] += X[vn, vc, vy + vky, vx + vkx] * W[vf, vc, vky, vkx]
    for n, f, y, x in T.grid(1, 64, 56, 56):
        with T.sblock("rectified_result"):
            vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
            Y[vn, vf, vy, vx] = T.max(convolution_result[vn, vf, vy, vx], T.float32(0))
"""


def test_given_a_deep_nest_with_long_names_then_all_texts_can_be_read_at_any_size(page: Page, app_url: str) -> None:
    page.goto(app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(CONVOLUTION)
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("treeitem").first.wait_for()
    page.locator('[data-pane-tab="problems"]').click()
    expect(page.locator("#pane-problems")).to_contain_text("convolution", timeout=30_000)
    found = wrong_texts(page, "convolution")
    assert not found, "\n".join(dict.fromkeys(found))


def test_given_a_search_that_has_ended_then_all_texts_can_be_read_at_any_size(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "explore_tiles")
    page.locator('[data-pane-tab="explore"]').click()
    page.get_by_role("button", name="Start").click()
    page.locator("[data-status=ended]").wait_for(timeout=120_000)
    page.get_by_role("row").nth(1).click()
    page.evaluate(FRAMES)
    found = wrong_texts(page, "explore")
    assert not found, "\n".join(dict.fromkeys(found))


def test_given_a_system_that_prefers_dark_then_so_does_the_page_until_another_theme_is_chosen(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = open_page(dark=True)
    page.goto(app_url)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_label("Dark theme").locator("visible=true").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    page.locator(".card[data-example]").first.wait_for()
    expect(root).to_have_attribute("data-theme", "dark")


def test_given_a_gallery_that_was_searched_and_scrolled_then_it_is_so_when_one_returns(
    page: Page, app_url: str
) -> None:
    page.goto(app_url)
    page.locator(".card[data-example]").first.wait_for()
    gallery = page.locator(".gallery")
    page.set_viewport_size({"width": 1100, "height": 540})
    gallery.evaluate("(view) => { view.scrollTop = 300; }")
    page.wait_for_timeout(100)
    page.locator('[data-example="box_blur"]').dispatch_event("click")
    page.get_by_role("treeitem").first.wait_for()
    page.get_by_role("button", name="Gallery").click()
    expect(gallery).to_be_visible()
    page.evaluate(FRAMES)
    assert gallery.evaluate("(view) => view.scrollTop") == 300
    page.get_by_label("Find an example").fill("blur")
    page.reload()
    expect(page.get_by_label("Find an example")).to_have_value("blur")


def test_given_a_row_that_is_clicked_then_no_tooltip_covers_the_inspector(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "vtcm_double_buffer")
    block = page.locator(".row-block").first
    block.hover(position={"x": 120, "y": 9})
    expect(page.locator(".tip")).to_be_visible()
    tip, inspector = page.locator(".tip").bounding_box(), page.locator("#area-inspector").bounding_box()
    assert tip is not None and inspector is not None and tip["x"] + tip["width"] <= inspector["x"]
    block.click(position={"x": 120, "y": 9})
    page.wait_for_timeout(800)
    expect(page.locator(".tip")).to_have_count(0)
