"""Random programs and calls: Tilewright and TVM agree on each, except for the differences in docs/differences.md."""

from __future__ import annotations

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.schedules.calls import calls, describe

pytest.importorskip("tvm")

from support.tvm.calls import ask_both, comparable
from support.tvm.differences import WE_ACCEPT, WE_REFUSE

from tilewright.engine.schedule import Schedule
from tilewright.engine.script import to_script


@pytest.mark.tvm
@given(programs(), st.data())
def test_law_random_calls_agree_with_tvm(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 5))):
        call = data.draw(calls(sch))
        if not comparable(sch, call):
            return
        note(to_script(sch.func))
        note(str(call))
        outcome = ask_both(sch, call)
        if not outcome.ours and not outcome.theirs:
            event("both accept")
            assert not outcome.difference, f"{describe(sch.trace.steps[-1])}: {outcome.difference}"
        elif outcome.ours and outcome.theirs:
            event("both refuse")
        elif outcome.ours:
            assert outcome.ours in WE_REFUSE.get(call[0], ()), f"only Tilewright refuses {call}: {outcome.ours}"
        else:
            known = any(words in outcome.theirs for words in WE_ACCEPT.get(call[0], ()))
            assert known, f"only TVM refuses {call}: {outcome.theirs}"
