"""blockize: blocks of blocks, and what is refused."""

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


def test_given_a_tiled_sum_when_the_tile_is_made_a_block_then_its_init_is_the_tiles():
    sch = tiled()
    made = sch.blockize(sch.get_loops("C")[3])
    assert made == "C_o"
    block = sch.get(made)
    assert [iv.iter_type for iv in block.iter_vars] == ["spatial", "spatial", "reduce"]
    assert block.init is not None
    assert sch.get("C").init is None
    assert len(sch.get_loops("C")) == len(sch.get_loops("C_o")) == 3
    assert sch.verify().status == "tested"


def test_given_blocks_side_by_side_when_they_become_one_then_it_runs_them_in_order():
    sch = Schedule(parse(ELEMENTWISE_CHAIN).program)
    made = sch.blockize(["C", "B"])
    assert made == "outer_B_C_"
    assert sch.get_child_blocks(made) == ["B", "C"]
    assert sch.verify().status == "tested"


def test_given_the_same_calls_when_replayed_then_the_same_program():
    sch = tiled()
    sch.blockize(sch.get_loops("C")[3])
    sch.blockize(sch.get_loops("C_o")[1])
    assert sch.replayed().verify().status == "tested"
    assert "C_o" in sch.replayed().get_child_blocks("C_o_o")


def test_given_a_tile_block_when_its_sum_is_decomposed_then_the_meaning_is_kept():
    sch = tiled()
    sch.blockize(sch.get_loops("C")[3])
    sch.decompose_reduction("C_o", sch.get_loops("C_o")[2])
    assert sch.verify().status == "tested"


def test_given_a_tail_then_a_tile_that_the_bound_cuts_is_refused():
    sch = Schedule(parse(MATMUL).program)
    sch.split(sch.get_loops("C")[0], [None, 60])
    assert refusal(sch, sch.get_loops("C")[1]) == "not-divisible"


def test_given_a_sum_that_runs_twice_then_its_init_may_not_move():
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
def test_given_blocks_that_make_no_block_then_the_refusal_says_why(text: str, target: list[str], code: str):
    sch = Schedule(parse(text).program)
    before = sch.func
    assert refusal(sch, target) == code
    assert sch.func is before


def test_given_blocks_in_the_init_of_a_block_when_asked_for_then_they_come_in_the_order_of_the_program():
    sch = Schedule(parse(MATMUL).program)
    loop = sch.get_loops("C")[1]
    outer = sch.blockize(loop)
    below = sch.get_child_blocks(outer)
    assert [stmt.block.name for stmt in loops_and_blocks(sch.get(outer)) if isinstance(stmt, BlockRealize)] == below
    assert below == ["C_init", "C"]
    assert [name for name in sch.index.block_names if name in below] == below
