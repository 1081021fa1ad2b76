"""Values of the page's views from states: metrics, problems, the timeline's overflow, reasons."""

from __future__ import annotations

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.pages import painted

from tilewright.app.actions.calls import CallOnRow, MakeCall
from tilewright.app.actions.cell_actions import RemoveItem
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ViewStep, act
from tilewright.app.document.items import schedule_items
from tilewright.app.jobs.drop_preview import targets
from tilewright.app.state.derived import MAX_TASKS, Store
from tilewright.app.state.model import State
from tilewright.app.views.menus import row_menus, scopes_of
from tilewright.app.views.problems.value import problems_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.shell.headline import figures
from tilewright.app.views.timeline.value import timeline_value
from tilewright.engine.adopt import call_of
from tilewright.engine.hwsim import MAX_TASKS as ALL_TASKS
from tilewright.engine.hwsim import Machine, Report, load_machine, preset_names
from tilewright.engine.ir import TilewrightError


def example(name: str) -> State:
    (found,) = (e for e in load_examples() if e.name == name)
    return act(State(), OpenText(found.text, found.title))


def test_rows_that_overflow_a_memory_are_marked() -> None:
    state, store = painted(example("place_the_copies"))
    value = timeline_value(state, store)
    over = [n for n, row in enumerate(value.rows) if row.over]
    assert [value.rows[n].name for n in over] == ["vtcm[0]", "vtcm[1]"]
    for n, (row, held) in enumerate(zip(value.rows, value.run.bytes, strict=True)):
        assert (max(held.allocated) > row.capacity) == (n in over)
        assert not row.over or 0 < row.limit < 1
    assert not any(row.over for row in timeline_value(example("vtcm_double_buffer"), store).rows)


def changes_of(state: State, store: Store) -> dict[str, tuple[str, str]]:
    (cycles,) = (f for f in figures(state, store) if f.label == "Cycles")
    return {c.against: (c.text, c.trend) for c in cycles.changes}


@pytest.mark.slow
def test_the_headline_compares_a_slower_edit_with_each_baseline() -> None:
    """Without its `reorder`, the double-buffered example is slower, though its last step still gains."""
    store = Store()
    opened = example("vtcm_double_buffer")
    store.simulated(opened)
    assert opened.notebook is not None
    (reorder,) = (item for item in schedule_items(opened.notebook.document) if "sch.reorder" in item.text)
    edited = act(opened, RemoveItem(reorder.index))
    store.simulated(edited)
    assert edited.shown is not None and edited.before is not None
    store.report(store.costed(edited, edited.shown.states[0].schedule), store.machine(edited))
    found = changes_of(edited, store)
    assert list(found) == ["the state before the last edit", "the original"]
    assert found["the state before the last edit"][1] == "worse"

    unrolled = act(edited, CallOnRow("unroll", "ki", {}))
    store.simulated(unrolled)
    assert list(changes_of(unrolled, store)) == [
        "the state before the last edit", "the opened notebook", "the original",
    ]  # fmt: skip
    assert changes_of(unrolled, store)["the state before the last edit"][1] == "same"
    assert changes_of(unrolled, store)["the opened notebook"][1] == "worse"


def test_an_earlier_step_is_compared_with_its_predecessor() -> None:
    state, store = painted(example("vtcm_double_buffer"))
    assert state.shown is not None
    state = act(state, ViewStep(len(state.shown.states) - 2))
    store.simulated(state)
    (cycles,) = (f for f in figures(state, store) if f.label == "Cycles")
    assert cycles.changes == []
    assert state.looks_back
    machine = store.machine(state)
    assert state.shown is not None and state.before is not None
    assert isinstance(store.report(state.before.schedule.func, machine), Report)
    (cycles,) = (f for f in figures(state, store) if f.label == "Cycles")
    assert [c.against for c in cycles.changes] == ["the previous step"]
    assert isinstance(store.report(state.shown.states[0].schedule.func, machine), Report)
    (cycles,) = (f for f in figures(state, store) if f.label == "Cycles")
    assert [c.against for c in cycles.changes] == ["the previous step", "the original"]
    assert all(c.trend == "better" for c in cycles.changes)


def test_every_view_says_that_a_run_has_too_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.app.state.derived.MAX_TASKS", 100)
    text = MATMUL_NOTEBOOK.replace("128", "4096").replace("32]", "16]").replace(
        "sch.reorder(i, ko, j, ki)  # ki stays inside\n",
        'io, ii = sch.split(i, [None, 16])\njo, ji = sch.split(j, [None, 16])\nsch.reorder(io, jo, ko, ii, ji, ki)\n'
        'AL = sch.cache_read(C, 0, "local.vtcm")\nBL = sch.cache_read(C, 1, "local.vtcm")\n'
        'CL = sch.cache_write(C, 0, "local.acc")\nsch.compute_at(AL, ko)\nsch.compute_at(BL, ko)\n'
        "sch.reverse_compute_at(CL, jo)\n",
    )  # fmt: skip
    state, store = painted(act(State(), OpenText(text)))
    report = store.simulated(state)
    assert isinstance(report, TilewrightError) and report.code == "too-many-tasks"
    assert MAX_TASKS < ALL_TASKS
    assert problems_value(state, store).problems[0].code == "too-many-tasks"
    assert "100 distinct tasks" in timeline_value(state, store).note
    assert not timeline_value(state, store).cycles
    assert figures(state, store)[0].value == "–"


@pytest.mark.parametrize("name", preset_names())
def test_on_chip_memories_are_the_first_scopes_of_menus(name: str) -> None:
    machine = load_machine(name)
    assert isinstance(machine, Machine)
    scopes = scopes_of(machine)
    assert set(scopes) == {memory.scope for memory in machine.memories}
    assert scopes[-1] == "global"
    state = example("place_the_copies")
    assert state.moment is not None
    menus = row_menus(state.moment.schedule.func, scopes)
    (entry,) = (item for item in menus["C"] if item.method == "cache_read")
    (field,) = (f for f in entry.fields if f.name == "storage_scope")
    assert [choice.value for choice in field.choices] == list(scopes) and field.default == scopes[0]


def test_an_outer_loop_is_a_legal_target_of_a_placed_block() -> None:
    state = example("place_the_copies")
    assert state.moment is not None
    placed = act(state, MakeCall(call_of("compute_at", ("A_local.vtcm", state.moment.names["ko"]))))
    entries = {entry.loop: entry for entry in targets(placed, Store(), ["A_local.vtcm"])}
    assert entries["mo"].legal and entries["mo"].primitive == "compute_at"
    assert "as often as before" in entries["mo"].reason
    assert entries["ko"].code == "same-loop" and not entries["ko"].legal
