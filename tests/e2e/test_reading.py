"""A slow evaluation: the page shows its status, stays responsive, and a stop keeps the typed text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import row, steps
from support.sessions.served import Served
from support.sessions.slow import Slow

from tilewright.app.actions import text_edits as typed
from tilewright.app.document import evaluate


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """Evaluation of typed texts blocks until the test allows it."""
    slow_evaluate = Slow(evaluate)
    yield slow_evaluate
    slow_evaluate.may_end.set()


@pytest.mark.slow
def test_the_evaluation_of_a_text_is_stopped_and_resumed(
    page: Page, server: Served, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.goto(server.page_url("/example/place_the_copies"))
    page.get_by_role("tree").get_by_role("treeitem").first.wait_for()
    before = page.get_by_role("tree").get_by_role("treeitem").count()
    monkeypatch.setattr(typed, "evaluate", slow)
    page.locator(".step", has_text="cache_write").locator(".step-text").dblclick()
    page.keyboard.press("Control+A")
    page.keyboard.type('CL = sch.cache_write(C, 0, "local.acc")  # the one accumulator')
    page.keyboard.press("Control+Enter")
    doing = page.locator('[data-doing="notebook"]')
    expect(doing).to_contain_text("Reading the notebook")
    row(page, "ki").click()
    expect(row(page, "ki")).to_have_attribute("aria-selected", "true")
    assert server.ask("GET", "/api").status == 200, "others are answered"
    doing.get_by_role("button").click()
    expect(page.get_by_text("The text was not evaluated.")).to_be_visible()
    assert page.get_by_role("tree").get_by_role("treeitem").count() == before, "the picture stays"
    slow.may_end.set()
    doing.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("The text was not evaluated.")).to_be_hidden()
    expect(page.locator(".step", has_text="the one accumulator")).to_be_visible()
    assert any("cache_write" in text for text in steps(page))
    expect(row(page, "ki")).to_have_attribute("aria-selected", "true")
