"""Accessibility: axe-core's rules on every screen, light and dark, and the keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from support.browser.axe import assert_no_violations
from support.browser.cell_editor import cell_editor
from support.browser.page import choose, go_to_gallery, grab, open_example, row


@pytest.fixture
def gallery(page: Page, app_url: str) -> Page:
    go_to_gallery(page, app_url)
    return page


@pytest.mark.slow
def test_axe_accepts_the_gallery(gallery: Page) -> None:
    assert_no_violations(gallery)
    gallery.get_by_role("searchbox").fill("nothing has this word")
    gallery.get_by_label("A TVMScript program or a notebook").fill("def f(:")
    gallery.get_by_role("button", name="Open", exact=True).click()
    expect(gallery.locator(".paste-problem")).to_contain_text("line 1")
    assert_no_violations(gallery)


def test_axe_accepts_a_notebook_with_problems(gallery: Page) -> None:
    open_example(gallery, "fused_matmul_relu_roundtrip")
    gallery.get_by_role("tab", name="Problems").click()
    expect(gallery.locator('.problem[data-code="round-trip"]')).to_be_visible(timeout=60_000)
    assert_no_violations(gallery)


@pytest.mark.slow
def test_axe_accepts_panes_and_a_comparison(gallery: Page) -> None:
    open_example(gallery, "fused_matmul_relu_roundtrip")
    for tab in gallery.get_by_role("tab").all():
        tab.click()
        assert_no_violations(gallery, "#area-panes")
    gallery.get_by_role("tab", name="Machine").click()
    expect(gallery.locator(".sensitivities")).to_be_visible(timeout=60_000)
    gallery.locator(".machine-panel").evaluate(
        "panel => panel.querySelectorAll('details').forEach(d => (d.open = true))"
    )
    assert_no_violations(gallery, "#area-panes")
    gallery.get_by_role("tab", name="Traffic").click()
    gallery.get_by_text("As a table").click()
    assert_no_violations(gallery, "#area-panes")
    gallery.get_by_role("button", name="A/B comparison").click()
    gallery.get_by_label("Side B").select_option("example:fused_matmul_relu")
    expect(gallery.locator(".ab-explanation")).to_contain_text("explains most", timeout=60_000)
    assert_no_violations(gallery)


@pytest.mark.slow
def test_axe_accepts_the_cores_of_a_chip(gallery: Page) -> None:
    open_example(gallery, "tilelang_gemm_a100")
    gallery.locator('.transport input[data-loop="sm"]').fill("80")
    assert_no_violations(gallery, "#area-timeline")
    gallery.get_by_role("button", name="Table", exact=True).click()
    assert_no_violations(gallery, "#area-timeline")


def test_axe_accepts_a_drag_a_menu_a_form_and_an_editor(gallery: Page) -> None:
    open_example(gallery, "place_the_copies")
    grab(gallery, "A_local.vtcm")
    assert_no_violations(gallery)
    gallery.mouse.up()
    gallery.keyboard.press("Escape")
    row(gallery, "A_local.vtcm").hover()
    gallery.get_by_label("Actions of A_local.vtcm", exact=True).click()
    gallery.get_by_role("menuitem", name=re.compile(r"^\d+ more$")).click()
    assert_no_violations(gallery)
    gallery.keyboard.press("Escape")
    choose(gallery, "mo", "Split…")
    assert_no_violations(gallery, "#area-tree")
    gallery.keyboard.press("Escape")
    gallery.locator(".cell.workload").hover()
    gallery.get_by_label("Edit the workload cell").click()
    expect(cell_editor(gallery)).to_be_focused()
    assert_no_violations(gallery, "#area-notebook")


@pytest.mark.slow
def test_axe_accepts_the_tour(gallery: Page) -> None:
    gallery.get_by_role("button", name="Guided tour, 2 minutes").click()
    expect(gallery.locator(".tour")).to_be_visible()
    for _ in range(2):
        gallery.locator('.tour [data-part="next"]').click()
    gallery.locator('.tour [data-part="do"]').wait_for()
    assert_no_violations(gallery)
    gallery.locator('.tour [data-part="do"]').click()
    expect(gallery.locator(".tour-result")).to_be_visible()
    assert_no_violations(gallery)


@pytest.mark.slow
def test_axe_accepts_help_and_the_palette(gallery: Page) -> None:
    gallery.keyboard.press("?")
    expect(gallery.get_by_role("menu", name="Help")).to_be_visible()
    assert_no_violations(gallery)
    gallery.keyboard.press("p")
    expect(gallery.locator("dialog.reference")).to_be_visible()
    assert_no_violations(gallery)
    gallery.keyboard.press("Escape")
    open_example(gallery, "what_moves_what")
    gallery.keyboard.press("Control+Shift+P")
    gallery.keyboard.type("cache_read")
    expect(gallery.locator(".prim-card").locator("visible=true")).to_have_count(1)
    assert_no_violations(gallery)


@pytest.mark.slow
def test_axe_accepts_folded_panes(gallery: Page) -> None:
    open_example(gallery, "what_moves_what")
    gallery.get_by_role("separator", name="Notebook").press("Enter")
    gallery.get_by_role("separator", name="Code and problems").press("Enter")
    assert_no_violations(gallery)
    gallery.get_by_role("button", name="A/B").click()
    expect(gallery.locator("#area-compare")).to_be_visible()
    assert_no_violations(gallery, "#area-compare")


@pytest.mark.slow
def test_the_tour_obeys_forced_colours_and_reduced_motion(gallery: Page) -> None:
    gallery.emulate_media(forced_colors="active", reduced_motion="reduce")
    gallery.get_by_role("button", name="Guided tour, 2 minutes").click()
    ring = gallery.locator(".tour-ring").first
    ring.wait_for()
    assert ring.evaluate("e => getComputedStyle(e).animationName") == "none"
    lasting = "document.getAnimations().map((a) => a.effect.getComputedTiming()).filter((t) => t.activeDuration > 1)"
    assert gallery.evaluate(lasting) == []
    first = gallery.get_by_role("treeitem").first
    first.click()
    expect(first).to_have_attribute("aria-selected", "true")
    assert first.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_the_keyboard_alone_moves_a_block_and_changes_panes(gallery: Page) -> None:
    open_example(gallery, "place_the_copies")
    count = gallery.locator(".step").count()
    rows = gallery.locator(".row").evaluate_all("(rows) => rows.map((row) => row.dataset.id)")
    gallery.locator('.row[tabindex="0"]').focus()
    gallery.keyboard.press("Home")
    for name in rows[: rows.index("A_local.vtcm") + 1]:
        expect(gallery.locator(f'.row[data-id="{name}"]')).to_be_focused()
        if name != "A_local.vtcm":
            gallery.keyboard.press("ArrowDown")
    gallery.keyboard.press("Enter")
    gallery.locator(".row[data-offer]").first.wait_for()
    gallery.keyboard.press("ArrowDown")
    expect(gallery.locator('.row[data-id="mo"]')).to_be_focused()
    gallery.keyboard.press("Enter")
    expect(gallery.locator(".step")).to_have_count(count + 1)
    gallery.get_by_role("tab", name="TVMScript").focus()
    gallery.keyboard.press("ArrowRight")
    expect(gallery.get_by_role("tab", name="Python")).to_have_attribute("aria-selected", "true")
    expect(gallery.locator("#pane-python")).to_contain_text("sch.compute_at(AL, mo)")
