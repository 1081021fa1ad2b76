"""The notebook's cells with the real mouse and keyboard: typed text updates the tree, errors are shown at their place."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from support.browser.cell_editor import cell_editor, edited_text, put_caret, rewrite
from support.browser.page import drag, go_to_example, open_small, row, steps, until

WAIT = 15_000


def edit(page: Page, kind: str) -> Locator:
    """The editor of the first cell of a kind."""
    page.locator(f".cell.{kind}").first.hover()
    page.locator(f".cell.{kind}").first.get_by_label(f"Edit the {kind} cell").click()
    return cell_editor(page)


def nest(page: Page) -> list[list[str]]:
    """The rows of the tree with their depths, without asynchronous badges."""
    script = "rows => rows.map((row) => [row.dataset.id, row.ariaLevel])"
    return page.get_by_role("treeitem").evaluate_all(script)


def test_typed_cells_update_the_tree_and_show_errors(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "what_moves_what")
    before, count = nest(page), len(steps(page))
    area = edit(page, "schedule")
    put_caret(area, 'names=["io", "ii"])')
    page.keyboard.type("\nsch.unroll(ii")
    assert "sch.unroll(ii)" in edited_text(area), "the bracket is closed by itself"
    expect(row(page, "ii")).to_contain_text("unrolled", timeout=WAIT)
    page.keyboard.press("Control+Enter")
    expect(cell_editor(page)).to_have_count(0)
    expect(page.locator(".step code")).to_have_count(count + 1)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.locator(".step code")).to_have_count(count, timeout=WAIT)
    expect(page.get_by_label("Undo (Ctrl+Z)")).to_be_disabled()
    until(page, lambda: nest(page) == before)
    expect(row(page, "ii")).not_to_contain_text("unrolled")

    area = edit(page, "workload")
    put_caret(area, "vi, vj = T.axis.remap(")
    page.keyboard.type("]")
    expect(page.locator(".editor-problems .inline-problem")).to_be_visible(timeout=WAIT)
    expect(page.locator(".cm-lintRange-error")).not_to_have_count(0)
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(page.locator(".banner.is-stale")).to_contain_text("the last valid program")
    assert nest(page) == before
    # A click elsewhere commits it: it stays in the text, with the error at its line.
    page.locator(".timeline-head, .headline").first.click()
    expect(page.locator(".cell.workload .cell-pre .inline-problem")).to_contain_text(
        re.compile(r"line \d+:\d+"), timeout=WAIT
    )
    expect(page.locator(".cell.workload .squiggle")).to_be_visible()
    assert nest(page) == before
    page.get_by_role("button", name="Undo the edit").click()
    expect(page.locator(".inline-problem")).to_have_count(0, timeout=WAIT)
    expect(page.locator(".banner")).to_have_count(0)

    area = edit(page, "machine")
    rewrite(area, "")
    page.keyboard.type("f(a")
    assert edited_text(area) == "f(a)"
    page.keyboard.type(")\nif x:\ny")
    assert edited_text(area) == "f(a)\nif x:\n    y"
    for key, text in (
        ("Shift+Tab", "f(a)\nif x:\ny"),
        ("Tab", "f(a)\nif x:\ny   "),
        ("Control+a", "f(a)\nif x:\ny   "),
        ("Tab", "    f(a)\n    if x:\n    y   "),
        ("Shift+Tab", "f(a)\nif x:\ny   "),
        ("Control+/", "# f(a)\n# if x:\n# y   "),
        ("Control+/", "f(a)\nif x:\ny   "),
        ("Control+Home", "f(a)\nif x:\ny   "),
        ("Alt+ArrowDown", "if x:\nf(a)\ny   "),
        ("Control+z", "f(a)\nif x:\ny   "),
    ):
        page.keyboard.press(key)
        assert edited_text(area) == text, key
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".cm-matchingBracket")).to_have_count(2)
    expect(page.locator(".cm-lineNumbers .cm-gutterElement:visible")).to_have_text(["1", "2", "3"])
    page.keyboard.press("Escape")
    expect(cell_editor(page)).to_have_count(0)
    expect(page.locator(".cell.machine pre")).to_contain_text("tilewright.machine(")


@pytest.mark.slow
def test_cells_are_added_edited_moved_and_removed(page: Page, app_url: str) -> None:
    open_small(page, app_url, "vtcm_double_buffer")
    cells = page.locator(".cell")
    count = cells.count()
    page.locator(".cell.machine").hover()
    page.locator(".cell.machine").get_by_label("Add a cell here").click()
    page.get_by_role("menuitem", name="Text").click()
    expect(cell_editor(page)).to_be_focused()
    page.keyboard.type("# Mine\n\nSome **bold** words, <img src=x onerror=alert(1)> and [a link](https://example.org).")
    page.keyboard.press("Control+Enter")
    cell = page.locator(".cell.markdown").filter(has=page.get_by_role("heading", name="Mine"))
    expect(cell.locator("b")).to_have_text("bold", timeout=WAIT)
    expect(cell.locator("a")).to_have_attribute("rel", "noopener noreferrer")
    assert cell.locator("img").count() == 0 and "<img" in cell.inner_text()
    expect(cells).to_have_count(count + 1)
    index = int(cell.get_attribute("data-cell") or "")
    cell.hover()
    cell.get_by_label("More for the markdown cell").click()
    page.get_by_role("menuitem", name="Move down").click()
    expect(cell).to_have_attribute("data-cell", str(index + 1), timeout=WAIT)
    page.locator(".cell.schedule").last.hover()
    page.locator(".cell.schedule").last.get_by_label("More for the schedule cell").click()
    page.get_by_role("menuitem", name="Remove").click()
    expect(cells).to_have_count(count, timeout=WAIT)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(cells).to_have_count(count + 1, timeout=WAIT)
    cell.hover()
    cell.get_by_label("More for the markdown cell").click()
    page.keyboard.press("r")
    expect(cells).to_have_count(count, timeout=WAIT)

    # A step is dropped into an empty schedule cell, and moved out and in by keys.
    before = steps(page)
    last = page.locator(".cell.schedule").last
    last.hover()
    last.get_by_label("More for the schedule cell").click()
    page.get_by_role("menuitem", name="Add a cell below").click()
    page.get_by_role("menuitem", name="Schedule").click()
    cell_editor(page).press("Escape")
    empty = page.locator(".no-steps")
    expect(empty).to_be_visible()
    step = page.locator(".step").last
    step.scroll_into_view_if_needed()
    from_, to = step.bounding_box(), empty.bounding_box()
    assert from_ is not None and to is not None
    page.mouse.move(from_["x"] + 60, from_["y"] + 9)
    page.mouse.down()
    page.mouse.move(to["x"] + 60, to["y"] + 10, steps=6)
    expect(empty).to_have_class(re.compile("is-target"))
    page.mouse.up()
    expect(last.locator(".step code")).to_have_text([before[-1]])
    assert steps(page) == before
    page.locator(".step-text").last.press("Alt+ArrowUp")
    expect(empty).to_be_visible()
    expect(page.locator(".step-text").nth(-2)).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator(".step-text").last).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(last.locator(".step code")).to_have_text([before[-1]])


@pytest.mark.slow
def test_a_draft_is_shown_discarded_and_fixed(page: Page, app_url: str) -> None:
    open_small(page, app_url, "vtcm_double_buffer")
    drag(page, "A_local.vtcm", "mi")
    expect(page.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(1, timeout=WAIT)
    area = edit(page, "workload")
    put_caret(area, 'sblock("C', select=1)
    page.keyboard.type("D")
    # The tree follows the typed text, as far as the steps apply: get_block("C") no longer does.
    expect(page.locator(".banner.is-stale")).to_be_visible(timeout=WAIT)
    expect(row(page, "C")).to_be_visible()
    area.press("Escape")
    expect(page.locator(".banner")).to_have_count(0, timeout=WAIT)
    assert "sch.compute_at(AL, mi)" in steps(page)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.get_by_label("Undo (Ctrl+Z)")).to_be_disabled()

    area = edit(page, "machine")
    put_caret(area, '"dual-bank-np')
    page.keyboard.press("Delete")
    page.get_by_role("button", name="Write dual-bank-npu").click(timeout=WAIT)  # the nearest
    expect(page.locator(".inline-problem")).to_have_count(0, timeout=WAIT)
    assert '"dual-bank-npu"' in edited_text(area)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Undo (Ctrl+Z)")).to_be_disabled()


def test_a_step_is_commented_with_a_key(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    page.locator(".step .step-text").nth(3).focus()
    page.keyboard.press("#")
    page.get_by_label("Comment of the step").last.fill("Tiles of 16\nin one bank")
    page.keyboard.press("Enter")
    note = page.locator("button.note-line")
    expect(note).to_have_text("Tiles of 16\nin one bank")
    page.keyboard.press("Control+z")
    expect(note).to_have_count(0)
    page.keyboard.press("Control+Shift+Z")
    note.click()
    expect(page.get_by_label("Comment of the step").last).to_have_value("Tiles of 16\nin one bank")
    page.get_by_role("button", name="Cancel").click()


class SlowConnection:
    """The messages of the server to a page, delayed while the connection is held."""

    def __init__(self, page: Page) -> None:
        self.is_held = False
        self._waiting: list[str | bytes] = []
        page.route_web_socket("**/ws*", self._connect)

    def _connect(self, page: WebSocketRoute) -> None:
        self._page = page
        page.connect_to_server().on_message(lambda m: self._waiting.append(m) if self.is_held else page.send(m))

    def release(self) -> None:
        self.is_held = False
        for message in self._waiting:
            self._page.send(message)


@pytest.mark.slow
def test_keys_typed_while_the_editor_loads_reach_it(own_page: Page, app_url: str) -> None:
    page, connection = own_page, SlowConnection(own_page)
    go_to_example(page, app_url, "what_moves_what")
    before = steps(page)
    connection.is_held = True
    page.locator(".step-text").first.focus()
    page.keyboard.press("F2")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.type("b = sch.get_blockX")
    page.keyboard.press("Backspace")
    page.keyboard.press("Escape")
    assert steps(page) == before, "no key reaches the row"
    page.locator(".cell.machine .cell-code").dblclick()
    page.keyboard.press("Control+A")
    page.keyboard.type("if x:\ny = 1ab")
    page.keyboard.press("Backspace")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("2")
    expect(cell_editor(page)).to_have_count(0)
    connection.release()
    expect(cell_editor(page)).to_be_focused()
    assert edited_text(cell_editor(page)) == "if x:\ny = 12a"
    page.keyboard.type("3")
    assert edited_text(cell_editor(page)) == "if x:\ny = 123a"
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(cell_editor(page)).to_contain_text("tilewright.machine(")
    page.keyboard.press("Escape")
    expect(cell_editor(page)).to_have_count(0)
    assert steps(page) == before
