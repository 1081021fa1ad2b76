"""decompose_padding and pad_einsum: the new blocks, the meaning kept, and refusals."""

from __future__ import annotations

import pytest

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

PADDED = """
@T.prim_func
def main(A: T.Buffer((8, 5), "float32"), C: T.Buffer((8, 5), "float32")):
    P = T.alloc_buffer((12, 5), "float32")
    for i, j in T.grid(12, 5):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else({condition}, A[vi - 2, vj], {constant})
    for i, j, k in T.grid(8, 5, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + P[vi + vk, vj]
"""

MATMUL = """
@T.prim_func
def main(A: T.Buffer((7, 9), "int32"), B: T.Buffer((9, {width}), "int32"), C: T.Buffer((7, 5), "int32")):
    for i, j, k in T.grid(7, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {init}
            C[vi, vj] = {update}
"""


PARTS = """
@T.prim_func
def main(A: T.Buffer((7, 9), "int32"), B: T.Buffer((9,), "int32"), C: T.Buffer((7,), "int32")):
    D = T.alloc_buffer((7, 9), "int32")
    for i, k in T.grid({made}, 9):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi + 1, vk] = A[vi + 1, vk]
    for i, k in T.grid({loops}, 9):
        with T.block("C"):
            vi = T.axis.spatial((1, 6), i + 1)
            vk = T.axis.reduce(9, k)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + D[vi, vk] * B[vk]
"""


def padded(condition: str = "2 <= vi and vi < 10", constant: str = "T.float32(0)") -> Schedule:
    return Schedule(parse(PADDED.format(condition=condition, constant=constant)).program)


def matmul(update: str = "C[vi, vj] + A[vi, vk] * B[vk, vj]", init: str = "0", width: int = 5) -> Schedule:
    return Schedule(parse(MATMUL.format(update=update, init=init, width=width)).program)


def assert_kept(sch: Schedule) -> None:
    verdict = sch.verify()
    assert verdict.status == "tested", verdict.detail


def assert_refused(code: str, call) -> None:
    with pytest.raises(ScheduleError) as caught:
        call()
    assert caught.value.code == code, caught.value


# decompose_padding


@pytest.mark.parametrize("depth", [0, 1])
def test_decompose_padding_fills_first_and_copies_the_inside(depth):
    sch = padded()
    loop = sch.get_loops("P")[depth]
    assert sch.can_decompose_padding("P", loop)
    assert sch.decompose_padding("P", loop) == "P_pad_const"
    assert sch.index.block("P_pad_const").reads == ()
    assert "if_then_else" not in to_script(sch.func)
    if depth == 0:
        assert [f.extent.value for f in sch.index.loops_of("P")] == [8, 5]
    assert_kept(sch)


def test_decompose_padding_outside_of_overlapping_tiles_fills_once():
    sch = padded()
    outer, _ = sch.split(sch.get_loops("C")[0], [4, 2])
    sch.compute_at("P", outer)
    other = sch.copy()
    for s, depth in ((sch, 0), (other, 1)):
        s.decompose_padding("P", s.get_loops("P")[depth])
        assert_kept(s)


@pytest.mark.parametrize(
    ("code", "condition", "constant"),
    [
        ("trivial-padding", "0 <= vi and vi < 12", "T.float32(0)"),
        ("not-a-padding", "2 <= vi and vi < 10", "A[0, vj]"),
        ("not-a-padding", "2 <= vi and vi < 10 and A[0, 0] < T.float32(1)", "T.float32(0)"),
    ],
)
def test_decompose_padding_without_a_constant_border_is_refused(code, condition, constant):
    sch = padded(condition, constant)
    loop = sch.get_loops("P")[0]
    assert_refused(code, lambda: sch.decompose_padding("P", loop))
    assert not sch.can_decompose_padding("P", loop)


def test_decompose_padding_at_an_unrelated_loop_is_refused():
    sch = padded()
    assert_refused("loop-not-around", lambda: sch.decompose_padding("P", sch.get_loops("C")[0]))


