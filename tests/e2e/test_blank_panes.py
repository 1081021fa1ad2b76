"""Panes without content explain why, and link to a remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import open_text
from support.sessions.notebooks import SYMBOLIC, with_lines


@pytest.mark.slow
def test_a_click_sets_the_missing_size_and_shows_the_timeline(page: Page, app_url: str) -> None:
    open_text(page, app_url, SYMBOLIC)
    blank = page.locator(".timeline .blank")
    expect(blank).to_contain_text("The size n has no value")
    expect(page.locator(".no-steps")).to_contain_text("No steps yet")
    expect(blank.get_by_label("n")).to_have_value("256")
    blank.get_by_role("button", name="Use these values").click()
    expect(blank).to_have_count(0)
    expect(page.locator('[data-figure="Cycles"] b')).not_to_have_text("–")


@pytest.mark.slow
def test_panes_link_to_the_problem_of_a_machine(page: Page, app_url: str) -> None:
    open_text(page, app_url, with_lines('A_shared = sch.cache_read(C, 0, "shared")'))
    page.get_by_role("tab", name="Traffic").click()
    for pane in (".pictures", ".timeline"):
        expect(page.locator(f"{pane} .blank")).to_contain_text("Buffer 'A_shared' is in scope 'shared'")
        page.locator(f"{pane} .blank").get_by_role("button", name="Show the problem and its fixes").click()
        expect(page.locator('.problem[data-code="unknown-scope"]')).to_be_focused()


@pytest.mark.slow
def test_an_empty_folder_explains_itself(page: Page, serve_page: Callable[..., str], tmp_path: Path) -> None:
    page.goto(serve_page(tmp_path))
    expect(page.locator(".gallery")).to_contain_text("This folder is empty.")
    expect(page.locator(".card[data-example]").first).to_be_visible()
