"""Lower bounds on the cost of a program without a replay: tasks are counted through the loops.

Work, bytes and the static use of memory are exact. Cycles are the bound of the report: the busiest engine, unit or port, without any stall.
"""

from __future__ import annotations

import msgspec

from ..replay.cores.residency import residency_of
from ..replay.cores.transfers import Transfers
from ..replay.steady import MAX_TASKS
from ..report.metrics import bounds_of, busy_of, energy_of, traffic_of
from ..report.model import Bound
from ..tasks.counting import counts_of
from ..tasks.tree import TaskProgram
from .interface import Promise


class LowerBound(msgspec.Struct, frozen=True):
    """Lower bounds of a program. `bounds` are those of a report, the highest first; `energy_pj`, `copied_bytes` and `peaks`, the bytes by
    memory row, are exact.
    """

    bounds: tuple[Bound, ...]
    energy_pj: float
    copied_bytes: int
    peaks: dict[str, int]

    @property
    def promise(self) -> Promise:
        return "lower bound"

    @property
    def cycles(self) -> int:
        """Lower bound on the cycles of any replay of these tasks."""
        return max((b.cycles for b in self.bounds), default=0)


def lower_bound_of(program: TaskProgram, max_tasks: int = MAX_TASKS) -> LowerBound:
    """Returns the lower bounds of the tasks. Raises MachineError "too-many-tasks" if more than `max_tasks` tasks differ."""
    counts = counts_of(program, max_tasks)
    # Some core has at least an equal part of the tasks of each kind.
    own = {number: count // program.machine.cores for number, count in counts.items()}
    once = counts
    if any(link.multicast for link in program.machine.links):
        once = {**counts, **Transfers(program, counts, max(residency_of(program).blocks, 1)).merged}
    bounds = bounds_of(program, own, busy_of(program, own), once)
    copied = sum(row.bytes for row in traffic_of(program, counts)[0])
    return LowerBound(bounds, sum(energy_of(program, counts, once).values()), copied, program.places.peaks)
