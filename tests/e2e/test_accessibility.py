"""What a screen reader, a keyboard and weak eyes need, by axe-core's rules on every screen, light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from support.browser.axe import assert_no_violations
from support.browser.cell_editor import cell_editor
from support.browser.page import choose, grab, open_example, row


@pytest.fixture
def gallery(open_page: Callable[..., Page], app_url: str) -> Page:
    page = open_page()
    page.goto(app_url)
    page.locator(".card[data-example]").first.wait_for()
    return page


def test_given_the_gallery_then_axe_has_no_complaint(gallery: Page) -> None:
    assert_no_violations(gallery)


def test_given_a_notebook_with_problems_then_axe_has_no_complaint(gallery: Page) -> None:
    open_example(gallery, "fused_matmul_relu_roundtrip")
    assert_no_violations(gallery)
    for tab in gallery.get_by_role("tab").all():
        tab.click()
        assert_no_violations(gallery, "#area-panes")


def test_given_machine_traffic_and_a_comparison_then_axe_has_no_complaint(gallery: Page) -> None:
    open_example(gallery, "fused_matmul_relu_roundtrip")
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


def test_given_a_grab_then_axe_has_no_complaint(gallery: Page) -> None:
    open_example(gallery, "place_the_copies")
    grab(gallery, "A_local.vtcm")
    assert_no_violations(gallery)
    gallery.mouse.up()


def test_given_a_menu_a_form_and_an_editor_then_axe_has_no_complaint(gallery: Page) -> None:
    open_example(gallery, "place_the_copies")
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


def test_given_the_tour_then_axe_has_no_complaint(gallery: Page) -> None:
    gallery.get_by_role("button", name="Guided tour, 2 minutes").click()
    expect(gallery.locator(".tour")).to_be_visible()
    for _ in range(2):
        gallery.locator('.tour [data-part="next"]').click()
    gallery.locator('.tour [data-part="do"]').wait_for()
    assert_no_violations(gallery)
    gallery.locator('.tour [data-part="do"]').click()
    expect(gallery.locator(".tour-result")).to_be_visible()
    assert_no_violations(gallery)


def test_given_help_and_the_palette_then_axe_has_no_complaint(gallery: Page) -> None:
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


def test_given_folded_panes_and_a_comparison_then_axe_has_no_complaint(gallery: Page) -> None:
    open_example(gallery, "what_moves_what")
    gallery.get_by_role("separator", name="Notebook").press("Enter")
    gallery.get_by_role("separator", name="Code and problems").press("Enter")
    assert_no_violations(gallery)
    gallery.get_by_role("button", name="A/B").click()
    expect(gallery.locator("#area-compare")).to_be_visible()
    assert_no_violations(gallery, "#area-compare")


def test_given_a_search_without_a_result_and_a_refused_text_then_axe_has_no_complaint(gallery: Page) -> None:
    gallery.get_by_role("searchbox").fill("nothing has this word")
    gallery.get_by_label("A TVMScript program or a notebook").fill("def f(:")
    gallery.get_by_role("button", name="Open", exact=True).click()
    expect(gallery.locator(".paste-problem")).to_contain_text("line 1")
    assert_no_violations(gallery)


@pytest.mark.parametrize("wish", [{"forced_colors": "active"}, {"reduced_motion": "reduce"}])
def test_given_a_wish_of_the_system_then_what_is_chosen_can_be_told_and_nothing_moves(
    open_page: Callable[..., Page], app_url: str, wish: dict[str, str]
) -> None:
    page = open_page(**wish)
    page.goto(app_url)
    page.locator(".card[data-example]").first.wait_for()
    page.get_by_role("button", name="Guided tour, 2 minutes").click()
    page.locator(".tour-ring").first.wait_for()
    if "forced_colors" in wish:
        row = page.get_by_role("treeitem").first
        row.click()
        expect(row).to_have_attribute("aria-selected", "true")
        assert row.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    else:
        ring = page.locator(".tour-ring").first
        assert ring.evaluate("e => getComputedStyle(e).animationName") == "none"
        lasting = (
            "document.getAnimations().map((a) => a.effect.getComputedTiming()).filter((t) => t.activeDuration > 1)"
        )
        assert page.evaluate(lasting) == []


def test_given_the_keyboard_alone_then_a_block_is_moved_and_panes_change(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = open_page()
    page.goto(f"{app_url}/example/place_the_copies")
    page.get_by_role("treeitem").first.wait_for()
    count = page.locator(".step").count()
    page.locator('.row[tabindex="0"]').focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(page.locator('.row[data-id="A_local.vtcm"]')).to_be_focused()
    page.keyboard.press("Enter")
    page.locator(".row[data-offer]").first.wait_for()
    page.keyboard.press("ArrowDown")
    expect(page.locator('.row[data-id="mo"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".step")).to_have_count(count + 1)
    page.get_by_role("tab", name="TVMScript").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Python")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#pane-python")).to_contain_text("sch.compute_at(AL, mo)")
