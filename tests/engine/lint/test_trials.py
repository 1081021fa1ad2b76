"""The trials of a lint are shared between its findings, and a finding without trials says so."""

from __future__ import annotations

import pytest
from support.programs.layers import padded_convolution

from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lint import LintFinding, lint, rule
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def scalar_findings() -> list[LintFinding]:
    """The findings about three blocks on the scalar engine."""
    program = parse(padded_convolution(8, 32)).program
    assert isinstance(program, PrimFunc)
    schedule = Schedule(program)
    schedule.split(schedule.get_loops("conv")[1], [None, 4])
    return [f for f in lint(schedule, load_machine("dual-bank-npu")) if f.code == "scalar-engine"]


@pytest.mark.slow
def test_each_finding_gets_trials() -> None:
    found = scalar_findings()
    assert [f.blocks for f in found] == [("conv",), ("bias_add",), ("relu",)]
    assert all(f.fixes and not f.no_fix for f in found)


def test_a_finding_without_trials_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "MOST_TRIALS", 6)
    first, *others = scalar_findings()
    assert first.fixes and [f.no_fix for f in others] == [rule.NO_TRIALS] * 2
