"""The loop tree on the page, with the mouse and the keyboard: what a drop would do before it, several rows at once, names, search, costs,
palette; and a nest of three thousand rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import drag, figure, go_to_example, grab, point_in, row, steps
from support.browser.tree_bench import Bench, go_to
from support.programs.sources import elementwise_stages

Shoot = Callable[[Page, str], Path]
LONG = 30_000
"""Milliseconds that a busy machine may take."""

COPIES = ("B_local.vtcm", "A_local.vtcm")


@pytest.fixture
def opened(open_page: Callable[..., Page], app_url: str) -> Callable[..., Page]:
    def make(example: str = "place_the_copies", **options: object) -> Page:
        page = open_page(**options)
        go_to_example(page, app_url, example)
        return page

    return make


def tip(page: Page) -> Locator:
    return page.locator(".tw-tree .tip")


def test_given_a_block_in_the_hand_then_each_legal_loop_says_what_a_drop_would_change(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened()
    assert figure(page, "Cycles") == "does not fit"
    grab(page, "A_local.vtcm")
    expect(row(page, "ax0~2")).to_have_attribute("data-offer", "illegal")
    page.mouse.move(*point_in(page, "ko"), steps=5)
    expect(row(page, "ko").locator(".offer")).to_contain_text("fits vtcm[1]", timeout=LONG)
    expect(row(page, "ko").locator(".offer")).to_contain_text("runs ×4")
    expect(row(page, "ko")).to_have_attribute("data-offer", "legal")
    expect(tip(page)).to_contain_text("Bytes moved")
    expect(tip(page)).to_contain_text("Recompute")
    expect(tip(page)).to_contain_text("Peak vtcm[1]")
    expect(tip(page)).to_contain_text("with larger memories")
    page.mouse.move(*point_in(page, "ki"), steps=5)
    expect(row(page, "ki")).to_have_attribute("data-offer", "costly", timeout=LONG)
    expect(tip(page)).to_contain_text("runs 256× as often", timeout=LONG)
    shoot(page, "tree-foretold")
    assert_no_violations(page, "#area-tree")
    page.mouse.move(*point_in(page, "ko"), steps=5)
    page.mouse.up()
    # The drop comes to what was said.
    expect(page.locator('[data-figure="Peak vtcm"] b')).to_have_text("512 + 16 of 2 × 128 KiB", timeout=LONG)
    assert steps(page)[-1] == "sch.compute_at(AL, ko)"


def test_given_a_keyboard_then_the_live_region_says_what_a_drop_would_do(opened: Callable[..., Page]) -> None:
    page = opened()
    row(page, "A_local.vtcm").focus()
    page.keyboard.press("Enter")
    page.locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()
    page.keyboard.press("Shift+ArrowDown")
    expect(row(page, "mo")).to_be_focused()
    live = page.locator('.tw-tree > [role="status"]')
    expect(live).to_contain_text(re.compile(r"mo: (legal|costly)\..*Peak vtcm\[1\] .* fits"), timeout=LONG)
    page.keyboard.press("Escape")
    expect(live).to_contain_text("Cancelled")


def test_given_a_loop_when_dragged_onto_a_loop_then_the_new_order_was_foretold(opened: Callable[..., Page]) -> None:
    page = opened()
    box = row(page, "ko").locator(".loop-name").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 12, box["y"] + 14, steps=3)
    expect(row(page, "mo")).to_have_attribute("data-offer", "illegal")
    page.mouse.move(*point_in(page, "mi"), steps=5)
    expect(tip(page)).to_contain_text("new order: mi, ko")
    expect(row(page, "mi").locator(".offer")).to_contain_text("cycles", timeout=LONG)
    page.mouse.up()
    expect(page.locator(".step code").last).to_have_text("sch.reorder(mi, ko)")


def test_given_two_blocks_chosen_when_dragged_then_both_move_and_one_undo_takes_them_back(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened()
    row(page, COPIES[0]).click()
    row(page, COPIES[1]).click(modifiers=["Control"])
    for name in COPIES:
        expect(row(page, name)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".hint")).to_contain_text("2 rows selected")
    before = steps(page)
    grab(page, COPIES[1])
    expect(page.locator(".hint")).to_contain_text("2 blocks")
    page.mouse.move(*point_in(page, "ko"), steps=5)
    expect(row(page, "ko").locator(".offer")).to_contain_text("fits", timeout=LONG)
    shoot(page, "tree-several")
    page.mouse.up()
    expect(page.locator(".step code")).to_have_count(len(before) + 2)
    row(page, COPIES[0]).focus()
    page.keyboard.press("Control+z")
    expect(page.locator(".step code")).to_have_count(len(before))


def test_given_rows_chosen_by_keyboard_then_their_menu_is_about_all_of_them(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened()
    row(page, "mi").focus()
    page.keyboard.press("Control+Shift+ArrowDown")
    expect(row(page, "mi")).to_have_attribute("aria-selected", "true")
    expect(row(page, "ni")).to_have_attribute("aria-selected", "true")
    page.keyboard.press(".")
    expect(page.get_by_role("menuitem", name=re.compile("Fuse mi × ni"))).to_be_visible()
    expect(page.get_by_role("menuitem", name=re.compile("Unroll"))).to_be_visible()
    shoot(page, "tree-several-menu")
    assert_no_violations(page, "#area-tree")
    page.keyboard.type("unroll")
    page.keyboard.press("Enter")
    expect(row(page, "ni").locator(".loop-kind")).to_have_text("unrolled")
    expect(row(page, "mi").locator(".loop-kind")).to_have_text("unrolled")
    row(page, "mi").focus()
    page.keyboard.press("Escape")
    expect(page.locator('.row[aria-selected="true"]')).to_have_count(1)


def test_given_a_shift_click_then_all_rows_between_are_chosen(opened: Callable[..., Page]) -> None:
    page = opened()
    row(page, "mo").click()
    row(page, "mi").click(modifiers=["Shift"])
    expect(page.locator('.row[aria-selected="true"]')).to_have_count(4)
    row(page, "ko").click()
    expect(page.locator('.row[aria-selected="true"]')).to_have_count(1)


def test_given_f2_then_the_name_changes_in_the_tree_and_in_the_text(opened: Callable[..., Page], shoot: Shoot) -> None:
    page = opened()
    row(page, "ko").focus()
    page.keyboard.press("F2")
    field = page.get_by_label("Name of loop ko")
    expect(field).to_be_focused()
    shoot(page, "tree-rename")
    field.fill("ki")
    page.keyboard.press("Enter")
    expect(page.locator(".tw-tree .notice")).to_contain_text("a loop 'ki' already exists")
    row(page, "ko").locator(".loop-name").dblclick()
    field.fill("kk")
    page.keyboard.press("Enter")
    expect(row(page, "kk")).to_be_focused()
    expect(page.locator(".tw-tree .notice")).to_be_hidden()
    assert any('names=["kk", "ki"]' in line for line in steps(page))
    assert any("sch.reorder(mo, no, kk" in line for line in steps(page))
    # A copy is called by its buffer: its variable is what has a name.
    row(page, "A_local.vtcm").focus()
    page.keyboard.press("F2")
    page.get_by_label("Variable of A_local.vtcm").fill("staged")
    page.keyboard.press("Enter")
    expect(row(page, "A_local.vtcm").locator(".variable")).to_have_text("staged")
    page.keyboard.press("F2")
    page.keyboard.press("Escape")
    expect(row(page, "A_local.vtcm")).to_be_focused()


def test_given_a_search_then_matches_are_lit_and_enter_goes_round(opened: Callable[..., Page], shoot: Shoot) -> None:
    page = opened()
    row(page, "mo").focus()
    page.keyboard.press("ArrowLeft")
    expect(row(page, "C")).to_be_hidden()
    page.keyboard.press("Control+f")
    field = page.get_by_label("Find in the loop nest")
    expect(field).to_be_focused()
    page.keyboard.type("cache_write")
    expect(page.locator(".search-count")).to_have_text("1 of 2")
    expect(row(page, "C")).to_have_class(re.compile("is-current"))
    expect(row(page, "C")).to_be_visible()
    field.fill("local.acc")
    expect(page.locator(".search-count")).to_have_text("1 of 2")
    expect(page.locator(".row.is-match")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.locator(".search-count")).to_have_text("2 of 2")
    page.keyboard.press("Enter")
    expect(page.locator(".search-count")).to_have_text("1 of 2")
    shoot(page, "tree-search")
    assert_no_violations(page, "#area-tree")
    field.fill("nothing like it")
    expect(page.locator(".search-count")).to_have_text("no match")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(page.locator(".row:focus")).to_have_count(1)


def test_given_a_folded_loop_then_it_says_what_is_in_it_costs_and_bars_can_be_switched(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened()
    cost = row(page, "mo").locator(".cost")
    expect(row(page, "A_local.vtcm").locator(".cost-bar")).to_be_visible()
    expect(row(page, "A_local.vtcm").locator(".cost-share")).to_have_text(re.compile(r"^\d+ %$"))
    expect(page.get_by_label("Cost of rows: busy cycles")).to_be_visible()
    shoot(page, "tree-costs")
    assert_no_violations(page, "#area-tree")
    row(page, "mo").focus()
    page.keyboard.press("=")
    expect(row(page, "A_local.vtcm").locator(".cost")).to_have_attribute("title", re.compile("512.KiB copied"))
    page.get_by_label("Cost of rows: bytes copied").click()
    expect(row(page, "A_local.vtcm").locator(".cost")).to_be_hidden()
    expect(cost).to_be_hidden()
    row(page, "mo").focus()
    page.keyboard.press("ArrowLeft")
    expect(cost).to_contain_text("cycles")
    expect(cost).to_contain_text("KiB")


def test_given_loops_of_a_nest_in_one_row_then_each_is_a_target_and_keys_reach_it(
    opened: Callable[..., Page], shoot: Shoot
) -> None:
    page = opened()
    page.get_by_label("Loops of a nest in one row").click()
    nest = row(page, "mo")
    expect(nest).to_have_accessible_name(re.compile("^loops mo extent 4, no extent 4"))
    expect(row(page, "no")).to_have_count(0)
    chip = page.locator('.loop-chip[data-loop="no"]')
    chip.click()
    expect(chip).to_have_class(re.compile("is-selected"))
    expect(page.locator(".inspector h2").first).to_contain_text("no")
    shoot(page, "tree-grid-rows")
    assert_no_violations(page, "#area-tree")
    nest.focus()
    page.keyboard.press("ArrowRight")
    expect(row(page, "no")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(row(page, "no")).to_have_count(0)
    grab(page, "A_local.vtcm")
    expect(chip).to_have_attribute("data-offer", re.compile("legal|costly|illegal"))
    box = chip.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + 8, steps=4)
    expect(chip).to_have_class(re.compile("is-over"))
    expect(page.locator(".tip")).to_be_visible()
    page.keyboard.press("Escape")
    page.mouse.up()
    row(page, "A_local.vtcm").focus()
    page.keyboard.press("Enter")
    expect(row(page, "no")).to_be_visible()
    page.keyboard.press("Escape")
    expect(row(page, "no")).to_have_count(0)


def test_given_the_palette_then_any_action_is_found_and_done(opened: Callable[..., Page], shoot: Shoot) -> None:
    page = opened()
    row(page, "ki").focus()
    page.keyboard.press("Control+Shift+P")
    field = page.get_by_role("searchbox", name="Find any action")
    expect(field).to_be_focused()
    expect(page.get_by_role("menuitem", name=re.compile("Unroll")).first).to_be_visible()
    shoot(page, "palette")
    assert_no_violations(page)
    page.keyboard.type("unroll")
    page.keyboard.press("Enter")
    expect(row(page, "ki").locator(".loop-kind")).to_have_text("unrolled")
    page.keyboard.press("Control+Shift+P")
    page.keyboard.type("cache_read")
    expect(page.get_by_role("menuitem", name=re.compile("Cache read")).first).to_have_attribute("aria-disabled", "true")
    field.fill("show python")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Python")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Control+Shift+P")
    page.keyboard.type("machine: gem")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Notebook")).to_contain_text('tilewright.machine("gemmini")')
    page.keyboard.press("Control+Shift+P")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)


@pytest.fixture
def nest(serve: Callable[..., str], open_page: Callable[..., Page]) -> Callable[[int], tuple[Bench, Page]]:
    def make(stages: int) -> tuple[Bench, Page]:
        made = Bench(elementwise_stages(stages))
        url = serve(lambda: made.view(width=700, height=560))
        page = open_page(width=760, height=600)
        go_to(page, url)
        page.locator(".row").first.wait_for(timeout=LONG)
        return made, page

    return make


def test_given_three_thousand_rows_then_only_those_in_sight_stand_and_all_can_be_reached(
    nest: Callable[[int], tuple[Bench, Page]], shoot: Shoot
) -> None:
    made, page = nest(1000)
    assert len(made.tree.rows) == 3000
    assert page.locator(".row").count() < 150
    row(page, "i0").focus()
    page.keyboard.press("End")
    expect(row(page, "b999")).to_be_focused()
    expect(row(page, "i0")).to_have_count(0)
    # The row of the cursor may be scrolled away: the keyboard goes on from it.
    page.mouse.move(300, 300)
    page.mouse.wheel(0, -100_000)
    expect(row(page, "i0")).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(row(page, "j999")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("b500")
    expect(page.locator(".search-count")).to_have_text(re.compile(r"of \d+"))
    expect(page.locator(".row.is-current")).to_be_visible()
    shoot(page, "tree-3000")
    page.keyboard.press("Escape")
    # The picture at the edge goes anywhere.
    picture = page.locator(".minimap")
    expect(picture).to_be_visible()
    box = picture.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 20, box["y"] + 4)
    expect(row(page, "i0")).to_be_visible()
    page.mouse.move(box["x"] + 20, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] - 2, steps=8)
    page.mouse.up()
    expect(row(page, "b999")).to_be_visible()


def test_given_three_thousand_rows_then_scrolling_stays_fluid(nest: Callable[[int], tuple[Bench, Page]]) -> None:
    """Frames while scrolling, printed (`-s`); a frame of a quarter of a second would be a stop that is seen even on a loaded machine."""
    _, page = nest(1000)
    frames = page.evaluate(
        """async () => {
        const find = (root) => { for (const e of root.querySelectorAll('*')) { if (e.classList.contains('tw-tree')) return e;
          if (e.shadowRoot) { const found = find(e.shadowRoot); if (found) return found; } } return null; };
        const list = find(document).querySelector('.list');
        const times = [];
        for (let n = 0; n < 60; n++) {
          const began = performance.now();
          list.scrollTop += 400;
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
          times.push(performance.now() - began);
        }
        return times.sort((a, b) => a - b);
      }"""
    )
    print(f"\n3000 rows, a frame while scrolling: median {frames[30]:.0f} ms, 95 % {frames[57]:.0f} ms")
    assert frames[30] < 250


def test_given_a_short_nest_then_it_has_no_picture_at_its_edge(opened: Callable[..., Page]) -> None:
    page = opened("what_moves_what", height=1400)
    expect(row(page, "C")).to_be_visible()
    expect(page.locator(".minimap")).to_be_hidden()


def test_given_a_drop_that_is_not_possible_then_the_reason_stays_and_nothing_changes(
    opened: Callable[..., Page],
) -> None:
    page = opened("what_moves_what")
    before = len(steps(page))
    drag(page, "C", row_of_first_loop(page))
    expect(page.locator(".tw-tree .notice")).to_be_visible()
    assert len(steps(page)) == before


def test_given_the_menu_of_a_loop_then_two_clicks_reorder_it(opened: Callable[..., Page]) -> None:
    page = opened()
    row(page, "ko").click(button="right")
    page.get_by_role("menuitem", name=re.compile("^Reorder")).click()
    page.locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()
    row(page, "mi").locator(".loop-name").click()
    expect(page.locator(".step code").last).to_have_text("sch.reorder(mi, ko)")


def row_of_first_loop(page: Page) -> str:
    found = page.locator(".row-loop").first.get_attribute("data-id")
    assert found is not None
    return found
