"""A schedule's predictions of calls, checked against the calls."""

from __future__ import annotations

import pytest

from tilewright.engine.schedule import Schedule, ScheduleError, Target


def assert_confirmed(sch: Schedule, block: str, target: Target) -> None:
    """Legal exactly when the call succeeds; illegal when neither call does, and the refusal is that of the call."""
    trial = sch.copy()
    if target.legal:
        assert target.refusal is None
        getattr(trial, target.primitive)(block, target.loop)
        return
    for primitive in ("compute_at", "reverse_compute_at"):
        with pytest.raises(ScheduleError) as refused:
            getattr(trial, primitive)(block, target.loop)
        if primitive == target.primitive:
            assert target.refusal is not None
            assert refused.value.code == target.refusal.code
    assert trial.mod is sch.mod


def assert_answers_confirmed(sch: Schedule, block: str) -> None:
    """`legal_targets` of a block, and `can_decompose_padding` at every loop around it."""
    for target in sch.legal_targets(block):
        assert_confirmed(sch, block, target)
    for loop in sch.index.loops_of(block):
        trial = sch.copy()
        answer = trial.can_decompose_padding(block, loop.loop_var)
        try:
            trial.decompose_padding(block, loop.loop_var)
        except ScheduleError:
            assert not answer, f"decompose_padding({block}, {loop.loop_var.name}) is refused"
        else:
            assert answer, f"decompose_padding({block}, {loop.loop_var.name}) is accepted"
