"""split, fuse, reorder, kinds, cache_read/write and decompose_reduction give what TVM gives."""

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL, MATMUL_RELU
from support.tvm.oracle import assert_agrees

pytestmark = pytest.mark.tvm


def loops(sch, block="C"):
    return sch.get_loops(sch.get_sblock(block))


def tile(sch, block="C", factors=(None, 32)):
    i, j, k = loops(sch, block)
    i0, i1 = sch.split(i, factors)
    j0, j1 = sch.split(j, factors)
    k0, k1 = sch.split(k, factors)
    sch.reorder(i0, j0, k0, i1, j1, k1)
    return i0, j0, k0, i1, j1, k1


CASES = {
    "split evenly": lambda s: s.split(loops(s)[0], [None, 16]),
    "split unevenly": lambda s: s.split(loops(s)[0], [None, 60]),
    "split in three": lambda s: s.split(loops(s)[2], [4, None, 3]),
    "split covering more": lambda s: s.split(loops(s)[1], [5, 40]),
    "split of a split unevenly": lambda s: s.split(s.split(loops(s)[0], [None, 50])[1], [None, 7]),
    "split too small": lambda s: s.split(loops(s)[0], [5, 20]),
    "split with a unit": lambda s: s.split(loops(s)[0], [1, 128]),
    "split without units": lambda s: s.split(loops(s)[0], [1, None], preserve_unit_iters=False),
    "fuse two": lambda s: s.fuse(*loops(s)[:2]),
    "fuse three": lambda s: s.fuse(*loops(s)),
    "fuse not nested": lambda s: s.fuse(loops(s)[0], loops(s)[2]),
    "fuse in wrong order": lambda s: s.fuse(loops(s)[1], loops(s)[0]),
    "fuse then split": lambda s: s.split(s.fuse(*loops(s)[:2]), [None, 100]),
    "split then fuse back": lambda s: s.fuse(*s.split(loops(s)[0], [None, 16])),
    "uneven split then fuse back": lambda s: s.fuse(*s.split(loops(s)[0], [None, 60])),
    "reorder all": lambda s: s.reorder(*reversed(loops(s))),
    "reorder outer and inner": lambda s: s.reorder(loops(s)[2], loops(s)[0]),
    "reorder twice the same": lambda s: s.reorder(loops(s)[0], loops(s)[0]),
    "tiled": tile,
    "tiled unevenly": lambda s: tile(s, factors=(None, 60)),
    "parallel spatial": lambda s: s.parallel(loops(s)[0]),
    "parallel reduction": lambda s: s.parallel(loops(s)[2]),
    "vectorize": lambda s: s.vectorize(s.split(loops(s)[1], [None, 4])[1]),
    "vectorize reduction": lambda s: s.vectorize(loops(s)[2]),
    "unroll": lambda s: s.unroll(loops(s)[2]),
    "bind": lambda s: s.bind(loops(s)[0], "blockIdx.x"),
    "bind reduction to thread": lambda s: s.bind(loops(s)[2], "threadIdx.x"),
    "bind reduction to block": lambda s: s.bind(loops(s)[2], "blockIdx.x"),
    "annotate loop": lambda s: s.annotate(loops(s)[0], "pragma_auto_unroll_max_step", 16),
    "annotate block": lambda s: s.annotate(s.get_sblock("C"), "note", ["a", 1]),
    "unannotate": lambda s: (s.annotate(loops(s)[0], "x", 1), s.unannotate(loops(s)[0], "x")),
    "unannotate nothing": lambda s: s.unannotate(loops(s)[0], "x"),
    "split annotated": lambda s: (s.annotate(loops(s)[0], "x", 1), s.split(loops(s)[0], [2, None])),
    "cache_read": lambda s: s.cache_read(s.get_sblock("C"), 0, "local.vtcm"),
    "cache_read both": lambda s: (
        s.cache_read(s.get_sblock("C"), 0, "shared"),
        s.cache_read(s.get_sblock("C"), 1, "shared"),
    ),
    "cache_read twice": lambda s: (
        s.cache_read(s.get_sblock("C"), 0, "shared"),
        s.cache_read(s.get_sblock("C"), 0, "local"),
    ),
    "cache_read no such": lambda s: s.cache_read(s.get_sblock("C"), 2, "shared"),
    "cache_write": lambda s: s.cache_write(s.get_sblock("C"), 0, "local"),
    "cache_write tiled": lambda s: (tile(s, factors=(None, 60)), s.cache_write(s.get_sblock("C"), 0, "local")),
    "cache_write before decompose": lambda s: (
        s.cache_write(s.get_sblock("C"), 0, "local"),
        s.decompose_reduction(s.get_sblock("C"), loops(s)[2]),
    ),
    "decompose at k": lambda s: s.decompose_reduction(s.get_sblock("C"), loops(s)[2]),
    "decompose at i": lambda s: s.decompose_reduction(s.get_sblock("C"), loops(s)[0]),
    "decompose under reduction": lambda s: (
        s.reorder(*reversed(loops(s))),
        s.decompose_reduction(s.get_sblock("C"), loops(s)[2]),
    ),
    "decompose tiled": lambda s: s.decompose_reduction(s.get_sblock("C"), tile(s)[2]),
    "decompose tiled unevenly": lambda s: s.decompose_reduction(s.get_sblock("C"), tile(s, factors=(None, 60))[2]),
    "decompose fused": lambda s: (s.fuse(*loops(s)[:2]), s.decompose_reduction(s.get_sblock("C"), loops(s)[1])),
}


@pytest.mark.parametrize("name", CASES)
def test_given_a_matmul_when_called_then_as_tvm(name):
    assert_agrees(MATMUL, CASES[name])


CHAIN_CASES = {
    "relu reads cached": lambda s: s.cache_read(s.get_sblock("relu"), 0, "local"),
    "matmul written through cache": lambda s: s.cache_write(s.get_sblock("matmul"), 0, "local"),
    "relu written through cache": lambda s: s.cache_write(s.get_sblock("relu"), 0, "local"),
    "tiled, then cached": lambda s: (tile(s, "matmul"), s.cache_write(s.get_sblock("matmul"), 0, "local")),
}


@pytest.mark.parametrize("name", CHAIN_CASES)
def test_given_matmul_relu_when_called_then_as_tvm(name):
    assert_agrees(MATMUL_RELU, CHAIN_CASES[name])


def test_given_a_chain_when_parallel_then_as_tvm():
    assert_agrees(ELEMENTWISE_CHAIN, lambda s: s.parallel(loops(s, "B")[0]))
