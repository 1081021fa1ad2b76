"""The machine's parameters, sensitivity, roofline and traffic, with the real mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, until

from tilewright.engine.hwsim import load_machine

Shoot = Callable[[Page, str], Path]
DDR_READ = "memories.ddr.read_bytes_per_cycle"
PATIENT = 60_000


@pytest.fixture
def machine(page: Page, app_url: str) -> Page:
    """The Machine pane of an example whose copies do not fit."""
    go_to_example(page, app_url, "place_the_copies")
    page.get_by_role("tab", name="Machine").click()
    return page


@pytest.fixture
def traffic(page: Page, app_url: str) -> Page:
    """The Traffic pane of an example with a round trip."""
    go_to_example(page, app_url, "fused_matmul_relu_roundtrip")
    page.get_by_role("tab", name="Traffic").click()
    return page


def parameter(page: Page, path: str) -> Locator:
    return page.locator(f'[data-parameter="{path}"]')


def tried(page: Page) -> None:
    """Wait until every parameter was tried."""
    expect(page.locator(".sensitivities")).to_be_visible(timeout=PATIENT)


@pytest.mark.slow
def test_machine_parameters_are_changed_by_mouse_and_keys(machine: Page, shoot: Shoot) -> None:
    page, cell = machine, machine.locator(".cell.machine")
    row = parameter(page, DDR_READ)
    expect(row).to_contain_text("TVM, hexagon bandwidth benchmark")
    row.get_by_role("button", name="read bandwidth: 52").click()
    expect(row.locator("input")).to_have_value("52")
    expect(cell).to_contain_text(f'machine = machine.replace("{DDR_READ}", 52)')
    shoot(page, "machine-parameter")
    # Typed, and refused.
    banks = parameter(page, "memories.vtcm.banks").locator("input")
    banks.fill("3")
    banks.press("Enter")
    notice = page.locator(".page-notice").get_by_role("alert")
    expect(notice).to_contain_text("cannot be divided into 3 equal banks")
    notice.get_by_label("Close").click()
    banks.fill("many")
    banks.press("Enter")
    expect(notice).to_contain_text("'many' is not a valid value")
    page.get_by_role("tab", name="Problems").click()
    page.get_by_role("button", name="1 changed").press("Enter")
    expect(page.get_by_role("tab", name="Machine")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Reset the changed parameter").press("Enter")
    expect(page.get_by_role("button", name="1 changed")).to_have_count(0)
    expect(cell).not_to_contain_text("replace")
    expect(row.locator("input")).to_have_value("26")


@pytest.mark.slow
def test_real_parts_and_other_machines_have_their_parameters(machine: Page) -> None:
    page, cell = machine, machine.locator(".cell.machine")
    field = parameter(page, "memories.vtcm.capacity_bytes").locator("input")
    field.fill("0.5 MiB")
    field.press("Enter")
    expect(cell).to_contain_text('replace("memories.vtcm.capacity_bytes", 524288)')
    expect(field).to_have_value("512 KiB")
    expect(field).to_be_focused()
    field.press("ArrowUp")
    expect(field).to_have_value("1 MiB")
    parameter(page, "memories.vtcm.capacity_bytes").get_by_role("button", name="Reset").click()
    expect(cell).not_to_contain_text("replace")
    # The size of a real part: the copies fit there.
    overflow = page.locator('.figure.bad[data-figure="Peak vtcm"]')
    page.get_by_role("button", name="Hexagon V68").click()
    expect(page.get_by_role("button", name="Hexagon V68")).to_have_attribute("aria-pressed", "true")
    expect(overflow).to_have_count(0)
    # Another machine has other parameters.
    page.locator(".machine-picker").select_option("cpu-core")
    expect(parameter(page, "caches.L2.size_bytes").locator("input")).to_have_value("512 KiB")
    expect(cell).not_to_contain_text("replace")
    parts = (load_machine("cpu-core").parts(group) for group in ("memories", "caches", "buses", "engines"))
    assert page.locator(".part").count() == 1 + sum(map(len, parts))


@pytest.mark.slow
def test_the_limiting_parameter_is_named_and_confirmed(page: Page, app_url: str, shoot: Shoot) -> None:
    go_to_example(page, app_url, "vtcm_double_buffer")
    page.get_by_role("tab", name="Machine").click()
    tried(page)
    expect(page.locator(".limit")).to_have_attribute("data-limit", DDR_READ)
    expect(page.locator(".limit")).to_contain_text("read bandwidth of ddr limits this program")
    expect(parameter(page, DDR_READ)).to_contain_text("limits")
    promised = re.search(r": ([\d\s]+) cycles", page.locator(".limit").inner_text())
    assert promised is not None
    page.locator(".sensitivity").first.click()
    expect(parameter(page, DDR_READ).locator("input")).to_be_focused()
    shoot(page, "machine-sensitivity")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".cell.machine")).to_contain_text(f'"{DDR_READ}", 52')
    # The predicted effect equals the effect of the change.
    expect(page.locator('[data-figure="Cycles"] b')).to_have_text(promised[1].strip())
    tried(page)


def figure_data(page: Page, section: str, source: str) -> dict[str, list[object]]:
    """The columns of a source of the Bokeh figure in a section of the traffic pane, as in the browser."""
    expect(page.locator(f".{section} .bk-Figure canvas").first).to_be_visible(timeout=PATIENT)
    return page.evaluate(
        """([name, source]) => {
          const figures = Bokeh.index.roots.map((view) => view.model).filter((model) => model.name === name);
          const renderers = figures.at(-1).renderers.map((renderer) => renderer.data_source);
          const data = renderers.find((found) => found.name === source).data;
          return Object.fromEntries(Object.entries(data).map(([key, column]) => [key, [...column]]));
        }""",
        [{"traffic-flow": "traffic", "roofline": "roofline"}[section], source],
    )


@pytest.mark.slow
def test_a_round_trip_is_drawn_and_removed_by_its_fix(traffic: Page, shoot: Shoot) -> None:
    page = traffic
    flows = figure_data(page, "traffic-flow", "flows")
    assert figure_data(page, "traffic-flow", "round_trips")["text"] == ["⟲ round trip"]
    readout = page.locator(".traffic-flow .picture-readout")
    expect(readout).to_contain_text("mm is copied to global and back")
    usual = readout.inner_text()
    hovered(page, ".traffic-flow")
    shoot(page, "traffic-round-trip")
    page.mouse.move(2, 2)
    # The keys select each flow.
    page.locator(".traffic-flow .bokeh-figure:not([aria-busy])").focus()
    texts: list[str] = []
    for buffer in flows["buffer"]:
        page.keyboard.press("ArrowDown")
        expect(readout).to_contain_text(re.compile(f"^{buffer}: .* from "))
        texts.append(readout.inner_text())
    assert len(set(texts)) == len(flows["buffer"])
    page.keyboard.press("Escape")
    expect(readout).to_have_text(usual)
    points = page.locator(".roofline .points li")
    expect(points.first).to_be_visible(timeout=PATIENT)
    assert figure_data(page, "roofline", "points")["key"][-1] == "now"
    page.get_by_text("As a table").click()
    expect(page.locator(".picture-table tbody tr")).to_have_count(len(flows["buffer"]))
    trips = page.locator(".picture-table .is-trip")
    expect(trips).to_have_count(2)
    expect(page.locator('[data-flow="weight global local"]')).to_contain_text("12\u202fKiB")
    page.get_by_role("tab", name="Problems").click()
    fix = page.locator('.problem[data-code="round-trip"]').get_by_role("button", name="Apply").first
    expect(fix).to_be_visible(timeout=PATIENT)
    fix.click()
    page.get_by_role("tab", name="Traffic").click()
    expect(trips).to_have_count(0)
    expect(page.locator(".traffic-flow .bk-Figure")).to_have_count(1)


def hovered(page: Page, section: str) -> None:
    """Move the mouse over the figure until its tooltip shows."""
    box = page.locator(f"{section} .bk-Figure canvas").first.bounding_box()
    assert box is not None
    tooltip = page.locator(".bk-Tooltip")
    for y in range(int(box["y"]) + 40, int(box["y"] + box["height"]) - 10, 6):
        page.mouse.move(box["x"] + box["width"] * 0.33, y)
        page.wait_for_timeout(40)
        if tooltip.count():
            break
    expect(tooltip.first).to_be_visible()


@pytest.mark.slow
def test_the_roofline_is_drawn_in_both_themes(open_page: Callable[..., Page], app_url: str, shoot: Shoot) -> None:
    page = open_page(width=1920, height=1080)
    go_to_example(page, app_url, "vtcm_double_buffer")
    page.get_by_role("tab", name="Traffic").click()
    points = page.locator(".roofline .points li")
    expect(points).to_have_count(3, timeout=PATIENT)
    expect(page.locator(".roofline .picture-readout")).to_contain_text("Bandwidth bound")
    expect(page.locator('[data-point="now"]')).to_contain_text("in 203\u202f064 cycles")
    expect(page.locator('[data-point="start"]')).to_contain_text("original program")
    until(page, lambda: figure_data(page, "roofline", "points")["key"] == ["start", "before", "now"])
    assert figure_data(page, "roofline", "roofs")["text"][-1] == "ddr 26 B/cycle"
    shoot(page, "roofline")
    ground = (
        "() => Bokeh.index.roots.map((v) => v.model).filter((m) => m.name === 'roofline').at(-1).outline_line_color"
    )
    assert page.evaluate(ground) == "#c6ccd6"
    page.locator('.headline button[aria-label="Dark theme"]').locator("visible=true").click()
    for _ in range(100):
        if page.evaluate(ground) == "#3b414d":
            break
        page.wait_for_timeout(100)
    assert page.evaluate(ground) == "#3b414d"
    shoot(page, "roofline-dark")
    assert_no_violations(page, "#area-panes")
