"""Exports from the page: the menu beside Export, the self-contained replay, the link that carries a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser.page import go_to_example, go_to_gallery, number
from support.sessions.pages import painted

from tilewright.app.document import evaluate, load_document
from tilewright.app.export.exports import EXPORTS, ExportSubject, made
from tilewright.app.links import KEY, fragment_of
from tilewright.app.state.model import State

EXAMPLES = Path(__file__).parents[2] / "static" / "examples"
Shoot = Callable[[Page, str], Path]
PAST_A_THOUSAND = re.compile(r"\d{4,}")


def take(page: Page, label: str) -> tuple[str, bytes]:
    """An entry of the menu: the file's name and content."""
    page.get_by_role("button", name="Other formats").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=label, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


@pytest.mark.slow
def test_the_menu_exports_each_kind_of_the_shown_program(page: Page, app_url: str, shoot: Shoot) -> None:
    go_to_example(page, app_url, "vtcm_double_buffer")
    cycles = number(page, "Cycles")
    page.get_by_role("button", name="Other formats").click()
    labels = page.get_by_role("menuitem").locator(".menu-label").all_inner_texts()
    assert labels == [*(kind.label for kind in EXPORTS.values()), "Copy link", "Print or save as PDF"]
    shoot(page, "export-menu")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Other formats")).to_be_focused()
    name, data = take(page, "Chrome trace")
    assert name.endswith("_trace.json") and json.loads(data)["otherData"]["cycles"] == str(cycles)
    page.get_by_role("button", name="Other formats").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("tree as svg")
    with page.expect_download() as drawn:
        page.keyboard.press("Enter")
    assert drawn.value.suggested_filename.endswith("_tree.svg")
    assert b"A_local.vtcm" in Path(drawn.value.path()).read_bytes()
    # TVM drops slots: the export warns first, and a pipeline keeps them.
    expect(page.locator("[data-verdict=proved]")).to_be_visible(timeout=30_000)
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
    with page.expect_download() as download:
        review.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "schedule_tvm.py"
    assert b"software_pipeline_stage" in Path(download.value.path()).read_bytes()
    expect(review).to_be_hidden()


@pytest.mark.slow
def test_pictures_and_code_of_older_tvm_are_exported(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "vtcm_double_buffer")
    name, data = take(page, "Timeline as PNG")
    assert name.endswith("_timeline.png") and data.startswith(b"\x89PNG\r\n")
    page.get_by_role("button", name="Other formats").click()
    page.get_by_role("menuitem", name="Python for TVM 0.23 or older", exact=True).click()
    with page.expect_download() as older:
        page.get_by_role("dialog").get_by_role("button", name="Download").click()
    assert Path(older.value.path()).read_bytes().count(b"get_block") > 0


def rows(page: Page) -> list[str]:
    return page.get_by_role("treeitem").evaluate_all("rows => rows.map((row) => row.dataset.id)")


@pytest.mark.slow
def test_a_link_opens_the_same_notebook_in_another_page(page: Page, app_url: str, shoot: Shoot) -> None:
    go_to_example(page, app_url, "fused_matmul_relu")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Other formats").click()
    page.get_by_role("menuitem", name="Copy link").click()
    expect(page.locator(".page-word")).to_contain_text("Link copied")
    shoot(page, "link-copied")
    link = page.evaluate("navigator.clipboard.readText()")
    page.context.clear_permissions()
    assert link.startswith(app_url) and KEY in link
    title, shown = page.locator("h1.title").inner_text(), rows(page)
    page.goto("about:blank")  # a page that shows the notebook would keep it
    page.goto(link)
    page.locator('[role="treeitem"]').first.wait_for()
    expect(page.locator("h1.title")).to_have_text(title)
    assert rows(page) == shown
    expect(page).to_have_url(link)
    # It stays in the address until the first edit.
    page.locator(".machine-picker").select_option("dual-bank-npu")
    expect(page).to_have_url(re.compile("/draft/[0-9a-f]{12}$"))


def follow(page: Page, fragment: str) -> None:
    """Go to a link in the open page."""
    page.evaluate("fragment => { location.hash = fragment; }", fragment)


def test_damaged_links_are_reported_and_run_nothing(page: Page, app_url: str) -> None:
    go_to_gallery(page, app_url)
    for packed in ("abc", "%00", "AAAA", fragment_of("x" * 5_000)[len(KEY) : -4]):
        follow(page, KEY + packed)
        expect(page.locator(".page-word")).to_contain_text("cannot be opened")
        expect(page.locator("[data-example]").first).to_be_visible()
        page.locator(".page-word").get_by_role("button", name="Close").click()
    text = (EXAMPLES / "box_blur.py").read_text(encoding="utf-8")
    words = "# # <img src=x onerror='window.run = 1'>\n# <script>window.run = 1</script>\n"
    hostile = text.replace("# %% [markdown]\n", f"# %% [markdown]\n{words}", 1)
    hostile += "\n# %% more\nraise SystemExit(__import__('pathlib').Path('run').touch())\n"
    follow(page, fragment_of(hostile))
    page.locator('[role="treeitem"]').first.wait_for()
    assert page.evaluate("window.run") is None and not Path("run").exists()


# ---- The replay.


@pytest.fixture
def open_replay(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """A replay from disk, in an offline browser; any error in it fails the test."""
    problems: list[str] = []
    contexts = []

    def open_one(name: str, *, dark: bool = False) -> Page:
        notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
        file = tmp_path / f"{name}.html"
        text = made("replay", ExportSubject(*painted(State(notebook=notebook, shown=notebook)))).data
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


def test_a_replay_from_disk_plays_scrubs_and_unfolds(open_replay: Callable[..., Page], shoot: Shoot) -> None:
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
    # In the middle of a repeat, at a position that only the real-time axis has.
    box = page.locator(".timeline-place canvas.plot").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 40)
    assert playhead(page) > here
    jo = page.get_by_role("slider", name=re.compile("^jo of"))
    jo.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".trees .is-light [data-row='jo'] .index")).to_have_text("= 3")
    there = playhead(page)
    assert 20_000 < there < 625_414
    head.focus()
    for _ in range(6):
        page.keyboard.press("+")
    expect(head).to_have_attribute("aria-valuenow", str(there))
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator(".timeline-place .timeline-card")).to_be_visible()
    shoot(page, "replay-unfolded")


@pytest.mark.slow
def test_a_replay_is_dark_until_another_theme_is_chosen(open_replay: Callable[..., Page], shoot: Shoot) -> None:
    page = open_replay("place_the_copies", dark=True)
    expect(page.locator(".tree.is-dark")).to_be_visible()
    expect(page.locator(".tree.is-light")).to_be_hidden()
    shoot(page, "replay-dark")
    page.get_by_role("button", name="Light theme").click()
    expect(page.locator(".tree.is-light")).to_be_visible()
