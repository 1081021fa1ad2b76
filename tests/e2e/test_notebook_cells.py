"""The notebook's cells with the real mouse and keyboard: text typed moves the picture, what is wrong is said at its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from support.browser.cell_editor import cell_editor, edited_text, put_caret, rewrite
from support.browser.page import drag, go_to_example, open_example, row, steps, tree_text

WAIT = 15_000


@pytest.fixture
def app(page: Page, app_url: str) -> Iterator[Page]:
    page.goto(app_url)
    page.locator(".card[data-example]").first.wait_for()
    yield page


def edit(page: Page, kind: str) -> Locator:
    """The editor of the first cell of a kind."""
    page.locator(f".cell.{kind}").first.hover()
    page.locator(f".cell.{kind}").first.get_by_label(f"Edit the {kind} cell").click()
    return cell_editor(page)


def test_given_a_drag_then_its_step_is_readable_and_code_that_is_typed_moves_the_tree(app: Page) -> None:
    open_example(app, "vtcm_double_buffer")
    drag(app, "A_local.vtcm", "mi")
    expect(app.locator(".step code").filter(has_text="sch.compute_at(AL, mi)")).to_have_count(1, timeout=WAIT)
    area = edit(app, "workload")
    put_caret(area, "vm, vn, vk = T.axis.remap")
    expect(row(app, "C")).to_be_visible()
    put_caret(area, 'sblock("C', select=1)
    app.keyboard.type("D")
    # While it is typed the picture follows, as far as the steps apply: get_block("C") does not any more.
    expect(app.locator(".banner.is-stale")).to_be_visible(timeout=WAIT)
    expect(row(app, "C")).to_be_visible()
    area.press("Escape")
    expect(app.locator(".banner")).to_have_count(0, timeout=WAIT)
    assert "sch.compute_at(AL, mi)" in steps(app)


def test_given_a_schedule_cell_when_typed_into_then_the_tree_follows_and_one_undo_takes_it_back(app: Page) -> None:
    open_example(app, "what_moves_what")
    before, count = tree_text(app), len(steps(app))
    area = edit(app, "schedule")
    put_caret(area, 'names=["io", "ii"])')
    app.keyboard.type("\nsch.unroll(ii")
    assert "sch.unroll(ii)" in edited_text(area), "the bracket is closed by itself"
    expect(row(app, "ii")).to_contain_text("unrolled", timeout=WAIT)
    app.keyboard.press("Control+Enter")
    expect(cell_editor(app)).to_have_count(0)
    expect(app.locator(".step code")).to_have_count(count + 1)
    app.get_by_label("Undo (Ctrl+Z)").click()
    expect(app.locator(".step code")).to_have_count(count, timeout=WAIT)
    expect(app.get_by_label("Undo (Ctrl+Z)")).to_be_disabled()
    assert tree_text(app) == before


def test_given_a_syntax_error_then_it_is_underlined_at_line_and_column_and_the_last_good_picture_stays(
    app: Page, shoot: Callable[[Page, str], object]
) -> None:
    open_example(app, "what_moves_what")
    before = tree_text(app)
    area = edit(app, "workload")
    put_caret(area, "vi, vj = T.axis.remap(")
    app.keyboard.type("]")
    problem = app.locator(".editor-problems .inline-problem")
    expect(problem).to_be_visible(timeout=WAIT)
    expect(app.locator(".cm-lintRange-error")).not_to_have_count(0)
    expect(app.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(app.locator(".banner.is-stale")).to_contain_text("the last valid program")
    assert tree_text(app) == before
    shoot(app, "notebook-syntax-error")
    # A click elsewhere means that it is meant: it stays in the text, said at its line.
    app.locator(".timeline-head, .headline").first.click()
    expect(app.locator(".cell.workload .cell-pre .inline-problem")).to_contain_text(
        re.compile(r"line \d+:\d+"), timeout=WAIT
    )
    expect(app.locator(".cell.workload .squiggle")).to_be_visible()
    assert tree_text(app) == before
    app.get_by_role("button", name="Undo the edit").click()
    expect(app.locator(".inline-problem")).to_have_count(0, timeout=WAIT)
    expect(app.locator(".banner")).to_have_count(0)


def test_given_a_machine_that_is_misspelt_then_one_press_writes_the_nearest(app: Page) -> None:
    open_example(app, "vtcm_double_buffer")
    area = edit(app, "machine")
    put_caret(area, '"dual-bank-np')
    app.keyboard.press("Delete")
    mend = app.get_by_role("button", name="Write dual-bank-npu")
    expect(mend).to_be_visible(timeout=WAIT)
    mend.click()
    expect(app.locator(".inline-problem")).to_have_count(0, timeout=WAIT)
    assert '"dual-bank-npu"' in edited_text(area)
    app.keyboard.press("Control+Enter")
    expect(app.get_by_label("Undo (Ctrl+Z)")).to_be_disabled()


def test_given_the_editor_then_tab_brackets_comments_and_undo_work_as_in_an_editor(app: Page) -> None:
    open_example(app, "what_moves_what")
    area = edit(app, "machine")
    rewrite(area, "")
    app.keyboard.type("f(a")
    assert edited_text(area) == "f(a)"
    app.keyboard.type(")\nif x:\ny")
    assert edited_text(area) == "f(a)\nif x:\n    y"
    app.keyboard.press("Shift+Tab")
    assert edited_text(area) == "f(a)\nif x:\ny"
    app.keyboard.press("Tab")
    assert edited_text(area) == "f(a)\nif x:\ny   "
    app.keyboard.press("Control+a")
    app.keyboard.press("Tab")
    assert edited_text(area) == "    f(a)\n    if x:\n    y   "
    app.keyboard.press("Shift+Tab")
    app.keyboard.press("Control+/")
    assert edited_text(area) == "# f(a)\n# if x:\n# y   "
    app.keyboard.press("Control+/")
    app.keyboard.press("Control+Home")
    app.keyboard.press("Alt+ArrowDown")
    assert edited_text(area) == "if x:\nf(a)\ny   "
    app.keyboard.press("Control+z")
    assert edited_text(area) == "f(a)\nif x:\ny   "
    app.keyboard.press("Control+Home")
    app.keyboard.press("ArrowRight")
    expect(app.locator(".cm-matchingBracket")).to_have_count(2)
    expect(app.locator(".cm-lineNumbers .cm-gutterElement:visible")).to_have_text(["1", "2", "3"])
    app.keyboard.press("Escape")
    expect(cell_editor(app)).to_have_count(0)
    expect(app.locator(".cell.machine pre")).to_contain_text("tilewright.machine(")


class SlowConnection:
    """The messages of the server to a page, which wait while the connection is held."""

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


def test_given_an_editor_that_loads_slowly_then_the_keys_typed_meanwhile_land_in_it(
    own_page: Page, app_url: str
) -> None:
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


def test_given_cells_then_they_are_added_written_moved_and_removed(app: Page) -> None:
    open_example(app, "what_moves_what")
    count = app.locator(".cell").count()
    app.locator(".cell.machine").hover()
    app.locator(".cell.machine").get_by_label("Add a cell here").click()
    app.get_by_role("menuitem", name="Text").click()
    area = cell_editor(app)
    expect(area).to_be_focused()
    app.keyboard.type("# Mine\n\nSome **bold** words, <img src=x onerror=alert(1)> and [a link](https://example.org).")
    app.keyboard.press("Control+Enter")
    cell = app.locator(".cell.markdown").filter(has=app.get_by_role("heading", name="Mine"))
    expect(cell.locator("b")).to_have_text("bold", timeout=WAIT)
    expect(cell.locator("a")).to_have_attribute("rel", "noopener noreferrer")
    assert cell.locator("img").count() == 0 and "<img" in cell.inner_text()
    expect(app.locator(".cell")).to_have_count(count + 1)
    index = int(cell.get_attribute("data-cell") or "")
    cell.hover()
    cell.get_by_label("More for the markdown cell").click()
    app.get_by_role("menuitem", name="Move down").click()
    expect(cell).to_have_attribute("data-cell", str(index + 1), timeout=WAIT)
    # What Python could not run is not done, and said.
    app.locator(".cell.schedule").first.hover()
    app.locator(".cell.schedule").first.get_by_label("More for the schedule cell").click()
    app.get_by_role("menuitem", name="Remove").click()
    expect(app.locator(".cell")).to_have_count(count, timeout=WAIT)
    app.get_by_label("Undo (Ctrl+Z)").click()
    expect(app.locator(".cell")).to_have_count(count + 1, timeout=WAIT)
    cell.hover()
    cell.get_by_label("More for the markdown cell").click()
    app.keyboard.press("r")
    expect(app.locator(".cell")).to_have_count(count, timeout=WAIT)


def test_given_an_empty_schedule_cell_then_a_step_is_dropped_into_it_and_goes_out_and_in_by_keys(app: Page) -> None:
    open_example(app, "vtcm_double_buffer")
    before = steps(app)
    last = app.locator(".cell.schedule").last
    last.hover()
    last.get_by_label("More for the schedule cell").click()
    app.get_by_role("menuitem", name="Add a cell below").click()
    app.get_by_role("menuitem", name="Schedule").click()
    cell_editor(app).press("Escape")
    empty = app.locator(".no-steps")
    expect(empty).to_be_visible()
    step = app.locator(".step").last
    step.scroll_into_view_if_needed()
    from_, to = step.bounding_box(), empty.bounding_box()
    assert from_ is not None and to is not None
    app.mouse.move(from_["x"] + 60, from_["y"] + 9)
    app.mouse.down()
    app.mouse.move(to["x"] + 60, to["y"] + 10, steps=6)
    expect(empty).to_have_class(re.compile("is-target"))
    app.mouse.up()
    expect(app.locator(".cell.schedule").last.locator(".step code")).to_have_text([before[-1]])
    assert steps(app) == before

    app.locator(".step-text").last.press("Alt+ArrowUp")
    expect(empty).to_be_visible()
    expect(app.locator(".step-text").nth(-2)).to_be_focused()
    app.keyboard.press("Alt+ArrowDown")
    expect(app.locator(".step-text").last).to_be_focused()
    app.keyboard.press("Alt+ArrowDown")
    expect(app.locator(".cell.schedule").last.locator(".step code")).to_have_text([before[-1]])
