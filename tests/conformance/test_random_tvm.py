"""Random programs, random calls, two judges: Tilewright and TVM make the same of each, save for the differences in docs/differences.md."""

from __future__ import annotations

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st
from support.calls import calls, describe
from support.programs import programs

pytest.importorskip("tvm")

from support.tvm_calls import ask_both, comparable

from tilewright.engine.schedule import Schedule
from tilewright.engine.script import to_script

# docs/differences.md says why; ours by code, TVM's by words of its message.
WE_REFUSE = {
    "annotate": {"annotation-exists"},
    "blockize": {"order-dependent", "opaque-iterator", "opaque-access", "not-neighbours", "not-divisible", "predicate-on-reduction"},
    "compute_at": {"no-consumer", "order-dependent"},
    "reverse_compute_at": {
        "consumer-before", "partial-sum", "region-not-solvable", "not-ready", "reduction-repeated"
    },
    "reverse_compute_inline": {"not-the-only-consumer"},
    "rfactor": {"order-dependent"},
    "fuse_reduction_epilogue": {"not-an-epilogue", "not-the-only-consumer", "indices-differ", "unknown-reducer"},
    "pad_einsum": {"not-an-einsum", "not-padded-with-zeros"},
    "rolling_buffer": {"order-dependent", "not-final", "region-not-covered"},
    "transform_layout": {"not-bijective"},
    "transform_block_layout": {"order-dependent"},
}  # fmt: skip
WE_ACCEPT = {
    "compute_at": ("pattern match failed",),
    "reverse_compute_at": ("pattern match failed",),
    "transform_layout": ("introduce padding", "source->scale"),
    "bind": ("",),
    "rfactor": ("",),
    "decompose_padding": ("",),
    "fuse_reduction_epilogue": ("",),
    "blockize": ("",),
    "transform_block_layout": ("",),
    "parallel": ("",),
    "vectorize": ("",),
}


@pytest.mark.tvm
@settings(max_examples=max(20, settings().max_examples // 2))
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
            assert outcome.ours in WE_REFUSE.get(call[0], ()), f"only Tilewright refuses {call}: {outcome.ours}"
        else:
            known = any(words in outcome.theirs for words in WE_ACCEPT.get(call[0], ()))
            assert known, f"only TVM refuses {call}: {outcome.theirs}"
