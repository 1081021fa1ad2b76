"""Every view at every window size: no text is cut, covered, or drawn over another one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import drag, go_to_example, go_to_gallery, open_example, open_text
from support.browser.sizes import FONTS, FRAMES, SIZES, set_fonts, wrong_texts

PANES = ("next", "script", "python", "problems", "machine", "traffic", "explore")
SCROLLS = (
    "() => [document.documentElement.scrollWidth > innerWidth, document.documentElement.scrollHeight > innerHeight]"
)


@pytest.mark.slow
def test_all_texts_of_the_gallery_are_legible(page: Page, app_url: str) -> None:
    go_to_gallery(page, app_url)
    assert not wrong_texts(page, "gallery")


@pytest.mark.parametrize("sizes", [[(1280, 800)], pytest.param(SIZES, marks=pytest.mark.slow)], ids=["one", "all"])
def test_all_texts_of_a_notebook_are_legible(page: Page, app_url: str, sizes: list[tuple[int, int]]) -> None:
    found: list[str] = []

    def check(view: str) -> None:
        page.evaluate(FRAMES)
        found.extend(wrong_texts(page, view, sizes))

    go_to_example(page, app_url, "vtcm_double_buffer")
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=30_000)
    assert page.evaluate(SCROLLS) == [False, False]
    for pane in PANES if len(sizes) > 1 else PANES[:1]:
        page.locator(f'[data-pane-tab="{pane}"]').click()
        check(pane)
    page.locator(".row-block").first.click(position={"x": 120, "y": 9})
    expect(page.locator(".inspector h2").first).to_be_visible()
    check("block")
    page.locator('.row-block [data-act="buffer"]').last.click()
    expect(page.locator(".layout-picker .layout-card").first).to_be_visible(timeout=30_000)
    check("layout picker")
    if len(sizes) > 1:
        page.get_by_role("button", name="Enlarge: inspector").click()
        check("enlarged layout picker")
        page.get_by_role("button", name="Restore the screen").click()
    page.locator(".other-forms").click()
    page.get_by_role("menuitem", name="Python for TVM 0.23 or older", exact=True).click()
    expect(page.get_by_role("dialog", name="What the export leaves out")).to_be_visible()
    check("export review")
    page.keyboard.press("Escape")
    if len(sizes) == 1:
        assert not found, "\n".join(dict.fromkeys(found))
        return
    page.locator(".step .step-text").nth(2).click()
    expect(page.locator(".banner, .banner-tools").first).to_be_visible()
    check("history")
    page.get_by_role("button", name="A/B comparison").click()
    expect(page.locator("#area-compare .ab-line").first).to_be_visible()
    check("comparison")
    assert not found, "\n".join(dict.fromkeys(found))


@pytest.mark.parametrize("fonts", [pytest.param(n, marks=[] if n == "DejaVu" else pytest.mark.slow) for n in FONTS])
def test_all_texts_of_the_first_drop_are_legible(page: Page, app_url: str, fonts: str) -> None:
    go_to_example(page, app_url, "place_the_copies")
    page.set_viewport_size({"width": 1280, "height": 720})
    if not set_fonts(page, fonts):
        pytest.skip(f"no {fonts} here")
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator('[data-figure="Cycles"] .change')).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Export", exact=True).click(trial=True)
    tabs = {page.get_by_role("tab", name=name).bounding_box()["y"] for name in ("Next", "Explore")}  # type: ignore[index]
    assert len(tabs) == 1
    found = wrong_texts(page, fonts, SIZES if fonts != "DejaVu" else [(1280, 720)])
    assert not found, "\n".join(dict.fromkeys(found))


@pytest.mark.slow
@pytest.mark.parametrize("fonts", FONTS)
def test_all_texts_of_the_other_screens_are_legible(own_page: Page, app_url: str, fonts: str) -> None:
    page = own_page
    sizes = [(1000, 700), (1280, 720)]
    go_to_gallery(page, app_url)
    if not set_fonts(page, fonts):
        pytest.skip(f"no {fonts} here")
    found = wrong_texts(page, f"gallery in {fonts}", sizes)
    open_example(page, "vtcm_double_buffer")
    page.locator('[data-pane-tab="next"]').click()
    expect(page.locator(".next-limit")).to_contain_text("less", timeout=30_000)
    found += wrong_texts(page, f"next in {fonts}", sizes)
    page.locator('[data-pane-tab="script"]').click()
    page.locator("#screen-notebook").get_by_label("Gallery", exact=True).click()
    page.locator('[data-example^="resnet18_blocks"]').click()
    page.locator(".graph-node.is-call").first.wait_for()
    expect(page.locator(".status.is-pending")).to_have_count(0, timeout=60_000)
    found += wrong_texts(page, f"model in {fonts}", sizes)
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


@pytest.mark.slow
def test_all_texts_of_a_deep_nest_are_legible(page: Page, app_url: str) -> None:
    open_text(page, app_url, CONVOLUTION)
    page.locator('[data-pane-tab="problems"]').click()
    expect(page.locator("#pane-problems")).to_contain_text("convolution", timeout=30_000)
    found = wrong_texts(page, "convolution")
    assert not found, "\n".join(dict.fromkeys(found))


@pytest.mark.slow
def test_texts_of_a_finished_search_are_legible(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "explore_tiles")
    page.locator('[data-pane-tab="explore"]').click()
    page.get_by_role("button", name="Start").click()
    page.locator("[data-status=ended]").wait_for(timeout=120_000)
    page.get_by_role("row").nth(1).click()
    page.evaluate(FRAMES)
    found = wrong_texts(page, "explore")
    assert not found, "\n".join(dict.fromkeys(found))


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
