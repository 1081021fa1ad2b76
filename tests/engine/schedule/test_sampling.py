"""Random decisions: their results, traces, repetition and export, and the use of a location."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.sources import MATMUL, MATMUL_RELU

from tilewright.engine.export import to_tvm_python
from tilewright.engine.ir import first_difference
from tilewright.engine.schedule import Schedule, ScheduleError

SYMBOLIC = """\
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.sblock("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] + 1.0
"""


def test_draws_of_a_seed_are_repeatable() -> None:
    def drawn(seed: int) -> tuple[list[int | None], Schedule]:
        sch = Schedule(MATMUL, seed=seed)
        i, _, _ = sch.get_loops("C")
        factors = sch.sample_perfect_tile(i, n=3)
        sch.split(i, factors=factors)
        return factors, sch

    factors, sch = drawn(7)
    assert drawn(7)[0] == factors and any(drawn(seed)[0] != factors for seed in range(8, 12))
    assert sch.trace.steps[1].argument("decision") == tuple(factors)
    assert first_difference(sch.replayed().mod, sch.mod) is None
    sch.seed(7)
    assert sch.fork_seed() == Schedule(MATMUL, seed=7).fork_seed()


@given(st.integers(0, 2**31), st.integers(1, 5), st.sampled_from((-1, 1, 4, 16)))
def test_factors_of_a_perfect_tile_multiply_to_the_extent(seed: int, n: int, most: int) -> None:
    sch = Schedule(MATMUL, seed=seed)
    if n == 1 and most != -1:
        most = -1
    factors = sch.sample_perfect_tile(sch.get_loops("C")[0], n=n, max_innermost_factor=most)
    assert prod(f or 0 for f in factors) == 128 and len(factors) == n
    assert most == -1 or (factors[-1] or 0) <= most


@given(st.integers(0, 2**31), st.integers(0, 2), st.sampled_from((1, 2, 8)))
def test_inner_partitioned_tile_is_a_multiple(seed: int, position: int, factor: int) -> None:
    sch = Schedule(MATMUL, seed=seed)
    factors = sch.sample_partitioned_tile(sch.get_loops("C")[0], 3, position, factor)
    assert prod(f or 0 for f in factors) == 128 and prod(f or 0 for f in factors[position:]) % factor == 0


@pytest.mark.parametrize(
    ("decision", "expected"),
    [([16, 8], [16, 8]), ([5, 7], [1, 128]), ([1, 1, 64], [2, 1, 64]), ([0, 3, 4], [1, 32, 4])],
)
def test_a_decision_is_adapted_to_the_extent(decision: list[int], expected: list[int]) -> None:
    sch = Schedule(MATMUL)
    assert sch.sample_perfect_tile("i", len(decision), decision=decision) == expected  # pyright: ignore[reportArgumentType]


def test_indivisible_partitioned_decision_is_the_default() -> None:
    sch = Schedule(MATMUL)
    loop = sch.get_loops("C")[0]
    assert sch.sample_partitioned_tile(loop, 3, 1, 8, decision=[64, 2, 1]) == [16, 8, 1]
    assert sch.sample_partitioned_tile(loop, 2, 1, 3, decision=[64, 2]) == [None, 1], "3 does not divide 128"


def test_outer_factor_of_a_symbolic_loop_is_left_to_split() -> None:
    sch = Schedule(SYMBOLIC)
    (loop,) = sch.get_loops("B")
    factors = sch.sample_perfect_tile(loop, 2)
    assert factors == [None, 1] and len(sch.split(loop, factors=factors)) == 2
    assert sch.replayed().trace.as_python() == sch.trace.as_python()


def test_a_candidate_is_drawn_by_its_probability() -> None:
    sch = Schedule(MATMUL, seed=1)
    assert {sch.sample_categorical([3, 5, 9], [0.5, 0.0, 0.5]) for _ in range(40)} == {3, 9}
    assert sch.sample_categorical([3, 5, 9], [0.5, 0.0, 0.5], decision=1) == 5


@pytest.mark.parametrize(
    ("decision", "loops", "inlined"), [(-1, 0, False), (-2, 0, True), (0, 1, False), (1, 2, False), (9, 2, False)]
)
def test_a_sampled_location_moves_the_block(decision: int, loops: int, inlined: bool) -> None:
    sch = Schedule(MATMUL_RELU)
    copy = sch.cache_read("relu", 0, "local")
    sch.compute_at(copy, sch.sample_compute_location(copy, decision=decision))
    assert sch.index.has_block(copy) != inlined
    if loops:
        assert [v.name for v in sch.get_loops(copy)[:loops]] == [v.name for v in sch.get_loops("relu")[:loops]]
    assert first_difference(sch.replayed().mod, sch.mod) is None
    assert sch.verify().status == "tested"


def test_a_drawn_location_is_legal() -> None:
    found = set()
    for seed in range(0, 2**31, 2**27):
        sch = Schedule(MATMUL_RELU, seed=seed)
        copy = sch.cache_read("relu", 0, "local")
        sch.compute_at(copy, sch.sample_compute_location(copy))
        found.add(sch.trace.steps[1].argument("decision"))
    assert found == {-2, -1, 0, 1}


def test_exported_samples_have_their_decisions() -> None:
    sch = Schedule(MATMUL)
    i, _, _ = sch.get_loops("C")
    sch.split(i, factors=sch.sample_perfect_tile(i, 2, decision=[32, 4]))
    sch.sample_categorical([1, 2], [0.5, 0.5], decision=1)
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, sch.sample_compute_location(copy, decision=1))
    sch.enter_postproc()
    text = to_tvm_python(sch)
    for part in (
        "sch.sample_perfect_tile(i, 2, decision=[32, 4])",
        "sch.sample_categorical([1, 2], [0.5, 0.5], decision=1)",
        "sch.sample_compute_location(A_shared, decision=1)",
        "sch.enter_postproc()",
    ):
        assert part in text


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.sample_categorical([1, 2], [1.0]),
        lambda s: s.sample_categorical([], []),
        lambda s: s.sample_categorical([1, 2], [0.0, 0.0]),
        lambda s: s.sample_categorical([1, 2], [0.5, 0.5], decision=2),
        lambda s: s.sample_perfect_tile("i", 0),
        lambda s: s.sample_perfect_tile("i", 1, max_innermost_factor=16),
        lambda s: s.sample_perfect_tile("i", 2, max_innermost_factor=0),
        lambda s: s.sample_perfect_tile("i", 3, decision=[2, 64]),
        lambda s: s.sample_partitioned_tile("i", 2, 2, 4),
        lambda s: s.sample_partitioned_tile("i", 2, 1, 0),
        lambda s: s.seed(-2),
    ],
)
def test_an_impossible_decision_is_refused(call) -> None:
    sch = Schedule(MATMUL)
    with pytest.raises(ScheduleError) as caught:
        call(sch)
    assert caught.value.code in ("bad-decision", "bad-seed") and not sch.trace.steps
