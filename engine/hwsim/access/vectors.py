"""Vector engines: the lanes of a piece of work, its number of operations, the bank conflicts of its accesses, and the bursts that they
move.

Lanes are the threads of the loops that the program binds to them. Without bound loops, lanes follow the result in memory order, so that it
is stored run by run. The other operands are accessed at the addresses of these lanes: a transposed one column by column, which causes bank
conflicts.

A row reduction sums (or takes the maximum) along the contiguous axis of an operand: its lanes follow the row. A vector of partial results
accumulates in a register, and a tree of shuffles combines its lanes at the end of the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace as replace_fields

from ...ir import Buffer, Expr, Max, Min
from ...ir import dtype as dt
from ..machine.parts import Memory, VectorEngine
from ..tasks.geometry import AffineProgression, Layout, TaskDomain, run_loops, runs, without_loops
from ..tasks.product import indexing, joint_values
from ..tasks.work import Access, Work, element_bytes
from .bank_conflicts import BankConflicts, Banking, banking
from .lanes import LaneAccess, Lanes, PieceIterations, numbered, threads_of
from .placement import Places
from .ports import over


class BankConflict(msgspec.Struct, frozen=True, eq=False):
    """Cost of bank conflicts for a task: `accesses` to `buffers` (one, or several that are accessed at once) need `cycles` more in all than
    without; the worst needs `degree` - 1 more.
    """

    buffers: tuple[Buffer, ...]
    kind: Literal["read", "write", "together"]
    memory: str
    accesses: int
    degree: int
    cycles: int


class Spread(msgspec.Struct, frozen=True, eq=False):
    """Traffic of a task's accesses to a buffer, in a memory with bursts: the lanes of an operation request `wanted_bytes`, each element
    once, and move every burst that contains one of them, `moved_bytes`.
    """

    buffer: Buffer
    written: bool
    accesses: int
    wanted_bytes: int
    moved_bytes: int


def vector_operations(engine: VectorEngine, work: Work, layouts: Sequence[Layout], where: TaskDomain) -> int:
    """Returns the number of whole-vector operations: for each scalar operation of the work, the vectors that cover all lanes."""
    width, rates = vector_width(engine, work), dict(engine.rates)
    steps = work.steps(rates)
    threads = threads_of(work, where)
    if threads:
        return _thread_groups(Lanes(threads, width, are_threads=True), where) * steps
    if engine.lanes == "program":
        vectorized = tuple(v for v in work.piece.vectorized if v in where.extents)
        groups = _thread_groups(Lanes(vectorized, width, are_threads=True), where) if vectorized else where.iterations
        return groups * steps
    found = runs((lanes_follow(work, layouts, where, width),), where)
    if not found or row_of(work, layouts, where, width) is None:
        return sum(r.count * over(r.elements, width) for r in found) * steps
    rows = joint_values(indexing(work.writes[0], where), where)
    value = None if work.piece.store is None else work.piece.store.value
    return row_operations(engine, width, steps, rows, [(r.count, r.elements) for r in found], value, rates)


def row_operations(
    engine: VectorEngine, width: int, steps: int, rows: int, found: Sequence[tuple[int, int]], value: Expr | None,
    rates: Mapping[str, int],
) -> int:  # fmt: skip
    """Returns the operations of a reduction of `rows` results along runs, pairs of a count and a length, and of their trees."""
    longest = max(elements for _, elements in found)
    if not engine.row_lanes:
        sums = sum(count * over(elements, width) for count, elements in found) * steps
        return sums + rows * tree_steps(min(width, longest), value, rates)
    lanes = min(engine.row_lanes, width, longest)
    total = sum(count * elements for count, elements in found)
    return over(total, width) * steps + over(rows * lanes, width) * tree_steps(lanes, value, rates)


def tree_steps(lanes: int, value: Expr | None, rates: Mapping[str, int]) -> int:
    """Returns the operations that combine `lanes` partial results of a row: a shuffle and an operation for each halving."""
    step = rates.get("shuffle", 1) + (rates.get("max", 1) if isinstance(value, Max | Min) else 1)
    return (lanes - 1).bit_length() * step


def vector_conflicts(
    engine: VectorEngine, work: Work, layouts: Sequence[Layout], where: TaskDomain, places: Places
) -> tuple[BankConflict, ...]:
    """Returns the conflicts of the accesses of a piece, memory by memory, including accesses without conflicts."""
    width = vector_width(engine, work)
    along = lanes_follow(work, layouts, where, width)
    iterations = PieceIterations(work, layouts, where, places)
    found: list[BankConflict] = []
    for memory in places.machine.memories:
        rule = banking(memory)
        if rule is None:
            continue
        for sides in accessed_at_once(engine, work, layouts, where):
            here = [s for s in sides if places.by_buffer[s.access.buffer].memory is memory]
            if not here:
                continue
            # Loops that move neither the operands nor the lanes repeat the same accesses.
            moving = set(threads_of(work, where)).union(
                along.loops(where.extents), *(s.layout.loops(where.extents) for s in here)
            )
            still = [v for v in where.extents if v not in moving] if where.is_box else []
            once = PieceIterations(work, layouts, without_loops(where, still), places) if still else iterations
            conflicts = once.conflicts(rule, here, along, width)
            if conflicts is not None:
                found.append(conflict_of(here, memory, conflicts, times=prod(where.active[v] for v in still)))
    return tuple(found)


def vector_spreads(
    engine: VectorEngine, work: Work, layouts: Sequence[Layout], where: TaskDomain, places: Places
) -> tuple[Spread, ...]:
    """Returns the traffic of memories with bursts and no cache in front, by buffer and direction.

    An operand that is constant in a loop is held in the engine. Without threads, several accesses to one buffer are left out: the engine
    holds their common elements.
    """
    width, threads = vector_width(engine, work), threads_of(work, where)
    along = lanes_follow(work, layouts, where, width)
    found: list[Spread] = []
    for (buffer, written), sides in _by_buffer(work, layouts).items():
        memory = places.by_buffer[buffer].memory
        if (
            memory.burst_bytes == 1
            or places.machine.caches_of(engine.name, memory.name)
            or (len(sides) > 1 and not threads)
        ):
            continue
        spreads = [_spread(s, work, along, width, where, places) for s in sides]
        if not any(s is None for s in spreads):
            known = [s for s in spreads if s is not None]
            accesses, wanted, moved = (sum(column) for column in zip(*known, strict=True))
            found.append(Spread(buffer, written, accesses, wanted, moved))
    return tuple(found)


def _by_buffer(work: Work, layouts: Sequence[Layout]) -> dict[tuple[Buffer, bool], list[LaneAccess]]:
    """Groups the accesses of the work by buffer and direction; an accumulator has both."""
    paired = _paired(work, layouts)
    sides = [LaneAccess(a, x, n >= len(work.reads)) for n, (a, x) in enumerate(paired)]
    if work.loads_target:
        sides += [LaneAccess(a, x, written=False) for a, x in paired[len(work.reads) :]]
    found: dict[tuple[Buffer, bool], list[LaneAccess]] = {}
    for side in sides:
        if not side.access.extents:
            found.setdefault((side.access.buffer, side.written), []).append(side)
    return found


def _spread(
    side: LaneAccess, work: Work, along: Layout, width: int, where: TaskDomain, places: Places
) -> tuple[int, int, int] | None:
    """Returns (accesses, bytes requested, bytes moved); None if the addresses depend on data, or are too many to list."""
    size, memory = element_bytes(side.access), places.by_buffer[side.access.buffer].memory
    threads = threads_of(work, where)
    moving = side.layout.loops(where.extents)
    if not threads and not moving & along.loops(where.extents):
        along = side.layout
    held = [v for v in where.extents if v not in threads and v not in moving]
    once = without_loops(where, held)
    # Consecutive operations within one burst move it once.
    lanes = width if threads else max(width, memory.burst_bytes // size)
    rule = Banking(1, memory.burst_bytes, phase_bytes=max(memory.phase_bytes, memory.burst_bytes) if memory.phase_bytes else 0,
                   counts_rows=True)  # fmt: skip
    iterations = PieceIterations(work, [side.layout], once, places)
    moved = iterations.conflicts(rule, [side], along, lanes)
    wanted = iterations.conflicts(replace_fields(rule, row_bytes=size), [side], along, lanes)
    if moved is None or wanted is None:
        return None
    return moved.accesses, wanted.cycles * size, moved.cycles * memory.burst_bytes


def accessed_at_once(
    engine: VectorEngine, work: Work, layouts: Sequence[Layout], where: TaskDomain
) -> list[list[LaneAccess]]:
    """Returns the groups of accesses that one operation makes at once (`groups_of`). An accumulator is also loaded. The result of a row is
    left out: it stays in a register until the row's end.
    """
    sides = [LaneAccess(a, x, n >= len(work.reads)) for n, (a, x) in enumerate(_paired(work, layouts))]
    if row_of(work, layouts, where, vector_width(engine, work)) is not None:
        sides = sides[: len(work.reads)]
    groups = groups_of(engine, work, sides)
    if engine.operands == "in_turn" and work.loads_target:
        groups += [[LaneAccess(s.access, s.layout, written=False)] for s in sides[len(work.reads) :]]
    return groups


G = TypeVar("G")


def groups_of(engine: VectorEngine, work: Work, accesses: Sequence[G]) -> list[list[G]]:
    """Groups the accesses of a piece, reads first, that an operation makes at once: each operand alone; or two operands first, then one by
    one, the result with the last. An accumulator is then written after its read.
    """
    if engine.operands == "in_turn":
        return [[a] for a in accesses]
    reads, writes = accesses[: len(work.reads)], accesses[len(work.reads) :]
    groups = [list(reads[:2]), *([a] for a in reads[2:])]
    return [*groups[:-1], [*groups[-1], *writes]]


def conflict_of(group: Sequence[LaneAccess], memory: Memory, conflicts: BankConflicts, times: int = 1) -> BankConflict:
    """Returns the cost of accesses that a task makes so many times."""
    kind = "together" if len(group) > 1 else "write" if group[0].written else "read"
    buffers = tuple(dict.fromkeys(s.access.buffer for s in group))
    accesses, cycles = conflicts.accesses * times, conflicts.cycles * times
    return BankConflict(buffers, kind, memory.name, accesses, conflicts.degree, cycles)


def _paired(work: Work, layouts: Sequence[Layout]) -> list[tuple[Access, Layout]]:
    return list(zip((*work.reads, *work.writes), layouts, strict=True))


def vector_width(engine: VectorEngine, work: Work) -> int:
    """Returns the lanes of an operation: those of the operand or result whose type has the fewest."""
    return min(lanes_of_type(engine, a.buffer.dtype) for a in (*work.reads, *work.writes))


def lanes_of_type(engine: VectorEngine, dtype: str) -> int:
    return dict(engine.lanes_by_type).get(dt.element(dtype), max(1, engine.vector_bytes // dt.size_bytes(dtype)))


def lanes_follow(work: Work, layouts: Sequence[Layout], where: TaskDomain, width: int) -> Layout:
    """Returns the layout that numbers the lanes: that of the row, of the operand if a single element is summed, or of the result."""
    single = work.reads and not indexing(work.writes[0], where)
    return row_of(work, layouts, where, width) or (layouts[0] if single else layouts[-1])


def row_of(work: Work, layouts: Sequence[Layout], where: TaskDomain, width: int) -> Layout | None:
    """Returns the layout of a row if the work is a row reduction without threads, else None.

    A row is contiguous in an operand along loops that the result does not depend on, and at least `width` elements long (any length if
    there is a single row). No operand that varies along the row is contiguous along the result.
    """
    if not work.updates or work.kind not in ("reduce", "mac") or threads_of(work, where):
        return None
    strides = [s for x in layouts if (s := x.strides) is not None]
    if len(strides) < len(layouts):
        return None
    kept, operands = indexing(work.writes[0], where), strides[: len(work.reads)]
    along_result = run_loops(strides[-1:], where)[:1]
    if any(s.get(v) == 1 and s.keys() - kept for v in along_result for s in operands):
        return None
    rows = {v for v in kept if where.active[v] > 1}
    for moving in operands:
        row = {v: stride for v, stride in moving.items() if v not in kept}
        length = prod(where.active[v] for v in run_loops([row], where))
        if length >= width or (length > 1 and not rows):
            return Layout(AffineProgression(row, {}, 0))
    return None


def _thread_groups(lanes: Lanes, where: TaskDomain) -> int:
    """Returns the number of thread groups with any work."""
    if lanes.are_whole(where):
        threads = prod(where.active[v] for v in lanes.loops)
        return where.iterations // threads * over(threads, lanes.width)
    access, _ = numbered(lanes, where)
    return len(np.unique(access))
