"""Random small programs that nest and repeat: whatever they cost, they keep within the budgets of a server."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.fuzzing.towers import HOSTILE, random_tower
from support.fuzzing.workload import worked
from support.profile import IS_DEEP

from tilewright.app.limits import LIMITS

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A callback of the garbage collector, of Hypothesis for example, may swallow the exception of a budget, which is raised again."""

SILENT_S = 0.5
"""Processor time of one piece of work in which no other thread runs."""

SLACK_S = 2.0
"""The system ends a child process up to two seconds after its limit."""

FOUND = (31,)
"""Seeds that needed most, or broke a budget once."""

BATCHES = [range(first, first + 10) for first in range(0, 10_000 if IS_DEEP else 10, 10)]


def require_within_budgets(text: str) -> None:
    for cost in worked(text):
        assert cost.seconds < LIMITS.change_seconds + SLACK_S, cost
        assert cost.silence < SILENT_S, cost


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_programs_keep_within_the_budgets(name: str) -> None:
    require_within_budgets(HOSTILE[name]())


@pytest.mark.deep
@pytest.mark.parametrize("seeds", [FOUND, *BATCHES], ids=lambda seeds: f"from {seeds[0]}")
def test_random_programs_keep_within_the_budgets(seeds: Sequence[int]) -> None:
    for seed in seeds:
        require_within_budgets(random_tower(seed))
