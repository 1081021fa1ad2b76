"""A/B with the real mouse and keyboard: from the top bar and from a step, two steps, branches, an example, a file; closed by Escape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.page import drag, go_to_example, open_small
from support.sessions.notebooks import MATMUL_NOTEBOOK

Shoot = Callable[[Page, str], Path]
PATIENT = 60_000


@pytest.fixture
def page_of(open_page: Callable[..., Page], app_url: str) -> Callable[..., Page]:
    def opened(example: str, opening: Callable[..., None] = go_to_example, **options: object) -> Page:
        page = open_page(**options)
        opening(page, app_url, example)
        return page

    return opened


def now_cycles(page: Page) -> Locator:
    """The cycles of side B."""
    return line(page, "Time: Cycles").locator("td").nth(1)


def compare(page: Page) -> None:
    """By the button of the top bar."""
    page.get_by_role("button", name="A/B comparison").click()
    expect(page.locator(".ab-line").first).to_be_visible()
    expect(page.locator("#area-tree")).not_to_be_visible()


def line(page: Page, name: str) -> Locator:
    """The line of the table with that label."""
    return page.locator(f'[data-figure-line="{name}"]')


def explained(page: Page) -> Locator:
    box = page.locator(".ab-explanation")
    expect(box).to_contain_text("explains most", timeout=PATIENT)
    return box


def test_a_drop_is_compared(page_of: Callable[..., Page]) -> None:
    page = page_of("place_the_copies", open_small)
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step code").last).to_have_text("sch.compute_at(AL, ko)")
    compare(page)
    expect(page.locator('.ab-line[data-status="moved"]').first).to_contain_text("moved under ko")
    expect(now_cycles(page)).to_have_text("57\u202f565", timeout=PATIENT)
    expect(explained(page)).to_contain_text("sch.compute_at(AL, ko)")
    expect(page.locator(".overlay .end-label")).to_contain_text("ends at")

    page.keyboard.press("Escape")
    expect(page.locator("#area-compare")).not_to_be_visible()
    expect(page.get_by_role("treeitem").first).to_be_visible()


@pytest.mark.slow
def test_a_file_is_compared_and_a_broken_one_refused(page_of: Callable[..., Page], tmp_path: Path) -> None:
    page = page_of("place_the_copies", open_small)
    compare(page)
    mine, broken = tmp_path / "mine.py", tmp_path / "broken.py"
    mine.write_text(MATMUL_NOTEBOOK)
    broken.write_text("def (:")
    page.locator(".ab-side.is-b input[type=file]").set_input_files(mine)
    expect(page.get_by_label("Side B")).to_have_value("file:mine")
    expect(page.locator(".ab-side.is-b")).to_contain_text("cycles", timeout=PATIENT)
    page.locator(".ab-side.is-a input[type=file]").set_input_files(broken)
    expect(page.locator(".page-notice").get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Side B")).to_have_value("file:mine")


@pytest.mark.slow
def test_steps_are_compared_by_keys_and_now_follows_edits(page_of: Callable[..., Page]) -> None:
    page = page_of("vtcm_double_buffer")
    page.locator(".step", has_text="sch.reverse_compute_at(CL, no)").click(button="right")
    page.get_by_role("menuitem", name="Compare with now").click()
    expect(page.get_by_label("Side A")).to_have_value("step:12")
    expect(page.get_by_label("Side B")).to_have_value("now")
    changed = page.locator('.ab-line[data-status="changed"]')
    expect(changed).to_have_count(3)
    page.locator(".ab-trees").focus()
    page.keyboard.press("n")
    expect(changed.first).to_be_focused()
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(changed.nth(2)).to_be_focused()
    page.keyboard.press("p")
    expect(changed.nth(1)).to_be_focused()
    page.get_by_role("button", name="Differences only").press("Enter")
    expect(page.locator(".ab-line")).to_have_count(3)
    expect(page.locator(".ab-alike").first).to_contain_text("equal")
    expect(line(page, "Time: Cycles").locator(".ab-change")).to_contain_text("✓ better", timeout=PATIENT)
    before = now_cycles(page).inner_text()
    page.get_by_role("button", name="Swap A and B").press("Enter")
    expect(line(page, "Time: Cycles").locator(".ab-change")).to_contain_text("✗ worse")
    expect(page.get_by_label("Side B")).to_have_value("step:12")
    expect(explained(page)).to_contain_text("54 % of the difference")
    page.get_by_role("button", name="Swap A and B").press("Enter")
    expect(page.get_by_label("Side B")).to_have_value("now")

    page.get_by_role("tab", name="Machine").click()
    page.get_by_role("button", name="read bandwidth: 52").first.click()
    expect(now_cycles(page)).not_to_have_text(before, timeout=PATIENT)
    page.get_by_label("Side A").select_option("opened")
    expect(line(page, "Time: Cycles").locator("td").nth(0)).to_have_text(before, timeout=PATIENT)
    expect(page.locator(".ab-summary")).to_have_text("the same loop nest")


@pytest.mark.slow
def test_the_step_that_explains_most_is_found(page_of: Callable[..., Page], shoot: Shoot) -> None:
    page = page_of("fused_matmul_relu_roundtrip", width=1920, height=1080)
    compare(page)
    page.get_by_label("Side A").select_option("now")
    page.get_by_label("Side B").select_option("example:fused_matmul_relu")
    box = explained(page)
    expect(box).to_contain_text('sch.set_scope(matmul, 0, "local")')
    expect(box).to_contain_text("was removed")
    expect(page.locator('.ab-line[data-status="only_a"]').first).to_contain_text("only A")
    assert line(page, "Bytes copied: local → global").locator("td").all_inner_texts()[:2] == [
        "512\u202fB",
        "256\u202fB",
    ]
    assert page.locator(".overlay .engine").all_text_contents() == ["dma_in", "dma_out", "matrix", "vector"]
    assert page.locator(".overlay .memory-name").all_text_contents() == ["local"]
    shoot(page, "compare-two-programs")


@pytest.mark.slow
def test_compared_timelines_zoom_into_single_tasks(page_of: Callable[..., Page]) -> None:
    page = page_of("gemmini_gemm")
    compare(page)
    page.get_by_label("Side A").select_option("now")
    expect(page.locator(".overlay .stretch").first).to_be_visible(timeout=PATIENT)
    canvas = page.locator(".overlay-canvas")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    for _ in range(14):
        page.mouse.wheel(0, -240)
    expect(page.locator(".overlay .task").first).to_be_visible(timeout=PATIENT)
    expect(page.locator(".overlay .stretch")).to_have_count(0)
    span = page.locator(".overlay-span")
    shown = span.inner_text()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(span).not_to_have_text(shown)
    page.keyboard.press("0")
    expect(page.locator(".overlay .stretch").first).to_be_visible(timeout=PATIENT)
