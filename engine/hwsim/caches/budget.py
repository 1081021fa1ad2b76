"""The work of a cache simulation, and its limit."""

from __future__ import annotations

from ...cancellation import checkpoint
from ..errors import refuse

LOOK = 8
"""The work on a node of a tree, in accesses of the plain simulation."""


class Budget:
    """`spent` are the accesses that were simulated one by one. All work has a limit, in accesses of the plain simulation."""

    def __init__(self, limit: int) -> None:
        self.limit, self.spent = limit, 0
        self._work, self._checked = 0, 0

    def spend(self, count: int = 1) -> None:
        """Counts simulated accesses; raises MachineError "too-many-accesses" beyond the limit."""
        self.spent += count
        self._add(count)

    def look(self, sets: int = 0) -> None:
        """Counts the work on a node of a tree, with a state of so many sets."""
        self._add(LOOK + sets)

    def _add(self, work: int) -> None:
        self._work += work
        if self._work > self.limit:
            raise refuse("too-many-accesses", f"the cache simulation needs more than {self.limit} single accesses",
                         expected=f"at most {self.limit} accesses outside of periodic repetitions")  # fmt: skip
        if self._work >= self._checked:
            checkpoint()
            self._checked = self._work + (1 << 14)
