"""read_at, write_at, cache_index, annotate_buffer_access: tiles copied by one block, tables of indices, declared regions."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL

from tilewright.engine.export import to_tvm_python
from tilewright.engine.ir import first_difference
from tilewright.engine.lower import plan
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

RESIZE = (
    HEAD
    + """def main(A: T.Buffer((20, 20), "float32"), B: T.Buffer((40, 40), "float32")):
    for i, j in T.grid(40, 40):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 4 + vj // 4, vj // 2]
"""
)

SAMPLED = (
    HEAD
    + """def main(A: T.Buffer((40,), "float32"), B: T.Buffer((20,), "float32")):
    C = T.sblock_alloc_buffer((40,))
    for i in range(40):
        with T.sblock("C"):
            vi = T.axis.spatial(40, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(20):
        with T.sblock("B"):
            vi = T.axis.spatial(20, i)
            T.reads(C[0:40])
            T.writes(B[vi])
            B[vi] = C[T.Cast("int32", T.floor(T.Cast("float32", vi * 2) + T.float32(0.5)))]
"""
)


GATHERED = (
    HEAD
    + """def main(A: T.Buffer((40,), "float32"), index: T.Buffer((20,), "int32"), B: T.Buffer((20,), "float32")):
    for i in range(20):
        with T.sblock("B"):
            vi = T.axis.spatial(20, i)
            T.reads(A[index[vi]], index[vi])
            T.writes(B[vi])
            B[vi] = A[index[vi]] + T.float32(1)
"""
)


def schedule(text: str) -> Schedule:
    return Schedule(parse(text).program)


def tiled() -> Schedule:
    sch = schedule(MATMUL)
    sch.split("i", [None, 16], names=["io", "ii"])
    sch.split("k", [None, 8], names=["ko", "ki"])
    sch.reorder("io", "ko", "ii", "j", "ki")
    return sch


def test_read_at_copies_a_tile_in_one_block():
    sch = tiled()
    copy = sch.read_at(sch.get_loops("C")[1], "C", "A", "shared")
    assert copy == "A_shared"
    assert [loop.name for loop in sch.get_loops(copy)] == ["io", "ko"]
    assert "T.reads(A[v0 * 16:v0 * 16 + 16, v1 * 8:v1 * 8 + 8])" in to_script(sch.mod)
    assert ("auto_copy", 1) in [(key, value.value) for key, value in sch.get(copy).annotations]
    assert sch.verify().status == "tested"


def test_write_at_stores_a_tile_in_one_block():
    sch = tiled()
    copy = sch.write_at(sch.get_loops("C")[0], "C", 0, "local")
    assert sch.index.block_names == ("root", "C", copy)
    assert sch.verify().status == "tested"


def test_write_at_inside_the_reduction_keeps_partial_sums():
    sch = tiled()
    sch.write_at(sch.get_loops("C")[1], "C", 0, "local")
    assert sch.verify().status == "tested"


def test_write_at_under_threads_copies_only_complete_elements():
    sch = schedule(RESIZE)
    sch.bind("i", "threadIdx.x")
    with pytest.raises(ScheduleError) as refused:
        sch.write_at(sch.get_loops("B")[0], "B", 0, "shared")
    assert refused.value.code == "region-not-covered"
    sch.write_at(sch.get_loops("B")[0], "B", 0, "local")
    assert sch.verify().status == "tested"


def test_write_at_does_not_copy_unwritten_elements():
    sch = schedule(RESIZE)
    sch.annotate_buffer_access("B", 0, "write", lambda vi, vj: ((vi, vi + 2), (vj, vj + 1)))
    with pytest.raises(ScheduleError) as refused:
        sch.write_at(sch.get_loops("B")[0], "B", 0, "local")
    assert refused.value.code == "region-not-covered"


def test_read_at_of_an_uneven_split_ends_with_the_buffer():
    sch = schedule(SAMPLED)
    sch.split(sch.get_loops("C")[0], [None, 16])
    sch.read_at(sch.get_loops("C")[0], "C", 0, "local")
    assert sch.verify().status == "tested"


def test_cache_index_tabulates_the_indices_of_a_block():
    sch = schedule(RESIZE)
    assert sch.cache_index("B", "global") == ["index_0", "index_1"]
    assert "A[index_var_0[vi, vj], index_var_1[vj]]" in to_script(sch.mod)
    assert [r.buffer.name for r in sch.get("B").reads] == ["A", "index_var_0", "index_var_1"]
    assert sch.verify().status == "tested"


def test_cache_index_leaves_expressions_below_the_threshold():
    sch = schedule(RESIZE)
    before = sch.mod
    assert sch.cache_index("B", "global", 3) == []
    assert sch.func is before["main"]


def test_cache_index_of_a_split_nest_keeps_the_iterators():
    sch = schedule(RESIZE)
    sch.split("i", [None, 8])
    sch.cache_index("B", "global")
    assert sch.verify().status == "tested"


def test_annotated_region_is_used_by_moves_and_compaction():
    sch = schedule(SAMPLED)
    sch.annotate_buffer_access("B", 0, "read", lambda v: [(v * 2 - 1, v * 2 + 2)])
    outer, _ = sch.split(sch.get_loops("B")[0], [None, 5])
    sch.compute_at("C", outer)
    assert sch.verify().status == "tested"
    assert "C = T.sblock_alloc_buffer((11,))" in to_script(plan(sch.func))


def test_annotated_regions_note_a_position_once():
    sch = schedule(SAMPLED)
    sch.annotate_buffer_access("B", 0, "read", lambda v: [(v * 2 - 1, v * 2 + 2)])
    sch.annotate_buffer_access("B", 0, "read", lambda v: [(v * 2, v * 2 + 1)])
    (noted,) = [value for key, value in sch.get("B").annotations if key == "explicit_read_region"]
    assert [item.value for item in noted] == [0]


def test_hidden_table_leaves_the_declaration():
    sch = schedule(GATHERED)
    sch.unsafe_hide_buffer_access("B", "read", [1])
    assert [r.buffer.name for r in sch.get("B").reads] == ["A"]
    assert sch.trace.steps[-1].argument("buf_index_array") == (1,)
    sch.split(sch.get_loops("B")[0], factors=[None, 4])
    sch.cache_read("B", 0, "local")
    assert sch.verify().status == "tested"
    assert first_difference(sch.replayed().mod, sch.mod) is None
    assert 'sch.unsafe_hide_buffer_access(B, "read", [1])' in to_tvm_python(sch)


REFUSALS = {
    "hidden write": (GATHERED, "hidden-dependence", lambda s: s.unsafe_hide_buffer_access("B", "write", [0])),
    "hidden intermediate": (SAMPLED, "hidden-dependence", lambda s: s.unsafe_hide_buffer_access("B", "read", [0])),
    "hidden side": (SAMPLED, "bad-side", lambda s: s.unsafe_hide_buffer_access("B", "both", [0])),
    "hidden position": (SAMPLED, "bad-buffer-index", lambda s: s.unsafe_hide_buffer_access("B", "read", [7])),
    "loop elsewhere": (
        SAMPLED, "loop-not-around", lambda s: s.read_at(s.get_loops("C")[0], "B", 0, "local"),
    ),
    "too small": (SAMPLED, "region-too-small", lambda s: s.annotate_buffer_access("B", 0, "read", lambda v: [v * 2 + 1])),
    "wrong axes": (RESIZE, "bad-region", lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [i])),
    "wrong side": (RESIZE, "bad-side", lambda s: s.annotate_buffer_access("B", 0, "both", lambda i, j: [i, j])),
    "three ends": (
        RESIZE, "bad-index-map", lambda s: s.annotate_buffer_access("B", 0, "read", lambda i, j: [(i, j, 1), j]),
    ),
    "often": (RESIZE, "bad-threshold", lambda s: s.cache_index("B", "global", -1)),
    "no memory": (RESIZE, "bad-scope", lambda s: s.cache_index("B", "here")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_call_is_refused_with_its_code(name):
    text, code, calls = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        calls(sch)
    assert refused.value.code == code
    assert sch.verify().status == "tested"
