"""The matmul of the forum post with symbolic M, K and N: each call of its schedule is proved for all sizes."""

from __future__ import annotations

import pytest
from support.profile import IS_DEEP
from support.programs.te_sources import MATMUL_VTCM

import tilewright
from tilewright.engine.prove import prove

pytest.importorskip("islpy")


def test_posted_matmul_is_proved_for_all_sizes() -> None:
    schedule = tilewright.read_te(MATMUL_VTCM).schedule
    assert schedule is not None
    changes = [s for s in schedule.states[1:] if s.trace.steps[-1].changes]
    assert len(changes) > 15
    for state in changes if IS_DEEP else (changes[len(changes) // 2], changes[-1]):
        proof = prove(state.mod[schedule.func_name], schedule.original[schedule.func_name])
        assert (proof.status, proof.detail) == ("proved", "for all inputs"), state.trace.steps[-1].method
