"""A program of two hundred rows: searched, moved, and long analyses that show progress, stop and resume, while the page answers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.page import grab, open_text, point_in, row, steps
from support.programs.transformer import transformer_notebook

PATIENT = 60_000


def counting(page: Page) -> Locator:
    return page.locator('[data-doing="steps"]')


def counted(page: Page) -> int:
    found = re.match(r"(\d+) of", counting(page).locator(".doing-count").inner_text())
    assert found is not None
    return int(found[1])


@pytest.mark.slow
def test_a_long_program_opens_and_a_drop_does_not_wait(page: Page, app_url: str) -> None:
    """While the changes by step are computed."""
    open_text(page, app_url, transformer_notebook(1))
    page.get_by_label("Find (/)").click()
    page.keyboard.type("ko_down0")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(row(page, "ko_down0")).to_be_visible()
    page.get_by_label("Fold all loops").click()
    page.get_by_label("Unfold all loops").click()
    count = len(steps(page))
    grab(page, "W_down0_local")
    while not row(page, "ko_down0").count():
        page.mouse.wheel(0, 500)  # only visible rows are in the DOM
    page.mouse.move(*point_in(page, "ko_down0"), steps=8)
    page.mouse.up()
    expect(page.locator(".step code")).to_have_count(count + 1, timeout=PATIENT)
    expect(page.locator(".step code").last).to_have_text("sch.compute_at(w_down0, ko_down0)")
    expect(page.locator("[data-verdict=proved]")).to_be_visible(timeout=PATIENT)


@pytest.mark.slow
def test_long_work_shows_progress_and_resumes(page: Page, app_url: str) -> None:
    open_text(page, app_url, transformer_notebook(2))
    line = counting(page)
    expect(line).to_be_visible(timeout=PATIENT)
    expect(line.locator("progress")).to_be_visible()
    page.keyboard.press("Escape")
    expect(line).to_contain_text("stopped")
    before = counted(page)
    line.get_by_role("button", name="Resume").click()
    expect(line).not_to_contain_text("stopped", timeout=PATIENT)
    page.get_by_label("Find (/)").click()
    page.keyboard.press("Escape")
    expect(line).not_to_contain_text("stopped")  # the key was for the search
    line.get_by_role("button", name="Stop").click()
    expect(line).to_contain_text("stopped")
    assert counted(page) <= 80 - before  # earlier results are reused
