"""Replay of another core than the first one, from the times of the first: a core that is `later` is granted each burst so much later.

Where repeats were skipped, a period is replayed until the core begins it in the state in which it began the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..clocks import Clocks, Pairs, Variant
from ..repeats import Repeat
from ..row_tree import RowPart, RowTree


class LaterClocks(Clocks):
    """Clocks of tasks whose requests at some ports complete at known times."""

    def __init__(
        self, table: list[Variant], queues: Sequence[int], cell_count: int, preload: int, ports: frozenset[int]
    ) -> None:
        self._ports = ports
        super().__init__(table, queues, cell_count, preload)
        self.done = 0
        """When the requests of the next task complete."""

    def _demands(self, variant: Variant) -> Pairs:
        return tuple(asked for asked in variant.demands if asked[0] in self._ports)

    def _end_of(self, number: int, task: int, start: int) -> int:
        return max(start + self._rows[number][1], self.done)


class LaterCore:
    """A core that is granted each burst `later` cycles after the first core, whose tasks from row `first` on began at `since`.

    `begins` are the rows that begin a block, with the cycles until their issue; `repeats` those of all rows. Repeats that grow are not
    supported.
    """

    def __init__(self, clocks: LaterClocks, numbers: Sequence[int], dones: Mapping[int, int], begins: Mapping[int, int],
                 later: int) -> None:  # fmt: skip
        self.clocks = clocks
        self._numbers, self._dones, self._begins, self._later = numbers, dones, begins, later
        # Copies of repeats that this core replays, in cycles, and those that it skips.
        self._ahead = 0
        self.skipped = 0

    def run(self, repeats: Sequence[Repeat], first: int, last: int) -> int:
        """Replays the rows from `first` to `last`, exclusive; returns when the core has completed them, in real time."""
        inside = [r for r in repeats if first <= r.first and r.last <= last]
        self._part(RowTree(inside, last).root, first)
        return self.clocks.finish() + self.skipped

    def _part(self, part: RowPart, row: int) -> None:
        for inside in part.inside:
            self._rows(row, inside.first)
            self._copies(inside)
            row = inside.last
        self._rows(row, part.last)

    def _copies(self, part: RowPart) -> None:
        repeat = part.repeat
        assert repeat is not None and not repeat.more and repeat.length.degree == 0
        seen = None
        for left in range(repeat.extra, -1, -1):
            before = self._state(repeat.start)
            if before == seen:
                # This copy and all that follow are the same as the one before.
                self.skipped += (left + 1) * repeat.cycles
                self._ahead -= repeat.end - repeat.start
                return
            seen = before
            self._part(part, repeat.first)
            if left:
                self._ahead += repeat.end - repeat.start

    def _state(self, start: int) -> object:
        clocks = self.clocks
        engines, cells = range(len(clocks.free)), range(clocks.cell_count)
        return clocks.now - start - self._ahead, clocks.key(engines, cells, idle=False)

    def _rows(self, row: int, last: int) -> None:
        clocks = self.clocks
        for n in range(row, last):
            if n in self._begins:
                clocks.begin(self._begins[n])
            clocks.done = self._dones[n] + self._ahead + self._later if n in self._dones else 0
            clocks.issue(self._numbers[n])
