"""Lints never fail, on any schedule."""

from __future__ import annotations

import json

from hypothesis import given, note, settings
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.programs.wild_programs import wild_programs
from support.schedules.calls import apply, calls, describe

from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lint import LINTS, lint
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

MACHINES = [load_machine(name) for name in ("dual-bank-npu", "matrix-vector-npu", "gpu-sm", "cpu-core")]

anything = st.one_of(programs(), wild_programs().map(lambda text: parse(text).program))


@settings(max_examples=max(1, settings.default.max_examples // 8))  # each tries dozens of fixes
@given(anything, st.sampled_from(MACHINES), st.data())
def test_any_schedule_is_linted(program, machine, data):
    assert isinstance(program, PrimFunc)
    schedule = Schedule(program)
    for _ in range(data.draw(st.integers(1, 8))):
        try:
            apply(schedule, data.draw(calls(schedule)))
        except ScheduleError:
            continue
        note(describe(schedule.trace.steps[-1]))
    before = schedule.func
    found = json.loads(json.dumps([finding.to_json() for finding in lint(schedule, machine)]))
    assert {finding["code"] for finding in found} <= {rule.code for rule in LINTS}
    assert schedule.func is before
