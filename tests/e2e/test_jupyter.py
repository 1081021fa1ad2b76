"""The widgets in real JupyterLab and Notebook 7: a block is dragged with the mouse, a following cell prints the new schedule, and the saved
notebook keeps the pictures without a kernel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.browser.jupyter import Server, cell, jupyter_server, run_cell, surroundings, write_notebook

from tilewright import static

EXAMPLE = Path(static.__file__).parent / "examples" / "place_the_copies.py"

CELLS = (
    "import tilewright\nsch = tilewright.load('copies.py').schedule.copy()\ntree = tilewright.LoopTree(sch)\ntree",
    "timeline = tilewright.Timeline(schedule=tree.param.schedule, machine=tree.param.machine)\ntimeline",
    "print(sch.trace.steps[-1].method, sch.get_loops('A_local.vtcm')[2].name)\nprint(tilewright.simulate(sch, 'dual-bank-npu').cycles)",
    "sch",
)
BEFORE, AFTER = "183\u202f386", "276\u202f261"


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with jupyter_server(tmp_path_factory.mktemp("jupyter")) as server:
        (server.folder / "copies.py").write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
        yield server


@pytest.fixture
def bare_page(browser: Browser) -> Iterator[Page]:
    """A page with an ignored console. Notebook 7.6 raises an unrelated exception for every notebook ("reading 'schema'")."""
    page = browser.new_page(viewport={"width": 1280, "height": 1500})
    messages: list[str] = []
    page.on("pageerror", lambda error: messages.append(str(error)))
    yield page
    page.close()
    assert {text for text in messages if "reading 'schema'" not in text} == set()


@pytest.fixture
def opened(jupyter: Server, open_page: Callable[..., Page], bare_page: Page) -> Callable[..., Page]:
    def open_one(front_end: str, name: str) -> Page:
        page = bare_page if front_end == "notebook" else open_page(width=1280, height=1500)
        jupyter.open(page, front_end, name)
        return page

    return open_one


def live(page: Page, number: int) -> Locator:
    return cell(page, number).locator(".tw-live")


def drag(page: Page, tree: Locator, block: str, loop: str) -> None:
    """Drag with the mouse: down, away, onto the row, up."""
    source, target = tree.locator(f'[data-id="{block}"]'), tree.locator(f'[data-id="{loop}"]')
    source.scroll_into_view_if_needed()
    start, end = source.bounding_box(), target.bounding_box()
    assert start is not None and end is not None
    page.mouse.move(start["x"] + 60, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(start["x"] + 72, start["y"] + start["height"] / 2 + 12, steps=3)
    # The kernel computes the legal targets.
    tree.locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()
    page.mouse.move(end["x"] + 60, end["y"] + end["height"] / 2, steps=6)
    page.mouse.up()


def dragged(page: Page) -> None:
    """Run the first two cells and drag the block; the timeline and its stored picture follow."""
    for number in (0, 1):
        run_cell(page, number)
    expect(live(page, 1)).to_contain_text(BEFORE)
    drag(page, live(page, 0), "A_local.vtcm", "ko")
    expect(live(page, 1)).to_contain_text(AFTER)
    expect(cell(page, 1).locator("[data-tilewright] img")).to_have_attribute("alt", re.compile(AFTER))


@pytest.mark.slow
def test_timeline_follows_a_drag_in_notebook_7(jupyter: Server, opened: Callable[..., Page]) -> None:
    write_notebook(jupyter.folder / "seven.ipynb", *CELLS)
    dragged(opened("notebook", "seven.ipynb"))


@pytest.mark.slow
def test_a_drag_reaches_the_next_cells_in_jupyterlab(jupyter: Server, opened: Callable[..., Page]) -> None:
    path = jupyter.folder / "lab.ipynb"
    write_notebook(path, *CELLS)
    page = opened("lab", path.name)
    dragged(page)
    page.keyboard.press("Control+s")  # the focus is in the tree
    wait_for(page, lambda: AFTER in text_of(path))
    continued(page)


@pytest.mark.slow
def test_a_saved_notebook_keeps_its_pictures_without_a_kernel(
    jupyter: Server, opened: Callable[..., Page], bare_page: Page
) -> None:
    path = jupyter.folder / "saved.ipynb"
    write_notebook(path, *CELLS)
    page = opened("lab", path.name)
    dragged(page)
    page.keyboard.press("Control+s")  # the focus is in the tree
    wait_for(page, lambda: AFTER in text_of(path))
    # No kernel has the widgets of a copy. The copy is trusted, as it was run here.
    kept = shutil.copy(path, path.with_name("kept.ipynb"))
    page.close()
    pictures_without_kernel(bare_page, jupyter, Path(kept))


def continued(page: Page) -> None:
    """The next cells see the change, and a bare schedule is another view of the same one."""
    run_cell(page, 2)
    expect(cell(page, 2).locator(".jp-OutputArea")).to_contain_text("compute_at ko")
    expect(cell(page, 2).locator(".jp-OutputArea")).to_contain_text(AFTER.replace("\u202f", ""))
    run_cell(page, 3)
    expect(live(page, 3).get_by_role("treeitem").nth(3)).to_have_attribute("data-id", "mo")
    # The focused view handles keys: `x` would cut the cell.
    live(page, 3).locator('[data-id="ko"]').click()
    page.keyboard.press("x")
    page.keyboard.press("Control+z")
    expect(live(page, 1)).to_contain_text(BEFORE)
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(
        len(CELLS) + 1
    )  # running the last one adds an empty one


def pictures_without_kernel(page: Page, jupyter: Server, path: Path) -> None:
    """Of a saved notebook in JupyterLab, and in the page that nbconvert makes. Jupyter reports widgets without a kernel on the console."""
    jupyter.open(page, "lab", path.name)
    for number, alt in ((0, "Loop tree of matmul"), (1, f"Timeline of matmul: {AFTER} cycles")):
        picture = cell(page, number).locator("[data-tilewright] img")
        expect(picture).to_be_visible()
        expect(picture).to_have_attribute("alt", re.compile(alt))
    expect(page.get_by_text("Error displaying widget").first).to_be_hidden()

    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", str(path)],
        capture_output=True, text=True, check=False, env={**os.environ, **surroundings(jupyter.folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page.goto(f"{jupyter.address}/files/{path.stem}.html?token={jupyter.token}")
    picture = page.get_by_role("img", name=f"Timeline of matmul: {AFTER} cycles")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 500


def text_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except json.JSONDecodeError:
        return ""  # it is being written


def wait_for(page: Page, condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait without blocking the page: its requests pass through this process."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        page.wait_for_timeout(50)
