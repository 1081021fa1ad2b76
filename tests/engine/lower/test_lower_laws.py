"""Laws: every prefix of the passes keeps the meaning of every scheduled program."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, note, settings
from hypothesis import strategies as st
from support.calls import apply, calls, describe
from support.programs import matmul_programs, programs

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import AXIS_SEPARATOR, Block, BlockRealize, PrimFunc, walk_stmts
from tilewright.engine.lower import PASSES, allocations, lower, plan
from tilewright.engine.schedule import Schedule, ScheduleError
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


def assert_same_results(func: PrimFunc, *others: PrimFunc) -> None:
    inputs = random_inputs(func)
    expected = run(func, inputs)
    for other in others:
        note(to_script(other))
        found = run(other, inputs)
        assert expected.keys() == found.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)


@given(scheduled(), st.sampled_from([p.name for p in PASSES]))
def test_given_a_scheduled_program_when_lowered_then_the_same_results_in_no_more_memory(func, until):
    note(to_script(func))
    assert_same_results(func, plan(func), lower(func, until), lower(func))
    assert_plan_keeps_blocks(func)
    assert_flat(func)


LAYOUTS = (
    lambda i, j: [i, j],
    lambda i, j: [j, i],
    lambda i, j: [j // 4 % 2, AXIS_SEPARATOR, i, j // 8, j % 4],
    lambda i, j: [i % 3, AXIS_SEPARATOR, i // 3, j],
    lambda i, j: [i // 2, AXIS_SEPARATOR, j // 3, AXIS_SEPARATOR, i % 2, j % 3],
)


@st.composite
def staged(draw: st.DrawFn) -> PrimFunc:
    """A tiled matmul whose operands are copied, laid out and perhaps double buffered under one of its loops."""
    sch = Schedule(draw(matmul_programs(integer_only=True)))
    compute = sch.get_block("C")
    pairs = [sch.split(loop, [None, draw(st.integers(1, 6))]) for loop in sch.get_loops(compute)]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    for operand in (0, 1):
        copy = sch.cache_read(compute, operand, draw(st.sampled_from(("local.vtcm", "shared", "global"))))
        steps = [
            lambda copy=copy: sch.compute_at(copy, draw(st.sampled_from(sch.get_loops(compute)))),
            lambda copy=copy: sch.transform_layout(copy, ("write", 0), draw(st.sampled_from(LAYOUTS))),
            lambda copy=copy: sch.double_buffer(copy),
        ]
        for step in steps:
            try:
                step()
            except ScheduleError:
                continue
            note(describe(sch.trace.steps[-1]))
    return sch.func


@settings(max_examples=max(1, settings.default.max_examples // 4))  # four runs an example
@given(staged(), st.sampled_from([p.name for p in PASSES]))
def test_given_staged_operands_when_lowered_then_the_same_results_in_no_more_memory(func, until):
    note(to_script(func))
    assert_same_results(func, plan(func), lower(func, until), lower(func))
    assert_flat(func)


def assert_plan_keeps_blocks(func: PrimFunc) -> None:
    names = [s.name for s in walk_stmts(plan(func)) if isinstance(s, Block) and s.name]
    assert names == [s.name for s in walk_stmts(func) if isinstance(s, Block)]


def assert_flat(func: PrimFunc) -> None:
    """No blocks are left, and no buffer is larger than it was but for its slots."""
    assert not any(isinstance(s, BlockRealize | Block) for s in walk_stmts(lower(func)))
    for found in allocations(func):
        event(
            f"slots {found.slots}, under a loop: {found.loop is not None}, banked: {bool(found.buffer.axis_separators)}"
        )
        assert len(found.tile) == len(found.buffer.shape)
        assert all(t <= e.value for t, e in zip(found.tile, found.buffer.shape, strict=True))
        size = found.slots * int(np.prod(found.tile))
        assert size == int(np.prod([e.value for e in found.lowered.shape]))
        assert len(found.lowered.shape) == len(found.buffer.axis_separators) + 1
