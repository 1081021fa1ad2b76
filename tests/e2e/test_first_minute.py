"""The README's first minute, in the browser: an overflowing copy is dragged to a legal loop, double buffered, undone, exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import (
    choose,
    drag,
    figure,
    go_to_gallery,
    grab,
    number,
    open_example,
    point_in,
    steps,
    tree_text,
)

import tilewright.app

Shoot = Callable[[Page, str], Path]


@pytest.fixture
def page_of(open_page: Callable[..., Page], app_url: str) -> Callable[..., Page]:
    def opened(**options: object) -> Page:
        page = open_page(**options)
        go_to_gallery(page, app_url)
        return page

    return opened


def overlap(page: Page) -> int:
    return number(page, "Overlap")


def settled(page: Page) -> None:
    """Wait for the verdict, the last analysis."""
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=30_000)


def test_the_readmes_first_minute_works(page_of: Callable[..., Page], shoot: Shoot) -> None:
    page = page_of()
    open_example(page, "place_the_copies")
    settled(page)
    before, lines = tree_text(page), steps(page)
    assert figure(page, "Cycles") == "does not fit"

    # The overflow is visible: in the headline, as a count at the tab, in the pane, in the timeline.
    expect(page.locator('.figure.bad[data-figure="Peak vtcm"]')).to_be_visible()
    expect(page.get_by_role("tab", name="Problems")).to_contain_text("1")
    page.get_by_role("tab", name="Problems").click()
    expect(page.locator('.problem[data-code="capacity-overflow"]')).to_contain_text(
        "local.vtcm[0] needs 512 KiB but has 128 KiB, local.vtcm[1] needs 512 KiB but has 128 KiB"
    )
    shoot(page, "minute-1-overflow")

    # A grabbed block highlights its legal loops; the others have a reason.
    grab(page, "A_local.vtcm")
    expect(page.locator('.row[data-id="ki"]')).to_have_attribute("data-offer", "costly")
    expect(page.locator('.row[data-id="ko"] .offer')).to_contain_text("fits vtcm[1]", timeout=30_000)
    page.mouse.move(*point_in(page, "ko"), steps=5)
    expect(page.locator(".tip")).to_contain_text("fills 64 × 64 of A_local.vtcm")
    shoot(page, "minute-2-offers")
    page.mouse.up()
    expect(page.locator(".step code")).to_have_count(len(lines) + 1)
    assert steps(page)[-1] == "sch.compute_at(AL, ko)"
    expect(page.locator('.problem[data-code="capacity-overflow"]')).to_have_count(1)
    drag(page, "B_local.vtcm", "ko")
    expect(page.locator(".step code")).to_have_count(len(lines) + 2)
    expect(page.locator('.problem[data-code="capacity-overflow"]')).to_have_count(0)
    expect(page.locator('.figure.bad[data-figure="Peak vtcm"]')).to_have_count(0)
    settled(page)
    placed = number(page, "Cycles")
    expect(page.locator('[data-figure="Cycles"] .change')).to_contain_text("fits")
    shoot(page, "minute-3-placed")

    for block in ("A_local.vtcm", "B_local.vtcm"):
        count = len(steps(page))
        choose(page, block, "Double buffer")
        expect(page.locator(".step code")).to_have_count(count + 1)
    assert steps(page)[-2:] == ["sch.double_buffer(AL)", "sch.double_buffer(BL)"]
    assert number(page, "Cycles") < placed
    assert overlap(page) > 50
    settled(page)
    shoot(page, "minute-4-double-buffered")

    # The change is against the state before the last edit; clicks switch to the opened notebook and the original.
    change = page.locator('[data-figure="Cycles"] .change')
    expect(change).to_have_attribute("data-against", "the state before the last edit")
    assert "the original" in (change.get_attribute("title") or "")
    change.click()
    expect(change).to_have_attribute("data-against", "the opened notebook")
    change.click()
    expect(change).to_have_attribute("data-against", "the original")
    shoot(page, "minute-5-against-the-original")

    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="Download").click()
    text = Path(download.value.path()).read_text()
    assert "sch.compute_at(AL, ko)" in text and "sch.compute_at(BL, ko)" in text

    for _ in range(4):
        page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.locator(".step code")).to_have_count(len(lines))
    assert (tree_text(page), figure(page, "Cycles")) == (before, "does not fit")


@pytest.mark.slow
def test_a_drop_waits_for_the_server_and_a_second_edits_the_step(page_of: Callable[..., Page]) -> None:
    page = page_of()
    open_example(page, "place_the_copies")
    lines = steps(page)
    drag(page, "A_local.vtcm", "ko", wait=False)
    expect(page.locator(".step code")).to_have_count(len(lines) + 1)
    assert steps(page)[-1] == "sch.compute_at(AL, ko)"
    # The same if the answer is a refusal.
    drag(page, "C", "mo", wait=False)
    expect(page.locator("#area-tree").get_by_role("alert")).to_contain_text("C cannot go to mo")
    assert len(steps(page)) == len(lines) + 1
    # A block that a step has placed: another drag changes the step.
    drag(page, "A_local.vtcm", "mo")
    expect(page.locator(".step code").filter(has_text="mo)")).to_have_count(1)
    assert len(steps(page)) == len(lines) + 1


@pytest.mark.slow
def test_the_page_of_panel_serve_works(
    open_page: Callable[..., Page], serve_command: Callable[..., str], shoot: Shoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, token = Path(tilewright.app.__path__[0]) / "main.py", "a-token-of-some-length"
    monkeypatch.setenv("TILEWRIGHT_TOKEN", token)
    plugin = ("--plugins", "tilewright.app.server.panel_plugin")
    url = serve_command("-m", "panel", "serve", str(file), "--port", "{port}", "--address", "127.0.0.1", *plugin)
    page = open_page()
    page.goto(f"{url}/main?token={token}")
    open_example(page, "place_the_copies")
    peak, count = figure(page, "Peak vtcm"), len(steps(page))
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step code")).to_have_count(count + 1)
    expect(page.locator('[data-figure="Peak vtcm"] b')).not_to_have_text(peak)
    settled(page)
    shoot(page, "panel-serve")


@pytest.mark.slow
def test_panels_own_command_serves_the_page(
    page: Page, serve_command: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_TOKEN", "a-token-of-some-length")
    code = "import sys; from panel.command import main; main()"
    main = str(Path(tilewright.app.__path__[0]) / "main.py")
    url = serve_command("-c", code, "serve", main, "--port", "{port}", "--address", "127.0.0.1")
    page.goto(f"{url}/?token=a-token-of-some-length")
    open_example(page, "place_the_copies")
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator(".step code").last).to_contain_text("compute_at")
