"""add_unit_loop, loop_partition, merge and tile give what TVM gives, but for docs/differences.md."""

from __future__ import annotations

import pytest
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL
from support.tvm.oracle import Calls, assert_agrees, assert_same_program, tvm_schedule

from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

OPAQUE = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def opaque(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.sblock("outer"):
            T.reads(A[i, j])
            T.writes(B[i, j])
            with T.sblock("inner"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2)
"""

SYMBOLIC = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def symbolic(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 8))
    B = T.match_buffer(b, (n, 8))
    for i, j in T.grid(n, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""

INT64 = SYMBOLIC.replace("n, 8", "T.int64(24), T.int64(8)").replace(", n: T.int32", "")

APART = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def apart(A: T.Buffer((64, 48), "float32"), C: T.Buffer((64, 48), "float32"), D: T.Buffer((64, 48), "float32")):
    for i, j in T.grid(64, 48):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(64):
        for j in range(48):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, vj] + T.float32(1)
    for k in range(32):
        with T.sblock("E"):
            vk = T.axis.spatial(32, k)
            T.reads(A[vk, 0])
            T.evaluate(A[vk, 0])
"""

SCOPES = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def scopes(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((16,), "float32")):
    for p in range(8):
        with T.sblock("P"):
            vp = T.axis.spatial(8, p)
            C[vp] = A[0, vp]
    for i in range(16):
        with T.sblock("outer"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi, 0:8])
            T.writes(B[vi, 0:8])
            for j in range(8):
                with T.sblock("inner"):
                    vj = T.axis.spatial(8, j)
                    B[vi, vj] = A[vi, vj] * T.float32(2)
"""


def loop(sch, block, depth):
    return sch.get_loops(sch.get_sblock(block))[depth]


def partition(block: str, depth: int, factors: list) -> Calls:
    return lambda s: s.loop_partition(loop(s, block, depth), factors)


def merge(*places: tuple[str, int]) -> Calls:
    return lambda s: s.merge(*(loop(s, block, depth) for block, depth in places))


def piece_of_a_piece(sch) -> None:
    sch.loop_partition(loop(sch, "C", 0), [2, 1, 32])
    sch.loop_partition(loop(sch, "C_i0", 1), [4, 32])


CASES: dict[str, tuple[str, Calls]] = {
    "unit loop above a block": (MATMUL, lambda s: s.add_unit_loop(s.get_sblock("C"))),
    "unit loop above a loop": (MATMUL, lambda s: s.add_unit_loop(loop(s, "C", 1))),
    "unit loop above a block of blocks": (OPAQUE, lambda s: s.add_unit_loop(s.get_sblock("outer"))),
    "unit loop above one of several": (ELEMENTWISE_CHAIN, lambda s: s.add_unit_loop(loop(s, "C", 0))),
    "unit loop above the root": (MATMUL, lambda s: s.add_unit_loop(s.get_sblock("root"))),
    "unit loop that is split": (MATMUL, lambda s: s.split(s.add_unit_loop(s.get_sblock("C")), [1, 1])),
    "unit loop that is fused": (MATMUL, lambda s: s.fuse(loop(s, "C", 2), s.add_unit_loop(s.get_sblock("C")))),
    "partition in two": (ELEMENTWISE_CHAIN, partition("C", 0, [20])),
    "partition in four": (ELEMENTWISE_CHAIN, partition("C", 0, [2, 1, 32])),
    "partition with an inferred piece": (ELEMENTWISE_CHAIN, partition("C", 0, [None, 1, 32])),
    "partition of an inner loop": (ELEMENTWISE_CHAIN, partition("C", 1, [1, 16, None])),
    "partition of a spatial loop above a sum": (MATMUL, partition("C", 0, [2, 1])),
    "partition of a piece": (ELEMENTWISE_CHAIN, piece_of_a_piece),
    "partition above a block of blocks": (OPAQUE, partition("outer", 0, [None, 4])),
    "partition of int64": (INT64, partition("B", 0, [1, 11])),
    "partition of symbolic bounds": (SYMBOLIC, partition("B", 0, [10, None])),
    "partition out of bounds": (ELEMENTWISE_CHAIN, partition("C", 0, [1000, 2])),
    "partition of nothing over": (ELEMENTWISE_CHAIN, partition("C", 0, [32, 32])),
    "partition by zero": (ELEMENTWISE_CHAIN, partition("C", 0, [0, None])),
    "partition by less": (ELEMENTWISE_CHAIN, partition("C", 0, [None, -16])),
    "partition annotated": (
        ELEMENTWISE_CHAIN,
        lambda s: (s.annotate(loop(s, "C", 0), "x", 1), partition("C", 0, [8])(s)),
    ),
    "partition bound": (
        ELEMENTWISE_CHAIN,
        lambda s: (s.bind(loop(s, "C", 0), "threadIdx.x"), partition("C", 0, [8])(s)),
    ),
    "merge outer loops": (APART, merge(("C", 0), ("D", 0))),
    "merge inner loops": (APART, merge(("C", 1), ("D", 1))),
    "merge a chain": (ELEMENTWISE_CHAIN, merge(("B", 1), ("C", 1), ("D", 1))),
    "merge neighbours of a chain": (ELEMENTWISE_CHAIN, merge(("C", 0), ("D", 0))),
    "merge of different lengths": (APART, merge(("C", 0), ("E", 0))),
    "merge at different depths": (APART, merge(("C", 0), ("D", 1))),
    "merge annotated": (APART, lambda s: (s.annotate(loop(s, "C", 0), "x", 1), merge(("C", 0), ("D", 0))(s))),
    "merge across scopes": (SCOPES, merge(("P", 0), ("inner", 0))),
}


@pytest.mark.parametrize("name", CASES)
def test_given_a_call_when_made_on_both_then_they_agree(name):
    text, calls = CASES[name]
    assert_agrees(text, calls)


def test_given_a_tile_when_made_then_it_is_two_splits_and_a_reorder_of_tvm():
    ours = Schedule(parse(MATMUL).program)
    i, j, _ = ours.get_loops("C")
    ours.tile(i, j, factors=[32, 50])
    theirs = tvm_schedule(MATMUL)
    i, j, _ = theirs.get_loops(theirs.get_sblock("C"))
    io, ii = theirs.split(i, [None, 32])
    jo, ji = theirs.split(j, [None, 50])
    theirs.reorder(io, jo, ii, ji)
    assert_same_program(to_script(ours.mod), theirs.mod)
