"""Reordered and parallel loops around blocks whose iterators are these loops, split and fused."""

from __future__ import annotations

import pytest

from tilewright.engine.export import to_tvm_python
from tilewright.engine.ir import Var
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

TEXT = """@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m}), "float32"), B: T.Buffer(({n}, {m}), "float32")):
    for i, j, k in T.grid(6, 4, 4):
        with T.sblock("B"):
{where}            vi = T.axis.spatial({n}, {vi})
            vj = T.axis.spatial({m}, {vj})
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def bound(vi: str, vj: str, n: int, m: int, where: str = "") -> Schedule:
    condition = f"            T.where({where})\n" if where else ""
    return Schedule(parse(TEXT.format(n=n, m=m, vi=vi, vj=vj, where=condition)).program)


@pytest.mark.parametrize(
    "sch",
    [
        pytest.param(bound("i * 4 + j", "k", 24, 4), id="split"),
        pytest.param(bound("(i * 4 + j) // 3", "(i * 4 + j) % 3 * 4 + k", 8, 12), id="fused"),
        pytest.param(bound("i * 4 + j", "k", 22, 4, "i * 4 + j < 22"), id="an uneven split"),
        pytest.param(bound("i", "j * 4 + k", 6, 16, "i < 5"), id="a condition on one loop"),
    ],
)
def test_split_and_fused_loops_are_reordered_and_parallelized(sch: Schedule) -> None:
    sch.reorder("k", "i")
    sch.parallel("k")
    assert sch.verify().status == "tested"


CALLS = (lambda s: s.reorder("k", "i"), lambda s: s.parallel("i"), lambda s: s.vectorize("k"))

ONCE = {
    "a gap": bound("i * 4 + j", "k * 16", 24, 64),
    "a condition that ties two iterators": bound("i", "j * 4 + k", 6, 16, "i + k < 7"),
}

REFUSED = {
    "a loop squared": (bound("i * i * 4 + j", "k", 104, 4), "undecided: the bindings or indices are not affine"),
    "the same instance twice": (
        bound("i + j", "k", 9, 4, "i + k < 7"),
        "iterations (i = 0, j = 1, k = 0) and (i = 1, j = 0, k = 0) run the same instance of 'B'",
    ),
}


@pytest.mark.parametrize("name", ONCE)
def test_bindings_that_run_each_instance_once_are_accepted(
    name: str,
) -> None:
    pytest.importorskip("islpy")
    for call in CALLS:
        sch = ONCE[name].copy()
        call(sch)
        assert sch.verify().status == "tested"
        assert "requires iterators that are split and fused loops" in to_tvm_python(sch)


@pytest.mark.parametrize("name", REFUSED)
def test_other_bindings_are_refused_with_a_witness(name: str) -> None:
    pytest.importorskip("islpy")
    sch, witness = REFUSED[name]
    for call in CALLS[:2]:
        with pytest.raises(ScheduleError) as caught:
            call(sch.copy())
        assert caught.value.refusal.code == "not-affine"
        assert caught.value.refusal.found.endswith(witness)


@pytest.mark.parametrize("name", REFUSED)
def test_iterations_of_outer_loops_are_not_compared(name: str) -> None:
    sch = REFUSED[name][0].copy()
    sch.vectorize("k")
    assert sch.verify().status == "tested"


OVERLAPPING = """@T.prim_func(s_tir=True)
def main(X: T.Buffer((4, 17), "float32"), Y: T.Buffer((4, 15), "float32")):
    S = T.sblock_alloc_buffer((4, 17), scope="shared")
    for b in T.thread_binding(5, thread="blockIdx.x"):
        for a0, a1 in T.grid(4, 5):
            with T.sblock("S"):
                v0 = T.axis.spatial(4, a0)
                v1 = T.axis.spatial(17, b * 3 + a1)
                S[v0, v1] = X[v0, v1]
        for i, k in T.grid(4, 3):
            with T.sblock("Y"):
                v0 = T.axis.spatial(4, i)
                v1 = T.axis.spatial(15, b * 3 + k)
                Y[v0, v1] = S[v0, v1] + S[v0, v1 + 2]
