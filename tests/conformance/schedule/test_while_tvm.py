"""Calls on loops below a `while` loop give what TVM gives."""

import pytest
from support.programs.while_programs import GEMM, TILES
from support.tvm.oracle import assert_agrees

pytestmark = pytest.mark.tvm


def loops(sch, block):
    return sch.get_loops(sch.get_sblock(block))


def tiled(sch):
    i, j, k = loops(sch, "gemm")
    j0, j1 = sch.split(j, [None, 3])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(j0, k0, i, k1, j1)
    sch.decompose_reduction(sch.get_sblock("gemm"), k0)


CASES = {
    "split": (TILES, lambda s: s.split(loops(s, "copy")[0], [None, 5])),
    "vectorize": (TILES, lambda s: s.vectorize(s.split(loops(s, "copy")[0], [None, 4])[1])),
    "bind": (TILES, lambda s: s.bind(loops(s, "copy")[0], "threadIdx.x")),
    "unroll": (TILES, lambda s: s.unroll(loops(s, "copy")[0])),
    "unit loop": (TILES, lambda s: s.add_unit_loop(loops(s, "copy")[0])),
    "annotate": (TILES, lambda s: s.annotate(loops(s, "copy")[0], "note", 1)),
    "tiled": (GEMM, tiled),
    "fused": (GEMM, lambda s: s.fuse(*loops(s, "store"))),
    "scope": (GEMM, lambda s: s.set_scope(s.get_sblock("gemm"), 0, "shared")),
    "cache": (GEMM, lambda s: s.cache_read(s.get_sblock("gemm"), 0, "shared")),
}


@pytest.mark.parametrize("name", CASES)
def test_given_a_while_loop_when_called_then_as_tvm(name):
    assert_agrees(*CASES[name])
