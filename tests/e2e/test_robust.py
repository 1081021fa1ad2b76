"""Robustness: no lost edits, no page changed by another tab, no server stopped by a bad message or a huge program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect
from support.browser.cell_editor import cell_editor
from support.browser.page import drag, figure, go_to_example, go_to_gallery, number, steps

Shoot = Callable[[Page, str], Path]

HUGE = """\
# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def huge(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096, 4096), "float32"), C: T.Buffer((4096, 4096), "float32")):
    for m, n, k in T.grid(4096, 4096, 4096):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            with T.init():
                C[vm, vn] = T.float32(0)
            C[vm, vn] = C[vm, vn] + A[vm, vk] * B[vk, vn]


# %% schedule
sch = tilewright.Schedule(huge)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 16], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 16], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, 16], names=["ko", "ki"])
sch.reorder(mo, no, ko, mi, ni, ki)
AL = sch.cache_read(C, 0, "local.vtcm")
BL = sch.cache_read(C, 1, "local.vtcm")
CL = sch.cache_write(C, 0, "local.acc")
sch.compute_at(AL, ko)
sch.compute_at(BL, ko)
sch.reverse_compute_at(CL, no)
"""

GARBAGE: tuple[Any, ...] = (
    None,
    [],
    7,
    "undo",
    {},
    {"kind": None},
    {"kind": ["move"]},
    {"kind": "nonsense"},
    {"kind": "move"},
    {"kind": "move", "block": 1, "loop": None, "primitive": "compute_at"},
    {"kind": "move", "block": "A", "loop": "B", "primitive": "__class__"},
    {"kind": "call", "method": "copy", "target": "ko", "arguments": {}},
    {"kind": "call", "method": "split", "target": "ko", "arguments": {"factors": {"a": []}}},
    {"kind": "call", "method": "split", "target": {}, "arguments": 3},
    {"kind": "reorder", "loops": "ko"},
    {"kind": "reorder", "loops": [[]]},
    {"kind": "view", "count": float("inf")},
    {"kind": "view", "count": {"a": 1}},
    {"kind": "remove_item", "item": -1e30},
    {"kind": "edit", "cell": 99, "body": None},
    {"kind": "machine", "name": '../../etc/passwd")'},
    {"kind": "open", "name": []},
    {"kind": "fix", "calls": ["sch.copy()", "import os", 3]},
    {"kind": "fix", "calls": 3},
    {"kind": "theme"},
    {"kind": "targets", "block": ["x"]},
    {"kind": "select", "id": {"a": "b"}},
)


def opened(page: Page, url: str, example: str = "place_the_copies") -> Page:
    go_to_example(page, url, example)
    return page


@pytest.mark.slow
def test_each_tab_has_its_own_notebook(page: Page, app_url: str) -> None:
    one, two = opened(page, app_url), opened(page.context.new_page(), app_url)
    count = len(steps(one))
    drag(one, "A_local.vtcm", "ko")
    expect(one.locator(".step")).to_have_count(count + 1)
    two.get_by_label("Dark theme").locator("visible=true").click()
    expect(two.locator("html")).to_have_attribute("data-theme", "dark")
    assert len(steps(two)) == count
    expect(one.locator("html")).to_have_attribute("data-theme", "light")
    drag(two, "B_local.vtcm", "mo")
    expect(two.locator(".step")).to_have_count(count + 1)
    assert (steps(one)[-1], steps(two)[-1]) == ("sch.compute_at(AL, ko)", "sch.compute_at(BL, mo)")
    two.close()


@pytest.mark.slow
def test_leaving_asks_only_for_an_unfinished_cell(page: Page, app_url: str) -> None:
    dialogs: list[str] = []

    def answer(dialog: Dialog) -> None:
        dialogs.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", answer)
    opened(page, app_url)
    count = len(steps(page))
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step")).to_have_count(count + 1)
    page.locator(".cell.workload").hover()
    page.get_by_label("Edit the workload cell").click()
    cell_editor(page).press("End")
    page.keyboard.type("x")
    page.evaluate("location.reload()")
    page.wait_for_timeout(500)
    assert dialogs == ["beforeunload"]
    page.get_by_role("button", name="Cancel").click()
    # The server keeps edits, so no dialog appears.
    page.wait_for_function("() => window.dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    with page.expect_download() as download:
        page.get_by_label("Save the notebook (Ctrl+S)").click()
    assert "sch.compute_at(AL, ko)" in Path(download.value.path()).read_text()
    page.get_by_role("button", name="Gallery").click()
    page.locator(".card[data-example]").first.wait_for()
    assert dialogs == ["beforeunload"]
    page.remove_listener("dialog", answer)


ROOT = 'Bokeh.documents[0].roots().find((model) => typeof model.esm === "string")'

SEND = f"""garbage => {{
    const root = {ROOT};
    const names = Object.keys(root.data.mounted);
    const send = (data) => root.trigger_event(new window.TheirEvent(data));
    garbage.forEach(send);
    names.forEach((name, n) => {{
        for (const message of n ? [garbage[n % garbage.length]] : garbage) send({{ name, message }});
    }});
    return names.length;
}}"""

LEARN = f"""() => {{
    {ROOT}.trigger_event = function (event) {{
        window.TheirEvent = event.constructor;
        return Object.getPrototypeOf(this).trigger_event.call(this, event);
    }};
}}"""
"""The event class of the components is not exported: it is captured from a sent event."""


@pytest.mark.slow
def test_malformed_messages_change_nothing(page: Page, app_url: str) -> None:
    """Sent through the components' own channel, as any script in the browser could."""
    opened(page, app_url)
    before, cycles = steps(page), figure(page, "Cycles")
    page.evaluate(LEARN)
    page.get_by_role("tab", name="Python").click()
    page.get_by_role("tab", name="TVMScript").click()
    page.wait_for_function("window.TheirEvent !== undefined")
    assert page.evaluate(SEND, list(GARBAGE)) >= 10
    expect(page.locator(".page-notice .notice")).to_be_visible()
    assert (steps(page), figure(page, "Cycles")) == (before, cycles)
    page.get_by_label("Close").locator("visible=true").click()
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step")).to_have_count(len(before) + 1)


