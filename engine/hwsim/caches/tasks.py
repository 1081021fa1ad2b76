"""Stall cycles of tasks behind caches: the accesses pass the levels in program order, and each instance is charged for its misses.

Caches have state, so otherwise equal instances differ: loops with such tasks are replayed iteration by iteration.
"""

from __future__ import annotations

import numpy as np

from ...ir import PrimFunc
from ...lower import Plan
from ..errors import MachineError
from ..tasks.nest import leaves_of
from ..tasks.tree import TaskProgram
from .report import CachedTask, CacheResults
from .run import cache_counts

MAX_ACCESSES = 1 << 25
"""Default limit on accesses that are simulated for one report: about four seconds."""


def cached(func: PrimFunc, program: TaskProgram, known_plan: Plan | None, max_accesses: int) -> CacheResults:
    """Simulates the caches behind the tasks of a program; empty if no engine of the program has one."""
    machine = program.machine
    numbers = {leaf: n for n, leaf in enumerate(leaves_of(program.nest.children))}
    engine_of = {numbers[c.leaf]: machine.engines[t.engine].name for t in program.templates for c in t.choices}
    behind = [t for t in program.templates if any(machine.engines[t.engine].name in c.engines for c in machine.caches)]
    if not behind:
        return CacheResults()
    tasks = [CachedTask(tuple(numbers[c.leaf] for c in t.choices), len(t.outer)) for t in behind]
    try:
        counts = cache_counts(func, machine, engine=engine_of, tasks=tasks, limit=max_accesses, known_plan=known_plan)
    except MachineError as refused:
        has_default_limit = refused.code == "too-many-accesses" and max_accesses <= MAX_ACCESSES
        return CacheResults(refused=refused, has_default_limit=has_default_limit)
    waits = {t.number: np.array(cycles, np.int64) for t, cycles in zip(behind, counts.cycles, strict=True)}
    return CacheResults(counts, {number: cycles for number, cycles in waits.items() if cycles.any()})
