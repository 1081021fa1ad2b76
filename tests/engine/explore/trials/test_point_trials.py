"""Trials of the points of sketches: a derivation simulates each point once and builds one estimator for each sketch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.programs.sources import ROWS

import tilewright
from tilewright.engine.explore import EvaluationRequest, Evaluator, Outcome, Space, derive_space
from tilewright.engine.explore.search.estimator import Estimator
from tilewright.engine.explore.space.model import Point
from tilewright.engine.explore.trials import point_trials
from tilewright.engine.explore.trials.point_trials import PointTrials
from tilewright.engine.hwsim import Machine, load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

HAND = Path(__file__).parents[3] / "hand"
NPU = load_machine("dual-bank-npu")


def program(name: str) -> PrimFunc:
    found = parse(ROWS).program if name == "rows" else tilewright.load(HAND / f"{name}.py").program
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    "name", ["rows", *(pytest.param(n, marks=pytest.mark.slow) for n in ("rows/softmax", "grid/edges"))]
)
def test_a_derivation_simulates_each_point_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated, estimators = Counter[tuple[str, Point]](), Counter[str]()

    class CountedEvaluator(Evaluator):
        def tried(self, question: EvaluationRequest) -> Outcome:
            outcome = super().tried(question)
            simulated[self._space.text_at(self._space.default), question.point] += outcome.fits
            return outcome

    class CountedEstimator(Estimator):
        def __init__(self, space: Space, machine: Machine) -> None:
            super().__init__(space, machine)
            estimators[space.text_at(space.default)] += 1

    monkeypatch.setattr(point_trials, "Evaluator", CountedEvaluator)
    monkeypatch.setattr(point_trials, "Estimator", CountedEstimator)
    derive_space(program(name), NPU)
    assert max(simulated.values()) == 1
    assert len(estimators) > 1 and max(estimators.values()) == 1


@pytest.mark.slow
def test_pruned_point_is_retried_at_a_higher_limit() -> None:
    space = derive_space(program("rows"), NPU).space
    point, exact = space.default, Evaluator(space, NPU, ("cycles",)).tried(EvaluationRequest(0, space.default))
    assert exact.figures is not None
    cycles, trials = exact.figures.cycles, PointTrials(space, NPU)
    assert trials.cycles(point, 1.0) == float("inf")
    assert trials.cycles(point, cycles) == float("inf")
    assert trials.cycles(point) == cycles
    assert trials.cycles(point, cycles + 1.0) == cycles
    assert trials.cycles(point, cycles) == float("inf")
