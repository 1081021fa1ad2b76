"""Copies by a block's iterators, at a loop, in place; tables of indices; declared regions: as TVM makes them."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL, MATMUL_RELU
from support.tvm.oracle import assert_agrees, same_program, tvm_parse, tvm_schedule

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

STRIDED = (
    HEAD
    + """def main(A: T.Buffer((26, 40), "float32"), B: T.Buffer((12, 1, 20), "float32")):
    for i, u, j in T.grid(12, 1, 20):
        with T.sblock("B"):
            vi, vu, vj = T.axis.remap("SSS", [i, u, j])
            B[vi, vu, vj] = A[vi * 2 + vu, vj * 2] * T.float32(2)
"""
)

LONG = (
    HEAD
    + """def main(A: T.Buffer((T.int64(12), T.int64(20)), "float32"), B: T.Buffer((T.int64(20), T.int64(12)), "float32")):
    for i, j in T.grid(T.int64(20), T.int64(12)):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + T.float32(1)
"""
)

SYMBOLIC = (
    HEAD
    + """def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 16))
    B = T.match_buffer(b, (16, n))
    for i, j in T.grid(16, n):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + T.float32(1)
"""
)

CHAIN = (
    HEAD
    + """def main(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.sblock_alloc_buffer((8, 12))
    for i in range(8):
        for j in range(12):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(12):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * B[vi, vj]
"""
)

CALLED = (
    HEAD
    + """def main(A: T.Buffer((32,), "int32")):
    for i in range(1):
        with T.sblock("call"):
            T.reads(A[0:32])
            T.writes(A[0:32])
            T.call_extern("int32", "f", A.data)
"""
)

ADDED_TWICE = (
    HEAD
    + """def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + A[7 - vi]
"""
)


def tiled(s):
    i, j, k = s.get_loops(s.get_sblock("C"))
    io, ii = s.split(i, factors=[None, 16])
    ko, ki = s.split(k, factors=[None, 8])
    s.reorder(io, ko, ii, j, ki)
    return io, ko


def both_read(s):
    _, ko = tiled(s)
    for position in (0, 1):
        s.read_at(ko, s.get_sblock("C"), position, "shared")


CASES = {
    "reindex, read": (STRIDED, lambda s: s.reindex(s.get_sblock("B"), ("read", 0))),
    "reindex, written": (STRIDED, lambda s: s.reindex(s.get_sblock("B"), ("write", 0))),
    "reindex, by name": (MATMUL, lambda s: s.reindex(s.get_sblock("C"), "C")),
    "reindex of an intermediate": (MATMUL_RELU, lambda s: s.reindex(s.get_sblock("relu"), ("read", 0))),
    "reindex, int64": (LONG, lambda s: s.reindex(s.get_sblock("B"), ("read", 0))),
    "reindex, symbolic": (SYMBOLIC, lambda s: s.reindex(s.get_sblock("B"), ("read", 0))),
    "reindex, shared nest": (CHAIN, lambda s: s.reindex(s.get_sblock("C"), ("read", 0))),
    "reindex, two elements": (ADDED_TWICE, lambda s: s.reindex(s.get_sblock("B"), ("read", 0))),
    "read by a map": (STRIDED, lambda s: s.reindex_cache_read(s.get_sblock("B"), 0, "shared", lambda i, u, j: (j, i, u))),
    "read by a map, int64": (LONG, lambda s: s.reindex_cache_read(s.get_sblock("B"), 0, "shared", lambda i, j: (j, i // 4, i % 4))),
    "read by a map in a nest": (CHAIN, lambda s: s.reindex_cache_read(s.get_sblock("C"), 0, "shared", lambda i, j: (j, i))),
    "read by a map, elsewhere": (STRIDED, lambda s: s.reindex_cache_read(s.get_sblock("B"), 0, "shared", lambda i, u, j: (j, i))),
    "written by a map": (MATMUL, lambda s: s.reindex_cache_write(s.get_sblock("C"), 0, "local", lambda i, j, k: (j, i))),
    "written by a map in a nest": (CHAIN, lambda s: s.reindex_cache_write(s.get_sblock("B"), 0, "local", lambda i, j: (i * 12 + j,))),
    "written by a map, symbolic": (SYMBOLIC, lambda s: s.reindex_cache_write(s.get_sblock("B"), 0, "local", lambda i, j: (j, i))),
    "in place": (CALLED, lambda s: s.cache_inplace(s.get_sblock("call"), 0, "local")),
    "in place, not": (STRIDED, lambda s: s.cache_inplace(s.get_sblock("B"), 0, "local")),
    "read at": (MATMUL, lambda s: s.read_at(tiled(s)[1], s.get_sblock("C"), 0, "shared")),
    "both read at": (MATMUL, both_read),
    "written at": (MATMUL, lambda s: s.write_at(tiled(s)[0], s.get_sblock("C"), 0, "local")),
    "partial sums written at": (MATMUL, lambda s: s.write_at(tiled(s)[1], s.get_sblock("C"), 0, "local")),
    "written after a reader": (CHAIN, lambda s: s.write_at(s.get_loops(s.get_sblock("B"))[0], s.get_sblock("B"), 0, "local")),
    "declared wider": (
        CHAIN, lambda s: s.annotate_buffer_access(s.get_sblock("B"), 0, "read", lambda i, j: ((i - 1, i + 2), (j, j + 3)))
    ),
    "declared, written": (CHAIN, lambda s: s.annotate_buffer_access(s.get_sblock("B"), 0, "write", lambda i, j: (i, (j, j + 2)))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_given_a_program_when_it_is_copied_then_tvm_makes_the_same(name: str):
    assert_agrees(*CASES[name])


RUNNABLE = [n for n, (text, _) in CASES.items() if text not in (CALLED, SYMBOLIC)]


@pytest.mark.parametrize("name", RUNNABLE)
def test_given_a_copy_when_it_is_accepted_then_the_meaning_stays(name: str):
    text, call = CASES[name]
    sch = Schedule(parse(text).program)
    try:
        call(sch)
    except ScheduleError:
        return
    verdict = sch.verify()
    assert verdict.status == "tested", verdict.detail


LOOKED_UP = (
    HEAD
    + """def main(A: T.Buffer((20, 20), "float32"), B: T.Buffer((40, 40), "float32")):
    for i, j in T.grid(40, 40):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 4 + vj // 4, vj // 2] + A[vj // 2, vi // 4 + vj // 4]
"""
)


@pytest.mark.parametrize("threshold", [0, 1, 2])
def test_given_indices_when_tabulated_then_tvm_makes_the_same_tables_without_strides_that_fit_no_shape(threshold):
    ours, theirs = Schedule(parse(LOOKED_UP).program), tvm_schedule(LOOKED_UP)
    names = ours.cache_index("B", "global", threshold)
    assert names == [theirs.get(b).name_hint for b in theirs.cache_index(theirs.get_sblock("B"), "global", threshold)]
    without_strides = tvm_parse(theirs.mod.script().replace(", strides=(1,)", ""))
    # What the block reads is found anew: TVM leaves the tables out of it.
    assert not same_program(to_script(ours.mod), without_strides)
    assert ours.verify().status == "tested"
