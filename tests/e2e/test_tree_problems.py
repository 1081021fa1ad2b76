"""Signs of problems at the rows of the tree: with the mouse and the keyboard to what is said, and back."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

SLOW = 60_000
"""Milliseconds for the lint of a program whose iterations all have bank conflicts of their own."""


def opened(open_page: Callable[..., Page], app_url: str, example: str) -> Page:
    page = open_page()
    page.goto(f"{app_url}/example/{example}")
    page.get_by_role("treeitem").first.wait_for()
    return page


def test_given_rows_with_problems_then_their_signs_lead_to_them_by_mouse_and_keyboard(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = opened(open_page, app_url, "box_blur")
    row, quiet = page.locator('.row[data-id="x"]'), page.locator('.row[data-id="y"]')
    sign = row.locator(".problem-mark")
    expect(sign).to_have_text("!", timeout=SLOW)
    expect(page.locator('.row[data-id="box_blur"] .problem-mark')).to_have_text("i")
    expect(quiet.locator(".problem-mark")).to_be_hidden()
    expect(row).to_have_accessible_name("loop, x, extent 96, warning: x_blur computes each element 2.9 times in loop "
                                        "x: 55\u202f296 iterations for 19\u202f008 elements")  # fmt: skip

    sign.hover()
    expect(page.locator(".tip .tip-problem")).to_contain_text("computes each element 2.9 times")
    sign.click()
    problem = page.locator('.problem[data-code="recompute"]')
    expect(page.get_by_role("tab", name="Problems")).to_have_attribute("aria-selected", "true")
    expect(problem).to_be_focused()
    page.keyboard.press("Escape")
    expect(row).to_be_focused()
    expect(row).to_have_attribute("aria-selected", "false")

    page.get_by_role("tab", name="TVMScript").click()
    page.locator('.row[data-id="box_blur"]').focus()
    page.keyboard.press("!")
    expect(page.locator('.problem[data-code="bank-conflict"]')).to_be_focused()


def test_given_a_problem_that_is_mended_then_its_sign_goes(open_page: Callable[..., Page], app_url: str) -> None:
    page = opened(open_page, app_url, "box_blur")
    page.locator('.row[data-id="x_blur"] .problem-mark').click(timeout=SLOW)
    page.locator('.problem[data-code="recompute"]').get_by_role("button", name="Apply").click(timeout=SLOW)
    expect(page.locator('.problem[data-code="recompute"]')).to_have_count(0, timeout=SLOW)
    expect(page.locator('.row .problem-mark[data-severity="warning"]:visible')).to_have_count(0, timeout=SLOW)
