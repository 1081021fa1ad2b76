"""The Explore pane in a browser: a search begun, watched, filtered, stopped, and a candidate taken as a branch; by mouse and by keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.axe import assert_no_violations
from support.browser.page import go_to_example, steps
from support.sessions.searching import HOLES

PATIENT = 90_000
Shoot = Callable[[Page, str], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notebooks"
    made.mkdir()
    (made / "holes.py").write_text(HOLES)
    return made


def opened(page: Page, url: str, name: str) -> Page:
    go_to_example(page, url, name)
    page.get_by_role("tab", name="Explore").click()
    return page


def status(page: Page, what: str) -> None:
    expect(page.locator(f'.xp-title[data-status="{what}"]')).to_be_visible(timeout=PATIENT)


def searched(page: Page) -> None:
    """From the form to the end."""
    page.get_by_role("button", name="Start").click()
    status(page, "ended")
    expect(page.locator(".xp-count")).to_have_text("12 of 12")


def head(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def test_given_a_search_then_it_is_watched_filtered_and_its_best_is_opened_as_a_branch(
    open_page: Callable[..., Page], serve_command: Callable[..., str], folder: Path, shoot: Shoot
) -> None:
    url = serve_command("-m", "tilewright", "serve", "--no-token", str(folder), "--port", "{port}")
    page = opened(open_page(), url, "holes.py")
    expect(page.locator(".xp-hole")).to_have_count(3)
    expect(page.locator(".xp-space")).to_contain_text("12 candidates on dual-bank-npu. All of them are tried.")
    page.get_by_label("On-chip peak at most").fill("much")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".xp-form .xp-error").last).to_have_text("much is not an amount of bytes")
    page.get_by_label("On-chip peak at most").fill("")
    searched(page)
    # Large: over tree and timeline, below the tabs.
    expect(page.locator("#area-tree")).not_to_be_visible()
    expect(page.locator(".xp-kind")).to_contain_text(["8 fit", "4 refused"])
    expect(page.locator(".xp-bound")).to_contain_text("Why it is the best")
    expect(page.locator(".xp-limits li").first).to_be_visible(timeout=PATIENT)
    shoot(page, "explore-ended")
    # Keys: a mark on an axis, which filters both pictures and the table.
    head(page, "slots").focus()
    page.keyboard.press("ArrowDown")
    expect(head(page, "slots")).to_have_attribute("aria-valuetext", "2")
    expect(page.locator(".xp-visible")).to_contain_text("6 visible")
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
    # A candidate as a branch, compared; Escape leads back to the search, which now is of another branch's text.
    count = len(page.locator(".xp-front tbody tr").all())
    assert count >= 1
    page.get_by_role("button", name="Open as branch").click()
    expect(page.locator("#area-compare")).to_be_visible()
    expect(page.locator(".branch-name")).to_contain_text("tile")
    assert not [step for step in steps(page) if "choose" in step]
    page.locator(".ab").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#area-compare")).not_to_be_visible()
    expect(page.locator(".xp-stale")).to_be_visible()
    # It is there again after a reload, and can be opened from another branch.
    page.goto(f"{url}/file/holes.py")
    page.get_by_role("tab", name="Explore").click()
    status(page, "ended")
    expect(page.locator(".xp-count")).to_have_text("12 of 12")


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


def test_given_a_search_then_filters_and_other_axes_change_columns_of_the_same_figures(
    open_page: Callable[..., Page], serve_command: Callable[..., str], folder: Path
) -> None:
    url = serve_command("-m", "tilewright", "serve", "--no-token", str(folder), "--port", "{port}")
    page = opened(open_page(), url, "holes.py")
    searched(page)
    expect(page.locator(".xp .bokeh-figure:not([aria-busy])")).to_have_count(2)
    shown = """() => Object.fromEntries(Bokeh.index.roots.filter(v => v.model.type === "Figure").map(({ model }) => [model.name, {
      id: model.id, y: model.left[0]?.axis_label, scale: model.x_scale.type,
      numbers: Object.fromEntries(model.renderers.filter(r => r.data_source.data.number).map(
        r => [r.data_source.name, [...r.data_source.data.number]])),
    }]))"""
    before = page.evaluate(shown)
    every = sorted(n for name, some in before["scatter"]["numbers"].items() if name != "front" for n in some)
    assert every == list(range(12))
    lines = before["parallel_axes"]["numbers"]
    assert sorted(lines["candidates"] + lines["front"] + lines["selected"]) == list(range(12))
    head(page, "slots").press("ArrowDown")
    page.get_by_label("Vertical axis").select_option("energy")
    page.wait_for_timeout(400)
    after = page.evaluate(shown)
    assert {name: figure["id"] for name, figure in after.items()} == {n: f["id"] for n, f in before.items()}
    assert after["scatter"]["y"] == "Energy, µJ"
    lines = after["parallel_axes"]["numbers"]
    marks = sorted(n for name, some in after["scatter"]["numbers"].items() if name != "front" for n in some)
    assert sorted(lines["candidates"] + lines["front"] + lines["selected"]) == marks and len(marks) == 6
    assert len(lines["hidden"]) == 6


def test_given_a_hand_over_the_scatter_then_a_card_tells_of_the_candidate_and_a_press_chooses_it(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = open_page(width=1920, height=1080)
    page.goto(app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(HOLES)
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("tab", name="Explore").click()
    searched(page)
    figure = page.locator(".xp-scatter .bokeh-figure:not([aria-busy])")
    expect(figure).to_be_visible()
    x, y = mark(page, "refused below")
    page.mouse.move(x + 20, y + 3)
    page.mouse.move(x, y)
    expect(page.locator(".xp-hover")).to_contain_text("sch.compute_at(AL, place)")
    page.mouse.click(x, y)
    expect(page.locator(".xp-card .xp-why")).to_contain_text("sch.compute_at(AL, place)")
    # The keys reach each candidate, from left to right: first those with figures.
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
    expect(page.locator(".xp-front .is-chosen")).to_have_count(1)
    chosen = page.locator(".xp-card").get_attribute("data-trial")
    expect(page.locator(".xp-front .is-chosen th button")).to_have_text(str(chosen))
    page.get_by_label("Vertical axis").select_option("traffic")
    expect(figure).to_have_attribute("aria-label", re.compile("Copied against On-chip peak"))
    figure.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#area-compare")).to_be_visible()


def test_given_a_long_search_then_it_can_be_stopped_and_gone_on_with_while_the_page_is_used(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = opened(open_page(), app_url, "explore_tiles")
    page.get_by_role("button", name="Start").click()
    status(page, "running")
    expect(page.locator(".xp-left")).to_contain_text("left", timeout=PATIENT)
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "stopped")
    count = int(re.sub(r"\D", "", page.locator(".xp-count b").inner_text()))
    assert 0 < count < 432
    page.get_by_role("button", name="Resume").click()
    status(page, "running")
    page.get_by_role("button", name="Make small").click()
    expect(page.locator("#area-tree")).to_be_visible()
    page.get_by_role("treeitem").first.click()
    expect(page.get_by_role("treeitem").first).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "stopped")
    page.get_by_role("button", name="New search").click()
    expect(page.get_by_role("button", name="Start")).to_be_focused()
    page.get_by_role("button", name="Back", exact=True).click()
    status(page, "stopped")


def test_given_a_second_then_the_search_ends_with_it_and_what_it_found_is_checked(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = opened(open_page(), app_url, "explore_tiles")
    page.get_by_label("Seconds at most").fill("2")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".xp-title")).to_have_text("Time is up", timeout=PATIENT)
    expect(page.locator(".xp-words")).to_contain_text("time limit 2 s")
    assert 0 < int(re.sub(r"\D", "", page.locator(".xp-count b").inner_text())) < 432


def test_given_a_chip_in_the_step_list_then_it_is_the_default_and_no_holes_offer_a_space(
    open_page: Callable[..., Page], app_url: str
) -> None:
    page = opened(open_page(), app_url, "explore_tiles")
    chips = page.get_by_role("group", name="Values of tile m")
    expect(chips.get_by_role("button", name="32", exact=True)).to_have_attribute("aria-pressed", "true")
    chips.get_by_role("button", name="128", exact=True).click()
    expect(chips.get_by_role("button", name="128", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator('[role="treeitem"][data-id="mi"]')).to_contain_text("128")
    page.keyboard.press("Control+z")
    expect(chips.get_by_role("button", name="32", exact=True)).to_have_attribute("aria-pressed", "true")
    go_to_example(page, app_url, "vtcm_double_buffer")
    page.get_by_role("tab", name="Explore").click()
    expect(page.locator(".xp-none")).to_contain_text("has no holes")
    expect(page.locator(".xp-none").get_by_role("button", name="Make it fast")).to_be_visible()
    # Tiles by hand can be kept.
    page.get_by_label("Keep my tiles: m 64, n 64, k 64").check()
    page.locator(".xp-none").get_by_role("button", name="Make it fast").click()
    expect(page.locator(".xp-film-frame b")).to_be_visible(timeout=PATIENT)
    expect(page.locator(".branch-name")).to_have_text("auto")
    expect(page.locator(".xp-note")).to_contain_text("Kept: tile m 64; tile n 64; tile k 64.")


def test_given_a_fresh_program_when_make_it_fast_is_pressed_then_a_good_schedule_is_shown_and_its_values_are_searched(
    open_page: Callable[..., Page], app_url: str, shoot: Shoot
) -> None:
    page = open_page(width=1100, height=700)
    page.goto(app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(HOLES[: HOLES.index("# %% schedule")])
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("treeitem").first.wait_for()
    cycles = page.locator('[data-figure="Cycles"] b')
    before = number_of(cycles)
    # In sight without a tab; a stop leaves nothing behind.
    button = page.get_by_role("button", name="Make it fast")
    expect(button).to_be_in_viewport(ratio=1)
    button.press("Enter")
    status(page, "deriving")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".xp-none")).to_be_visible()
    assert number_of(cycles) == before
    page.locator(".xp-none").get_by_role("button", name="Make it fast").click()
    best = page.locator(".xp-deriving p b")
    expect(best).to_be_visible(timeout=PATIENT)
    expect(page.locator(".xp-deriving .change.better")).to_be_visible()
    expect(page.locator(".xp-decisions li").first).to_be_visible()
    shoot(page, "explore-deriving")
    # The derived schedule is in the notebook, and the first frame of the film, with what its lines do.
    expect(page.locator(".xp-film-frame b")).to_be_visible(timeout=PATIENT)
    assert [step for step in steps(page) if "choose" in step]
    assert number_of(cycles) < before / 10
    expect(page.locator(".xp-film-frame")).to_contain_text(cycles.inner_text())
    expect(page.locator(".xp-film .xp-decisions li").first).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "stopped")
    assert_no_violations(page, "#area-panes")
    page.get_by_role("button", name="Resume").click()
    status(page, "running")
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "stopped")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".hole-values")).to_have_count(0)
    assert number_of(cycles) == before


def number_of(figure: Locator) -> int:
    return int(re.sub(r"\D", "", figure.inner_text()))


def test_given_pins_by_mouse_and_keys_then_the_rest_is_searched_and_a_branch_has_their_values(
    open_page: Callable[..., Page], serve_command: Callable[..., str], folder: Path, shoot: Shoot
) -> None:
    url = serve_command("-m", "tilewright", "serve", "--no-token", str(folder), "--port", "{port}")
    page = opened(open_page(), url, "holes.py")
    space = page.locator(".xp-space")
    expect(space).to_contain_text("12 candidates")
    pin = page.get_by_role("button", name="Keep tile")
    expect(pin).to_have_attribute("aria-pressed", "false")
    pin.press("Enter")
    expect(pin).to_have_attribute("aria-pressed", "true")
    expect(pin).to_be_focused()
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
    shoot(page, "explore-pins")
    assert_no_violations(page, "#area-panes")
    page.get_by_role("button", name="Start").click()
    status(page, "ended")
    expect(page.locator(".xp-count")).to_have_text("4 of 4")
    expect(page.locator(".xp-note")).to_contain_text('Kept: tile 32; A at "ko" or "mo".')
    page.get_by_role("button", name="Open as branch").click()
    expect(page.locator(".branch-name")).to_contain_text("tile 32, A at")
    assert any(step.startswith("tile = 32") for step in steps(page)), steps(page)
    # The search with its pins is there again after a reload.
    page.goto(f"{url}/file/holes.py")
    page.get_by_role("tab", name="Explore").click()
    status(page, "ended")
    expect(page.locator(".xp-count")).to_have_text("4 of 4")


def test_given_form_and_pictures_then_axe_has_no_complaint(page: Page, app_url: str) -> None:
    opened(page, app_url, "explore_tiles")
    assert_no_violations(page)
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".xp-front tbody tr").first).to_be_visible(timeout=PATIENT)
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "stopped")
    assert_no_violations(page, "#area-panes")


def test_given_a_search_then_the_film_shows_each_best_so_far_with_what_changed(
    open_page: Callable[..., Page], serve_command: Callable[..., str], folder: Path, shoot: Shoot
) -> None:
    url = serve_command("-m", "tilewright", "serve", "--no-token", str(folder), "--port", "{port}")
    page = opened(open_page(), url, "holes.py")
    searched(page)
    film = page.get_by_role("region", name="Film of the best so far")
    slider = film.get_by_role("slider")
    expect(film.locator(".xp-film-at")).to_have_text(re.compile(r"^ (\d+) of \1$"))
    frames = int(slider.get_attribute("max") or 0)
    assert frames >= 2
    expect(film.get_by_role("button", name="The next better one")).to_be_disabled()
    expect(film.locator(".xp-film-changes li").first).to_be_visible()
    shoot(page, "explore-film")
    assert_no_violations(page)
    # Keys: the slider moves from frame to frame, and the card shows the candidate of the frame.
    slider.focus()
    page.keyboard.press("Home")
    expect(film.locator(".xp-film-at")).to_have_text(f" 1 of {frames}")
    expect(film.locator(".xp-film-frame")).to_contain_text("The first candidate that fits.")
    expect(page.locator('.xp-card[data-trial="0"]')).to_be_visible(timeout=PATIENT)
    expect(slider).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(film.locator(".xp-film-at")).to_have_text(f" 2 of {frames}")
    expect(film.locator(".xp-film-frame .change.better")).to_be_visible()
    number = re.search(r"candidate (\d+)", film.locator(".xp-film-frame p").inner_text())
    assert number is not None
    expect(page.locator(f'.xp-card[data-trial="{number[1]}"]')).to_be_visible(timeout=PATIENT)
    # The mouse: the first frame is opened as a branch beside the schedule, as every candidate.
    film.get_by_role("button", name="The best before this one").click()
    expect(page.locator('.xp-card[data-trial="0"]')).to_be_visible(timeout=PATIENT)
    film.get_by_role("button", name="Play from the first to the last").click()
    expect(film.locator(".xp-film-at")).to_have_text(f" {frames} of {frames}", timeout=PATIENT)
    expect(film.get_by_role("button", name="Play from the first to the last")).to_be_visible(timeout=PATIENT)
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator('.xp-card[data-trial="0"]')).to_be_visible(timeout=PATIENT)
    page.locator(".xp-card").get_by_role("button", name="Open as branch").click()
    expect(page.locator(".branch-name")).to_have_text("tile 64, A at ko, slots 1", timeout=PATIENT)
