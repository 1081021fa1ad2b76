"""The notebook column's value: rows, banners, problems, figures of steps, conflicts, branches."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines
from support.sessions.pages import simulate_steps

from tilewright.app.actions.calls import MakeCall
from tilewright.app.actions.cell_actions import AddBranch, MoveItem, RemoveItem, SwitchItem
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ViewStep, act
from tilewright.app.actions.text_edits import DraftCell, EditCell
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.notebook.value import NotebookBranch, known_changes, notebook_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.adopt import call_of

STORE = Store()


def opened(text: str = MATMUL_NOTEBOOK) -> State:
    return act(State(), OpenText(text))


def value(state: State, changes: Any = None) -> dict[str, Any]:
    found = notebook_value(state, STORE, changes or {})
    msgspec.json.encode(found)
    return found


def rows(state: State, changes: Any = None) -> list[dict[str, Any]]:
    return [row for cell in value(state, changes).cells for row in cell.rows or ()]


def row(state: State, text: str, changes: Any = None) -> dict[str, Any]:
    (found,) = [row for row in rows(state, changes) if row.text.startswith(text)]
    return found


def test_steps_comments_and_disabled_lines_keep_their_order() -> None:
    state = opened(
        with_lines("# above", "# the line", "# off: sch.unroll(ki)", "sch.parallel(i)", "", "# words of mine")
    )
    found = rows(state)
    assert [(r.kind, r.text.split("(")[0]) for r in found] == [
        ("step", "C = sch.get_block"),
        ("step", "i, j, k = sch.get_loops"),
        ("step", "ko, ki = sch.split"),
        ("step", "sch.reorder"),
        ("off", "sch.unroll"),
        ("step", "sch.parallel"),
        ("note", "words of mine"),
    ]
    assert found[4].note == "above\nthe line"
    assert [r.item for r in found if r.kind != "note"] == [0, 1, 2, 3, 4, 5]
    assert [r.number for r in found if r.kind == "step"] == [0, 0, 1, 2, 3]
    assert found[3].comment == "ki stays inside"


@pytest.mark.slow
def test_a_chosen_step_shows_metrics_and_tree_changes() -> None:
    (example,) = (e for e in load_examples() if e.name == "vtcm_double_buffer")
    state = opened(example.text)
    simulate_steps(state, STORE)
    changes = known_changes(state, STORE)
    chosen = act(state, ViewStep(12))
    details = row(chosen, "sch.reverse_compute_at", changes).details
    figures = {figure.label: figure for figure in details.figures}
    assert figures["On-chip peak"].trend == "better" and figures["Cycles"].trend == "worse"
    assert details.changes[0].text == "block C_local.acc into loop no"
    double = changes[row(state, "sch.double_buffer(BL)").index]
    assert {f.label for f in double.figures} >= {"Cycles", "Overlap"}
    assert "better" in double.hint
    assert all(r.details is None for r in rows(state, changes))
    assert "step 10 of 14" in value(chosen).banners[0].text


def test_the_conflict_of_a_removed_step_offers_resolutions() -> None:
    state = act(opened(with_lines("sch.unroll(ki)")), RemoveItem(2))
    conflict = row(state, "sch.reorder").conflict
    assert conflict.title == "This step no longer applies"
    assert [need.text for need in conflict.needs] == [
        'ko, ki, created by `ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])`'
    ]
    assert conflict.changes[0].text.startswith("removed: ko, ki")
    assert [c.message["kind"] for c in conflict.choices] == [
        "restore_step", "edit", "switch_item", "skip_conflicts", "stop_here",
    ]  # fmt: skip
    assert conflict.waiting == 1 and row(state, "sch.unroll").status == "skipped"
    assert value(state).banners[0].kind == "stopped"
    start, end = row(state, "sch.reorder").underline
    assert row(state, "sch.reorder").text[start:end] == "ko"


def test_the_first_resolution_moves_a_step_below_its_dependency() -> None:
    state = act(opened(with_lines("sch.unroll(ki)")), MoveItem(4, 1))
    choice = row(state, "sch.unroll").conflict.choices[0]
    assert choice.label.startswith("Move below ko, ki = sch.split")
    assert choice.message == {"kind": "move_item", "item": 1, "target": 3, "after": True}


def test_an_unknown_name_in_a_line_gets_the_nearest_one() -> None:
    state = opened(with_lines("sch.unrol(ki)"))
    conflict = row(state, "sch.unrol").conflict
    assert conflict.title == "This step does not apply" and conflict.changes == []
    assert conflict.choices[0].label == "Replace with unroll"
    assert value(state).problems[0].mend == "unroll"


def test_unreadable_text_shows_its_place_and_a_code_cell() -> None:
    state = opened()
    body = next(c.body for c in value(state).cells if c.kind == "schedule")
    broken = act(state, EditCell(3, body + "sch.unroll(\n"))
    found = value(broken)
    (cell,) = (c for c in found.cells if c.kind == "schedule")
    assert cell.rows is None
    (problem,) = found.problems
    assert cell.first_line <= problem.line < cell.first_line + cell.lines
    assert problem.column >= 1
    assert found.banners[0].kind == "stale" and not found.draft
    drafted = value(act(state, DraftCell(3, body + "sch.unroll(x)\n")))
    assert drafted.draft and drafted.banners[0].kind == "stale"
    steps = [r for c in drafted.cells for r in c.rows or ()]
    assert all(r.status == "applied" for r in steps), "no row is marked while it is being typed"


def test_schedule_lines_stay_pending_below_a_broken_workload() -> None:
    state = act(opened(), EditCell(2, "def f(:\n"))
    assert [r.status for r in rows(state)] == ["skipped"] * 4
    assert [r.number for r in rows(state)] == [0, 0, 0, 0] or rows(state)[2]["number"] in (0, 1)


def test_branches_show_how_many_steps_they_share() -> None:
    assert value(opened()).branches == []
    state = act(opened(), AddBranch("wide", 2))
    assert value(state).branches == [
        NotebookBranch("main", current=False, shared=2),
        NotebookBranch("wide", current=True, shared=None),
    ]
    assert all(cell.kind != "branch" for cell in value(state).cells)


@pytest.mark.parametrize("example", load_examples(), ids=lambda e: e.name)
def test_every_step_of_an_example_has_a_value_quickly(example: Any) -> None:
    state = opened(example.text)
    assert state.shown is not None
    for count in range(len(state.shown.states)):
        value(act(state, ViewStep(count)))
    off = act(state, SwitchItem(len(state.shown.steps) - 1, False))
    value(off)


def test_an_edit_of_the_last_line_reuses_the_states_before() -> None:
    (example,) = (e for e in load_examples() if e.name == "vtcm_double_buffer")
    state = opened(example.text)
    assert state.notebook is not None
    edited = act(state, SwitchItem(len(state.notebook.steps) - 1, False))
    assert edited.notebook is not None
    assert all(a is b for a, b in zip(edited.notebook.states, state.notebook.states, strict=False))
    assert edited.moment is state.notebook.states[-2]


def test_the_notebook_value_of_a_call_is_quick() -> None:
    (example,) = (e for e in load_examples() if e.name == "vtcm_double_buffer")
    state = act(act(opened(example.text), AddBranch("a", 5)), AddBranch("b", 3))
    assert state.moment is not None
    called = act(state, MakeCall(call_of("parallel", (state.moment.names["m"],))))
    begin = time.perf_counter()
    notebook_value(called, Store(), {})
    took = time.perf_counter() - begin
    print(f"notebook_value: {1000 * took:.1f} ms")
    assert took < 2
