"""Random small programs that nest and repeat: whatever they cost, they keep within the budgets of a server."""

from __future__ import annotations

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


def require_within_budgets(text: str) -> None:
    for cost in worked(text):
        assert cost.seconds < LIMITS.change_seconds + SLACK_S, cost
        assert cost.silence < SILENT_S, cost


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_programs_keep_within_the_budgets(name: str) -> None:
    require_within_budgets(HOSTILE[name]())


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, 10_000, 10) if IS_DEEP else (0,))
def test_random_programs_keep_within_the_budgets(first: int) -> None:
    for seed in (*range(first, first + 10), *FOUND):
        require_within_budgets(random_tower(seed))
