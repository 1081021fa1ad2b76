"""The cores of a chip over time: one row for each class of cores that run the same number of blocks, and one for each shared port.

The replay has the tasks of the first core. In each place for a block of that core, one block follows another: the n-th block of a core runs
on all cores of a class that have so many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import msgspec
import numpy as np
from propcache.api import cached_property

from ....engine.hwsim import ChipReport, Kind, Report
from ....engine.hwsim.report.chip import SharedPort
from .spans import Column, Spans, spans

MOST_PLACES = 6
"""A core with places for more blocks is drawn as one place."""

SCALE = 1000
"""The height of a port that is busy in each cycle."""


class CoreGroup(msgspec.Struct, frozen=True):
    """`count` cores from number `first` on, which run the same number of blocks of each launch."""

    first: int
    count: int
    blocks: tuple[int, ...]


class HeldBlock(msgspec.Struct, frozen=True):
    """The n-th block of a launch on the first core, in place `place` of the core: `rows` are its tasks. Its start costs the cycles from
    `begin` to `start`.
    """

    launch: int
    n: int
    place: int
    rows: list[int]
    begin: int
    start: int
    end: int


class Numbering(msgspec.Struct, frozen=True):
    """How the blocks of a chip are numbered. A wave has `step` numbers: of one core if the dispatch is static, else of all. A task of the
    replay has the number of the first block of its wave, plus `stride` for each place of the core before its own.
    """

    step: int
    stride: int
    is_static: bool


class Chip:
    """The rows of a chip: the classes of cores, then the ports that all cores share. `places` are those of the kinds of tasks."""

    def __init__(self, report: Report, kinds: Sequence[Kind], kind_of: Column, places: Sequence[int]) -> None:
        found, run = report.chip, report.timeline.chip
        assert found is not None and run is not None
        self.report, self.residents = found, run.residents
        self._line, self._program = report.timeline, report.program
        self._kinds, self._kind_of, self._places = kinds, kind_of.tolist(), places
        self._start_cycles = run.start_cycles
        core = report.program.machine.core
        self._is_together = core is not None and core.sharing == "together" and found.has_equal_blocks
        self.groups = core_groups(found)
        levels = {port.name: port.level for port in report.program.ports}
        self.ports: list[SharedPort] = [
            port for port in found.ports if port.cycles and (levels.get(port.name) == "" or port.segments)
        ]

    @property
    def places(self) -> int:
        """The places for blocks that are drawn of a core."""
        return 1 if self.residents > MOST_PLACES else self.residents

    @cached_property
    def numbering(self) -> Numbering | None:
        """The numbers of blocks; None if the cores do not do the same, or take blocks in no fixed order."""
        report, is_static = self.report, self.report.dispatch == "static"
        apart = 1 if is_static else report.cores
        step = self.residents * apart
        seen = {(self._number_of(row) % step, self._places[kind]) for row, kind in enumerate(self._kind_of)}
        stride = apart if any(rest for rest, _ in seen) else 0
        is_regular = all(rest == place * stride for rest, place in seen)
        return Numbering(step, stride, is_static) if is_regular and report.has_equal_blocks else None

    def grid_of(self, kind: Kind) -> tuple[int, int]:
        """The first and the last (exclusive) of the loops around a task that count blocks."""
        inside = [n for n, loop in enumerate(kind.loops) if loop.grid]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    def of_group(self, group: CoreGroup) -> Iterator[HeldBlock]:
        """The blocks that each core of a group runs."""
        return (block for block in self.blocks if block.n < group.blocks[min(block.launch, len(group.blocks) - 1)])

    def idle(self, group: CoreGroup) -> list[tuple[int, int]]:
        """While the cores of a group have no block of a launch that still runs on others, in compressed time."""
        found: list[tuple[int, int]] = []
        for launch in range(len(self.report.launches)):
            lacking = [b.begin for b in self.blocks if b.launch == launch and b.n >= group.blocks[launch]]
            later = [b.begin for b in self.blocks if b.launch > launch]
            if lacking:
                found.append((min(lacking), min(later, default=self._line.length)))
        return found

    @cached_property
    def blocks(self) -> list[HeldBlock]:
        """The blocks of the first core, by their first task."""
        line = self._line
        found: list[HeldBlock] = []
        ended: dict[int, int] = {}
        for (launch, n), rows in self._rows_of_blocks.items():
            last = self._places[self._kind_of[rows[0]]]
            # Tasks of blocks that run together have the place of the last one.
            for place in range(last + 1) if self._is_together else (last,):
                since = ended.get(place, 0)
                start, end = max(int(line.starts[rows].min()), since), max(int(line.ends[rows].max()), since)
                begin = max(since, start - self._start_cycles)
                found.append(HeldBlock(launch, n - last + place, place, rows, begin, start, end))
                ended[place] = end
        return found

    @cached_property
    def _rows_of_blocks(self) -> dict[tuple[int, int], list[int]]:
        apart = 1 if self.report.dispatch == "static" else self.report.cores
        launch, launched = -1, None
        found: dict[tuple[int, int], list[int]] = {}
        for row, kind in enumerate(self._kind_of):
            first, last = self._bounds[kind]
            loops = self._kinds[kind].loops
            key = tuple(loop.var for loop in loops[first:last]), self._line.places[row][:first]
            if key != launched:
                launch, launched = launch + 1, key
            n = self._number_of(row) // (self.residents * apart) * self.residents + self._places[kind]
            found.setdefault((launch, n), []).append(row)
        return found

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        return [self.grid_of(kind) for kind in self._kinds]

    def _number_of(self, row: int) -> int:
        """The number of the block of a task, by the loops around it."""
        kind = self._kind_of[row]
        first, last = self._bounds[kind]
        number = 0
        for at, loop in zip(self._line.places[row][first:last], self._kinds[kind].loops[first:last], strict=True):
            number = number * loop.extent + at
        return number

    def spans(self, first_cell: int) -> tuple[Spans, Spans]:
        """The start costs of blocks, and the blocks, by the place of a group."""
        starting: list[tuple[int, int, int]] = []
        running: list[tuple[int, int, int]] = []
        for number, group in enumerate(self.groups):
            for block in self.of_group(group):
                if block.place < self.places:
                    cell = first_cell + number * self.places + block.place
                    starting.append((block.begin, block.start, cell))
                    running.append((block.start, block.end, cell))
        return _columns(starting), _columns(running)

    def held(self, group: CoreGroup) -> tuple[Column, Column, Column]:
        """When the number of blocks on a core of a group changes, and their share of its places in units of `SCALE`; twice, as a memory has
        live and allocated bytes."""
        blocks = list(self.of_group(group))
        return _steps([b.start for b in blocks], [b.end for b in blocks], [SCALE / self.residents] * len(blocks))

    def busy(self, port: SharedPort) -> tuple[Column, Column, Column]:
        """When the busy part of a port changes, and the part in units of `SCALE`; of a link, that of its busiest segment. The bursts of a
        task are spread over its duration.
        """
        line, variants, run = self._line, self._program.variants, self._line.chip
        assert run is not None
        # Tasks use the room that others leave in their last cycles; some are one transfer with those of other cores.
        demands = [
            run.share_of_ports(n // self.residents)
            * sum(busy - room / p.bytes_per_cycle for p, busy, room in v.cost.port_work if p.name == port.name)
            for n, v in enumerate(variants)
        ]
        # The part of all cycles that the busiest segment of a link has.
        whole = sum(
            demands[number] * count for number, count in zip(line.numbers.tolist(), line.times.tolist(), strict=True)
        )
        part = port.cycles / max(whole * self.report.cores, 1) if port.segments else 1.0
        starts: list[int] = []
        ends: list[int] = []
        rates: list[float] = []
        for block in self.blocks:
            cores = sum(g.count for g in self.groups if block.n < g.blocks[min(block.launch, len(g.blocks) - 1)])
            for row in block.rows:
                if cycles := demands[line.numbers[row]]:
                    start, end = int(line.starts[row]), int(line.ends[row])
                    starts.append(start)
                    ends.append(end)
                    rates.append(cycles * cores * part * SCALE / max(1, end - start))
        return _steps(starts, ends, rates)


def core_groups(chip: ChipReport) -> list[CoreGroup]:
    """The cores by their numbers of blocks of each launch, in the order of the cores."""
    ends = [list(accumulate(c.count for c in launch.classes)) for launch in chip.launches]
    edges = sorted({0, *(end for each in ends for end in each)})
    found: list[CoreGroup] = []
    for first, last in pairwise(edges):
        here = (zip(launch.classes, each, strict=True) for launch, each in zip(chip.launches, ends, strict=True))
        blocks = tuple(next(c.blocks for c, end in classes if first < end) for classes in here)
        found.append(CoreGroup(first, last - first, blocks))
    return found


def _columns(rows: Sequence[tuple[int, int, int]]) -> Spans:
    return spans([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def _steps(starts: Sequence[int], ends: Sequence[int], amounts: Sequence[float]) -> tuple[Column, Column, Column]:
    """The times at which a sum of amounts changes, and the sum from each on."""
    times = np.unique(np.array([0, *starts, *ends], np.int64))
    delta = np.zeros(len(times))
    np.add.at(delta, np.searchsorted(times, starts), amounts)
    np.add.at(delta, np.searchsorted(times, ends), [-amount for amount in amounts])
    level = np.rint(np.cumsum(delta)).astype(np.int64)
    return times, level, level


__all__ = ["SCALE", "Chip", "CoreGroup", "HeldBlock", "Numbering", "core_groups"]
