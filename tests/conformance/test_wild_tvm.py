"""Wild programs, random calls, two judges: Tilewright and TVM make the same of each, save for the differences in docs/differences.md."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st
from support.calls import calls, describe
from support.wild_programs import wild_programs

pytest.importorskip("tvm")

from support.tvm_calls import ask_both, comparable
from support.tvm_oracle import REFUSALS, tvm, tvm_schedule

from tilewright.engine.ir import Var
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

# docs/differences.md says why; ours by code, TVM's by words of its message.
TRUSTS_ITERATORS = {"order-dependent", "not-in-blocks", "opaque-access", "opaque-iterator"}
WE_REFUSE = {
    "annotate": {"annotation-exists"},
    "blockize": {"order-dependent", "opaque-iterator", "opaque-access", "not-neighbours", "not-divisible", "predicate-on-reduction"},
    "bind": TRUSTS_ITERATORS,
    "cache_read": {"reads-own-output", "region-not-covered", "several-writers"},
    "cache_write": {"order-dependent", "reads-own-output", "region-not-covered", "opaque-access"},
    "compute_at": TRUSTS_ITERATORS | {"no-consumer", "not-final", "partial-domain", "region-not-covered"},
    "compute_inline": TRUSTS_ITERATORS | {"not-final", "region-not-covered", "write-after-read"},
    "decompose_reduction": TRUSTS_ITERATORS,
    "parallel": TRUSTS_ITERATORS,
    "reorder": TRUSTS_ITERATORS,
    "reverse_compute_at": TRUSTS_ITERATORS
    | {
        "consumer-before", "loop-may-not-run", "not-final", "not-ready", "partial-domain", "partial-sum", "reduction-repeated",
        "region-not-covered", "region-not-solvable", "write-after-read",
    },
    "reverse_compute_inline": TRUSTS_ITERATORS | {"not-the-only-consumer", "partial-domain", "region-not-covered"},
    "split": {"opaque-access"},
    "transform_layout": {"parameter-buffer"},
    "vectorize": TRUSTS_ITERATORS,
}  # fmt: skip
WHOLE_SCOPE = ("is not a stage pipeline", "region cover is not complete", "compact dataflow", "pattern match failed")
WE_ACCEPT = {
    "bind": ("",),
    "blockize": ("",),
    "cache_read": WHOLE_SCOPE,
    "cache_write": WHOLE_SCOPE,
    "compute_at": WHOLE_SCOPE,
    "compute_inline": WHOLE_SCOPE,
    "decompose_reduction": WHOLE_SCOPE,
    "fuse": ("Divide by zero",),
    "parallel": ("",),
    "reorder": ("affine binding",),
    "reverse_compute_at": WHOLE_SCOPE,
    "reverse_compute_inline": WHOLE_SCOPE,
    "split": ("Divide by zero",),
    "transform_layout": ("introduce padding", "source->scale"),
    "vectorize": ("",),
}
PLACED_DIFFERENTLY = ("cache_read", "cache_write", "transform_layout")
UNREADABLE = (*REFUSALS, tvm.error.DiagnosticError)


@pytest.mark.tvm
@settings(max_examples=max(20, settings().max_examples // 8))
@given(wild_programs(), st.data())
def test_given_a_wild_program_and_calls_when_asked_then_both_accept_or_refuse_as_documented(text, data):
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
            assert outcome.ours in WE_REFUSE.get(call[0], ()), f"only Tilewright refuses {call}: {outcome.ours}"
        else:
            known = any(words in outcome.theirs for words in WE_ACCEPT.get(call[0], ()))
            assert known, f"only TVM refuses {call}: {outcome.theirs}"


def _reachable(sch, call):
    """TVM has handles for loops around blocks only."""
    above = {f.loop_var for name in sch.index.block_names if name != "root" for f in sch.index.loops_of(name)}
    named = [v for value in call[1].values() for v in (value if isinstance(value, tuple) else (value,))]
    return all(v in above for v in named if isinstance(v, Var))
