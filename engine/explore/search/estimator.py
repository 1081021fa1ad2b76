"""Cost estimates of points. A schedule is applied only as far as its estimate needs, and lines that points share are applied once.

The estimate ignores layouts, so it can underestimate memory, and uses a simple model of the machine. Evaluated candidates calibrate how
far it can be trusted.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf

from ...analysis import ProgramIndex
from ...hwsim import CostEstimate, Machine, estimate_cost
from ...ir import TilewrightError
from ...lower import with_sizes
from ..space.model import Point, Space
from ..space.parameter_axis import ParameterAxis
from ..space.prefixes import Prefixes, Refused
from ..trials.outcome import Outcome


class Estimator:
    """Estimates points of a space on a machine. `prefixes` are the partially applied schedules, `scales` the axes of the holes with
    several values that estimates depend on."""

    def __init__(self, space: Space, machine: Machine) -> None:
        self._space = space
        self._machine = machine
        self.prefixes = Prefixes(space)
        varied = (n for n in self.prefixes.seen if len(space.holes[n].values) > 1)
        self.scales = {hole: ParameterAxis(space.holes[hole]) for hole in varied}
        self._known: dict[Point, CostEstimate | None] = {}
        self._margins: defaultdict[tuple[Point, str, int], _CapacityMargin] = defaultdict(_CapacityMargin)
        self._overestimate = 1.0

    def at(self, point: Point) -> CostEstimate | None:
        """The estimate of a point, cached; None if one of its calls is refused."""
        values = self._estimated_holes(point)
        if values not in self._known:
            self._known[values] = self._found(point)
        return self._known[values]

    def add(self, point: Point, estimate: CostEstimate | None) -> None:
        """Caches an estimate that was computed elsewhere."""
        self._known[self._estimated_holes(point)] = estimate

    def has(self, point: Point) -> bool:
        """Whether the estimate of the point, or of one that differs only in ignored holes, is cached."""
        return self._estimated_holes(point) in self._known

    def mixed(self, point: Point, rest: Point) -> Point:
        """`rest`, with the holes that estimates depend on from `point`."""
        return tuple(point[n] if n in self.scales else at for n, at in enumerate(rest))

    def is_promising(self, point: Point, cycles: float = inf) -> bool:
        """Whether the calibrated estimate predicts that the calls are accepted, and that the point fits and needs fewer than `cycles`."""
        estimate = self.at(point)
        if estimate is None or not estimate.fits or estimate.busy >= self._overestimate * cycles:
            return False
        return all(self._margin_for(point, estimate, scope).has(filled) for scope, filled in estimate.filled.items())

    def observe(self, point: Point, outcome: Outcome) -> None:
        """Calibrates with the outcome of a point: how full a memory may be by estimate, and how far estimated busy cycles exceed real
        cycles."""
        estimate = self._known.get(self._estimated_holes(point))
        if estimate is None:
            return
        if outcome.fits and outcome.figures is not None:
            self._overestimate = max(self._overestimate, estimate.busy / max(outcome.figures.cycles, 1))
        for scope, filled in estimate.filled.items():
            if outcome.fits or (outcome.status == "pruned" and outcome.figures is not None):
                self._margin_for(point, estimate, scope).took(filled)
            elif outcome.full.partition("[")[0] == scope:
                self._margin_for(point, estimate, scope).refused(filled)

    def _margin_for(self, point: Point, estimate: CostEstimate, scope: str) -> _CapacityMargin:
        """The margin of a memory for a slot count and the holes that estimates ignore. The slot count matters: one slot larger than a
        physical block cannot be placed where two can."""
        return self._margins[self._ignored(point), scope, estimate.slots.get(scope, 0)]

    def _estimated_holes(self, point: Point) -> Point:
        return tuple(point[n] for n in self.scales)

    def _ignored(self, point: Point) -> Point:
        """The positions of the holes that estimates ignore."""
        return tuple(at for n, at in enumerate(point) if n not in self.scales)

    def _found(self, point: Point) -> CostEstimate | None:
        state = self.prefixes.early(point)
        if isinstance(state, Refused):
            return None
        try:
            pipelines = self.prefixes.pipelines(point, state)
        except TilewrightError:
            return None
        index = state.schedule.index
        if self._space.sizes:
            index = ProgramIndex(with_sizes(state.schedule.func, self._space.sizes).func)
        return estimate_cost(index, self._machine, pipelines)


class _CapacityMargin:
    """The estimated fill of a memory that is still accepted: less than every fill that failed. Failures at or below a fill that fitted are
    ignored."""

    def __init__(self) -> None:
        self._most = 0.0
        self._too_much: list[float] = []

    def has(self, filled: float) -> bool:
        return all(filled < least for least in self._too_much)

    def took(self, filled: float) -> None:
        self._most = max(self._most, filled)
        self._too_much = [least for least in self._too_much if least > self._most]

    def refused(self, filled: float) -> None:
        if filled > self._most:
            self._too_much.append(filled)
