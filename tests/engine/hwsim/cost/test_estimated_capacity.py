"""The estimate allocates buffers by the same law as a report."""

from __future__ import annotations

from random import Random

import pytest
from support.profile import samples
from support.simulator.machines import plain
from support.simulator.phases import phased, staged

from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.hwsim import estimate_cost
from tilewright.engine.hwsim.simulate import tasks_of
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

CAPACITY = 2048
PAD = plain().replace("pad.banks", 1).replace("pad.capacity_bytes", CAPACITY)


def both(func: PrimFunc) -> tuple[float, float]:
    """The fraction of the memory that the estimate fills, and that of the report."""
    return estimate_cost(ProgramIndex(func), PAD).filled["local"], tasks_of(func, PAD).places.peaks["local"] / CAPACITY


@pytest.mark.parametrize("seed", samples(range(40), *range(6)))
def test_estimate_shares_addresses_of_stages(seed: int) -> None:
    estimated, reported = both(parse(staged(Random(seed), "local")).program)
    assert estimated == reported


@pytest.mark.parametrize("seed", samples(range(40), *range(6)))
def test_estimate_fills_memory_as_the_report_for_slots_in_phases(seed: int) -> None:
    estimated, reported = both(phased(Random(seed)))
    assert estimated == reported


@pytest.mark.slow
def test_buffers_that_share_addresses_are_estimated_to_fit() -> None:
    small, large = (PAD.replace("pad.capacity_bytes", n * CAPACITY) for n in (3, 96))
    shared = 0
    for seed in range(20):
        index = ProgramIndex(parse(staged(Random(seed), "local", (256,))).program)
        apart = 32 * estimate_cost(index, large).filled["local"]
        shared += apart > 1.0 and estimate_cost(index, small).fits
    assert shared > 3
