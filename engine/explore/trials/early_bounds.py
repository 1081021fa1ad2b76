"""Rejection of points before their pipelines are applied: those that cannot fit, and those that cannot beat a known result.

The points that differ only in the stages of pipelines share one bound, and most points are rejected by it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from ...hwsim import Machine, MachineError, UnpipedBound
from ...ir import TilewrightError
from ...lower import LowerError
from ..space.model import Point, Space
from ..space.prefixes import Prefixes, Refused
from .outcome import Outcome, overflow_of

MOST_KEPT = 64
"""Cached bounds; the least recently used are evicted first."""

EARLY = "early-bound"
"""The code of a point that was pruned before its pipelines were applied: whether it fits is unknown."""


class EarlyBounds:
    """The bounds of the points of one space."""

    def __init__(self, space: Space, machine: Machine, prefixes: Prefixes, max_tasks: int) -> None:
        self._machine, self._prefixes, self._max_tasks = machine, prefixes, max_tasks
        self._serves = prefixes.only_pipelines and not machine.caches and not space.sizes
        self._capacities = {memory.scope: memory.capacity_bytes for memory in machine.memories}
        self._known: OrderedDict[Point, UnpipedBound | None] = OrderedDict()

    def rejected(self, point: Point, cycles: Sequence[float]) -> Outcome | None:
        """The outcome of a point that does not fit, or needs at least one of these numbers of cycles, whatever its pipelines do; None if
        that is not certain."""
        bound = self._bound(point) if self._serves else None
        if bound is None:
            return None
        state = self._prefixes.early(point)
        assert not isinstance(state, Refused)
        try:
            pipelines = self._prefixes.pipelines(point, state)
            overflow = overflow_of(bound.live_bytes(pipelines), self._capacities)
            return overflow or _pruned(bound.at(pipelines).cycles if cycles else 0, cycles)
        except TilewrightError:
            return None  # applying the calls reports the error

    def _bound(self, point: Point) -> UnpipedBound | None:
        values = self._prefixes.early_values(point)
        if values not in self._known:
            self._known[values] = self._found(point)
            if len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(values)
        return self._known[values]

    def _found(self, point: Point) -> UnpipedBound | None:
        state = self._prefixes.early(point)
        if isinstance(state, Refused):
            return None
        try:
            return UnpipedBound(state.schedule.plan, self._machine, self._max_tasks)
        except (LowerError, MachineError):
            return None


def _pruned(least: int, cycles: Sequence[float]) -> Outcome | None:
    if not any(known <= least for known in cycles):
        return None
    return Outcome("pruned", None, EARLY, f"at least {least:,} cycles with any pipeline")


__all__ = ["EARLY", "EarlyBounds"]
