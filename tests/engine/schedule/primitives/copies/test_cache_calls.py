"""cache_read, cache_write, decompose_reduction and double_buffer: the positions and readers of copies, and refusals."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL, MATMUL_RELU

from tilewright.engine.ir import For
from tilewright.engine.lower.storage.allocation import find_sites
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


def schedule(text: str = MATMUL) -> Schedule:
    return Schedule(parse(text).program)


def order(sch: Schedule) -> list[str]:
    return [name for name in sch.index.block_names if name != "root"]


def test_cache_read_of_an_input_copies_first():
    sch = schedule()
    name = sch.cache_read("C", 0, "local.vtcm")
    assert name == "A_local.vtcm"
    assert order(sch) == [name, "C"]
    assert [r.buffer.name for r in sch.get("C").reads] == ["A_local.vtcm", "B"]
    assert sch.get(name).writes[0].buffer.scope == "local.vtcm"
    assert sch.verify().status == "tested"


def test_cache_read_copies_after_the_writer():
    sch = schedule(MATMUL_RELU)
    copy = sch.cache_read("relu", 0, "local")
    assert order(sch) == ["matmul", copy, "relu"]
    assert sch.verify().status == "tested"


def test_cache_write_redirects_the_block_to_the_cache():
    sch = schedule()
    copy = sch.cache_write("C", 0, "local")
    assert order(sch) == ["C", copy]
    assert sch.get("C").writes[0].buffer.scope == "local"
    assert sch.verify().status == "tested"


def test_copies_into_one_scope_have_unique_names():
    sch = schedule(MATMUL_RELU)
    first = sch.cache_write("matmul", 0, "local")
    second = sch.cache_read(first, 0, "local")
    assert len({first, second}) == 2
    assert sch.verify().status == "tested"


def test_decomposed_reduction_has_its_init_before_the_loop():
    sch = schedule()
    init = sch.decompose_reduction("C", "k")
    assert init == "C_init"
    assert order(sch) == ["C_init", "C"]
    assert sch.get("C").init is None
    assert sch.verify().status == "tested"


def test_double_buffer_annotates_a_staged_tile():
    sch = schedule()
    ko, _ = sch.split("k", [None, 32], names=["ko", "ki"])
    copy = sch.cache_read("C", 0, "local.vtcm")
    sch.compute_at(copy, ko)
    sch.double_buffer(copy)
    assert "double_buffer_scope" in to_script(sch.mod)
    assert sch.verify().status == "tested"


REFUSALS = {
    "no such read": (MATMUL, "bad-buffer-index", lambda s: s.cache_read("C", 2, "local")),
    "no such buffer": (MATMUL, "unknown-buffer", lambda s: s.cache_read("C", "Z", "local")),
    "stranger as consumer": (MATMUL_RELU, "not-a-consumer", lambda s: s.cache_read("matmul", 0, "local", ["relu"])),
    "written by two": (
        MATMUL,
        "not-the-only-writer",
        lambda s: (s.decompose_reduction("C", "k"), s.cache_write("C", 0, "local")),
    ),
    "no reduction": (ELEMENTWISE_CHAIN, "not-a-reduction", lambda s: s.decompose_reduction("B", s.get_loops("B")[0])),
    "reduction outside": (
        MATMUL,
        "reduction-outside",
        lambda s: (s.reorder("k", "i"), s.decompose_reduction("C", "i")),
    ),
    "loop elsewhere": (
        MATMUL_RELU,
        "loop-not-around",
        lambda s: s.decompose_reduction("matmul", s.get_loops("relu")[0]),
    ),
    "double buffer of an output": (MATMUL, "not-an-intermediate", lambda s: s.double_buffer("C")),
    "double buffer filled once": (
        MATMUL,
        "no-loop-to-overlap",
        lambda s: s.double_buffer(s.cache_read("C", 0, "local.vtcm")),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_call_is_refused_with_its_code(name):
    text, code, calls = REFUSALS[name]
    sch = schedule(text)
    with pytest.raises(ScheduleError) as refused:
        calls(sch)
    assert refused.value.code == code
    assert sch.verify().status == "tested"


INIT_FROM_OUTPUT = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def doubled(P: T.Buffer((4,), "int32")):
    for k, i in T.grid(1, 4):
        with T.sblock("P"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                P[vi] = P[vi] + 1
            P[vi] = P[vi] + P[vi]
"""


def test_init_that_reads_the_output_is_no_fresh_start():
    sch = schedule(INIT_FROM_OUTPUT)
    with pytest.raises(ScheduleError):
        sch.cache_write("P", 0, "local")
    sch.decompose_reduction("P", sch.get_loops("P")[0])
    assert sch.verify().status == "tested"


