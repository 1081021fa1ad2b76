"""The browser cuts windows of random intervals and finds random tasks like the server, from what a replay records."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page
from support.browser.modules import open_modules
from support.sessions.pages import painted

from tilewright.app.document import evaluate, load_document
from tilewright.app.export.replay import recording
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.timeline.value import start_of_task, timeline_data
from tilewright.app.views.timeline.window import window
from tilewright.engine.hwsim import Report

EXAMPLES = Path(__file__).parents[2] / "static" / "examples"
LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("gemmini_gemm", "vta_gemm")]
PIECES = ("waits", "overlaps", "fills", "lives")


@pytest.fixture
def blank(open_page: Callable[..., Page]) -> Page:
    return open_page()


def recorded(page: Page, name: str) -> tuple[State, Store, Report]:
    """An example, and `window.scene` with its recording."""
    notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
    state, store = painted(State(notebook=notebook, shown=notebook))
    report = store.simulated(state)
    assert isinstance(report, Report)
    open_modules(page, "", 'import { Scene } from "./timeline/scene.js"; window.Scene = Scene;')
    page.wait_for_function("() => Boolean(window.Scene)")
    replay(page, state, store, report, 40_000)
    return state, store, report


def replay(page: Page, state: State, store: Store, report: Report, most: int) -> None:
    """A recording limited to `most` tasks, as in a replay."""
    data = json.loads(msgspec.json.encode(recording(state, store, report, most)))
    page.evaluate("value => { window.scene = new Scene(value); }", data["value"])


def events(found: dict[str, Any], names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    columns = [[tuple(v) if isinstance(v, list | tuple) else v for v in found[name]] for name in names]
    return sorted(zip(*columns, strict=True))


def seen(found: dict[str, Any], length: int) -> list[tuple[Any, ...]]:
    """The visible tasks of a window."""
    tasks = events(found["tasks"], ("start", "length", "kind", "place"))
    return [task for task in tasks if task[0] < length and task[0] + task[1] > 0]


def heights(line: dict[str, Any], length: int) -> list[tuple[int, int]]:
    """Live and allocated bytes at a hundred times of a window."""
    found: list[tuple[int, int]] = []
    for moment in (length * n // 100 for n in range(100)):
        last = max(n for n, at in enumerate(line["at"]) if at <= moment)
        found.append((line["live"][last], line["allocated"][last]))
    return found


@pytest.mark.parametrize("name", ["vtcm_double_buffer", *LARGE])
def test_windows_are_cut_like_on_the_server(blank: Page, name: str) -> None:
    _, store, report = recorded(blank, name)
    data = timeline_data(report, store)
    rng = random.Random(name)
    for folded in (True, False):
        total = data.length if folded else report.cycles
        for _ in range(8):
            length = rng.choice([1, 60, total // 300, total // 40]) or 1
            start = rng.randrange(max(1, total - length))
            wanted = msgspec.to_builtins(window(data, start, start + length, folded=folded))
            found = blank.evaluate(
                "([start, end, folded]) => scene.window({ start, end, folded })", [start, start + length, folded]
            )
            assert found["exact"] and wanted["exact"]
            assert (found["start"], found["end"]) == (wanted["start"], wanted["end"])
            assert seen(found, length) == seen(wanted, length)
            for what in PIECES:
                assert events(found[what], ("start", "length", "of")) == events(wanted[what], ("start", "length", "of"))
            for mine, its in zip(found["bytes"], wanted["bytes"], strict=True):
                if not its.get("least"):
                    assert heights(mine, length) == heights(its, length)


@pytest.mark.parametrize("name", ["vtcm_double_buffer", *LARGE])
def test_iterations_are_found_like_on_the_server(blank: Page, name: str) -> None:
    _, store, report = recorded(blank, name)
    data = timeline_data(report, store)
    rng = random.Random(name)
    for number, kind in enumerate(data.templates):
        for _ in range(15):
            place = [rng.randrange(loop.extent) for loop in kind.loops]
            cycle = start_of_task(report, store, number, tuple(place))
            assert blank.evaluate("([t, p]) => scene.task(t, p)?.start ?? null", [number, place]) == cycle, (
                kind.block,
                place,
            )


def test_a_run_of_too_many_tasks_is_recorded_as_bins(blank: Page) -> None:
    state, store, report = recorded(blank, "gemmini_gemm")
    replay(blank, state, store, report, 0)
    value = recording(state, store, report, 0).value
    assert [(w.exact, w.folded, w.start, w.end) for w in value.bins] == [
        (False, False, 0, report.cycles),
        (False, True, 0, value.length),
    ]
    assert blank.evaluate("scene.task(0, [0, 0, 0])") is None
    assert blank.evaluate("scene.window({ start: 0, end: 500, folded: true })") is None
