"""The Next pane: a fresh program from text, its machine chosen from pictures, and steps applied by one click each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, open_text, steps, until
from support.programs.layers import PADDED_CONVOLUTION
from support.sessions.searching import HOLES

MATMUL = HOLES[: HOLES.index("# %% schedule")]
SLOW = 120_000
"""Milliseconds until the first suggestions on a busy machine."""


def test_a_proposed_step_is_applied_by_one_click_and_undone(page: Page, app_url: str) -> None:
    open_text(page, app_url, MATMUL)
    expect(page.get_by_role("tab", name="Next")).to_have_attribute("aria-selected", "true")
    pane = page.locator(".next-steps")
    expect(pane).to_contain_text("Most work: C")
    pane.get_by_role("button", name="gemmini").click()
    expect(pane.get_by_role("button", name="gemmini")).to_have_attribute("aria-pressed", "true")
    pane.get_by_role("button", name="dual-bank-npu").click()
    tile = pane.locator('li[data-rule="tile"]')
    expect(tile).to_contain_text("Tile C for the matrix unit", timeout=SLOW)
    tile.get_by_role("button", name="Apply").click(timeout=SLOW)
    expect(page.locator(".step", has_text="sch.split").first).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Undo (Ctrl+Z)").click()
    expect(page.locator(".steps .step")).to_have_count(0)
    expect(pane.locator(".machine-cards")).to_be_visible(timeout=SLOW)


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_fresh_convolution_is_scheduled_by_one_click(
    open_page: Callable[..., Page], app_url: str, shoot: Callable[[Page, str], Path], dark: bool
) -> None:
    page, scheme = open_page(dark=dark), "dark" if dark else "light"
    open_text(page, app_url, PADDED_CONVOLUTION)
    expect(page.get_by_role("tab", name="Next")).to_have_attribute("aria-selected", "true")
    pane = page.locator(".next-steps")
    expect(pane).to_contain_text("Most work: conv")
    pane.get_by_role("button", name="gemmini").click()
    expect(pane.get_by_role("button", name="gemmini")).to_have_attribute("aria-pressed", "true")
    pane.get_by_role("button", name="dual-bank-npu").click()
    expect(pane.locator('li[data-rule="tile"]')).to_contain_text("Tile conv for the matrix unit", timeout=SLOW)
    first = pane.locator('li[data-rule="schedule"]')
    expect(first).to_contain_text("Schedule all 4 blocks", timeout=SLOW)
    expect(first).to_contain_text("copied")
    expect(first).to_contain_text("1/")
    expect(first).to_be_in_viewport(timeout=SLOW)
    first.get_by_text("What it decides").click()
    expect(first).to_contain_text("conv on matrix: a product")
    shoot(page, f"next-fresh-{scheme}")
    assert_no_violations(page)

    expect(pane).to_contain_text("any schedule needs at least", timeout=SLOW)
    first.get_by_role("button", name="Apply").click()
    expect(pane.locator(".machine-cards")).to_be_hidden(timeout=SLOW)
    assert any("sch.split" in line for line in steps(page))
    expect(pane).to_contain_text(re.compile(r"this one 1\.[0-2]\d? times as many"), timeout=SLOW)
    shoot(page, f"next-scheduled-{scheme}")

    page.get_by_role("button", name="Undo (Ctrl+Z)").click()
    expect(pane.locator(".machine-cards")).to_be_visible(timeout=SLOW)
    assert steps(page) == []


def test_the_chosen_machine_is_in_sight_when_the_pane_opens(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "tilelang_gemm")
    page.get_by_role("tab", name="TVMScript").click()
    page.reload()
    page.get_by_role("treeitem").first.wait_for()
    page.get_by_role("tab", name="Next").click()
    chosen, row = page.locator('.machine-card[aria-pressed="true"]'), page.locator(".machine-cards")

    def is_in_sight() -> bool:
        box, around = chosen.bounding_box(), row.bounding_box()
        return bool(box and around and around["x"] <= box["x"] < around["x"] + around["width"] / 2)

    until(page, is_in_sight)
