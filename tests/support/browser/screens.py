"""All screens of the page, for the test of the layout: each function goes to the views of one screen and yields the name of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from support.sessions.searching import HOLES

from tilewright import static

from .page import drag, go_to_example, go_to_gallery, open_text, row

Screen = Callable[[Page, str], Iterator[str]]

PANES = ("next", "script", "python", "problems", "machine", "traffic", "explore")
SLOW = 120_000

VALUES = """\
import tvm
from tvm import te


def scale(n, x: te.Tensor, dtype):
    if n > 4:
        return te.compute(x.shape, lambda i, j: x[i, j] * tvm.tir.const(2, dtype), name="scaled")
    return te.compute(x.shape, lambda i, j: x[i, j], name="copied")


def negate(x: te.Tensor, axis):
    return te.compute(x.shape, lambda i, j: -x[i, j] if axis > 0 else x[i, j], name="negated")
"""
"""Two programs that need values."""

RAGGED = """\
@T.prim_func(s_tir=True)
def rows(P: T.Buffer((65,), "int32"), V: T.Buffer((256,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("row"):
            vi = T.axis.spatial(64, i)
            Y[vi] = T.float32(0)
            for j in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + j]
"""
"""A program whose trip counts are data."""

CONVOLUTION = """
@T.prim_func(s_tir=True)
def conv2d(X: T.Buffer((1, 32, 58, 58), "float32"), W: T.Buffer((64, 32, 3, 3), "float32"), Y: T.Buffer((1, 64, 56, 56), "float32")):
    convolution_result = T.sblock_alloc_buffer((1, 64, 56, 56), "float32")
    for n, f, y, x, c, ky, kx in T.grid(1, 64, 56, 56, 32, 3, 3):
        with T.sblock("convolution"):
            vn, vf, vy, vx, vc, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ky, kx])
            with T.init():
                convolution_result[vn, vf, vy, vx] = T.float32(0)
            convolution_result[vn, vf, vy, vx] += X[vn, vc, vy + vky, vx + vkx] * W[vf, vc, vky, vkx]
    for n, f, y, x in T.grid(1, 64, 56, 56):
        with T.sblock("rectified_result"):
            vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
            Y[vn, vf, vy, vx] = T.max(convolution_result[vn, vf, vy, vx], T.float32(0))
