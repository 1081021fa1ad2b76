"""Laws of the calls that take reductions and paddings apart, on programs where they apply: the meaning is kept."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st
from support.calls import apply, calls, describe
from support.programs import (
    argmax_programs,
    convolution_programs,
    matmul_programs,
    reduction_programs,
    stencil_programs,
)

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
