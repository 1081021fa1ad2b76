"""axe-core's rules, run on a page."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def assert_no_violations(page: Page) -> None:
    """Of a screen as it is now."""
    # Colours fade into one another; a half-way colour is nobody's contrast.
    page.wait_for_timeout(600)
    found = Axe().run(page).response["violations"]
    lines = [f"{v['id']}: {node['target']} {node['html'][:160]}" for v in found for node in v["nodes"][:3]]
    assert not found, "\n".join(lines)
