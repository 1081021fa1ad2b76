"""The page of a model in a real browser: list, graph and timeline, a kernel and back, by mouse and by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_gallery
from support.browser.page import row as tree_row
from support.browser.sizes import SIZES, wrong_texts
from support.pasted.relax_modules import MODEL
from support.sessions.served import served

from tilewright.app.document.networks import KERNELS, create_network, load_network
from tilewright.app.server.access import make_policy
from tilewright.app.views.labels.numbers import grouped
from tilewright.engine.hwsim import load_machine
from tilewright.engine.script.relax import parse_network

LINES = [f'sch.cache_write("{block}", 0, "local.vtcm")' for block in ("s", "p")]


@pytest.fixture(scope="module")
def served_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with a model, and the address of the server on it."""
    folder = tmp_path_factory.mktemp("work")
    create_network(parse_network(MODEL), folder / "net", "A small model", load_machine("dual-bank-npu"))
    with served(folder, make_policy(requires_token=False)) as server:
        yield folder, f"{server.url}/"


@pytest.fixture
def folder(served_model: tuple[Path, str]) -> Iterator[Path]:
    """With the model as it was created."""
    folder, _ = served_model
    kernels = {path: path.read_bytes() for path in (folder / "net" / KERNELS).iterdir()}
    yield folder
    for path, text in kernels.items():
        path.write_bytes(text)


@pytest.fixture
def url(served_model: tuple[Path, str], folder: Path) -> str:
    return served_model[1]


def kernel(page: Page, key: str) -> Locator:
    return page.locator(f'.kernel-row[data-kernel="{key}"]')


def figure(page: Page) -> Locator:
    return page.locator(".model .figure-value b").first


def shown(page: Page, url: str) -> Page:
    go_to_gallery(page, url)
    page.locator('.file[data-example="net/model.py"]').click()
    expect(page).to_have_url(f"{url}model/net")
    expect(page.locator(".status.is-unscheduled")).to_have_count(2)
    expect(page.locator(".graph-node.is-call")).to_have_count(4)
    expect(page.locator(".inference .bokeh-figure canvas").first).to_be_visible()
    return page


def test_a_model_has_metrics_a_list_and_a_graph(
    page: Page, url: str, folder: Path, shoot: Callable[[Page, str], Path]
) -> None:
    shown(page, url)
    expect(page.locator(".model .title")).to_have_text("A small model")
    report = load_network(folder / "net").simulate()
    expect(figure(page)).to_have_text(grouped(report.cycles))
    ranked = [cost.kernel.name for cost in report.ranked()]
    rows = page.locator(".kernel-rows .kernel-row")
    assert [one.get_attribute("data-kernel") for one in rows.all()] == ranked
    expect(kernel(page, "both")).to_contain_text("×2")
    kernel(page, "both").hover()
    expect(page.locator(".graph-node.is-pointed")).to_have_count(2)
    page.locator(".graph-node.is-call").first.hover()
    expect(page.locator(".model-tip")).to_contain_text("16×16 float32")
    expect(page.locator(".kernel-row.is-pointed")).to_have_count(1)
    shoot(page, "model-light")
    page.mouse.move(2, 2)
    assert not wrong_texts(page, "model", [(1280, 800)])
    # Matches of a search or a filter.
    page.get_by_label("Find a kernel").fill("bo th")
    expect(rows).to_have_count(1)
    expect(page.locator(".graph-node.is-away")).to_have_count(2)
    expect(page.locator(".kernels .found")).to_have_text("1 of 2")
    page.keyboard.press("Escape")
    expect(rows).to_have_count(2)
    page.get_by_label("Find a kernel").fill("nothing like this")
    expect(page.get_by_text("No kernel matches.")).to_be_visible()
    page.get_by_label("Find a kernel").fill("")
    page.locator('.kind[data-filter="unscheduled"]').click()
    expect(page.locator('.kind[data-filter="unscheduled"]')).to_have_attribute("aria-pressed", "true")
    expect(rows).to_have_count(2)
    # A click on the graph or on the timeline opens the kernel.
    page.locator(".graph-node.is-call").nth(1).click()
    expect(page).to_have_url(f"{url}kernel/net.both")
    page.get_by_role("button", name="Model", exact=True).click()
    plot = page.locator(".inference .bokeh-figure")
    expect(plot).to_be_visible()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 60, box["y"] + 48)
    expect(page).to_have_url(f"{url}kernel/net.both")
    page.get_by_role("button", name="Model", exact=True).click()
    place = page.locator(".graph-node.is-call").first
    expect(place).to_be_visible()
    first = place.bounding_box()
    page.locator(".graph-area").focus()
    page.keyboard.press("ArrowDown")
    moved = place.bounding_box()
    page.keyboard.press("+")
    larger = place.bounding_box()
    assert first and moved and larger and moved["y"] < first["y"] and larger["width"] > moved["width"]


OTHER_FONT = """async () => {
  const names = ["DejaVu Sans Mono", "Liberation Mono", "Noto Sans Mono", "Courier New"];
  const face = new FontFace("Inter", names.map((name) => `local("${name}")`).join(", "));
  document.fonts.add(await face.load());
}"""
"""Make the first font of the page a wide one."""


