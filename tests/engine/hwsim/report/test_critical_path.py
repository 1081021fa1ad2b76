"""The critical path: without gaps, independent of skipped repeats; each step releases the next."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from random import Random

import pytest
from support.simulator.exactness import EVERYTHING, MACHINES, MOST_TASKS, tiled, triangle_reports, varied
from support.simulator.machines import roomy
from support.simulator.triangles import causal_attention, doubly_triangular, triangle_in_triangle, triangular

from tilewright import report_text
from tilewright.engine.hwsim import Machine, MachineError, Report, load_machine, simulate
from tilewright.engine.hwsim.replay.critical_path.path import Path, totals
from tilewright.engine.hwsim.replay.critical_path.search import critical_path
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

LIMIT = 4_000
"""Runs with more tasks are too slow for a test."""

SEEDS = (0, 1, 2, 6, 10, 20)
"""Of tiled programs and of triangles."""


@cache
def reports(seed: int) -> tuple[Report, Report] | None:
    """The reports of a random program with as few tasks replayed as possible, and with all."""
    rng = Random(seed)
    try:
        if seed % 3 == 0:
            every, few = triangle_reports(rng, MOST_TASKS, doubly_triangular if seed % 2 else triangular)
        else:
            base, *scopes = rng.choice(MACHINES)
            func, machine = tiled(rng, *scopes), varied(rng, base)
            few, every = (simulate(func, machine, MOST_TASKS, whole=whole) for whole in (0, EVERYTHING))
    except (MachineError, ScheduleError):
        return None
    return (few, every) if len(every.segments) <= LIMIT else None


def require_same_paths(found: tuple[Report, Report] | None) -> None:
    assert found is not None
    few, every = (report.critical_path for report in found)
    assert few.parts == every.parts
    assert sum(part.cycles for part in few.parts) == found[0].cycles
    middle = found[0].cycles // 2, found[0].cycles // 2 + 2_000
    assert [s[1:] for s in few.steps(*middle)] == [s[1:] for s in every.steps(*middle)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_critical_path_is_that_of_every_task_replayed(seed: int) -> None:
    require_same_paths(reports(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 64, 8))
def test_law_the_critical_path_is_that_of_every_task_replayed(first: int) -> None:
    for found in filter(None, map(reports.__wrapped__, range(first, first + 8))):
        require_same_paths(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_of_the_path_cover_the_run_without_gaps(seed: int) -> None:
    found = reports(seed)
    assert found is not None
    report = found[0]
    steps = list(report.critical_path.steps(0, report.cycles))
    assert steps[0].until == report.cycles and steps[-1].start == 0
    assert all(before.until == after.start for after, before in itertools.pairwise(steps))
    real = {(s.engine, s.start): s for s in report.segments.between(0, report.cycles)}
    for step in steps:
        task = real[report.critical_path.engine_of(step), step.start]
        assert step.until in (task.start, task.end, task.ready) or step.cause == "data"


def test_shares_are_those_of_the_steps() -> None:
    found = reports(20)
    assert found is not None
    path, cycles = found[0].critical_path, found[0].cycles
    edges = [cycles * n // 37 for n in range(38)]
    names = [engine.name for engine in found[0].program.machine.engines]
    shares = path.shares(edges, found[0].timeline.engines.tolist(), len(names))
    for n, (low, high) in enumerate(itertools.pairwise(edges)):
        of: Counter[str] = Counter()
        for step in path.steps(low, high):
            of[path.engine_of(step)] += min(step.until, high) - max(step.start, low)
        assert [round(share * (high - low)) for share in shares[n]] == [of[name] for name in names]


GEMM = """
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer(({n}, 4096), "float32"), B: T.Buffer((4096, 4096), "float32"), C: T.Buffer(({n}, 4096), "float32")):
    for i, j, k in T.grid({n}, 4096, 4096):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""


def test_path_of_millions_of_tasks_and_its_text() -> None:
    sch = Schedule(parse(GEMM.format(n=1 << 20)).program)
    tiles = [sch.split(loop, factors=[None, 64]) for loop in sch.get_loops("C")]
    sch.reorder(*(t[0] for t in tiles), *(t[1] for t in tiles))
    for n in (0, 1):
        copy = sch.cache_read("C", n, "local.vtcm")
        sch.compute_at(copy, tiles[2][0])
        sch.double_buffer(copy)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local.acc"), tiles[1][0])
    report = simulate(sch.func, load_machine("dual-bank-npu"))
    assert sum(engine.tasks for engine in report.engines.values()) > 10**8
    assert sum(part.cycles for part in report.critical_path.parts) == report.cycles
    largest = report.critical_path.parts[0]
    assert largest.engine == "dma" and largest.cause == "engine"
    (line,) = (
        x for x in report_text(report).splitlines() if x.startswith(f"{largest.block} ") and f"{largest.cycles:,}" in x
    )
    assert "dma" in line


def path_of(text: str, machine: Machine) -> Path:
    report = simulate(parse(text).program, machine)
    path = critical_path(report.program, report.timeline)
    assert path.until == report.cycles == sum(step.cycles * times for step, times in totals(path))
    return path


@pytest.mark.slow
def test_path_of_causal_attention_has_few_iterations_at_any_length() -> None:
    small, large = (path_of(causal_attention(n * 64, 64, mask=True), load_machine("dual-bank-npu")) for n in (64, 1024))
    assert len([*totals(small)]) == len([*totals(large)]) < 1_000


@pytest.mark.slow
def test_path_of_a_nested_triangle_has_few_iterations() -> None:
    small, large = (path_of(triangle_in_triangle(n, "p", "q"), roomy()) for n in (100, 1000))
    assert len([*totals(small)]) == len([*totals(large)]) < 12_000
