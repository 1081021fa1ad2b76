"""Vector work: lanes, operations, bank conflicts, bursts."""

from __future__ import annotations

from math import gcd, prod

import numpy as np

from tilewright.engine.hwsim import Machine, Memory, VectorEngine
from tilewright.engine.ir import Max, Min, Var
from tilewright.engine.ir import dtype as dt

from .banks import Lost, is_interleaved, lost
from .contiguous import Operations, Strides, chain, in_runs, numbered, strides_of
from .elements import Operand, Part, every_point
from .values import steps
from .work import Moved, Worked, by_buffer, elements_in_box


class _Lanes:
    """The distribution of a piece's elements over operations of `width` lanes."""

    def __init__(self, engine: VectorEngine, part: Part) -> None:
        self.engine = engine
        self.part = part
        self.strides = strides_of(part)
        by_type = dict(engine.lanes_by_type)
        types = [o.placement.buffer.dtype for o in part.operands]
        self.width = min(by_type.get(dt.element(t), max(1, engine.vector_bytes // dt.size_bytes(t))) for t in types)
        self.row = self._row()
        single = part.reads and not part.writes[0].loops
        self.along = self.row if self.row is not None else self.strides[0 if single else -1]
        self.follows = 0 if single else len(part.operands) - 1

    def _row(self) -> Strides | None:
        """The loops of a row that is summed, with their strides."""
        part, strides = self.part, self.strides
        known = [s for s in strides if s is not None]
        if not part.updates or part.kind not in ("reduce", "mac") or part.lanes or len(known) < len(strides):
            return None
        kept, operands = set(part.writes[0].loops), known[: len(part.reads)]
        counts = {v: len(np.unique(column)) for v, column in part.points.loops.items()}
        for var in chain(known[-1:], counts)[:1]:
            if any(s.get(var) == 1 and set(s) - kept for s in operands):
                return None
        several = any(counts[v] > 1 for v in kept)
        for operand in operands:
            row = {v: s for v, s in operand.items() if v not in kept}
            length = prod(counts[v] for v in chain([row], counts))
            if length >= self.width or (length > 1 and not several):
                return row
        return None

    def operations(self, part: Part, width: int, follows: int | None = None) -> Operations:
        """Operations of a part of the iterations, along the row, the result or an operand."""
        if part.lanes:
            return numbered(part.lanes, width, part.points, part.extents)
        if self.row is not None and follows is None:
            place = sum((part.points.loops[v] * s for v, s in self.row.items()), np.zeros(part.points.count, np.int64))
            return in_runs(self.row, place, width, part.points, tuple(self.row))
        number = self.follows if follows is None else follows
        operand = part.operands[number]
        return in_runs(self.strides[number], operand.place, width, part.points, operand.loops)


def vectorized(engine: VectorEngine, part: Part, machine: Machine) -> Worked:
    store = part.piece.measured.work.piece.store
    assert store is not None
    lanes, rates = _Lanes(engine, part), dict(engine.rates)
    operations = lanes.operations(part, lanes.width)
    count = operations.count
    vectorized_loops = part.piece.measured.work.piece.vectorized
    if not part.lanes and engine.lanes == "program":
        loops = tuple(v for v in vectorized_loops if v in part.extents)
        count = numbered(loops, lanes.width, part.points, part.extents).count if loops else part.points.count
    cycles = count * steps(store.value, rates)
    if lanes.row is not None and engine.lanes == "result":
        longest = _longest(lanes)
        halvings = (min(lanes.width, longest) - 1).bit_length()
        each = rates.get("shuffle", 1) + (rates.get("max", 1) if isinstance(store.value, Max | Min) else 1)
        cycles += part.points.values_of(part.writes[0].loops) * halvings * each
    touched = [
        Moved(placement, written, elements_in_box(part, operands) * operands[0].size, operands)
        for placement, written, operands in by_buffer(part)
    ]
    moved = [_in_bursts(m, lanes, machine) for m in touched]
    return Worked(cycles * engine.cycles_per_operation, touched, moved, _conflicts(lanes, operations, machine))


def _longest(lanes: _Lanes) -> int:
    """Elements of the longest row."""
    whole = lanes.operations(lanes.part, 1 << 30)
    return int(np.unique(whole.number, return_counts=True)[1].max())


def _conflicts(lanes: _Lanes, operations: Operations, machine: Machine) -> list[Lost]:
    part, engine = lanes.part, lanes.engine
    writes = [] if lanes.row is not None else list(part.writes)
    if engine.operands == "in_turn":
        groups = [[o] for o in (*part.reads, *writes)]
        groups += [[o._replace(written=False)] for o in writes if part.updates]
    else:
        groups = [list(part.reads[:2]), *([o] for o in part.reads[2:])]
        groups[-1] += writes
    found: list[Lost] = []
    for memory in machine.memories:
        for group in groups:
            here = [o for o in group if o.placement.memory is memory]
            if is_interleaved(memory) and here:
                found.append(lost(memory, here, *_by_thread(lanes, here, operations, memory)))
    return found


def _by_thread(lanes: _Lanes, group: list[Operand], operations: Operations, memory: Memory) -> tuple[Operations, int]:
    """The lanes if a thread accesses only consecutive elements of its vector at once, and `lost`'s number of lanes of a thread."""
    part = lanes.part
    if not memory.thread_bytes or not part.lanes or part.lanes[0] not in part.piece.measured.work.piece.vectorized:
        return operations, 0
    vector, size = part.lanes[0], max(o.size for o in group)
    points = every_point({v: part.extents[v] if v in part.lanes else 1 for v in part.extents})
    there = {id(o.access): o for o in part.over(points).operands}
    order = np.lexsort((points.loops[vector], *(points.loops[v] for v in part.lanes[1:])))
    extent = part.extents[vector]
    consecutive = all(
        (np.diff(there[id(o.access)].address[order].reshape(-1, extent), axis=1) == o.size).all() for o in group
    )
    at_once = gcd(extent, max(1, memory.thread_bytes // size)) if consecutive else 1
    threads = prod(part.extents[v] for v in part.lanes[1:])
    groups = -(-threads * extent // lanes.width)
    outside, position = operations.number // groups, operations.number % groups * lanes.width + operations.lane
    thread, element = position // extent, position % extent
    position = (element // at_once * threads + thread) * at_once + element % at_once
    joins = at_once * size > memory.interleave_bytes
    return Operations(outside * groups + position // lanes.width, position % lanes.width), at_once if joins else 0


def _in_bursts(moved: Moved, lanes: _Lanes, machine: Machine) -> Moved:
    """The bytes that ports move: every burst that the lanes of an operation touch, as a whole. Operations of several lanes in one burst
    move it once, as do loops that do not move the operand. A window without threads moves each element once.
    """
    memory, part, engine = moved.placement.memory, lanes.part, lanes.engine
    cached = machine.caches_of(engine.name, memory.name)
    if cached or memory.burst_bytes == 1 or (len(moved.operands) > 1 and not part.lanes):
        return moved
    bursts = sum(_bursts(o, lanes) for o in moved.operands)
    return moved._replace(bytes=bursts * memory.burst_bytes)


def _bursts(operand: Operand, lanes: _Lanes) -> int:
    part, memory = lanes.part, operand.placement.memory
    number = next(n for n, o in enumerate(part.operands) if o is operand)
    once = part.over(part.points.once([*part.lanes, *operand.loops]))
    along: set[Var] = set(lanes.row) if lanes.row is not None else set(part.operands[lanes.follows].loops)
    width = lanes.width if part.lanes else max(lanes.width, memory.burst_bytes // operand.size)
    follows = None if part.lanes or along & set(operand.loops) else number
    operations = lanes.operations(once, width, follows)
    here = once.operands[number]
    columns = (operations.number.tolist(), operations.lane.tolist(), here.block.tolist(), here.address.tolist())
    phases = 1 << 30
    if memory.phase_bytes:
        phases = max(1, max(memory.phase_bytes, memory.burst_bytes) // operand.size)
    touched: set[tuple[int, int, int, int]] = set()
    for op, lane, block, first in zip(*columns, strict=True):
        rows = range(first // memory.burst_bytes, (first + operand.size - 1) // memory.burst_bytes + 1)
        touched |= {(op, lane // phases, block, row) for row in rows}
    return len(touched)
