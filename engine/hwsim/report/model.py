"""What a replay comes to: cycles and their bound, who was busy and who waited for what, memory over time, bytes moved, findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

import msgspec
from msgspec.structs import replace

from ...ir import Node
from ..caches.report import CacheCounts
from ..replay.occupancy import Column, Occupancy
from ..replay.timeline import Timeline
from ..tasks.nest import Loop
from ..tasks.tree import TaskProgram


class Origin(msgspec.Struct, frozen=True):
    """Where something in a program comes from: the step of its schedule, from 1 on, and what that says; 0 for the program itself."""

    step: int
    text: str = ""


class Wait(msgspec.Struct, frozen=True):
    """An engine waited `cycles` in all, cause "data" (not there yet) or "slot" (not free yet), for `buffer`, in the hands of `block`;
    cause "issue" for a task that came late because a queue was full, "port" for bursts of others on a port or bus, "unit" for another
    engine of its unit, at work or waiting itself: named in `block`.

    `origin` is what brought the block in, or the buffer: known where the schedule is (`export.attributed`)."""

    cause: str
    buffer: str
    block: str
    cycles: int
    origin: Origin | None = None


class EngineReport(msgspec.Struct, frozen=True):
    """`busy` and all of `stall` (by cause: "issue", "data", "slot", "port", "unit", "idle" once the last task of its unit is done) sum to
    the makespan."""

    kind: str
    busy: int
    tasks: int
    stall: dict[str, int]
    waits: tuple[Wait, ...]


class MemoryReport(msgspec.Struct, frozen=True):
    """A memory, or a physical block of one. `peak_bytes` is the most that is allocated at a time, first at `peak_cycle`;
    `allocated_bytes` what all buffers need side by side."""

    scope: str
    capacity_bytes: int
    peak_bytes: int
    peak_live_bytes: int
    peak_cycle: int
    allocated_bytes: int


class Traffic(msgspec.Struct, frozen=True):
    """Bytes copied from scope to scope. `buffer` is the one in the larger memory: the tensor that the tiles are of. `least_bytes`
    cannot but be moved: a parameter once, nothing of an intermediate."""

    buffer: str
    source: str
    destination: str
    bytes: int
    least_bytes: int


class Bound(msgspec.Struct, frozen=True):
    """No schedule of the same tasks takes less than this: the work of an engine ("engine"), of engines that are one unit ("unit"), or what
    goes through a port or bus ("port")."""

    name: str
    kind: Literal["engine", "unit", "port"]
    cycles: int


class Lost(msgspec.Struct, frozen=True):
    """What bank conflicts cost a block: of all `accesses` to buffers ("read", "write", or several "together") the worst takes `degree`
    turns, and all together `cycles` more than without."""

    block: str
    buffers: tuple[str, ...]
    kind: str
    memory: str
    accesses: int
    degree: int
    cycles: int


class Moved(msgspec.Struct, frozen=True):
    """What a block's own accesses to a buffer move in a memory with bursts: `accesses` ask for `wanted_bytes`, each element of an access
    once, and whole bursts are `moved_bytes`."""

    block: str
    buffer: str
    kind: Literal["read", "write"]
    memory: str
    accesses: int
    wanted_bytes: int
    moved_bytes: int


class Roofline(msgspec.Struct, frozen=True):
    """Where the program stands under the roof of its machine: operations, bytes in and out of the largest memory, cycles; the operations
    and bytes per cycle that the machine could do at most."""

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
    """Bytes that a computing engine itself reads from a buffer and writes to it."""

    engine: str
    buffer: str
    scope: str
    read_bytes: int
    written_bytes: int


class Finding(msgspec.Struct, frozen=True, eq=False):
    """Something to know about the schedule on this machine: what the replay saw. `memory` is the row it is about, if it is about one;
    `cycles` those that it costs the engine of its block.

    `fix` are schedule calls worth trying, as Python text; `engine.lint` tries them, and others.
    """

    code: str
    severity: str  # "error" (would not run), "warning" (runs, wastes), "info"
    message: str
    blocks: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    memory: str = ""
    cycles: int = 0


class TaskKind(msgspec.Struct, frozen=True):
    """What was made of a block: the engine, why that one, how many tasks and how many cycles."""

    block: str
    engine: str
    reason: str
    tasks: int
    cycles: int


class Segment(msgspec.Struct, frozen=True):
    """One task on the timeline. `end` is when the engine is free again; `ready` when the result is there; `times` how often it is run."""

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
    """What all tasks of a variant have in common: engine, block (several that run as one: joined, and one by one in `blocks`), the loops
    around, outermost first, and the cells by their labels. `template` numbers what is the same but for the cells."""

    template: int
    engine: str
    block: str
    blocks: tuple[str, ...]
    loops: tuple[Loop, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Segments(Sequence[Segment]):
    """The tasks that were played, in program order and in times of the timeline, made when looked at. `columns` gives bare numbers."""

    def __init__(self, program: TaskProgram, timeline: Timeline) -> None:
        self._program = program
        self._timeline = timeline
        self._kinds: dict[int, Kind] = {}

    @property
    def program(self) -> TaskProgram:
        """The tasks that were played."""
        return self._program

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
        """All tasks that are at work from cycle `start` to `end`, exclusive, in times of the clock: repeats one by one. What lies outside
        is not gone through."""
        return (self._made(row.row, row.later, row.place, 1) for row in self._timeline.unrolled(start, end))

    def by_the_clock(self) -> Iterator[Segment]:
        """The tasks that were played, when they first run."""
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
        """What the tasks of variant `number` (of `Timeline.numbers`) are."""
        found = self._kinds.get(number)
        if found is None:
            program = self._program
            variant = program.variants[number]
            template = program.templates[variant.template]
            reads, writes = (
                tuple(dict.fromkeys(program.places.of_cell[c].label(c) for c in cells))
                for cells in (variant.replay.reads, variant.replay.writes)
            )
            engine = program.machine.engines[template.engine].name
            blocks = tuple(dict.fromkeys(block.name for block in template.blocks))
            found = Kind(template.number, engine, template.name, blocks, template.outer, reads, writes)
            self._kinds[number] = found
        return found

    def __iter__(self) -> Iterator[Segment]:
        return (self[i] for i in range(len(self)))

    def columns(self) -> tuple[Column, Column, Column]:
        """(engine number, start, end) of every task, in program order."""
        return self._timeline.engines, self._timeline.starts, self._timeline.ends


class Report(msgspec.Struct, frozen=True, eq=False):
    """What the program costs on the machine. Cycles are of the machine's clock.

    `bounds` are what no schedule of the same tasks can be below, the highest first. `energy` is in pJ, by memory and engine. `overlap` is
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
    findings: tuple[Finding, ...]
    tasks: tuple[TaskKind, ...]
    segments: Segments
    occupancy: Occupancy
    timeline: Timeline
    caches: CacheCounts | None = None

    def __repr__(self) -> str:
        """The headline; `tilewright.report_text` has the tables."""
        return (
            f"<Report of {self.machine!r}: {self.cycles:,} cycles, bound {self.bound:,}, overlap {self.overlap:.0%}, "
            f"findings: {', '.join(f.code for f in self.findings) or 'none'}>"
        )

    @property
    def program(self) -> TaskProgram:
        """What was played: tasks, and where each buffer lies."""
        return self.segments.program

    @property
    def bound(self) -> int:
        """The highest of the bounds."""
        return max((b.cycles for b in self.bounds), default=0)

    @property
    def copied_bytes(self) -> int:
        """Bytes that are copied from memory to memory."""
        return sum(row.bytes for row in self.traffic)

    @property
    def energy_pj(self) -> float:
        """All of the energy."""
        return sum(self.energy.values())

    @property
    def ratio(self) -> float:
        """Cycles over the bound: 1.0 when the busiest engine never waits."""
        return self.cycles / self.bound if self.bound else 1.0

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values. The timeline and the occupancy are not in it: they have an entry for every task."""
        return {
            "machine": self.machine,
            "clock_hz": self.clock_hz,
            "cycles": self.cycles,
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
            "memory": {name: msgspec.to_builtins(m) for name, m in self.memory.items()},
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
                }
                for f in self.findings
            ],
        }
