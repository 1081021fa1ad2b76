"""What is taken away from the page: the menu beside Export, the replay that plays by itself, the link that carries a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser.page import number, open_example, row, tree_text

from tilewright.app.document import evaluate, load_document
from tilewright.app.export.exports import EXPORTS, Subject, made
from tilewright.app.links import KEY, fragment_of
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State

EXAMPLES = Path(__file__).parents[2] / "static" / "examples"
Shoot = Callable[[Page, str], Path]
PAST_A_THOUSAND = re.compile(r"\d{4,}")
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}


def take(page: Page, label: str) -> tuple[str, bytes]:
    """An entry of the menu: the file's name, and what is in it."""
    page.get_by_role("button", name="Other formats").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=label, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_given_the_menu_then_each_kind_is_a_file_of_what_is_shown(page: Page, app_url: str, shoot: Shoot) -> None:
    page.goto(app_url)
    open_example(page, "vtcm_double_buffer")
    cycles = number(page, "Cycles")
    page.get_by_role("button", name="Other formats").click()
    labels = page.get_by_role("menuitem").locator(".menu-label").all_inner_texts()
    assert labels == [*(kind.label for kind in EXPORTS.values()), "Copy link"]
    shoot(page, "export-menu")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Other formats")).to_be_focused()
    name, data = take(page, "Chrome trace")
    assert name.endswith("_trace.json") and json.loads(data)["otherData"]["cycles"] == str(cycles)
    name, data = take(page, "Timeline as PNG")
    assert name.endswith("_timeline.png") and data.startswith(b"\x89PNG\r\n")
    name, data = take(page, "Loop tree as SVG")
    assert name.endswith("_tree.svg") and b"A_local.vtcm" in data
    page.get_by_role("button", name="Other formats").click()
    page.get_by_role("menuitem", name="Python for TVM 0.23 or older", exact=True).click()
    with page.expect_download() as older:
        page.get_by_role("dialog").get_by_role("button", name="Download").click()
    assert Path(older.value.path()).read_bytes().count(b"get_block") > 0


def test_given_slots_that_tvm_drops_then_the_export_says_so_first_and_a_pipeline_keeps_them(
    page: Page, app_url: str, shoot: Shoot
) -> None:
    page.goto(app_url)
    open_example(page, "vtcm_double_buffer")
    # Nothing else is drawn later: the review alone has to show its results.
    expect(page.locator("[data-verdict=proved]")).to_be_visible(timeout=30_000)
    expect(page.get_by_role("status").filter(has_text="lints")).to_have_count(0)
    page.get_by_role("button", name="Export", exact=True).click()
    review = page.get_by_role("dialog", name="What the export leaves out")
    expect(review.get_by_role("listitem")).to_have_count(3)
    expect(review.locator(".review-total")).to_contain_text("+")
    expect(review.get_by_role("button", name="Apply")).to_be_visible()
    shoot(page, "export-review")
    page.keyboard.press("Escape")
    expect(review).to_be_hidden()
    expect(page.get_by_role("button", name="Other formats")).to_be_focused()
    page.get_by_role("button", name="Export", exact=True).click()
    review.get_by_role("button", name="Apply").click()
    expect(review.get_by_role("listitem")).to_have_count(2)
    shoot(page, "export-review-kept")
    with page.expect_download() as download:
        review.get_by_role("button", name="Download").click()
    assert b"software_pipeline_stage" in Path(download.value.path()).read_bytes()
    expect(review).to_be_hidden()


def test_given_the_keyboard_then_the_menu_is_gone_through(page: Page, app_url: str) -> None:
    page.goto(app_url)
    open_example(page, "box_blur")
    page.get_by_role("button", name="Other formats").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("tree as svg")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith("_tree.svg")