# pad_einsum


@pytest.mark.parametrize("padding", [(4, 4, 4), (1, 1, 8), (16, 1, 1), (7, 5, 9)])
def test_pad_einsum_of_a_matmul_keeps_the_inside(padding):
    sch = matmul()
    sch.pad_einsum("C", padding)
    grown = [-(-e // p) * p for e, p in zip((7, 5, 9), padding, strict=True)]
    assert [f.extent.value for f in sch.index.loops_of("C")] == grown
    assert sch.index.has_block("A_pad") == (grown[0] != 7 or grown[2] != 9)
    assert sch.index.has_block("C_pad") == (grown[0] != 7 or grown[1] != 5)
    assert_kept(sch)


@pytest.mark.parametrize(
    ("code", "make", "padding"),
    [
        ("bad-padding", matmul, (4, 4)),
        ("bad-padding", matmul, (4, 0, 4)),
        ("not-padded-with-zeros", lambda: matmul("T.max(C[vi, vj], A[vi, vk] * B[vk, vj])", 'T.min_value("int32")'), (1, 1, 4)),
        ("not-padded-with-zeros", lambda: matmul("C[vi, vj] + A[vi, vk] * B[vk, vj] + 1"), (1, 1, 4)),
        ("not-padded-with-zeros", lambda: matmul("C[vi, vj] + A[vi, vk] // B[vk, vj]"), (1, 4, 1)),
        ("not-an-einsum", lambda: matmul("C[vi, vj] + A[vi, vk] * B[vk, vj + 1]", width=6), (1, 4, 1)),
        ("not-an-einsum", lambda: matmul(width=6), (1, 4, 1)),
    ],
)  # fmt: skip
def test_pad_einsum_with_zeros_that_would_count_is_refused(code, make, padding):
    sch = make()
    assert_refused(code, lambda: sch.pad_einsum("C", padding))


def test_pad_einsum_of_a_maximum_accepts_spatial_iterators():
    sch = matmul("T.max(C[vi, vj], A[vi, vk] * B[vk, vj])", 'T.min_value("int32")')
    sch.pad_einsum("C", (4, 4, 1))
    assert_kept(sch)


def test_pad_einsum_of_a_split_loop_is_refused():
    sch = matmul()
    sch.split("i", [None, 2])
    assert_refused("not-an-einsum", lambda: sch.pad_einsum("C", (4, 1, 1)))


def test_pad_einsum_copies_the_computed_part_of_an_input():
    sch = Schedule(parse(PARTS.format(made=5, loops=5)).program)
    sch.pad_einsum("C", [1, 4])
    assert "for i0 in range(1, 6)" in to_script(sch.func)
    assert_kept(sch)


def test_pad_einsum_accepts_a_fully_computed_input():
    sch = Schedule(parse(PARTS.format(made=5, loops=4)).program)
    sch.pad_einsum("C", [1, 4])
    assert_kept(sch)
    sch = Schedule(parse(PARTS.format(made=4, loops=4)).program)
    assert_refused("partial-domain", lambda: sch.pad_einsum("C", [1, 4]))


GUARDED = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def guarded(A: T.Buffer((7, 6), "int32"), C: T.Buffer((7, 8), "int32")):
    B = T.sblock_alloc_buffer((7, 6), "int32")
    for i, j in T.grid(7, {made}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 3
    for i, j in T.grid(7, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj < {made}, B[vi, vj], 0)
"""


def test_pad_einsum_of_a_guarded_input_copies_up_to_the_axis():
    sch = Schedule(parse(GUARDED.format(made=6)).program)
    sch.pad_einsum("C", [2, 1])
    assert "for i0, i1 in T.grid(8, 6)" in to_script(sch.func)
    assert_kept(sch)


def test_pad_einsum_of_a_partly_guarded_input_is_refused():
    sch = Schedule(parse(GUARDED.format(made=5)).program)
    assert_refused("region-not-covered", lambda: sch.pad_einsum("C", [2, 1]))
