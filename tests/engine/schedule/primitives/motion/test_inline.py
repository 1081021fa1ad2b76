"""compute_inline and reverse_compute_inline: the inlined expressions, and refusals."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.programs.sources import BOX_BLUR, CONV2D, ELEMENTWISE_CHAIN, MATMUL, MATMUL_RELU

from tilewright.engine.ir import BufferStore
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import expr_text, parse, to_script


def schedule(text: str = ELEMENTWISE_CHAIN) -> Schedule:
    return Schedule(parse(text).program)


def names(sch: Schedule) -> list[str]:
    return [n for n in sch.index.block_names if n != "root"]


def value(sch: Schedule, block: str) -> str:
    body = sch.index.block(block).body
    assert isinstance(body, BufferStore)
    return expr_text(body.value)


def test_inlining_a_chain():
    sch = schedule()
    sch.compute_inline("B")
    assert names(sch) == ["C", "D"]
    assert value(sch, "C") == "T.exp(A[vi, vj] * T.float32(2.0))"
    assert [r.buffer.name for r in sch.index.block("C").reads] == ["A"]
    assert "B" not in [b.name for b in sch.index.buffers]
    assert sch.verify().status == "tested"


def test_inlining_a_stencil():
    sch = schedule(BOX_BLUR)
    sch.compute_inline("padded")
    assert names(sch) == ["x_blur", "y_blur", "box_blur"]
    assert value(sch, "x_blur").count("image[") == 3
    assert sch.verify().status == "tested"


def test_inlining_padding_into_a_reduction_keeps_the_condition():
    sch = schedule(CONV2D)
    sch.compute_inline("pad")
    assert "if_then_else" in value(sch, "conv")
    assert sch.verify().status == "tested"


def test_inlining_serves_several_consumers():
    sch = schedule(MATMUL)
    copy = sch.cache_read("C", 0, "local")
    again = sch.cache_read("C", "A_local", "shared")
    sch.compute_inline(copy)
    assert names(sch) == [again, "C"]
    assert sch.verify().status == "tested"


def test_inlining_after_a_layout_change_inverts_the_indices():
    sch = schedule()
    sch.transform_layout("B", ("write", 0), lambda i, j: [j, i // 16, i % 16])
    sch.compute_inline("B")
    assert value(sch, "C") == "T.exp(A[vi, vj] * T.float32(2.0))"
    assert sch.verify().status == "tested"


def test_reverse_inlining_stores_the_consumers_value():
    sch = schedule()
    sch.reverse_compute_inline("D")
    assert names(sch) == ["B", "C"]
    assert value(sch, "C") == "T.exp(B[vi, vj]) + T.float32(1.0)"
    assert sch.index.block("C").writes[0].buffer.name == "D"
    assert sch.verify().status == "tested"


CROP = """from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            T.reads(B[vi + 2])
            T.writes(C[vi])
            C[vi] = B[vi + 2] + T.float32(1)
"""


def test_reverse_inlining_a_partial_consumer_guards_the_producer():
    sch = schedule(CROP)
    sch.reverse_compute_inline("C")
    assert names(sch) == ["B"]
    assert expr_text(sch.index.realize("B").predicate) == "2 <= i and i < 6"
    assert sch.verify().status == "tested"


PADDED = (
    CROP.replace("C: T.Buffer((4,)", "C: T.Buffer((12,)")
    .replace("range(4)", "range(12)")
    .replace("spatial(4,", "spatial(12,")
    .replace("C[vi] = B[vi + 2] + T.float32(1)", "C[vi] = T.if_then_else(vi >= 4, B[vi - 4], T.float32(7))")
    .replace("T.reads(B[vi + 2])", "T.reads(B[vi - 4])")
)

GUARDED = CROP.replace("vi = T.axis.spatial(8, i)\n", "vi = T.axis.spatial(8, i)\n            T.where(i < 6)\n")

WITH_INIT = (
    CROP.replace("B[vi] = A[vi] * T.float32(2)", "with T.init():\n                B[vi] = T.float32(1)\n            B[vi] = B[vi] + A[vi]")
    .replace("C[vi] = B[vi + 2] + T.float32(1)", "C[vi] = B[vi + 2]")
)  # fmt: skip


def test_reverse_inlining_into_a_partial_producer():
    sch = schedule(GUARDED)
    sch.reverse_compute_inline("C")
    assert names(sch) == ["B"]
    assert sch.verify().status == "tested"


def test_reverse_inlining_into_a_reduction_moves_init_and_update():
    sch = schedule(WITH_INIT)
    sch.reverse_compute_inline("C")
    block = sch.index.block("B")
    assert isinstance(block.init, BufferStore)
    assert block.init.buffer.name == "C"
    assert value(sch, "B") == "C[vi - 2] + A[vi]"
    assert [r.buffer.name for r in block.reads] == ["A"]
    assert sch.verify().status == "tested"


BY_VALUE = ELEMENTWISE_CHAIN.replace(
    """            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
