"""set_layout, set_axis_separator, storage_align, unsafe_set_dtype, transform_block_layout, reorder_block_iter_var."""

from __future__ import annotations

import pytest
from support.programs.sources import BOX_BLUR, ELEMENTWISE_CHAIN, MATMUL, MATMUL_RELU

from tilewright.engine.ir import AXIS_SEPARATOR, Buffer, build
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import expr_text, parse, to_script


def schedule(text: str = ELEMENTWISE_CHAIN) -> Schedule:
    return Schedule(parse(text).program)


def buffer(sch: Schedule, name: str) -> Buffer:
    return next(b for b in sch.index.buffers if b.name == name)


def shape(sch: Schedule, name: str) -> list[int | None]:
    return [build.int_value(e) for e in buffer(sch, name).shape]


def loops(sch: Schedule, block: str) -> list[str]:
    return [v.name for v in sch.get_loops(block)]


def test_blur_stored_in_another_order_is_computed_in_the_old_one():
    sch = schedule(BOX_BLUR)
    before = loops(sch, "x_blur")
    sch.set_layout("x_blur", ("write", 0), [1, 2, 0])
    assert shape(sch, "x_blur") == [64, 3, 66]
    assert loops(sch, "x_blur") == before
    assert sch.verify().status == "tested"


def test_strides_of_a_permutation_are_that_order():
    sch, other = schedule(BOX_BLUR), schedule(BOX_BLUR)
    sch.set_layout("x_blur", "x_blur", [1, 3 * 66, 66])
    other.set_layout("x_blur", "x_blur", [1, 2, 0])
    assert to_script(sch.func) == to_script(other.func)


def test_strides_with_gaps_separate_the_lowered_rows():
    sch = schedule(ELEMENTWISE_CHAIN)
    columns = shape(sch, "B")[1]
    sch.set_layout("B", "B", [columns + 1, 1])
    assert sch.verify().status == "tested"
    assert f"{columns + 1}" in to_script(lower(sch.func))


def test_separators_give_the_flat_buffer_two_axes():
    sch = schedule(ELEMENTWISE_CHAIN)
    sch.set_axis_separator("B", ("write", 0), [1])
    assert buffer(sch, "B").axis_separators == (1,)
    assert sch.verify().status == "tested"
    sch.set_axis_separator("B", "B", [])
    assert buffer(sch, "B").axis_separators == ()


def test_the_last_storage_alignment_counts():
    sch = schedule(ELEMENTWISE_CHAIN)
    sch.storage_align("B", 0, axis=0, factor=32, offset=0)
    sch.storage_align("B", 0, axis=-1, factor=2, offset=1)
    sch.storage_align("B", 0, axis=0, factor=32, offset=1)
    assert '{"buffer_dim_align": [[0, 0, 32, 1], [0, 1, 2, 1]]}' in to_script(sch.func)
    assert sch.verify().status == "tested"


def test_set_dtype_casts_stores_and_loads():
    sch = schedule(ELEMENTWISE_CHAIN)
    old = buffer(sch, "B").dtype
    sch.unsafe_set_dtype("B", 0, "float16")
    assert buffer(sch, "B").dtype == "float16"
    text = to_script(sch.func)
    assert ('"float16")' in text and f'T.Cast("{old}"' in text) or "T.cast(" in text
    assert sch.verify().status in ("tested", "failed"), "rounding may show, and then verify says so"


def test_a_sum_in_a_wider_type_is_the_same_sum():
    sch = schedule(MATMUL_RELU)
    sch.unsafe_set_dtype("matmul", 0, "float64")
    assert sch.verify().status == "tested"


def test_joined_iterators_are_run_by_one_loop():
    sch = schedule(ELEMENTWISE_CHAIN)
    columns = shape(sch, "B")[1]
    sch.transform_block_layout("B", lambda i, j: [i * columns + j])
    assert loops(sch, "B") == ["ax0"]
    assert expr_text(sch.index.block("B").writes[0].region[1].min) == f"v0 % {columns}"
    assert sch.verify().status == "tested"


