"""Intents on states: pure, without a server."""

from __future__ import annotations

from functools import cache

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.actions.calls import CallOnRow, MakeCall, RepairCall
from tilewright.app.actions.cell_actions import RemoveItem
from tilewright.app.actions.drops import repair_of
from tilewright.app.actions.machine_actions import PickMachine
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import (
    ApplyFix,
    Dismiss,
    Redo,
    Saved,
    SelectRow,
    SetTheme,
    ShowGallery,
    Undo,
    ViewStep,
    act,
)
from tilewright.app.actions.text_edits import EditCell, EditProse
from tilewright.app.document import evaluate, is_applicable, read_document
from tilewright.app.document.editing.machine_parameters import with_machine
from tilewright.app.state.model import State
from tilewright.engine.adopt import call_of
from tilewright.engine.ir import ScheduleCall


def opened(text: str = MATMUL_NOTEBOOK) -> State:
    state = act(State(), OpenText(text))
    assert state.notebook is not None, state.notice
    return state


def loop(state: State, name: str) -> object:
    assert state.moment is not None
    return state.moment.names[name]


def schedule_text(state: State) -> str:
    assert state.notebook is not None
    return "".join(cell.body for cell in state.notebook.document.of_kind("schedule"))


def test_an_opened_notebook_shows_its_title() -> None:
    state = opened()
    assert state.title == "A matmul"


def test_an_edited_heading_changes_the_title() -> None:
    state = act(State(), OpenText(MATMUL_NOTEBOOK, "my matmul"))
    assert state.title == "A matmul"
    assert state.notebook is not None
    (cell,) = (n for n, cell in enumerate(state.notebook.document.cells) if cell.kind == "markdown")
    headed = act(state, EditProse(cell, "# A *better* matmul"))
    assert headed.title == "A better matmul"
    assert act(headed, Undo()).title == "A matmul"
    assert act(state, EditProse(cell, "No heading.")).title == "my matmul"
    assert len(act(state, EditProse(cell, "# " + "long " * 10_000)).title) < 200
    assert state.shown is state.notebook
    assert state.step_count == 3 + 1
    assert not state.looks_back


def test_plain_tvmscript_opens_in_cells() -> None:
    state = opened(MATMUL)
    assert state.notebook is not None and state.notebook.error is None
    assert [cell.kind for cell in state.notebook.document.cells] == ["machine", "workload", "schedule"]


@pytest.mark.parametrize("text", ["", "hello", "(" * 10_000, "# %% workload\nx = \n", "def f(:\n"])
def test_text_without_a_program_shows_a_notice(text: str) -> None:
    state = act(State(), OpenText(text))
    assert state.notebook is None
    assert state.notice is not None and state.notice.message


def test_a_legal_call_appends_one_readable_line() -> None:
    state = opened()
    after = act(state, MakeCall(call_of("parallel", (loop(state, "i"),))))
    assert after.notice is None
    assert schedule_text(after) == schedule_text(state).replace(
        "sch.reorder(i, ko, j, ki)  # ki stays inside\n",
        "sch.reorder(i, ko, j, ki)  # ki stays inside\nsch.parallel(i)\n",
    )
    assert after.step_count == state.step_count + 1


def test_a_refused_call_changes_only_the_notice() -> None:
    state = opened()
    after = act(state, MakeCall(call_of("compute_at", ("C", loop(state, "i")))))
    assert after.notebook is state.notebook
    assert after.past == ()
    assert after.notice is not None and after.notice.where == "tree"


def test_undo_and_redo_restore_the_same_notebooks() -> None:
    start = opened()
    one = act(start, MakeCall(call_of("parallel", (loop(start, "i"),))))
    two = act(one, MakeCall(call_of("vectorize", (loop(one, "ki"),))))
    back = act(act(two, Undo()), Undo())
    assert back.notebook is start.notebook
    assert act(back, Undo()) is back
    assert act(act(back, Redo()), Redo()).notebook is two.notebook


def test_a_new_edit_clears_the_redo_history() -> None:
    start = opened()
    undone = act(act(start, MakeCall(call_of("parallel", (loop(start, "i"),)))), Undo())
    assert undone.future
    assert act(undone, MakeCall(call_of("unroll", (loop(undone, "ki"),)))).future == ()


def test_an_earlier_step_is_shown_and_refuses_new_calls() -> None:
    state = act(opened(), ViewStep(2))
    assert state.looks_back and state.step_count == 2
    assert state.moment is not None and "ko" not in state.moment.names
    refused = act(state, MakeCall(call_of("parallel", (loop(state, "i"),))))
    assert refused.notice is not None and refused.notice.code == "looking-back"
    assert not act(state, ViewStep(None)).looks_back


def test_removing_a_step_replays_the_later_ones() -> None:
    state = act(opened(), RemoveItem(3))
    assert state.notebook is not None and state.notebook.error is None
    assert "reorder" not in schedule_text(state)


def test_steps_that_need_a_removed_step_fail_but_stay() -> None:
    state = act(opened(), RemoveItem(2))
    assert state.notebook is not None and state.notebook.error is not None
    assert [step.status for step in state.notebook.steps] == ["applied", "applied", "failed"]
    assert "reorder" in schedule_text(state)


