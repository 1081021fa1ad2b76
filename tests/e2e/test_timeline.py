"""The timeline with mouse and keyboard: playhead, zoom, repeats, stalls, overview, replay, tables. One page for each flow."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, in_real_time, open_small, row, until

Shoot = Callable[[Page, str], Path]


def opened(page: Page, app_url: str, name: str) -> None:
    open_small(page, app_url, name)
    ready(page)
    in_real_time(page)


def ready(page: Page) -> None:
    expect(playhead(page)).to_have_attribute("aria-valuemax", re.compile(r"\d+"))
    expect(playhead(page)).to_have_attribute("aria-valuetext", re.compile("cycle"))


def playhead(page: Page) -> Locator:
    return page.get_by_role("slider", name="Playhead")


def cycle(page: Page) -> int:
    return int(playhead(page).get_attribute("aria-valuenow") or -1)


def start_of_sight(page: Page) -> Locator:
    return page.get_by_role("slider", name="Start of visible range")


def sight(page: Page) -> tuple[float, float]:
    """The visible range in real time."""
    ends = (start_of_sight(page), page.get_by_role("slider", name="End of visible range"))
    start, end = (float(slider.get_attribute("aria-valuenow") or 0) for slider in ends)
    return start, end


def span(page: Page) -> float:
    start, end = sight(page)
    return end - start


def at(page: Page, part: float, y: float) -> tuple[float, float]:
    """A point of the plot: `part` of the way from the first to the last visible cycle, `y` pixels down."""
    box = page.locator(".timeline canvas.plot").bounding_box()
    assert box is not None
    return box["x"] + 176 + part * (box["width"] - 186), box["y"] + y


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=6)
    page.mouse.up()


def folded(page: Page, pressed: str) -> None:
    expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", pressed)


def open_card(page: Page) -> None:
    """Of the first stall, by the keyboard."""
    playhead(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.keyboard.press("Enter")


def tables(page: Page) -> Locator:
    return page.get_by_role("region", name="Timeline as tables")


@pytest.mark.slow
def test_keys_move_the_playhead_and_show_stalls(page: Page, app_url: str) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    expect(page.locator(".row.is-active")).to_have_count(0)
    playhead(page).focus()
    for _ in range(8):
        page.keyboard.press("Shift+ArrowRight")
    expect(playhead(page)).to_have_attribute(
        "aria-valuetext", re.compile(r"dma \w.*mo = 0.*matrix C: mo = 0, no = 0, ko = \d")
    )
    expect(row(page, "C")).to_have_class(re.compile("is-active"))
    expect(row(page, "ko").locator(".loop-name")).to_have_attribute("data-now", re.compile(r"^\d"))
    expect(page.locator("#pane-script .code-line.is-now").first).to_contain_text("T.sblock")
    here = cycle(page)
    page.keyboard.press("Shift+ArrowLeft")
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", str(here))
    assert cycle(page) < here
    page.keyboard.press("End")
    expect(playhead(page)).to_have_attribute("aria-valuetext", re.compile("matrix done"))
    page.keyboard.press("Home")
    expect(playhead(page)).to_have_attribute("aria-valuenow", "0")
    page.keyboard.press("ArrowRight")
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", "0")

    # The card of a stall names its block, buffer and step.
    page.keyboard.press("Home")
    open_card(page)
    card = page.get_by_role("dialog", name=re.compile("stalled on operand"))
    expect(card).to_contain_text("Operand not ready")
    step = card.locator(".card-step code")
    expect(step).to_contain_text("sch.")
    expect(page.locator(".step").filter(has_text=step.inner_text()).first).to_be_visible()
    expect(page.locator(".inspector")).to_contain_text("stalls")
    expect(page.locator('[role="treeitem"][aria-selected="true"]')).to_have_count(1)
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(playhead(page)).to_be_focused()
    open_card(page)
    expect(page.locator(".timeline-card")).to_be_visible()
    row(page, "ko").locator(".loop-name").click()
    expect(page.locator(".timeline-card")).to_be_hidden()


@pytest.mark.slow
def test_links_critical_path_and_tables(page: Page, app_url: str) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    # A task with its dependencies, drawn and in words; the critical path.
    playhead(page).focus()
    page.keyboard.press("Home")
    for _ in range(8):
        page.keyboard.press("w")
    for _ in range(6):
        page.keyboard.press("Shift+ArrowRight")
    links = page.locator(".timeline > p[role=status]")
    page.keyboard.press("l")
    page.keyboard.press("l")
    expect(links).to_contain_text(re.compile(r"waits for .*(for the data in|for the slot) .*vtcm"))
    expect(links).to_contain_text("is awaited by")
    page.keyboard.press("t")
    expect(tables(page).get_by_role("table", name="Selected task")).to_contain_text("waits for")
    page.keyboard.press("t")
    page.keyboard.press("Escape")
    expect(links).to_have_text("")
    page.keyboard.press("0")
    page.get_by_role("button", name="Critical path").click()
    expect(page.locator(".fold-note")).to_have_text(
        re.compile(r"Critical path: 49 % B_local.vtcm \(operand B_local.vtcm\)")
    )
    playhead(page).focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Table").click()
    expect(tables(page).get_by_role("table", name=re.compile("Engines over 36"))).to_contain_text("matrix")
    expect(tables(page).get_by_role("table", name="Memories")).to_contain_text("A_local.vtcm#1")
    expect(tables(page).get_by_role("table", name="At cycle 0")).to_contain_text("stalled on operand")
    expect(tables(page).get_by_role("table", name="Critical path")).to_contain_text("end of the run")
    page.keyboard.press("t")
    expect(tables(page)).to_be_hidden()
    page.get_by_role("button", name="Critical path").click()  # it stays enabled in the next notebook
    expect(page.locator(".fold-note")).to_have_text("")


def test_the_mouse_zooms_pans_scrubs_and_selects(page: Page, app_url: str) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    folded(page, "false")
    whole = span(page)
    page.mouse.move(*at(page, 0.5, 20))
    for _ in range(14):
        page.mouse.wheel(0, -120)
    until(page, lambda: span(page) < whole / 20)
    start, end = sight(page)
    assert start < whole / 2 < end
    drag(page, at(page, 0.5, 20), at(page, 0.2, 20))
    expect(start_of_sight(page)).not_to_have_attribute("aria-valuenow", str(round(start)))
    moved, _ = sight(page)
    assert moved == pytest.approx(start + 0.3 * (end - start), abs=0.02 * (end - start))
    # A click on a task selects its block and moves the playhead there; the tip describes it.
    page.mouse.move(*at(page, 0.5, 20))
    expect(page.locator(".timeline-tip")).to_contain_text("cycles")
    tip = page.locator(".timeline-tip").inner_text()
    page.mouse.down()
    page.mouse.up()
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", "0")
    block = tip.split()[0]
    if block != "dma":
        expect(row(page, block)).to_have_attribute("aria-selected", "true")
    # The axis is a ruler: pressing there scrubs.
    box = page.locator(".timeline canvas.plot").bounding_box()
    assert box is not None
    before = cycle(page)
    drag(page, at(page, 0.5, box["height"] - 8), at(page, 0.8, box["height"] - 8))
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", str(before))
    page.mouse.dblclick(*at(page, 0.9, 25))
    expect(start_of_sight(page)).to_have_attribute("aria-valuenow", "0")
    assert span(page) == whole

    # The matrix unit stalls at the start.
    playhead(page).focus()
    for key in ("Home", "+", "+"):
        page.keyboard.press(key)
    card = page.get_by_role("dialog", name="matrix stalled on operand")
    for lane in range(50, 90, 4):
        page.mouse.click(*at(page, 0.02, lane))
        if card.count():
            break
    expect(card).to_contain_text("over the run")
    page.keyboard.press("Escape")

    page.get_by_label("Speed").select_option("4")
    playhead(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    until(page, lambda: cycle(page) > 5000)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    here = cycle(page)
    assert here > 5000
    page.wait_for_timeout(200)
    assert cycle(page) == here, "it is paused"


@pytest.mark.slow
def test_repeats_unfold_and_the_overview_chooses_the_range(page: Page, app_url: str) -> None:
    opened(page, app_url, "gemmini_gemm")
    total = float(playhead(page).get_attribute("aria-valuemax") or 0)
    assert sight(page) == (0, total)
    page.mouse.click(*at(page, 0.5, 20))
    until(page, lambda: abs(cycle(page) - total / 2) < total / 300)  # the axis is in real time
    page.get_by_role("button", name="Fold repeats").click()
    folded(page, "true")
    expect(page.locator(".fold-note")).to_have_text(re.compile(r"\d+ % of the cycles in \d+ % of the width"))
    page.get_by_role("button", name="Repeats 60 times: io, jo").click()
    card = page.get_by_role("dialog", name=re.compile("×60"))
    card.get_by_role("slider").fill("20")
    expect(card).to_contain_text("21 of 60")
    expect(card).to_contain_text("io = 2, jo = 7")
    start = int(re.sub(r"\D", "", re.findall(r"cycles ([\d\u202f]+) to", card.inner_text())[0]))
    card.get_by_role("button", name="Expand here").click()
    folded(page, "false")
    expect(playhead(page)).to_have_attribute("aria-valuenow", str(start))
    low, high = sight(page)
    assert low < start < high and high - low < total / 10
    # Folded or not, the same time has the same description.
    text = playhead(page).get_attribute("aria-valuetext") or ""
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
        expect(playhead(page)).not_to_have_attribute("aria-valuetext", text)
        text = playhead(page).get_attribute("aria-valuetext") or ""
        for pressed in ("true", "false"):
            page.keyboard.press("e")
            folded(page, pressed)
            expect(playhead(page)).to_have_attribute("aria-valuetext", text)
    page.keyboard.press("0")
    end = page.get_by_role("slider", name="End of visible range")
    expect(end).to_have_attribute("aria-valuenow", f"{total:.0f}")
    # Too many tasks to draw individually: the busy share of each bin.
    page.mouse.move(*at(page, 0.5, 75))
    expect(page.locator(".timeline-tip")).to_contain_text(re.compile(r"array, .*\nC \d+ %"))

    box = page.get_by_role("group", name="The whole run").bounding_box()
    assert box is not None
    left, width, middle = box["x"], box["width"], box["y"] + box["height"] / 2
    drag(page, (left + width - 1, middle), (left + width * 0.25, middle))
    folded(page, "false")  # a part of the run is in real time
    assert float(end.get_attribute("aria-valuenow") or 0) == pytest.approx(total / 4, rel=0.02)
    drag(page, (left + width * 0.12, middle), (left + width * 0.52, middle))
    low, high = sight(page)
    assert low == pytest.approx(0.4 * total, rel=0.03) and high - low == pytest.approx(total / 4, rel=0.02)
    page.get_by_role("slider", name="Visible range", exact=True).focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(start_of_sight(page)).not_to_have_attribute("aria-valuenow", str(round(low)))
    assert sight(page)[0] == pytest.approx(low - 0.2 * (high - low), rel=0.02)
    # A new range is drawn beside the window; a click moves the playhead.
    drag(page, (left + width * 0.9, middle), (left + width * 0.95, middle))
    assert sight(page)[0] == pytest.approx(0.9 * total, rel=0.01)
    before = cycle(page)
    page.mouse.click(left + width * 0.1, middle)
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", str(before))
    assert cycle(page) == pytest.approx(0.1 * total, rel=0.02)

    for loop, value in (("io", 6), ("jo", 3), ("ko", 5)):
        page.get_by_role("slider", name=f"{loop} of C").fill(str(value))
    expect(playhead(page)).to_have_attribute("aria-valuetext", re.compile("array C: io = 6, jo = 3, ko = 5"))
    expect(row(page, "io").locator(".loop-name")).to_have_attribute("data-now", "6")
    assert cycle(page) > 0.7 * total


@pytest.mark.slow
def test_fix_of_a_stall_card_updates_the_picture(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "vtcm_double_buffer")
    ready(page)
    open_card(page)
    remedy = page.locator(".card-remedy")
    expect(remedy).to_contain_text("matrix needs 33 B/cycle to work without stalls, the global port has 26")
    fix = remedy.get_by_role("button")
    expect(fix).to_contain_text(re.compile(r"saves 40.136 cycles"), timeout=30_000)
    fix.click()
    expect(playhead(page)).to_have_attribute("aria-valuemax", str(203_064 - 40_136))
    expect(page.locator(".timeline-card")).to_be_hidden()
    page.mouse.move(*at(page, 0.5, 20))
    page.mouse.wheel(0, -600)
    expect(start_of_sight(page)).not_to_have_attribute("aria-valuenow", "0")
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(playhead(page)).to_have_attribute("aria-valuemax", "203064")
    expect(start_of_sight(page)).to_have_attribute("aria-valuenow", "0")  # the zoom is reset
    assert span(page) == 203_064
    # A machine that cannot run it: the reason replaces the picture.
    page.locator(".machine-picker").select_option("gemmini")
    expect(page.locator(".timeline-blank")).to_contain_text("scope")
    expect(playhead(page)).to_be_hidden()


@pytest.mark.slow
def test_cards_and_tables_are_accessible(page: Page, app_url: str, shoot: Shoot) -> None:
    opened(page, app_url, "gemmini_gemm")
    page.get_by_role("button", name="Fold repeats").click()
    page.get_by_role("button", name="Repeats 60 times: io, jo").click()
    shoot(page, "timeline-repeat")
    assert_no_violations(page, "#area-timeline")
    page.keyboard.press("Escape")
    open_card(page)
    expect(page.locator(".card-step code")).to_be_visible()
    shoot(page, "timeline-wait")
    assert_no_violations(page, "#area-timeline")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Critical path").click()
    playhead(page).focus()
    page.keyboard.press("t")
    shoot(page, "timeline-table")
    assert_no_violations(page, "#area-timeline")
    page.keyboard.press("t")


def test_the_selected_loop_has_brackets_and_a_zoom(page: Page, app_url: str) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    whole, before = span(page), page.locator(".timeline canvas.plot").screenshot()
    row(page, "ko").click()
    zoom = page.get_by_role("button", name="Zoom to ko")
    zoom.click()
    until(page, lambda: span(page) < whole / 2)
    loop = span(page)
    playhead(page).focus()
    page.keyboard.press("z")
    until(page, lambda: span(page) < 0.7 * loop)
    page.keyboard.press("0")
    until(page, lambda: page.locator(".timeline canvas.plot").screenshot() != before)
    row(page, "mi").click()
    expect(page.locator(".zoom-loop")).to_have_count(0)  # it runs inside of single tasks
