"""The loop tree in the app: drop previews, multiple selection, names, search, costs, palette; and a nest of many rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import drag, figure, go_to_example, grab, open_small, point_in, row, steps
from support.browser.tree_bench import Bench, go_to
from support.programs.sources import MATMUL, elementwise_stages

Shoot = Callable[[Page, str], Path]
LONG = 30_000
"""Milliseconds on a busy machine."""

COPIES = ("B_local.vtcm", "A_local.vtcm")


@pytest.fixture
def app(page: Page, app_url: str) -> Page:
    open_small(page, app_url, "place_the_copies")
    return page


def tip(page: Page) -> Locator:
    return page.locator(".tw-tree .tip")


def grabbed(page: Page) -> None:
    """Wait until the loops show the effect of a drop."""
    page.locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()


def selected(page: Page) -> Locator:
    return page.locator('.row[aria-selected="true"]')


def undone(page: Page, count: int) -> None:
    """Undo by the key until `count` steps are left."""
    page.locator(".row[tabindex='0']").focus()
    page.keyboard.press("Control+z")
    expect(page.locator(".step code")).to_have_count(count)


def test_another_program_begins_at_its_first_row(app: Page, app_url: str) -> None:
    drag(app, "A_local.vtcm", "ko")
    expect(row(app, "A_local.vtcm")).to_have_attribute("tabindex", "0")
    app.get_by_role("button", name="Gallery").click()
    open_small(app, app_url, "place_the_copies")
    expect(app.get_by_role("treeitem").first).to_have_attribute("tabindex", "0")
    expect(row(app, "A_local.vtcm")).to_have_attribute("tabindex", "-1")


@pytest.mark.slow
def test_a_drag_shows_the_effect_of_each_drop(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "place_the_copies")
    count = len(steps(page))
    assert figure(page, "Cycles") == "does not fit"
    drag(page, "A_local.vtcm", "ax0~2")
    expect(page.locator(".tw-tree .notice")).to_be_visible()
    assert len(steps(page)) == count, "a drop that is not possible changes nothing"

    grab(page, "A_local.vtcm")
    expect(row(page, "ax0~2")).to_have_attribute("data-offer", "illegal")
    page.mouse.move(*point_in(page, "ko"), steps=5)
    expect(row(page, "ko").locator(".offer")).to_contain_text("fits vtcm[1]", timeout=LONG)
    expect(row(page, "ko").locator(".offer")).to_contain_text("runs ×4")
    expect(row(page, "ko")).to_have_attribute("data-offer", "legal")
    for text in ("Bytes moved", "Recompute", "Peak vtcm[1]", "with larger memories"):
        expect(tip(page)).to_contain_text(text)
    page.mouse.move(*point_in(page, "ki"), steps=5)
    expect(row(page, "ki")).to_have_attribute("data-offer", "costly", timeout=LONG)
    expect(tip(page)).to_contain_text("runs 256× as often", timeout=LONG)
    page.mouse.move(*point_in(page, "ko"), steps=5)
    page.mouse.up()
    expect(page.locator('[data-figure="Peak vtcm"] b')).to_have_text("512 + 16 of 2 × 128 KiB", timeout=LONG)
    assert steps(page)[-1] == "sch.compute_at(AL, ko)"
    undone(page, count)

    row(page, "A_local.vtcm").focus()
    page.keyboard.press("Enter")
    grabbed(page)
    page.keyboard.press("Shift+ArrowDown")
    expect(row(page, "mo")).to_be_focused()
    live = page.locator('.tw-tree > [role="status"]')
    expect(live).to_contain_text(re.compile(r"mo: (legal|costly)\..*Peak vtcm\[1\] .* fits"), timeout=LONG)
    page.keyboard.press("Escape")
    expect(live).to_contain_text("Cancelled")
    row(page, "A_local.vtcm").focus()
    page.keyboard.press(".")
    entry = page.locator(".tw-tree .menu-item[data-method=compute_inline]")
    expect(entry.locator(".effect")).to_be_visible(timeout=LONG)
    page.keyboard.press("Escape")


@pytest.mark.slow
def test_rows_have_multiselect_search_costs_and_chains(app: Page) -> None:
    count = len(steps(app))
    row(app, COPIES[0]).click()
    row(app, COPIES[1]).click(modifiers=["Control"])
    for name in COPIES:
        expect(row(app, name)).to_have_attribute("aria-selected", "true")
    expect(app.locator(".hint")).to_contain_text("2 rows selected")
    grab(app, COPIES[1])
    expect(app.locator(".hint")).to_contain_text("2 blocks")
    app.mouse.move(*point_in(app, "ko"), steps=5)
    expect(row(app, "ko").locator(".offer")).to_contain_text("cycles", timeout=LONG)
    app.mouse.up()
    expect(app.locator(".step code")).to_have_count(count + 2)
    undone(app, count)

    row(app, "mo").click()
    row(app, "mi").click(modifiers=["Shift"])
    expect(selected(app)).to_have_count(4)
    row(app, "ko").click()
    expect(selected(app)).to_have_count(1)

    row(app, "mo").focus()
    app.keyboard.press("ArrowLeft")
    expect(row(app, "C")).to_be_hidden()
    app.keyboard.press("Control+f")
    field, found = app.get_by_label("Find in the loop nest"), app.locator(".search-count")
    expect(field).to_be_focused()
    app.keyboard.type("cache_write")
    expect(found).to_have_text("1 of 2")
    expect(row(app, "C")).to_have_class(re.compile("is-current"))
    expect(row(app, "C")).to_be_visible()
    field.fill("local.acc")
    expect(app.locator(".row.is-match")).to_have_count(2)
    app.keyboard.press("Enter")
    expect(found).to_have_text("2 of 2")
    app.keyboard.press("Enter")
    expect(found).to_have_text("1 of 2")
    field.fill("nothing like it")
    expect(found).to_have_text("no match")
    app.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(app.locator(".row:focus")).to_have_count(1)

    copied, nest = row(app, "A_local.vtcm").locator(".cost"), row(app, "mo").locator(".cost")
    expect(row(app, "A_local.vtcm").locator(".cost-bar")).to_be_visible()
    expect(row(app, "A_local.vtcm").locator(".cost-share")).to_have_text(re.compile(r"^\d+ %$"))
    expect(app.get_by_label("Cost of rows: busy cycles")).to_be_visible()
    row(app, "mo").focus()
    app.keyboard.press("=")
    expect(copied).to_have_attribute("title", re.compile("32.KiB copied"))
    app.get_by_label("Cost of rows: bytes copied").click()
    expect(copied).to_be_hidden()
    expect(nest).to_be_hidden()
    row(app, "mo").focus()
    app.keyboard.press("ArrowLeft")
    expect(nest).to_contain_text("cycles")  # a folded loop shows its total
    expect(nest).to_contain_text("KiB")
    app.keyboard.press("ArrowRight")
    app.get_by_label("Cost of rows: off").click()

    app.get_by_label("Loops of a nest in one row").click()
    expect(row(app, "mo")).to_have_accessible_name(re.compile("^loops mo extent 4, no extent 4"))
    expect(row(app, "no")).to_have_count(0)
    chip = app.locator('.loop-chip[data-loop="no"]')
    chip.click()
    expect(chip).to_have_class(re.compile("is-selected"))
    expect(app.locator(".inspector h2").first).to_contain_text("no")
    row(app, "mo").focus()
    app.keyboard.press("ArrowRight")
    expect(row(app, "no")).to_be_visible()
    app.keyboard.press("ArrowLeft")
    expect(row(app, "no")).to_have_count(0)
    grab(app, "A_local.vtcm")
    expect(chip).to_have_attribute("data-offer", re.compile("legal|costly|illegal"))
    box = chip.bounding_box()
    assert box is not None
    app.mouse.move(box["x"] + 8, box["y"] + 8, steps=4)
    expect(chip).to_have_class(re.compile("is-over"))
    expect(tip(app)).to_be_visible()
    app.keyboard.press("Escape")
    app.mouse.up()
    row(app, "A_local.vtcm").focus()
    app.keyboard.press("Enter")
    expect(row(app, "no")).to_be_visible()  # each loop is a target of the keys
    app.keyboard.press("Escape")
    expect(row(app, "no")).to_have_count(0)
    app.get_by_label("Loops of a nest in one row").click()


@pytest.mark.slow
def test_loops_are_reordered_by_drag_and_menu(app: Page) -> None:
    count = len(steps(app))
    row(app, "ko").locator(".loop-name").scroll_into_view_if_needed()
    box = row(app, "ko").locator(".loop-name").bounding_box()
    assert box is not None
    app.mouse.move(box["x"] + 4, box["y"] + 8)
    app.mouse.down()
    app.mouse.move(box["x"] + 12, box["y"] + 14, steps=3)
    expect(row(app, "mo")).to_have_attribute("data-offer", "illegal")
    app.mouse.move(*point_in(app, "mi"), steps=5)
    expect(tip(app)).to_contain_text("new order: mi, ko")
    expect(row(app, "mi").locator(".offer")).to_contain_text("cycles", timeout=LONG)
    app.mouse.up()
    expect(app.locator(".step code").last).to_have_text("sch.reorder(mi, ko)")
    undone(app, count)

    row(app, "ko").click(button="right")
    app.get_by_role("menuitem", name=re.compile("^Reorder")).click()
    grabbed(app)
    row(app, "mi").locator(".loop-name").click()
    expect(app.locator(".step code").last).to_have_text("sch.reorder(mi, ko)")


@pytest.mark.slow
def test_menus_of_several_rows_renaming_and_the_palette(app: Page) -> None:
    row(app, "mi").focus()
    app.keyboard.press("Control+Shift+ArrowDown")
    expect(row(app, "mi")).to_have_attribute("aria-selected", "true")
    expect(row(app, "ni")).to_have_attribute("aria-selected", "true")
    app.keyboard.press(".")
    expect(app.get_by_role("menuitem", name=re.compile("Fuse mi × ni"))).to_be_visible()
    app.keyboard.type("unroll")
    app.keyboard.press("Enter")
    expect(row(app, "ni").locator(".loop-kind")).to_have_text("unrolled")
    expect(row(app, "mi").locator(".loop-kind")).to_have_text("unrolled")
    row(app, "mi").focus()
    app.keyboard.press("Escape")
    expect(selected(app)).to_have_count(1)

    row(app, "ko").focus()
    app.keyboard.press("F2")
    field = app.get_by_label("Name of loop ko")
    expect(field).to_be_focused()
    field.fill("ki")
    app.keyboard.press("Enter")
    expect(app.locator(".tw-tree .notice")).to_contain_text("a loop 'ki' already exists")
    row(app, "ko").locator(".loop-name").dblclick()
    field.fill("kk")
    app.keyboard.press("Enter")
    expect(row(app, "kk")).to_be_focused()
    expect(app.locator(".tw-tree .notice")).to_be_hidden()
    assert any('names=["kk", "ki"]' in line for line in steps(app))
    assert any("sch.reorder(mo, no, kk" in line for line in steps(app))
    # A copy is labelled by its buffer: only its variable has a name.
    row(app, "A_local.vtcm").focus()
    app.keyboard.press("F2")
    app.get_by_label("Variable of A_local.vtcm").fill("staged")
    app.keyboard.press("Enter")
    expect(row(app, "A_local.vtcm").locator(".variable")).to_have_text("staged")
    app.keyboard.press("F2")
    app.keyboard.press("Escape")
    expect(row(app, "A_local.vtcm")).to_be_focused()

    row(app, "ki").focus()
    app.keyboard.press("Control+Shift+P")
    palette = app.get_by_role("searchbox", name="Find any action")
    expect(palette).to_be_focused()
    app.keyboard.type("unroll")
    expect(app.get_by_role("menuitem", name=re.compile("Unroll")).first).to_be_visible()
    app.keyboard.press("Enter")
    expect(row(app, "ki").locator(".loop-kind")).to_have_text("unrolled")
    app.keyboard.press("Control+Shift+P")
    app.keyboard.type("cache_read")
    expect(app.get_by_role("menuitem", name=re.compile("Cache read")).first).to_have_attribute("aria-disabled", "true")
    palette.fill("show python")
    app.keyboard.press("Enter")
    expect(app.get_by_role("tab", name="Python")).to_have_attribute("aria-selected", "true")
    app.keyboard.press("Control+Shift+P")
    expect(palette).to_be_focused()
    app.keyboard.press("Escape")
    expect(palette).to_have_count(0)


@pytest.mark.slow
def test_only_visible_rows_of_many_are_in_the_dom(serve: Callable[..., str], open_page: Callable[..., Page]) -> None:
    tree_bench = Bench(elementwise_stages(80))
    page = open_page(width=760, height=600)
    go_to(page, serve(lambda: tree_bench.view(width=700, height=560)))
    row(page, "i0").wait_for(timeout=LONG)
    assert len(tree_bench.tree.rows) == 240
    assert page.locator(".row").count() < 150
    row(page, "i0").focus()
    page.keyboard.press("End")
    expect(row(page, "b79")).to_be_focused()
    expect(row(page, "i0")).to_have_count(0)
    # If the row of the cursor is scrolled away, the keyboard continues from it.
    page.mouse.move(300, 300)
    page.mouse.wheel(0, -100_000)
    expect(row(page, "i0")).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(row(page, "j79")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("b40")
    expect(page.locator(".search-count")).to_have_text(re.compile(r"of \d+"))
    expect(page.locator(".row.is-current")).to_be_visible()
    page.keyboard.press("Escape")
    # The overview at the edge scrolls anywhere.
    picture = page.locator(".minimap")
    box = picture.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 20, box["y"] + 4)
    expect(row(page, "i0")).to_be_visible()
    page.mouse.move(box["x"] + 20, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] - 2, steps=8)
    page.mouse.up()
    expect(row(page, "b79")).to_be_visible()
    tree_bench.open(MATMUL)
    expect(row(page, "C")).to_be_visible()
    expect(picture).to_be_hidden()  # a short nest has none


@pytest.mark.slow
def test_the_parts_of_the_tree_are_accessible(page: Page, app_url: str, shoot: Shoot) -> None:
    go_to_example(page, app_url, "place_the_copies")

    def check(name: str, place: str = "#area-tree") -> None:
        shoot(page, name)
        assert_no_violations(page, place)

    check("tree-costs")
    grab(page, "A_local.vtcm")
    page.mouse.move(*point_in(page, "ki"), steps=5)
    expect(tip(page)).to_contain_text("runs 256× as often", timeout=LONG)
    check("tree-foretold")
    page.keyboard.press("Escape")
    page.mouse.up()
    row(page, "mi").focus()
    page.keyboard.press("Control+Shift+ArrowDown")
    page.keyboard.press(".")
    expect(page.get_by_role("menuitem", name=re.compile("Fuse mi × ni"))).to_be_visible()
    check("tree-several-menu")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+f")
    page.keyboard.type("local.acc")
    check("tree-search")
    page.keyboard.press("Escape")
    page.get_by_label("Loops of a nest in one row").click()
    check("tree-grid-rows")
    page.keyboard.press("Control+Shift+P")
    expect(page.get_by_role("searchbox", name="Find any action")).to_be_focused()
    check("palette", "html")