FETCHED = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def fetched(B: T.Buffer((8, 16), "int32"), C: T.Buffer((8, 16), "int32")):
    S = T.sblock_alloc_buffer((8, 16), "int32", scope="shared")
    for k in range(2):
        for a in range(1):
            for b in T.thread_binding(4, thread="threadIdx.y"):
                for c in T.thread_binding(8, thread="threadIdx.x"):
                    for d in T.vectorized(4):
                        with T.sblock("S"):
                            v0 = T.axis.spatial(8, k * 4 + a * 8 + b * 2 + c // 4)
                            v1 = T.axis.spatial(16, c % 4 * 4 + d)
                            T.where(a * 4 + b < LIMIT)
                            S[v0, v1] = B[v0, v1]
        for p, q in T.grid(4, 16):
            with T.sblock("C"):
                v0 = T.axis.spatial(8, k * 4 + p)
                v1 = T.axis.spatial(16, q)
                C[v0, v1] = S[v0, v1] * 2
"""


def test_fetch_by_excess_threads_is_complete():
    sch = schedule(FETCHED.replace("LIMIT", "2"))
    sch.cache_read("C", 0, "warp")
    assert sch.verify().status == "tested"


def test_fetch_that_omits_rows_is_refused():
    sch = schedule(FETCHED.replace("LIMIT", "2").replace("b * 2 + c // 4", "b * 3"))
    with pytest.raises(ScheduleError) as refused:
        sch.cache_read("C", 0, "warp")
    assert refused.value.code == "region-not-covered"


SUM_WITHOUT_START = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def kept(A: T.Buffer((5,), "int32")):
    for i in range(5):
        with T.sblock("outer"):
            v = T.axis.spatial(5, i)
            for k in range(2, 5):
                with T.sblock("inner"):
                    w = T.axis.spatial(5, v)
                    r = T.axis.reduce(5, k)
                    with T.init():
                        A[w] = 1
                    A[w] = T.min(A[w], A[w])
"""


def test_cache_write_without_an_executed_init_is_refused():
    sch = schedule(SUM_WITHOUT_START)
    with pytest.raises(ScheduleError) as refused:
        sch.cache_write("outer", 0, "local")
    assert refused.value.code == "reads-own-output"


SCAN = """
@T.prim_func(s_tir=True)
def scan(X: T.Buffer((16, 8), "float32"), Y: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj], Y[T.max(vi - 1, 0), vj])
            T.writes(Y[vi, vj])
            Y[vi, vj] = T.if_then_else(vi >= 1, Y[vi - 1, vj] + X[vi, vj], X[vi, vj])
"""


def test_cache_write_of_a_scan_serves_its_own_reads():
    sch = schedule(SCAN)
    i, j = sch.get_loops("Y")
    j_o, j_i = sch.split(j, [None, 4])
    sch.reorder(j_o, i, j_i)
    copy = sch.cache_write("Y", 0, "local")
    sch.reverse_compute_at(copy, j_o)
    assert sch.check().status == "proved"
    (site,) = find_sites(sch.func).values()
    assert isinstance(site, For) and site.loop_var is j_o, "no value leaves a tile of columns"


def test_a_scan_across_tiles_keeps_its_cache_outside_of_them():
    sch = schedule(SCAN)
    i_o, _ = sch.split(sch.get_loops("Y")[0], [None, 4])
    sch.reverse_compute_at(sch.cache_write("Y", 0, "local"), i_o)
    assert sch.check().status == "proved"
    (site,) = find_sites(sch.func).values()
    assert not isinstance(site, For)


@pytest.mark.parametrize(
    "read", ["vi >= 0, Y[T.max(vi - 1, 0), vj]", "vi < 15, Y[vi + 1, vj]", "vi >= 2, Y[vi, 7 - vj]"]
)
def test_cache_write_of_a_block_that_reads_old_contents_is_refused(read: str):
    sch = schedule(SCAN.replace("Y[T.max(vi - 1, 0), vj])", "Y[0:16, 0:8])").replace("vi >= 1, Y[vi - 1, vj]", read))
    with pytest.raises(ScheduleError) as refused:
        sch.cache_write("Y", 0, "local")
    assert refused.value.code == "reads-own-output"


BLUR_OF_TILES = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def blur(A: T.Buffer((5,), "int64"), B: T.Buffer((5,), "int64")):
    for i in range(2):
        with T.sblock("tile"):
            vo = T.axis.spatial(2, i)
            T.reads(A[T.max(vo * 4 - 1, 0):T.min(vo * 4 + 4, 4) + 1])
            T.writes(B[vo * 4:vo * 4 + 4])
            for j in range(4):
                with T.sblock("B"):
                    v = T.axis.spatial(5, vo * 4 + j)
                    T.where(vo * 4 + j < 5)
                    B[v] = A[T.max(v - 1, 0)] + A[T.min(v + 1, 4)]
"""


def test_cache_of_tiles_of_different_sizes_has_the_buffers_size():
    sch = schedule(BLUR_OF_TILES)
    sch.cache_read("B", 0, "local")
    assert 'A_local = T.sblock_alloc_buffer((5,), "int64", scope="local")' in to_script(sch.func)
    assert sch.verify().status == "tested"
