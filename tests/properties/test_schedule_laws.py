"""Laws of schedules, on random programs and random calls: meaning kept, refusals change nothing, replay and print/parse give the same."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from support.calls import apply, calls, describe
from support.programs import programs

from tilewright.engine.ir import first_difference
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


@given(programs(), st.data())
def test_given_random_calls_when_accepted_then_the_meaning_is_kept(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 7))):
        before = sch.mod
        call = data.draw(calls(sch))
        try:
            apply(sch, call)
        except ScheduleError as refused:
            assert refused.code and refused.refusal.message
            assert sch.mod is before, "a refusal must leave the schedule as it was"
            continue
        note(describe(sch.trace.steps[-1]))
        note(to_script(sch.mod))
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail


@given(programs(), st.data())
def test_given_a_trace_when_replayed_then_the_same_program(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 5))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    again = sch.replayed()
    assert first_difference(again.mod, sch.mod) is None
    text = to_script(sch.func)
    assert to_script(parse(text).program) == text


@given(programs(), st.data())
def test_given_changes_when_undone_one_by_one_then_each_moment_comes_back(program, data):
    sch = Schedule(program)
    moments = [sch.mod]
    for _ in range(data.draw(st.integers(1, 5))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
        moments.append(sch.mod)
    for moment in reversed(moments):
        assert sch.mod is moment
        sch.undo()
    assert sch.mod is moments[0]