def test_transformed_iterators_of_a_matmul_keep_sums_whole():
    sch = schedule(MATMUL)
    sch.transform_block_layout("C", lambda i, j, k: [j // 4, i, j % 4, k // 2, k % 2])
    assert [iv.iter_type for iv in sch.index.block("C").iter_vars] == ["spatial"] * 3 + ["reduce"] * 2
    assert sch.verify().status == "tested"


def test_reordered_iterators_keep_the_loops():
    sch = schedule(MATMUL)
    before = loops(sch, "C")
    sch.reorder_block_iter_var("C", [2, 1, 0])
    assert [iv.var.name for iv in sch.index.block("C").iter_vars] == ["vk", "vj", "vi"]
    assert loops(sch, "C") == before
    assert sch.verify().status == "tested"


SCAN = """from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(8, 8):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + T.if_then_else(vj > 0, A[7 - vi, vj - 1], 0)
"""


def _joined(sch: Schedule) -> None:
    sch.fuse(*sch.get_loops("B"))
    sch.transform_block_layout("B", lambda i, j: [j, i])


def _two_in_a_nest(sch: Schedule) -> None:
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.transform_block_layout("C", lambda i, j: [j, i])


REFUSALS = {
    "order of too few": ("bad-layout", MATMUL_RELU, lambda s: s.set_layout("matmul", "C", [0])),
    "strides that overlap": ("bad-layout", MATMUL_RELU, lambda s: s.set_layout("matmul", "C", [5, 1])),
    "no neighbours": ("bad-layout", MATMUL_RELU, lambda s: s.set_layout("matmul", "C", [1024, 2])),
    "gaps in a parameter": ("parameter-buffer", MATMUL, lambda s: s.set_layout("C", "C", [1000, 1])),
    "separator outside": ("bad-separator", MATMUL_RELU, lambda s: s.set_axis_separator("matmul", "C", [3])),
    "separators out of order": ("bad-separator", MATMUL_RELU, lambda s: s.set_axis_separator("matmul", "C", [2, 1])),
    "a separator before all axes": (
        "bad-separator",
        MATMUL_RELU,
        lambda s: s.transform_layout("matmul", "C", lambda i, j: [AXIS_SEPARATOR, i, j]),
    ),
    "a separator behind all axes": (
        "bad-separator",
        MATMUL_RELU,
        lambda s: s.transform_layout("matmul", "C", lambda i, j: [j, i, AXIS_SEPARATOR]),
    ),
    "two separators in one place": (
        "bad-separator",
        MATMUL_RELU,
        lambda s: s.transform_layout("matmul", "C", lambda i, j: [i, AXIS_SEPARATOR, AXIS_SEPARATOR, j]),
    ),
    "a separator before all axes of a copy": (
        "bad-separator",
        MATMUL_RELU,
        lambda s: s.reindex_cache_write("matmul", 0, "local", lambda i, j, k: [AXIS_SEPARATOR, i, j]),
    ),
    "factor 0": ("bad-factor", MATMUL_RELU, lambda s: s.storage_align("matmul", 0, 0, 0, 1)),
    "no such axis": ("bad-axis", MATMUL_RELU, lambda s: s.storage_align("matmul", 0, 2, 8, 1)),
    "aligned parameter": ("parameter-buffer", MATMUL, lambda s: s.storage_align("C", 0, 0, 8, 1)),
    "type of a parameter": ("parameter-buffer", MATMUL, lambda s: s.unsafe_set_dtype("C", 0, "float16")),
    "no number": ("bad-dtype", MATMUL_RELU, lambda s: s.unsafe_set_dtype("matmul", 0, "handle")),
    "not all iterators": ("bad-order", MATMUL, lambda s: s.reorder_block_iter_var("C", [1, 0])),
    "one twice": ("bad-order", MATMUL, lambda s: s.reorder_block_iter_var("C", [0, 0, 2])),
    "iterators joined": ("not-bijective", MATMUL, lambda s: s.transform_block_layout("C", lambda i, j, k: [i + j, k])),
    "iterators padded": (
        "not-bijective", MATMUL, lambda s: s.transform_block_layout("C", lambda i, j, k: [i // 7, i % 7, j, k]),
    ),
    "kinds mixed": (
        "mixed-iterators", MATMUL, lambda s: s.transform_block_layout("C", lambda i, j, k: [i, j * 128 + k]),
    ),
    "too few iterators": ("bad-index-map", MATMUL, lambda s: s.transform_block_layout("C", lambda i, j: [i, j])),
    "fused loops": ("not-trivial-binding", ELEMENTWISE_CHAIN, _joined),
    "two blocks": ("not-only-child", ELEMENTWISE_CHAIN, _two_in_a_nest),
    "a scan": ("order-dependent", SCAN, lambda s: s.transform_block_layout("A", lambda i, j: [j, i])),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_call_is_refused_with_its_code(name):
    code, text, call = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        call(sch)
    assert refused.value.code == code


def test_invalid_alignment_annotation_is_refused():
    sch = schedule(MATMUL_RELU)
    sch.annotate("matmul", "buffer_dim_align", [0])
    with pytest.raises(ScheduleError) as refused:
        sch.storage_align("matmul", 0, 0, 8, 1)
    assert refused.value.code == "bad-annotation"
