"""Wild programs and random calls: Tilewright and TVM agree on each, except for the differences in docs/differences.md."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, note
from hypothesis import strategies as st
from support.profile import few
from support.programs.wild_programs import wild_programs
from support.schedules.calls import calls, describe

pytest.importorskip("tvm")

from support.tvm.calls import ask_both, comparable
from support.tvm.differences import WHOLE_SCOPE, WILD_ACCEPTED, WILD_REFUSED
from support.tvm.oracle import REFUSALS, tvm, tvm_schedule

from tilewright.engine.ir import Var
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

PLACED_DIFFERENTLY = ("cache_inplace", "cache_read", "cache_write", "transform_layout")
UNREADABLE = (*REFUSALS, tvm.error.DiagnosticError)


@pytest.mark.tvm
@few(5)
@given(wild_programs(), st.data())
def test_law_wild_programs_are_accepted_or_refused_as_documented(text, data):
    sch = Schedule(parse(text).program)
    for _ in range(data.draw(st.integers(1, 4))):
        call = data.draw(calls(sch))
        if not comparable(sch, call) or not _reachable(sch, call):
            return
        try:
            tvm_schedule(to_script(sch.func))
        except UNREADABLE:
            event("TVM cannot read it")
            assume(False)
        note(to_script(sch.func))
        note(str(call))
        outcome = ask_both(sch, call)
        if not outcome.ours and not outcome.theirs:
            event(f"both accept {call[0]}")
            same = not outcome.difference or call[0] in PLACED_DIFFERENTLY
            assert same, f"{describe(sch.trace.steps[-1])}: {outcome.difference}"
        elif outcome.ours and outcome.theirs:
            event("both refuse")
        elif outcome.ours:
            assert outcome.ours in WILD_REFUSED.get(call[0], ()), f"only Tilewright refuses {call}: {outcome.ours}"
        else:
            known = any(words in outcome.theirs for words in (*WHOLE_SCOPE, *WILD_ACCEPTED.get(call[0], ())))
            assert known, f"only TVM refuses {call}: {outcome.theirs}"


def _reachable(sch, call):
    """TVM has handles for loops around blocks only."""
    above = {f.loop_var for name in sch.index.block_names if name != "root" for f in sch.index.loops_of(name)}
    named = [v for value in call[1].values() for v in (value if isinstance(value, tuple) else (value,))]
    return all(v in above for v in named if isinstance(v, Var))
