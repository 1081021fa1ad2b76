"""Points looked at: each schedule is applied as far as it takes to see what it moves and holds, once for all that are alike so far.

A look sees no layouts, which may take more room than it knows of, and knows of machines what is simple. How far it may be trusted is
learned from candidates that were tried.
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
    """Looks at points of a space, on a machine. `prefixes` are schedules as far as it has come with them, `scales` those of the holes
    that it sees."""

    def __init__(self, space: Space, machine: Machine) -> None:
        self._space = space
        self._machine = machine
        self.prefixes = Prefixes(space)
        self.scales = {hole: ParameterAxis(space.holes[hole]) for hole in self.prefixes.seen}
        self._known: dict[Point, CostEstimate | None] = {}
        self._room: defaultdict[tuple[Point, str, int], _CapacityMargin] = defaultdict(_CapacityMargin)
        self._beyond = 1.0

    def at(self, point: Point) -> CostEstimate | None:
        """How a point looks; None where one of its calls is refused."""
        values = self._seen(point)
        if values not in self._known:
            self._known[values] = self._found(point)
        return self._known[values]

    def know(self, point: Point, look: CostEstimate | None) -> None:
        """Somebody else looked at it."""
        self._known[self._seen(point)] = look

    def has(self, point: Point) -> bool:
        """Whether it was looked at already, or one that looks the same."""
        return self._seen(point) in self._known

    def mixed(self, point: Point, rest: Point) -> Point:
        """What decides how `point` looks, with all else as in `rest`."""
        return tuple(point[n] if n in self.scales else at for n, at in enumerate(rest))

    def is_hopeful(self, point: Point, cycles: float = inf) -> bool:
        """Whether it looks as if it would be accepted, fit, and take fewer `cycles`."""
        look = self.at(point)
        if look is None or not look.fits or look.busy >= self._beyond * cycles:
            return False
        return all(self._room_for(point, look, scope).has(filled) for scope, filled in look.filled.items())

    def tell(self, point: Point, outcome: Outcome) -> None:
        """What came of a point that was tried: how full a memory may look, and how much busier than it is the machine looks."""
        look = self._known.get(self._seen(point))
        if look is None:
            return
        if outcome.fits and outcome.figures is not None:
            self._beyond = max(self._beyond, look.busy / max(outcome.figures.cycles, 1))
        for scope, filled in look.filled.items():
            if outcome.status in ("fits", "pruned"):
                self._room_for(point, look, scope).took(filled)
            elif outcome.full.partition("[")[0] == scope:
                self._room_for(point, look, scope).refused(filled)

    def _room_for(self, point: Point, look: CostEstimate, scope: str) -> _CapacityMargin:
        """In a memory, for as many slots and what no look sees of a point: one that is larger than a block finds no place where two do."""
        return self._room[self._late(point), scope, look.slots.get(scope, 0)]

    def _seen(self, point: Point) -> Point:
        return tuple(point[n] for n in self.scales)

    def _late(self, point: Point) -> Point:
        """What of a point no look sees."""
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
    """How full a memory may look: what fitted once is no reason, whatever else was too much."""

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
