"""The Explore pane in a browser: a search started, watched, filtered, stopped, and a candidate opened as a branch; by mouse and by keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, open_text, steps, until
from support.sessions.searching import HOLES

PATIENT = 90_000
Shoot = Callable[[Page, str], Path]


@pytest.fixture
def holes(page: Page, app_url: str) -> Page:
    """The Explore pane of a small program with twelve candidates."""
    open_text(page, app_url, HOLES)
    page.get_by_role("tab", name="Explore").click()
    expect(page.locator(".xp-space")).to_contain_text("12 candidates on dual-bank-npu. All of them are tried.")
    return page


@pytest.fixture
def tiles(page: Page, app_url: str) -> Page:
    """The Explore pane of an example with 432 candidates."""
    go_to_example(page, app_url, "explore_tiles")
    page.get_by_role("tab", name="Explore").click()
    return page


def status(page: Page, what: str) -> None:
    expect(page.locator(f'.xp-title[data-status="{what}"]')).to_be_visible(timeout=PATIENT)


def searched(page: Page, count: int = 12) -> None:
    """Run a search to its end."""
    page.get_by_role("button", name="Start").click()
    status(page, "ended")
    expect(page.locator(".xp-count")).to_have_text(f"{count} of {count}")


def head(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def number_of(figure: Locator) -> int:
    return int(re.sub(r"\D", "", figure.inner_text()))


def test_a_search_is_filtered_and_its_best_opens_as_a_branch(holes: Page, shoot: Shoot) -> None:
    expect(holes.locator(".xp-hole")).to_have_count(3)
    holes.get_by_label("On-chip peak at most").fill("much")
    holes.get_by_role("button", name="Start").click()
    expect(holes.locator(".xp-form .xp-error").last).to_have_text("much is not an amount of bytes")
    holes.get_by_label("On-chip peak at most").fill("")
    pin(holes)
    unpin(holes)
    searched(holes)
    # Large: over tree and timeline, below the tabs.
    expect(holes.locator("#area-tree")).not_to_be_visible()
    expect(holes.locator(".xp-kind")).to_contain_text(["8 fit", "4 refused"])
    expect(holes.locator(".xp-bound")).to_contain_text("Why it is the best")
    expect(holes.locator(".xp-limits li").first).to_be_visible(timeout=PATIENT)
    expect(holes.locator(".xp-worth tbody tr")).to_have_count(3)
    expect(holes.locator(".xp-reach")).to_contain_text("any schedule")
    shoot(holes, "explore-ended")
    filter_by_keys_and_mouse(holes)
    choose_in_the_scatter(holes)
    play_the_film(holes)
    card = holes.locator(".xp-card")
    chosen = [
        " ".join(text.split())
        for text in card.get_by_role("list", name="Choices").get_by_role("listitem").all_inner_texts()
    ]
    assert chosen[0].startswith("tile ") and len(chosen) == 3
    card.get_by_role("button", name="Open as branch").click()
    expect(holes.locator("#area-compare")).to_be_visible()
    expect(holes.locator(".branch-name")).to_have_text(", ".join(chosen), timeout=PATIENT)
    assert not [step for step in steps(holes) if "choose" in step]
    # Escape leads back to the search, which now belongs to the text of another branch.
    holes.locator(".ab").focus()
    holes.keyboard.press("Escape")
    expect(holes.locator("#area-compare")).not_to_be_visible()
    expect(holes.locator(".xp-stale")).to_be_visible()
    # A reload restores it.
    holes.reload()
    holes.get_by_role("tab", name="Explore").click()
    status(holes, "ended")
    expect(holes.locator(".xp-count")).to_have_text("12 of 12")


def filter_by_keys_and_mouse(page: Page) -> None:
    """Filters change columns of the same figures."""
    expect(page.locator(".xp .bokeh-figure:not([aria-busy])")).to_have_count(2)
    before = figures(page)
    assert numbers(before["scatter"]) == numbers(before["parallel_axes"]) == list(range(12))
    head(page, "slots").focus()
    page.keyboard.press("ArrowDown")
    expect(head(page, "slots")).to_have_attribute("aria-valuetext", "2")
    expect(page.locator(".xp-visible")).to_contain_text("6 visible")
    page.wait_for_function(f"() => Object.values(({FIGURES})()).some(({{numbers}}) => numbers.hidden?.length === 6)")
    after = figures(page)
    assert {name: figure["id"] for name, figure in after.items()} == {n: f["id"] for n, f in before.items()}
    assert len(numbers(after["scatter"])) == 6 and numbers(after["scatter"]) == numbers(after["parallel_axes"])
    page.keyboard.press("Delete")
    expect(page.locator(".xp-visible")).to_have_text("")
    # The mouse: dragged over the upper half of an axis.
    box = page.locator(".xp-axes .bokeh-figure canvas").first.bounding_box()
    at = head(page, "tile").bounding_box()
    assert box is not None and at is not None
    x = at["x"] + at["width"] / 2
    page.mouse.move(x, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(x, box["y"] + box["height"] * 0.4, steps=4)
    page.mouse.up()
    expect(head(page, "tile")).to_have_attribute("aria-valuetext", "64")
    expect(page.locator(".xp-visible")).to_contain_text("6 visible")
    page.get_by_role("button", name="Show all").click()
    page.locator('.xp-kind[data-key="kind refused"]').click()
    expect(page.locator(".xp-visible")).to_contain_text("8 visible")
    page.locator('.xp-kind[data-key="kind refused"]').click()


FIGURES = """() => Object.fromEntries(Bokeh.index.roots.filter(v => v.model.type === "Figure").map(({ model }) => [model.name, {
  id: model.id,
  numbers: Object.fromEntries(model.renderers.filter(r => r.data_source.data.number).map(
    r => [r.data_source.name, [...r.data_source.data.number]])),
}]))"""
"""The figures of the pane, with the candidates in each source."""


def figures(page: Page) -> dict[str, dict[str, dict[str, list[int]]]]:
    return page.evaluate(FIGURES)


def numbers(figure: dict[str, dict[str, list[int]]]) -> list[int]:
    """The shown candidates, once each."""
    twice = ("hidden", "front") if "hidden" not in figure["numbers"] else ("hidden",)
    return sorted(n for name, some in figure["numbers"].items() if name not in twice for n in some)


def mark(page: Page, source: str) -> tuple[float, float]:
    """The place in the window of the first mark of a source of the scatter plot."""
    x, y = page.evaluate(
        """(name) => {
          const view = Bokeh.index.roots.filter(({ model }) => model.name === "scatter").at(-1);
          const renderer = model => model.renderers.find(({ data_source }) => data_source.name === name);
          const { x_range_name, y_range_name, data_source: { data } } = renderer(view.model);
          const box = view.el.getBoundingClientRect();
          const place = (scales, range, value) => scales.get(range).compute(value);
          return [
            box.left + place(view.frame.x_scales, x_range_name, data.x[0]),
            box.top + place(view.frame.y_scales, y_range_name, data.y[0]),
          ];
        }""",
        source,
    )
    return x, y


def choose_in_the_scatter(page: Page) -> None:
    figure = page.locator(".xp-scatter .bokeh-figure:not([aria-busy])")
    expect(figure).to_be_visible()
    x, y = mark(page, "refused below")
    page.mouse.move(x + 20, y + 3)
    page.mouse.move(x, y)
    expect(page.locator(".xp-hover")).to_contain_text("sch.compute_at(AL, place)")
    page.mouse.click(x, y)
    expect(page.locator(".xp-card .xp-why")).to_contain_text("sch.compute_at(AL, place)")
    # The keys reach each candidate, from left to right: first those with metrics.
    figure.focus()
    page.keyboard.press("Home")
    expect(page.locator(".xp-card .xp-figures")).to_be_visible()
    reached: list[str | None] = []
    for _ in range(12):
        reached.append(page.locator(".xp-card").get_attribute("data-trial"))
        page.keyboard.press("ArrowRight")
        expect(page.locator(f'.xp-card[data-trial="{reached[-1]}"]')).to_have_count(0)
    assert sorted(reached, key=str) == sorted(map(str, range(12)))
    expect(figure).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(f'.xp-card[data-trial="{reached[0]}"]')).to_have_count(0)  # twelve steps led back to it
    chosen = page.locator(".xp-card").get_attribute("data-trial")
    expect(page.locator(".xp-front .is-chosen th button")).to_have_text(str(chosen))
    page.get_by_label("Vertical axis").select_option("traffic")
    expect(figure).to_have_attribute("aria-label", re.compile("Copied against On-chip peak"))


def play_the_film(page: Page) -> None:
    """Each best candidate with its change, by keys and by mouse; the first frame is chosen in the end."""
    film = page.get_by_role("region", name="Film of the best so far")
    slider = film.get_by_role("slider")
    frames = int(slider.get_attribute("max") or 0)
    assert frames >= 2
    slider.focus()
    page.keyboard.press("Home")
    expect(film.locator(".xp-film-at")).to_have_text(f" 1 of {frames}")
    expect(film.locator(".xp-film-frame")).to_contain_text("The first candidate that fits.")
    first = str(slider.get_attribute("aria-valuetext")).rpartition(" ")[2]  # the first to arrive from two workers
    expect(page.locator(f'.xp-card[data-trial="{first}"]')).to_be_visible(timeout=PATIENT)
    expect(slider).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(film.locator(".xp-film-at")).to_have_text(f" 2 of {frames}")
    expect(film.locator(".xp-film-frame .change.better")).to_be_visible()
    number = re.search(r"candidate (\d+)", film.locator(".xp-film-frame p").inner_text())
    assert number is not None
    expect(page.locator(f'.xp-card[data-trial="{number[1]}"]')).to_be_visible(timeout=PATIENT)
    film.get_by_role("button", name="Play from the first to the last").click()
    expect(film.locator(".xp-film-at")).to_have_text(f" {frames} of {frames}", timeout=PATIENT)
    expect(film.get_by_role("button", name="Play from the first to the last")).to_be_visible(timeout=PATIENT)
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator(f'.xp-card[data-trial="{first}"]')).to_be_visible(timeout=PATIENT)


def pin(page: Page) -> None:
    """Leave four candidates to search."""
    space = page.locator(".xp-space")
    keep = page.get_by_role("button", name="Keep tile")
    expect(keep).to_have_attribute("aria-pressed", "false")
    keep.press("Enter")
    expect(keep).to_have_attribute("aria-pressed", "true")
    expect(keep).to_be_focused()
    expect(space).to_contain_text("6 candidates")
    # Another value instead: both, then one.
    row = page.locator(".xp-hole").first
    row.get_by_role("button", name="32", exact=True).click()
    expect(space).to_contain_text("12 candidates")
    row.get_by_role("button", name="32", exact=True).click()
    expect(row.get_by_role("button", name="64", exact=True)).to_have_attribute("aria-pressed", "false")
    expect(space).to_contain_text("6 candidates")
    places = page.locator(".xp-hole").nth(1)
    places.get_by_role("button", name="Keep A at").click()
    places.get_by_role("button", name="mo", exact=True).press("Space")
    expect(space).to_contain_text("4 candidates on dual-bank-npu. All of them are tried.")


def unpin(page: Page) -> None:
    page.get_by_role("button", name="Keep tile").click()
    page.get_by_role("button", name="Keep A at").click()
    expect(page.locator(".xp-space")).to_contain_text("12 candidates")


@pytest.mark.slow
def test_a_search_with_pins_is_written_to_its_branch(holes: Page, shoot: Shoot) -> None:
    pin(holes)
    shoot(holes, "explore-pins")
    assert_no_violations(holes, "#area-panes")
    searched(holes, 4)
    expect(holes.locator(".xp-note")).to_contain_text('Kept: tile 32; A at "ko" or "mo".')
    holes.get_by_role("button", name="Open as branch").click()
    expect(holes.locator(".branch-name")).to_contain_text("tile 32, A at")
    assert any(step.startswith("tile = 32") for step in steps(holes)), steps(holes)


@pytest.mark.slow
def test_a_search_is_stopped_and_resumed_during_edits(tiles: Page) -> None:
    chips = tiles.get_by_role("group", name="Values of tile m")
    expect(chips.get_by_role("button", name="32", exact=True)).to_have_attribute("aria-pressed", "true")
    chips.get_by_role("button", name="128", exact=True).click()
    expect(chips.get_by_role("button", name="128", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(tiles.locator('[role="treeitem"][data-id="mi"]')).to_contain_text("128")
    tiles.get_by_role("button", name="Start").click()
    status(tiles, "running")
    expect(tiles.locator(".xp-left")).to_contain_text("left", timeout=PATIENT)
    tiles.get_by_role("button", name="Stop", exact=True).click()
    status(tiles, "stopped")
    assert 0 < number_of(tiles.locator(".xp-count b")) < 432
    tiles.get_by_role("button", name="Resume").click()
    status(tiles, "running")
    tiles.get_by_role("button", name="Restore the screen").click()
    expect(tiles.locator("#area-tree")).to_be_visible()
    tiles.get_by_role("treeitem").first.click()
    expect(tiles.get_by_role("treeitem").first).to_have_attribute("aria-selected", "true")
    tiles.get_by_role("button", name="Stop", exact=True).click()
    status(tiles, "stopped")
    tiles.get_by_role("button", name="New search").click()
    expect(tiles.get_by_role("button", name="Start")).to_be_focused()
    tiles.get_by_role("button", name="Back", exact=True).click()
    status(tiles, "stopped")


@pytest.mark.slow
def test_a_search_ends_with_its_time(tiles: Page) -> None:
    tiles.get_by_label("Seconds at most").fill("2")
    tiles.get_by_role("button", name="Start").click()
    expect(tiles.locator(".xp-title")).to_have_text("Time is up", timeout=PATIENT)
    expect(tiles.locator(".xp-words")).to_contain_text("time limit 2 s")
    assert 0 < number_of(tiles.locator(".xp-count b")) < 432


@pytest.mark.slow
def test_manual_tiles_are_kept_in_a_derived_schedule(page: Page, app_url: str) -> None:
    go_to_example(page, app_url, "vtcm_double_buffer")
    page.get_by_role("tab", name="Explore").click()
    expect(page.locator(".xp-none")).to_contain_text("has no holes")
    page.get_by_label("Keep my tiles: m 64, n 64, k 64").check()
    page.locator(".xp-none").get_by_role("button", name="Make it fast").click()
    expect(page.locator(".xp-film-frame b")).to_be_visible(timeout=PATIENT)
    expect(page.locator(".branch-name")).to_have_text("auto")
    expect(page.locator(".xp-note")).to_contain_text("Kept: tile m 64; tile n 64; tile k 64.")


PROGRAM = HOLES[: HOLES.index("# %% schedule")]


@pytest.mark.slow
def test_make_it_fast_opens_a_schedule_and_undo_removes_it(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot
) -> None:
    page = open_page(width=1100, height=700)
    open_text(page, app_url, PROGRAM)
    cycles = page.locator('[data-figure="Cycles"] b')
    before, text_before = number_of(cycles), cycles.inner_text()
    # Visible without a tab; a stop leaves nothing behind.
    button = page.get_by_role("button", name="Make it fast")
    expect(button).to_be_in_viewport(ratio=1)
    button.press("Enter")
    status(page, "deriving")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".xp-none")).to_be_visible()
    assert number_of(cycles) == before
    page.locator(".xp-none").get_by_role("button", name="Make it fast").click()
    expect(page.locator(".xp-deriving p b")).to_be_visible(timeout=PATIENT)
    expect(page.locator(".xp-deriving .change.better")).to_be_visible()
    expect(page.locator(".xp-decisions li").first).to_be_visible()
    # The derived schedule is in the notebook, and is the first frame of the film, with the effect of its lines.
    expect(page.locator(".xp-film-frame b")).to_be_visible(timeout=PATIENT)
    assert [step for step in steps(page) if "choose" in step]
    assert number_of(cycles) < before / 10
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "stopped")
    # A stopped search ends at its best schedule, without holes; one undo removes it with the derivation.
    expect(page.locator(".branch-name")).to_have_text("fastest")
    expect(cycles).not_to_have_text("…")

    def is_last_frame() -> bool:
        page.locator(".xp-film").get_by_role("slider").press("End")  # the last candidates may still arrive
        return cycles.inner_text() in page.locator(".xp-film-frame").inner_text()

    until(page, is_last_frame, timeout=15_000)
    page.locator(".xp-film").get_by_role("slider").press("Home")
    expect(page.locator(".xp-film .xp-decisions li").first).to_be_visible()
    shoot(page, "explore-derived")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".branch-name")).to_have_count(0)
    expect(cycles).to_have_text(text_before)


@pytest.mark.slow
def test_axe_accepts_the_form_and_the_pictures(tiles: Page) -> None:
    assert_no_violations(tiles)
    tiles.get_by_role("button", name="Start").click()
    expect(tiles.locator(".xp-front tbody tr").first).to_be_visible(timeout=PATIENT)
    tiles.get_by_role("button", name="Stop", exact=True).click()
    status(tiles, "stopped")
    assert_no_violations(tiles, "#area-panes")