""",
    """            T.where(B[i, j] < T.float32(0.5))
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
""",
)


def test_inlining_replaces_the_value_in_predicates_too():
    sch = schedule(BY_VALUE)
    assert "B[i, j]" in expr_text(sch.index.realize("C").predicate)
    sch.compute_inline("B")
    assert expr_text(sch.index.realize("C").predicate) == "A[i, j] * T.float32(2.0) < T.float32(0.5)"


TWO_READERS = CROP.replace("C: T.Buffer((4,)", 'D: T.Buffer((8,), "float32"), C: T.Buffer((4,)') + (
    """    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(D[vi])
            D[vi] = B[vi]
"""
)


REFUSALS = {
    "an output": (ELEMENTWISE_CHAIN, "output-block", lambda s: s.compute_inline("D")),
    "a reduction": (MATMUL_RELU, "has-init", lambda s: s.compute_inline("matmul")),
    "into a reduction": (MATMUL_RELU, "not-one-producer", lambda s: s.reverse_compute_inline("relu")),
    "inputs only": (ELEMENTWISE_CHAIN, "not-one-input", lambda s: s.reverse_compute_inline("B")),
    "several elements": (BOX_BLUR, "indices-differ", lambda s: s.reverse_compute_inline("y_blur")),
    "a predicate": (
        ELEMENTWISE_CHAIN,
        "has-predicate",
        lambda s: (s.split(s.get_loops("D")[0], [None, 60]), s.reverse_compute_inline("D")),
    ),
    "more than is made": (PADDED, "region-not-covered", lambda s: s.reverse_compute_inline("C")),
    "more than is left by a guard": (
        GUARDED.replace("i < 6", "i < 5"),
        "region-not-covered",
        lambda s: s.reverse_compute_inline("C"),
    ),
    "other work after an init": (
        WITH_INIT.replace("C[vi] = B[vi + 2]", "C[vi] = B[vi + 2] * T.float32(2)"),
        "has-init",
        lambda s: s.reverse_compute_inline("C"),
    ),
    "two readers": (TWO_READERS, "not-the-only-consumer", lambda s: s.reverse_compute_inline("C")),
    "the root": (ELEMENTWISE_CHAIN, "root-block", lambda s: s.compute_inline("root")),
    "no such block": (ELEMENTWISE_CHAIN, "unknown-block", lambda s: s.compute_inline("Z")),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_inlined_is_refused_with_its_code(name):
    text, code, call = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        call(sch)
    assert refused.value.code == code


@given(programs(), st.data())
def test_law_inlining_keeps_the_meaning(program, data):
    sch = Schedule(program)
    for _ in range(data.draw(st.integers(1, 4))):
        block = data.draw(st.sampled_from(names(sch)))
        method = data.draw(st.sampled_from(["compute_inline", "reverse_compute_inline", "split"]))
        before = sch.mod
        try:
            if method == "split":
                sch.split(data.draw(st.sampled_from(sch.get_loops(block))), [None, data.draw(st.integers(1, 4))])
            else:
                getattr(sch, method)(block)
        except ScheduleError:
            assert sch.mod is before
            continue
        note(to_script(sch.mod))
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail
