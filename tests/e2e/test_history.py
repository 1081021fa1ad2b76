"""The history of a schedule with the real mouse and keyboard: steps, edits in place, conflicts, branches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.cell_editor import cell_editor, put_caret, rewrite
from support.browser.page import code, figure, open_small, row, steps, tree_text, until

WAIT = 15_000


@pytest.fixture
def app(page: Page, app_url: str) -> Iterator[Page]:
    open_small(page, app_url, "vtcm_double_buffer")
    yield page


def step(page: Page, text: str) -> Locator:
    return page.locator(".step").filter(has=page.locator("code", has_text=text))


def nest(page: Page) -> list[str]:
    """The text of the tree without marks of changes."""
    return [text.replace("→moved", "") for text in tree_text(page)]


def wait_for_nest(page: Page, wanted: list[str]) -> None:
    """Metrics arrive after the rows."""
    with suppress(AssertionError):
        until(page, lambda: nest(page) == wanted, timeout=WAIT)
    assert nest(page) == wanted


def focused(page: Page) -> Locator:
    return page.locator(".step:has(.step-text:focus)")


def test_history_steps_have_keys_and_in_place_editing(app: Page) -> None:
    lines, cycles, now = steps(app), figure(app, "Cycles"), nest(app)
    expect(app.locator(".step .change").last).to_contain_text("%", timeout=30_000)
    step(app, "sch.reverse_compute_at(CL, no)").locator(".step-text").click()
    expect(app.locator(".banner.is-back")).to_contain_text("after step 10 of 14")
    details = app.locator(".step-details")
    expect(details.locator('[data-figure="On-chip peak"]')).to_contain_text("better", timeout=WAIT)
    expect(details.locator('[data-figure="Cycles"]')).to_contain_text("worse")
    expect(details.locator(".step-changes")).to_contain_text("block C_local.acc into loop no")
    expect(row(app, "C_local.acc")).to_contain_text("moved")
    expect(app.locator("#pane-script .code-line.added").first).to_be_visible()
    details.get_by_role("button", name="block C_local.acc into loop no").click()
    expect(row(app, "C_local.acc")).to_have_attribute("aria-selected", "true")
    app.get_by_text("Back to now").click()
    expect(app.locator(".banner")).to_have_count(0, timeout=WAIT)
    wait_for_nest(app, now)

    step(app, "sch.double_buffer(AL)").locator(".step-text").focus()
    app.keyboard.press("Control+/")
    off = app.locator(".step.off")
    expect(off).to_contain_text("sch.double_buffer(AL)", timeout=WAIT)
    expect(app.locator('[data-figure="Cycles"] b')).not_to_have_text(cycles)
    expect(off.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    expect(focused(app)).to_contain_text("sch.double_buffer(AL)")
    app.keyboard.press("Control+/")
    expect(off).to_have_count(0, timeout=WAIT)
    expect(app.locator('[data-figure="Cycles"] b')).to_have_text(cycles)
    expect(focused(app)).to_contain_text("sch.double_buffer(AL)")
    app.keyboard.press("Alt+ArrowDown")
    expect(app.locator(".step code").last).to_have_text("sch.double_buffer(AL)", timeout=WAIT)
    expect(focused(app)).to_contain_text("sch.double_buffer(AL)")
    app.keyboard.press("ArrowUp")
    expect(focused(app)).to_contain_text("sch.double_buffer(BL)")
    app.keyboard.press("Delete")
    expect(app.locator(".step code")).to_have_count(len(lines) - 1, timeout=WAIT)
    for _ in range(4):
        app.get_by_label("Undo (Ctrl+Z)").click()
    expect(app.get_by_label("Undo (Ctrl+Z)")).to_be_disabled(timeout=WAIT)
    assert steps(app) == lines

    step(app, "mo, mi = sch.split").locator(".step-text").focus()
    app.keyboard.press("F2")
    area = cell_editor(app)
    expect(area).to_be_focused()
    put_caret(area, "16", select=2)
    app.keyboard.type("8")
    expect(row(app, "mo")).to_contain_text("8", timeout=WAIT)
    assert len(steps(app)) == len(lines) - 1, "the line that is edited stands in the editor"
    app.keyboard.press("Escape")
    expect(row(app, "mo")).to_contain_text("4", timeout=WAIT)
    wait_for_nest(app, now)
    step(app, "mo, mi = sch.split").locator(".step-text").dblclick()
    rewrite(area, lines[2].replace("16", "8"))
    app.keyboard.press("Enter")
    expect(step(app, "factors=[None, 8]")).to_be_visible(timeout=WAIT)
    expect(row(app, "mo")).to_contain_text("8", timeout=WAIT)
    assert steps(app)[3:] == lines[3:]
    app.get_by_label("Undo (Ctrl+Z)").click()
    wait_for_nest(app, now)
    assert steps(app) == lines


@pytest.mark.slow
def test_conflicts_are_resolved_and_branches_are_kept(app: Page) -> None:
    lines, script = steps(app), code(app, "script")
    target = step(app, "sch.reorder(mo, no")
    target.scroll_into_view_if_needed()
    target.click(button="right")
    app.get_by_role("menuitem", name="Branch from here…").click()
    app.get_by_role("textbox", name="New branch from here").fill("wide tiles")
    app.keyboard.press("Enter")
    branch = app.get_by_label("Branch wide tiles")
    expect(branch).to_contain_text("of 2", timeout=WAIT)
    expect(app.locator(".step code")).to_have_count(6)
    with app.expect_download() as download:
        app.get_by_label("Save").click()
    text = Path(download.value.path()).read_text()
    assert "# %% branch: main\n" in text and "# %% branch (current): wide tiles\n" in text
    assert "# sch.double_buffer(BL)\n" in text
    compile(text, "notebook.py", "exec")
    branch.click()
    app.get_by_role("menuitem", name="main", exact=True).click()
    expect(app.locator(".step code")).to_have_count(len(lines), timeout=WAIT)
    assert steps(app) == lines
    expect(app.locator("#pane-script")).to_contain_text("double_buffer_scope")
    assert code(app, "script") == script
    app.get_by_label("Branch main").click()
    app.get_by_role("menuitem", name="Delete wide tiles").click()
    expect(app.get_by_label("Branch main")).not_to_contain_text("of", timeout=WAIT)

    line, target = step(app, "sch.compute_at(AL, ko)"), step(app, "AL = sch.cache_read")
    target.scroll_into_view_if_needed()
    from_, to = line.bounding_box(), target.bounding_box()
    assert from_ is not None and to is not None
    app.mouse.move(from_["x"] + 80, from_["y"] + 10)
    app.mouse.down()
    app.mouse.move(to["x"] + 80, to["y"] + 4, steps=6)
    expect(app.locator(".drop-line")).to_be_visible()
    app.mouse.up()
    conflict = app.locator(".conflict")
    expect(conflict).to_contain_text("This step no longer applies", timeout=WAIT)
    expect(conflict).to_contain_text("AL = sch.cache_read")
    expect(conflict).to_contain_text("moved")
    expect(app.locator(".banner.is-stopped")).to_be_visible()
    conflict.get_by_role("button", name="Move below AL").click()
    expect(conflict).to_have_count(0, timeout=WAIT)
    expect(app.locator(".banner")).to_have_count(0)
    assert sorted(steps(app)) == sorted(lines)
    # A step with dependents is removed, and restored by one click.
    split = step(app, "ko, ki = sch.split")
    split.hover()
    split.get_by_label("Remove step").click()
    expect(conflict).to_contain_text("ko, ki", timeout=WAIT)
    conflict.get_by_role("button", name="Restore ko, ki").click()
    expect(conflict).to_have_count(0, timeout=WAIT)
    assert len(steps(app)) == len(lines)
    split.hover()
    split.get_by_role("switch").click()
    expect(conflict).to_be_visible(timeout=WAIT)
    conflict.get_by_role("button", name="Disable all failing steps").click()
    expect(conflict).to_have_count(0, timeout=WAIT)
    assert app.locator(".step.off").count() > 3
    expect(row(app, "C")).to_be_visible()
