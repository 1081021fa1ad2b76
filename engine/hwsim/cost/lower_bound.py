"""Lower bounds on the cost of a program without a replay: tasks are counted through the loops.

Work and bytes are exact. Cycles are the bound of the report: the busiest engine, unit or port, without any stall. The operands and results
of one task have to be in memory at the same time.
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
    """Lower bounds of a program. `bounds` are those of a report, the highest first; `energy_pj` and `copied_bytes` are exact; `peaks` are
    bytes by memory row.
    """

    bounds: tuple[Bound, ...]
    energy_pj: float
    copied_bytes: int
    peaks: dict[str, int]

    @property
    def cycles(self) -> int:
        """Lower bound on the cycles of any replay of these tasks."""
        return max((b.cycles for b in self.bounds), default=0)


def lower_bound_of(program: TaskProgram, max_tasks: int = MAX_TASKS) -> LowerBound:
    """Returns the lower bounds of the tasks. Raises MachineError "too-many-tasks" if more than `max_tasks` tasks differ."""
    counts = counts_of(program, max_tasks)
    bounds = bounds_of(program, counts, busy_of(program, counts))
    copied = sum(row.bytes for row in traffic_of(program, counts)[0])
    return LowerBound(bounds, sum(energy_of(program, counts).values()), copied, _peaks(program, counts))


def first_peaks(program: TaskProgram) -> dict[str, int]:
    """Bytes that the first task of each template holds in each memory row. They are at most the peaks of `lower_bound_of` and of a report,
    at a fraction of their cost.
    """
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
