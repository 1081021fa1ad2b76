"""TVM traces as text and as JSON, without TVM: decisions become values, unsupported lines are refused by name."""

from __future__ import annotations

import json

import pytest
from support.programs.sources import MATMUL, MATMUL_RELU

from tilewright import TilewrightError, from_tvm, from_tvm_trace
from tilewright.engine.adopt import read_pasted
from tilewright.engine.ir import first_difference
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

TEXT = """\
# from tvm import s_tir
def apply_trace(sch: s_tir.Schedule) -> None:
  b0 = sch.get_sblock(name="C", func_name="matmul")
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[16, 8])
  l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
  v8 = sch.sample_categorical(candidates=[1, 2, 4], probs=[0.25, 0.25, 0.5], decision=2)
  sch.annotate(block_or_loop=b0, ann_key="unroll", ann_val=v8)
  sch.annotate(block_or_loop=b0, ann_key="more", ann_val={"a": [1, "b"]})
  b9 = sch.cache_read(block=b0, read_buffer_index=0, storage_scope="shared", consumer_blocks=[b0])
  l10 = sch.sample_compute_location(block=b9, decision=1)
  sch.compute_at(block=b9, loop=l10, preserve_unit_loops=True, index=-1)
  b11, = sch.get_consumers(block=b9)
  sch.enter_postproc()
  sch.unroll(loop=l7)
"""

