"""A view at all common window sizes, in several fonts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

from playwright.sync_api import Page

from .cut_text import unreadable_texts
from .page import until_still

SIZES = ((1280, 720), (1440, 900), (1920, 1080), (1000, 700), (640, 360))
"""640x360 is 1280x720 at 200 %."""

FONTS = {
    "DejaVu": ("DejaVu Sans", "DejaVu Sans Mono"),
    "Liberation": ("Liberation Sans", "Liberation Mono"),
    "Noto": ("Noto Sans", "Noto Sans Mono"),
}
"""Fonts of Linux desktops: text and code. The first are the widest."""

FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))"


def set_fonts(page: Page, name: str) -> bool:
    """Draw the page in other fonts; False if this machine lacks them."""
    script = """(fonts) => ["--tw-font", "--tw-mono"].forEach((name, n) =>
        document.documentElement.style.setProperty(name, `"${fonts[n]}"`))"""
    page.evaluate(script, FONTS[name])
    found = subprocess.run(["fc-match", FONTS[name][0]], check=True, capture_output=True, text=True).stdout
    return FONTS[name][0] in found


def wrong_texts(page: Page, view: str, sizes: Iterable[tuple[int, int]] = SIZES) -> list[str]:
    """The findings of a view at each size, with a title for each."""
    found: list[str] = []
    page.mouse.move(2, 2)
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(FRAMES)
        until_still(page)  # a row that moves covers others
        found += [f"{view} at {width}: {text}" for text in unreadable_texts(page)]
    page.set_viewport_size({"width": 1280, "height": 800})
    return found
