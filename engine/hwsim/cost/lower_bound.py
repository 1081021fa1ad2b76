"""What a program costs at the least, without a replay: its tasks are counted through the loops, not played.

Work and bytes are exact. Cycles are the bound of the report: the busiest engine, unit or port, as if nothing ever waited. What one task
touches has to be in memory together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from ..access.placement import row_name
from ..replay.steady import MAX_TASKS
from ..report.metrics import bounds_of, busy_of, energy_of, traffic_of
from ..report.model import Bound
from ..tasks.counting import counts_of
from ..tasks.tree import TaskProgram
from ..tasks.variants import NOTHING


class LowerBound(msgspec.Struct, frozen=True):
    """`bounds` as in a report, the highest first; `energy_pj` and `copied_bytes` exact; `peaks` of the rows of memory."""

    bounds: tuple[Bound, ...]
    energy_pj: float
    copied_bytes: int
    peaks: dict[str, int]

    @property
    def cycles(self) -> int:
        """No replay of these tasks takes fewer."""
        return max((b.cycles for b in self.bounds), default=0)


def lower_bound_of(program: TaskProgram, max_tasks: int = MAX_TASKS) -> LowerBound:
    """What the tasks cost at the least. Raises MachineError "too-many-tasks" where so many are not alike."""
    counts = counts_of(program, max_tasks)
    bounds = bounds_of(program, counts, busy_of(program, counts))
    copied = sum(row.bytes for row in traffic_of(program, counts)[0])
    return LowerBound(bounds, sum(energy_of(program, counts).values()), copied, _peaks(program, counts))


def first_peaks(program: TaskProgram) -> dict[str, int]:
    """The bytes that the first task of each template holds in each memory row: at most the peaks of `lower_bound_of` and of a report, at a
    fraction of their cost."""
    first = {t.variants.at(dict.fromkeys((loop.var for loop in t.outer), 0)) for t in program.templates}
    return _peaks(program, first - {NOTHING})


def _peaks(program: TaskProgram, counts: Iterable[int]) -> dict[str, int]:
    places = program.places
    peaks = {row_name(m, block): 0 for m in program.machine.memories for block in range(m.blocks)}
    for number in counts:
        replayed = program.variants[number].replay
        together: Counter[str] = Counter()
        for cell in {*replayed.reads, *replayed.writes}:
            placement = places.of_cell[cell]
            together[row_name(placement.memory, placement.bank_of(cell))] += placement.part_bytes
        for row, size in together.items():
            peaks[row] = max(peaks[row], size)
    return peaks
