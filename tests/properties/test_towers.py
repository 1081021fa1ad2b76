"""Random small programs that nest and repeat stay within the budgets of a server."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from support.fuzzing.towers import HOSTILE, random_tower
from support.fuzzing.workload import worked
from support.profile import IS_DEEP, samples

from tilewright.app.limits import LIMITS
from tilewright.engine.prove import proof

SILENT_S = 0.5
"""Processor time of one piece of work in which no other thread runs."""

SLACK_S = 2.0
"""The system ends a child process up to two seconds after its limit."""

FOUND = (31,)
"""Seeds with the highest cost, or that once exceeded a budget."""

QUICK = ("2^20 irregular copies",)
"""A program that ends at the budget of masks. `test_size` has those that are refused for their size."""

SEEDS = int(os.environ.get("TOWERS", "500" if IS_DEEP else "10"))
"""`TOWERS=10000` takes about four hours of one core."""

BATCHES = [range(first, first + 10) for first in range(0, SEEDS, 10)]


@pytest.fixture(autouse=True)
def short_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the budget of proofs, except in deep runs."""
    if not IS_DEEP:
        monkeypatch.setattr(proof, "PROOF_SECONDS", 0.3)
        monkeypatch.setattr(proof, "RUN_SECONDS", 0.3)


def require_within_budgets(text: str) -> None:
    for cost in worked(text):
        assert cost.seconds < LIMITS.change_seconds + SLACK_S, cost
        assert cost.silence < SILENT_S, cost


@pytest.mark.parametrize("name", samples(HOSTILE, *QUICK))
def test_hostile_programs_stay_within_the_budgets(name: str) -> None:
    require_within_budgets(HOSTILE[name]())


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [FOUND, *BATCHES], ids=lambda seeds: f"from {seeds[0]}")
def test_random_programs_stay_within_the_budgets(seeds: Sequence[int]) -> None:
    for seed in seeds:
        require_within_budgets(random_tower(seed))