@pytest.mark.slow
def test_a_huge_program_is_simulated_while_others_are_served(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot
) -> None:
    other = opened(open_page(), app_url)
    count = len(steps(other))
    huge = open_page()
    go_to_gallery(huge, app_url)
    huge.get_by_label("A TVMScript program or a notebook").fill(HUGE)
    huge.get_by_role("button", name="Open").click()
    drag(other, "A_local.vtcm", "ko")
    expect(other.locator(".step")).to_have_count(count + 1, timeout=10_000)
    huge.get_by_role("treeitem").first.wait_for()
    expect(huge.locator("#area-timeline")).to_contain_text("Tasks 50\u202f397\u202f184", timeout=30_000)
    assert number(huge, "Cycles") > 256**3, "each of the tiles is counted"
    expect(huge.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=30_000)
    shoot(huge, "huge")
    # One step separates a program within the limit from one beyond it.
    other.get_by_label("Undo (Ctrl+Z)").click()
    expect(other.locator(".step")).to_have_count(count)


@pytest.mark.slow
def test_all_areas_of_a_small_window_can_be_scrolled_to(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot
) -> None:
    """The viewport of a small screen at 200 %."""
    page = opened(open_page(width=640, height=400), app_url)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for area in ("headline", "tree", "timeline", "panes", "notebook", "inspector"):
        page.locator(f"#area-{area}").scroll_into_view_if_needed()
        expect(page.locator(f"#area-{area}")).to_be_in_viewport()
    shoot(page, "small")
    count = len(steps(page))
    page.locator("#area-tree").scroll_into_view_if_needed()
    drag(page, "A_local.vtcm", "mo")
    expect(page.locator(".step")).to_have_count(count + 1)
