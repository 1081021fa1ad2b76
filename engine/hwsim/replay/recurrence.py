"""Recurrence of the iterations of one loop: how many of them need no replay, because they repeat what was recorded.

EqualIterations     a state recurs: the iterations in between recur too, shifted in time
GrowingIterations   blocks of a triangular loop grow evenly, and so do those that follow
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ..tasks.periodicity import Run
from ..tasks.tree import TaskLoop
from .growth import Mark, common_growth, most_copies
from .recording import Recording

STEADY = 4
"""Blocks of iterations that grow evenly, before those that follow are skipped."""

SETTLED = 3
"""Those of them whose tasks no later task can change."""

MAX_GROWING = 8
"""Limit on the iterations of such a block."""


class Recurrence(Protocol):
    """Watches the iterations of a run of a loop."""

    def skip(self, i: int) -> int:
        """Returns the number of iterations skipped before iteration `i`, after their repeat was recorded: whole periods, exactly."""
        ...


def recurrence_of(recording: Recording, node: TaskLoop, run: Run, step: int = 1) -> Recurrence:
    """Returns the recurrence of a run of iterations; each stands for `step` of the loop's."""
    return (GrowingIterations if run.grows else EqualIterations)(recording, node, run, step)


class _Iterations:
    """The iterations of a run, with the marks before each since the last repeat."""

    def __init__(self, recording: Recording, node: TaskLoop, run: Run, step: int = 1) -> None:
        self._recording, self._node, self._run, self._step = recording, node, run, step
        self._marks: list[Mark] = []

    def _state(self, i: int, *, idle: bool) -> Hashable:
        """Returns the state before iteration `i`; see `Clocks.key`."""
        run, node, recording = self._run, self._node, self._recording
        cells = recording.cells_of(node)
        return (i - run.start) % run.period, *recording.clocks.key(node.engines, cells, idle=idle)


class EqualIterations(_Iterations):
    """Iterations that are equal, or equal after a period."""

    def __init__(self, recording: Recording, node: TaskLoop, run: Run, step: int = 1) -> None:
        super().__init__(recording, node, run, step)
        self._seen: dict[Hashable, int] = {}
        self._steady: tuple[int, int] | None = None
        """The mark at which the steady state begins, and its period in iterations."""

    def skip(self, i: int) -> int:
        marks = self._marks
        marks.append(self._recording.mark())
        here = len(marks) - 1
        if self._steady is None:
            first = self._seen.setdefault(self._state(i, idle=True), here)
            if first == here:
                return 0
            self._steady = (first, here - first)
        first, period = self._steady
        extra = (self._run.stop - i) // period
        if extra == 0 or (here - first) % period:
            return 0
        if marks[here].tasks == marks[first].tasks:
            return extra * period  # no work at all
        until = self._recording.settled(marks, first, period)
        if until is None:
            return 0
        self._recording.repeat(self._node, marks[until - period], marks[until], extra, period * self._step)
        marks.clear()
        return extra * period


class GrowingIterations(_Iterations):
    """Iterations whose inner loops get longer or shorter from each to the next."""

    def __init__(self, recording: Recording, node: TaskLoop, run: Run, step: int = 1) -> None:
        super().__init__(recording, node, run, step)
        self._keys: list[Hashable] = []

    def skip(self, i: int) -> int:
        marks, keys = self._marks, self._keys
        marks.append(self._recording.mark())
        keys.append(self._state(i, idle=False))
        here, left = len(marks) - 1, self._run.stop - i
        for period in range(1, min(here // STEADY, MAX_GROWING) + 1):
            count = 0
            while here >= (count + 1) * period and keys[here - (count + 1) * period] == keys[here]:
                count += 1
            if count < STEADY or left < period:
                continue
            if marks[here].tasks == marks[here - period].tasks:
                return left // period * period  # no work at all
            extra = self._repeat(here - count * period, period, left)
            if extra:
                marks.clear()
                keys.clear()
                return extra * period
        return 0

    def _repeat(self, first: int, period: int, left: int) -> int:
        """Records the repeat of a block that has grown evenly since mark `first`; returns the number of its copies, 0 without one."""
        recording, marks = self._recording, self._marks
        until = recording.settled(marks, first, period)
        if until is None or until - SETTLED * period < first:
            return 0
        blocks = [
            recording.block(marks[n], marks[n + period])
            for n in range(until - SETTLED * period, len(marks) - 1, period)
        ]
        growth = common_growth(blocks, SETTLED)
        if growth is None:
            return 0
        most = most_copies(growth, blocks[-1])
        extra = left // period if most is None else min(left // period, most)
        if extra:
            recording.repeat_growing(self._node, growth, blocks[SETTLED - 1 :], extra, period)
        return extra
