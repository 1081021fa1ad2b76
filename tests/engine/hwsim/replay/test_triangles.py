"""Triangular loops: their iterations are skipped although trip counts differ, and every figure equals that of a replay of all tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import samples
from support.simulator.exactness import same_figures, triangle_reports
from support.simulator.machines import roomy
from support.simulator.triangles import causal_attention, doubly_triangular, triangle_in_triangle, triangular

from tilewright.engine.hwsim import MachineError, Report, load_machine, simulate
from tilewright.engine.hwsim.replay.repeats import Repeat, length_of, weights
from tilewright.engine.hwsim.replay.series import Series
from tilewright.engine.hwsim.replay.time_map import Density, TimeMap
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

MOST = 8_000

SEEDS = (1027, 2003, 2009, 2010, 2016, 2023, 2028, 2031)
"""Of nests with all forms of inner loops; in most, rows of the triangle are skipped."""


@lru_cache(maxsize=len(SEEDS))
def both_ways(seed: int, nest: Callable[[Random], PrimFunc] = triangular) -> tuple[Report, Report] | None:
    """All tasks replayed, without any analysis of triangles, and as few as possible; None if all are too many for a test."""
    try:
        return triangle_reports(Random(seed), MOST, nest)
    except MachineError:
        return None


def known(seed: int) -> tuple[Report, Report]:
    found = both_ways(seed)
    assert found is not None
    return found


def tasks(report: Report) -> list[tuple[int, int, tuple[int, ...]]]:
    """(start, end, iterations of the surrounding loops) of every task of the program."""
    line = report.timeline
    return [(int(line.starts[r.row]) + r.later, int(line.ends[r.row]) + r.later, r.place) for r in line.unrolled()]


def busy(report: Report, cycles: list[int]) -> list[list[int]]:
    """The cycles that each engine was busy before each of these cycles."""
    line = report.timeline
    length = int(line.there.max(initial=0))
    return Density(line.starts, line.ends, line.engines, 8, TimeMap(line.repeats, length)).before(cycles).tolist()


def require_same(found: tuple[Report, Report] | None) -> None:
    if found is not None:
        plain, fast = found
        assert same_figures(fast, plain)
        assert tasks(fast) == tasks(plain)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_triangle_costs_what_a_plain_replay_finds(seed: int) -> None:
    require_same(known(seed))


# Ranges of a triangle have other lengths in equivalent iterations: their iterations have no equivalents there.
@pytest.mark.parametrize("seed", samples([2007, 2017], 2017))
def test_nested_triangle_costs_what_a_plain_replay_finds(seed: int) -> None:
    found = both_ways(seed, doubly_triangular)
    assert found is not None
    require_same(found)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([triangular, doubly_triangular]))
def test_law_any_triangle_costs_what_a_plain_replay_finds(seed: int, nest: Callable[[Random], PrimFunc]) -> None:
    require_same(both_ways(seed, nest))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("middle", "inner", "runs"),
    [
        ("p", "q", lambda n, p: range(p)),
        ("p + 1", "q + 1", lambda n, p: (q + 1 for q in range(p + 1))),
        ("p", "p - q", lambda n, p: (p - q for q in range(p))),
        ("p + 2", "p + q", lambda n, p: (p + q for q in range(p + 2))),
        ("{n} - p", "q", lambda n, p: range(n - p)),
    ],
)
def test_replay_of_a_nested_triangle_does_not_grow(
    middle: str, inner: str, runs: Callable[[int, int], Iterable[int]]
) -> None:
    def report(n: int) -> Report:
        return simulate(parse(triangle_in_triangle(n, middle.format(n=n), inner)).program, roomy())

    def count(n: int) -> int:
        return sum(1 + 2 * k for p in range(n) for k in runs(n, p))

    some = {n: report(n) for n in (60, 100, 140, 180, 220)}
    small, large = some[60], report(1000)
    assert len(large.segments) == len(small.segments) < 10_000
    assert sum(kind.tasks for kind in small.tasks) == count(60)
    assert max(r.length.degree for r in large.timeline.repeats) == 2
    cycles = [found.cycles for found in some.values()]
    assert np.diff(np.array(cycles), 4).tolist() == [0]
    assert sum(some[100].engines["dma"].stall.values()) + some[100].engines["dma"].busy == cycles[1]


def require_same_window(found: tuple[Report, Report], parts: list[float]) -> None:
    plain, fast = found
    cycles = sorted(round(part * plain.cycles) for part in parts)
    assert busy(fast, cycles) == busy(plain, cycles)
    start, end = cycles[0], cycles[1]
    inside = [(int(r.row), r.later, r.place) for r in fast.timeline.unrolled(start, end)]
    line = fast.timeline
    assert inside == [
        (int(r.row), r.later, r.place)
        for r in line.unrolled()
        if line.starts[r.row] + r.later < end and max(line.there[r.row], line.starts[r.row] + 1) + r.later > start
    ]
    time_map = TimeMap(line.repeats, int(line.there.max(initial=0)))
    at = start
    for stretch in time_map.stretches(start, end):
        assert stretch.start + stretch.later == at
        assert time_map.at(at).simulated == stretch.start
        at += stretch.end - stretch.start
    assert at == end


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", samples(SEEDS, *SEEDS[:3]))
def test_a_window_of_a_triangle_has_its_tasks(seed: int) -> None:
    require_same_window(known(seed), [0.2, 0.7])


@pytest.mark.slow
@given(st.integers(0, 2**32), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_law_any_window_of_a_triangle_has_its_tasks(seed: int, parts: list[float]) -> None:
    found = both_ways(seed)
    if found is not None:
        require_same_window(found, parts)


@pytest.mark.parametrize("seed", [2031, 2003, 1027])
def test_task_of_a_triangle_is_found_by_its_indices(seed: int) -> None:
    line, program = known(seed)[1].timeline, known(seed)[1].segments.program
    for row in [*line.unrolled()][::37]:
        template = program.variants[int(line.numbers[row.row])].template
        variants = np.array([v.template == template for v in program.variants])
        assert line.find(variants, row.place) == int(line.starts[row.row]) + row.later


@pytest.mark.slow
def test_triangles_have_iterations_to_skip() -> None:
    every, fast = zip(*map(known, SEEDS), strict=True)
    assert sum(any(r.more for r in report.timeline.repeats) for report in fast) >= 4
    assert sum(len(report.segments) for report in fast) < 0.6 * sum(len(report.segments) for report in every)


@pytest.mark.parametrize("mask", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tile", [128, pytest.param(64, marks=pytest.mark.slow)])
def test_causal_attention_of_any_length_replays_few_tasks(tile: int, mask: bool) -> None:
    def report(n: int) -> Report:
        return simulate(parse(causal_attention(n, tile, mask=mask)).program, load_machine("dual-bank-npu"))

    small, large = (report(n * tile) for n in (64, 1024))
    assert len(large.segments) == len(small.segments) < 2_000
    assert sum(k.tasks for k in large.tasks if k.block == "qk") == 1024 * 1025 // 2


@pytest.mark.slow
def test_cycles_of_causal_attention_are_a_quadratic_polynomial() -> None:
    cycles = [
        simulate(parse(causal_attention(64 * n, 64)).program, load_machine("dual-bank-npu")).cycles
        for n in (100, 200, 300, 400)
    ]
    differences: Any = np.diff(cycles, 3)
    assert differences.tolist() == [0]


def test_growing_repeats_sum_a_series() -> None:
    inner = Repeat(0, 20, 25, Series(((5, ()),)), 2, 3, 5, 1, (99,), 1, more={1: 2})
    outer = Repeat(1, 10, 40, length_of(30, [inner]), 3, 2, 6, 0, (9,), 1, moves={5: (2,)})
    assert weights((inner, outer), [(3, 5), (2, 6)], 8).tolist() == [1, 1, 4, 24, 24, 4, 1, 1]
    assert outer.total({}) == 40 + 50 + 60 + 70 and outer.omitted == 180
    assert [outer.copy_at(cycle, {}) for cycle in (0, 39, 40, 89, 90, 219)] == [0, 0, 1, 1, 2, 3]
    assert [inner.total({1: copy}) for copy in range(4)] == [15, 25, 35, 45]
    assert outer.later((1, 4), 3, 5) == (4, 10) and outer.later((1, 4), 3, 2) == (4, 4)
