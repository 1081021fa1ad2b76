"""A post with several programs: the bar below the cells offers the others, with the real mouse and keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.page import go_to_gallery, open_text, steps

SCALE = """
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
s = te.create_schedule(B.op)
"""
TWO = f"""Two ways to tile

I have tried this, and it is slow on our board:
{SCALE}outer, inner = s[B].split(B.op.axis[0], factor=8)

A colleague has written it in another way:
{SCALE}s[B].parallel(B.op.axis[0])

Which one is better?
"""
PRIMITIVES = ("split", "unroll", "parallel", "vectorize", "unroll", "parallel")
MANY = "A tour of the schedule primitives of TE\n" + "".join(
    f"\nStep {n} shows what {name} does to this loop nest:\n{SCALE}s[B].{name}(B.op.axis[{int(name == 'vectorize')}]"
    f"{', 8' if name == 'split' else ''})\n"
    for n, name in enumerate(PRIMITIVES, 1)
)


def opened(page: Page, url: str, text: str) -> Locator:
    """The bar after the text was pasted on the start screen."""
    go_to_gallery(page, url)
    page.get_by_label("A TVMScript program or a notebook").fill(text)
    page.get_by_role("button", name="Open").click()
    page.get_by_role("treeitem").first.wait_for()
    bar = page.locator(".banner.is-programs")
    expect(bar).to_be_visible()
    return bar


def is_whole(part: Locator) -> bool:
    """Whether nothing of an element is cut off, and it is within the page and its column."""
    script = """(e) => {
      const [own, column] = [e.getBoundingClientRect(), e.closest(".notebook-view").getBoundingClientRect()];
      return e.scrollWidth <= e.clientWidth + 1 && own.left >= column.left && own.right <= column.right + 1
        && own.bottom <= innerHeight && own.top >= column.top;
    }"""
    return bool(part.evaluate(script))


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_button_opens_the_other_program_and_back(
    open_page: Callable[..., Page], app_url: str, shoot: Callable[[Page, str], Path], dark: bool
) -> None:
    page = open_page(dark=dark)
    bar = opened(page, app_url, TWO)
    expect(bar).to_contain_text("The text has 2 programs. This is B, lines 5–8.")
    shoot(page, f"post-programs-{'dark' if dark else 'light'}")
    assert is_whole(bar) and all(map(is_whole, bar.get_by_role("button").all()))
    assert any("split" in step for step in steps(page))
    bar.get_by_role("button", name="Open B, lines 12–15").click()
    expect(bar).to_contain_text("This is B, lines 12–15.")
    assert "sch.parallel" in steps(page)[-1]
    bar.get_by_role("button", name="Open B, lines 5–8").focus()
    page.keyboard.press("Enter")
    expect(bar).to_contain_text("This is B, lines 5–8.")
    assert any("split" in step for step in steps(page))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_many_programs_are_in_a_list_with_a_small_bar(
    open_page: Callable[..., Page], app_url: str, shoot: Callable[[Page, str], Path], width: int, height: int
) -> None:
    page = open_page(width=width, height=height)
    bar = opened(page, app_url, MANY)
    others = bar.get_by_label("Open another program")
    assert others.locator("option").count() == len(PRIMITIVES)  # a title and the five others
    bar.scroll_into_view_if_needed()
    shoot(page, f"post-many-programs-{width}")
    box = bar.bounding_box()
    assert box is not None and box["height"] < 90 and is_whole(bar) and is_whole(others)
    others.select_option(index=2)
    expect(bar).to_contain_text("This is B, lines 19–22.")
    assert "sch.parallel" in steps(page)[-1]


def test_the_calls_of_a_post_open_their_documentation(page: Page, app_url: str) -> None:
    open_text(page, app_url, f"Compute_at vs set_scope\n\nWhat is the difference between them?\n{SCALE}")
    page.locator(".banner.is-related").get_by_role("button", name="set_scope?").click()
    reference = page.get_by_role("dialog", name="Reference of primitives")
    expect(reference.get_by_role("heading", name="set_scope")).to_be_visible()
    reference.get_by_role("button", name="Close").click()
    expect(page.locator(".banner.is-related").get_by_role("button", name="what moves what")).to_be_visible()
    page.locator(".banner.is-related").get_by_role("button", name="Guide: The start screen").click()
    expect(reference.get_by_role("heading", name="What opens")).to_be_visible()
    reference.get_by_label("Find a call or a page").fill("physical block")
    reference.get_by_role("button", name="The inspector and the layout picker").click()
    expect(reference.get_by_role("heading", name="A buffer's layout")).to_be_visible()