def test_given_a_link_then_another_page_opens_the_same_notebook(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot
) -> None:
    page = open_page(**CLIPBOARD)
    page.goto(app_url)
    open_example(page, "fused_matmul_relu")
    page.get_by_role("button", name="Other formats").click()
    page.get_by_role("menuitem", name="Copy link").click()
    expect(page.locator(".page-word")).to_contain_text("Link copied")
    shoot(page, "link-copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(app_url) and KEY in link
    other = open_page()
    other.goto(link)
    row(other, "io").or_(other.locator('[role="treeitem"]').first).first.wait_for()
    expect(other.locator("h1.title")).to_have_text(page.locator("h1.title").inner_text())
    assert tree_text(other) == tree_text(page)
    expect(other).to_have_url(link)
    other.reload()
    other.locator('[role="treeitem"]').first.wait_for()
    assert tree_text(other) == tree_text(page)


def test_given_damaged_links_then_the_page_says_so(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/{KEY}abc")
    for packed in ("%00", "AAAA", fragment_of("x" * 5_000)[len(KEY) : -4]):
        expect(page.locator(".page-word")).to_contain_text("cannot be opened")
        page.locator(".page-word").get_by_role("button", name="Close").click()
        page.evaluate("fragment => { location.hash = fragment; }", KEY + packed)
    expect(page.locator(".page-word")).to_contain_text("cannot be opened")
    expect(page.locator("[data-example]").first).to_be_visible()


def test_given_a_hostile_notebook_in_a_link_then_nothing_of_it_is_run(page: Page, app_url: str) -> None:
    text = (EXAMPLES / "box_blur.py").read_text(encoding="utf-8")
    words = "# # <img src=x onerror='window.run = 1'>\n# <script>window.run = 1</script>\n"
    hostile = text.replace("# %% [markdown]\n", f"# %% [markdown]\n{words}", 1)
    hostile += "\n# %% more\nraise SystemExit(__import__('pathlib').Path('run').touch())\n"
    page.goto(f"{app_url}/{fragment_of(hostile)}")
    page.locator('[role="treeitem"]').first.wait_for()
    assert page.evaluate("window.run") is None and not Path("run").exists()


# ---- The replay.


@pytest.fixture
def open_replay(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """A replay from the disk, in a browser that is offline; what goes wrong in it fails the test."""
    problems: list[str] = []
    contexts = []

    def open_one(name: str, *, dark: bool = False) -> Page:
        notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
        file = tmp_path / f"{name}.html"
        text = made("replay", Subject(State(notebook=notebook, shown=notebook), Store())).data
        assert isinstance(text, str)
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": 1280, "height": 800}, color_scheme="dark" if dark else "light", offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: None if r.url == file.as_uri() else problems.append(f"asks for {r.url}"))
        page.goto(file.as_uri())
        page.locator("html[data-ready]").wait_for()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


def playhead(page: Page) -> int:
    return int(page.get_by_role("slider", name="Playhead").get_attribute("aria-valuenow") or 0)


def test_given_a_replay_from_the_disk_then_it_plays_pauses_and_is_scrubbed(
    open_replay: Callable[..., Page], shoot: Shoot
) -> None:
    page = open_replay("gemmini_gemm")
    expect(page.locator(".facts")).to_contain_text("625\u202f414")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".trees .is-light [data-row] > .lit, .trees .is-light .lit").first).to_be_attached()
    expect(page.get_by_role("slider", name="Playhead")).to_have_attribute("aria-valuenow", PAST_A_THOUSAND)
    page.get_by_role("button", name="Pause").click()
    here = playhead(page)
    shoot(page, "replay")
    head = page.get_by_role("slider", name="Playhead")
    head.focus()
    page.keyboard.press("Shift+ArrowRight")
    expect(head).not_to_have_attribute("aria-valuenow", str(here))
    assert page.locator(".script li.is-lit").count() > 0
    # In the middle of what repeats: only the clock knows where that is.
    box = page.locator(".timeline-place canvas.plot").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 40)
    assert playhead(page) > here


def test_given_a_replay_then_it_unfolds_finds_and_says_what_is_waited_for(
    open_replay: Callable[..., Page], shoot: Shoot
) -> None:
    page = open_replay("gemmini_gemm")
    jo = page.get_by_role("slider", name=re.compile("^jo of"))
    jo.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".trees .is-light [data-row='jo'] .index")).to_have_text("= 3")
    there = playhead(page)
    assert 20_000 < there < 625_414
    head = page.get_by_role("slider", name="Playhead")
    head.focus()
    for _ in range(6):
        page.keyboard.press("+")
    expect(head).to_have_attribute("aria-valuenow", str(there))
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator(".timeline-place .timeline-card")).to_be_visible()
    shoot(page, "replay-unfolded")


def test_given_the_dark_then_the_replay_is_dark_until_it_is_told_otherwise(
    open_replay: Callable[..., Page], shoot: Shoot
) -> None:
    page = open_replay("place_the_copies", dark=True)
    expect(page.locator(".tree.is-dark")).to_be_visible()
    expect(page.locator(".tree.is-light")).to_be_hidden()
    shoot(page, "replay-dark")
    page.get_by_role("button", name="Light theme").click()
    expect(page.locator(".tree.is-light")).to_be_visible()
