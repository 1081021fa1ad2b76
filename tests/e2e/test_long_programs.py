"""A program of two hundred rows, and what takes long: found, moved, counted, stopped and gone on with, while the page answers."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from support.browser.page import go_to_gallery, grab, point_in, row, steps
from support.programs.transformer import transformer_notebook

PATIENT = 60_000


def counting(page: Page) -> Locator:
    return page.locator('[data-doing="steps"]')


def counted(page: Page) -> int:
    found = re.match(r"(\d+) of", counting(page).locator(".doing-count").inner_text())
    assert found is not None
    return int(found[1])


def test_long_work_is_counted_and_stopped_and_a_drop_does_not_wait(page: Page, app_url: str, tmp_path: Path) -> None:
    file = tmp_path / "encoder.py"
    file.write_text(transformer_notebook(2), encoding="utf-8")
    go_to_gallery(page, app_url)
    page.get_by_label("A file", exact=True).set_input_files(file)
    page.get_by_role("tree").get_by_role("treeitem").first.wait_for(timeout=PATIENT)
    line = counting(page)
    expect(line).to_be_visible(timeout=PATIENT)
    expect(line.locator("progress")).to_be_visible()
    page.keyboard.press("Escape")
    expect(line).to_contain_text("stopped")
    before = counted(page)
    line.get_by_role("button", name="Resume").click()
    expect(line).not_to_contain_text("stopped", timeout=PATIENT)
    line.get_by_role("button", name="Stop").click()
    expect(line).to_contain_text("stopped")
    assert counted(page) <= 80 - before  # what was found by then is not worked out again
    line.get_by_role("button", name="Resume").click()
    expect(line).not_to_contain_text("stopped", timeout=PATIENT)

    page.get_by_label("Find (/)").click()
    page.keyboard.type("ko_down1")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(row(page, "ko_down1")).to_be_visible()
    page.get_by_label("Fold all loops").click()
    page.get_by_label("Unfold all loops").click()
    count = len(steps(page))
    grab(page, "W_down1_local")
    while not row(page, "ko_down1").count():
        page.mouse.wheel(0, 500)  # of many rows those in sight stand
    page.mouse.move(*point_in(page, "ko_down1"), steps=8)
    page.mouse.up()
    expect(page.locator(".step code")).to_have_count(count + 1, timeout=PATIENT)
    expect(page.locator(".step code").last).to_have_text("sch.compute_at(w_down1, ko_down1)")
    expect(page.locator("[data-verdict=proved]")).to_be_visible(timeout=PATIENT)
