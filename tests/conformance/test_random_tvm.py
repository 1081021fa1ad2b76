"""Random programs, random calls, two judges: Tilewright and TVM make the same of each, save for the differences in docs/differences.md."""

from __future__ import annotations

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st
from support.calls import calls
from support.programs import programs

pytest.importorskip("tvm")

from support.tvm_calls import ask_both, comparable

from tilewright.engine.schedule import Schedule, describe
from tilewright.engine.script import to_script

# Each entry is a row of docs/differences.md.
ONLY_TVM_ACCEPTS = {
    ("annotate", "annotation-exists"),
    ("reverse_compute_at", "partial-sum"),
    ("transform_layout", "parameter-buffer"),
}
ONLY_TILEWRIGHT_ACCEPTS = {"bind", "parallel", "vectorize"}


@pytest.mark.tvm
@settings(max_examples=max(10, settings().max_examples // 3))
@given(programs(), st.data())
def test_given_random_calls_when_asked_then_both_make_the_same_of_them(program, data):
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
            assert (call[0], outcome.ours) in ONLY_TVM_ACCEPTS, f"TVM accepts {call}"
        else:
            assert call[0] in ONLY_TILEWRIGHT_ACCEPTS, f"TVM refuses {call}: {outcome.theirs}"
