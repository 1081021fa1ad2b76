"""blockize: blocks of blocks, and refusals."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, HEADER, MATMUL, MATMUL_RELU

from tilewright.engine.ir import BlockRealize, loops_and_blocks
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def tiled(text: str = MATMUL, factor: int = 16) -> Schedule:
    sch = Schedule(parse(text).program)
    pairs = [sch.split(loop, [None, factor]) for loop in sch.get_loops("C")]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    return sch


def refusal(sch: Schedule, target: object) -> str:
    with pytest.raises(ScheduleError) as refused:
        sch.blockize(target)  # type: ignore[arg-type]
    return refused.value.code


def test_blockized_tile_of_a_sum_has_its_own_init():
    sch = tiled()
    outer = sch.blockize(sch.get_loops("C")[3])
    assert outer == "C_o"
    block = sch.get(outer)
    assert [iv.iter_type for iv in block.iter_vars] == ["spatial", "spatial", "reduce"]
    assert block.init is not None
    assert sch.get("C").init is None
    assert len(sch.get_loops("C")) == len(sch.get_loops("C_o")) == 3
    assert sch.verify().status == "tested"


def test_merged_sibling_blocks_run_in_order():
    sch = Schedule(parse(ELEMENTWISE_CHAIN).program)
    outer = sch.blockize(["C", "B"])
    assert outer == "outer_B_C_"
    assert sch.get_child_blocks(outer) == ["B", "C"]
    assert sch.verify().status == "tested"


def test_replayed_calls_give_the_same_program():
    sch = tiled()
    sch.blockize(sch.get_loops("C")[3])
    sch.blockize(sch.get_loops("C_o")[1])
    assert sch.replayed().verify().status == "tested"
    assert "C_o" in sch.replayed().get_child_blocks("C_o_o")


def test_decomposing_the_sum_of_a_tile_block_keeps_the_meaning():
    sch = tiled()
    sch.blockize(sch.get_loops("C")[3])
    sch.decompose_reduction("C_o", sch.get_loops("C_o")[2])
    assert sch.verify().status == "tested"


def test_a_tile_cut_by_a_bound_is_refused():
    sch = Schedule(parse(MATMUL).program)
    sch.split(sch.get_loops("C")[0], [None, 60])
    assert refusal(sch, sch.get_loops("C")[1]) == "not-divisible"


def test_moving_the_init_of_a_sum_that_runs_twice_is_refused():
    text = HEADER + (
        "@T.prim_func(s_tir=True)\n"
        'def main(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):\n'
        "    for i, k in T.grid(4, 8):\n"
        '        with T.sblock("B"):\n'
        "            v, vk = T.axis.spatial(1, 0), T.axis.reduce(8, k)\n"
        "            with T.init():\n"
        "                B[v] = T.float32(0)\n"
        "            B[v] = B[v] + A[vk]\n"
    )
    text = text.replace("            v, vk = T.axis.spatial(1, 0), T.axis.reduce(8, k)\n",
                        "            v = T.axis.spatial(1, 0)\n            vk = T.axis.reduce(8, k)\n")  # fmt: skip
    sch = Schedule(parse(text).program)
    assert refusal(sch, sch.get_loops("B")[0]) == "order-dependent"
    sch.blockize(sch.get_loops("B")[1])
    assert sch.verify().status == "tested"


@pytest.mark.parametrize(
    ("text", "target", "code"),
    [
        (ELEMENTWISE_CHAIN, ["B", "D"], "not-neighbours"),
        (ELEMENTWISE_CHAIN, ["B"], "not-neighbours"),
        (ELEMENTWISE_CHAIN, [], "no-blocks"),
        (ELEMENTWISE_CHAIN, ["B", "gone"], "unknown-block"),
        (MATMUL_RELU, ["matmul", "relu"], "has-init"),
    ],
)
def test_blocks_that_cannot_be_blockized_are_refused_with_a_reason(text: str, target: list[str], code: str):
    sch = Schedule(parse(text).program)
    before = sch.func
    assert refusal(sch, target) == code
    assert sch.func is before


def test_nested_blocks_of_an_init_are_listed_in_program_order():
    sch = Schedule(parse(MATMUL).program)
    loop = sch.get_loops("C")[1]
    outer = sch.blockize(loop)
    below = sch.get_child_blocks(outer)
    assert [stmt.block.name for stmt in loops_and_blocks(sch.get(outer)) if isinstance(stmt, BlockRealize)] == below
    assert below == ["C_init", "C"]
    assert [name for name in sch.index.block_names if name in below] == below
