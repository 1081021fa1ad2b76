"""Cost estimates of candidates before trials: close enough to the replay to choose by. Shared prefixes stay unchanged."""

from __future__ import annotations

import random
from math import inf

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profile import IS_DEEP
from support.programs.layers import Layer
from support.schedules.layer_spaces import TARGETS, layer_space
from support.schedules.spaces import gemm_space

from tilewright.engine.adopt import Hole
from tilewright.engine.explore import EvaluationRequest, Evaluator, Figures, Outcome, Settings, Space, Trial, space_of
from tilewright.engine.explore.search.candidate_pool import CandidatePool
from tilewright.engine.explore.search.estimator import Estimator
from tilewright.engine.explore.search.local_search import estimates_of, rank_of
from tilewright.engine.explore.search.sampler import Sampled
from tilewright.engine.explore.space import prefixes
from tilewright.engine.explore.space.model import Point
from tilewright.engine.explore.space.parameter_axis import ParameterAxis
from tilewright.engine.explore.space.prefixes import Prefixes, Refused
from tilewright.engine.hwsim import CostEstimate, estimate_cost, load_machine
from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.script import read_calls

GEMMINI = load_machine("gemmini")
SPACE = gemm_space()
LAYER = layer_space(Layer("small", 64, 64, 128), TARGETS["dual-bank-npu"])
LATE = next(n for n, hole in enumerate(LAYER.holes) if hole.name == "banks")
ESTIMATOR = Estimator(SPACE, GEMMINI)


def run_walks(pool: CandidatePool, count: int, estimator: Estimator) -> None:
    """Run `count` walks."""
    pool.add([estimate for walk in pool.walks(count) for estimate in estimates_of(walk, estimator)])


def estimator_of(space: Space, machine: str) -> Estimator:
    return Estimator(space, load_machine(machine))


@pytest.mark.slow
@given(st.lists(st.integers(0, SPACE.size - 1), min_size=1, max_size=8), st.sampled_from([1, 3, 512]))
@settings(max_examples=200 if IS_DEEP else 8)
def test_estimator_schedules_are_those_of_the_space(numbers: list[int], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefixes, "MOST_KEPT", most)
        shared = Prefixes(SPACE)
        for point in map(SPACE.point_at, numbers):
            found = shared.at(point)
            try:
                expected = SPACE.schedule_at(point)
            except TilewrightError as error:
                assert isinstance(found, Refused) and found.error.code == error.code
                assert found.line == len(SPACE.lines) - 1  # only the last line, of slots, is ever refused here
            else:
                assert not isinstance(found, Refused)
                assert structural_equal(found.schedule.func, expected.schedule.func)


