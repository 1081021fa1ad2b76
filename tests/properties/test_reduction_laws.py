"""Laws of the calls that take reductions and paddings apart, on programs where they apply: the meaning is kept."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from support.calls import apply, calls, describe
from support.programs import (
    argmax_programs,
    cascade_programs,
    convolution_programs,
    matmul_programs,
    reduction_programs,
    stencil_programs,
)

from tilewright.engine.execute import verify
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import to_script

APART = ("rfactor", "decompose_reduction", "decompose_padding", "pad_einsum", "fuse_reduction_epilogue")
SHAPING = ("split", "fuse", "reorder", "compute_at", "reverse_compute_at", "cache_read", "cache_write")

families = (argmax_programs, convolution_programs, matmul_programs, reduction_programs, stencil_programs)


@given(st.one_of(*(family() for family in families)), st.data())
def test_given_calls_that_take_blocks_apart_when_accepted_then_the_meaning_is_kept(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 6))):
        wanted = data.draw(st.sampled_from((*APART, *APART, *SHAPING)))
        call = data.draw(calls(sch, (wanted,)))
        try:
            apply(sch, call)
        except ScheduleError:
            continue
        note(describe(sch.trace.steps[-1]))
        note(to_script(sch.mod))
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail


@given(cascade_programs(), st.data())
def test_given_tiles_that_overlap_when_their_buffers_roll_then_the_meaning_is_kept_lowered_too(program, data):
    sch = Schedule(program)
    *producers, last = [n for n in sch.index.block_names if n != "root"]
    tiles = [sch.split(loop, [None, data.draw(st.integers(1, 4))]) for loop in sch.get_loops(last)[:2]]
    outer = [outer for outer, _ in tiles]
    try:
        sch.reorder(*outer, *(inner for _, inner in tiles))
        for producer in reversed(producers):
            sch.compute_at(producer, data.draw(st.sampled_from(outer)))
    except ScheduleError:
        return
    for producer in data.draw(st.permutations(producers)):
        try:
            sch.rolling_buffer(producer, 0)
        except ScheduleError:
            continue
        note(to_script(sch.mod))
        for made in (sch.func, lower(sch.func)):
            verdict = verify(made, program)
            assert verdict.status == "tested", verdict.detail