"""


def test_an_uneven_split_of_overlapping_windows_is_vectorized() -> None:
    pytest.importorskip("islpy")
    sch = Schedule(parse(OVERLAPPING).program)
    _, *loops = sch.get_loops("S")
    *_, threads, lanes = sch.split(sch.fuse(*loops), [None, 3, 4])
    sch.bind(threads, "threadIdx.x")
    sch.vectorize(lanes)
    assert sch.verify().status == "tested"


def test_squared_outer_loop_is_judged_apart_from_inner_loops() -> None:
    sch = bound("i * i * 4 + j", "k", 104, 4)
    sch.reorder("k", "j")
    assert sch.verify().status == "tested"


def test_reorder_within_overlapping_windows() -> None:
    sch = bound("i * 2 + j", "k", 14, 4)
    sch.reorder("k", "j")
    assert sch.verify().status == "tested"


def test_parallel_windows_of_digits_are_accepted_as_in_tvm() -> None:
    sch = bound("i // 2 * 3 + (j * 4 + k) // 4", "(j * 4 + k) % 4", 10, 4)
    sch.vectorize("k")
    assert sch.verify().status == "tested"


ROUNDED = """@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, ({shape}, 3))
    B = T.match_buffer(b, ({shape}))
    for i, j, k, r in T.grid({shape}, 3):
        with T.sblock("B"):
            vi, vj, vk, vr = T.axis.remap("SSSR", [i, j, k, r])
            with T.init():
                B[vi, vj, vk] = T.float32(0)
            B[vi, vj, vk] = B[vi, vj, vk] + A[vi, vj, vk, vr]
"""


def rounded(shape: str) -> tuple[Schedule, Var, Var]:
    """A sum over fused loops of these extents, split unevenly."""
    sch = Schedule(ROUNDED.format(shape=shape))
    outer, inner = sch.split(sch.fuse(*sch.get_loops("B")[:3]), [None, 16])
    return sch, outer, inner


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "shape", ["16, (n + 1) // 2, 10", "16, (n - 1) // 2 + 1, 10", "(n + 1) // 2, 3, (n + 1) // 2", "4, n, n", "n, 4, n"]
)
def test_rounded_or_repeated_sizes_are_fused_split_and_bound(shape: str) -> None:
    sch, outer, inner = rounded(shape)
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    for n in (1, 5, 8):
        assert sch.check({"n": n}).status in ("proved", "tested")


def test_sizes_that_may_be_negative_are_refused() -> None:
    """For n = 1, two negative extents have a positive product: iterations that the program does not have."""
    sch, outer, _ = rounded("(n - 4) // 2, 3, (n - 4) // 2")
    with pytest.raises(ScheduleError, match="order-dependent"):
        sch.bind(outer, "blockIdx.x")


def test_decision_on_digits_of_a_symbolic_size_ends() -> None:
    sch = Schedule("""\
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (4, n, 8), "float32")
    B = T.match_buffer(b, (4, n, 8), "float32")
    for f, j in T.grid((n + T.int64(7)) // T.int64(8), T.int64(256)):
        with T.sblock("B"):
            v0 = T.axis.spatial(T.int64(4), (f * T.int64(256) + j) // (n * T.int64(8)))
            v1 = T.axis.spatial(n, (f * T.int64(256) + j) % (n * T.int64(8)) // T.int64(8))
            v2 = T.axis.spatial(T.int64(8), j % T.int64(8))
            T.where(f * T.int64(256) + j < n * T.int64(32))
            B[v0, v1, v2] = A[v0, v1, v2] + 1.0
""")
    sch.reorder(*sch.get_loops("B")[::-1])
    assert sch.verify(sizes={"n": 3}).status == "tested"
