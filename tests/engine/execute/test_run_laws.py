"""`run` agrees with the naive interpreter, on random programs and on random schedules of them."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.schedules.calls import apply, calls, describe
from support.schedules.naive import equal_arrays, run_naive

from tilewright.engine.execute import random_inputs, run, verify
from tilewright.engine.schedule import Schedule, ScheduleError


def assert_same_as_naive(func, seed=0):
    inputs = random_inputs(func, seed)
    ours, theirs = run(func, inputs), run_naive(func, inputs)
    assert list(ours) == list(theirs)
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype
        assert equal_arrays(array, theirs[name]), name


@given(programs(), st.integers(0, 3))
def test_law_programs_run_as_in_the_naive_interpreter(program, seed):
    assert_same_as_naive(program, seed)
    assert verify(program, program, seed).status == "tested"


@given(programs(), st.data())
def test_law_schedules_run_as_in_the_naive_interpreter(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 5))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
        note(describe(sch.trace.steps[-1]))
    assert_same_as_naive(sch.func)
