"""Simulation of a program's accesses through a machine's caches: misses at each level, and the stall cycles of each task.

A loop is skipped exactly if its accesses move by whole lines from iteration to iteration, all by the same number of sets: if the lines held
after a period are those held before it, moved along, then the next period repeats this one, and so do all that follow. Programs that never
reach such a state run to the end, up to `limit` accesses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, lcm
from typing import cast

import msgspec
import numpy as np

from ...cancellation import checkpoint
from ...ir import BlockRealize, Buffer, PrimFunc, Var
from ...lower import LowerError, Plan, lower_init_block, lower_match_buffer, pipelined, planned
from ..access.placement import memory_of
from ..errors import MachineError, refuse
from ..machine.model import Machine
from ..machine.parts import Cache
from ..tasks.nest import Loop, Nest, read_nest
from .model import Asked, Ints, Level, equal_order, joined
from .report import CacheCounts, CachedTask, CacheRow
from .stream import Batch, Event, Span, Stream, StreamLoop, StreamNode, one_after_another, read_stream, step_of

MAX_ACCESSES = 1 << 25
BATCH = 1 << 17
"""Accesses that are computed at once."""


MOST_PERIODS = 32
"""The number of periods of a loop that are compared before it runs to its end."""


def cache_counts(
    func: PrimFunc,
    machine: Machine,
    *,
    engine: str | Mapping[int, str] | None = None,
    bases: Mapping[str, int] | None = None,
    tasks: Sequence[CachedTask] = (),
    limit: int = MAX_ACCESSES,
    known_plan: Plan | None = None,
    batch: int = BATCH,
    skip: bool = True,
) -> CacheCounts:
    """Counts the accesses and misses of `func` in the caches of `machine`; they are empty at the start.

    `engine` runs the program, or for each leaf the one by number; by default the first that has a cache. Buffers begin at `bases` by name,
    the others follow one behind the other. Raises MachineError: "no-cache", "data-dependent" addresses, "opaque-access",
    "too-many-accesses" if more than `limit` accesses have to be simulated. Without `skip` all accesses are simulated; `batch` accesses are
    computed at once.
    """
    nest = cached_nest(func, known_plan)
    runner = _Runner(nest, machine, engine, bases or {}, tasks, _Effort(limit, batch, skip))
    runner.run(runner.stream.nodes, {})
    return runner.counts()


def cached_nest(func: PrimFunc, known_plan: Plan | None = None) -> Nest:
    """Returns the nest that hwsim prices, with the inits of reductions as stores; its leaves are the same, in the same order."""
    is_planned = not isinstance(func.body, BlockRealize)
    try:
        piped = pipelined(
            lower_match_buffer(lower_init_block(func if is_planned else (known_plan or planned(func)).func))
        )
    except LowerError as error:
        raise MachineError(error.refusal) from error
    return read_nest(piped.func, set(piped.buffers.values()))


class _Task:
    """Stall cycles of a task's instances, row-major over its `loops`."""

    def __init__(self, loops: tuple[Loop, ...]) -> None:
        self.loops = loops
        self.cycles = np.zeros(tuple(loop.extent for loop in loops), np.int64)


class _Effort(msgspec.Struct, frozen=True):
    limit: int
    batch: int
    skip: bool


class _Mark(msgspec.Struct, frozen=True, eq=False):
    """Snapshot of the counters before a period: by level and event, by level, in all, and the cycles of the tasks in the loop."""

    asked: Ints
    missed: Ints
    returned: Ints
    accesses: int
    cells: dict[int, Ints]


