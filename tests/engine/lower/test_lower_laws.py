"""Laws: every prefix of the passes keeps the meaning of every scheduled program."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, note, reject, settings
from hypothesis import strategies as st
from support.programs.random_programs import matmul_programs, programs
from support.schedules.calls import apply, calls, describe

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import AXIS_SEPARATOR, Block, BlockRealize, PrimFunc, SeqStmt, walk_stmts
from tilewright.engine.lower import PASSES, LowerError, allocations, lower, plan
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
def test_law_lowering_keeps_results_and_memory(func, until):
    note(to_script(func))
    assume_sound_pipelines(func)
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
def staged_schedules(draw: st.DrawFn) -> Schedule:
    """A tiled matmul with operands copied, laid out and perhaps double buffered under one of its loops."""
    sch = Schedule(draw(matmul_programs(integer_only=True)))
    compute = sch.get_block("C")
    pairs = [sch.split(loop, [None, draw(st.integers(1, 6))]) for loop in sch.get_loops(compute)]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    for operand in (0, 1):
        copy = sch.cache_read(compute, operand, draw(st.sampled_from(("local.vtcm", "shared", "global"))))
        steps = [
            lambda copy=copy: sch.compute_at(copy, draw(st.sampled_from(sch.get_loops(compute)))),
            lambda copy=copy: sch.transform_layout(copy, ("write", 0), draw(st.sampled_from(LAYOUTS))),
            lambda copy=copy: sch.double_buffer(
                copy, banks=draw(st.sampled_from((None, (0, 1, 0), (1, 0, 1)))), slots=draw(st.integers(2, 3))
            ),
        ]
        for step in steps:
            try:
                step()
            except ScheduleError:
                continue
            note(describe(sch.trace.steps[-1]))
    return sch


@st.composite
def piped(draw: st.DrawFn) -> PrimFunc:
    """The same, with one or two loops pipelined in random stages and orders; refused ones are skipped."""
    sch = draw(staged_schedules())
    for loop in draw(st.permutations([f for f in sch.index.loops if isinstance(f.body, SeqStmt)])):
        for _ in range(3):
            stages = draw(st.lists(st.integers(0, 3), min_size=len(loop.body.seq), max_size=len(loop.body.seq)))
            order = draw(st.one_of(st.none(), st.permutations(range(len(stages)))))
            try:
                sch.pipeline(loop.loop_var, stages, order, draw(st.sampled_from(((), (0,), (0, 1)))))
            except ScheduleError as error:
                event(f"refused: {error.code}")
                continue
            event(f"stages apart: {max(stages) - min(stages)}")
            note(describe(sch.trace.steps[-1]))
            break
    return sch.func


@settings(max_examples=max(1, settings.default.max_examples // 2))
@given(piped(), st.sampled_from([p.name for p in PASSES]))
def test_law_lowered_pipelines_compute_the_same(func, until):
    note(to_script(func))
    assert_same_results(func, lower(func, until), lower(func))
    assert_flat(func)


@settings(max_examples=max(1, settings.default.max_examples // 4))  # four runs an example
@given(staged_schedules().map(lambda sch: sch.func), st.sampled_from([p.name for p in PASSES]))
def test_law_lowering_staged_operands_keeps_results(func, until):
    note(to_script(func))
    assert_same_results(func, plan(func), lower(func, until), lower(func))
    assert_flat(func)


def assume_sound_pipelines(func: PrimFunc) -> None:
    """Calls after `pipeline` may move statements into its loop: lowering then refuses the outdated stages."""
    try:
        lower(func, "InjectSoftwarePipeline")
    except LowerError as error:
        assert error.code.startswith("pipeline") or error.code == "broken-dependence", error
        reject()


def assert_plan_keeps_blocks(func: PrimFunc) -> None:
    names = [s.name for s in walk_stmts(plan(func)) if isinstance(s, Block) and s.name]
    assert names == [s.name for s in walk_stmts(func) if isinstance(s, Block)]


def assert_flat(func: PrimFunc) -> None:
    """No blocks are left, and no buffer grows except by its slots and by requested gaps between rows."""
    blocks = [s for s in walk_stmts(func) if isinstance(s, Block)]
    aligned = any(key == "buffer_dim_align" for block in blocks for key, _ in block.annotations)
    assert not any(isinstance(s, BlockRealize | Block) for s in walk_stmts(lower(func)))
    for found in allocations(func):
        event(
            f"slots {found.slots}, under a loop: {found.loop is not None}, banked: {bool(found.buffer.axis_separators)}"
        )
        assert len(found.tile) == len(found.buffer.shape)
        assert all(t <= e.value for t, e in zip(found.tile, found.buffer.shape, strict=True))
        size = found.slots * int(np.prod(found.tile))
        lowered = int(np.prod([e.value for e in found.lowered.shape]))
        assert size <= lowered if aligned else size == lowered
        groups = len(found.buffer.axis_separators) + 1
        # Slots in banks add a group of axes.
        assert len(found.lowered.shape) in ((groups, max(groups, 2)) if found.slots > 1 else (groups,))
