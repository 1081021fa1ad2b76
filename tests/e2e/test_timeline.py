"""The timeline with mouse and keyboard: playhead, zoom, repeats, waits, overview, replay, tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import row, until

Shoot = Callable[[Page, str], Path]


def opened(page: Page, app_url: str, name: str) -> Page:
    page.goto(f"{app_url}/example/{name}")
    page.get_by_role("treeitem").first.wait_for()
    playhead(page).wait_for()
    expect(playhead(page)).to_have_attribute("aria-valuemax", re.compile(r"\d+"))
    expect(playhead(page)).to_have_attribute("aria-valuetext", re.compile("cycle"))
    return page


def playhead(page: Page) -> Locator:
    return page.get_by_role("slider", name="Playhead")


def cycle(page: Page) -> int:
    return int(playhead(page).get_attribute("aria-valuenow") or -1)


def sight(page: Page) -> tuple[float, float]:
    """The visible range in real time."""
    ends = [page.get_by_role("slider", name=f"{end} of visible range") for end in ("Start", "End")]
    start, end = (float(slider.get_attribute("aria-valuenow") or 0) for slider in ends)
    return start, end


def span(page: Page) -> float:
    start, end = sight(page)
    return end - start


def at(page: Page, part: float, y: float) -> tuple[float, float]:
    """A point of the plot: `part` of the way from the first to the last cycle in sight, `y` pixels down."""
    box = page.locator(".timeline canvas.plot").bounding_box()
    assert box is not None
    return box["x"] + 176 + part * (box["width"] - 186), box["y"] + y


def fold(page: Page) -> None:
    """Draw repeats once."""
    button = page.get_by_role("button", name="Fold repeats")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_given_keys_then_the_playhead_moves_and_tree_code_and_its_own_words_say_what_runs(
    page: Page, app_url: str, shoot: Shoot
) -> None:
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
    shoot(page, "timeline-playhead")


def test_given_the_mouse_then_it_zooms_pans_fits_scrubs_and_chooses(page: Page, app_url: str, shoot: Shoot) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "false")
    whole = span(page)
    page.mouse.move(*at(page, 0.5, 20))
    for _ in range(14):
        page.mouse.wheel(0, -120)
    until(page, lambda: span(page) < whole / 20)
    start, end = sight(page)
    assert start < whole / 2 < end
    page.mouse.down()
    page.mouse.move(*at(page, 0.2, 20), steps=6)
    page.mouse.up()
    expect(page.get_by_role("slider", name="Start of visible range")).not_to_have_attribute(
        "aria-valuenow", str(round(start))
    )
    moved, _ = sight(page)
    assert moved == pytest.approx(start + 0.3 * (end - start), abs=0.02 * (end - start))
    # A click on a task chooses its block and takes the playhead there; the tip says what it is.
    page.mouse.move(*at(page, 0.5, 20))
    expect(page.locator(".timeline-tip")).to_contain_text("cycles")
    tip = page.locator(".timeline-tip").inner_text()
    shoot(page, "timeline-zoomed")
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
    page.mouse.move(*at(page, 0.5, box["height"] - 8))
    page.mouse.down()
    page.mouse.move(*at(page, 0.8, box["height"] - 8), steps=5)
    page.mouse.up()
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", str(before))
    page.mouse.dblclick(*at(page, 0.9, 25))
    expect(page.get_by_role("slider", name="Start of visible range")).to_have_attribute("aria-valuenow", "0")
    assert span(page) == whole


def test_given_what_repeats_then_any_iteration_is_chosen_and_unfolds_and_both_views_say_the_same(
    page: Page, app_url: str, shoot: Shoot
) -> None:
    opened(page, app_url, "gemmini_gemm")
    fold(page)
    page.get_by_role("button", name="Repeats 60 times: io, jo").click()
    card = page.get_by_role("dialog", name=re.compile("×60"))
    card.get_by_role("slider").fill("20")
    expect(card).to_contain_text("21 of 60")
    expect(card).to_contain_text("io = 2, jo = 7")
    shoot(page, "timeline-repeat")
    start = int(re.sub(r"\D", "", re.findall(r"cycles ([\d\u202f]+) to", card.inner_text())[0]))
    card.get_by_role("button", name="Expand here").click()
    expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "false")
    expect(playhead(page)).to_have_attribute("aria-valuenow", str(start))
    low, high = sight(page)
    assert low < start < high and high - low < 60_000
    # Folded or not, the same moment is told in the same words.
    said: dict[str, str] = {}
    text = playhead(page).get_attribute("aria-valuetext") or ""
    for _ in range(6):
        page.keyboard.press("Shift+ArrowRight")
        expect(playhead(page)).not_to_have_attribute("aria-valuetext", text)
        text = playhead(page).get_attribute("aria-valuetext") or ""
        page.keyboard.press("e")
        expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "true")
        expect(playhead(page)).to_have_attribute("aria-valuetext", text)
        page.keyboard.press("e")
        expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "false")
        expect(playhead(page)).to_have_attribute("aria-valuetext", text)
        said[text] = text
    assert len(said) >= 5
    page.keyboard.press("0")
    expect(page.get_by_role("slider", name="End of visible range")).to_have_attribute("aria-valuenow", "625414")
    # Too many tasks to draw one by one: how much of each bin they take.
    page.mouse.move(*at(page, 0.5, 75))
    expect(page.locator(".timeline-tip")).to_contain_text(re.compile(r"array, .*\nC \d+ %"))
    shoot(page, "timeline-by-the-clock")


def test_given_a_wait_then_its_block_buffer_and_step_are_shown_by_key_and_by_click(
    page: Page, app_url: str, shoot: Shoot
) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    playhead(page).focus()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    card = page.get_by_role("dialog", name=re.compile("stalled on operand"))
    expect(card).to_contain_text("Operand not ready")
    expect(card.locator(".card-step code")).to_contain_text("sch.")
    step = card.locator(".card-step code").inner_text()
    expect(page.locator(".step.is-pointed, .step").filter(has_text=step).first).to_be_visible()
    expect(page.locator(".inspector")).to_contain_text("stalls")
    expect(page.locator('[role="treeitem"][aria-selected="true"]')).to_have_count(1)
    shoot(page, "timeline-wait")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    expect(playhead(page)).to_be_focused()
    # By mouse: the matrix unit waits at the beginning of everything.
    for _ in range(3):
        page.keyboard.press("Home")
    page.keyboard.press("+")
    page.keyboard.press("+")
    box = page.locator(".timeline canvas.plot").bounding_box()
    assert box is not None
    x, y = at(page, 0.02, 0)
    lanes = [y + n for n in range(50, 90, 4)]
    for lane in lanes:
        page.mouse.click(x, lane)
        if page.get_by_role("dialog", name="matrix stalled on operand").count():
            break
    expect(page.get_by_role("dialog", name="matrix stalled on operand")).to_contain_text("over the run")


def test_given_the_overview_then_its_window_ends_and_keys_choose_what_is_in_sight(page: Page, app_url: str) -> None:
    opened(page, app_url, "gemmini_gemm")
    overview = page.get_by_role("group", name="The whole run")
    box = overview.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    end = page.get_by_role("slider", name="End of visible range")
    page.mouse.move(box["x"] + box["width"] - 1, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, middle, steps=6)
    page.mouse.up()
    # A part of the run is by the clock.
    expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "false")
    assert float(end.get_attribute("aria-valuenow") or 0) == pytest.approx(156_354, rel=0.02)
    page.mouse.move(box["x"] + box["width"] * 0.12, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.52, middle, steps=6)
    page.mouse.up()
    start, stop = sight(page)
    assert start == pytest.approx(250_166, rel=0.03) and stop - start == pytest.approx(156_354, rel=0.02)
    body = page.get_by_role("slider", name="Visible range", exact=True)
    body.focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_role("slider", name="Start of visible range")).not_to_have_attribute(
        "aria-valuenow", str(round(start))
    )
    assert sight(page)[0] == pytest.approx(start - 0.2 * (stop - start), rel=0.02)
    # A new range is drawn beside the window; a click moves the playhead.
    page.mouse.move(box["x"] + box["width"] * 0.9, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.95, middle, steps=6)
    page.mouse.up()
    assert sight(page)[0] == pytest.approx(562_873, rel=0.01)
    page.mouse.click(box["x"] + box["width"] * 0.1, middle)
    expect(playhead(page)).not_to_have_attribute("aria-valuenow", "0")
    assert cycle(page) == pytest.approx(62_541, rel=0.02)


def test_given_sliders_of_loops_then_the_playhead_goes_to_that_iteration(page: Page, app_url: str) -> None:
    opened(page, app_url, "gemmini_gemm")
    for loop, value in (("io", 6), ("jo", 3), ("ko", 5)):
        page.get_by_role("slider", name=f"{loop} of C").fill(str(value))
    expect(playhead(page)).to_have_attribute("aria-valuetext", re.compile("array C: io = 6, jo = 3, ko = 5"))
    expect(row(page, "io").locator(".loop-name")).to_have_attribute("data-now", "6")
    assert cycle(page) > 450_000


def test_given_replay_then_the_playhead_runs_until_it_is_paused(page: Page, app_url: str) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    page.get_by_label("Speed").select_option("4")
    playhead(page).focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    until(page, lambda: cycle(page) > 5000)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    here = cycle(page)
    assert here > 5000
    page.wait_for_timeout(200)
    assert cycle(page) == here


def test_given_the_table_then_the_figures_are_there_as_text(page: Page, app_url: str, shoot: Shoot) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    page.get_by_role("button", name="Table").click()
    tables = page.get_by_role("region", name="Timeline as tables")
    expect(tables.get_by_role("table", name=re.compile("Engines over 203"))).to_contain_text("matrix")
    expect(tables.get_by_role("table", name="Memories")).to_contain_text("A_local.vtcm#1")
    expect(tables.get_by_role("table", name="At cycle 0")).to_contain_text("stalled on operand")
    shoot(page, "timeline-table")
    page.keyboard.press("t")
    expect(tables).to_be_hidden()


def test_given_another_schedule_then_the_picture_follows_and_the_zoom_starts_anew(page: Page, app_url: str) -> None:
    opened(page, app_url, "what_moves_what")
    before = playhead(page).get_attribute("aria-valuemax")
    page.mouse.move(*at(page, 0.5, 20))
    page.mouse.wheel(0, -600)
    page.locator('[data-step="3"] .step-text').click()
    expect(playhead(page)).not_to_have_attribute("aria-valuemax", str(before))
    expect(page.get_by_role("slider", name="Start of visible range")).to_have_attribute("aria-valuenow", "0")
    assert span(page) == float(playhead(page).get_attribute("aria-valuemax") or 0)
    # A machine that cannot run it: the reason stands where the picture was.
    page.locator(".machine-picker").select_option("dual-bank-npu")
    expect(page.locator(".timeline-blank")).to_contain_text("scope")
    expect(playhead(page)).to_be_hidden()


def test_given_a_long_run_then_the_axis_is_true_and_folding_is_a_choice_that_is_kept(
    page: Page, app_url: str, shoot: Shoot
) -> None:
    opened(page, app_url, "gemmini_gemm")
    assert sight(page) == (0, 625_414)
    expect(page.locator(".fold-note")).to_have_text("")
    # The playhead is where its cycle is on a true axis.
    page.mouse.click(*at(page, 0.5, 20))
    until(page, lambda: abs(cycle(page) - 312_707) < 2_000)
    shoot(page, "timeline-true")
    fold(page)
    expect(page.locator(".fold-note")).to_have_text(re.compile(r"\d+ % of the cycles in \d+ % of the width"))
    shoot(page, "timeline-folded")
    page.reload()
    expect(page.get_by_role("button", name="Fold repeats")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Fold repeats").click()
    expect(page.locator(".fold-note")).to_have_text("")


def test_given_a_card_then_a_click_elsewhere_or_escape_closes_it(page: Page, app_url: str) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    card = page.locator(".timeline-card")
    for close in (
        lambda: page.keyboard.press("Escape"),
        lambda: row(page, "ko").locator(".loop-name").click(),
        lambda: page.mouse.click(*at(page, 0.6, 20)),
    ):
        playhead(page).focus()
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        expect(card).to_be_visible()
        close()
        expect(card).to_be_hidden()


def test_given_a_task_then_arrows_and_words_say_what_it_waits_for_and_the_critical_path_is_drawn(
    page: Page, app_url: str, shoot: Shoot
) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    playhead(page).focus()
    for _ in range(8):
        page.keyboard.press("w")
    for _ in range(6):
        page.keyboard.press("Shift+ArrowRight")
    links = page.locator(".timeline > p[role=status]")
    page.keyboard.press("l")
    page.keyboard.press("l")
    expect(links).to_contain_text(re.compile(r"waits for .*(for the data in|for the slot) .*vtcm"))
    expect(links).to_contain_text("is awaited by")
    shoot(page, "timeline-links")
    page.keyboard.press("t")
    tables = page.get_by_role("region", name="Timeline as tables")
    expect(tables.get_by_role("table", name="Selected task")).to_contain_text("waits for")
    page.keyboard.press("t")
    page.keyboard.press("Escape")
    expect(links).to_have_text("")
    page.keyboard.press("0")
    page.get_by_role("button", name="Critical path").click()
    expect(page.locator(".fold-note")).to_have_text(re.compile(r"Critical path: 42 % A_local.vtcm \(engine busy\)"))
    shoot(page, "timeline-path")
    playhead(page).focus()
    page.keyboard.press("t")
    expect(tables.get_by_role("table", name="Critical path")).to_contain_text("end of the run")
    page.keyboard.press("t")
    assert_no_violations(page, "#area-timeline")


def test_given_a_stall_then_its_card_says_what_would_end_it_and_does_it(page: Page, app_url: str, shoot: Shoot) -> None:
    opened(page, app_url, "vtcm_double_buffer")
    playhead(page).focus()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    remedy = page.locator(".card-remedy")
    expect(remedy).to_contain_text("matrix needs 33 B/cycle to work without stalls, the global port has 26")
    fix = remedy.get_by_role("button")
    expect(fix).to_contain_text(re.compile(r"saves 40.136 cycles"), timeout=30_000)
    shoot(page, "timeline-remedy")
    assert_no_violations(page, "#area-timeline")
    fix.click()
    expect(playhead(page)).to_have_attribute("aria-valuemax", str(203_064 - 40_136))
    expect(page.locator(".timeline-card")).to_be_hidden()


def test_given_cards_and_tables_then_axe_has_no_complaint(page: Page, app_url: str) -> None:
    opened(page, app_url, "gemmini_gemm")
    fold(page)
    page.get_by_role("button", name="Repeats 60 times: io, jo").click()
    assert_no_violations(page, "#area-timeline")
    page.keyboard.press("Escape")
    playhead(page).focus()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator(".card-step code")).to_be_visible()
    assert_no_violations(page, "#area-timeline")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert_no_violations(page, "#area-timeline")
