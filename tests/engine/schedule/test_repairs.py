"""Refusals propose calls that make the refused call legal."""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL, MATMUL_RELU, elementwise_stages
from support.schedules.calls import apply, calls

from tilewright.engine.ir import Var
from tilewright.engine.schedule import PRIMITIVES, Schedule, ScheduleError
from tilewright.engine.script import parse

OUTPUT_READ = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def outputs(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for x, y in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [x, y])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""

BESIDE = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def beside(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i in range(16):
        for j in range(16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for x in range(16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, x])
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""

SHIFTED = (
    BESIDE.replace("        for x in range(16):\n    ", "    ")
    .replace("[i, x]", "[i, j]")
    .replace("C[vi, vj] = B[vi, vj]", "C[vi, vj] = B[vi // 2, vj]")
)

TWO_INPUTS = ELEMENTWISE_CHAIN.replace("D[vi, vj] = ", "D[vi, vj] = B[vi, vj] + ").replace(
    "T.reads(C[vi, vj])", "T.reads(B[vi, vj], C[vi, vj])"
)


def schedule(text: str) -> Schedule:
    return Schedule(parse(text).program)


def reduction_outside(sch: Schedule) -> None:
    i, j, k = sch.get_loops("matmul")
    sch.reorder(i, k, j)
    sch.reverse_compute_at("relu", j)


CASES = {
    "the sum's loop is outside": (MATMUL_RELU, reduction_outside, ["sch.reorder(j, k)"]),
    "the sum's loop outside of the init": (
        MATMUL,
        lambda s: (s.reorder("k", "j", "i"), s.decompose_reduction("C", s.get_loop("i"))),
        ["sch.reorder(j, i, k)"],
    ),
    "loops apart": (MATMUL, lambda s: s.fuse("i", "k"), ["sch.reorder(i, k, j)"]),
    "loops the other way round": (MATMUL, lambda s: s.fuse("j", "i"), ["sch.reorder(j, i)"]),
    "a block beside": (BESIDE, lambda s: s.reorder("x", "i"), ["sch.compute_at('B', x)"]),
    "another consumer": (
        ELEMENTWISE_CHAIN,
        lambda s: s.compute_at("B", s.get_loops("D")[0]),
        ["sch.compute_inline('C')"],
    ),
    "another producer": (
        ELEMENTWISE_CHAIN,
        lambda s: s.reverse_compute_at("D", s.get_loops("B")[0]),
        ["sch.compute_inline('C')"],
    ),
    "blocks between": (
        elementwise_stages(4),
        lambda s: s.compute_at("b0", s.get_loops("b3")[0]),
        ["sch.compute_inline('b1')", "sch.compute_inline('b2')"],
    ),
    "two inputs": (TWO_INPUTS, lambda s: s.reverse_compute_inline("D"), ["sch.compute_inline('B')"]),
    "an output that is read": (
        OUTPUT_READ,
        lambda s: s.compute_inline("B"),
        ["sch.cache_write('B', write_buffer_index=0, storage_scope='global', consumer_blocks=['C'])"],
    ),
    "the caller's memory": (
        MATMUL,
        lambda s: s.set_scope("C", 0, "local"),
        ["sch.cache_write('C', write_buffer_index=0, storage_scope='global')"],
    ),
    "a sum in pieces": (MATMUL, lambda s: s.loop_partition("k", [5]), ["sch.decompose_reduction('C', k)"]),
    "a note on the loop": (
        MATMUL,
        lambda s: (s.annotate("i", "a", 1), s.annotate("i", "b", 1), s.split("i", [2, None])),
        ["sch.unannotate(i, ann_key='a')", "sch.unannotate(i, ann_key='b')"],
    ),
    "a note that is there": (
        MATMUL,
        lambda s: (s.annotate("C", "a", 1), s.annotate("C", "a", 2)),
        ["sch.unannotate('C', ann_key='a')"],
    ),
    "no loop for two slots": (
        MATMUL,
        lambda s: s.double_buffer(s.cache_read("C", 0, "local")),
        ["sch.compute_at('A_local', k)"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_calls_that_make_a_refused_call_legal_are_proposed(name):
    text, make, expected = CASES[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        make(sch)
    refusal = refused.value.refusal
    assert [str(call) for call in refusal.repair] == expected
    assert all(f"first:    {line}" in str(refused.value) for line in expected)
    assert refusal.to_json()["repair"] == expected
    assert not set(expected) & set(refusal.fix), "the fix is named once"


HALVES = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def halves(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("low"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - A[vi, vj + 8]
    for i, j in T.grid(8, 8):
        with T.sblock("high"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + 8] = A[vi, vj] + A[vi, vj + 8]
"""


@pytest.mark.parametrize(("block", "other"), [("low", "high"), ("high", "low")])
@pytest.mark.parametrize("depth", [0, 1])
def test_nests_are_merged_where_a_block_may_not_move(block, other, depth):
    sch = schedule(HALVES)
    with pytest.raises(ScheduleError) as refused:
        sch.reverse_compute_at(block, sch.get_loops(other)[depth])
    (merge,) = refused.value.refusal.instead
    assert refused.value.refusal.repair == () and f"instead:  {merge}" in str(refused.value)
    apply(sch, (merge.method, dict(merge.arguments)))
    assert sch.get_loops(block)[depth] == sch.get_loops(other)[depth]
    assert sch.verify().status == "tested"


def test_no_proposal_for_an_impossible_call():
    with pytest.raises(ScheduleError) as refused:
        schedule(MATMUL).compute_at("C", "i")
    assert refused.value.refusal.repair == ()


def test_all_blocks_of_several_conflicts_are_named():
    text = (
        SHIFTED
        + """        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi // 3, vj]
"""
    )
    text = text.replace(
        'C: T.Buffer((16, 16), "float32"))', 'C: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32"))'
    )
    text = text.replace('        with T.sblock("D")', '            with T.sblock("D")').replace(
        '            vi, vj = T.axis.remap("SS", [i, j])\n            D[',
        '                vi, vj = T.axis.remap("SS", [i, j])\n                D[',
    )
    with pytest.raises(ScheduleError) as refused:
        schedule(text).reorder("j", "i")
    assert {node.block.name for node in refused.value.refusal.nodes} == {"B", "C", "D"}


@given(programs(), st.data())
def test_law_repaired_calls_are_legal_and_keep_the_meaning(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 6))):
        call = data.draw(calls(sch))
        try:
            apply(sch, call)
            continue
        except ScheduleError as refused:
            refusal = refused.refusal
        if not refusal.repair:
            continue
        event(f"repaired {refusal.code}")
        for proposal in refusal.repair:
            apply(sch, (proposal.method, dict(proposal.arguments)))
        apply(sch, call)
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail


def test_a_proposal_has_its_method_and_arguments():
    with pytest.raises(ScheduleError) as refused:
        schedule(MATMUL).fuse("i", "k")
    (proposal,) = refused.value.refusal.repair
    assert proposal.method in PRIMITIVES
    ((key, loops),) = proposal.arguments
    assert key == "ordered_loops"
    assert isinstance(loops, tuple)
    assert all(isinstance(loop, Var) for loop in loops)
