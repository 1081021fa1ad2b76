"""The guided tour detects finished tasks from the notebook alone, whatever gesture was used."""

from __future__ import annotations

import pytest
from support.sessions.pages import simulate_steps

from tilewright.app.actions.calls import CallOnRow
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, Undo, act
from tilewright.app.actions.text_edits import EditCell
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.labels.numbers import grouped
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.shell.tour import TOURS, Tour, tour_text, tour_value
from tilewright.app.views.shell.tours.step import TourPlan
from tilewright.engine.hwsim import Report

CALLS, TILES = TOURS["tour"], TOURS["tile_tour"]
EXAMPLE, STEPS = CALLS.example, CALLS.steps


def opened(plan: TourPlan = CALLS) -> State:
    state = act(State(), OpenText(tour_text(plan)))
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    return state


def done(state: State, store: Store) -> list[bool]:
    value = tour_value(state, store)
    assert value is not None
    return [step.done for step in value.steps]


def test_a_fresh_tour_has_no_finished_task_and_the_examples_program() -> None:
    state = opened()
    assert state.title == "Guided tour: what moves what"
    assert not any(done(state, Store()))
    (example,) = (e for e in load_examples() if e.name == EXAMPLE)
    start = act(State(), OpenText(example.text))
    assert state.notebook is not None and start.notebook is not None
    assert state.notebook.document.of_kind("workload")[0].text == start.notebook.document.of_kind("workload")[0].text
    lines = [step.call.text for step in state.notebook.steps]
    assert lines == [step.call.text for step in start.notebook.steps[: len(lines)]]


def test_other_notebooks_have_no_tour() -> None:
    assert tour_value(State(), Store()) is None
    (example,) = (e for e in load_examples() if e.name == EXAMPLE)
    assert tour_value(act(State(), OpenText(example.text)), Store()) is None


def test_each_task_of_the_tour_is_detected_and_stays_done() -> None:
    state, store = opened(), Store()
    for n, step in enumerate(STEPS):
        if not step.calls:
            continue
        assert not done(state, store)[n]
        state = act(state, ApplyFix(step.calls))
        assert state.notice is None, state.notice
        assert done(state, store)[n]
        value = tour_value(state, store)
        assert value is not None and len(value.steps[n].result) > 40
    assert sum(done(state, store)) == sum(step.test is not None for step in STEPS)


def test_results_in_the_tour_have_the_metrics_of_this_program() -> None:
    store = Store()
    state = act(opened(), ApplyFix(("sch.compute_at('B', io)",)))
    simulate_steps(state, store)
    value = tour_value(state, store)
    assert value is not None
    result = value.steps[2].result
    assert "from 16\u202fKiB to 4\u202fKiB" in result and "57\u202f344" in result


def test_undo_reopens_a_task() -> None:
    store = Store()
    state = act(opened(), ApplyFix(("sch.compute_at('B', io)",)))
    assert done(state, store)[2]
    assert not any(done(act(state, Undo()), store))


@pytest.mark.parametrize("line", ["sch.compute_at(B, io)", "sch.set_scope(B, 0, 'local')"])
def test_a_typed_line_counts_like_a_drag(line: str) -> None:
    state, store = opened(), Store()
    assert state.notebook is not None
    (cell,) = [n for n, c in enumerate(state.notebook.document.cells) if c.kind == "schedule"]
    body = state.notebook.document.cells[cell].body
    found = done(act(state, EditCell(cell, f"{body.rstrip()}\n{line}\n")), store)
    assert found[2:4] == ["compute_at" in line, "set_scope" in line]


def test_a_drop_on_another_loop_is_no_success_and_says_so() -> None:
    store = Store()
    state = act(opened(), ApplyFix(("sch.compute_at('B', ii)",)))
    value = tour_value(state, store)
    assert value is not None and not value.steps[2].done
    assert value.steps[2].result.startswith("`B` is at `ii` now, and the task asks for `io`")


def test_the_figures_of_the_last_task_are_those_of_the_headline() -> None:
    state, store = opened(), Store()
    for step in STEPS:
        if step.calls:
            state = act(state, ApplyFix(step.calls))
    simulate_steps(state, store)
    report = store.simulated(state)
    value = tour_value(state, store)
    assert value is not None and isinstance(report, Report)
    result = next(step.result for step in reversed(value.steps) if step.calls)
    assert f"→ {grouped(report.cycles)} (" in result


def test_a_broken_line_leaves_the_last_valid_program() -> None:
    store = Store()
    state = act(opened(), ApplyFix(("sch.compute_at('B', io)",)))
    assert state.notebook is not None
    (cell,) = [n for n, c in enumerate(state.notebook.document.cells) if c.kind == "schedule"]
    body = state.notebook.document.cells[cell].body
    assert done(act(state, EditCell(cell, f"{body.rstrip()}\nsch.nothing(B)\n")), store)[2]


@pytest.mark.parametrize("plan", TOURS.values(), ids=TOURS)
def test_each_task_points_at_something_and_explains_it(plan: TourPlan) -> None:
    for step in plan.steps:
        assert step.title and step.text and step.anchors
        assert bool(step.task) == (step.test is not None or bool(step.notice))
        assert bool(step.result) == (step.test is not None) == bool(step.calls or step.edit)


def tile_tour(state: State, store: Store) -> Tour:
    value = tour_value(state, store)
    assert value is not None and value.name == "tile_tour" and value.example == "tilelang_gemm"
    return value


def test_edits_of_a_kernel_do_the_tasks_of_its_tour_and_undo_reopens_them() -> None:
    state, store = opened(TILES), Store()
    assert state.title.startswith("TileLang tour")
    edits = [(n, step.edit) for n, step in enumerate(tile_tour(state, store).steps) if step.edit is not None]
    assert [edit.method for _, edit in edits] == ["kernel_stages", "kernel_layout"]
    for n, edit in edits:
        assert not done(state, store)[n]
        state = act(state, CallOnRow(edit.method, edit.target, edit.arguments))
        assert state.notice is None and done(state, store)[n]
    simulate_steps(state, store)
    results = [tile_tour(state, store).steps[n].result for n, _ in edits]
    report = store.simulated(state)
    assert isinstance(report, Report) and all(grouped(report.cycles) in result for result in results)
    assert done(act(state, Undo()), store) == [False, False, True, False, False]


def test_another_number_of_stages_is_no_success_and_says_so() -> None:
    state = act(opened(TILES), CallOnRow("kernel_stages", "k", {"stages": 2}))
    step = tile_tour(state, Store()).steps[2]
    assert not step.done and step.result.startswith("The loop has 2 stages now")
