"""axe-core's rules, run on a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from .page import until_still

ALL = {
    "resultTypes": ["violations"],
    "preload": False,
}  # without the results of rules that pass: megabytes, and seconds
CONTRAST = {**ALL, "runOnly": ["color-contrast"]}

RUN = "([place, options]) => axe.run(place, options).then((found) => found.violations)"


def assert_no_violations(page: Page, place: str = "html") -> None:
    """Check a screen by all rules in its theme, and by the rule of contrast in the other theme.

    The time is about proportional to the elements of `place`: a test checks the whole screen once, then the areas that changed.
    """
    theme = page.locator("html").get_attribute("data-theme") or "light"
    # Colours and rows fade in: a transitional colour has no defined contrast.
    page.emulate_media(reduced_motion="reduce")
    until_still(page)
    found = _violations(page, place, ALL)
    _show(page, "light" if theme == "dark" else "dark")
    found += _violations(page, place, CONTRAST)
    _show(page, theme)
    page.emulate_media(reduced_motion="null")
    assert not found, "\n".join(found)


def _show(page: Page, theme: str) -> None:
    page.evaluate(
        """theme => {
            const root = document.documentElement;
            root.dataset.theme = root.style.colorScheme = theme;
            return new Promise(requestAnimationFrame);
        }""",
        theme,
    )


def _violations(page: Page, place: str, options: dict[str, Any]) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, [place, options])
    return [f"{v['id']}: {node['target']} {node['html'][:160]}" for v in found for node in v["nodes"][:3]]
