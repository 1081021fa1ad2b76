"""Products with elementwise epilogues: the product in tiles of its sums, the epilogue at the same tile."""

from __future__ import annotations

from functools import cache

import pytest

from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.explore import SCHEDULE_RULES, SketchChoice, derive_space
from tilewright.engine.explore.derive.draft import Group, ScheduleDraft
from tilewright.engine.explore.derive.groups import MAIN_BLOCK, Members, partitions, tilings
from tilewright.engine.explore.derive.table import apply_rules
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

NPU = "dual-bank-npu"

DENSE = """
@T.prim_func(s_tir=True)
def dense(
    x: T.Buffer((128, DEPTH), "float16"), w: T.Buffer((DEPTH, 256), "float16"), bias: T.Buffer((256,), "float16"),
    y: T.Buffer((128, 256), "float16"),
):
    C = T.sblock_alloc_buffer((128, 256), "float16")
    S = T.sblock_alloc_buffer((128, 256), "float16")
    for i, j, k in T.grid(128, 256, DEPTH):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + x[vi, vk] * w[vk, vj]
    for i, j in T.grid(128, 256):
        with T.sblock("biased"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = C[vi, vj] + bias[vj]
    for i, j in T.grid(128, 256):
        with T.sblock("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(S[vi, vj], T.float16(0))
"""

CONVOLUTION = """
@T.prim_func(s_tir=True)
def conv(
    x: T.Buffer((64, 28, 28), "float32"), w: T.Buffer((96, 64, 3, 3), "float32"), bias: T.Buffer((96,), "float32"),
    y: T.Buffer((96, 28, 28), "float32"),
):
    P = T.sblock_alloc_buffer((64, 30, 30))
    C = T.sblock_alloc_buffer((96, 28, 28))
    S = T.sblock_alloc_buffer((96, 28, 28))
    for i0, i1, i2 in T.grid(64, 30, 30):
        with T.sblock("P"):
            v0, v1, v2 = T.axis.remap("SSS", [i0, i1, i2])
            P[v0, v1, v2] = T.if_then_else(1 <= v1 and v1 < 29 and 1 <= v2 and v2 < 29, x[v0, v1 - 1, v2 - 1], T.float32(0))
    for f, h, v, c, p, q in T.grid(96, 28, 28, 64, 3, 3):
        with T.sblock("C"):
            vf, vh, vv, vc, vp, vq = T.axis.remap("SSSRRR", [f, h, v, c, p, q])
            with T.init():
                C[vf, vh, vv] = T.float32(0)
            C[vf, vh, vv] = C[vf, vh, vv] + P[vc, vh + vp, vv + vq] * w[vf, vc, vp, vq]
    for f, h, v in T.grid(96, 28, 28):
        with T.sblock("S"):
            vf, vh, vv = T.axis.remap("SSS", [f, h, v])
            S[vf, vh, vv] = C[vf, vh, vv] + bias[vf]
    for f, h, v in T.grid(96, 28, 28):
        with T.sblock("relu"):
            vf, vh, vv = T.axis.remap("SSS", [f, h, v])
            y[vf, vh, vv] = T.max(S[vf, vh, vv], T.float32(0))
"""

POOL = """
@T.prim_func(s_tir=True)
def pool(x: T.Buffer((64, 56, 56), "float32"), y: T.Buffer((64, 28, 28), "float32")):
    P = T.sblock_alloc_buffer((64, 58, 58))
    for i0, i1, i2 in T.grid(64, 58, 58):
        with T.sblock("P"):
            v0, v1, v2 = T.axis.remap("SSS", [i0, i1, i2])
            P[v0, v1, v2] = T.if_then_else(1 <= v1 and v1 < 57 and 1 <= v2 and v2 < 57, x[v0, v1 - 1, v2 - 1], T.float32(-1e30))
    for c, h, v, p, q in T.grid(64, 28, 28, 3, 3):
        with T.sblock("Y"):
            vc, vh, vv, vp, vq = T.axis.remap("SSSRR", [c, h, v, p, q])
            with T.init():
                y[vc, vh, vv] = T.float32(-1e30)
            y[vc, vh, vv] = T.max(y[vc, vh, vv], P[vc, vh * 2 + vp, vv * 2 + vq])
"""

