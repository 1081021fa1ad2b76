"""Indices that differ in every iteration, with symbolic sizes."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.schedules.integers import value

from tilewright.engine.analysis.separation import is_injective
from tilewright.engine.ir import Expr, Var, build
from tilewright.engine.schedule import Schedule, ScheduleError

N, M = Var("n", "int64"), Var("m", "int64")
I, J, K = (Var(name, "int64") for name in "ijk")  # noqa: E741
ONE = build.const(1, "int64")
ROUNDED = build.floordiv(build.add(N, 3), 4)

EXTENTS = {I: build.const(3, "int64"), J: ROUNDED, K: M}
RANGES = {v: build.make_range(build.const(0, "int64"), extent) for v, extent in EXTENTS.items()}


def digits(*weights: tuple[Var, Expr]) -> Expr:
    total: Expr = build.const(0, "int64")
    for loop, weight in weights:
        total = build.add(total, build.mul(loop, weight))
    return total


@pytest.mark.parametrize(
    "indices",
    [
        [digits((I, build.mul(ROUNDED, M)), (J, M), (K, ONE))],
        [digits((I, ROUNDED), (J, ONE)), K],
        [digits((J, build.const(3, "int64")), (I, ONE)), build.add(K, N)],
        [digits((K, ROUNDED), (J, ONE)), I],
    ],
)
def test_digits_of_symbolic_sizes_are_injective(indices: list[Expr]) -> None:
    assert is_injective(indices, RANGES)


WEIGHTS = st.sampled_from([ONE, M, ROUNDED, N, build.mul(ROUNDED, M), build.const(3, "int64"), build.add(M, 1)])


@given(
    st.lists(st.tuples(st.permutations([I, J, K]), st.lists(WEIGHTS, min_size=3, max_size=3)), min_size=1, max_size=2)
)
def test_law_injective_indices_differ_for_all_sizes(drawn: list[tuple[list[Var], list[Expr]]]) -> None:
    indices = [digits(*zip(loops[: 3 - n], weights, strict=False)) for n, (loops, weights) in enumerate(drawn)]
    if not is_injective(indices, RANGES):
        return
    for n, m in product((1, 4, 7), (1, 2, 5)):
        sizes = {N: n, M: m}
        counts = [value(EXTENTS[v], sizes) for v in (I, J, K)]
        points = [dict(zip((I, J, K), point, strict=True)) for point in product(*map(range, counts))]
        found = {tuple(value(index, sizes | point) for index in indices) for point in points}
        assert len(found) == len(points)


DIRECT = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((40,), "float32")):
    for i, j in T.grid(3, 4):
        with T.sblock("B"):
            T.reads(A[i, j])
            T.writes(B[i * {a} + j * {b}])
            B[i * {a} + j * {b}] = A[i, j]
"""


@given(st.integers(0, 8), st.integers(0, 5), st.sampled_from(["i", "j"]))
def test_law_iterations_of_a_block_without_iterators_are_concurrent_if_they_write_apart(
    a: int, b: int, moving: str
) -> None:
    points = list(product(range(3), range(4)))
    number = "ij".index(moving)
    inner = [n for n in range(2) if n >= number]
    meet = any(
        p[number] != q[number] and p[0] * a + p[1] * b == q[0] * a + q[1] * b
        for p, q in product(points, points)
        if all(p[n] == q[n] for n in range(2) if n not in inner)
    )
    sch = Schedule(DIRECT.format(a=a, b=b))
    try:
        sch.parallel(sch.get_loops("B")[number])
        accepted = True
    except ScheduleError as error:
        assert error.refusal.code == "order-dependent"
        accepted = False
    assert accepted == (not meet)


WITHOUT_ITERATORS = """@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    h = T.int64()
    w = T.int64()
    A = T.match_buffer(a, (h, w), "float32")
    B = T.match_buffer(b, (h, w), "float32")
    for i, j in T.grid(h, w):
        with T.sblock("B"):
            T.reads(A[i, j])
            T.writes(B[i, j])
            B[i, j] = A[i, j] * T.float32(2)
"""


def test_a_block_without_iterators_is_tiled_at_symbolic_sizes() -> None:
    sch = Schedule(WITHOUT_ITERATORS)
    i, j = sch.get_loops("B")
    (i0, i1), (j0, j1) = sch.split(i, [4, None]), sch.split(j, [4, None])
    sch.reorder(i0, j0, i1, j1)
    sch.bind(i0, "blockIdx.x")
    assert sch.verify(sizes={"h": 10, "w": 7}).status == "tested"
