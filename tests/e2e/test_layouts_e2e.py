"""The inspector and the layout picker with the real mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, number, steps

WAIT = 20_000


@pytest.fixture
def example(open_page: Callable[..., Page], app_url: str) -> Callable[..., Page]:
    def open_one(name: str, **size: int) -> Page:
        page = open_page(**size)
        go_to_example(page, app_url, name)
        return page

    return open_one


def inspector(page: Page) -> Locator:
    return page.locator(".inspector")


def choose_buffer(page: Page, name: str) -> None:
    """Choose a buffer in the list of the inspector."""
    inspector(page).locator(f'.buffer-choice[data-buffer="{name}"]').click()
    expect(page.locator(".picker-head b")).to_have_text(name, timeout=WAIT)


def all_tried(page: Page) -> None:
    expect(page.get_by_text("simulating…")).to_have_count(0, timeout=WAIT)
    expect(page.locator(".layout-card .card-figures").first).to_be_visible(timeout=WAIT)


def card(page: Page, key: str) -> Locator:
    return page.locator(f'.layout-card[data-card="{key}"]')


def cycles_of(found: Locator) -> int:
    (text,) = re.findall(r"cycles ([\d\s\u202f]+)", found.inner_text())
    return int(re.sub(r"\D", "", text))


def without_padding(page: Page) -> None:
    """Remove the last step of the transpose."""
    inspector(page).locator('[data-control="padding"] select').select_option("none")
    inspector(page).get_by_label("Apply Padding").click()
    expect(card(page, "now")).to_contain_text("×32", timeout=WAIT)


@pytest.mark.slow
def test_conflicts_are_stepped_through_and_fixed_by_a_click(
    example: Callable[..., Page], shoot: Callable[[Page, str], object]
) -> None:
    page = example("bank_conflicts")
    expect(inspector(page).get_by_role("meter")).to_have_count(2)
    choose_buffer(page, "A_shared")
    all_tried(page)
    without_padding(page)
    all_tried(page)
    before = len(steps(page))
    # The lanes that share a bank, access by access.
    page.get_by_label("Access to follow").select_option(index=1)
    expect(page.locator(".steps-text")).to_contain_text("bank 0 serves 32 rows")
    page.get_by_label("Next access").click()
    expect(page.locator(".steps-text")).to_contain_text("32 elements in 1 bank")
    expect(page.locator(".steps-text")).to_contain_text("32 turns: bank 1 serves 32 rows")
    shoot(page, "layout-conflict")
    # The effect of a card is previewed.
    card(page, "padded 1").hover()
    expect(page.locator(".steps-text")).to_contain_text("preview of padded by 1: 32 elements in 32 banks", timeout=WAIT)
    expect(page.locator(".picker-call")).to_contain_text("sch.storage_align(A_shared, 0, 0, 32, 1)")
    predicted = cycles_of(card(page, "padded 1"))
    expect(card(page, "padded 1")).to_contain_text("fastest")
    card(page, "padded 1").click()
    expect(page.locator(".step")).to_have_count(before + 1, timeout=WAIT)
    assert steps(page)[-1].startswith("sch.storage_align(A_shared, ")
    expect(page.locator('[data-figure="Cycles"] b')).not_to_have_text("111\u202f620", timeout=WAIT)
    # The prediction of the card equals the headline.
    assert number(page, "Cycles") == predicted
    expect(card(page, "now")).to_contain_text("none", timeout=WAIT)
    expect(page.locator(".steps-text")).to_contain_text("No conflict", timeout=WAIT)


@pytest.mark.slow
def test_pointer_arrows_and_drag_move_through_the_grid(example: Callable[..., Page]) -> None:
    page = example("bank_conflicts")
    choose_buffer(page, "A_shared")
    grid = page.locator(".grid-canvas")
    box = grid.bounding_box()
    assert box is not None
    cell = (box["width"] - 28) / 32
    page.mouse.move(box["x"] + 26 + 5.5 * cell, box["y"] + 15 + 3.5 * cell)
    # Rows of 33 floats: element [3, 5] is the 104th.
    expect(page.locator(".grid-readout")).to_contain_text("[v0 3, v1 5] · offset 104 · address 0x1a0 · bank 8 · row 3")
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".grid-readout")).to_contain_text("[v0 2, v1 1] · offset 67 · address 0x10c · bank 3 · row 2")
    page.keyboard.press("+")
    expect(page.locator(".grid-part")).to_contain_text("rows 0–15", timeout=WAIT)
    # Beyond the edge the window moves on.
    for _ in range(15):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".grid-part")).to_contain_text("rows 2–17", timeout=WAIT)
    # A drag moves the window in a large buffer.
    inspector(page).get_by_role("button", name="Overview").click()
    choose_buffer(page, "A")
    expect(page.locator(".grid-part")).to_have_text(re.compile(r"^rows 0–63( \(\w+\))?, columns 0–63( \(\w+\))?$"))
    box = page.locator(".grid-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 150, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 110, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(page.locator(".grid-part")).not_to_contain_text("rows 0–63", timeout=WAIT)
    for _ in range(2):
        page.get_by_label("Show more elements").click()
    expect(page.locator(".grid-part")).to_have_text("256 × 256 · a cell is 4 × 4", timeout=WAIT)
    expect(page.get_by_label("Show more elements")).to_be_disabled()


def test_a_typed_map_is_checked_and_enter_applies_it(
    example: Callable[..., Page],
) -> None:
    page = example("bank_conflicts")
    choose_buffer(page, "A_shared")
    field, status = page.get_by_label("Custom index map"), page.locator(".draft-state")
    field.click()
    page.keyboard.type("lambda i, j: [i, 0]")
    expect(status).to_contain_text("sends several elements of 'A_shared' to one place", timeout=WAIT)
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("lambda i, j: [i")
    expect(page.locator(".draft-mark")).to_contain_text("^", timeout=WAIT)
    field.fill("lambda i: [i]")
    expect(status).to_contain_text("has 1 axes", timeout=WAIT)
    count = len(steps(page))
    page.keyboard.press("Enter")
    field.fill("lambda i, j: [j, i]")
    expect(status).to_contain_text("Enter applies it", timeout=WAIT)
    expect(page.locator(".draft-place .layout-card")).to_contain_text("cycles", timeout=WAIT)
    expect(page.locator(".step")).to_have_count(count)
    page.keyboard.press("Enter")
    expect(page.locator(".step")).to_have_count(count + 1, timeout=WAIT)
    assert "sch.transform_layout(A_shared, " in steps(page)[-1] and "lambda i, j: [j, i]" in steps(page)[-1]
    expect(field).to_have_value("")


@pytest.mark.slow
def test_chip_and_legend_choose_a_buffer_and_escape_returns(
    example: Callable[..., Page],
) -> None:
    page = example("vtcm_double_buffer")
    page.locator('.row[data-id="C"] .buf[data-buffer="A_local.vtcm"]').click()
    expect(page.locator(".picker-head b")).to_have_text("A_local.vtcm", timeout=WAIT)
    expect(page.locator('.row[data-id="C"]')).to_have_attribute("aria-selected", "true")
    # The second slot lies in the other block.
    page.get_by_role("group", name="Slot").get_by_role("button", name="#1").click()
    expect(page.get_by_role("button", name="#1")).to_have_attribute("aria-pressed", "true", timeout=WAIT)
    page.locator(".grid-canvas").focus()
    expect(page.locator(".grid-readout")).to_contain_text("block 1", timeout=WAIT)
    page.keyboard.press("Escape")
    expect(inspector(page)).to_contain_text("multiply-accumulate", timeout=WAIT)
    page.locator(".legend-buffer", has_text="B_local.vtcm").click()
    expect(page.locator(".picker-head b")).to_have_text("B_local.vtcm", timeout=WAIT)


@pytest.mark.slow
def test_the_keyboard_alone_sets_view_and_layout(
    example: Callable[..., Page],
) -> None:
    page = example("bank_conflicts")
    page.locator('.row[tabindex="0"]').focus()
    page.keyboard.press("End")
    expect(page.locator('.row[data-id="B"]')).to_be_focused()
    for name in ("B", "A_shared"):
        page.keyboard.press("Shift+Enter")
        expect(page.locator(".picker-head b")).to_have_text(name, timeout=WAIT)
    expect(page.locator('.row[data-id="B"]')).to_be_focused()
    all_tried(page)
    page.get_by_role("button", name="Enlarge: inspector").focus()
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-large", "inspector")
    area = page.locator("#area-inspector").bounding_box()
    assert area is not None and area["width"] > 600
    count = page.locator(".step").count()
    card(page, "tiled 16").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".step")).to_have_count(count + 1, timeout=WAIT)
    inspector(page).focus()
    page.keyboard.press("Escape")
    expect(page.locator("html")).not_to_have_attribute("data-large", "inspector")


@pytest.mark.slow
def test_a_scope_shows_whether_it_fits_and_becomes_a_line(example: Callable[..., Page]) -> None:
    page = example("place_the_copies")
    choose_buffer(page, "A_local.vtcm")
    row = page.locator('[data-control="scope"]')
    row.locator("select").select_option("local.acc")
    expect(row).to_contain_text("too large")
    row.locator("select").select_option("global")
    expect(row).to_contain_text("fits")
    count = page.locator(".step").count()
    row.get_by_label("Apply Scope").click()
    expect(page.locator(".step")).to_have_count(count + 1, timeout=WAIT)
    assert "sch.set_scope(" in steps(page)[-1]


@pytest.mark.slow
def test_axe_accepts_the_layout_picker(example: Callable[..., Page]) -> None:
    page = example("bank_conflicts")
    assert_no_violations(page, "#area-inspector")
    page.locator('.row[data-id="B"]').click(position={"x": 200, "y": 14})
    expect(page.locator(".inspector")).to_contain_text("reaches all operands", timeout=WAIT)
    assert_no_violations(page, "#area-inspector")
    page.locator('.row[data-id="B"] .buf[data-buffer="A_shared"]').click()
    all_tried(page)
    page.get_by_label("Custom index map").fill("lambda i, j: [i")
    expect(page.locator(".draft-mark")).to_be_visible(timeout=WAIT)
    assert_no_violations(page, "#area-inspector")
    page.get_by_role("button", name="Enlarge: inspector").click()
    assert_no_violations(page, "#area-inspector")


@pytest.mark.slow
def test_the_conflicts_of_a_composed_swizzle_are_counted(
    example: Callable[..., Page], shoot: Callable[[Page, str], object]
) -> None:
    page = example("bank_conflicts")
    choose_buffer(page, "A_shared")
    all_tried(page)
    without_padding(page)
    all_tried(page)
    page.get_by_text("Compose a swizzle").click()
    assert_no_violations(page)
    kind, field, status = (
        page.get_by_label("Kind of swizzle"),
        page.get_by_label("Custom index map"),
        page.locator(".draft-state"),
    )
    page.get_by_label("S: distance").fill("2")
    expect(page.locator(".swizzle-form [role=status]")).to_contain_text("S is at least B")
    assert_no_violations(page, "#area-inspector")
    page.get_by_label("B: number of bits").fill("5")
    page.get_by_label("S: distance").fill("8")
    expect(field).to_have_value("lambda i, j: [i, j ^ i % 32]")
    expect(page.locator(".draft-place .layout-card")).to_contain_text("none", timeout=WAIT)
    kind.select_option("bits")
    page.get_by_label("j bit 0 xor").select_option("^ i bit 0")
    expect(field).to_have_value("lambda i, j: [i, j ^ i % 2]")
    expect(page.locator(".draft-place .layout-card")).to_contain_text("×16", timeout=WAIT)
    expect(status).not_to_contain_text("sends several")
    assert_no_violations(page)
    shoot(page, "layout-swizzle")
