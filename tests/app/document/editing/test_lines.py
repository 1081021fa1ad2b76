"""Moves become lines: a drag and the line that it writes change the program equally."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.schedules.calls import calls
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import (
    DocumentError,
    Notebook,
    apply_call,
    evaluate,
    line_for,
    read_document,
    variable_of,
)
from tilewright.engine.adopt import TriedCall, call_of, make_call
from tilewright.engine.ir import called_with, structural_equal
from tilewright.engine.schedule import ScheduleError


def read(text: str) -> Notebook:
    notebook = evaluate(read_document(text))
    assert notebook.error is None, notebook.error
    return notebook


def last_lines(notebook: Notebook, count: int = 1) -> list[str]:
    return [step.text for step in notebook.steps[-count:]]


def test_loops_of_a_split_get_variables() -> None:
    notebook = read(MATMUL_NOTEBOOK)
    after = apply_call(
        notebook, call_of("split", (notebook.names["j"],), {"factors": [None, 16], "names": ["jo", "ji"]})
    )
    assert last_lines(after) == ['jo, ji = sch.split(j, factors=[None, 16], names=["jo", "ji"])']
    assert {"jo", "ji"} <= set(after.names)


def test_a_block_by_name_is_written_as_its_variable() -> None:
    notebook = read(MATMUL_NOTEBOOK)
    after = apply_call(notebook, call_of("cache_read", ("C", 0, "local.vtcm")))
    assert last_lines(after) == ['A_local_vtcm = sch.cache_read(C, 0, "local.vtcm")']
    moved = apply_call(after, call_of("compute_at", ("A_local.vtcm", after.names["ko"])))
    assert last_lines(moved) == ["sch.compute_at(A_local_vtcm, ko)"]


def test_a_loop_without_a_variable_is_looked_up_first() -> None:
    notebook = read(with_lines('AL = sch.cache_read(C, 0, "local")'))
    schedule = notebook.schedule
    assert schedule is not None
    loop = schedule.index.loops_of("A_local")[1].loop_var
    after = apply_call(notebook, call_of("vectorize", (loop,)))
    assert last_lines(after, 2) == ["ax1 = sch.get_loops(AL)[1]", "sch.vectorize(ax1)"]


def test_taken_names_are_avoided() -> None:
    notebook = read(MATMUL_NOTEBOOK)
    after = apply_call(
        notebook, call_of("split", (notebook.names["j"],), {"factors": [None, 16], "names": ["sch", "k"]})
    )
    assert last_lines(after) == ['sch_1, k_1 = sch.split(j, factors=[None, 16], names=["sch", "k"])']


def test_handles_in_one_variable_are_written_as_elements() -> None:
    notebook = read(with_lines("loops = sch.get_loops(C)"))
    (loops,) = [value for name, value in notebook.names.items() if name == "loops"]
    assert variable_of({"loops": loops}, loops[2]) == "loops[2]"
    assert line_for({"loops": loops}, call_of("vectorize", (loops[2],))) == "sch.vectorize(loops[2])"


def test_a_refused_call_changes_nothing() -> None:
    notebook = read(MATMUL_NOTEBOOK)
    with pytest.raises(ScheduleError):
        apply_call(notebook, call_of("fuse", (notebook.names["i"], notebook.names["ki"])))
    assert notebook.document.text == MATMUL_NOTEBOOK


def test_a_notebook_with_a_failing_line_is_not_extended() -> None:
    notebook = evaluate(read_document(with_lines("sch.fuse(i, ki)")))
    with pytest.raises(DocumentError) as caught:
        apply_call(notebook, call_of("vectorize", (notebook.names["j"],)))
    assert caught.value.code == "broken-schedule"


def test_a_missing_schedule_cell_is_created() -> None:
    text = MATMUL_NOTEBOOK[: MATMUL_NOTEBOOK.index("# %% schedule")]
    notebook = read(text)
    assert notebook.schedule is not None
    after = apply_call(notebook, call_of("vectorize", (notebook.schedule.index.loops_of("C")[1].loop_var,)))
    assert after.error is None
    assert "# %% schedule\nsch = tilewright.Schedule(matmul)\n" in after.document.text
    assert last_lines(after) == ["sch.vectorize(j)"]


@pytest.mark.slow
@given(st.data())
def test_a_move_and_its_line_do_the_same(data: st.DataObject) -> None:
    """Any call with handles parses from the text to the same program, with a variable for every new handle."""
    notebook = read(MATMUL_NOTEBOOK)
    for _ in range(data.draw(st.integers(1, 4))):
        schedule = notebook.schedule
        assert schedule is not None
        # The intrinsics that are drawn are not in the notebook.
        name, arguments = data.draw(calls(schedule).filter(lambda call: call[0] != "tensorize"))
        args, keywords = called_with(arguments)
        trial = schedule.copy()
        try:
            make_call(trial, call_of(name, args, keywords))
        except ScheduleError:
            continue
        try:
            notebook = apply_call(notebook, call_of(name, args, keywords))
        except DocumentError as error:
            assert error.code == "nameless-loop"  # a loop without a block inside, as of `read_at`
            continue
        assert notebook.error is None, notebook.error
        again = read(notebook.document.text)
        assert again.schedule is not None and notebook.schedule is not None
        assert structural_equal(again.schedule.mod, trial.mod)
        assert structural_equal(notebook.schedule.mod, trial.mod)
        for result in notebook.schedule.trace.steps[-1].results:
            assert variable_of(notebook.names, result) is not None


def test_a_tried_call_is_reused_only_for_the_same_line() -> None:
    notebook = read(MATMUL_NOTEBOOK)
    state, ki = notebook.states[-1], notebook.names["ki"]
    tried = state.schedule.copy()
    tried.unroll(ki)
    trial = TriedCall(state, call_of("unroll", (ki,)), tried, None)
    same = evaluate(read_document(with_lines("sch.unroll(ki)")), notebook, trial)
    other = evaluate(read_document(with_lines("sch.unroll(j)")), notebook, trial)
    later = evaluate(read_document(with_lines("sch.parallel(i)", "sch.unroll(ki)")), notebook, trial)
    assert same.schedule is tried
    assert [s is not None and s.func is not tried.func for s in (other.schedule, later.schedule)] == [True, True]