class _Runner:
    def __init__(
        self,
        nest: Nest,
        machine: Machine,
        engine: str | Mapping[int, str] | None,
        bases: Mapping[str, int],
        tasks: Sequence[CachedTask],
        effort: _Effort,
    ) -> None:
        self.machine, self.effort = machine, effort
        self.engine = engine if engine is not None else require_cached(machine)
        self.align = lcm(*(c.line_bytes for c in machine.caches))
        self.stream = self._stream(nest, bases)
        events = self.stream.events
        self.levels = [Level(c) for c in machine.caches]
        self.first = np.array([self._first_level(e, nest) for e in events], np.int64)
        self.written = np.array([e.written for e in events], np.bool_)
        self.cost = [self._cost(c) for c in machine.caches]
        self.asked = np.zeros((len(self.levels), len(events)), np.int64)
        self.missed = np.zeros((len(self.levels), len(events)), np.int64)
        self.returned = np.zeros(len(self.levels), np.int64)
        self.accesses = self.simulated = 0
        self.tasks = [_Task(_loops_of(t, events)) for t in tasks]
        self.task_of = {e.number: n for n, t in enumerate(tasks) for e in events if e.leaf in t.leaves}
        self.starts = sorted(
            (base, buffer) for buffer, base in self.stream.bases.items() if self.stream.bytes_of[buffer]
        )
        self.apart = self._lines_apart()

    def _stream(self, nest: Nest, bases: Mapping[str, int]) -> Stream:
        memories = {c.memory for c in self.machine.caches}
        kept = [s.buffer for s in nest.sites if memory_of(self.machine, s.buffer, nest).name in memories]
        everything = read_stream(nest, align=self.align)
        given = {b: bases[b.name] for b in kept if b.name in bases}
        end = max((base + everything.bytes_of[b] for b, base in given.items()), default=0)
        shift = -(-end // self.align) * self.align
        rest = one_after_another([b for b in kept if b not in given], everything.bytes_of, self.align)
        return read_stream(nest, {b: given[b] if b in given else rest[b] + shift for b in kept})

    def _first_level(self, event: Event, nest: Nest) -> int:
        engine = self.engine if isinstance(self.engine, str) else self.engine.get(event.leaf, "")
        chain = self.machine.caches_of(engine, memory_of(self.machine, event.buffer, nest).name)
        return self.machine.caches.index(chain[0]) if chain else -1

    def _behind(self, level: int) -> int:
        """Returns the number of the level behind one, or -1 for the memory."""
        cache, caches = self.machine.caches[level], self.machine.caches
        return next((n for n in range(level + 1, len(caches)) if _is_behind(caches[n], cache)), -1)

    def _cost(self, cache: Cache) -> int:
        """Cycles of a miss, until the level behind, or the memory, has delivered the line."""
        behind = self._behind(self.machine.caches.index(cache))
        if behind >= 0:
            giver = self.machine.caches[behind]
            return giver.latency_cycles + -(-cache.line_bytes // giver.bytes_per_cycle)
        memory = self.machine.memory(cache.memory)
        return memory.latency_cycles + -(-cache.line_bytes // memory.read_bytes_per_cycle)

    # -- running

    def run(self, nodes: Sequence[StreamNode], fixed: dict[Var, int]) -> None:
        """Simulates all accesses of `nodes`, with the loops around them at `fixed`."""
        small: list[StreamNode] = []
        for node in (*nodes, None):
            size = 0 if node is None else node.volume * node.loop.extent if isinstance(node, StreamLoop) else 1
            if node is not None and size <= self.effort.batch:
                small.append(node)
                continue
            if small:
                self.serve(small, (), fixed)
                small = []
            if isinstance(node, StreamLoop):
                self.loop(node, fixed)

    def loop(self, node: StreamLoop, fixed: dict[Var, int]) -> None:
        """Simulates all iterations of a loop, and skips repeats."""
        at, extent, failed = 0, node.loop.extent, 0
        period = self.period(node)
        while period is not None and extent - at >= 2 * period and failed < MOST_PERIODS:
            shifts = [self.shifts(level, node, period) for level in self.levels]
            expected = [None if s is None else level.moved(s) for level, s in zip(self.levels, shifts, strict=True)]
            before = self.mark(node, fixed)
            self.some(node, fixed, at, period)
            at += period
            if all(
                e is not None and equal_order(level.sets, e) for level, e in zip(self.levels, expected, strict=True)
            ):
                at += self.skip(node, fixed, at, period, before)
                break
            failed += 1
        self.some(node, fixed, at, extent - at)

    def some(self, node: StreamLoop, fixed: dict[Var, int], start: int, count: int) -> None:
        """Simulates `count` iterations of a loop."""
        step = self.effort.batch // max(1, node.volume)
        if step == 0:
            for i in range(start, start + count):
                self.run(node.children, {**fixed, node.loop.var: i})
            return
        for i in range(start, start + count, step):
            self.serve(node.children, (Span(node.loop, i, min(step, start + count - i)),), fixed)

    def serve(self, nodes: Sequence[StreamNode], spans: tuple[Span, ...], fixed: Mapping[Var, int]) -> None:
        """Sends a batch through all levels."""
        batch = self.stream.batch(nodes, spans, fixed)
        first = self.first[batch.event]
        self.accesses += len(batch.event)
        self.simulated += len(batch.event)
        if self.simulated > self.effort.limit:
            raise refuse("too-many-accesses", f"the cache simulation needs more than {self.effort.limit} single accesses",
                         expected=f"at most {self.effort.limit} accesses outside of periodic repetitions")  # fmt: skip
        coming: list[list[Asked]] = [[] for _ in self.levels]
        nothing = np.zeros(0, np.int64)
        for n in range(len(self.levels)):
            checkpoint()
            own = np.flatnonzero(first == n)
            if len(own):
                coming[n].append(Asked(own, batch.address[own], self.written[batch.event[own]], (nothing, nothing)))
            if not coming[n]:
                continue
            asked = joined(coming[n])
            missed = self.levels[n].ask(asked)
            positions = asked.position[missed.which]
            self.count(n, batch, asked.position, positions, len(missed.returned[0]))
            self.wait(n, batch, positions, spans, fixed)
            behind = self._behind(n)
            if behind >= 0 and (len(positions) or len(missed.returned[0])):
                clean = np.zeros(len(positions), np.bool_)
                coming[behind].append(Asked(positions, batch.address[positions], clean, missed.returned))

    def count(self, level: int, batch: Batch, asked: Ints, missed: Ints, returned: int) -> None:
        size = len(self.stream.events)
        self.asked[level] += np.bincount(batch.event[asked], minlength=size)
        self.missed[level] += np.bincount(batch.event[missed], minlength=size)
        self.returned[level] += returned

    def wait(self, level: int, batch: Batch, missed: Ints, spans: tuple[Span, ...], fixed: Mapping[Var, int]) -> None:
        """Adds the cycles of misses to their task instances."""
        if not self.tasks or not len(missed):
            return
        numbers = batch.event[missed]
        for number in cast("list[int]", np.unique(numbers).tolist()):
            which = self.task_of.get(number)
            if which is None:
                continue
            task, event = self.tasks[which], self.stream.events[number]
            rows = batch.row[missed[numbers == number]]
            inner = event.loops[len(event.loops) - self._depth_in(event, fixed) :]
            started = {s.loop.var: (s.start, s.count) for s in spans}
            shape = [started.get(loop.var, (0, loop.extent))[1] for loop in inner]
            places = np.unravel_index(rows, shape) if shape else ()
            values = {loop.var: p + started.get(loop.var, (0, 0))[0] for loop, p in zip(inner, places, strict=True)}
            index = tuple(values[o.var] if o.var in values else np.full(len(rows), fixed[o.var]) for o in task.loops)
            if index:
                np.add.at(task.cycles, index, self.cost[level])
            else:
                task.cycles += self.cost[level] * len(rows)

    @staticmethod
    def _depth_in(event: Event, fixed: Mapping[Var, int]) -> int:
        """Returns how many of an event's loops run within a batch."""
        return sum(loop.var not in fixed for loop in event.loops)

    # -- skipping

    def period(self, node: StreamLoop) -> int | None:
        """Returns the number of iterations after which all accesses of a loop have moved by whole lines, and by the same number of sets in
        every level; None if they do not move evenly or the period is too long.
        """
        if not self.effort.skip or not self.apart:
            return None
        moves = self.moves(node)
        if moves is None:
            return None
        strange = any(self._is_strange(level, moves) for level in self.levels)
        period = 1
        for cache in self.machine.caches:
            way = cache.line_bytes * cache.sets
            apart = list(moves.values()) if strange else [a - b for a in moves.values() for b in moves.values()]
            period = lcm(
                period,
                *(cache.line_bytes // gcd(cache.line_bytes, m) for m in moves.values()),
                *(way // gcd(way, d) for d in apart),
            )
        # A comparison costs as much as there are lines: a period should cost at least as much.
        lines = sum(c.sets * c.ways for c in self.machine.caches)
        period *= max(1, lines // max(1, 4 * period * node.volume))
        return period if 2 * period <= node.loop.extent else None

    def moves(self, node: StreamLoop) -> dict[Buffer, int] | None:
        """Returns the bytes by which the accesses to each buffer move per iteration; None unless all accesses to a buffer move by the same
        amount.
        """
        found: dict[Buffer, int] = {}
        for event in _events(node):
            if self.first[event.number] < 0:
                continue
            step = step_of(event, node.loop)
            if step is None:
                return None
            size = step * (self.stream.bytes_of_element(event.buffer))
            if found.setdefault(event.buffer, size) != size:
                return None
        return found

    def _is_strange(self, level: Level, moves: Mapping[Buffer, int]) -> bool:
        """Returns whether a level holds lines that the loop does not access."""
        return any(b not in moves for b in self.owners(level))

    def owners(self, level: Level) -> list[Buffer]:
        """Returns the buffer of each line that a level holds."""
        lines = np.array([line for line, _ in level.held()], np.int64) * level.cache.line_bytes
        bases = np.array([base for base, _ in self.starts], np.int64)
        return [self.starts[n][1] for n in (np.searchsorted(bases, lines, side="right") - 1).tolist()]

    def shifts(self, level: Level, node: StreamLoop, period: int) -> list[int] | None:
        """Returns the shift of each line that a level holds, in lines per period; None if lines that do not move would change their
        neighbours.
        """
        moves = self.moves(node) or {}
        line, sets = level.cache.line_bytes, len(level.sets)
        turns = {m * period // line % sets for m in moves.values()}
        found: list[int] = []
        for owner in self.owners(level):
            if owner not in moves and turns - {0}:
                return None
            found.append(moves.get(owner, 0) * period // line)
        return found

    def mark(self, node: StreamLoop, fixed: Mapping[Var, int]) -> _Mark:
        """Returns a snapshot of the counters."""
        inside = {self.task_of.get(e.number) for e in _events(node)} - {None}
        cells = {n: self.tasks[n].cycles[_cell(self.tasks[n], fixed)].copy() for n in inside if n is not None}
        return _Mark(self.asked.copy(), self.missed.copy(), self.returned.copy(), self.accesses, cells)

    def skip(self, node: StreamLoop, fixed: Mapping[Var, int], at: int, period: int, before: _Mark) -> int:
        """Adds the counts of the last period for all remaining whole periods; returns the number of iterations skipped."""
        times = (node.loop.extent - at) // period
        if not times:
            return 0
        self.asked += (self.asked - before.asked) * times
        self.missed += (self.missed - before.missed) * times
        self.returned += (self.returned - before.returned) * times
        self.accesses += (self.accesses - before.accesses) * times
        for n, old in before.cells.items():
            task = self.tasks[n]
            place = _cell(task, fixed)
            if node.loop in task.loops:
                own = task.cycles[place]
                own[at : at + times * period] = np.tile(own[at - period : at], (times, *[1] * (own.ndim - 1)))
            else:
                task.cycles[place] += (task.cycles[place] - old) * times
        for level in self.levels:
            shifts = self.shifts(level, node, period * times)
            assert shifts is not None
            level.sets = level.moved(shifts)
        return times * period

    def _lines_apart(self) -> bool:
        """Returns whether no line holds parts of two buffers."""
        ends = [base + self.stream.bytes_of[b] for base, b in self.starts]
        aligned = all(base % self.align == 0 for base, _ in self.starts)
        return aligned and all(end <= base for end, (base, _) in zip(ends, self.starts[1:], strict=False))

    # -- the result

    def counts(self) -> CacheCounts:
        events = self.stream.events
        rows: dict[tuple[int, str, str], list[int]] = {}
        for level in range(len(self.levels)):
            for event in events:
                if self.asked[level, event.number]:
                    row = rows.setdefault((level, event.block, event.buffer.name), [0, 0, 0, 0])
                    row[int(event.written)] += int(self.asked[level, event.number])
                    row[2 + int(event.written)] += int(self.missed[level, event.number])
        named = tuple(
            CacheRow(self.machine.caches[n].name, block, buffer, *row) for (n, block, buffer), row in rows.items()
        )
        back = {c.name: int(n) for c, n in zip(self.machine.caches, self.returned.tolist(), strict=True)}
        cycles = tuple(tuple(t.cycles.reshape(-1).tolist()) for t in self.tasks)
        return CacheCounts(named, back, self.accesses, self.simulated, cycles)


# A machine whose caches are simulated has at least one.
def require_cached(machine: Machine) -> str:
    if not machine.caches:
        raise refuse("no-cache", f"machine {machine.name!r} has no cache", expected="a section [caches.NAME]")
    return machine.caches[0].engines[0]


def _is_behind(cache: Cache, other: Cache) -> bool:
    return cache.memory == other.memory and bool(set(cache.engines) & set(other.engines))


def _events(node: StreamNode) -> list[Event]:
    return [node] if isinstance(node, Event) else [e for child in node.children for e in _events(child)]


def _loops_of(task: CachedTask, events: Sequence[Event]) -> tuple[Loop, ...]:
    """Returns the loops around a task."""
    own = next((e for e in events if e.leaf in task.leaves), None)
    return () if own is None else own.loops[: task.outer]


def _cell(task: _Task, fixed: Mapping[Var, int]) -> tuple[int, ...]:
    """Returns the index of a task's instances while the loops of `fixed` are at those values."""
    return tuple(fixed[loop.var] for loop in task.loops if loop.var in fixed)
