"""Suggested schedules of all blocks: legal, within the memories, as fast as predicted, and close to the lower bound of the program."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from support.programs.layers import PADDED_CONVOLUTION, padded_convolution
from support.programs.real_programs import REAL
from support.programs.sources import ROWS, TINY

import tilewright
from tilewright.engine.execute import verify
from tilewright.engine.explore import program_bound
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import PrimFunc, replay
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse
from tilewright.engine.suggest import RULES, Suggestion, suggesting

HAND = Path(__file__).parents[2] / "hand"
NPU = "dual-bank-npu"
SMALL = {"tiny": TINY, "rows": ROWS}
SCHEDULE = [rule for rule in RULES if rule.code == "schedule"]


def program(name: str) -> PrimFunc:
    """A small program, that of a notebook in tests/hand ("rows/softmax"), or the text itself."""
    if "/" in name:
        found = tilewright.load(HAND / f"{name}.py").program
    else:
        found = parse(REAL[name].text if name in REAL else SMALL.get(name, name)).program
    assert isinstance(found, PrimFunc)
    return found


@cache
def suggested(name: str, machine: str) -> tuple[Schedule, list[tuple[Suggestion, ...]]]:
    """A fresh schedule of a program, and its lists of suggestions."""
    schedule = Schedule(program(name))
    return schedule, rows(schedule, machine)


def rows(schedule: Schedule, machine: str) -> list[tuple[Suggestion, ...]]:
    """The lists of suggestions of the rule, in the order in which they appear."""
    return [row for row in suggesting(schedule, load_machine(machine), rules=SCHEDULE) if row]


def applied(schedule: Schedule, one: Suggestion) -> Schedule:
    after = schedule.copy()
    replay(one.fix.steps, after.make)
    return after


SAMPLED = [
    *(
        (NPU, name)
        for name in ("softmax", "layer_norm", "attention", "depthwise", "batch_matmul", "conv2d", "transpose")
    ),
    (NPU, "grid/max_pool"),
    (NPU, "grid/stencil"),
    ("gemmini", "gemm_int8"),
    ("gemmini", padded_convolution(8, 32, "int8", "int32")),
]


@pytest.mark.parametrize(
    ("machine", "name"),
    [(NPU, "rows"), *(pytest.param(*one, marks=pytest.mark.slow) for one in SAMPLED)],
)
def test_all_blocks_are_scheduled_as_promised(machine: str, name: str) -> None:
    (schedule, found), target = suggested(name, machine), load_machine(machine)
    best = found[-1][0]
    blocks = schedule.index.block_names[1:]
    assert best.title == (f"Schedule all {len(blocks)} blocks" if len(blocks) > 1 else f"Schedule {blocks[0]}")
    assert best.fix.fits and best.decisions
    after = applied(schedule, best)
    report = simulate(after.described, target)
    assert report.cycles == best.fix.cycles < simulate(schedule.func, target).cycles
    assert report.copied_bytes == best.fix.copied
    assert not any(task.engine == "scalar" for task in report.tasks)
    assert verify(schedule.func, after.func).status in ("tested", "proved")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "name", "most"),
    [
        (NPU, PADDED_CONVOLUTION, 1.15),
        (NPU, "rows/layer_norm", 1.1),
        (NPU, "gemm/gemm_odd", 1.2),
        (NPU, "grid/max_pool", 1.05),
        ("gemmini", "gemm/gemmini_int8", 1.4),
    ],
)
def test_one_step_comes_near_the_lower_bound(machine: str, name: str, most: float) -> None:
    func = program(name)
    best = rows(Schedule(func), machine)[-1][0]
    assert best.fix.cycles <= most * program_bound(func, load_machine(machine)).cycles


@pytest.mark.slow
def test_each_faster_one_replaces_the_one_before() -> None:
    found = suggested("rows", NPU)[1]
    assert len(found) > 1 and all(len(row) == 1 for row in found)
    cycles = [row[0].fix.cycles for row in found]
    assert cycles == sorted(cycles, reverse=True) and cycles[-1] < cycles[0]


@pytest.mark.slow
def test_no_schedule_is_proposed_for_a_scheduled_program() -> None:
    schedule, found = suggested("tiny", NPU)
    assert rows(applied(schedule, found[-1][0]), NPU) == []


@pytest.mark.slow
def test_after_one_call_the_rest_is_scheduled() -> None:
    schedule = Schedule(program("tiny"))
    schedule.compute_inline("scaled")
    best = rows(schedule, NPU)[-1][0]
    assert best.title == "Schedule all 2 blocks"
    assert verify(program("tiny"), applied(schedule, best).func).status in ("tested", "proved")
