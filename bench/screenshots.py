"""The pictures of the guide: the real app, driven in a real Chromium, into docs/pictures as small palette PNGs.

Run: `python bench/screenshots.py [NAME …]`; without names all of them, at the end those that failed. Needs playwright, Pillow (which Bokeh
brings) and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH). A picture is a function below, named as its file; `SIZES` has those that are
not 1280x800, `DARK` those in the dark theme. The guide's pages say where each is used, and `tests/test_guide.py` that all are there.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from drop import FLAGS, chromium, server
from PIL import Image
from playwright.sync_api import Browser, Error, Locator, Page, expect, sync_playwright
from support.browser.jupyter import cell, jupyter_server, run_cell, write_notebook

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"

MOST_BYTES = 150_000

SIZES = {"zoomed": (640, 400), "large": (1920, 1080), "jupyter": (1280, 1080)}
DARK = {"notebook_dark"}

Picture = Callable[[Page, str], Locator | None]
"""Brings the page to the shown state; returns the part to capture, None for all."""


def main(names: list[str]) -> int:
    wanted = names or list(PICTURES)
    failed: list[str] = []
    FOLDER.mkdir(parents=True, exist_ok=True)
    with server() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, "--force-color-profile=srgb"])
        for name in wanted:
            try:
                size = take(browser, served.url, name)
                print(f"{size / 1024:6.0f} KiB  {name}", flush=True)
            except (Error, AssertionError) as error:
                failed.append(name)
                print(f"  failed    {name}: {str(error).splitlines()[0]}", flush=True)
        browser.close()
    return 1 if failed else 0


def take(browser: Browser, url: str, name: str) -> int:
    """One picture of a fresh page, as bytes."""
    width, height = SIZES.get(name, (1280, 800))
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page.set_default_timeout(30_000)
    try:
        part = PICTURES[name](page, url)
        if name in DARK:
            page.get_by_label("Dark theme").locator("visible=true").click()
        page.wait_for_timeout(900)  # colours fade, canvases paint
        picture = (part or page).screenshot(animations="disabled")
    finally:
        page.close()
    return save(picture, FOLDER / f"{name}.png")


def save(picture: bytes, path: Path) -> int:
    """As a palette PNG with as many colours as the size limit allows."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for colours in (256, 128, 64):
        image.quantize(palette=palette_of(image, colours), dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            break
    return path.stat().st_size


def palette_of(image: Image.Image, colours: int) -> Image.Image:
    """Half are the most frequent colours, the page's surfaces; half are spread over the others, since even a small buffer is identified by
    its colour."""
    common = sorted(image.getcolors(1 << 24) or [], reverse=True)[: colours // 2]
    spread = image.quantize(colours - len(common), Image.Quantize.MAXCOVERAGE).getpalette() or []
    exact = [part for _, colour in common if isinstance(colour, tuple) for part in colour]
    found = Image.new("P", (1, 1))
    found.putpalette((exact + spread)[: 3 * colours])
    return found


def opened(page: Page, url: str, example: str) -> None:
    page.goto(f"{url}example/{example}")
    page.get_by_role("treeitem").first.wait_for()
    page.locator("[data-verdict=proved], [data-verdict=tested]").wait_for()


def row(page: Page, name: str) -> Locator:
    return page.locator(f'[role="treeitem"][data-id="{name}"]')


def point(page: Page, name: str) -> tuple[float, float]:
    box = row(page, name).bounding_box()
    assert box is not None
    return box["x"] + 60, box["y"] + box["height"] / 2


def menu(page: Page, name: str) -> None:
    row(page, name).hover()
    page.get_by_label(f"Actions of {name}", exact=True).click()
    page.get_by_role("menuitem").first.wait_for()


# The pictures.


def gallery(page: Page, url: str) -> None:
    page.goto(url)
    page.locator(".card .thumb-block").first.wait_for()


def notebook(page: Page, url: str) -> None:
    opened(page, url, "vtcm_double_buffer")
    page.locator(".step .change").first.wait_for()


def notebook_dark(page: Page, url: str) -> None:
    notebook(page, url)


def large(page: Page, url: str) -> None:
    notebook(page, url)


def zoomed(page: Page, url: str) -> None:
    notebook(page, url)


def drop_map(page: Page, url: str) -> None:
    opened(page, url, "place_the_copies")
    x, y = point(page, "A_local.vtcm")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 12, y + 12, steps=3)
    page.locator(".row[data-offer]").first.wait_for()
    page.mouse.move(*point(page, "ko"), steps=6)
    page.wait_for_timeout(2500)  # the predictions of the drops arrive one after the other


def menu_card(page: Page, url: str) -> None:
    opened(page, url, "place_the_copies")
    menu(page, "A_local.vtcm")
    page.get_by_role("menuitem", name="Double buffer").hover()
    page.locator(".prim-card").locator("visible=true").wait_for()


def reference(page: Page, url: str) -> None:
    gallery(page, url)
    page.keyboard.press("?")
    page.keyboard.press("p")
    page.locator("dialog.reference").wait_for()
    page.keyboard.type("cache_read")


def palette(page: Page, url: str) -> None:
    opened(page, url, "vtcm_double_buffer")
    row(page, "ko").click()
    page.keyboard.press("Control+Shift+P")
    page.get_by_label("Find any action").last.wait_for()
    page.keyboard.type("split")
    page.wait_for_timeout(900)


def tour(page: Page, url: str) -> None:
    gallery(page, url)
    page.get_by_role("button", name="Guided tour, 2 minutes").click()
    for _ in range(2):
        page.locator('.tour [data-part="next"]').click()
    page.locator('.tour [data-part="do"]').click()
    page.locator(".tour-result").wait_for()


def timeline(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "what_moves_what")


def timeline_dual_bank_npu(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "vtcm_double_buffer")


def timeline_matrix_vector_npu(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "fused_matmul_relu")


def timeline_vta(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "vta_gemm")


def timeline_gemmini(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "gemmini_gemm")


def timeline_gpu_sm(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "bank_conflicts")


def timeline_cpu_core(page: Page, url: str) -> Locator:
    return timeline_of(page, url, "cache_blocking")


def timeline_of(page: Page, url: str, example: str) -> Locator:
    opened(page, url, example)
    return page.locator("#area-timeline")


def layout_picker(page: Page, url: str) -> None:
    opened(page, url, "bank_conflicts")
    page.locator(".inspector .buffer-choice").first.click()
    page.locator(".layout-card .card-figures").first.wait_for()
    page.get_by_role("button", name="Enlarge: inspector").click()


def history(page: Page, url: str) -> None:
    opened(page, url, "what_moves_what")
    page.locator(".step .change").first.wait_for()
    page.locator('[data-step="4"] .step-text').click()
    page.locator(".banner").wait_for()


def comparison(page: Page, url: str) -> None:
    opened(page, url, "fused_matmul_relu_roundtrip")
    page.get_by_role("button", name="A/B comparison").click()
    page.get_by_label("Side B").select_option("example:fused_matmul_relu")
    page.get_by_text("explains most").wait_for()


def machine(page: Page, url: str) -> Locator:
    opened(page, url, "vtcm_double_buffer")
    page.get_by_role("tab", name="Machine").click()
    page.locator(".sensitivities").wait_for()
    return page.locator("#area-panes")


def traffic(page: Page, url: str) -> Locator:
    opened(page, url, "fused_matmul_relu_roundtrip")
    page.get_by_role("tab", name="Traffic").click()
    page.get_by_text("Roofline").wait_for()
    return page.locator("#area-panes")


def problems(page: Page, url: str) -> Locator:
    opened(page, url, "fused_matmul_relu_roundtrip")
    page.get_by_role("tab", name="Problems").click()
    page.locator(".problems .fix").first.wait_for()
    return page.locator("#area-panes")


def explore_asked(page: Page, url: str) -> Locator:
    opened(page, url, "explore_tiles")
    page.get_by_role("tab", name="Explore").click()
    page.get_by_role("button", name="Keep tile m").click()
    return page.locator("#area-panes")


def explore_fast(page: Page, url: str) -> None:
    page.goto(url)
    fresh = (Path(__file__).parents[1] / "static" / "templates" / "conv2d.py").read_text()
    page.get_by_label("A TVMScript program or a notebook").fill(fresh.partition("# %% schedule")[0])
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("button", name="Make it fast").click()
    page.locator(".xp-film-frame b").wait_for(timeout=60_000)


def explore_running(page: Page, url: str) -> None:
    opened(page, url, "explore_tiles")
    page.get_by_role("tab", name="Explore").click()
    page.get_by_role("button", name="Start").click()
    tried = "e => Number(e.shadowRoot?.querySelector('.xp-top progress')?.value)"
    page.wait_for_function(f"() => [...document.querySelectorAll('*')].some(e => ({tried})(e) > 180)")
    page.locator("[data-key=stop]").wait_for()


def explore_ended(page: Page, url: str) -> None:
    explore_running(page, url)
    page.locator("[data-status=ended]").wait_for(timeout=120_000)
    page.locator(".xp-limits").wait_for()
    page.get_by_role("slider", name="Cycles", exact=True).press("ArrowDown")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowDown")


def explore_branch(page: Page, url: str) -> None:
    explore_running(page, url)
    page.locator("[data-status=ended]").wait_for(timeout=120_000)
    page.get_by_role("button", name="Open as branch").click()
    page.locator(".overlay .end-label").wait_for()


def jupyter(page: Page, url: str) -> None:
    """A dragged block, in JupyterLab."""
    kept = ExitStack()  # keep the server until the screenshot
    page.on("close", lambda _: kept.close())
    lab = kept.enter_context(jupyter_server(Path(kept.enter_context(TemporaryDirectory()))))
    shutil.copy(Path(__file__).parents[1] / "static" / "examples" / "place_the_copies.py", lab.folder / "copies.py")
    making = (
        'import tilewright\n\nsch = tilewright.load("copies.py").schedule.copy()\ntree = tilewright.LoopTree(sch)\ntree'
    )
    write_notebook(lab.folder / "copies.ipynb", making, "tilewright.Timeline(schedule=tree.param.schedule)")
    lab.open(page, "lab", "copies.ipynb")
    for number in (0, 1):
        run_cell(page, number)
    cell(page, 1).locator(".tw-live").wait_for()
    source, target = (cell(page, 0).locator(f'[data-id="{name}"]').bounding_box() for name in ("A_local.vtcm", "ko"))
    assert source is not None and target is not None
    page.mouse.move(source["x"] + 60, source["y"] + 10)
    page.mouse.down()
    page.mouse.move(source["x"] + 72, source["y"] + 22, steps=3)
    cell(page, 0).locator(".row[data-offer]").first.wait_for()
    page.mouse.move(target["x"] + 60, target["y"] + 8, steps=6)
    page.get_by_text("over capacity").first.wait_for()


def on_a_file(page: Page) -> Page:
    """The page with an edited file, and another page on the same file."""
    kept = ExitStack()  # keep the server until the screenshot
    page.on("close", lambda _: kept.close())
    folder = Path(kept.enter_context(TemporaryDirectory()))
    file = folder / "matmul.py"
    shutil.copy(Path(__file__).parents[1] / "static" / "examples" / "place_the_copies.py", file)
    url = kept.enter_context(server(file)).url
    assert page.context.browser is not None
    other = page.context.browser.new_page()
    page.on("close", lambda _: other.close())
    for shown in (page, other):
        shown.goto(url)
        shown.get_by_role("treeitem").first.wait_for()
    for name, key, line in (
        ("ki", "u", "sch.unroll(ki)"),
        ("ni", "v", "sch.vectorize(ni)"),
        ("mo", "p", "sch.parallel(mo)"),
    ):
        row(page, name).click()
        page.keyboard.press(key)
        page.locator(".step code", has_text=line).wait_for()
        page.locator('.file-chip[data-file="saved"]').wait_for()
    return other


def files_versions(page: Page, url: str) -> None:
    on_a_file(page)
    page.locator(".file-chip").click()
    page.get_by_role("menuitem", name="Earlier versions").click()
    page.locator(".versions-row").nth(2).click()
    page.locator(".versions-line.removed").nth(1).wait_for()


def files_two_versions(page: Page, url: str) -> None:
    other = on_a_file(page)
    for shown in (page, other):
        shown.locator(".step", has_text="sch.parallel(mo)").locator(".step-text").press("F2")
        shown.get_by_label(re.compile("^Step sch.parallel")).fill(
            "sch.parallel(no)" if shown is page else 'sch.bind(mo, "blockIdx.x")'
        )
    for shown in (other, page):
        shown.get_by_label(re.compile("^Step sch.parallel")).press("Control+Enter")
        shown.wait_for_timeout(1500)
    page.get_by_role("dialog", name="Two versions of matmul.py").wait_for()


def export_menu(page: Page, url: str) -> None:
    opened(page, url, "vtcm_double_buffer")
    page.get_by_role("button", name="Other formats").click()
    page.get_by_role("menuitem", name="Copy link").wait_for()


def export_review(page: Page, url: str) -> None:
    opened(page, url, "vtcm_double_buffer")
    page.get_by_role("button", name="Export", exact=True).click()
    page.locator(".export-review .fix button").wait_for()


def replay(page: Page, url: str) -> None:
    """The file of "Replay as a web page", opened from disk, in the middle of the run."""
    opened(page, url, "gemmini_gemm")
    page.get_by_role("button", name="Other formats").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Replay as a web page").click()
    file = Path(download.value.path()).with_suffix(".html")
    download.value.save_as(file)
    page.goto(file.as_uri())
    page.locator("html[data-ready]").wait_for()
    page.get_by_role("slider", name="Playhead").focus()
    for _ in range(30):
        page.keyboard.press("Shift+ArrowRight")


def shown_model(page: Page, url: str, name: str) -> None:
    """The page of an example model, with the costs and verdicts of all kernels."""
    page.goto(f"{url}model/{name}")
    page.locator(".graph-node.is-call").first.wait_for()
    page.locator(".inference .bokeh-figure canvas").first.wait_for()
    page.locator(".status.is-proved").first.wait_for()
    for status in ("pending", "scheduled"):
        expect(page.locator(f".kernel-rows .status.is-{status}")).to_have_count(0, timeout=120_000)


def model(page: Page, url: str) -> None:
    shown_model(page, url, "resnet18_blocks")


def model_graph(page: Page, url: str) -> Locator:
    shown_model(page, url, "transformer_layer")
    return page.locator(".graph-part")


def model_inference(page: Page, url: str) -> Locator:
    shown_model(page, url, "transformer_layer")
    return page.locator(".inference")


PICTURES: dict[str, Picture] = {
    made.__name__: made
    for made in (
        gallery, notebook, notebook_dark, large, zoomed, tour, drop_map, menu_card, reference, palette, timeline, layout_picker, history,
        comparison, machine, traffic, problems, export_menu, export_review, replay, jupyter, files_versions, files_two_versions,
        explore_fast, explore_asked, explore_running, explore_ended, explore_branch,
        timeline_dual_bank_npu, timeline_matrix_vector_npu, timeline_vta, timeline_gemmini, timeline_gpu_sm, timeline_cpu_core,
        model, model_graph, model_inference,
    )
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
