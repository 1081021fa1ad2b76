"""The work of a cache simulation, and its limit."""

from __future__ import annotations

from ...cancellation import checkpoint
from ..errors import refuse

LOOK = 240
"""The work on a node of a tree, in accesses of the plain simulation. On ten nests the ratio of both times was 200 to 290."""


class CacheBudget:
    """`spent` are the accesses that were simulated one by one. All work has a limit, in accesses of the plain simulation."""

    def __init__(self, limit: int, reason: str = "") -> None:
        """`reason` is why every access has to be simulated."""
        self.limit, self.spent, self.reason = limit, 0, reason
        self._work, self._checked = 0, 0

    def spend(self, count: int = 1, work: int = 1) -> None:
        """Counts simulated accesses with the work on each; raises MachineError "too-many-accesses" beyond the limit."""
        self.spent += count
        self._add(count * work)

    def look(self, sets: int = 0) -> None:
        """Counts the work on a node of a tree, with a state of so many sets."""
        self._add(LOOK + sets)

    def _add(self, work: int) -> None:
        self._work += work
        if self._work > self.limit:
            message = f"the cache simulation needs more than {self.limit} single accesses"
            raise refuse("too-many-accesses", f"{message}: {self.reason}" if self.reason else message,
                         expected=f"at most {self.limit} accesses outside of periodic repetitions")  # fmt: skip
        if self._work >= self._checked:
            checkpoint()
            self._checked = self._work + (1 << 14)
