"""Report of a replay: cycles and their bounds, busy and stalled engines, memory over time, traffic, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast, overload

import msgspec
import numpy as np
from msgspec.structs import replace
from propcache.api import cached_property

from ..caches.report import CacheCounts
from ..replay.occupancy import Column, Occupancy
from ..replay.timeline import ReplayTimeline
from ..tasks.nest import Loop
from ..tasks.tree import TaskProgram
from .bank_conflict_finding import conflict_findings
from .chip import ChipReport
from .critical_path import CriticalPath
from .finding import Finding, by_severity
from .shared_cache import CacheOrder, cache_orders, is_limiting, shared_cache_findings


class Origin(msgspec.Struct, frozen=True):
    """The origin of a part of a program: the step of its schedule, from 1 on, and that step's text; 0 for the program itself."""

    step: int
    text: str = ""


class Wait(msgspec.Struct, frozen=True):
    """Stall cycles of an engine, in all, by cause.

    "data" (not available yet) and "slot" (not free yet) are stalls on `buffer`, held by `block`; "issue" is a task delayed by a full
    queue, "port" bursts of others on a port or bus, "flag" a flag or barrier of the program, named in `buffer`, that follows `block`,
    "unit" another engine of its unit (named in `block`), at work or stalled itself.

    `origin` is the schedule step that introduced the block, or the buffer: known if the schedule is (`export.attributed`).
    """

    cause: str
    buffer: str
    block: str
    cycles: int
    origin: Origin | None = None


class EngineReport(msgspec.Struct, frozen=True):
    """Cycles of an engine. `busy` and all of `stall` (by cause: "issue", "data", "slot", "port", "flag" in programs with flags, "unit",
    "idle" after the last task of its unit) sum to the makespan.
    """

    kind: str
    busy: int
    tasks: int
    stall: dict[str, int]
    waits: tuple[Wait, ...]


class MemoryReport(msgspec.Struct, frozen=True):
    """Use of a memory, or of a physical block of one, in bytes.

    `peak_bytes` is the end of the highest allocated address: the program fits if it is at most the capacity. `used_bytes` is the largest
    sum of buffers that live at one point of the program, and `allocated_bytes` the sum of all buffers. `peak_live_bytes` is the maximum
    over simulated time of tiles in use, and `peak_cycle` the first cycle with the most reserved bytes.
    """

    scope: str
    capacity_bytes: int
    peak_bytes: int
    used_bytes: int
    peak_live_bytes: int
    peak_cycle: int
    allocated_bytes: int

    @property
    def overflow_bytes(self) -> int:
        """Bytes above the capacity."""
        return max(self.peak_bytes - self.capacity_bytes, 0)

    @property
    def fragmented_bytes(self) -> int:
        """Bytes below the highest address that the used bytes do not need: gaps, and buffers that do not share addresses."""
        return self.peak_bytes - self.used_bytes

    @property
    def free_bytes(self) -> int:
        """Bytes above the highest address."""
        return max(self.capacity_bytes - self.peak_bytes, 0)


class Traffic(msgspec.Struct, frozen=True):
    """Bytes copied from scope to scope. `buffer` is the one in the larger memory: the tensor that the tiles belong to. `least_bytes` is the
    minimum: a parameter once, nothing of an intermediate.
    """

    buffer: str
    source: str
    destination: str
    bytes: int
    least_bytes: int


class Bound(msgspec.Struct, frozen=True):
    """A lower bound on any schedule of the same tasks: the work of an engine ("engine"), of engines that share a unit ("unit"), or the
    traffic of a port or bus ("port").
    """

    name: str
    kind: Literal["engine", "unit", "port"]
    cycles: int


class Lost(msgspec.Struct, frozen=True):
    """Cost of a block's bank conflicts: of `accesses` to buffers ("read", "write", or several "together") the worst needs `degree` turns;
    all together need `cycles` more than without conflicts.
    """

    block: str
    buffers: tuple[str, ...]
    kind: str
    memory: str
    accesses: int
    degree: int
    cycles: int


class Moved(msgspec.Struct, frozen=True):
    """Traffic of a block's direct accesses to a buffer in a memory with bursts: `accesses` request `wanted_bytes`, each element of an
    access once, and move `moved_bytes` in whole bursts.
    """

    block: str
    buffer: str
    kind: Literal["read", "write"]
    memory: str
    accesses: int
    wanted_bytes: int
    moved_bytes: int


