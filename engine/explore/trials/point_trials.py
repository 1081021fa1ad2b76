"""Trials of points of a space: each point is simulated once, however often a derivation asks for it."""

from __future__ import annotations

from math import inf

from ...hwsim import Machine
from ..search.estimator import Estimator
from ..space.model import Point, Space
from .evaluator import EvaluationRequest, Evaluator


class PointTrials:
    """The estimates of the points of a space on a machine, and the cycles of those that are simulated."""

    def __init__(self, space: Space, machine: Machine) -> None:
        self.estimator = Estimator(space, machine)
        self._evaluator = Evaluator(space, machine, ("cycles",), estimator=self.estimator)
        self._cycles: dict[Point, float] = {}
        self._pruned: dict[Point, float] = {}
        self._too_large: set[Point] = set()

    def cycles(self, point: Point, limit: float = inf) -> float:
        """The cycles of a point; infinite if it does not fit, or needs `limit` cycles or more."""
        if limit <= self._pruned.get(point, 0.0):
            return inf
        if point not in self._cycles:
            outcome = self._evaluator.tried(EvaluationRequest(0, point, ((limit,),) if limit < inf else ()))
            self.estimator.observe(point, outcome)
            if outcome.status == "over":
                self._too_large.add(point)
            if outcome.status == "pruned":
                self._pruned[point] = limit
                return inf
            self._cycles[point] = outcome.figures.cycles if outcome.fits and outcome.figures is not None else inf
        return self._cycles[point] if self._cycles[point] < limit else inf

    def is_too_large(self, point: Point) -> bool:
        """Whether a point was simulated and exceeds a memory."""
        return point in self._too_large


__all__ = ["PointTrials"]
