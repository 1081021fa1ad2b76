"""The widgets without Jupyter's page: in a sandboxed frame under a strict policy, with only anywidget's model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect
from support.browser.widget_host import Host

import tilewright
from tilewright import static
from tilewright.app.actions.table import ShowPane
from tilewright.app.components.widget import Widget
from tilewright.engine.schedule import Schedule

EXAMPLE = Path(static.__file__).parent / "examples" / "place_the_copies.py"
BEFORE, AFTER = "183\u202f386", "276\u202f261"
GROUNDS = {"light": "white", "dark": "rgb(30, 30, 30)"}


@pytest.fixture
def schedule() -> Schedule:
    found = tilewright.load(EXAMPLE).schedule
    assert found is not None
    return found.copy()


@pytest.fixture
def host(open_page: Callable[..., Page]) -> Iterator[Callable[..., Host]]:
    """Hosts whose pages load nothing: every request would leave the page."""
    requests: list[str] = []

    def make(theme: str = "light", **page: Any) -> Host:
        opened = open_page(own=True, **page)
        opened.on("request", lambda request: requests.append(request.url))
        return Host(opened, GROUNDS[theme])

    yield make
    assert [address for address in requests if not address.startswith(("blob:", "data:", "about:"))] == []


def row(frame: FrameLocator | Locator, name: str) -> Locator:
    return frame.locator(f'[role="treeitem"][data-id="{name}"]')


def drag(page: Page, source: Locator, target: Locator) -> None:
    start, end = source.bounding_box(), target.bounding_box()
    assert start is not None and end is not None
    page.mouse.move(start["x"] + 60, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(start["x"] + 72, start["y"] + start["height"] / 2 + 12, steps=3)
    page.frame_locator("iframe").locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()
    page.mouse.move(end["x"] + 60, end["y"] + end["height"] / 2, steps=6)
    page.mouse.up()


def test_a_drag_changes_the_schedule_and_a_cell_is_edited(host: Callable[..., Host], schedule: Schedule) -> None:
    shown = host(height=1100)
    tree = tilewright.LoopTree(schedule)
    timeline = tilewright.Timeline(schedule=tree.param.schedule, machine=tree.param.machine)
    shown.show("tree", tree.widget)
    shown.show("timeline", timeline.widget)
    inside = shown.inside
    expect(inside.locator("#timeline")).to_contain_text(BEFORE)
    drag(shown.page, row(inside.locator("#tree"), "A_local.vtcm"), row(inside.locator("#tree"), "ko"))
    expect(inside.locator("#timeline")).to_contain_text(AFTER)
    assert [step.method for step in schedule.trace.steps if step.changes][-1] == "compute_at"
    # A menu opens beside its row, and the view handles keys.
    row(inside, "A_local.vtcm").click(button="right")
    inside.get_by_role("menuitem", name="Double buffer").click()
    expect(row(inside, "A_local.vtcm")).to_contain_text("×2")
    shown.page.keyboard.press("Control+z")
    shown.page.keyboard.press("Control+z")
    expect(inside.locator("#timeline")).to_contain_text(BEFORE)

    # The editor of a cell loads without the network.
    for name in ("tree", "timeline"):
        shown.take(name)
    view = tilewright.ScheduleNotebook(schedule)
    shown.show("cells", Widget(view._page.notebook, height=800))
    cell = shown.inside.locator(".cell.machine")
    cell.hover()
    cell.get_by_label("Edit the machine cell").click()
    expect(shown.inside.locator(".cm-content")).to_be_focused()
    shown.page.keyboard.press("Control+Home")
    shown.page.keyboard.type("# typed")
    expect(shown.inside.locator(".tok-comment").first).to_have_text("# typedimport tilewright")
    shown.page.keyboard.press("Enter")
    shown.page.keyboard.press("Control+Enter")
    expect(cell.locator(".cell-pre")).to_contain_text("# typed")
    assert "# typed\n" in view.text


@pytest.mark.slow
@pytest.mark.parametrize("theme", GROUNDS)
def test_views_follow_the_background_and_leave_no_trace(
    theme: str, host: Callable[..., Host], schedule: Schedule, shoot: Callable[[Page, str], Path]
) -> None:
    shown = host(theme, height=1100)
    views = {
        "tree": tilewright.LoopTree(schedule),
        "layout": tilewright.LayoutPicker(schedule, "A_local.vtcm"),
        "timeline": tilewright.Timeline(schedule),
    }
    for name, view in views.items():
        shown.show(name, view.widget)
    inside = shown.inside
    expect(row(inside, "ko")).to_be_visible()
    expect(inside.locator("#layout canvas, #layout svg").first).to_be_visible()
    expect(inside.locator("#timeline canvas").first).to_be_visible()
    for name in views:
        live = inside.locator(f"#{name} .tw-live")
        assert live.evaluate("live => getComputedStyle(live).colorScheme") == theme
        # The help sheet belongs to the view: it has the view's fonts and colours, not the browser's.
        style = live.evaluate(
            """live => {
              const seen = [...live.shadowRoot.querySelectorAll("button, [role=treeitem]")].find((e) => e.checkVisibility());
              const found = getComputedStyle(seen);
              const [red, green, blue] = found.color.match(/[\\d.]+/g).map(Number);
              return [found.fontFamily, 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "dark" : "light"];
            }"""
        )
        assert "Times" not in style[0] and style[1] == theme, style
    shoot(shown.page, f"widget-host-{theme}")
    for name in views:
        shown.take(name)
    assert inside.locator("body").evaluate("body => body.querySelectorAll('*').length") == 1, "its script"
    assert inside.locator("head style").count() == 0


@pytest.mark.slow
def test_bokeh_comes_from_the_kernel(
    host: Callable[..., Host], schedule: Schedule, shoot: Callable[[Page, str], Path]
) -> None:
    shown = host(height=1100)
    view = tilewright.ScheduleNotebook(schedule)
    view._session.dispatch(ShowPane("traffic"))
    shown.show("traffic", Widget(view._page.traffic, height=900))
    for section in ("traffic-flow", "roofline"):
        expect(shown.inside.locator(f".{section} .bk-Figure canvas").first).to_be_visible()
    shoot(shown.page, "widget-host-traffic")