def test_an_invalid_workload_edit_keeps_the_last_program() -> None:
    state = opened()
    assert state.notebook is not None
    index = next(n for n, cell in enumerate(state.notebook.document.cells) if cell.kind == "workload")
    broken = act(state, EditCell(index, "def f(:\n"))
    assert broken.notebook is not None and broken.notebook.error is not None
    assert broken.shown is state.notebook
    assert broken.moment is state.moment
    assert act(broken, Undo()).notebook is state.notebook


def test_picking_a_machine_edits_its_cell_and_keeps_handles() -> None:
    state = opened()
    after = act(state, PickMachine("matrix-vector-npu"))
    assert after.notebook is not None and after.notebook.machine is not None
    assert after.notebook.machine.name == "matrix-vector-npu"
    assert 'tilewright.machine("matrix-vector-npu")' in after.notebook.document.text
    assert loop(after, "ko") is loop(state, "ko")
    assert act(after, Undo()).notebook is state.notebook


@pytest.mark.parametrize("name", ["no-such-machine", '")\nx = ("', ""])
def test_an_unknown_machine_is_refused(name: str) -> None:
    before = opened()
    after = act(before, PickMachine(name))
    assert after.notice is not None and after.notice.code == "unknown-machine"
    assert after.notebook is before.notebook


def test_calls_of_a_fix_are_applied_all_or_none() -> None:
    before = opened(with_lines('CL = sch.cache_write(C, 0, "global")'))
    after = act(before, ApplyFix(("sch.set_scope('C', 0, 'local')", "sch.parallel(i)")))
    assert after.notice is None
    assert schedule_text(after).endswith('sch.set_scope(C, 0, "local")\nsch.parallel(i)\n\n')
    assert act(after, Undo()).notebook is before.notebook
    refused = act(before, ApplyFix(("sch.parallel(i)", "sch.compute_inline('C')")))
    assert refused.notebook is before.notebook and refused.notice is not None


@cache
def opened_chain() -> State:
    return act(State(), OpenText(ELEMENTWISE_CHAIN))


def refused_move() -> ScheduleCall:
    """A move of B past its consumer C."""
    moment = opened_chain().moment
    assert moment is not None
    return call_of("compute_at", ("B", moment.schedule.index.loops_of("D")[0].loop_var))


def test_repair_calls_precede_a_refused_move() -> None:
    call, chain = refused_move(), opened_chain()
    refused = act(chain, MakeCall(call))
    assert refused.notice is not None and refused.notice.fix[0] == "sch.compute_inline('C')"
    assert [str(proposal) for proposal in repair_of(chain, call)] == ["sch.compute_inline('C')"]
    after = act(chain, RepairCall(call))
    assert after.notice is None
    assert [line.split("(")[0] for line in schedule_text(after).split("\n") if "compute" in line] == [
        "sch.compute_inline",
        "sch.compute_at",
    ]
    assert act(after, Undo()).notebook is chain.notebook, "one step back"


def test_a_move_without_a_repair_is_refused() -> None:
    chain = opened_chain()
    assert chain.moment is not None
    call = call_of("compute_at", ("D", chain.moment.schedule.index.loops_of("B")[0].loop_var))
    assert repair_of(chain, call) == ()
    after = act(chain, RepairCall(call))
    assert after.notebook is chain.notebook and after.notice is not None


@pytest.mark.parametrize(
    "call",
    [
        "sch.compute_at('C', loop)",
        "sch.copy()",
        "import os",
        "sch.split(i)[0]",
        "a.b.c()",
        "sch.parallel(i)\nsch.unroll(j)",
        "",
    ],
)
def test_a_malformed_fix_is_refused(call: str) -> None:
    before = opened()
    after = act(before, ApplyFix((call,)))
    assert after.notebook is before.notebook and after.notice is not None
    assert before.moment is not None and not is_applicable(before.moment, (call,))


def test_edits_are_unsaved_until_undone_or_saved() -> None:
    state = opened()
    assert not state.unsaved and not state.loses_work
    edited = act(state, MakeCall(call_of("parallel", (loop(state, "i"),))))
    assert edited.unsaved and edited.loses_work
    assert not act(edited, Undo()).unsaved
    assert edited.notebook is not None
    assert not act(edited, Saved(edited.notebook.document.text)).loses_work


@pytest.mark.parametrize(
    "text",
    [
        MATMUL,
        with_lines().replace('machine = tilewright.machine("dual-bank-npu")\n', ""),
        MATMUL_NOTEBOOK[MATMUL_NOTEBOOK.index("# %% workload") :],
        MATMUL_NOTEBOOK.replace('"dual-bank-npu"', "'dual-bank-npu'"),
    ],
)
def test_with_machine_sets_the_machine_of_any_document(text: str) -> None:
    notebook = evaluate(with_machine(read_document(text), "matrix-vector-npu"))
    assert notebook.error is None
    assert notebook.machine is not None and notebook.machine.name == "matrix-vector-npu"
    assert notebook.schedule is not None


def test_small_intents_change_only_their_field() -> None:
    state = opened()
    assert act(state, SelectRow("ko")).selected == "ko"
    assert act(state, SetTheme("dark")).theme == "dark"
    gallery = act(act(state, SetTheme("dark")), ShowGallery())
    assert gallery.notebook is None and gallery.theme == "dark"
    refused = act(state, CallOnRow("no_such_call"))
    assert refused.notice is not None
    assert act(refused, Dismiss()).notice is None


def test_a_notice_may_contain_a_lone_surrogate() -> None:
    state = act(opened(), PickMachine("\ud800"))
    assert state.notice is not None and state.notice.found == "?"
