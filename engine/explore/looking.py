"""Points looked at: each schedule is applied as far as it takes to see what it moves and holds, once for all that are alike so far."""

from __future__ import annotations

from math import inf

from ..analysis import ProgramIndex
from ..hwsim import Machine
from ..lower import with_sizes
from .look import Look, look_at
from .prefixes import Prefixes, Refused
from .space import Point, Space


class Looking:
    """Looks at points of a space, on a machine."""

    def __init__(self, space: Space, machine: Machine, prefixes: Prefixes) -> None:
        self._space = space
        self._machine = machine
        self._prefixes = prefixes
        self._known: dict[Point, Look | None] = {}

    def at(self, point: Point) -> Look | None:
        """How a point looks; None where one of its calls is refused."""
        values = self._prefixes.early_values(point)
        if values not in self._known:
            self._known[values] = self._found(point)
        return self._known[values]

    def has(self, point: Point) -> bool:
        """Whether it was looked at already, or one that is the same so far."""
        return self._prefixes.early_values(point) in self._known

    def is_hopeful(self, point: Point, cycles: float = inf) -> bool:
        """Whether it looks as if it would be accepted, fit, and take fewer `cycles`."""
        look = self.at(point)
        return look is not None and look.fits and look.moving < cycles

    def _found(self, point: Point) -> Look | None:
        state = self._prefixes.early(point)
        if isinstance(state, Refused):
            return None
        schedule = state.schedule
        if not self._space.sizes:
            return look_at(schedule.index, self._machine)
        return look_at(ProgramIndex(with_sizes(schedule.func, self._space.sizes).func), self._machine)