TWO_ENDS = DENSE.replace(
    'y: T.Buffer((128, 256), "float16"),', 'y: T.Buffer((128, 256), "float16"), z: T.Buffer((128, 256), "float16"),'
) + (
    '    for i, j in T.grid(128, 256):\n        with T.sblock("doubled"):\n'
    '            vi, vj = T.axis.remap("SS", [i, j])\n            z[vi, vj] = S[vi, vj] * T.float16(2)\n'
)


@cache
def dense(depth: int, text: str = DENSE) -> PrimFunc:
    found = parse(text.replace("DEPTH", str(depth))).program
    assert isinstance(found, PrimFunc)
    return found


def index_of(func: PrimFunc) -> ProgramIndex:
    return Schedule(func).index


def test_a_product_and_its_epilogue_are_one_group() -> None:
    whole, apart = partitions(index_of(dense(8192)))
    assert whole == (Members(("C", "biased", "relu")),)
    assert apart == (Members(("C",), ("biased", "relu")),)
    assert all(loops[-1] == "k" for loops in tilings(index_of(dense(8192)), apart[0]))


def test_block_with_two_readers_ends_an_epilogue() -> None:
    _, apart = partitions(index_of(dense(8192, TWO_ENDS)))
    assert apart == (Members(("C",), ("biased",)), Members(("relu",)), Members(("doubled",)))


def test_epilogue_runs_where_a_tile_of_sums_is_complete() -> None:
    draft = ScheduleDraft(dense(8192), load_machine(NPU), {}, "sch", None)
    apply_rules(draft, [Group(("C",), ("i", "j", "k"), ("biased", "relu"))], SCHEDULE_RULES)
    text = draft.builder.text
    assert 'sch.compute_inline("biased")' in text
    assert "sch.reorder(i_o, j_o, k_o," in text
    assert 'sch.reverse_compute_at("relu", j_o)' in text
    assert 'sch.set_scope(C, 0, "local.acc")' in text
    assert 'bias_in = sch.cache_read("relu", "bias", "local.vtcm")' in text
    assert "pipeline(k_o" in text
    assert 'relu_out = sch.cache_write("relu", 0, "local.vtcm")\nsch.reverse_compute_at(relu_out, j_o)' in text


@pytest.mark.slow
def test_convolution_keeps_sums_on_chip_for_bias_and_relu() -> None:
    func = parse(CONVOLUTION).program
    assert isinstance(func, PrimFunc)
    machine = load_machine(NPU)
    found = derive_space(func, machine)
    schedule = found.space.schedule_at(found.space.default).schedule
    assert all(b.scope != "global" for b in schedule.index.buffers if b.name in {"C", "S"})
    assert schedule.check().status == "proved"
    alone = derive_space(func, machine, choice=SketchChoice(MAIN_BLOCK))
    main = alone.space.schedule_at(alone.space.default).schedule
    assert simulate(schedule.func, machine).cycles < 0.9 * simulate(main.func, machine).cycles


def test_most_tile_sizes_fill_the_matrix_unit() -> None:
    draft = ScheduleDraft(dense(576), load_machine(NPU), {}, "sch", None)
    apply_rules(draft, [Group(("C",), ("i", "k"))], SCHEDULE_RULES)
    assert 'choose("tile k", [32, 64, 96, 192, 288, 576])' in draft.builder.text


def test_results_are_stored_while_the_next_tile_is_computed() -> None:
    found = ScheduleDraft(dense(576), load_machine(NPU), {}, "sch", None)
    apply_rules(found, [Group(("C",), ("i", "j", "k"))], SCHEDULE_RULES)
    assert "\nsch.pipeline(j_o" in found.builder.text


def test_padding_with_another_constant_is_filled_in_place() -> None:
    found = ScheduleDraft(parse(POOL).program, load_machine(NPU), {}, "sch", None)
    apply_rules(found, [Group(("P", "Y"), ("c",))], SCHEDULE_RULES)
    text = found.builder.text
    assert "sch.decompose_padding" in text and 'cache_read("P"' not in text
