"""The page operated like a user: rows, drags, menus, metrics. For the browser tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tilewright import static

STILL = """() => {
    const ends = (animation) => Number.isFinite(animation.effect.getComputedTiming().endTime);
    const isStill = (root) => root.getAnimations().every((animation) => animation.playState !== "running" || !ends(animation))
        && [...root.querySelectorAll("*")].every((element) => !element.shadowRoot || isStill(element.shadowRoot));
    return isStill(document);
}"""


def open_example(page: Page, name: str) -> None:
    """Open an example from the gallery, by its card."""
    page.locator(f'[data-example="{name}"]').click()
    _simulated(page)


def go_to_gallery(page: Page, url: str) -> None:
    """Tilewright's first screen: of the page that an earlier test left, else of a new load."""
    if page.url != f"{url.rstrip('/')}/":
        page.goto(url)
    page.locator(".card[data-example]").first.wait_for()


def open_text(page: Page, url: str, text: str) -> None:
    """Open a program or a notebook, from the text area of the gallery."""
    go_to_gallery(page, url)
    page.get_by_label("A TVMScript program or a notebook").fill(text)
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("tree").get_by_role("treeitem").first.wait_for()


def go_to_example(page: Page, url: str, name: str) -> None:
    """Open an example, or a file of the served folder. A page that shows its card is not loaded again."""
    if page.url == f"{url.rstrip('/')}/" and page.locator(f'[data-example="{name}"]').count():
        open_example(page, name)
    else:
        page.goto(f"{url.rstrip('/')}/{'file' if name.endswith('.py') else 'example'}/{name}")
        _simulated(page)


def open_small(page: Page, url: str, name: str) -> None:
    """An example whose extents and tiles are a quarter: the same rows and steps, with little to simulate and to verify."""
    text = (Path(static.__file__).parent / "examples" / f"{name}.py").read_text()
    open_text(page, url, re.sub(r"\b(64|128|256|512)\b", lambda size: str(int(size[0]) // 4), text))
    _simulated(page)


def in_real_time(page: Page) -> None:
    """Expand repeats that folded by themselves."""
    button = page.get_by_role("button", name="Fold repeats")
    if button.is_visible() and button.get_attribute("aria-pressed") == "true":
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")


def back_in_gallery(page: Page) -> bool:
    """Leave the notebook of a page for the gallery; False if the page has none, or keeps something open."""
    if not page.locator("#screen-gallery").count():
        return False  # another page than Tilewright's
    back = page.locator("#screen-notebook, #screen-model").get_by_label("Gallery", exact=True)
    cards = page.locator(".card[data-example]")
    try:
        if back.first.is_visible():
            first_pane = page.get_by_role("tab", name="TVMScript")  # the next notebook begins with the pane of this one
            if first_pane.is_visible() and first_pane.get_attribute("aria-selected") != "true":
                first_pane.click(timeout=2_000)
            back.first.click(timeout=2_000)
        cards.first.wait_for(timeout=2_000)
    except PlaywrightTimeout:
        return False
    return page.get_by_role("dialog").count() == 0


def _simulated(page: Page) -> None:
    """Wait for the tree and its costs, which a busy machine computes after the paint."""
    page.get_by_role("tree").get_by_role("treeitem").first.wait_for()
    expect(page.locator('[data-figure="Cycles"] b')).not_to_have_text("…")


def row(page: Page, name: str) -> Locator:
    return page.locator(f'[role="treeitem"][data-id="{name}"]')


def point_in(page: Page, name: str) -> tuple[float, float]:
    """A point near the start of a row, where its name is."""
    row(page, name).scroll_into_view_if_needed()
    box = row(page, name).bounding_box()
    assert box is not None
    return box["x"] + 60, box["y"] + box["height"] / 2


def drag(page: Page, block: str, loop: str, *, wait: bool = True) -> None:
    """Drag one row to another, like a hand; without `wait`, faster than the server's answer."""
    grab(page, block, wait=wait)
    page.mouse.move(*point_in(page, loop), steps=8 if wait else 1)
    page.mouse.up()


def grab(page: Page, block: str, *, wait: bool = True) -> None:
    """Press on a row and move far enough for a drag to begin."""
    x, y = point_in(page, block)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 10, y + 10, steps=3)
    if wait:
        # The grab requests the legal targets from the server.
        page.locator(".tw-tree.is-grabbing :is(.row, .loop-chip)[data-offer]").first.wait_for()


def choose(page: Page, name: str, label: str) -> None:
    """Choose an entry of a row's menu."""
    row(page, name).hover()
    page.get_by_label(f"Actions of {name}", exact=True).click()
    page.get_by_role("menuitem", name=label).click()


def tree_text(page: Page) -> list[str]:
    """The text of each row without the sign of a problem, which appears after the lints."""
    script = """rows => rows.map((row) => [...row.children].filter((part) => !part.matches(".problem-mark"))
        .map((part) => part.innerText ?? "").join(" "))"""
    rows = page.get_by_role("tree").get_by_role("treeitem")
    return [" ".join(text.split()) for text in rows.evaluate_all(script)]


def until_still(page: Page) -> None:
    """Wait for the end of the transitions and moves that run; those without end are left out."""
    page.wait_for_function(STILL)


def until(page: Page, holds: Callable[[], bool], timeout: int = 5_000) -> None:
    """Wait at most `timeout` ms for a condition that no locator expresses."""
    for _ in range(timeout // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    assert holds()


def figure(page: Page, label: str) -> str:
    value = page.locator(f'[data-figure="{label}"] b')
    expect(value).not_to_have_text("…")
    return value.inner_text()


def number(page: Page, label: str) -> int:
    """The digits of a figure."""
    return int(re.sub(r"\D", "", figure(page, label)))


def code(page: Page, pane: str) -> str:
    return "\n".join(page.locator(f"#pane-{pane} .code-line:not(.removed) code").all_inner_texts())


def steps(page: Page) -> list[str]:
    return page.locator(".step .step-text code").all_inner_texts()
