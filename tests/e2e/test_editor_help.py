"""Help while a schedule line is typed: the parameters of the call, names that could stand there, all by the keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.cell_editor import cell_editor, edited_text


@pytest.fixture
def editor(page: Page, app_url: str) -> Locator:
    """The first schedule cell of the double buffer, open in an editor, the caret at its end."""
    page.goto(f"{app_url}/example/vtcm_double_buffer")
    page.get_by_role("treeitem").first.wait_for()
    cell = page.locator(".cell.schedule").first
    cell.hover()
    cell.get_by_label("Edit the schedule cell").click()
    area = cell_editor(page)
    area.press("Control+End")
    return area


def test_given_a_call_that_is_typed_then_its_parameters_are_shown_and_names_are_completed(
    page: Page, editor: Locator
) -> None:
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
    assert_no_violations(page, "#area-notebook")


def test_given_the_list_then_escape_closes_it_before_the_editor_and_enter_means_what_it_did(
    page: Page, editor: Locator
) -> None:
    offers = page.get_by_role("listbox", name="Completions")
    page.keyboard.type("\nsch.unro")
    expect(offers).to_be_visible()
    page.keyboard.press("Escape")
    expect(offers).to_have_count(0)
    expect(editor).to_be_focused()
    page.keyboard.type("l")
    expect(offers).to_be_visible()
    page.keyboard.press("Enter")
    assert edited_text(editor).endswith("sch.unrol\n"), "nothing was chosen, so it is a new line"
    page.keyboard.type("sch.set_scope(AL, 0, ")
    page.keyboard.type('"')
    expect(offers.get_by_role("option")).to_contain_text([re.compile(r"local\.")])
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(editor).to_have_count(0)


def test_given_the_editor_of_one_step_then_the_list_opens_by_a_key_and_a_name_is_taken(
    page: Page, editor: Locator
) -> None:
    editor.press("Escape")
    page.locator(".step-text", has_text="double_buffer(BL)").press("F2")
    area = cell_editor(page)
    area.press("End")
    for _ in range(3):
        area.press("ArrowLeft")
    page.keyboard.press("Control+ ")
    offers = page.get_by_role("listbox", name="Completions")
    expect(offers.get_by_role("option").first).to_contain_text("C")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(area).to_have_count(0)
