"""The critical path of a report: its cycles by cause, and its steps in any interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from propcache.api import cached_property

from ..replay.clocks import NOBODY
from ..replay.critical_path.path import Path, PathDensity, PathStep, PathTask, steps_between, totals
from ..replay.critical_path.search import critical_path
from ..replay.timeline import ReplayTimeline
from ..tasks.tree import TaskProgram


class PathPart(msgspec.Struct, frozen=True):
    """Cycles of the critical path in which `block` runs on `engine`, and the cause for which the next task of the path waits for it.

    Causes are "engine" (the engine itself), "data" or "slot" of `buffer`, the "flag" named in `buffer`, "issue" (a place in its queue),
    and "end" (the end of the run). The cycles of "port" are those in which such tasks themselves wait for a shared port.
    """

    engine: str
    block: str
    cause: str
    buffer: str
    cycles: int
    tasks: int


class CriticalPath:
    """The chain of tasks that determines the duration of the run: its steps cover all cycles, repeats included."""

    def __init__(self, program: TaskProgram, timeline: ReplayTimeline) -> None:
        self._program, self._line = program, timeline
        self._path: Path = critical_path(program, timeline)

    @cached_property
    def parts(self) -> tuple[PathPart, ...]:
        """The cycles of the path by engine, block and cause, the largest first; together the cycles of the run."""
        cycles: Counter[tuple[str, str, str, str]] = Counter()
        tasks: Counter[tuple[str, str, str, str]] = Counter()
        for step, times in totals(self._path):
            engine, block = self.engine_of(step), self.block_of(step)
            port = min(step.port, step.cycles)
            key = engine, block, step.cause, self.buffer_of(step)
            cycles[key] += times * (step.cycles - port)
            tasks[key] += times
            if port:
                cycles[engine, block, "port", ""] += times * port
                tasks[engine, block, "port", ""] += times
        found = [PathPart(*key, count, tasks[key]) for key, count in cycles.items()]
        return tuple(sorted((p for p in found if p.cycles), key=lambda p: (-p.cycles, p.engine, p.block, p.cause)))

    def steps(self, start: int, end: int) -> Iterator[PathStep]:
        """Yields the steps at work from cycle `start` to `end`, exclusive, backward in time."""
        return steps_between(self._path, start, end)

    def shares(
        self, edges: Sequence[int], columns: Sequence[int], count: int
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Returns the fraction of the time between each edge and the next (a row) in which the path is on tasks of each of `count` columns;
        `columns` has the column of each task of the timeline, such as its engine."""
        density = PathDensity(self._path, columns, count)
        after = density.after(np.asarray(edges, np.int64))
        return -np.diff(after, axis=0) / np.maximum(np.diff(np.asarray(edges, np.float64)), 1e-9)[:, None]

    def engine_of(self, step: PathStep | PathTask) -> str:
        return self._program.machine.engines[int(self._line.engines[step.row])].name

    def block_of(self, step: PathStep | PathTask) -> str:
        return self._program.templates[self._program.variants[int(self._line.numbers[step.row])].template].name

    def buffer_of(self, step: PathStep | PathTask) -> str:
        """Returns the buffer that the next task waits for; "" for other causes."""
        return "" if step.cell == NOBODY else self._program.places.of_cell[step.cell].buffer.name
