"""Replays of bare sequences of tasks: by either core of hwsim, and cycle by cycle, as slow and simple as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from tilewright.engine.hwsim.replay.clocks import Clocks, TaskStall, Variant
from tilewright.engine.hwsim.replay.shared_ports import SharedClocks

ENDLESS = 1_000_000


class Replayed(msgspec.Struct):
    """Starts and ends of the tasks, in program order; the makespan; busy cycles and stalls of each engine."""

    starts: list[int]
    ends: list[int]
    cycles: int
    busy: tuple[int, ...]
    last_end: tuple[int, ...]
    stalls: list[TaskStall]

    def stalls_of(self, engine: int) -> dict[str, int]:
        """Cycles by cause."""
        found: Counter[str] = Counter()
        for stall in self.stalls:
            if stall.engine == engine:
                found[stall.cause] += stall.cycles
        return dict(found)


def replay(
    variants: Sequence[Variant],
    sequence: Sequence[int],
    engine_count: int,
    cell_count: int,
    *,
    queues: Sequence[int] = (),
    bursts: Sequence[int] | None = None,
    users: Mapping[int, Collection[int]] | None = None,
) -> Replayed:
    """Plays a sequence, without skipping anything; on the core for shared ports when `bursts` are given."""
    depth = queues or [ENDLESS] * engine_count
    clocks = (
        Clocks(variants, depth, cell_count)
        if bursts is None
        else SharedClocks(variants, depth, cell_count, bursts, users)
    )
    for number in sequence:
        clocks.issue(number)
    cycles = clocks.finish()
    busy = Counter[int]()
    for number in sequence:
        busy[variants[number].engine] += variants[number].duration
    return Replayed(
        clocks.starts,
        clocks.ends,
        cycles,
        tuple(busy[e] for e in range(engine_count)),
        tuple(clocks.free),
        clocks.stalls,
    )


def by_the_cycle(
    variants: Sequence[Variant],
    sequence: Sequence[int],
    engine_count: int,
    *,
    queues: Sequence[int],
    bursts: Sequence[int],
) -> tuple[list[int], list[int]]:
    """(starts, ends), by inspecting everything in each cycle. An independent statement of the rules."""
    tasks = [variants[number] for number in sequence]
    start: list[int | None] = [None] * len(tasks)
    end: list[int | None] = [None] * len(tasks)
    owed: list[dict[int, int]] = [{} for _ in tasks]
    holder: list[int | None] = [None] * len(bursts)
    left = [0] * len(bursts)
    last = [-1] * len(bursts)
    issued = now = 0

    def clear(n: int, task: Variant) -> bool:
        for m in range(n):
            other, over = tasks[m], end[m]
            there = None if over is None else over + other.latency
            newer = set().union(*(set(tasks[x].writes) for x in range(m + 1, n)), set())
            needed = (set(other.writes) - newer) & set(task.reads)
            if other.engine != task.engine:
                needed |= (set(other.writes) - newer) & set(task.writes)
            if needed and (there is None or there > now):
                return False
            if set(other.reads) & set(task.writes) and (over is None or over > now):
                return False
        return True

    while any(e is None for e in end):
        for n, task in enumerate(tasks):
            begun = start[n]
            if begun is not None and end[n] is None and now >= begun + task.duration and not owed[n]:
                end[n] = now
        going = True
        while going:
            going = False
            busy = {tasks[n].engine for n in range(issued) if start[n] is not None and end[n] is None}
            for engine in range(engine_count):
                heads = [n for n in range(issued) if tasks[n].engine == engine and start[n] is None]
                if engine not in busy and heads and clear(heads[0], tasks[heads[0]]):
                    start[heads[0]] = now
                    owed[heads[0]] = dict(tasks[heads[0]].demands)
                    going = True
            if issued < len(tasks):
                engine = tasks[issued].engine
                if sum(tasks[n].engine == engine and start[n] is None for n in range(issued)) < queues[engine]:
                    issued += 1
                    going = True
        for port, burst in enumerate(bursts):
            asking = {
                tasks[n].engine: n
                for n in range(issued)
                if (s := start[n]) is not None and end[n] is None and port in owed[n] and now >= s + tasks[n].setup
            }
            if holder[port] is None and asking:
                behind = [e for e in asking if e > last[port]]
                last[port] = min(behind) if behind else min(asking)
                holder[port] = asking[last[port]]
                left[port] = min(burst, owed[holder[port]][port])
            held = holder[port]
            if held is not None:
                owed[held][port] -= 1
                left[port] -= 1
        now += 1
        for port in range(len(bursts)):
            held = holder[port]
            if held is not None and left[port] == 0:
                if owed[held][port] == 0:
                    del owed[held][port]
                holder[port] = None
    return [s for s in start if s is not None], [e for e in end if e is not None]