class Roofline(msgspec.Struct, frozen=True):
    """Roofline of the program on its machine: operations, bytes in and out of the largest memory, cycles; the machine's peak operations and
    bytes per cycle.
    """

    operations: int
    bytes: int
    cycles: int
    peak_operations_per_cycle: float
    bytes_per_cycle: int

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.operations / self.bytes if self.bytes else 0.0

    @property
    def attained(self) -> float:
        """Operations per cycle."""
        return self.operations / self.cycles if self.cycles else 0.0

    @property
    def roof(self) -> float:
        """Operations per cycle that the machine allows at this intensity."""
        return min(self.peak_operations_per_cycle, self.intensity * self.bytes_per_cycle)


class EngineAccess(msgspec.Struct, frozen=True):
    """Bytes that a computing engine itself reads from a buffer and writes to it, or that a DMA reads from a bias or a scale."""

    engine: str
    buffer: str
    scope: str
    read_bytes: int
    written_bytes: int


class UnknownFigures(msgspec.Struct, frozen=True):
    """Figures of a report that are not those of the run, and why: they are too low if they exclude a part of the cost ("lower"), upper
    bounds ("upper"), or estimates. `words` name the relation after a number.
    """

    limit: Literal["lower", "upper", "estimate"]
    figures: tuple[str, ...]
    words: str
    reason: str = ""


UNKNOWN = {
    "caches-left-out": UnknownFigures("lower", ("cycles", "overlap"), "without cache misses"),
    "iterations-bounded": UnknownFigures("upper", ("cycles", "overlap", "traffic"), "or fewer"),
}
"""The findings that say that figures are unknown."""


class TaskKind(msgspec.Struct, frozen=True):
    """The tasks of a block: their engine, the reason for its choice, their number and their cycles.

    `blocks` are the names of the blocks that one task runs together ("a + b" in `block`), each with its part of the cycles, in proportion
    to its iterations.
    """

    block: str
    engine: str
    reason: str
    tasks: int
    cycles: int
    blocks: dict[str, int] = {}


