"""Steps that change where they are seen: placed blocks moved again, factors, scopes and slots on the rows; predicted effects in menus."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import drag, go_to_example, grab, point_in, row, steps

Shoot = Callable[[Page, str], Path]
LONG = 30_000
"""Milliseconds that a busy machine may take."""


@pytest.fixture
def opened(open_page: Callable[..., Page], app_url: str) -> Callable[..., Page]:
    def make(example: str, **options: object) -> Page:
        page = open_page(**options)
        go_to_example(page, app_url, example)
        return page

    return make


def test_given_a_placed_block_when_dragged_outward_then_its_line_has_the_loop_and_one_undo_returns(
    opened: Callable[..., Page],
) -> None:
    page = opened("vtcm_double_buffer")
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


def test_given_later_steps_that_no_longer_apply_then_the_drop_names_them_and_switches_them_off(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened("fused_matmul_relu")
    grab(page, "x_local")
    page.mouse.move(*point_in(page, "i0"), steps=5)
    tip = page.locator(".tw-tree .tip")
    expect(tip).to_contain_text("a later step no longer applies", timeout=LONG)
    expect(tip).to_contain_text("sch.double_buffer(x_local): block 'x_local' fills 'x_local' once")
    page.mouse.up()
    notice = page.locator(".tw-tree .notice")
    expect(notice).to_contain_text("sch.double_buffer(x_local)")
    shoot(page, "tree-later-steps")
    assert_no_violations(page, "#area-tree")
    notice.get_by_role("button", name="Move, and switch them off").click()
    expect(page.locator(".step code").filter(has_text="sch.compute_at(x_local, i0)")).to_have_count(1, timeout=LONG)
    expect(notice).to_be_hidden()


def test_given_the_extent_of_a_split_loop_when_pressed_then_a_chip_changes_the_factor(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened("vtcm_double_buffer")
    extent = row(page, "ko").locator("button.revise")
    assert extent.inner_text() == "8"
    extent.click()
    form = page.locator(".tw-tree .form")
    chip = form.locator(".chip").filter(has=page.locator("b", has_text=re.compile("^32$")))
    expect(chip.locator(".effect")).to_contain_text("vtcm", timeout=LONG)
    expect(form.locator(".form-effect")).to_contain_text("same cycles", timeout=LONG)
    shoot(page, "tree-change-factors")
    assert_no_violations(page, "#area-tree")
    chip.click()
    form.get_by_role("button", name="Apply").click()
    line = page.locator(".step code").filter(has_text=re.compile(r"= sch\.split\(k, factors=\[None, 32\]"))
    expect(line).to_have_count(1, timeout=LONG)
    expect(row(page, "ko").locator("button.revise")).to_have_text("16")


def test_given_the_keyboard_then_slots_and_scope_change_from_the_menu(opened: Callable[..., Page]) -> None:
    page = opened("fused_matmul_relu")
    row(page, "x_local").focus()
    page.keyboard.press("K")
    form = page.locator(".tw-tree .form")
    form.get_by_label("Slots").fill("3")
    page.keyboard.press("Enter")
    expect(page.locator(".step code").filter(has_text="sch.double_buffer(x_local, slots=3)")).to_have_count(
        1, timeout=LONG
    )
    expect(row(page, "x_local").locator("button.tw-badge")).to_have_text("×3")
    row(page, "x_local").locator("button.tw-badge").click()
    form.get_by_label("Slots").fill("2")
    page.keyboard.press("Enter")
    expect(row(page, "x_local").locator("button.tw-badge")).to_have_text("×2", timeout=LONG)
    row(page, "x_local").focus()
    page.keyboard.press("G")
    expect(form.get_by_label("Scope")).to_have_value("local")
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)


def test_given_the_menu_of_a_block_then_its_entries_have_predicted_effects(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened("place_the_copies")
    row(page, "A_local.vtcm").focus()
    page.keyboard.press(".")
    entry = page.locator(".tw-tree .menu-item[data-method=compute_inline]")
    expect(entry.locator(".effect")).to_be_visible(timeout=LONG)
    shoot(page, "tree-menu-effects")
    assert_no_violations(page, "#area-tree")
    page.keyboard.press("Escape")
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step code").last).to_have_text("sch.compute_at(AL, ko)", timeout=LONG)
