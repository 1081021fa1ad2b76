"""reindex, reindex_cache_read, reindex_cache_write, cache_inplace: the positions and contents of copies, and refusals."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL, MATMUL_RELU

from tilewright.engine.ir import AXIS_SEPARATOR
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

TURNED = (
    HEAD
    + """def main(A: T.Buffer((12, 20), "float32"), B: T.Buffer((20, 12), "float32")):
    for i, j in T.grid(20, 12):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)
"""
)

PADDED = (
    HEAD
    + """def main(A: T.Buffer((10,), "float32"), B: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.sblock("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = T.if_then_else(1 <= vi and vi < 11, A[vi - 1], T.float32(0))
"""
)

HALF = (
    HEAD
    + """def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16,))
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = T.if_then_else(vi < 8, B[vi], T.float32(0))
"""
)

IN_PLACE = (
    HEAD
    + """def main(A: T.Buffer((16,), "float32")):
    for i in range(4):
        with T.sblock("double"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 4:vi * 4 + 4])
            T.writes(A[vi * 4:vi * 4 + 4])
            for j in range(4):
                A[vi * 4 + j] = A[vi * 4 + j] * T.float32(2)
"""
)

DOUBLED = (
    HEAD
    + """def main(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("double"):
            vi = T.axis.spatial(16, i)
            A[vi] = A[vi] * T.float32(2)
"""
)

WRITES_LESS = (
    HEAD
    + """def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(1):
        with T.sblock("some"):
            vi = T.axis.spatial(1, i)
            T.reads(A[0:4], B[0:1])
            T.writes(B[0:4])
            for j in range(2):
                B[j] = A[j] + B[0]
"""
)


def schedule(text: str) -> Schedule:
    return Schedule(parse(text).program)


def order(sch: Schedule) -> list[str]:
    return [name for name in sch.index.block_names if name != "root"]


def test_reindex_of_a_transposed_read():
    sch = schedule(TURNED)
    copy = sch.reindex("B", ("read", 0))
    assert copy == "A_reindex_reindex", "TVM's name"
    assert order(sch) == [copy, "B"]
    assert "B[vi, vj] = A_reindex[vi, vj]" in to_script(sch.mod)
    assert sch.verify().status == "tested"


def test_reindex_of_a_sum_copies_after_it():
    sch = schedule(MATMUL)
    copy = sch.reindex("C", "C")
    assert order(sch) == ["C", copy]
    assert copy == "C_reindex"
    assert [iv.iter_type for iv in sch.get(copy).iter_vars] == ["spatial", "spatial"], "the sum's iterator is left out"
    assert sch.verify().status == "tested"


def test_reindex_cache_read_maps_elements():
    sch = schedule(TURNED)
    sch.split("i", [None, 4])
    copy = sch.reindex_cache_read("B", 0, "shared", lambda vi, vj: [vi // 4, AXIS_SEPARATOR, vj, vi % 4])
    (cached,) = [w.buffer for w in sch.get(copy).writes]
    assert [e.value for e in cached.shape] == [5, 12, 4]
    assert cached.axis_separators == (1,)
    assert [loop.name for loop in sch.get_loops(copy)] == ["i_0", "i_1", "j"], "the block's loops"
    assert sch.verify().status == "tested"


def test_reindex_cache_read_keeps_the_guard_of_an_uneven_split():
    sch = schedule(TURNED)
    sch.split("i", [None, 3])
    copy = sch.reindex_cache_read("B", 0, "shared", lambda vi, vj: (vj, vi))
    assert "T.where" in to_script(sch.mod).split(f'"{copy}"')[1].split('"B"')[0]
    assert sch.verify().status == "tested"


def test_reindex_cache_write_copies_before_the_reader():
    sch = schedule(MATMUL_RELU)
    sch.reverse_compute_at("relu", sch.get_loops("matmul")[0])
    copy = sch.reindex_cache_write("matmul", 0, "local", lambda i, j, k: (j, i))
    assert order(sch) == ["matmul", copy, "relu"]
    assert sch.verify().status == "tested"


SUM_IN_LANES = (
    HEAD
    + """def main(A: T.Buffer((8, 9), "int32"), C: T.Buffer((8,), "int32")):
    for i, lane, k in T.grid(8, 3, 9):
        with T.sblock("C"):
            v_i, v_k = T.axis.remap("SR", [i, k])
            T.where(lane < 1)
            with T.init():
                C[v_i] = 0
            C[v_i] = C[v_i] + A[v_i, v_k]
"""
)


def test_cache_inplace_copies_on_both_sides():
    sch = schedule(IN_PLACE)
    assert sch.cache_inplace("double", 0, "local") == ["A_local", "A_local_1"]
    assert order(sch) == ["A_local", "double", "A_local_1"]
    assert sch.verify().status == "tested"


def test_cache_inplace_of_parallel_updates_is_refused():
    """A lane masked by the block's condition would still copy an element that another lane has changed."""
    sch = schedule(SUM_IN_LANES)
    (i, lane, _) = sch.get_loops("C")
    sch.decompose_reduction("C", i)
    sch.vectorize(lane)
    with pytest.raises(ScheduleError) as refused:
        sch.cache_inplace("C", 0, "local")
    assert refused.value.code == "order-dependent"


GATHERED = (
    HEAD
    + """def main(A: T.Buffer((16,), "float32"), P: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[P[vi] % 16] * T.float32(2)
"""
)

REFUSALS = {
    "an element that memory tells": (GATHERED, "opaque-access", lambda s: s.reindex("B", ("read", "A"))),
    "an element that memory tells, by a map": (
        GATHERED, "opaque-access", lambda s: s.reindex_cache_read("B", "A", "local", lambda i: [i]),
    ),
    "two elements": (
        TURNED.replace("A[vj, vi]", "A[vj, vi] + A[vj, 0]"), "several-elements", lambda s: s.reindex("B", ("read", 0)),
    ),
    "its own output": (DOUBLED, "reads-own-output", lambda s: s.reindex("double", ("read", 0))),
    "its own old values": (DOUBLED, "reads-own-output", lambda s: s.reindex("double", ("write", 0))),
    "a border that is not there": (PADDED, "region-not-covered", lambda s: s.reindex("B", ("read", 0))),
    "what nobody wrote": (HALF, "region-not-covered", lambda s: s.reindex("C", ("read", 0))),
    "a block of blocks": (
        MATMUL_RELU, "not-a-leaf", lambda s: s.reindex(s.blockize(s.get_loops("relu")[1]), ("write", 0)),
    ),
    "a nest for two": (
        MATMUL_RELU,
        "not-alone",
        lambda s: (s.reverse_compute_at("relu", s.get_loops("matmul")[0]), s.reindex("relu", ("read", 0))),
    ),
    "one place for all": (
        TURNED, "not-bijective", lambda s: s.reindex_cache_read("B", 0, "local", lambda vi, vj: (vi // 2, vj)),
    ),
    "other iterators": (
        MATMUL, "other-iterators", lambda s: s.reindex_cache_write("C", 0, "local", lambda i, j, k: (i, j, k)),
    ),
    "too few iterators": (MATMUL, "bad-index-map", lambda s: s.reindex_cache_read("C", 0, "local", lambda i, j: (i, j))),
    "a point of many": (IN_PLACE, "reads-own-output", lambda s: s.reindex_cache_read("double", 0, "local", lambda i: i)),
    "nothing in place": (TURNED, "not-in-place", lambda s: s.cache_inplace("B", 0, "local")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_copy_is_refused_with_its_code(name):
    text, code, calls = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        calls(sch)
    assert refused.value.code == code
    assert sch.verify().status == "tested"


def test_declared_but_unwritten_elements_are_not_copied_back():
    for call in (lambda s: s.cache_inplace("some", 1, "local"), lambda s: s.cache_write("some", 0, "local")):
        sch = schedule(WRITES_LESS)
        with pytest.raises(ScheduleError):
            call(sch)


STORES_HALF = WRITES_LESS.replace("T.reads(A[0:4], B[0:1])", "T.reads(A[0:4])").replace("A[j] + B[0]", "A[j]")


def test_cache_write_of_a_partly_stored_region_is_refused():
    sch = schedule(STORES_HALF)
    with pytest.raises(ScheduleError) as refused:
        sch.cache_write("some", 0, "local")
    assert refused.value.code == "region-not-covered"
