"""Laws: every prefix of the passes keeps the meaning of every scheduled program."""

from __future__ import annotations

import numpy as np
from hypothesis import given, note
from hypothesis import strategies as st
from support.calls import apply, calls
from support.programs import programs

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import Block, BlockRealize, PrimFunc, walk_stmts
from tilewright.engine.lower import PASSES, allocations, lower, plan
from tilewright.engine.schedule import Schedule, ScheduleError, describe
from tilewright.engine.script import to_script


@st.composite
def scheduled(draw: st.DrawFn) -> PrimFunc:
    """A random program after random calls."""
    sch = Schedule(draw(programs(integer_only=True)))
    for _ in range(draw(st.integers(0, 8))):
        try:
            apply(sch, draw(calls(sch)))
        except ScheduleError:
            continue
        note(describe(sch.trace.steps[-1]))
    return sch.func


def assert_same_results(func: PrimFunc, other: PrimFunc) -> None:
    note(to_script(other))
    inputs = random_inputs(func)
    expected, found = run(func, inputs), run(other, inputs)
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@given(scheduled(), st.sampled_from([p.name for p in PASSES]))
def test_given_a_scheduled_program_when_lowered_then_the_same_results(func, until):
    note(to_script(func))
    assert_same_results(func, lower(func, until))
    assert_same_results(func, lower(func))


@given(scheduled())
def test_given_a_scheduled_program_when_planned_then_the_same_results_and_blocks(func):
    planned = plan(func)
    assert_same_results(func, planned)
    names = [s.name for s in walk_stmts(planned) if isinstance(s, Block) and s.name]
    assert names == [s.name for s in walk_stmts(func) if isinstance(s, Block)]


@given(scheduled())
def test_given_a_scheduled_program_when_lowered_then_no_blocks_and_no_buffer_grows(func):
    assert not any(isinstance(s, BlockRealize | Block) for s in walk_stmts(lower(func)))
    for found in allocations(func):
        assert len(found.tile) == len(found.buffer.shape)
        assert all(t <= e.value for t, e in zip(found.tile, found.buffer.shape, strict=True))
        size = found.slots * int(np.prod(found.tile))
        assert size == int(np.prod([e.value for e in found.lowered.shape]))
        assert len(found.lowered.shape) == len(found.buffer.axis_separators) + 1
