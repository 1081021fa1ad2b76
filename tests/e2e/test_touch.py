"""Touch: pinch and pan on the timeline, rows of the tree held and dragged to a loop. Touches use the browser's own protocol."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import CDPSession, Page, expect
from support.browser.page import in_real_time, open_small, point_in, row, steps

Point = tuple[float, float]


class Hand:
    """Fingers on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._session: CDPSession = page.context.new_cdp_session(page)

    def _send(self, kind: str, *points: Point) -> None:
        touches = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def down(self, *points: Point) -> None:
        """Fingers one after the other."""
        for count in range(1, len(points) + 1):
            self._send("touchStart", *points[:count])

    def move(self, *ways: tuple[Point, Point], parts: int = 6) -> None:
        """Each finger from one point to another, all at once."""
        for n in range(1, parts + 1):
            self._send(
                "touchMove", *((a[0] + (b[0] - a[0]) * n / parts, a[1] + (b[1] - a[1]) * n / parts) for a, b in ways)
            )

    def up(self) -> None:
        self._send("touchEnd")

    def tap(self, point: Point) -> None:
        self.down(point)
        self.up()


def name_of(page: Page, block: str) -> Point:
    """The middle of a row's name."""
    name = row(page, block).locator(".loop-name, .block-name")
    name.scroll_into_view_if_needed()
    box = name.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def sight(page: Page) -> tuple[int, int]:
    sliders = [page.get_by_role("slider", name=f"{end} of visible range") for end in ("Start", "End")]
    start, end = (int(slider.get_attribute("aria-valuenow") or 0) for slider in sliders)
    return start, end


@pytest.mark.slow
def test_touch_zooms_taps_scrolls_holds_and_drops(open_page: Callable[..., Page], app_url: str) -> None:
    page = open_page(has_touch=True)
    page.emulate_media(reduced_motion="reduce")  # sliding rows are not yet at their final position
    open_small(page, app_url, "vtcm_double_buffer")
    in_real_time(page)
    page.get_by_role("slider", name="Start of visible range").wait_for()
    hand, before = Hand(page), steps(page)
    grabbed = page.locator(".tw-tree.is-grabbing .row[data-offer]").first
    moved_line = page.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")

    # A tap selects, a quick move scrolls.
    hand.tap(name_of(page, "ko"))
    expect(row(page, "ko")).to_have_attribute("aria-selected", "true")
    nest = page.locator(".tw-tree .list")
    point = name_of(page, "C")
    nest.evaluate("e => { e.scrollTop = 0; }")
    hand.down(point)
    hand.move((point, (point[0], point[1] - 120)))
    hand.up()
    expect(page.locator(".tw-tree.is-grabbing")).to_have_count(0)
    assert nest.evaluate("e => e.scrollTop") > 0

    # A finger held on a row grabs it: it is dropped at the release, or on the loop that is tapped next.
    from_, to = point_in(page, "A_local.vtcm"), point_in(page, "mi")
    hand.down(from_)
    expect(grabbed).to_be_visible()
    hand.move((from_, to))
    expect(row(page, "mi")).to_have_class("row row-loop is-over")
    hand.up()
    expect(moved_line).to_have_count(1)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.locator(".step code")).to_have_text(before)
    hand.down(point_in(page, "A_local.vtcm"))
    expect(grabbed).to_be_visible()
    hand.up()
    expect(page.locator(".tw-tree.is-grabbing")).to_have_count(1)
    hand.tap(point_in(page, "mi"))
    expect(moved_line).to_have_count(1)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.locator(".step code")).to_have_text(before)
    # The grip drags at once.
    grip = row(page, "A_local.vtcm").locator(".grip").bounding_box()
    assert grip is not None
    from_ = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    hand.down(from_)
    hand.move((from_, point_in(page, "mi")))
    hand.up()
    expect(moved_line).to_have_count(1)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.locator(".step code")).to_have_text(before)

    # Two fingers zoom the timeline, one pans it.
    start, end = sight(page)
    canvas = page.locator(".stage canvas").first.bounding_box()
    assert canvas is not None
    y, middle = canvas["y"] + 30, canvas["x"] + canvas["width"] * 0.6
    hand.down((middle - 20, y), (middle + 20, y))
    hand.move(((middle - 20, y), (middle - 120, y)), ((middle + 20, y), (middle + 120, y)))
    hand.up()
    first = page.get_by_role("slider", name="Start of visible range")
    expect(first).not_to_have_attribute("aria-valuenow", str(start))
    nearer = sight(page)
    assert (nearer[1] - nearer[0]) == pytest.approx((end - start) / 6, rel=0.05)

    hand.down((middle, y))
    hand.move(((middle, y), (middle + 100, y)))
    hand.up()
    expect(first).not_to_have_attribute("aria-valuenow", str(nearer[0]))
    moved = sight(page)
    assert moved[0] < nearer[0] and moved[1] - moved[0] == pytest.approx(nearer[1] - nearer[0], abs=2)

    hand.down((middle - 120, y), (middle + 120, y))
    hand.move(((middle - 120, y), (middle - 30, y)), ((middle + 120, y), (middle + 30, y)))
    hand.up()
    expect(first).not_to_have_attribute("aria-valuenow", str(moved[0]))
    assert sight(page)[1] - sight(page)[0] > 2 * (moved[1] - moved[0])
