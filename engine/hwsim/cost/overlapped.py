"""Approximate cycles of copies and of the work of engines that overlap, in phases.

A phase is a statement outside of all loops: engines take their tasks in program order, so phases follow each other, and only a copy that
nothing needs before is loaded ahead. In a phase the busiest port and the longest chain of work determine the cycles, and what neither
hides is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from ..access.ports import PortSpec, over


class Copy(msgspec.Struct, frozen=True):
    """`count` copies of `cycles` each, into a buffer or out of it (`leaves`); the buffer's slots rotate for `turns` iterations. `busy` are
    the cycles of all copies on each engine and port."""

    phase: int
    count: int
    turns: int
    cycles: int
    leaves: bool
    busy: Mapping[str | PortSpec, int]


class UnitWork(msgspec.Struct, frozen=True, eq=False):
    """`count` tasks of `cycles` each on the engines of a unit. `waits` are earlier works whose results are in one slot: each task follows
    one of theirs, and precedes the next one."""

    phase: int
    unit: str
    count: int
    cycles: int
    waits: tuple[UnitWork, ...] = ()


def overlapped(copies: Sequence[Copy], works: Sequence[UnitWork]) -> tuple[int, int]:
    """Returns (busy cycles of the busiest engine or port, approximate total cycles). Both are in program order."""
    phases = sorted({w.phase for w in works}) or [0]
    total = 0
    moved_in_all: Counter[str | PortSpec] = Counter()
    worked_in_all: Counter[str] = Counter()
    for phase in phases:
        here = [c for c in copies if _phase_of(c, phases) == phase]
        done = [w for w in works if w.phase == phase]
        moved: Counter[str | PortSpec] = Counter()
        for copy in here:
            moved.update(copy.busy)
        for work in done:
            worked_in_all[work.unit] += work.count * work.cycles
        moved_in_all.update(moved)
        moving, working = max(moved.values(), default=0), _makespan(done)
        alone, idle = _unhidden(here, max((w.cycles for w in done), default=0))
        total += max(moving + min(working, idle), working + alone)
    return max((*moved_in_all.values(), *worked_in_all.values()), default=0), total


def _phase_of(copy: Copy, phases: Sequence[int]) -> int:
    """The phase with work that a copy belongs to: its own, the next one, else the last one."""
    return next((phase for phase in phases if phase >= copy.phase), phases[-1])


def _makespan(works: Sequence[UnitWork]) -> int:
    """Cycles of all tasks, if each work takes its unit at once after those before it and those that it waits for."""
    ends: dict[UnitWork, int] = {}
    free: Counter[str] = Counter()
    for work in works:
        start = max((free[work.unit], *(ends[w] for w in work.waits if w in ends)))
        free[work.unit] = ends[work] = start + work.count * work.cycles
    return max(ends.values(), default=0)


def _unhidden(copies: Sequence[Copy], last: int) -> tuple[int, int]:
    """Returns (copy cycles while no engine works, engine cycles while no copy runs); an engine's task lasts `last` cycles.

    Copies start in program order. A copy into a buffer in use waits, and later copies that are at most as frequent wait with it; earlier
    copies proceed meanwhile. If all slots have to be free, copies wait for the last task.
    """
    alone = idle = waiting = 0
    before: Counter[int] = Counter()
    for copy in copies:
        stops = over(copy.count, copy.turns)
        if stops > 1 and copy.turns == 1:
            waiting = max(waiting, copy.count)
        idle = max(idle, stops * max(0, last - (0 if copy.leaves else before[copy.count])))
        if copy.count <= waiting:
            alone += copy.count * copy.cycles
        else:
            alone += stops * copy.cycles
            before[copy.count] += copy.cycles
    return alone, idle


__all__ = ["Copy", "UnitWork", "overlapped"]
