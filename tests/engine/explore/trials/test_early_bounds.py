"""Bounds before the pipelines are applied never exceed the result, so they reject no best point; shared plans give the cycles of a
lowering from scratch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from support.profile import IS_DEEP

import tilewright
from tilewright.engine.explore import EvaluationRequest, Evaluator, Outcome, Space, space_of
from tilewright.engine.explore.derive.draft import Group, ScheduleDraft
from tilewright.engine.explore.derive.table import SCHEDULE_RULES, apply_rules
from tilewright.engine.explore.search.estimator import Estimator
from tilewright.engine.explore.space.model import Point
from tilewright.engine.explore.trials.early_bounds import EARLY
from tilewright.engine.hwsim import Machine, UnpipedBound, load_machine, simulate
from tilewright.engine.ir import PrimFunc, TilewrightError
from tilewright.engine.lower import planned

HAND = Path(__file__).parents[3] / "hand"
NPU, GEMMINI = load_machine("dual-bank-npu"), load_machine("gemmini")
POINTS, SHARES = (3_000, 10) if IS_DEEP else (8, 1)

CASES: dict[str, tuple[Machine, tuple[str, ...]]] = {
    "rows/softmax": (NPU, ("i", "j")),
    "rows/gated_mlp": (NPU, ("i", "k")),
    "gemm/gemm_gelu": (NPU, ("i", "j")),
    "gemm/gemmini_int8": (GEMMINI, ("j", "i")),
    "conv/depthwise": (NPU, ("h",)),
    "grid/stencil": (NPU, ("y",)),
}


def space(name: str) -> tuple[Space, Machine]:
    """The space of one sketch of a notebook's program."""
    machine, tiled = CASES[name]
    program = tilewright.load(HAND / f"{name}.py").program
    assert isinstance(program, PrimFunc)
    draft = ScheduleDraft(program, machine, {}, "sch", None)
    names = draft.index.block_names[1:]
    loops = [loop.loop_var.name for loop in draft.index.loops_of(names[-1])]
    apply_rules(draft, [Group(names, tuple(n for n in tiled if n in loops) or tuple(loops[:1]))], SCHEDULE_RULES)
    return space_of(program, draft.builder.calls), machine


def some_points(of: Space) -> list[Point]:
    """Points from the whole space, and points of small tiles, which fit."""
    rng = Random(of.size)
    small = [tuple(rng.randrange(min(2, len(h.values))) for h in of.holes) for _ in range(POINTS // 2)]
    return sorted({*small, *map(of.point_at, rng.sample(range(of.size), min(of.size, POINTS // 2)))})


def from_scratch(of: Space, machine: Machine, point: Point) -> tuple[str, int]:
    """Status and cycles of a point from its schedule's text, planned and piped from scratch."""
    try:
        report = simulate(of.schedule_at(point).schedule.func, machine)
    except TilewrightError:
        return "refused", 0
    return "over" if any(f.severity == "error" for f in report.findings) else "fits", report.cycles


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize(
    "name", ["rows/softmax", *(pytest.param(n, marks=pytest.mark.slow) for n in CASES if n != "rows/softmax")]
)
@pytest.mark.parametrize("share", range(SHARES))
def test_outcomes_are_those_of_schedules_from_scratch(name: str, share: int) -> None:
    of, machine = space(name)
    plain, pruning = Evaluator(of, machine, ("cycles",)), Evaluator(of, machine, ("cycles",))
    best, seen = 1 << 60, Counter[str]()
    for number, point in enumerate(some_points(of)[share::SHARES]):
        status, cycles = from_scratch(of, machine, point)
        outcome = plain.tried(EvaluationRequest(number, point))
        seen[outcome.status] += 1
        assert outcome.status == status or (outcome.status, status) == ("over", "refused"), of.texts_at(point)
        assert status != "fits" or (outcome.figures is not None and outcome.figures.cycles == cycles)
        other = pruning.tried(EvaluationRequest(number, point, ((best,),)))
        seen[other.code] += other.code == EARLY
        if status == "fits" and cycles < best:
            assert other == outcome, of.texts_at(point)
            best = cycles
    assert seen["fits"] > 0


def test_most_overflows_are_rejected_before_their_pipelines() -> None:
    early = late = 0
    for name in ("rows/softmax", "conv/depthwise", "gemm/gemm_gelu") if IS_DEEP else ("rows/softmax",):
        of, machine = space(name)
        evaluator = Evaluator(of, machine, ("cycles",))
        found = [evaluator.tried(EvaluationRequest(n, p)) for n, p in enumerate(some_points(of))]
        early += sum(is_early(outcome) for outcome in found)
        late += sum(outcome.status == "over" and not is_early(outcome) for outcome in found)
    assert early > late


def is_early(outcome: Outcome) -> bool:
    return outcome.status == "over" and "at least" in outcome.message


VARIANTS: dict[str, Mapping[str, object]] = {
    "as it is": {},
    "ports of blocks": {"memories.vtcm.block_ports": "own"},
    "two channels": {"engines.dma.channels": 2},
    "tokens": {"engines.vector.wait_cycles": 30, "engines.dma.signal_cycles": 20},
    "bursts": {"memories.vtcm.burst_bytes": 32},
}
"""Parameters of machines on which the cost of a task depends on more than the task."""


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("rows/softmax", "as it is"),
        *(
            pytest.param(n, v, marks=pytest.mark.slow)
            for n in CASES
            for v in VARIANTS
            if (n in ("rows/softmax", "gemm/gemm_gelu") or not VARIANTS[v]) and (n, v) != ("rows/softmax", "as it is")
        ),
    ],
)
def test_pipelined_cycles_and_bytes_are_at_least_the_bounds(name: str, variant: str) -> None:
    of, machine = space(name)
    for path, value in VARIANTS[variant].items():
        machine = machine.replace(path, value)
    prefixes = Estimator(of, machine).prefixes
    checked = bounded = 0
    for point in some_points(of):
        try:
            early, report = prefixes.early(point), simulate(of.schedule_at(point).schedule.func, machine)
            assert hasattr(early, "schedule")
            pipelines = prefixes.pipelines(point, early)  # pyright: ignore[reportArgumentType]
            bound = UnpipedBound(planned(early.schedule.func), machine)  # pyright: ignore[reportAttributeAccessIssue]
        except TilewrightError:
            continue
        live_bytes = bound.live_bytes(pipelines)
        checked += bool(live_bytes)
        bounded += bound.at(pipelines).cycles > 0
        assert bound.at(pipelines).cycles <= report.bound
        for scope, size in live_bytes.items():
            assert size <= sum(m.used_bytes for m in report.memory.values() if m.scope == scope)
    assert checked > 0 and bounded > 0
