"""A program of two hundred rows, and what takes long: found, moved, counted, stopped and gone on with, while the page answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import grab, point_in, row, steps
from support.programs.transformer import transformer_notebook

Shoot = Callable[[Page, str], Path]
PATIENT = 60_000


@pytest.fixture
def encoder(page: Page, app_url: str, tmp_path: Path) -> Page:
    file = tmp_path / "encoder.py"
    file.write_text(transformer_notebook(2), encoding="utf-8")
    page.goto(app_url)
    page.get_by_label("A file", exact=True).set_input_files(file)
    page.get_by_role("tree").get_by_role("treeitem").first.wait_for(timeout=PATIENT)
    return page


def counting(page: Page) -> Locator:
    return page.locator('[data-doing="steps"]')


def counted(page: Page) -> int:
    found = re.match(r"(\d+) of", counting(page).locator(".doing-count").inner_text())
    assert found is not None
    return int(found[1])


def test_given_work_that_takes_long_then_it_is_counted_stopped_by_key_and_button_and_gone_on_with(
    encoder: Page, shoot: Shoot
) -> None:
    line = counting(encoder)
    expect(line).to_be_visible(timeout=PATIENT)
    expect(line.locator("progress")).to_be_visible()
    shoot(encoder, "long-work")
    encoder.keyboard.press("Escape")
    expect(line).to_contain_text("stopped")
    assert_no_violations(encoder)
    before = counted(encoder)
    line.get_by_role("button", name="Resume").click()
    expect(line).not_to_contain_text("stopped", timeout=PATIENT)
    line.get_by_role("button", name="Stop").click()
    expect(line).to_contain_text("stopped")
    assert counted(encoder) <= 80 - before  # what was found by then is not worked out again


def test_given_work_that_takes_long_then_a_drop_does_not_wait_for_it(encoder: Page) -> None:
    expect(counting(encoder)).to_be_visible(timeout=PATIENT)
    encoder.get_by_label("Find (/)").click()
    encoder.keyboard.type("ko_down1")
    encoder.keyboard.press("Enter")
    encoder.keyboard.press("Escape")
    expect(row(encoder, "ko_down1")).to_be_visible()
    expect(counting(encoder)).not_to_contain_text("stopped")  # the key was for the search
    encoder.get_by_label("Fold all loops").click()
    encoder.get_by_label("Unfold all loops").click()
    count = len(steps(encoder))
    grab(encoder, "W_down1_local")
    while not row(encoder, "ko_down1").count():
        encoder.mouse.wheel(0, 500)  # of many rows those in sight stand
    encoder.mouse.move(*point_in(encoder, "ko_down1"), steps=8)
    encoder.mouse.up()
    expect(encoder.locator(".step code")).to_have_count(count + 1, timeout=PATIENT)
    expect(encoder.locator(".step code").last).to_have_text("sch.compute_at(w_down1, ko_down1)")
    expect(encoder.locator("[data-verdict=proved]")).to_be_visible(timeout=PATIENT)
