"""Previews of the tree and the timeline after a hovered drop, drawn over both while their rows and lanes do not move."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.page import grab, open_small, point_in, row

LONG = 30_000
"""Milliseconds on a busy machine."""

MEASURE = """
() => {
  const roots = (node, found = []) => {
    found.push(node);
    for (const inner of node.querySelectorAll("*")) if (inner.shadowRoot) roots(inner.shadowRoot, found);
    return found;
  };
  const places = {};
  for (const root of roots(document))
    for (const element of root.querySelectorAll('[role="treeitem"], .plot-holder, .playhead, .overview, .list'))
      places[element.dataset.id ?? element.className] = Object.values(element.getBoundingClientRect().toJSON()).map(Math.round);
  return places;
}
"""


def appearing(page: Page) -> Locator:
    return page.locator(".after-drop-row")


def note(page: Page) -> Locator:
    return page.locator(".drop-note")


def plot(page: Page) -> str:
    """The pixels of the timeline."""
    return page.locator("canvas.plot").evaluate("(canvas) => canvas.toDataURL()")


@pytest.mark.slow
def test_a_drag_previews_the_tree_and_timeline_after_the_drop(page: Page, app_url: str) -> None:
    open_small(page, app_url, "vtcm_double_buffer")
    page.locator(".plot").wait_for()
    row(page, "B_local.vtcm").focus()
    page.keyboard.press("Enter")
    page.locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()
    places = page.evaluate(MEASURE)
    row(page, "mi").focus()
    expect(appearing(page)).to_have_text(["+ax016", "+ax116", "→B_local.vtcm"], timeout=LONG)
    expect(note(page)).to_contain_text("After the drop", timeout=LONG)
    assert page.evaluate(MEASURE) == places
    page.keyboard.press("Escape")
    expect(appearing(page)).to_have_count(0)
    expect(note(page)).to_be_hidden()

    page.mouse.move(*point_in(page, "A_local.vtcm"))
    before = plot(page)
    grab(page, "A_local.vtcm")
    places = page.evaluate(MEASURE)
    page.mouse.move(*point_in(page, "mi"), steps=5)
    expect(appearing(page)).to_have_text(["+ax016", "→A_local.vtcm"], timeout=LONG)
    expect(note(page)).to_have_text("After the drop: 401 864 cycles, now 36 808", timeout=LONG)
    assert page.evaluate(MEASURE) == places
    assert plot(page) != before
    line, target = page.locator(".after-drop-line").bounding_box(), row(page, "mi").bounding_box()
    assert line is not None
    assert target is not None
    assert abs(line["y"] - target["y"] - target["height"]) <= 1, "the line is below the row that the block goes under"
    leaving = page.locator(".row.is-leaving").evaluate_all("(rows) => rows.map((row) => row.dataset.id)")
    assert leaving == ["ax0", "ax1", "A_local.vtcm"]

    page.mouse.move(*point_in(page, "ki"), steps=3)
    expect(note(page)).not_to_contain_text("401 864", timeout=LONG)
    expect(note(page)).to_be_visible(timeout=LONG)
    page.mouse.move(5, 5, steps=3)  # outside of the tree
    expect(appearing(page)).to_have_count(0)
    expect(note(page)).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".is-leaving")).to_have_count(0)
    assert page.evaluate(MEASURE) == places
    page.mouse.up()

    grab(page, "A_local.vtcm")
    page.mouse.move(*point_in(page, "mi"), steps=5)
    expect(appearing(page)).to_have_count(2, timeout=LONG)
    page.mouse.up()
    expect(page.locator('[data-figure="Cycles"] b')).to_have_text("401 864", timeout=LONG)
    expect(appearing(page)).to_have_count(0)
    expect(note(page)).to_be_hidden()
    ids = page.get_by_role("treeitem").evaluate_all("(rows) => rows.map((row) => row.dataset.id)")
    at = ids.index("mi")
    assert ids[at + 1].startswith("ax0")
    assert ids[at + 2] == "A_local.vtcm"
