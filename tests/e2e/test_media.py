"""The page in print, in forced colours (Windows high contrast), and with reduced motion."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import drag, go_to_example, until


def opened(page: Page, app_url: str) -> Page:
    go_to_example(page, app_url, "vtcm_double_buffer")
    page.get_by_role("slider", name="Playhead").wait_for()
    return page


COLOURS = """canvas => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let n = 0; n < data.length; n += 4 * 97) {
    const [r, g, b] = [data[n], data[n + 1], data[n + 2]];
    if (Math.max(r, g, b) - Math.min(r, g, b) > 70) found.add([r, g, b].map((c) => c >> 6).join(" "));
  }
  return found.size;
}"""
"""The number of saturated colours of a canvas."""


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures_keep_the_buffer_colours_in_forced_colours(
    open_page: Callable[..., Page], app_url: str, shoot: Callable[[Page, str], Path], dark: bool
) -> None:
    page = opened(open_page(dark=dark), app_url)
    page.emulate_media(forced_colors="active")
    canvas = page.locator(".timeline canvas.plot")
    expect(page.locator(".timeline .stall-swatch").first).to_be_visible()
    until(page, lambda: canvas.evaluate(COLOURS) >= 3)
    text = page.locator(".row .loop-name").first.evaluate("e => getComputedStyle(e).color")
    assert text == ("rgb(255, 255, 255)" if dark else "rgb(0, 0, 0)")
    head = page.locator(".playhead").evaluate("e => getComputedStyle(e, '::before').backgroundColor")
    assert head == text, "the playhead is seen on the system's ground"
    shoot(page, f"forced-colours-{'dark' if dark else 'light'}")


@pytest.mark.slow
def test_print_shows_whole_areas_without_tools(page: Page, app_url: str, shoot: Callable[[Page, str], Path]) -> None:
    opened(page, app_url)
    rows = page.get_by_role("treeitem").count()
    wide = page.locator("#area-timeline").bounding_box()
    page.evaluate("() => void window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})
    for area in ("#area-inspector", ".pane-tabs", "#pane-script", ".gutter >> nth=0", ".headline .tools", ".transport"):
        expect(page.locator(area)).to_be_hidden()
    expect(page.locator(".cell.workload")).to_contain_text("T.axis.remap")  # unfolded, as paper has no buttons
    boxes = [row.bounding_box() for row in page.get_by_role("treeitem").all()]
    assert len(boxes) == rows
    boxes_of = [page.locator(f"#area-{name}").bounding_box() for name in ("tree", "timeline", "panes", "notebook")]
    tree, timeline, findings, cells = (box for box in boxes_of if box is not None)
    assert wide is not None
    for first, second in ((tree, timeline), (timeline, findings), (findings, cells)):
        assert first["y"] + first["height"] <= second["y"] + 1
    assert all(box is not None and box["y"] + box["height"] <= tree["y"] + tree["height"] + 1 for box in boxes)
    assert timeline["width"] <= 700 and timeline["height"] / timeline["width"] == pytest.approx(
        wide["height"] / wide["width"], rel=0.1
    )
    shoot(page, "print")
    page.emulate_media(media="screen")
    page.evaluate("() => void window.dispatchEvent(new Event('afterprint'))")
    page.set_viewport_size({"width": 1280, "height": 720})
    for paper in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper, print_background=True))) <= 4, paper
    expect(page.locator(".cell.workload")).not_to_contain_text("C[vm, vn] + A")


@pytest.mark.slow
def test_reduced_motion_moves_nothing_after_a_drop(page: Page, app_url: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    opened(page, app_url)
    page.evaluate(
        """() => {
          window.moved = [];
          const animate = window.animate = Element.prototype.animate;
          Element.prototype.animate = function (frames, ...rest) {
            if (JSON.stringify(frames).includes("translate")) window.moved.push(this.className);
            return animate.call(this, frames, ...rest);
          };
        }"""
    )
    drag(page, "A_local.vtcm", "mi")
    expect(page.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(1)
    moved = page.evaluate("() => { Element.prototype.animate = window.animate; return window.moved; }")
    assert moved == []
    slow = "() => document.getAnimations().filter((a) => (a.effect.getComputedTiming().duration ?? 0) > 1 && a.transitionProperty).length"
    assert page.evaluate(slow) == 0
