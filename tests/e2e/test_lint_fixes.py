"""The Problems pane with the mouse and the keyboard: findings, their places in the tree, fixes with their changes, undo."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, go_to_gallery, number, steps, until
from support.programs.layers import Layer

SLOW = 30_000
"""Milliseconds for the search of fixes on a busy machine."""


@pytest.fixture
def problems_of(open_page: Callable[..., Page], app_url: str) -> Callable[..., Page]:
    """A page with an example, and the Problems pane visible."""

    def opened(example: str, **options: object) -> Page:
        page = open_page(**options)
        go_to_example(page, app_url, example)
        page.get_by_role("tab", name="Problems").click()
        return page

    return opened


def problem(page: Page, code: str) -> Locator:
    return page.locator(f'.problem[data-code="{code}"]')


def fixes(page: Page, code: str) -> Locator:
    return problem(page, code).locator(".fix")


def test_a_fix_is_applied_by_mouse_and_keyboard_and_undone(problems_of: Callable[..., Page]) -> None:
    page = problems_of("fused_matmul_relu_roundtrip")
    tab = page.get_by_role("tab", name="Problems")
    expect(tab).to_contain_text("1")
    trip, found = problem(page, "round-trip"), fixes(page, "round-trip")
    expect(trip).to_contain_text("intermediate mm is copied from local to global (256 bytes) and back")
    expect(found).to_have_count(2, timeout=SLOW)
    expect(found.first).to_contain_text("−43\u202f%")
    expect(found.first).to_contain_text("5\u202f260 → 3\u202f004 cycles")
    trip.get_by_role("button", name="mm_local_1").click()
    row = page.locator('.row[data-id="mm_local_1"]')
    expect(row).to_have_attribute("aria-selected", "true")

    # The sign on the row leads to the problem and back.
    expect(row).to_have_accessible_name(re.compile(r"warning: intermediate mm is copied from local to global"))
    page.get_by_role("tab", name="TVMScript").click()
    sign, tip = row.locator(".problem-mark"), page.locator(".tip .tip-problem")

    def has_tip() -> bool:
        page.mouse.move(2, 2)  # scrolling the tree, as to the chosen row, closes the tip until the pointer returns
        sign.hover()
        page.wait_for_timeout(500)
        return tip.is_visible()

    until(page, has_tip)
    expect(tip).to_contain_text("intermediate mm is copied")
    sign.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(trip).to_be_focused()
    page.keyboard.press("Escape")
    expect(row).to_be_focused()
    page.get_by_role("tab", name="TVMScript").click()
    row.focus()
    page.keyboard.press("!")
    expect(trip).to_be_focused()

    lines = steps(page)
    found.first.get_by_role("button", name="Apply").click()
    expect(page.locator(".step code")).to_have_count(len(lines) + 2)
    assert steps(page)[-2:] == ["sch.compute_inline(mm_back)", "sch.compute_inline(matmul_local)"]
    expect(trip).to_have_count(0)
    expect(page.locator(".problems-head")).to_contain_text("No problems.", timeout=SLOW)
    expect(page.locator('.row .problem-mark[data-severity="warning"]:visible')).to_have_count(0)
    assert number(page, "Cycles") == 3004
    expect(tab.locator(".count")).to_have_text("")
    page.get_by_label("Undo").click()
    expect(page.locator(".step code")).to_have_count(len(lines))
    expect(found).to_have_count(2)
    assert steps(page) == lines

    tab_to_apply(page, found.first)
    page.keyboard.press("Enter")
    expect(page.locator(".step code")).to_have_count(len(lines) + 2)
    page.locator(".problems").focus()
    page.keyboard.press("Control+z")
    expect(page.locator(".step code")).to_have_count(len(lines))


def tab_to_apply(page: Page, fix: Locator) -> None:
    """Reach the button of a fix by the keyboard."""
    page.locator(".problems").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if fix.get_by_role("button", name="Apply").evaluate("button => button.getRootNode().activeElement === button"):
            return
    raise AssertionError("Tab does not reach it")


@pytest.mark.slow
def test_a_fix_removes_a_line_in_the_dark_theme(
    problems_of: Callable[..., Page],
) -> None:
    page = problems_of("box_blur", width=1920, height=1080, dark=True)
    fix = fixes(page, "recompute")
    expect(fix).to_have_count(1, timeout=SLOW)
    expect(fix.locator("s")).to_contain_text('sch.compute_at("x_blur", x)')
    severities = page.locator(".problem .sign").evaluate_all(
        "signs => signs.map((sign) => sign.getAttribute('aria-label'))"
    )
    assert severities == sorted(severities, key=("error", "warning", "note").index), "the worst first"
    assert_no_violations(page, "#area-panes")

    lines = steps(page)
    tab_to_apply(page, fix)
    page.keyboard.press("Enter")
    expect(page.locator(".step code")).to_have_count(len(lines) - 1)
    assert [line for line in lines if line not in steps(page)] == ["sch.compute_at(x_blur, x)"]
    expect(problem(page, "recompute")).to_have_count(0)
    page.locator(".problems").focus()
    page.keyboard.press("Control+z")
    expect(page.locator(".step code")).to_have_count(len(lines))


STRIDED = f"""# %% machine
machine = tilewright.machine("dual-bank-npu")
# %% workload
{Layer("small", 64, 64, 32, 1, (8, 8), (1, 1), 2).text("float16", "float32")}
# %% schedule
sch = tilewright.Schedule(convolution)
C = sch.get_block("C")
A_in = sch.cache_read(C, 0, "local.vtcm")
B_in = sch.cache_read(C, 1, "local.vtcm")
C_out = sch.cache_write(C, 0, "local.acc")
"""


@pytest.mark.slow
def test_a_fix_rewrites_a_line(
    open_page: Callable[..., Page], app_url: str, shoot: Callable[[Page, str], Path]
) -> None:
    page = open_page()
    go_to_gallery(page, app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(STRIDED)
    page.get_by_role("button", name="Open").click()
    page.get_by_role("tab", name="Problems").click()
    fix = fixes(page, "skipped")
    expect(fix).to_have_count(1, timeout=SLOW)
    expect(fix.locator(".fix-calls")).to_have_text(
        'in place of sch.cache_read("C", 0, "local.vtcm")'
        'sch.reindex_cache_read("C", 0, "local.vtcm", lambda vy, vx, vf, vdy, vdx, vc: [vy + vdy, vx + vdx, vc])'
    )
    shoot(page, "lints-skipped")
    lines = steps(page)
    fix.get_by_role("button", name="Apply").click()
    expect(problem(page, "skipped")).to_have_count(0)
    assert len(steps(page)) == len(lines)
    assert any(line.startswith("A_in = sch.reindex_cache_read(C, 0") for line in steps(page))


@pytest.mark.slow
def test_one_click_places_both_copies(problems_of: Callable[..., Page]) -> None:
    page = problems_of("place_the_copies")
    expect(problem(page, "capacity-overflow")).to_have_count(1)
    expect(fixes(page, "capacity-overflow").first).to_contain_text("sch.compute_at", timeout=SLOW)
    lines = steps(page)
    fixes(page, "capacity-overflow").first.get_by_role("button", name="Apply").click()
    expect(page.locator(".step code")).to_have_count(len(lines) + 2)
    expect(problem(page, "capacity-overflow")).to_have_count(0)
    expect(page.locator('.figure.bad[data-figure="Peak vtcm"]')).to_have_count(0)
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=SLOW)
