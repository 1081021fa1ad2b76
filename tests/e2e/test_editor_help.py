"""Help while a schedule line is typed: the parameters of the call, and completion of names, by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from support.browser.cell_editor import cell_editor, edited_text
from support.browser.page import open_small


@pytest.mark.slow
def test_calls_have_signatures_and_names_are_completed(page: Page, app_url: str) -> None:
    open_small(page, app_url, "vtcm_double_buffer")
    cell = page.locator(".cell.schedule").first
    cell.hover()
    cell.get_by_label("Edit the schedule cell").click()
    editor = cell_editor(page)
    editor.press("Control+End")
    offers, sign = page.get_by_role("listbox", name="Completions"), page.locator(".signature")
    page.keyboard.type("\nsch.spl")
    expect(offers.get_by_role("option")).to_contain_text(["split"])
    page.keyboard.press("Tab")
    expect(sign).to_contain_text("split(loop, factors, preserve_unit_iters=True")
    expect(sign).to_contain_text("Split a loop into a nest")
    expect(sign.locator(".is-meant")).to_have_text("loop")
    assert edited_text(editor).endswith("\nsch.split()")

    page.keyboard.type("k")
    expect(offers.get_by_role("option")).to_contain_text(["ko", "ki"])
    page.keyboard.press("ArrowDown")
    expect(offers.get_by_role("option", selected=True)).to_contain_text("ki")
    page.keyboard.press("Enter")
    page.keyboard.type(", [None, 4], na")
    expect(sign.locator(".is-meant")).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.type('["p", "q"]')
    assert edited_text(editor).endswith('\nsch.split(ki, [None, 4], names=["p", "q"])')
    expect(page.locator('.row[data-id="q"]')).to_be_visible()

    # Escape closes the list before the editor, and Enter is a new line without a selection.
    editor.press("Control+End")
    page.keyboard.type("\nsch.unro")
    expect(offers).to_be_visible()
    page.keyboard.press("Escape")
    expect(offers).to_have_count(0)
    expect(editor).to_be_focused()
    page.keyboard.type("l")
    expect(offers).to_be_visible()
    page.keyboard.press("Enter")
    assert edited_text(editor).endswith("sch.unrol\n")
    page.keyboard.type("sch.set_scope(AL, 0, ")
    page.keyboard.type('"')
    expect(offers.get_by_role("option")).to_contain_text([re.compile(r"local\.")])
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(editor).to_have_count(0)

    expect(page.locator('.row[data-id="q"]')).to_have_count(0)

    # In the editor of one step the list opens by a key.
    page.locator(".step-text", has_text="double_buffer(BL)").press("F2")
    editor.press("End")
    for _ in range(3):
        editor.press("ArrowLeft")
    page.keyboard.press("Control+ ")
    expect(offers.get_by_role("option").first).to_contain_text("C")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(editor).to_have_count(0)
