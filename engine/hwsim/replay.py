"""Time: every task is played in program order against the clocks of its engine and of the cells it touches. Integers only.

A cell is the part of a buffer that is waited for as one: (buffer, slot, physical block). A task starts when its engine is free, the cells
it reads are ready (RAW), and the cells it writes are read (WAR) and not in the making by another engine (WAW; one engine works in
order). Many tasks are alike, so a program is a sequence of indices into a short table of variants.

This is the plain replay: its cost follows the number of tasks. It knows no program, machine or name. (Ports shared between running tasks
and the skipping of steady states belong between `start` and `end` here, and around the loop.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Cause = Literal["data", "slot"]
CAUSES: tuple[Cause, ...] = ("data", "slot")
DATA, SLOT = 0, 1


class Variant(msgspec.Struct, frozen=True):
    """One kind of task: which engine it occupies for how long, how long after that its result is there, which cells it reads and writes.

    A cell that is updated in place stands in `writes` only: the update waits for the writes of other engines all the same.
    """

    engine: int
    duration: int
    latency: int = 0
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


class Stall(msgspec.Struct, frozen=True):
    """An engine waited `cycles` in all: cause "data" for `cell` to be filled, "slot" for it to be free, by tasks of variant `by`."""

    engine: int
    cause: Cause
    cell: int
    by: int
    cycles: int


class Timeline(msgspec.Struct, frozen=True):
    """When each task of the sequence starts; busy cycles and end of the last task per engine; who waited for what.

    For each engine busy + stalls + (cycles - last_end) = cycles.
    """

    starts: list[int]
    cycles: int
    busy: tuple[int, ...]
    last_end: tuple[int, ...]
    stalls: tuple[Stall, ...]


def replay(variants: Sequence[Variant], sequence: Sequence[int], engine_count: int, cell_count: int) -> Timeline:
    """Plays `sequence` (indices into `variants`). Engines and cells are numbered from 0."""
    table = [(v.engine, v.duration, v.latency, v.reads, v.writes) for v in variants]
    free = [0] * engine_count
    ready = [0] * cell_count
    writer_engine = [-1] * cell_count
    writer = [-1] * cell_count
    released = [0] * cell_count
    reader = [-1] * cell_count
    waits: dict[tuple[int, int, int, int], int] = {}
    blame = (0, DATA, 0, 0)
    starts: list[int] = []
    record = starts.append
    for number in sequence:
        engine, duration, latency, reads, writes = table[number]
        idle_from = start = free[engine]
        for cell in reads:
            if ready[cell] > start:
                start = ready[cell]
                blame = (engine, DATA, cell, writer[cell])
        for cell in writes:
            if released[cell] > start:
                start = released[cell]
                blame = (engine, SLOT, cell, reader[cell])
            if ready[cell] > start and writer_engine[cell] != engine:
                start = ready[cell]
                blame = (engine, SLOT, cell, writer[cell])
        if start != idle_from:
            waits[blame] = waits.get(blame, 0) + start - idle_from
        record(start)
        end = free[engine] = start + duration
        for cell in reads:
            if end > released[cell]:
                released[cell] = end
                reader[cell] = number
        for cell in writes:
            ready[cell] = end + latency
            writer_engine[cell] = engine
            writer[cell] = number
    return Timeline(
        starts,
        max((0, *free, *ready)),
        _busy(table, sequence, engine_count),
        tuple(free),
        tuple(Stall(e, CAUSES[c], cell, by, cycles) for (e, c, cell, by), cycles in waits.items()),
    )


def _busy(
    table: Sequence[tuple[int, int, int, tuple[int, ...], tuple[int, ...]]], sequence: Sequence[int], engine_count: int
) -> tuple[int, ...]:
    times = [0] * len(table)
    for number in sequence:
        times[number] += 1
    busy = [0] * engine_count
    for (engine, duration, *_), count in zip(table, times, strict=True):
        busy[engine] += duration * count
    return tuple(busy)
