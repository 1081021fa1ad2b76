"""Steps edited at their rows: placed blocks moved again, factors, scopes and slots."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import go_to_example, grab, open_small, point_in, row, steps

LONG = 30_000
"""Milliseconds on a busy machine."""


@pytest.mark.slow
def test_a_block_and_a_factor_edit_their_own_lines(page: Page, app_url: str) -> None:
    open_small(page, app_url, "vtcm_double_buffer")
    before = steps(page)
    grab(page, "A_local.vtcm")
    expect(row(page, "ko")).to_have_attribute("data-offer", "illegal")
    page.mouse.move(*point_in(page, "no"), steps=5)
    expect(row(page, "no").locator(".offer")).to_contain_text("cycles", timeout=LONG)
    page.mouse.up()
    expected = ["sch.compute_at(AL, no)" if text == "sch.compute_at(AL, ko)" else text for text in before]
    expect(page.locator(".step code")).to_have_text(expected, timeout=LONG)
    page.keyboard.press("Control+z")
    expect(page.locator(".step code")).to_have_text(before, timeout=LONG)

    extent = row(page, "ko").locator("button.revise")
    assert extent.inner_text() == "8"
    extent.click()
    form = page.locator(".tw-tree .form")
    chip = form.locator(".chip").filter(has=page.locator("b", has_text=re.compile("^8$")))
    expect(chip.locator(".effect")).to_contain_text("vtcm", timeout=LONG)
    expect(form.locator(".form-effect")).to_contain_text("same cycles", timeout=LONG)
    chip.click()
    form.get_by_role("button", name="Apply").click()
    line = page.locator(".step code").filter(has_text=re.compile(r"= sch\.split\(k, factors=\[None, 8\]"))
    expect(line).to_have_count(1, timeout=LONG)
    expect(row(page, "ko").locator("button.revise")).to_have_text("16")


def test_a_dragged_chip_drags_its_row_and_opens_no_form(page: Page, app_url: str) -> None:
    open_small(page, app_url, "vtcm_double_buffer")
    chip = row(page, "A_local.vtcm").locator("button.revise").first
    chip.hover()
    page.mouse.down()
    page.mouse.move(*point_in(page, "no"), steps=5)
    expect(row(page, "no")).to_have_attribute("data-offer", re.compile("."))
    expect(page.locator(".tw-tree .form")).to_have_count(0)
    page.keyboard.press("Escape")
    page.mouse.up()
    chip.click()
    expect(page.locator(".tw-tree .form")).to_be_visible()


@pytest.mark.slow
def test_slots_and_scope_change_and_disable_failing_steps(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "fused_matmul_relu")
    row(page, "x_local").focus()
    page.keyboard.press("K")
    form = page.locator(".tw-tree .form")
    form.get_by_label("Slots").fill("3")
    page.keyboard.press("Enter")
    slots = page.locator(".step code").filter(has_text="sch.double_buffer(x_local, slots=3)")
    expect(slots).to_have_count(1, timeout=LONG)
    badge = row(page, "x_local").locator("button.tw-badge")
    expect(badge).to_have_text("×3")
    badge.click()
    form.get_by_label("Slots").fill("2")
    page.keyboard.press("Enter")
    expect(badge).to_have_text("×2", timeout=LONG)
    row(page, "x_local").focus()
    page.keyboard.press("G")
    expect(form.get_by_label("Scope")).to_have_value("local")
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)

    # Later steps that no longer apply are named before the drop, and disabled with it.
    grab(page, "x_local")
    page.mouse.move(*point_in(page, "i0"), steps=5)
    tip = page.locator(".tw-tree .tip")
    expect(tip).to_contain_text("a later step no longer applies", timeout=LONG)
    expect(tip).to_contain_text("sch.double_buffer(x_local, slots=2): block 'x_local' fills 'x_local' once")
    page.mouse.up()
    notice = page.locator(".tw-tree .notice")
    expect(notice).to_contain_text("sch.double_buffer(x_local, slots=2)")
    notice.get_by_role("button", name="Move, and switch them off").click()
    expect(page.locator(".step code").filter(has_text="sch.compute_at(x_local, i0)")).to_have_count(1, timeout=LONG)
    expect(notice).to_be_hidden()
