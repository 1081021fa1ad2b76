"""Texts of a page that are cut off, or that overlap other texts. For the browser tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

FIND = Path(__file__).with_suffix(".js").read_text()


def unreadable_texts(page: Page) -> list[str]:
    """The texts that an ancestor cuts (without an ellipsis and a title), that something covers, or that overlap another text.

    Text that can be scrolled into view is readable. Canvases are not examined.
    """
    return page.evaluate(FIND)
