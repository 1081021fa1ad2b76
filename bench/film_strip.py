"""Film strips of docs/guide/next.md: a program from text to a fast schedule with the mouse, one picture after each gesture.

A real Chromium, the real server. After the text is pasted, clicks and scrolls drive the page: *Open*, then *Apply* of the
first row of the Next pane once all rows are shown. The pictures are written to docs/pictures, and the tables of gestures into the guide.
Fails if a strip ends with more than LIMIT times the cycles of the busiest engine or port of its schedule.

Run: `PYTHONPATH=tests python bench/film_strip.py`. Needs playwright, Pillow and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from drop import FLAGS, chromium, server
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from screenshots import FOLDER, save
from support.programs.layers import PADDED_CONVOLUTION

import tilewright
from tilewright.engine.explore import program_bound
from tilewright.engine.hwsim import Machine, load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse, to_script

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "next.md"
HAND = Path(__file__).parents[1] / "tests" / "hand"
SLOW = 300_000
"""Milliseconds until all rows are shown on a busy machine."""

LIMIT = 1.3


class Strip(NamedTuple):
    """A program as text; `applied` is the number of applied steps."""

    name: str
    title: str
    text: Callable[[], str]
    applied: int


def softmax() -> str:
    """The softmax of attention's scores, 384 x 384."""
    program = tilewright.load(HAND / "rows" / "softmax.py").program
    assert isinstance(program, PrimFunc)
    return to_script(program).replace("512", "384")


STRIPS = (
    Strip("strip_convolution", "a padded 3x3 convolution with bias and ReLU", lambda: PADDED_CONVOLUTION, 1),
    Strip("strip_softmax", "softmax of attention's scores, 384 x 384", softmax, 2),
)


class Frame(NamedTuple):
    gesture: str
    cycles: int
    busiest: int


def main() -> int:
    tables: list[str] = []
    reached = True
    with server() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, "--force-color-profile=srgb"])
        for strip in STRIPS:
            frames = capture(browser, served.url, strip)
            tables.append(table(strip, frames, load_machine("dual-bank-npu")))
            print(tables[-1], flush=True)
            reached = reached and frames[-1].cycles <= LIMIT * frames[-1].busiest
        browser.close()
    written("\n\n".join(tables))
    return 0 if reached else 1


def capture(browser: Browser, url: str, strip: Strip) -> list[Frame]:
    """The frames of a strip, one after each gesture."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.set_default_timeout(SLOW)
    frames: list[Frame] = []
    page.goto(url)
    page.get_by_role("textbox", name="program").or_(page.locator("textarea")).first.fill(strip.text())
    page.mouse.click(*middle(page.get_by_role("button", name="Open", exact=True).first))
    complete(page)
    frames.append(shot(page, strip, 1, "*Open*, with the text pasted"))
    for _ in range(strip.applied):
        first = page.locator(".next-steps > ol > li").first
        title, apply = first.locator("> b").inner_text(), first.get_by_role("button", name="Apply")
        if is_below(page, apply):
            page.mouse.move(*middle(page.locator(".next-steps")))
            page.mouse.wheel(0, 200)
            frames.append(shot(page, strip, len(frames) + 1, "the wheel, to the first step"))
        page.mouse.click(*middle(apply))
        page.locator(".step code").nth(0).wait_for()
        expect(page.locator(".next-steps > ol > li > b", has_text=title)).to_have_count(0)
        complete(page)
        frames.append(shot(page, strip, len(frames) + 1, f"*Apply*: {title}"))
    page.close()
    return frames


def middle(target: Locator) -> tuple[float, float]:
    """The centre of an element, in page coordinates."""
    box = target.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def is_below(page: Page, target: Locator) -> bool:
    """Whether the centre of an element is below the edge of the page."""
    assert page.viewport_size is not None
    return middle(target)[1] > page.viewport_size["height"] - 4


def complete(page: Page) -> None:
    """Waits until the Next pane has tried all calls and knows the bound, and the result is verified."""
    expect(page.locator(".next-steps [role=status]")).not_to_contain_text("Trying calls", timeout=SLOW)
    page.locator(".next-bound").wait_for()
    page.locator(":is([data-verdict=tested], [data-verdict=proved])").wait_for()


def shot(page: Page, strip: Strip, number: int, gesture: str) -> Frame:
    page.mouse.move(640, 799)
    page.wait_for_timeout(900)  # colours fade, canvases paint
    save(page.screenshot(animations="disabled"), FOLDER / f"{strip.name}_{number}.png")
    limit = page.locator(".next-limit").inner_text()
    cycles, busiest = (int(re.sub(r"\D", "", n)) for n in re.findall(r"\d[\d\s]*(?= cycles| of them)", limit))
    return Frame(gesture, cycles, busiest)


def table(strip: Strip, frames: list[Frame], machine: Machine) -> str:
    """The table of gestures."""
    program = parse(strip.text()).program
    assert isinstance(program, PrimFunc)
    bound = program_bound(program, machine).cycles
    rows = [
        f"**{strip.title[0].upper()}{strip.title[1:]}**, on {machine.name}; any schedule needs at least {bound:,} cycles:",
        "",
        "| gesture | cycles | times that | times the busiest engine |",
        "|---|---:|---:|---:|",
    ]
    for n, frame in enumerate(frames, 1):
        ratios = f"{frame.cycles / bound:,.2f} | {frame.cycles / frame.busiest:.2f}"
        rows.append(f"| {n}. {frame.gesture} | {frame.cycles:,} | {ratios} |")
    pictures = (
        f"![{strip.title[0].upper()}{strip.title[1:]} after gesture {n}](../pictures/{strip.name}_{n}.png)"
        for n, _ in enumerate(frames, 1)
    )
    return "\n".join([*rows, "", *pictures])


def written(text: str) -> None:
    """Puts the tables between the markers of the page."""
    before, _, rest = PAGE.read_text().partition("<!-- strips: start -->")
    _, _, after = rest.partition("<!-- strips: end -->")
    PAGE.write_text(f"{before}<!-- strips: start -->\n\n{text}\n\n<!-- strips: end -->{after}")


if __name__ == "__main__":
    raise SystemExit(main())
