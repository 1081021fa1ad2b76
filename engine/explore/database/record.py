"""Tuning records: a schedule that a search found for a workload on a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

import msgspec

from ..derive.groups import SketchChoice
from .target import MachineTarget
from .workload import Workload

RULES = 1
"""The version of the rules of derivations and of the laws of the simulator: cycles of another version are not compared."""

Names = Mapping[str, str]
"""New names by the names of a record."""

OTHER_MACHINE = 1000.0
"""The distance of a machine with other parts: it comes after each with the same."""


class TuningRecord(msgspec.Struct, frozen=True):
    """A found schedule. `text` are its lines below `sch = tilewright.Schedule(…)`, holes included, the found values in front.

    `choice` is that of the sketch, if it was derived. `cycles` are those on the machine; `status` and `detail` are
    the verdict on the results. All of it is a proposal: whoever uses a record applies its lines as checked calls and simulates them.
    """

    workload: Workload
    target: MachineTarget
    text: str
    cycles: int
    status: str = "unknown"
    detail: str = ""
    choice: SketchChoice | None = None
    rules: int = RULES

    def is_for(self, workload: Workload, target: MachineTarget) -> bool:
        """Whether the record is for this very program and machine, up to their names."""
        return self.workload.is_equal(workload) and self.target.is_equal(target)

    @property
    def lines(self) -> list[str]:
        """The lines without comments."""
        return [line for line in self.text.splitlines() if line.strip() and not line.startswith("#")]

    def text_is(self, text: str) -> bool:
        """Whether a text has the same lines, up to comments."""
        return self.lines == msgspec.structs.replace(self, text=text).lines

    def distance(self, workload: Workload, target: MachineTarget) -> float:
        """How far sizes and figures of the machine are from those of the record; infinite for a program of another structure."""
        figures = self.target.distance(target)
        return self.workload.distance(workload) + (figures if isfinite(figures) else OTHER_MACHINE)

    def names_for(self, workload: Workload) -> Names:
        """The names of a program of the same structure, by those of the record's program; a block comes before a buffer of its name."""
        found: dict[str, str] = {}
        for mine, others in ((self.workload.blocks, workload.blocks), (self.workload.names, workload.names)):
            for old, new in zip(mine, others, strict=False):
                found.setdefault(old, new)
        return found


def nearest(records: Iterable[TuningRecord], workload: Workload, target: MachineTarget) -> list[TuningRecord]:
    """The records of programs of the same structure, the nearest first, of equal ones the fastest."""
    found = [(r.distance(workload, target), r.rules != RULES, r.cycles, n, r) for n, r in enumerate(records)]
    return [record for distance, *_, record in sorted(found) if isfinite(distance)]


def spread(records: Sequence[TuningRecord], most: int) -> list[TuningRecord]:
    """The first records, at most one of each program and machine before a second one of any."""
    seen: set[tuple[Workload, MachineTarget]] = set()
    first = [r for r in records if (key := (r.workload, r.target)) not in seen and not seen.add(key)]
    chosen = [*first, *(r for r in records if r not in first)]
    return chosen[:most]


__all__ = ["RULES", "Names", "TuningRecord", "nearest", "spread"]
