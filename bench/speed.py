"""The speed of the app in one run: `python bench/speed.py [--rounds 8] [PART ...]` writes the tables of docs/speed.md.

The parts are `drop`, `first_page` and `opening`, after the scripts of that name, which have the definitions; without names all are
measured. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH). Run it on a quiet machine: the load before each
part is recorded.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import drop
import first_page
import opening
from playwright.sync_api import Browser, sync_playwright

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"


def drops(browser: Browser, rounds: int) -> Iterator[str]:
    """The rows of drop.py's first table."""
    with drop.server() as served:
        for drag in drop.DRAGS:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            yield drop.dropped(page, served, drag, rounds)
            page.close()


def first_pages(browser: Browser, rounds: int) -> Iterator[str]:
    """The rows of first_page.py's table."""
    with drop.server() as served:
        for name, path in first_page.PAGES:
            yield first_page.measured(browser, served, name, path, rounds)


def openings(browser: Browser, rounds: int) -> Iterator[str]:
    """The rows of opening.py's table."""
    for blocks in opening.BLOCKS:
        yield opening.measured(browser, blocks, rounds)


PARTS: dict[str, tuple[str, Callable[[Browser, int], Iterator[str]]]] = {
    "drop": (drop.HEAD, drops),
    "first_page": (first_page.HEAD, first_pages),
    "opening": (opening.HEAD, openings),
}


def written(text: str, part: str, lines: list[str]) -> str:
    """The page with other lines between the markers of a part. Raises ValueError for a page without the markers."""
    start, end = f"<!-- {part}: start -->", f"<!-- {part}: end -->"
    first, last = text.index(start) + len(start), text.index(end)
    return text[:first] + "\n" + "\n".join(lines) + "\n" + text[last:]


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--rounds", type=int, default=8)
    reader.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS), default=list(PARTS))
    given = reader.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=drop.chromium(), args=list(drop.FLAGS))
        for part in given.parts:
            head, measure = PARTS[part]
            when, load = f"{date.today():%d %B %Y}", os.getloadavg()[0]
            version = sys.version.split()[0]
            lines = [
                f"{when}, {os.cpu_count()} cores of a shared host, load {load:.1f} before, Python {version}, {given.rounds} rounds. ms:",
                "",
                *head.split("\n"),
            ]
            for row in measure(browser, given.rounds):
                print(row, flush=True)
                lines.append(row)
            PAGE.write_text(written(PAGE.read_text(), part, lines))
        browser.close()


if __name__ == "__main__":
    main()