class Segment(msgspec.Struct, frozen=True):
    """One task on the timeline. The engine is free again at `end`, the result available at `ready`; the task runs `times` times."""

    engine: str
    start: int
    end: int
    ready: int
    block: str
    indices: tuple[tuple[str, int], ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    times: int = 1


class Kind(msgspec.Struct, frozen=True, eq=False):
    """Properties that all tasks of a variant share: engine, block (several that run as one: joined, and one by one in `blocks`), the loops
    around, outermost first, and the cells by their labels. Variants that differ only in cells have equal `template`.
    """

    template: int
    engine: str
    block: str
    blocks: tuple[str, ...]
    loops: tuple[Loop, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Segments(Sequence[Segment]):
    """The replayed tasks, in program order and in times of the timeline, constructed on access. `columns` returns bare numbers."""

    def __init__(self, program: TaskProgram, timeline: ReplayTimeline) -> None:
        self._program = program
        self._timeline = timeline
        self._kinds: dict[int, Kind] = {}

    @property
    def program(self) -> TaskProgram:
        """The replayed tasks."""
        return self._program

    @cached_property
    def critical_path(self) -> CriticalPath:
        """The critical path, found on first use."""
        return CriticalPath(self._program, self._timeline)

    def __len__(self) -> int:
        return len(self._timeline.numbers)

    @overload
    def __getitem__(self, index: int) -> Segment: ...
    @overload
    def __getitem__(self, index: slice) -> list[Segment]: ...
    def __getitem__(self, index: int | slice) -> Segment | list[Segment]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        timeline = self._timeline
        return self._made(index, 0, timeline.places[index], int(timeline.times[index]))

    def between(self, start: int = 0, end: int | None = None) -> Iterator[Segment]:
        """Yields all tasks at work from cycle `start` to `end`, exclusive, in real time: repeats one by one. Tasks outside of the interval
        cost nothing.
        """
        return (self._made(row.row, row.later, row.place, 1) for row in self._timeline.unrolled(start, end))

    def at_work(self, variants: Sequence[bool]) -> tuple[Column, Column]:
        """Returns the starts and ends, in real time and program order, of all tasks of the variants that are marked, by their number in
        `program`."""
        return self._timeline.at_work(np.array(variants, np.bool_))

    def by_the_clock(self) -> Iterator[Segment]:
        """Yields the replayed tasks at the real time of their first run."""
        later = self._timeline.real(self._timeline.starts) - self._timeline.starts
        for n, cycles in enumerate(later.tolist()):
            yield self._made(n, cycles, self._timeline.places[n], int(self._timeline.times[n]))

    def _made(self, row: int, later: int, place: tuple[int, ...], times: int) -> Segment:
        timeline = self._timeline
        number = int(timeline.numbers[row])
        template = self._program.templates[self._program.variants[number].template]
        kind = self.kind(number)
        start, end, there = (int(c[row]) + later for c in (timeline.starts, timeline.ends, timeline.there))
        indices = template.indices(place)
        return Segment(kind.engine, start, end, there, kind.block, indices, kind.reads, kind.writes, times)

    def kind(self, number: int) -> Kind:
        """Returns the properties of the tasks of variant `number` (of `ReplayTimeline.numbers`)."""
        found = self._kinds.get(number)
        if found is None:
            program = self._program
            variant = program.variants[number]
            template = program.templates[variant.template]
            reads, writes = (
                tuple(
                    dict.fromkeys(program.places.of_cell[c].label(c) for c in cells if not program.places.is_token(c))
                )
                for cells in (variant.replay.reads, variant.writes)
            )
            engine = program.machine.engines[template.engine].name
            blocks = tuple(dict.fromkeys(block.name for block in template.blocks))
            found = Kind(template.number, engine, template.name, blocks, template.outer, reads, writes)
            self._kinds[number] = found
        return found

    def __iter__(self) -> Iterator[Segment]:
        return (self[i] for i in range(len(self)))

    def columns(self) -> tuple[Column, Column, Column]:
        """Returns (engine number, start, end) of every task, in program order."""
        return self._timeline.engines, self._timeline.starts, self._timeline.ends


Explained = tuple[tuple[Finding, ...], CriticalPath, tuple[CacheOrder, ...]]
"""What is found for a report on first use."""


class Report(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Cost of the program on the machine. Cycles are of the machine's clock.

    `bounds` are lower bounds on any schedule of the same tasks, the highest first. `energy` is in pJ, by memory and engine. `overlap` is
    the fraction of the cycles with a DMA busy in which a computing engine is busy too (`overlap_cycles / dma_cycles`; 0.0 without any DMA).
    """

    machine: str
    clock_hz: int
    cycles: int
    bounds: tuple[Bound, ...]
    overlap: float
    overlap_cycles: int
    dma_cycles: int
    engines: dict[str, EngineReport]
    memory: dict[str, MemoryReport]
    traffic: tuple[Traffic, ...]
    accesses: tuple[EngineAccess, ...]
    conflicts: tuple[Lost, ...]
    bursts: tuple[Moved, ...]
    energy: dict[str, float]
    roofline: Roofline
    observed: tuple[Finding, ...]
    tasks: tuple[TaskKind, ...]
    segments: Segments
    occupancy: Occupancy
    timeline: ReplayTimeline
    caches: CacheCounts | None = None
    chip: ChipReport | None = None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, the worst first: those `observed`, and those whose cause another replay proves."""
        proved = conflict_findings(self.program, self.timeline.counts, self.cycles)
        ordered = shared_cache_findings(self.cache_orders) if self._is_behind_limiting else ()
        return by_severity((*self.observed, *proved, *ordered))

    @cached_property
    def cache_orders(self) -> tuple[CacheOrder, ...]:
        """What the cache that cores share does for each order of blocks, the program's own first."""
        return cache_orders(self.program, self.cycles, replays=self._is_behind_limiting)

    @property
    def _is_behind_limiting(self) -> bool:
        run = self.timeline.chip
        return run is not None and is_limiting(self.program, run.counts, self.cycles)

    @property
    def explained(self) -> Explained:
        """The findings, the critical path and the orders of blocks, which are found on first use."""
        return self.findings, self.critical_path, self.cache_orders

    def know(self, explained: Explained) -> None:
        """Take over what was found for this report in another process."""
        known = cast("dict[str, object]", self.__dict__)
        known["findings"], known["critical_path"], known["cache_orders"] = explained

    def __repr__(self) -> str:
        """Returns the headline; `tilewright.report_text` has the tables."""
        return (
            f"<Report of {self.machine!r}: {self.cycles:,} cycles, bound {self.bound:,}, overlap {self.overlap:.0%}, "
            f"findings: {', '.join(f.code for f in self.findings) or 'none'}>"
        )

    @property
    def program(self) -> TaskProgram:
        """The replayed tasks, and the placement of each buffer."""
        return self.segments.program

    @property
    def critical_path(self) -> CriticalPath:
        """The chain of tasks that determines the duration of the run, with its cycles by cause."""
        return self.segments.critical_path

    @property
    def bound(self) -> int:
        """The highest of the bounds."""
        return max((b.cycles for b in self.bounds), default=0)

    @property
    def promise(self) -> Literal["exact", "lower bound", "estimate"]:
        """What `cycles` are; see `cost.interface`."""
        unknown = self.unknown
        return "exact" if unknown is None else "estimate" if unknown.limit == "estimate" else "lower bound"

    @property
    def cycles_by_block(self) -> dict[str, int]:
        """The busy cycles of each block."""
        found: Counter[str] = Counter()
        for kind in self.tasks:
            found.update(kind.blocks)
        return dict(found)

    @property
    def peaks(self) -> dict[str, int]:
        """The peak bytes of each memory row."""
        return {row: memory.peak_bytes for row, memory in self.memory.items()}

    @property
    def unknown(self) -> UnknownFigures | None:
        """The figures that are not known, such as cycles without the misses of caches; None if all are."""
        of = next((f for f in self.observed if f.code in UNKNOWN), None)
        if of is None and self.chip is not None and self.chip.reasons:
            words = f"estimated, {self.chip.least:,} to {self.chip.most:,}"
            return UnknownFigures("estimate", ("cycles", "overlap"), words, "; ".join(self.chip.reasons))
        return None if of is None else replace(UNKNOWN[of.code], reason=of.message)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the cycles assume about data, in words."""
        return tuple(f.message for f in self.observed if f.code == "data-assumed")

    def is_comparable(self, other: Report) -> bool:
        """Whether the cycles of both reports are known, or exclude the same kind of cost."""
        return (self.unknown and self.unknown.limit) == (other.unknown and other.unknown.limit)

    @property
    def overflow_bytes(self) -> int:
        """Bytes above the capacities of all memories; 0 if the program fits."""
        return sum(memory.overflow_bytes for memory in self.memory.values())

    @property
    def copied_bytes(self) -> int:
        """Bytes that are copied from memory to memory."""
        return sum(row.bytes for row in self.traffic)

    @property
    def energy_pj(self) -> float:
        """The total energy."""
        return sum(self.energy.values())

    @property
    def ratio(self) -> float:
        """Cycles over the bound: 1.0 when the busiest engine never waits."""
        return self.cycles / self.bound if self.bound else 1.0

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON values, without the timeline and the occupancy: they have an entry for every task."""
        return {
            "machine": self.machine,
            "clock_hz": self.clock_hz,
            "cycles": self.cycles,
            "unknown": msgspec.to_builtins(self.unknown),
            "bound": self.bound,
            "bounds": msgspec.to_builtins(self.bounds),
            "ratio": self.ratio,
            "overlap": self.overlap,
            "overlap_cycles": self.overlap_cycles,
            "dma_cycles": self.dma_cycles,
            "energy_pj": self.energy_pj,
            "energy": self.energy,
            "conflicts": msgspec.to_builtins(self.conflicts),
            "bursts": msgspec.to_builtins(self.bursts),
            "roofline": {
                **msgspec.to_builtins(self.roofline),
                "intensity": self.roofline.intensity,
                "attained": self.roofline.attained,
                "roof": self.roofline.roof,
            },
            "engines": {name: msgspec.to_builtins(e) for name, e in self.engines.items()},
            "memory": {
                name: {**msgspec.to_builtins(m), "fragmented_bytes": m.fragmented_bytes, "free_bytes": m.free_bytes}
                for name, m in self.memory.items()
            },
            "chip": None
            if self.chip is None
            else {
                **msgspec.to_builtins(self.chip),
                "cache_orders": msgspec.to_builtins(self.cache_orders),
            },
            "caches": None if self.caches is None else msgspec.to_builtins(replace(self.caches, cycles=())),
            "traffic": msgspec.to_builtins(self.traffic, order=None),
            "accesses": msgspec.to_builtins(self.accesses),
            "tasks": msgspec.to_builtins(self.tasks),
            "findings": [
                {
                    "code": f.code,
                    "severity": f.severity,
                    "message": f.message,
                    "blocks": list(f.blocks),
                    "buffers": list(f.buffers),
                    "fix": list(f.fix),
                    "saved": f.saved,
                }
                for f in self.findings
            ],
        }
