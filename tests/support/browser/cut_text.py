"""Texts and controls of a page that are cut off, and texts that overlap. For the browser tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

FIND = Path(__file__).with_suffix(".js").read_text()


def unreadable_texts(page: Page) -> list[str]:
    """The texts that an ancestor cuts (without an ellipsis and a title), that something covers, or that overlap another text; the controls
    of which less than half is in sight.

    Text that can be scrolled into view is readable. Canvases are not examined.
    """
    return page.evaluate(FIND)
