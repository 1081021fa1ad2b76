"""The lower bound without a replay never exceeds the replay."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simulator.exactness import tiled, varied

from tilewright.engine.hwsim import (
    Machine,
    MachineError,
    Report,
    load_machine,
    lower_bound_of,
    simulate,
    simulate_tasks,
    tasks_of,
)
from tilewright.engine.ir import PrimFunc

OPERANDS = {"gemmini": ("local.scratchpad", "local.accumulator"), "dual-bank-npu": ("local.vtcm", "local.acc")}


def held(func: PrimFunc, machine: Machine) -> Report:
    """Check the bound against the report, which is returned."""
    program = tasks_of(func, machine)
    least = lower_bound_of(program)
    report = simulate_tasks(program)
    assert least.cycles == report.bound <= report.cycles
    assert least.bounds == report.bounds
    assert least.copied_bytes == report.copied_bytes
    assert least.energy_pj == pytest.approx(report.energy_pj)
    assert all(least.peaks[row] == memory.peak_bytes for row, memory in report.memory.items())
    # The bound leaves no state that changes the replay.
    assert report.to_json() == simulate(func, machine).to_json()
    return report


@given(st.sampled_from(sorted(OPERANDS)), st.integers(0, 2**32))
def test_bound_without_a_replay_is_that_of_the_report(preset: str, seed: int) -> None:
    rng = Random(seed)
    try:
        held(tiled(rng, *OPERANDS[preset]), varied(rng, load_machine(preset)))
    except MachineError:
        return
