"""The speed of the app in one run: `python bench/speed.py [--rounds 8] [PART ...]` writes the table of docs/speed.md.

The parts are `drop`, `first_page` and `opening`, named like the scripts that define the columns; without names all are
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
START, END = "<!-- speed: start -->", "<!-- speed: end -->"
HEAD = (
    "| part | case | goal | map p50 | map p95 | p50 | p95 | server CPU |",
    "|---|---|---:|---:|---:|---:|---:|---:|",
)
GOALS = {"transformer": "250", "gallery": "1,500", "notebook": "1,500", 300: "2,000"}
"""Goals in milliseconds by example, page and number of blocks; the default is that of a drop on an example (100)."""


def drops(browser: Browser, rounds: int) -> Iterator[str]:
    """The rows of the drags."""
    with drop.server() as served:
        for drag in drop.DRAGS:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            found = drop.dropped(page, served, drag, rounds)
            page.close()
            yield (
                f"| drop | {found.example}, {found.drop} ({found.tasks} tasks) | {GOALS.get(found.example, '100')} "
                f"| {found.map_p50:.0f} | {found.map_p95:.0f} | {found.p50:.0f} | {found.p95:.0f} | {found.cpu:.0f} |"
            )


def first_pages(browser: Browser, rounds: int) -> Iterator[str]:
    """The rows of the first pages."""
    with drop.server() as served:
        for name, path in first_page.PAGES:
            found = first_page.measured(browser, served, name, path, rounds)
            yield f"| first_page | {name} | {GOALS[name]} | | | {found.p50:.0f} | {found.p95:.0f} | {found.cpu:.0f} |"


def openings(browser: Browser, rounds: int) -> Iterator[str]:
    """The rows of the large programs. Their times are the least of all rounds."""
    for blocks in opening.BLOCKS:
        found = opening.measured(browser, blocks, rounds)
        goal = f"{GOALS[blocks]} " if blocks in GOALS else ""
        yield f"| opening | {blocks} blocks | {goal}| | | {found.tree:.0f} (least) | | {found.server_cpu:.0f} |"


PARTS: dict[str, Callable[[Browser, int], Iterator[str]]] = {
    "drop": drops,
    "first_page": first_pages,
    "opening": openings,
}


def conditions(part: str, rounds: int) -> str:
    """The line below the table with the time and conditions of a part."""
    when, load, version = f"{date.today():%d %B %Y}", os.getloadavg()[0], sys.version.split()[0]
    return f"- {part}: {when}, {os.cpu_count()} cores of a shared host, load {load:.1f} before, Python {version}, {rounds} rounds"


def written(text: str, part: str, lines: list[str]) -> str:
    """The page with the lines of a part replaced: its rows, then its conditions. Raises ValueError for a page without the markers."""
    first, last = text.index(START) + len(START), text.index(END)
    old = text[first:last].splitlines()
    parts = {name: [line for line in old if line.startswith((f"| {name} |", f"- {name}:"))] for name in PARTS}
    parts[part] = lines
    rows = [line for lines in parts.values() for line in lines if line.startswith("|")]
    notes = [line for lines in parts.values() for line in lines if line.startswith("-")]
    return text[:first] + "\n" + "\n".join([*HEAD, *rows, "", *notes]) + "\n" + text[last:]


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--rounds", type=int, default=8)
    reader.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS), default=list(PARTS))
    given = reader.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=drop.chromium(), args=list(drop.FLAGS))
        for part in given.parts:
            note = conditions(part, given.rounds)
            rows: list[str] = []
            for row in PARTS[part](browser, given.rounds):
                print(row, flush=True)
                rows.append(row)
            PAGE.write_text(written(PAGE.read_text(), part, [*rows, note]))
        browser.close()


if __name__ == "__main__":
    main()
