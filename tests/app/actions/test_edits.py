"""Edits of cells and of the history as intents: typed text is a draft until the edit is finished."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.actions.calls import MakeCall
from tilewright.app.actions.cell_actions import (
    AddBranch,
    ApplySuggestion,
    ChooseBranch,
    CommentItem,
    DeleteBranch,
    InsertCell,
    MoveCell,
    MoveItem,
    MoveItemInto,
    RemoveCell,
    RemoveItem,
    RenameBranch,
    RestoreStep,
    SkipConflicts,
    StopHere,
    SwitchItem,
)
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import Redo, Undo, ViewStep, act
from tilewright.app.actions.text_edits import DraftCell, DraftItem, DropDraft, EditCell, EditItem, EditProse
from tilewright.app.protocol.messages import decode
from tilewright.app.state.intents import Intent
from tilewright.app.state.model import State
from tilewright.engine.adopt import call_of

MACHINE, WORKLOAD, SCHEDULE = 1, 2, 3


def opened(text: str = MATMUL_NOTEBOOK) -> State:
    state = act(State(), OpenText(text))
    assert state.notebook is not None, state.notice
    return state


def steps(state: State) -> list[str]:
    assert state.notebook is not None
    return [step.text for step in state.notebook.steps]


def body(state: State, index: int) -> str:
    assert state.notebook is not None
    return state.notebook.document.cells[index].body


def test_typed_text_updates_the_program_as_one_undo_step() -> None:
    start = opened()
    text = body(start, SCHEDULE)
    state = start
    for typed in ("sch.", "sch.unroll(", "sch.unroll(ki)"):
        state = act(state, DraftCell(SCHEDULE, f"{text.rstrip()}\n{typed}\n\n"))
        assert state.draft_of is start.notebook and state.past == ()
    assert state.shown is state.notebook and state.step_count == 5
    done = act(state, EditCell(SCHEDULE, f"{text.rstrip()}\nsch.unroll(ki)\n\n"))
    assert done.draft_of is None and done.past == (start.notebook,)
    assert act(done, Undo()).notebook is start.notebook
    assert steps(act(act(done, Undo()), Redo()))[-1] == "sch.unroll(ki)"


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (MACHINE, 'machine = tilewright.machine("dua'),
        (WORKLOAD, "def f(:\n"),
        (SCHEDULE, "sch = tilewright.Schedule(matmul)\nC = sch.get_block("),
        (SCHEDULE, 'sch = tilewright.Schedule(matmul)\nC = sch.get_block("Q")\n'),
        (SCHEDULE, "x = 3\n"),
    ],
)
def test_a_dropped_draft_restores_the_last_valid_program(index: int, text: str) -> None:
    start = opened()
    state = act(start, DraftCell(index, text))
    assert state.notebook is not None and state.notebook.error is not None
    assert state.shown is start.shown and state.moment is start.moment
    dropped = act(state, DropDraft())
    assert (dropped.notebook, dropped.shown, dropped.past) == (start.notebook, start.shown, start.past)
    assert dropped.draft_of is None and not dropped.unsaved


def test_a_broken_machine_cell_keeps_the_shown_machine() -> None:
    start = opened(MATMUL_NOTEBOOK.replace("dual-bank-npu", "gemmini"))
    state = act(start, EditCell(MACHINE, "machine = tilewright.machine('gemm')\n"))
    assert state.notebook is not None and state.notebook.machine is None
    assert state.shown is not None and state.shown.machine is not None and state.shown.machine.name == "gemmini"
    assert state.shown.document.text == state.notebook.document.text


def test_an_unreadable_schedule_refuses_calls() -> None:
    start = opened()
    state = act(start, EditCell(SCHEDULE, body(start, SCHEDULE) + "sch.unroll(\n"))
    assert state.shown is start.shown
    assert state.moment is not None
    refused = act(state, MakeCall(call_of("parallel", (state.moment.names["i"],))))
    assert refused.notice is not None and refused.notice.code == "broken-text"
    assert refused.notebook is state.notebook
    assert act(refused, Undo()).notebook is start.notebook


def test_another_action_commits_an_open_draft_as_a_step() -> None:
    start = opened()
    drafted = act(start, DraftItem(2, 'ko, ki = sch.split(k, factors=[None, 16], names=["ko", "ki"])'))
    assert drafted.moment is not None
    called = act(drafted, MakeCall(call_of("parallel", (drafted.moment.names["i"],))))
    assert called.notice is None and called.draft_of is None
    assert len(called.past) == 2
    assert "16" in steps(act(called, Undo()))[2]
    assert act(act(called, Undo()), Undo()).notebook is start.notebook


def test_editing_an_early_step_replays_the_later_ones() -> None:
    start = opened()
    state = act(start, EditItem(2, 'ko, ki = sch.split(k, factors=[None, 16], names=["ko", "ki"])'))
    assert state.notebook is not None and state.notebook.error is None
    assert state.moment is not None
    assert state.moment.schedule.index.loop(state.moment.names["ko"]).extent.value == 8  # pyright: ignore[reportAttributeAccessIssue]
    before = start.notebook
    assert before is not None and state.notebook.states[2] is before.states[2], "what stands before is not made again"
    assert act(act(state, EditItem(2, "")), Undo()).notebook is state.notebook


def test_each_change_of_a_step_is_one_undo_step() -> None:
    start = opened(with_lines("sch.unroll(ki)", "sch.parallel(i)"))
    for intent, expected in (
        (SwitchItem(4, False), ["sch.parallel(i)"]),
        (MoveItem(5, 4), ["sch.parallel(i)", "sch.unroll(ki)"]),
        (MoveItem(4, 5, True), ["sch.parallel(i)", "sch.unroll(ki)"]),
        (RemoveItem(5), ["sch.unroll(ki)"]),
    ):
        state = act(start, intent)
        assert steps(state)[4:] == expected, intent
        assert state.notebook is not None and state.notebook.error is None
        assert act(state, Undo()).notebook is start.notebook
    off = act(start, SwitchItem(4, False))
    assert act(off, SwitchItem(4, True)).notebook is not off.notebook
    assert act(start, MoveItem(4, 4)).past == ()


def test_each_resolution_of_a_conflict_ends_it() -> None:
    start = opened(with_lines("sch.unroll(ki)", "sch.parallel(i)"))
    broken = act(start, RemoveItem(2))
    assert broken.notebook is not None and broken.notebook.error is not None
    assert broken.step_count == 2, "the picture is of what applies"
    assert broken.good is start.notebook
    for intent, count in ((RestoreStep(2), 6), (SkipConflicts(), 3), (StopHere(), 2)):
        state = act(broken, intent)
        assert state.notebook is not None and state.notebook.error is None, intent
        assert len(steps(state)) == count
        assert act(state, Undo()).notebook is broken.notebook
    assert act(broken, RestoreStep(99)).notice is not None
    assert act(act(start, RemoveItem(2)), RestoreStep(2)).notebook.document.text == start.notebook.document.text  # type: ignore[union-attr]


def test_fixing_a_misspelt_name_writes_the_nearest_one() -> None:
    state = act(opened(with_lines("sch.unrol(ki)")), ApplySuggestion())
    assert steps(state)[-1] == "sch.unroll(ki)"
    assert act(opened(), ApplySuggestion()).notice is not None


def test_cells_are_inserted_moved_deleted_and_edited() -> None:
    start = opened()
    edited = act(start, InsertCell(1, "markdown"))
    written = act(edited, EditProse(1, "# New\n\nwords"))
    assert body(written, 1).startswith("# # New\n#\n# words\n")
    moved = act(written, MoveCell(1, 4))
    assert moved.notebook is not None and moved.notebook.document.cells[4].prose == "# New\n\nwords"
    assert act(act(edited, RemoveCell(1)), Undo()).notebook is edited.notebook
    assert act(start, MoveCell(SCHEDULE, 1)).notice is not None
    assert act(start, InsertCell(1, "poem")).notice is not None
    drafted = act(edited, DraftCell(1, "half"))
    assert drafted.draft_of is edited.notebook and drafted.shown is drafted.notebook


def test_a_branch_from_an_earlier_step_keeps_both_histories() -> None:
    start = opened()
    viewed = act(start, ViewStep(3))
    branched = act(viewed, AddBranch("wide", 3))
    assert steps(branched) == steps(start)[:3] and not branched.looks_back
    back = act(branched, ChooseBranch("main"))
    assert steps(back) == steps(start)
    assert back.moment is not None and start.moment is not None
    renamed = act(act(back, RenameBranch("wide", "narrow")), ChooseBranch("narrow"))
    assert steps(renamed) == steps(start)[:3]
    assert act(back, DeleteBranch("wide")).notice is None
    assert act(back, DeleteBranch("main")).notice is not None
    assert act(back, ChooseBranch("no such")).notice is not None


def test_choosing_the_last_step_does_not_look_back() -> None:
    state = act(opened(), ViewStep(4))
    assert state.chosen_step == 4 and not state.looks_back
    assert act(state, ViewStep(5)).chosen_step is None


MESSAGES: list[tuple[dict[str, Any], Intent]] = [
    ({"kind": "draft_cell", "cell": 1, "text": "x"}, DraftCell(1, "x")),
    ({"kind": "draft_item", "item": 1, "text": "x"}, DraftItem(1, "x")),
    ({"kind": "drop_draft"}, DropDraft()),
    ({"kind": "edit_prose", "cell": 1, "text": "x"}, EditProse(1, "x")),
    ({"kind": "edit_item", "item": 1, "text": "x"}, EditItem(1, "x")),
    ({"kind": "insert_cell", "cell": 1, "cell_kind": "code"}, InsertCell(1, "code")),
    ({"kind": "remove_cell", "cell": 1}, RemoveCell(1)),
    ({"kind": "move_cell", "cell": 1, "to": 2}, MoveCell(1, 2)),
    ({"kind": "switch_item", "item": 1, "on": False}, SwitchItem(1, False)),
    ({"kind": "remove_item", "item": 1}, RemoveItem(1)),
    ({"kind": "comment_item", "item": 1, "text": "why"}, CommentItem(1, "why")),
    ({"kind": "move_item", "item": 1, "target": 2, "after": True}, MoveItem(1, 2, True)),
    ({"kind": "move_item_into", "item": 1, "cell": 4}, MoveItemInto(1, 4)),
    ({"kind": "apply_suggestion"}, ApplySuggestion()),
    ({"kind": "skip_conflicts"}, SkipConflicts()),
    ({"kind": "stop_here"}, StopHere()),
    ({"kind": "restore_step", "step": 1}, RestoreStep(1)),
    ({"kind": "add_branch", "name": "a", "steps": None}, AddBranch("a", None)),
    ({"kind": "choose_branch", "name": "a"}, ChooseBranch("a")),
    ({"kind": "rename_branch", "name": "a", "new": "b"}, RenameBranch("a", "b")),
    ({"kind": "delete_branch", "name": "a"}, DeleteBranch("a")),
]


@pytest.mark.parametrize(("message", "intent"), MESSAGES)
def test_messages_decode_to_intents_that_no_state_breaks(message: dict[str, Any], intent: Intent) -> None:
    assert decode(message) == intent
    for state in (State(), opened(), act(opened(), RemoveItem(2)), act(opened(), EditCell(SCHEDULE, "("))):
        after = act(state, intent)
        assert after.notebook is state.notebook or after.notice is None