def tried(space: Space, machine: str, count: int) -> list[tuple[Point, Outcome, CostEstimate | None]]:
    """Candidates from the whole space, each with its outcome and its estimate."""
    estimator, bench = estimator_of(space, machine), Evaluator(space, load_machine(machine), ("cycles",))
    points = [space.point_at(n) for n in range(0, space.size, max(1, space.size // count))]
    return [(point, bench.tried(EvaluationRequest(n, point)), estimator.at(point)) for n, point in enumerate(points)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("space", "machine"), [(SPACE, "gemmini"), (LAYER, "dual-bank-npu")], ids=["gemm", "layer"])
def test_candidates_that_fit_are_estimated_to_fit(space: Space, machine: str) -> None:
    found = tried(space, machine, 40 if IS_DEEP else 24)
    fit = [(outcome, estimate) for _, outcome, estimate in found if outcome.fits]
    assert len(fit) > 5 and all(estimate is not None and estimate.fits for _, estimate in fit)
    refused = [outcome.status for _, outcome, estimate in found if estimate is None]
    assert refused and set(refused) == {"refused"}


@pytest.mark.slow
def test_estimated_cycles_rank_as_simulated_cycles() -> None:
    found = [(o.figures.cycles, x) for _, o, x in tried(LAYER, "dual-bank-npu", 160) if o.fits and o.figures and x]
    assert len(found) > 50
    assert all(
        0 < estimate.busy <= estimate.cycles and 0.5 < estimate.cycles / cycles < 2 for cycles, estimate in found
    )
    pairs = [(a, b) for n, a in enumerate(found) for b in found[:n] if a[0] != b[0] and a[1].cycles != b[1].cycles]
    in_order = sum((a[0] < b[0]) == (a[1].cycles < b[1].cycles) for a, b in pairs)
    assert in_order > 0.85 * len(pairs)
    best = min(found, key=lambda pair: pair[1].rank)
    assert best[0] <= 1.25 * min(cycles for cycles, _ in found)


@pytest.mark.slow
def test_two_accumulator_slots_overlap_stores() -> None:
    estimator = estimator_of(LAYER, "dual-bank-npu")
    sums = next(n for n, hole in enumerate(LAYER.holes) if hole.name == "sums")
    assert LAYER.holes[sums].texts == ("[0, 1]", "[0, 0]") and sums in estimator.scales
    shorter = 0
    for two in [p for p in map(LAYER.point_at, range(0, LAYER.size, 5)) if p[sums] == 0]:
        one = tuple(1 if n == sums else at for n, at in enumerate(two))
        in_two, in_one = estimator.at(two), estimator.at(one)
        if in_two is None or in_one is None:
            assert in_two is in_one
            continue
        assert in_two.filled["local.acc"] == 2 * in_one.filled["local.acc"]
        assert in_two.filled["local.vtcm"] == in_one.filled["local.vtcm"]
        assert in_two.busy == in_one.busy and in_two.cycles <= in_one.cycles
        shorter += in_two.cycles < in_one.cycles
    assert shorter > 5


@pytest.mark.slow
def test_overflow_makes_fuller_points_unpromising() -> None:
    estimator = estimator_of(LAYER, "dual-bank-npu")
    by_size = sorted(
        {(estimate.filled["local.vtcm"], point) for point in map(LAYER.point_at, range(0, LAYER.size, 7))
         if (estimate := estimator.at(point)) and estimate.fits and estimate.slots["local.vtcm"] == 4 and point[LATE] == 0}
    )  # fmt: skip
    (_, small), (size, middle), (more, large) = by_size[0], by_size[len(by_size) // 2], by_size[-1]
    assert size < more and all(map(estimator.is_promising, (small, middle, large)))
    estimator.observe(middle, Outcome("over", None, "capacity-overflow", full="local.vtcm[0]"))
    assert [estimator.is_promising(point) for point in (small, middle, large)] == [True, False, False]
    otherwise = tuple(1 if n == LATE else at for n, at in enumerate(large))
    assert estimator.is_promising(otherwise), "with another layout it may have room"
    estimator.observe(large, Outcome("fits"))
    assert estimator.is_promising(middle) and estimator.is_promising(large)


def test_overflow_of_one_slot_leaves_two_slots_promising() -> None:
    estimator = estimator_of(LAYER, "dual-bank-npu")
    seen = [
        (point, estimate)
        for n in range(0, LAYER.size, 5)
        if (estimate := estimator.at(point := LAYER.point_at(n))) and estimate.fits
    ]
    (one, least), (two, most) = (
        next((p, estimate) for p, estimate in seen if p[LATE] == 0 and estimate.slots["local.acc"] == slots)
        for slots in (1, 2)
    )
    full = {"local.acc": max(least.filled["local.acc"], most.filled["local.acc"])}
    for point, estimate in ((one, least), (two, most)):
        estimator.add(point, msgspec.structs.replace(estimate, filled=full))
    assert estimator.is_promising(one) and estimator.is_promising(two)
    estimator.observe(one, Outcome("over", None, "capacity-overflow", full="local.acc[0]"))
    assert not estimator.is_promising(one) and estimator.is_promising(two)


def test_more_than_a_memory_holds_is_estimated_not_to_fit() -> None:
    small = GEMMINI.replace("memories.scratchpad.capacity_bytes", 2048)
    estimator = Estimator(SPACE, small)
    bench = Evaluator(SPACE, small, ("cycles",))
    points = list(SPACE.points())
    over = [p for p in points if (estimate := estimator.at(p)) is not None and not estimate.fits]
    outcomes = [bench.tried(EvaluationRequest(0, point)) for point in over]
    assert over and {(outcome.status, outcome.full.partition("[")[0]) for outcome in outcomes} == {
        ("over", "local.scratchpad")
    }


def test_points_that_differ_in_layouts_only_have_one_estimate() -> None:
    shared = Prefixes(LAYER)
    one = LAYER.default
    other = tuple(1 if n == LATE else at for n, at in enumerate(one))
    assert LAYER.holes[LATE].name == "banks" and LATE not in shared.seen
    assert shared.early(one) is shared.early(other)
    estimator = estimator_of(LAYER, "dual-bank-npu")
    assert estimator.at(one) is estimator.at(other)


@pytest.mark.slow
@given(st.integers(0, 1000), st.lists(st.integers(1, 3), max_size=4))
@settings(max_examples=200 if IS_DEEP else 8)
def test_law_the_best_estimates_come_first_without_duplicates(seed: int, more: list[int]) -> None:
    def walked() -> list[tuple[float, Point]]:
        pool = CandidatePool(SPACE.default, random.Random(seed))
        for count in (1, *more):
            run_walks(pool, count, ESTIMATOR)
        return list(pool.best(inf))

    found = walked()
    ranks = [rank for rank, _ in found]
    assert ranks == [estimate.rank for _, point in found if (estimate := ESTIMATOR.at(point)) is not None]
    assert len(found) == len(set(found)) and ranks == sorted(ranks)
    assert walked() == found


@pytest.mark.slow
def test_walks_end_with_the_estimated_space() -> None:
    pool = CandidatePool(SPACE.default, random.Random(0))
    for _ in range(30):
        run_walks(pool, 4, ESTIMATOR)
    fit = {
        ESTIMATOR.mixed(p, SPACE.default)
        for p in SPACE.points()
        if (estimate := ESTIMATOR.at(p)) is not None and estimate.fits
    }
    assert {point for _, point in pool.best(inf)} == fit
    least = min(estimate.rank for point in fit if (estimate := ESTIMATOR.at(point)) is not None)
    assert {rank for rank, _ in pool.best(least)} == {least}


def test_the_sampler_estimates_only_in_walks() -> None:
    estimator = estimator_of(SPACE, "gemmini")
    sampled = Sampled(SPACE, Settings(exhaustive=0), estimator)
    while (batch := sampled.batch(16)).points:
        assert batch.walks or len(batch.points) < 16
        sampled.observe([Trial(n, point, Outcome("fits")) for n, point in enumerate(batch.points)], ())
    assert not any(map(estimator.has, SPACE.points()))


@pytest.mark.slow
def test_walks_begin_with_the_best_and_visit_unknown_points() -> None:
    estimator = estimator_of(LAYER, "dual-bank-npu")
    pool = CandidatePool(LAYER.default, random.Random(3))
    (first,) = pool.walks(3)
    assert (first.start, first.known) == (LAYER.default, ())
    known = dict(estimates_of(first, estimator))
    pool.add(known.items())
    walks = list(pool.walks(3))
    least = min(map(rank_of, known.values()))
    for walk in walks:
        assert dict(walk.known) == {point: rank_of(estimate) for point, estimate in known.items()}
        assert rank_of(known[walk.start]) == least
        found = [point for point, _ in estimates_of(walk, estimator)]
        assert len(found) == walk.budget and not known.keys() & found
        assert all(estimator.mixed(point, LAYER.default) == point for point in found)
    assert len({walk.seed for walk in walks}) == 3


def test_space_without_visible_parameters_has_one_estimate() -> None:
    space = space_of(SPACE.program, read_calls('banks = choose("banks", [1, 2])\nsch.annotate("C", "note", banks)\n'))
    estimator = estimator_of(space, "gemmini")
    pool = CandidatePool(space.default, random.Random(0))
    assert not estimator.scales
    run_walks(pool, 4, estimator)
    (again,) = pool.walks(1)
    assert len(list(pool.best(inf))) == 1 and not list(estimates_of(again, estimator))


@pytest.mark.parametrize(
    "arguments",
    ["jo", "jo, stages=3", 'jo, stages=["a", "b"]', '"jo", [0, 1]', "C, [0, 1]", '"none", [0, 1]', "3, [0]"],
)
def test_estimate_of_an_illegal_pipeline_is_promising(arguments: str) -> None:
    lines = (
        'C = sch.get_block("C")\ntile = choose("tile", [4, 8])\n'
        'i, j, k = sch.get_loops(C)\njo, ji = sch.split(j, [None, tile], names=["jo", "ji"])\n'
    )
    space = space_of(SPACE.program, read_calls(f"{lines}sch.pipeline({arguments})\n"))
    estimator, bench = estimator_of(space, "gemmini"), Evaluator(space, GEMMINI, ("cycles",))
    for point in space.points():
        assert bench.tried(EvaluationRequest(0, point)).status == "refused"
        assert estimator.at(point) is None or estimator.is_promising(point)


def test_estimate_of_a_decomposed_reduction_is_close_to_the_whole() -> None:
    lines = 'C = sch.get_block("C")\ni, j, k = sch.get_loops(C)\n'
    one, two = (
        space_of(SPACE.program, read_calls(lines + more)).schedule_at(()).schedule.index
        for more in ("", "D = sch.decompose_reduction(C, k)\n")
    )
    whole, parted = estimate_cost(one, GEMMINI), estimate_cost(two, GEMMINI)
    assert whole.busy <= parted.busy < 1.5 * whole.busy


def test_overestimate_makes_points_promising_again() -> None:
    estimator = estimator_of(SPACE, "gemmini")
    estimate = estimator.at(SPACE.default)
    assert estimate is not None and not estimator.is_promising(SPACE.default, estimate.busy)
    half = Figures(estimate.busy // 2, 1, "dma", 0.0, 0, {})
    estimator.observe(SPACE.default, Outcome("fits", half))
    assert estimator.is_promising(SPACE.default, estimate.busy) and not estimator.is_promising(
        SPACE.default, estimate.busy // 3
    )


def scale(*values: object) -> ParameterAxis:
    return ParameterAxis(Hole("x", "x", values, tuple(map(repr, values))))  # pyright: ignore[reportArgumentType]


def test_neighbours_are_adjacent_numbers_or_similar_lists() -> None:
    numbers = scale(4, 1, 8, 2)
    assert [[(4, 1, 8, 2)[n] for n in numbers.near(at)] for at in range(4)] == [[2, 8], [2], [4], [1, 4]]
    pairs = ((128, 64), (384, 32), (128, 128), (192, 64), (64, 64), (64, 128))
    near = [{pairs[n] for n in scale(*map(list, pairs)).near(at)} for at in range(len(pairs))]
    assert near[0] == {(64, 64), (192, 64), (384, 32), (128, 128)}
    assert near[4] == {(128, 64), (384, 32), (64, 128)}
    assert scale("a", "b", "c").near(1) == [0, 2]
    assert scale([1], [1, 2]).near(0) == [1] and scale([0, 1], [0, 0]).near(0) == [1]
    assert scale(True, False).near(0) == [1] and scale(7).near(0) == []


def test_overflow_ranks_behind_what_fits_and_before_slow_points() -> None:
    fits, large, long = (
        CostEstimate({"local": 1.0}, 90, 100),
        CostEstimate({"local": 4.0}, 60, 60),
        CostEstimate({"local": 0.1}, 200, 200),
    )
    assert sorted([long, large, fits], key=lambda estimate: estimate.rank) == [fits, large, long]
    assert (fits.fits, large.fits) == (True, False) and CostEstimate({}, 1, 7).rank == 7