"""


def pane(page: Page, name: str) -> None:
    page.locator(f'[data-pane-tab="{name}"]').click()


def open_menu(page: Page, name: str) -> None:
    row(page, name).hover()
    page.get_by_label(f"Actions of {name}", exact=True).click()


def menu_item(page: Page, name: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("menuitem", name=name)


def closed(page: Page) -> None:
    """Close a menu or a dialog."""
    page.keyboard.press("Escape")
    expect(page.locator(".pop:has([role=menu]), dialog[open], [role=dialog]:visible")).to_have_count(0)


def start(page: Page, url: str) -> Iterator[str]:
    go_to_gallery(page, url)
    page.locator(".card .thumb-block").first.wait_for()
    yield "cards"
    field = page.get_by_label("A TVMScript program or a notebook")
    field.fill("def f(:\n")
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".paste-problem").wait_for()
    yield "a text with an error"
    field.fill(VALUES)
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".program-choice").wait_for()
    yield "values that a text needs"
    field.fill("")
    search = page.get_by_label("Find an example")
    search.fill("nothing has this word")
    page.get_by_text("No example matches.").wait_for()
    yield "no example matches"
    search.fill("")


def first_notebook(page: Page, url: str) -> Iterator[str]:
    go_to_example(page, url, "vtcm_double_buffer")
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "proved", timeout=SLOW)
    pane(page, "next")
    expect(page.locator(".next-limit")).to_contain_text("less", timeout=SLOW)
    expect(page.locator(".next-steps [role=status]")).not_to_contain_text("Trying calls", timeout=SLOW)
    yield "next"


def notebook(page: Page, url: str) -> Iterator[str]:
    yield from first_notebook(page, url)
    for name in PANES[1:]:
        pane(page, name)
        page.wait_for_timeout(300)
        yield name
    pane(page, "script")
    row(page, "ko").click()
    yield "loop"
    page.locator(".row-block").first.click(position={"x": 120, "y": 9})
    expect(page.locator(".inspector h2").first).to_be_visible()
    yield "block"
    page.locator('.row-block [data-act="buffer"]').last.click()
    expect(page.locator(".layout-picker .layout-card").first).to_be_visible(timeout=SLOW)
    expect(page.locator(".inspector").get_by_text("simulating…")).to_have_count(0, timeout=SLOW)
    yield "layout picker"
    page.get_by_role("button", name="Enlarge: inspector").click()
    yield "enlarged layout picker"
    page.get_by_role("button", name="Restore the screen").click()


def chip(page: Page, url: str) -> Iterator[str]:
    """A kernel on many cores: the classes of cores, another core, tables, occupancy."""
    go_to_example(page, url, "tilelang_gemm_a100")
    core = page.locator('.transport input[data-loop="sm"]')
    expect(core).to_have_attribute("max", "107")
    yield "cores"
    core.fill("80")
    expect(core.locator("xpath=following-sibling::output")).to_have_text("80 of 108")
    yield "another core"
    page.get_by_role("button", name="Table", exact=True).click()
    expect(page.get_by_role("table", name="Cores and the ports that they share")).to_be_visible()
    yield "tables"
    page.get_by_role("button", name="Table", exact=True).click()
    pane(page, "machine")
    page.wait_for_timeout(300)
    yield "machine"
    pane(page, "traffic")
    page.wait_for_timeout(300)
    yield "traffic"
    pane(page, "script")


def menus(page: Page, url: str) -> Iterator[str]:
    go_to_example(page, url, "vtcm_double_buffer")
    page.get_by_role("button", name="Other formats").click()
    yield "export menu"
    menu_item(page, "Python for TVM 0.23 or older").click()
    expect(page.get_by_role("dialog", name="What the export leaves out")).to_be_visible()
    yield "export review"
    closed(page)
    row(page, "ko").click()
    page.keyboard.press("Control+Shift+P")
    page.get_by_label("Find any action").last.wait_for()
    yield "palette"
    page.keyboard.type("split")
    yield "palette with a word"
    page.keyboard.press("Escape")  # clears the field
    closed(page)
    for key, name in (("k", "keys"), ("p", "reference")):
        page.locator(".headline").get_by_label("Help", exact=True).locator("visible=true").click()
        menu_item(page, "Guided tour, two minutes").wait_for()
        if key == "k":
            yield "help menu"
        page.keyboard.press(key)
        page.get_by_role("dialog").locator("visible=true").last.wait_for()
        yield name
        closed(page)
    open_menu(page, "A_local.vtcm")
    menu_item(page, re.compile("scope")).first.hover()
    page.locator(".prim-card").locator("visible=true").wait_for()
    yield "menu of a block"
    page.mouse.move(2, 2)
    closed(page)
    open_menu(page, "ko")
    yield "menu of a loop"
    closed(page)
    open_menu(page, "ko")
    menu_item(page, "Split").click()
    page.get_by_role("dialog").wait_for()
    yield "form of split"
    closed(page)
    page.locator(".file-chip").click()
    yield "menu of a file"
    closed(page)
    page.locator(".step .step-text").nth(2).click(button="right")
    yield "menu of a step"
    closed(page)


def history(page: Page, url: str) -> Iterator[str]:
    go_to_example(page, url, "vtcm_double_buffer")
    page.locator(".step .step-text").nth(2).click()
    expect(page.locator(".banner, .banner-tools").first).to_be_visible()
    yield "a step"
    page.keyboard.press("Shift")  # a focus by keyboard, which shows the button
    page.get_by_role("button", name="Enlarge: notebook").focus()
    yield "a step, with the button that enlarges the notebook"
    page.get_by_role("button", name="A/B comparison").click()
    expect(page.locator("#area-compare .ab-line").first).to_be_visible()
    yield "comparison"
    page.locator("#area-compare").get_by_label("Side B").select_option("example:fused_matmul_relu")
    page.locator(".ab-figures, .ab-line").first.wait_for()
    page.wait_for_timeout(2000)
    yield "comparison of two programs"


def first_drop(page: Page, url: str) -> Iterator[str]:
    go_to_example(page, url, "place_the_copies")
    drag(page, "A_local.vtcm", "ko")
    expect(page.locator('[data-figure="Cycles"] .change')).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Export", exact=True).click(trial=True)
    yield "after the drop"


def tour(page: Page, url: str) -> Iterator[str]:
    go_to_gallery(page, url)
    page.get_by_role("button", name="Guided tour, 2 minutes").click()
    page.locator(".tour .tour-head").wait_for()
    page.wait_for_timeout(500)
    yield "first step"
    for name in ("second step", "third step"):
        page.locator('.tour [data-part="next"]').click()
        page.wait_for_timeout(500)
        yield name
    page.locator('.tour [data-part="do"]').click()
    page.locator(".tour-result").wait_for()
    yield "third step, done"


def explore(page: Page, url: str) -> Iterator[str]:
    open_text(page, url, HOLES)
    pane(page, "explore")
    page.get_by_role("button", name="Start").wait_for()
    yield "form"
    page.get_by_label("On-chip peak at most").fill("much")
    page.get_by_role("button", name="Start").click()
    page.locator(".xp-form .xp-error").last.wait_for()
    yield "form with an error"
    page.get_by_label("On-chip peak at most").fill("")
    page.get_by_role("button", name="Start").click()
    page.locator("[data-status=ended]").wait_for(timeout=SLOW)
    page.locator(".xp-limits li").first.wait_for(timeout=SLOW)
    yield "ended"
    page.get_by_role("row").nth(1).click()
    yield "a candidate"


def fast(page: Page, url: str) -> Iterator[str]:
    """*Make it fast* of a program without a schedule, from its start to its end."""
    text = (Path(static.__file__).parent / "templates" / "conv2d.py").read_text().partition("# %% schedule")[0]
    open_text(page, url, re.sub(r"\b64\b", "16", text))
    page.get_by_role("button", name="Make it fast").click()
    page.locator(".xp-film-frame b").wait_for(timeout=SLOW)
    yield "a search of a derived space"
    stop = page.locator("[data-key=stop]")
    if stop.is_visible():
        stop.click()


def model(page: Page, url: str) -> Iterator[str]:
    go_to_gallery(page, url)
    page.locator('[data-example^="resnet18_blocks"]').click()
    page.locator(".graph-node.is-call").first.wait_for()
    page.locator(".inference .bokeh-figure canvas").first.wait_for()
    expect(page.locator(".status.is-pending")).to_have_count(0, timeout=SLOW)
    yield "model"
    page.locator(".model").get_by_role("button", name="Other formats").click()
    yield "export menu of a model"
    closed(page)
    page.locator(".kernel-rows .kernel-row").first.click()
    page.get_by_role("treeitem").first.wait_for()
    expect(page.locator('.headline [data-figure="Cycles"] b').locator("visible=true")).not_to_have_text("…")
    yield "a kernel"


def problems(page: Page, url: str) -> Iterator[str]:
    open_text(page, url, RAGGED)
    pane(page, "problems")
    page.locator(".problems form.setting").wait_for()
    yield "form for data"
    open_text(page, url, CONVOLUTION)
    pane(page, "problems")
    expect(page.locator("#pane-problems")).to_contain_text("convolution", timeout=SLOW)
    yield "findings of a deep nest"


def drafts(page: Page, url: str) -> Iterator[str]:
    open_text(page, url, CONVOLUTION)
    row(page, "ky").click()
    page.keyboard.press("u")
    page.locator(".step code", has_text="sch.unroll(ky)").wait_for()
    expect(page).to_have_url(re.compile("/draft/"))
    yield "a draft"
    page.locator("#screen-notebook").get_by_label("Gallery", exact=True).click()
    page.locator(".card[data-example]").first.wait_for()
    page.locator(".draft-row").first.scroll_into_view_if_needed()
    yield "list of drafts"


SCREENS: dict[str, Screen] = {
    screen.__name__.replace("_", " "): screen
    for screen in (start, notebook, chip, menus, history, first_drop, tour, explore, fast, model, problems, drafts)
}
