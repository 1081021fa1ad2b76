"""tile, add_unit_loop, loop_partition, merge, and the names of loops: their results, and a table of refusals."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL

from tilewright.engine.ir import build
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

ONE_AFTER_OTHER = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def two(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32"), D: T.Buffer((16, 8), "float32")):
    B = T.sblock_alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for x, y in T.grid(16, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [x, y])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for p, q in T.grid(16, 8):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [p, q])
            D[vi, vj] = B[vi, vj] + C[vi, vj]
"""

ROW_BEFORE = ONE_AFTER_OTHER.replace("B[vi, vj] + T.float32(1)", "B[15 - vi, vj] + T.float32(1)")
OVERWRITTEN = ONE_AFTER_OTHER.replace("C[vi, vj] = B[vi, vj] + T.float32(1)", "C[vi, vj] = A[vi, vj]").replace(
    "D[vi, vj] = B[vi, vj] + C[vi, vj]", "D[vi, vj] = B[vi, 7 - vj]"
)
LAST_ONLY = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def last(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((1,))
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.opaque(16, i)
            B[0] = A[vi]
    for x in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, x)
            C[vi] = B[0]
"""


def schedule(text: str = MATMUL) -> Schedule:
    return Schedule(parse(text).program)


def names(sch: Schedule, block: str) -> list[str]:
    return [v.name for v in sch.get_loops(block)]


def test_tile_places_named_tiles_outside():
    sch = schedule()
    i, j, _ = sch.get_loops("C")
    tiles = sch.tile(i, j, factors=[32, 20], names=["io", "jo", "ii", "ji"])
    assert names(sch, "C") == ["io", "jo", "ii", "ji", "k"]
    assert [v.name for v in tiles] == ["io", "jo", "ii", "ji"]
    assert [build.int_value(sch.get(v).extent) for v in tiles] == [4, 7, 32, 20]
    assert sch.verify().status == "tested"
    assert [step.method for step in sch.trace.steps if step.changes] == ["tile"]


def test_tile_leaves_a_loop_in_between_in_place():
    sch = schedule()
    i, _, k = sch.get_loops("C")
    sch.tile(i, k, factors=[16, 8])
    assert names(sch, "C") == ["i_0", "k_0", "j", "i_1", "k_1"]
    assert sch.verify().status == "tested"


def test_split_parses_loop_and_names_from_one_text():
    sch = schedule()
    io, _, ii = sch.split("i => io, _, ii", factors=[None, 2, 16])
    assert (io.name, ii.name) == ("io", "ii")
    assert names(sch, "C") == ["io", "i_1", "ii", "j", "k"]
    assert sch.get_loop("io") is io
    assert sch.get_loop("ii", "C") is ii
    assert sch.replayed().trace.steps[0].argument("names") == ("io", "_", "ii")


def test_loop_names_survive_later_calls():
    sch = schedule(ELEMENTWISE_CHAIN)
    x = sch.fuse(*sch.get_loops("D"), name="x")
    xo, _ = sch.split(x, factors=[None, 96], names=["xo", "xi"])
    sch.cache_write("D", 0, "local")
    sch.reverse_compute_at("D_local", xo)
    sch.compute_at("C", xo)
    assert names(sch, "D")[:2] == ["xo", "xi"]
    assert names(sch, "D_local")[0] == "xo"
    assert names(sch, "C")[0] == "xo"
    assert sch.get_loop("xo") is xo
    assert sch.verify().status == "tested"


def test_add_unit_loop_surrounds_a_block_or_a_loop():
    sch = schedule()
    inner = sch.add_unit_loop("C")
    outer = sch.add_unit_loop(sch.get_loops("C")[0])
    loops = sch.get_loops("C")
    assert (loops[0], loops[-1]) == (outer, inner)
    assert sch.verify().status == "tested"


def test_loop_partition_makes_a_block_of_each_piece():
    sch = schedule(ELEMENTWISE_CHAIN)
    first, second, third = sch.loop_partition(sch.get_loops("C")[0], [8, None, 16], names=["head", "body", "tail"])
    assert [build.int_value(sch.get(v).extent) for v in (first, second, third)] == [8, 40, 16]
    assert sch.get_child_blocks("C_i_common") == ["C_i0_partition", "C_i1_partition", "C_i2_partition"]
    sch.split(sch.get_loops("C_body")[1], [None, 16])
    sch.parallel(second)
    assert names(sch, "C_head") == ["head", "j"]
    assert sch.verify().status == "tested"
    assert "T.reads(B[8:48, 0:48])" in to_script(sch.mod), "a piece says truly what it touches"


def test_moving_the_producer_of_a_piece_respects_the_dependence():
    sch = schedule(ELEMENTWISE_CHAIN)
    sch.loop_partition(sch.get_loops("C")[0], [8])
    assert sch.get_producers("C_i_common") == ["B"]
    assert sch.get_consumers("C_i_common") == ["D"]
    with pytest.raises(ScheduleError):
        sch.reverse_compute_at("D", sch.get_loops("B")[0])
    assert sch.verify().status == "tested"


def test_partitioning_a_decomposed_reduction_keeps_the_sum():
    sch = schedule(MATMUL.replace("128", "16"))
    k = sch.get_loops("C")[2]
    sch.decompose_reduction("C", k)
    sch.loop_partition(k, [5])
    assert sch.verify().status == "tested"


def test_merge_runs_sibling_nests_in_step():
    sch = schedule(ONE_AFTER_OTHER)
    merged = sch.merge("j", "y", "q")
    assert merged.name == "j_m"
    assert names(sch, "B") == names(sch, "C") == names(sch, "D") == ["i_m", "j_m"]
    assert sch.verify().status == "tested"


def test_merge_of_outer_loops_leaves_inner_ones_separate():
    sch = schedule(ROW_BEFORE.replace("15 - vi, vj", "vi, 7 - vj"))
    sch.merge("i", "x")
    assert names(sch, "B") == ["i_m", "j"]
    assert names(sch, "C") == ["i_m", "y"]
    assert sch.verify().status == "tested"


def test_merge_past_an_unrelated_nest_is_accepted():
    sch = schedule(OVERWRITTEN)
    sch.merge("x", "p")
    assert sch.get_child_blocks("root") == ["B", "C", "D"]
    assert sch.verify().status == "tested"


REFUSALS = {
    "tile without factors": (MATMUL, "bad-factors", lambda s: s.tile("i", "j", factors=[2])),
    "tile names missing": (MATMUL, "bad-names", lambda s: s.tile("i", "j", factors=[2, 2], names=["a", "b"])),
    "tile of two nests": (ONE_AFTER_OTHER, "not-one-chain", lambda s: s.tile("i", "x", factors=[2, 2])),
    "split pattern and names": (MATMUL, "bad-names", lambda s: s.split("i => a b", [None, 2], names=["a", "b"])),
    "split pattern of the wrong length": (MATMUL, "bad-names", lambda s: s.split("i => a b c", [None, 2])),
    "fuse with a bad name": (MATMUL, "bad-names", lambda s: s.fuse("i", "j", name="not a name")),
    "unit loop around the root": (MATMUL, "root-block", lambda s: s.add_unit_loop("root")),
    "loop of another block": (ONE_AFTER_OTHER, "unknown-loop", lambda s: s.get_loop("i", "C")),
    "loop of many": (ELEMENTWISE_CHAIN, "ambiguous-loop", lambda s: s.get_loop("i")),
    "partition too long": (MATMUL, "bad-factors", lambda s: s.loop_partition("i", [100, 28])),
    "partition twice inferred": (MATMUL, "bad-factors", lambda s: s.loop_partition("i", [None, None])),
    "partition annotated": (MATMUL, "loop-annotated", lambda s: (s.annotate("i", "x", 1), s.loop_partition("i", [2]))),
    "partition of a sum": (MATMUL, "reduction-partitioned", lambda s: s.loop_partition("k", [2])),
    "merge of one": (MATMUL, "too-few-loops", lambda s: s.merge("i")),
    "merge of a nest with itself": (MATMUL, "not-nested", lambda s: s.merge("i", "j")),
    "merge at different depths": (ONE_AFTER_OTHER, "different-depth", lambda s: s.merge("i", "y")),
    "merge of different lengths": (
        ONE_AFTER_OTHER,
        "different-extent",
        lambda s: (s.split("x", [None, 2]), s.merge("i", "x_0")),
    ),
    "merge where rows come too early": (ROW_BEFORE, "order-dependent", lambda s: s.merge("i", "x")),
    "merge where the last value is wanted": (LAST_ONLY, "order-dependent", lambda s: s.merge("i", "x")),
    "merge past a user": (ONE_AFTER_OTHER, "order-dependent", lambda s: s.merge("i", "p")),
    "merge backwards": (ONE_AFTER_OTHER, "order-dependent", lambda s: s.merge("x", "i")),
    "merge of an annotated loop": (ONE_AFTER_OTHER, "loop-annotated", lambda s: (s.annotate("i", "x", 1), s.merge("i", "x"))),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_call_is_refused_with_its_code(name):
    text, code, calls = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        calls(sch)
    assert refused.value.code == code
    assert sch.verify().status == "tested"