@pytest.mark.slow
def test_the_texts_of_a_node_do_not_overlap_in_another_font(page: Page, url: str) -> None:
    go_to_gallery(page, url)
    page.evaluate(OTHER_FONT)
    shown(page, url)
    found = [text for text in wrong_texts(page, "model", [(1920, 1080)]) if "graph-" in text]
    page.evaluate("() => document.fonts.clear()")
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_an_edit_of_a_kernel_is_in_the_model_on_return(page: Page, url: str, folder: Path) -> None:
    shown(page, url)
    page.get_by_label("Find a kernel").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(page.locator(".kernel-rows .kernel-row").last).to_be_focused()
    page.keyboard.press("Home")
    while page.evaluate("() => document.activeElement.shadowRoot.activeElement.dataset.kernel") != "both":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{url}kernel/net.both")
    tree_row(page, "s").click()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("p")
    expect(page.locator(".step-text").last).to_contain_text("sch.parallel")
    page.get_by_role("button", name="Model", exact=True).click()
    expect(page).to_have_url(f"{url}model/net")
    expect(kernel(page, "both")).to_be_focused()
    expect(kernel(page, "both").locator(".status.is-proved")).to_be_visible()
    expect(kernel(page, "scale").locator(".status.is-unscheduled")).to_be_visible()
    expect(page.locator('.kind[data-filter="proved"]')).to_have_text("1 proved")
    expect(page.locator('.graph-node[data-status="proved"]')).to_have_count(2)
    page.go_back()
    expect(page).to_have_url(f"{url}kernel/net.both")
    tree_row(page, "s").wait_for()
    page.get_by_role("button", name="Model", exact=True).click()
    expect(kernel(page, "both").locator(".status.is-proved")).to_be_visible()
    # A schedule written by another program is loaded, too.
    path = folder / "net" / KERNELS / "both.py"
    path.write_text(path.read_text() + "\n".join(LINES) + "\n")
    expect(figure(page)).to_have_text(grouped(load_network(folder / "net").simulate().cycles))


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_pasted_module_offers_functions_and_opens_as_a_model(
    open_page: Callable[..., Page], url: str, shoot: Callable[[Page, str], Path], dark: bool
) -> None:
    page = open_page(dark=dark)
    go_to_gallery(page, url)
    page.get_by_label("A TVMScript program or a notebook").fill(MODEL)
    page.get_by_role("button", name="Open", exact=True).click()
    bar = page.locator(".banner.is-programs")
    expect(bar).to_contain_text(
        "The text has 3 functions. This is scale (16×16, 16×16 float32), 25.0 % of the operations."
    )
    expect(tree_row(page, "scale")).to_be_visible()
    shoot(page, f"module-functions-{'dark' if dark else 'light'}")
    column = bar.bounding_box()
    for part in (bar.get_by_label("Open another program"), bar.get_by_role("button")):
        box = part.bounding_box()
        assert box is not None and column is not None and box["x"] + box["width"] <= column["x"] + column["width"]
    bar.get_by_label("Open another program").select_option(index=2)
    expect(tree_row(page, "p")).to_be_visible()
    expect(bar).to_contain_text("This is both (16×16, 16×16, 16×16, 16×16 float32), 50.0 % of the operations.")
    bar.get_by_role("button", name="Open as a model").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{url}model/main")
    expect(page.locator(".graph-node.is-call")).to_have_count(4)
    shoot(page, f"module-as-model-{'dark' if dark else 'light'}")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_a_model_is_legible_at_any_size_and_axe_accepts_it(
    open_page: Callable[..., Page], url: str, dark: bool
) -> None:
    page = shown(open_page(dark=dark), url)
    found = wrong_texts(page, "model", SIZES)
    assert not found, "\n".join(dict.fromkeys(found))
    assert_no_violations(page)


@pytest.mark.slow
def test_an_example_model_opens_with_its_schedules(
    page: Page, app_url: str, shoot: Callable[[Page, str], Path]
) -> None:
    go_to_gallery(page, app_url)
    card = page.locator('.card[data-example="transformer_layer/model.py"]')
    card.scroll_into_view_if_needed()
    expect(card).to_contain_text("664")
    shoot(page, "example-models")
    card.click()
    expect(page.locator(".graph-node.is-call")).to_have_count(15)
    expect(kernel(page, "softmax")).to_contain_text("vector")
    kernel(page, "softmax").click()
    expect(page.locator(".step").first).to_be_visible()
    page.get_by_role("button", name="Model", exact=True).click()
    expect(page.locator(".status.is-unscheduled")).to_have_count(0)
    page.goto("about:blank")  # the figures of a model stay in the page, beside those of the next notebook


def test_all_kernels_are_scheduled_from_the_page(page: Page, url: str) -> None:
    shown(page, url)
    page.get_by_role("button", name="Schedule all kernels").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".model-search-words")).to_contain_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".model-search-words")).to_contain_text("Search complete", timeout=60_000)
    expect(page.get_by_role("button", name="Search all kernels again")).to_be_visible()
    with page.expect_download() as download:
        page.locator(".model").get_by_role("button", name="Export", exact=True).click()
    assert download.value.suggested_filename == "a_small_model_tvm.py"