JSON = [
    [
        ["GetSBlock", [], ["C", "matmul"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
        ["SamplePerfectTile", ["l1"], [2, 16], ["v4", "v5"]],
        ["Split", ["l1", "v4", "v5"], [1, 0], ["l6", "l7"]],
        ["SampleCategorical", [], [[1, 2, 4], [0.25, 0.25, 0.5]], ["v8"]],
        ["Annotate", ["b0", "v8"], ["unroll"], []],
        ["Annotate", ["b0", {"a": [1, '"b"']}], ["more"], []],
        ["CacheRead", ["b0", ["b0"]], [0, "shared"], ["b9"]],
        ["SampleComputeLocation", ["b9"], [], ["l10"]],
        ["ComputeAt", ["b9", "l10"], [1, -1], []],
        ["GetConsumers", ["b9"], [], ["b11"]],
        ["EnterPostproc", [], [], []],
        ["Unroll", ["l7"], [], []],
    ],
    [[2, [16, 8]], [4, 2], [8, 1]],
]


def expected() -> Schedule:
    sch = Schedule(parse(MATMUL).program)
    i, _, _ = sch.get_loops("C")
    _, inner = sch.split(i, factors=[16, 8])
    sch.annotate("C", "unroll", 4)
    sch.annotate("C", "more", {"a": [1, "b"]})
    copy = sch.cache_read("C", 0, "shared", consumer_blocks=["C"])
    sch.compute_at(copy, inner, preserve_unit_loops=True)
    sch.unroll(inner)
    return sch


WHOLE = json.dumps(JSON).replace("[[1, 2, 4], [0.25, 0.25, 0.5]]", "[[1, 2, 4], [0, 0, 1]]")
"""Tuning records have probabilities such as 1.0 as the integer 1."""


@pytest.mark.parametrize(
    "trace",
    [TEXT, TEXT.splitlines()[2:], JSON, json.dumps(JSON), WHOLE],
    ids=["text", "lines", "json", "json text", "integer probabilities"],
)
def test_each_form_gives_the_same_calls(trace: object) -> None:
    lines = [line.strip() for line in trace] if isinstance(trace, list) and isinstance(trace[0], str) else trace
    sch = from_tvm_trace(lines, MATMUL)
    assert first_difference(sch.mod, expected().mod) is None
    assert [s.method for s in sch.trace.steps if s.changes] == [s.method for s in expected().trace.steps if s.changes]


FACTORS = """\
b0 = sch.get_sblock(name="C", func_name="matmul")
l1, l2, l3 = sch.get_loops(block=b0)
v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[16, 8])
"""


def test_an_index_map_may_name_sampled_factors() -> None:
    call = 'sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda i, j: (i // (v4 * v5), i % (v4 * v5), j))\n'
    sch = from_tvm_trace(FACTORS + call, MATMUL)
    plain = Schedule(parse(MATMUL).program)
    plain.transform_layout("C", ("write", 0), lambda i, j: [i // 128, i % 128, j])
    assert first_difference(sch.mod, plain.mod) is None
    with pytest.raises(TilewrightError) as caught:
        from_tvm_trace(FACTORS + call.replace("v5", "l2"), MATMUL)
    assert caught.value.code == "wrong-type" and "'l2'" in str(caught.value) and "line 4" in str(caught.value)


@pytest.mark.parametrize(("decision", "inlined"), [(-1, False), (-2, True)])
def test_location_may_be_the_root_or_the_consumers(decision: int, inlined: bool) -> None:
    text = f"""\
b0 = sch.get_sblock(name="matmul", func_name="main")
b1 = sch.get_sblock(name="relu", func_name="main")
b2 = sch.cache_read(block=b1, read_buffer_index=0, storage_scope="local", consumer_blocks=[b1])
l3 = sch.sample_compute_location(block=b2, decision={decision})
sch.compute_at(block=b2, loop=l3, preserve_unit_loops=True, index=-1)
"""
    program = parse(MATMUL_RELU).program
    names = [s.name for s in Schedule(program).mod.functions]
    sch = from_tvm_trace(text.replace("main", names[0]), program)
    assert ("compute_inline" in [s.method for s in sch.trace.steps]) == inlined
    assert "compute_at" not in [s.method for s in sch.trace.steps]


@pytest.mark.parametrize(
    ("line", "code", "named"),
    [
        ("sch.turn_around(block=b0)", "unsupported-instruction", "turn_around"),
        ("v1 = sch.sample_categorical(candidates=[1, 2], probs=[0.5, 0.5])", "undecided-sample", "sample_categorical"),
        ("v1 = sch.sample_compute_location(block=b0, decision=1)", "undecided-sample", "decision 1"),
        ("sch.unroll(loop=l9)", "unknown-name", "l9"),
        ("sch.unroll(loop=l1, deep=True)", "unsupported-instruction", "deep"),
        ("l1, l2 = sch.get_loops(block=b0)", "unsupported-instruction", "3 values"),
    ],
)  # fmt: skip
def test_a_refused_line_of_a_trace_is_named(line: str, code: str, named: str) -> None:
    text = f'b0 = sch.get_sblock(name="C", func_name="matmul")\nl1, l2, l3 = sch.get_loops(block=b0)\n{line}\n'
    with pytest.raises(TilewrightError) as caught:
        from_tvm_trace(text, MATMUL)
    assert caught.value.code == code
    assert named in str(caught.value) and "line 3" in str(caught.value)


def test_json_traces_with_index_maps_or_none() -> None:
    with pytest.raises(TilewrightError) as caught:
        from_tvm_trace([[["TransformLayout", ["b0"], [0, 1, "graph", 0], []]], []], MATMUL)
    assert caught.value.code == "unsupported-instruction" and "TransformLayout" in str(caught.value)
    for trace in (7, [1, 2, 3], "[1", [[["GetLoops"]], []]):
        with pytest.raises(TilewrightError) as caught:
            from_tvm_trace(trace, MATMUL)
        assert caught.value.code == "not-a-trace"


def test_refused_call_is_refused_by_the_schedule() -> None:
    text = 'b0 = sch.get_sblock(name="C", func_name="matmul")\nsch.compute_inline(block=b0)\n'
    with pytest.raises(TilewrightError) as caught:
        from_tvm_trace(text, MATMUL)
    assert "line 2" in caught.value.__notes__[0]


def test_from_tvm_takes_text_and_programs_and_refuses_others() -> None:
    program = parse(MATMUL).program
    assert from_tvm(program) is program
    assert first_difference(from_tvm(MATMUL), program) is None
    with pytest.raises(TilewrightError) as caught:
        from_tvm(42)
    assert caught.value.code == "not-a-program"


def test_spread_loops_are_the_arguments_of_a_call() -> None:
    program = parse(MATMUL).program
    posted = 'sch = tir.Schedule(mod)\nloops = sch.get_loops("C")\nsch.reorder(*loops)\nsch.fuse(*loops)\n'
    assert len(read_pasted(posted, program).schedule.get_loops("C")) == 1


def test_index_map_may_name_a_size_of_the_program() -> None:
    program = """\
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (2, n), "float32")
    B = T.match_buffer(b, (2, n), "float32")
    for i, j in T.grid(T.int64(2), n):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
"""
    text = """\
b0 = sch.get_sblock(name="B", func_name="main")
sch.transform_block_layout(block=b0, index_map=lambda i0, i1: (i0 * n + i1,))
"""
    sch = from_tvm_trace(text, program)
    assert len(sch.get_loops("B")) == 1
    assert sch.verify(sizes={"n": 5}).status == "tested"
    with pytest.raises(TilewrightError) as caught:
        from_tvm_trace(text.replace("n + i1", "m + i1"), program)
    assert caught.value.code == "unknown-name"
