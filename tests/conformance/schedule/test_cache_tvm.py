"""Where caches stand, how large they are and who uses them; addresses and rich annotations: as TVM."""

import pytest
from support.tvm.oracle import assert_agrees, assert_same_program, tvm_parse

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

SEVERAL = (
    HEAD
    + """def main(C: T.Buffer((96,), "float32"), D: T.Buffer((96,), "float32")):
    A = T.sblock_alloc_buffer((96,))
    B = T.sblock_alloc_buffer((96,))
    for i in range(12):
        for j in range(8):
            with T.sblock("A"):
                vi = T.axis.spatial(96, i * 8 + j)
                A[vi] = T.Cast("float32", vi)
        for j in range(8):
            with T.sblock("other"):
                vi = T.axis.spatial(96, i * 8 + j)
                D[vi] = T.float32(3)
        for j in range(8):
            with T.sblock("B"):
                vi = T.axis.spatial(96, i * 8 + j)
                B[vi] = A[vi] + T.float32(1)
    for i in range(96):
        with T.sblock("C"):
            vi = T.axis.spatial(96, i)
            C[vi] = A[vi] + B[vi]
"""
)

TILED = (
    HEAD
    + """def main(A: T.Buffer((64, 40), "float32"), C: T.Buffer((64, 40), "float32")):
    B = T.sblock_alloc_buffer((64, 40))
    for io, jo in T.grid(4, 5):
        with T.sblock("tile"):
            i, j = T.axis.remap("SS", [io, jo])
            T.reads(A[i * 16:i * 16 + 16, j * 8:j * 8 + 8])
            T.writes(B[i * 16:i * 16 + 16, j * 8:j * 8 + 8], C[i * 16:i * 16 + 16, j * 8:j * 8 + 8])
            for x, y in T.grid(16, 8):
                with T.sblock("B"):
                    vi = T.axis.spatial(64, i * 16 + x)
                    vj = T.axis.spatial(40, j * 8 + y)
                    B[vi, vj] = A[vi, vj] * T.float32(2)
            for x, y in T.grid(16, 8):
                with T.sblock("C"):
                    vi = T.axis.spatial(64, i * 16 + x)
                    vj = T.axis.spatial(40, j * 8 + y)
                    C[vi, vj] = B[vi, vj] + T.float32(1)
"""
)

GUARDED = (
    HEAD
    + """def main(A: T.Buffer((14, 20), "float32"), C: T.Buffer((9, 18), "float32")):
    for i, j in T.grid(14, 20):
        with T.sblock("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            with T.sblock("inner"):
                T.where(vi < 9 and vj < 18)
                C[vi, vj] = A[vi, vj] * T.float32(2)
"""
)

IN_PLACE = (
    HEAD
    + """def main(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.sblock("take"):
            vi = T.axis.spatial(32, i)
            C[vi] = A[vi]
    for i in range(32):
        with T.sblock("give"):
            vi = T.axis.spatial(32, i)
            A[vi] = C[vi] + T.float32(1)
"""
)

ADDRESSED = (
    HEAD
    + """def main(A: T.Buffer((32, 32), "float16"), B: T.Buffer((32, 32), "float16"), C: T.Buffer((32, 32), "float16")):
    for i, j in T.grid(2, 2):
        with T.sblock("load"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.writes(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.tvm_load_matrix_sync(
                B.data, 16, 16, 16, vi * 2 + vj,
                T.tvm_access_ptr(T.type_annotation("float16"), A.data, vi * 512 + vj * 16, 32, 1), 32, "row_major")
    for i, j in T.grid(2, 2):
        with T.sblock("view"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.writes(C[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            V = T.match_buffer(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], (16, 16), "float16", strides=(32, 1), offset_factor=1)
            T.sblock_attr({"note": {"a": [[1, 2], "x"], "b": 1.5}})
            T.tvm_load_matrix_sync(
                C.data, 16, 16, 16, 0,
                T.tvm_access_ptr(T.type_annotation("float16"), V.data, V.elem_offset, 32, 1), 32, "row_major")
"""
)

