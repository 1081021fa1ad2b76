"""Marks of changed lines in the code pane."""

from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ViewStep, act
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.notebook.code import marked, python_value, script_value


def test_added_and_removed_lines_are_marked() -> None:
    lines = marked("a\nb\nc", "a\nx\nc\nd")
    assert [(line.number, line.text, line.mark) for line in lines] == [
        (1, "a", None),
        (None, "b", "removed"),
        (2, "x", "added"),
        (3, "c", None),
        (4, "d", "added"),
    ]


def test_a_step_shows_its_program_with_the_changes_marked() -> None:
    store, state = Store(), act(State(), OpenText(MATMUL_NOTEBOOK))
    value = script_value(state, store)
    assert any(line.mark == "added" for line in value.lines)
    assert "sch.reorder(i, ko, j, ki)" in value.caption
    shown = "\n".join(line.text for line in value.lines if line.mark != "removed")
    assert state.moment is not None
    assert shown == store.script(state.moment.schedule).rstrip("\n")
    first = script_value(act(state, ViewStep(0)), store)
    assert all(line.mark is None for line in first.lines)


def test_the_python_of_a_notebook_is_offered_as_a_file() -> None:
    value = python_value(act(State(), OpenText(MATMUL_NOTEBOOK)), Store())
    assert value.file == "schedule_tvm.py"
    assert any("sch.reorder(i, ko, j, ki)" in line.text for line in value.lines)
