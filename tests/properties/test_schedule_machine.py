"""Random programs, random calls over all primitives: the meaning is kept, refusals change nothing, texts and traces round-trip."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.schedules.meaning import iterations
from support.schedules.schedule_machine import LARGE, ScheduleMachine

from tilewright.engine.script import parse

TestSchedules = ScheduleMachine.TestCase
TestSchedules.settings = settings(stateful_step_count=12)

UNRELATED = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((128, 128), "int32"), C: T.Buffer((1000, 1000), "int32")):
    X = T.sblock_alloc_buffer((128, 128), "int32")
    for i, j in T.grid(128, 128):
        with T.sblock("X"):
            v, w = T.axis.remap("SS", [i, j])
            X[v, w] = A[v, w] + 1
    for n, m in T.grid(1000, 1000):
        with T.sblock("C"):
            v, w = T.axis.remap("SS", [n, m])
            C[v, w] = X[0, 0] + X[127, 127]
"""


@settings(max_examples=1, deadline=None)
@given(st.none())
def test_moved_block_too_slow_to_run_is_proved_or_dropped(
    _,
):
    machine = ScheduleMachine()
    machine.begin(parse(UNRELATED).program, None)
    before = machine.sch.mod
    assert iterations(machine.sch.func) == 128 * 128 + 1000 * 1000 > LARGE
    assert machine.call(("compute_at", {"block": "X", "loop": machine.sch.get_loops("C")[1]}))
    assert machine.sch.mod is before
    assert [name for name, n in machine.tally.checks.items() if n and name.startswith("too costly to run: ")]
    assert not machine.large
    assert machine.call(("split", {"loop": machine.sch.get_loops("X")[0], "factors": [None, 2]}))
    assert machine.large
    machine.undo()
    assert machine.sch.mod is before