FETCHED = (
    HEAD
    + """def main(B: T.Buffer((64, 64), "float32"), D: T.Buffer((64, 64), "float32")):
    B_shared = T.sblock_alloc_buffer((64, 64), scope="shared")
    for b, k in T.grid(4, 8):
        for x0 in range(2):
            for x1 in T.thread_binding(3, thread="threadIdx.x"):
                for x2 in T.vectorized(32):
                    with T.sblock("B_shared"):
                        v0 = T.axis.spatial(64, k * 8 + (x0 * 96 + x1 * 32 + x2) // 16)
                        v1 = T.axis.spatial(64, b * 16 + (x0 * 96 + x1 * 32 + x2) % 16)
                        T.where((x0 * 3 + x1) * 32 + x2 < 128)
                        B_shared[v0, v1] = B[v0, v1]
        for y0, y1 in T.grid(8, 16):
            with T.sblock("D"):
                v0 = T.axis.spatial(64, k * 8 + y0)
                v1 = T.axis.spatial(64, b * 16 + y1)
                D[v0, v1] = B_shared[v0, v1] * T.float32(2)
"""
)

CASES = {
    "before its first reader": (SEVERAL, lambda s: s.cache_read(s.get_sblock("B"), 0, "local")),
    "for a later reader only": (
        SEVERAL, lambda s: s.cache_read(s.get_sblock("C"), 0, "local", consumer_blocks=[s.get_sblock("C")])
    ),
    "for the readers in a block": (
        SEVERAL, lambda s: s.cache_read(s.get_sblock("C"), 0, "local", consumer_blocks=[s.get_sblock("root")])
    ),
    "written before all readers": (SEVERAL, lambda s: s.cache_write(s.get_sblock("A"), 0, "local")),
    "written, one reads the cache": (
        SEVERAL, lambda s: s.cache_write(s.get_sblock("A"), 0, "local", consumer_blocks=[s.get_sblock("B")])
    ),
    "written, all read the cache": (
        SEVERAL,
        lambda s: s.cache_write(s.get_sblock("A"), 0, "local", consumer_blocks=[s.get_sblock("B"), s.get_sblock("C")]),
    ),
    "input of a tile": (TILED, lambda s: s.cache_read(s.get_sblock("B"), 0, "shared")),
    "intermediate of a tile": (TILED, lambda s: s.cache_read(s.get_sblock("C"), 0, "local")),
    "output of a tile": (TILED, lambda s: s.cache_write(s.get_sblock("C"), 0, "local")),
    "intermediate written in a tile": (TILED, lambda s: s.cache_write(s.get_sblock("B"), 0, "local")),
    "under a guard inside": (GUARDED, lambda s: s.cache_read(s.get_sblock("outer"), 0, "local")),
    "written under a guard inside": (GUARDED, lambda s: s.cache_write(s.get_sblock("outer"), 0, "local")),
    "read before it is overwritten": (IN_PLACE, lambda s: s.cache_read(s.get_sblock("take"), 0, "local", [s.get_sblock("take")])),
    "addressed, read": (ADDRESSED, lambda s: s.cache_read(s.get_sblock("load"), 0, "global")),
    "addressed, written": (ADDRESSED, lambda s: s.cache_write(s.get_sblock("load"), 0, "shared")),
    "addressed through a view": (ADDRESSED, lambda s: s.cache_write(s.get_sblock("view"), 0, "shared")),
    "fetched by threads, unevenly": (FETCHED, lambda s: s.cache_read(s.get_sblock("D"), 0, "warp")),
    "annotated twice with one value": (ADDRESSED, lambda s: [s.annotate(s.get_sblock("load"), "n", 1) for _ in range(2)]),
    "annotated with a dict": (ADDRESSED, lambda s: s.annotate(s.get_sblock("load"), "n", {"a": [1, 2], "b": 0.5})),
    "annotated with a float": (ADDRESSED, lambda s: s.annotate(s.get_sblock("load"), "n", 0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_given_a_program_when_a_cache_is_made_then_tvm_makes_the_same(name: str):
    assert_agrees(*CASES[name])


@pytest.mark.parametrize("text", [ADDRESSED])
def test_given_addresses_when_printed_then_tvm_reads_its_own_program(text: str):
    theirs = tvm_parse(text)
    assert_same_program(to_script(parse(theirs.script()).program), theirs)


@pytest.mark.parametrize(
    "name", [n for n, (text, _) in CASES.items() if text in (SEVERAL, TILED, GUARDED, IN_PLACE, FETCHED)]
)
def test_given_a_cache_when_it_is_made_then_the_meaning_stays(name: str):
    text, call = CASES[name]
    sch = Schedule(parse(text).program)
    call(sch)
    verdict = sch.verify()
    assert verdict.status == "tested", verdict.detail


def test_given_a_block_that_writes_a_corner_when_cached_then_unwritten_elements_are_not_copied():
    sch = Schedule(parse(GUARDED.replace("vi < 9 and vj < 18", "vi + vj < 9")).program)
    with pytest.raises(ScheduleError) as refused:
        sch.cache_write("outer", 0, "local")
    assert refused.value.code == "region-not-covered"
