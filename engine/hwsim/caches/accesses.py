"""What a simulation of caches reads and what it counts: the accesses of a program with the caches that they pass, and the totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm

import msgspec
import numpy as np
import numpy.typing as npt

from ...ir import Buffer
from ..access.placement import memory_of
from ..errors import refuse
from ..machine.model import Machine
from ..machine.parts import Cache
from ..tasks.nest import Loop, Nest
from .report import CacheCounts, CachedTask, CacheRow
from .stream import Event, Stream, one_after_another, read_stream

Ints = npt.NDArray[np.int64]


class Accesses(msgspec.Struct, frozen=True, eq=False):
    """The stream of a program behind the caches of a machine.

    By event, `first` is the number of the cache that it asks first, or -1. By cache, `behind` is the number of the next level, -1 for the
    memory, and `cost` are the cycles of a miss. `tasks` are the loops that number the instances of each task, `task_of` is the task of an
    event.
    """

    caches: tuple[Cache, ...]
    stream: Stream
    first: tuple[int, ...]
    behind: tuple[int, ...]
    cost: tuple[int, ...]
    tasks: tuple[tuple[Loop, ...], ...]
    task_of: dict[int, int]

    @property
    def inclusive(self) -> tuple[str, ...]:
        """The inclusive levels by name."""
        return tuple(c.name for c in self.caches if c.inclusion == "inclusive")

    def tally(self) -> Tally:
        """Returns a tally without counts."""
        shape = len(self.caches), len(self.stream.events)
        cycles = [np.zeros([loop.extent for loop in loops], np.int64) for loops in self.tasks]
        asked, missed, prefetched = (np.zeros(shape, np.int64) for _ in range(3))
        return Tally(asked, missed, prefetched, np.zeros(shape[0], np.int64), cycles)


class Tally(msgspec.Struct, eq=False):
    """Counts by cache and event, dirty lines that each cache evicted, and stall cycles by task and instance. `prefetched` are the misses
    of prefetches, by the event that caused them.
    """

    asked: Ints
    missed: Ints
    prefetched: Ints
    returned: Ints
    cycles: list[Ints]
    simulated: int = 0
    one_by_one: str = ""


def accesses_of(
    nest: Nest,
    machine: Machine,
    engine: str | Mapping[int, str] | None,
    bases: Mapping[str, int],
    tasks: Sequence[CachedTask],
) -> Accesses:
    """Returns the accesses of a nest on a machine; see `cache_counts`."""
    engines = engine if engine is not None else _require_cached(machine)
    stream = _stream(nest, machine, bases)
    first = tuple(_first_level(e, nest, machine, engines) for e in stream.events)
    behind = tuple(_behind(machine, n) for n in range(len(machine.caches)))
    cost = tuple(_cost(machine, n, giver) for n, giver in enumerate(behind))
    loops = tuple(_loops_of(t, stream.events) for t in tasks)
    task_of = {e.number: n for n, t in enumerate(tasks) for e in stream.events if e.leaf in t.leaves}
    return Accesses(machine.caches, stream, first, behind, cost, loops, task_of)


def counts_of(accesses: Accesses, tally: Tally) -> CacheCounts:
    """Returns the result of a simulation."""
    rows: dict[tuple[int, str, str], list[int]] = {}
    for level in range(len(accesses.caches)):
        for event in accesses.stream.events:
            if tally.asked[level, event.number] or tally.prefetched[level, event.number]:
                row = rows.setdefault((level, event.block, event.buffer.name), [0, 0, 0, 0, 0])
                row[int(event.written)] += int(tally.asked[level, event.number])
                row[2 + int(event.written)] += int(tally.missed[level, event.number])
                row[4] += int(tally.prefetched[level, event.number])
    named = tuple(CacheRow(accesses.caches[n].name, block, buffer, *row) for (n, block, buffer), row in rows.items())
    back = {c.name: int(n) for c, n in zip(accesses.caches, tally.returned.tolist(), strict=True)}
    total = sum(int(tally.asked[level, n]) for n, level in enumerate(accesses.first) if level >= 0)
    cycles = tuple(tuple(c.reshape(-1).tolist()) for c in tally.cycles)
    return CacheCounts(named, back, total, tally.simulated, cycles, tally.one_by_one)


def _stream(nest: Nest, machine: Machine, bases: Mapping[str, int]) -> Stream:
    align = lcm(*(c.line_bytes for c in machine.caches))
    memories = {c.memory for c in machine.caches}
    kept = [s.buffer for s in nest.sites if memory_of(machine, s.buffer, nest).name in memories]
    everything = read_stream(nest, align=align)
    given: dict[Buffer, int] = {b: bases[b.name] for b in kept if b.name in bases}
    end = max((base + everything.bytes_of[b] for b, base in given.items()), default=0)
    shift = -(-end // align) * align
    apart = max(c.prefetch_reach + c.prefetch_reach_back for c in machine.caches)
    sizes = {b: size + apart for b, size in everything.bytes_of.items()}
    rest = one_after_another([b for b in kept if b not in given], sizes, align)
    return read_stream(nest, {b: given[b] if b in given else rest[b] + shift for b in kept})


def _first_level(event: Event, nest: Nest, machine: Machine, engines: str | Mapping[int, str]) -> int:
    engine = engines if isinstance(engines, str) else engines.get(event.leaf, "")
    chain = machine.caches_of(engine, memory_of(machine, event.buffer, nest).name)
    return machine.caches.index(chain[0]) if chain else -1


def _behind(machine: Machine, level: int) -> int:
    cache, caches = machine.caches[level], machine.caches
    return next((n for n in range(level + 1, len(caches)) if _is_behind(caches[n], cache)), -1)


def _is_behind(cache: Cache, other: Cache) -> bool:
    return cache.memory == other.memory and bool(set(cache.engines) & set(other.engines))


def _cost(machine: Machine, level: int, behind: int) -> int:
    """Returns the cycles of a miss, until the level behind, or the memory, has delivered the line."""
    cache = machine.caches[level]
    if behind >= 0:
        giver = machine.caches[behind]
        return giver.latency_cycles + -(-cache.line_bytes // giver.bytes_per_cycle)
    memory = machine.memory(cache.memory)
    return memory.latency_cycles + -(-cache.line_bytes // memory.read_bytes_per_cycle)


# A machine whose caches are simulated has at least one.
def _require_cached(machine: Machine) -> str:
    if not machine.caches:
        raise refuse("no-cache", f"machine {machine.name!r} has no cache", expected="a section [caches.NAME]")
    return machine.caches[0].engines[0]


def _loops_of(task: CachedTask, events: Sequence[Event]) -> tuple[Loop, ...]:
    """Returns the loops around a task."""
    own = next((e for e in events if e.leaf in task.leaves), None)
    return () if own is None else own.loops[: task.outer]
