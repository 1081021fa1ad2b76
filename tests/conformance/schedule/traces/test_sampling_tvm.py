"""Random decisions: a seed gives TVM's draws, and decisions are adapted as in TVM."""

from __future__ import annotations

from typing import Any

import pytest
from support.programs.sources import MATMUL_RELU

from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm


def drawn(sch: Any, one_of: Any) -> list[Any]:
    """Factors, candidates and seeds in one sequence of draws."""
    i, j, k = sch.get_loops(sch.get_sblock("matmul"))
    found: list[Any] = [one_of(sch.sample_categorical([1, 4, 9, 16], [0.1, 0.2, 0.3, 0.4])) for _ in range(5)]
    for n in (2, 3, 4, 5):
        found.append([one_of(f) for f in sch.sample_perfect_tile(i, n, 64)])
        found.append([one_of(f) for f in sch.sample_perfect_tile(j, n, -1)])
        found.append([one_of(f) for f in sch.sample_partitioned_tile(k, n, n - 1, 4)])
    return [*found, sch.fork_seed(), one_of(sch.sample_categorical([2, 3], [1.0, 1.0]))]


@pytest.mark.parametrize("seed", [1, 7, 42, 10**6, 10**9, 2**31 - 1])
def test_draws_of_a_seed_are_those_of_tvm(seed: int) -> None:
    theirs = tvm.s_tir.Schedule(tvm.script.from_source(to_script(parse(MATMUL_RELU).program)), seed=seed)
    ours = Schedule(MATMUL_RELU, seed=seed)
    assert drawn(ours, lambda v: v) == drawn(theirs, lambda v: int(theirs.get(v)))


@pytest.mark.parametrize("seed", [1, 7, 42, 10**6, 10**9, 2**31 - 1])
def test_locations_of_a_seed_are_those_of_tvm(seed: int) -> None:
    theirs = tvm.s_tir.Schedule(tvm.script.from_source(to_script(parse(MATMUL_RELU).program)), seed=seed)
    ours = Schedule(MATMUL_RELU, seed=seed)
    for sch in (ours, theirs):
        relu, matmul = sch.get_sblock("relu"), sch.get_sblock("matmul")
        sch.split(sch.get_loops(relu)[1], factors=[None, 1, 8])
        copies = [
            sch.cache_read(relu, 0, "local"),
            sch.cache_read(matmul, 0, "local"),
            sch.cache_read(matmul, 1, "local"),
        ]
        for block in copies:
            sch.sample_compute_location(block)
        for decision in (5, 2, 1, -2):
            sch.sample_compute_location(copies[0], decision=decision)
    locations = [step.argument("decision") for step in ours.trace.steps if step.method == "sample_compute_location"]
    decisions = [theirs.trace.decisions[inst] for inst in theirs.trace.insts if inst in theirs.trace.decisions]
    assert locations == [int(d) for d in decisions]


@pytest.mark.parametrize("decision", [[16, 8], [5, 7], [1, 64], [2, 3, 4], [1, 1, 1, 128]])
def test_a_decision_is_adapted_as_in_tvm(decision: list[int]) -> None:
    theirs = tvm.s_tir.Schedule(tvm.script.from_source(to_script(parse(MATMUL_RELU).program)))
    ours = Schedule(MATMUL_RELU)
    for name, more in (
        ("sample_perfect_tile", {}),
        ("sample_partitioned_tile", {"partition_pos": 1, "innerpart_factor": 4}),
    ):
        expected = getattr(theirs, name)(
            theirs.get_loops(theirs.get_sblock("matmul"))[0], len(decision), decision=decision, **more
        )
        found = getattr(ours, name)(ours.get_loops("matmul")[0], len(decision), decision=decision, **more)
        assert found == [int(theirs.get(factor)) for factor in expected]
