"""Cost estimate of a program before its simulation: approximate cycles and buffer capacity, from the loops alone.

An estimate costs a hundredth of a simulation. Its only use is to order candidates. It ignores conditions and layouts, so it is close to the
result of a replay but does not bound it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from math import prod, sqrt

import msgspec

from ...analysis import ProgramIndex
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Mul,
    SeqStmt,
    Stmt,
    Var,
    build,
    free_vars,
    structural_equal,
    walk,
)
from ...ir import dtype as dt
from ...lower import marks_of
from ..access.allocation import Chunk, allocate
from ..access.ports import block_port, demands, memory_port, over
from ..access.vectors import lanes_of_type, row_operations
from ..machine.model import Machine
from ..machine.parts import KINDS, DmaEngine, Engine, MatrixEngine, Memory, SystolicEngine, VectorEngine
from ..tasks.engine_selection import PREFERENCE, is_named, supports
from ..tasks.nest import requested_engine
from ..tasks.product import diagonal_tiles, passes_of, product_over, tile_cycles, tiles_of
from ..tasks.work import Kind, activations_of, padded_load, steps_of
from .interface import Promise
from .operand_traffic import operand_traffic
from .overlapped import Copy, UnitWork, overlapped
from .systolic import array_cycles


class CostEstimate(msgspec.Struct, frozen=True):
    """Estimated memory use and cycles.

    `filled` is the end of the highest address in each memory, by scope, as a fraction of its capacity. Buffers are allocated as for a
    report, but in all physical blocks as one, as layouts may divide buffers among them. `slots` is the number of slots of all buffers.
    `busy` is the work of the busiest engine or port, in cycles. `cycles` adds the work that nothing overlaps: the first copy in, the last
    copy out, and each copy into a buffer that engines still use.
    """

    filled: dict[str, float]
    busy: int
    cycles: int
    slots: dict[str, int] = {}

    @property
    def promise(self) -> Promise:
        return "estimate"

    @property
    def fits(self) -> bool:
        return max(self.filled.values(), default=0.0) <= 1.0

    @property
    def rank(self) -> float:
        """Sort key, the lowest first: cycles, with a penalty factor for an overflowing memory. A fast candidate that is too large often has
        a fast neighbour that fits.
        """
        return self.cycles * sqrt(max((1.0, *self.filled.values())))


Pipelines = Mapping[Var, Sequence[int]]
"""For each loop, the pipeline stages of the statements in its body."""


def estimate_cost(index: ProgramIndex, machine: Machine, pipelines: Pipelines | None = None) -> CostEstimate:
    """Estimates the cost of a program, with the given software pipelines. What a shared cache misses is left out."""
    machine = machine.before_caches
    leaves = [r for name in index.block_names if not index.child_blocks(r := index.realize(name))]
    paths = {leaf: tuple(index.path(leaf)) for leaf in leaves}
    below = Counter(stmt for path in paths.values() for stmt in path)
    users: dict[Buffer, list[BlockRealize]] = {}
    for leaf in leaves:
        for region in (*leaf.block.reads, *leaf.block.writes):
            users.setdefault(region.buffer, []).append(leaf)
    slots = {buffer: _slots_of(buffer, leaves_of, paths, pipelines or {}) for buffer, leaves_of in users.items()}
    spans = _spans(leaves, paths)
    held: dict[Memory, list[Chunk]] = {}
    parts: Counter[str] = Counter()
    for buffer, leaves_of in users.items():
        memory = machine.find_memory(buffer.scope)
        if memory is not None and memory is not machine.far and not index.is_param(buffer):
            size = slots[buffer].count * _footprint(buffer, leaves_of, paths)
            held.setdefault(memory, []).append(Chunk(size, *_lifetime(leaves_of, slots[buffer], paths, spans)))
            parts[memory.scope] += slots[buffer].count
    filled = {memory.scope: _end(chunks, memory) / memory.capacity_bytes for memory, chunks in held.items()}
    tasks = [task for leaf in leaves if (task := _task_of(leaf, paths[leaf], below)) is not None]
    return CostEstimate(filled, *_cycles(tasks, slots, machine), dict(parts))


Paths = Mapping[BlockRealize, Sequence[Stmt]]
"""The statements around each leaf, innermost first."""


class _Task(msgspec.Struct, frozen=True, eq=False):
    """A leaf's store, as `count` equal tasks. `loads` excludes the buffer that the store writes. `loops` are the leaf's own loops; `used`
    maps each block iterator to the loops that it depends on, `lanes` is the number of iterations of its vectorized loops, `engine` the
    name in its annotation. `phase` is the number of the statement outside of all loops that contains the leaf. `blocks` are those of the
    grid that the tasks are in.
    """

    store: BufferStore
    loads: tuple[BufferLoad, ...]
    kind: Kind
    count: int
    loops: dict[Var, int]
    used: dict[Var, frozenset[Var]]
    lanes: int = 1
    engine: str | None = None
    phase: int = 0
    blocks: int = 1

    def count_on(self, machine: Machine) -> int:
        """Returns the tasks of the core with the most blocks."""
        return self.count // self.blocks * over(self.blocks, machine.cores)

    @property
    def iterations(self) -> int:
        return prod(self.loops.values())

    def reach(self, *exprs: Expr) -> frozenset[Var]:
        """Returns the loops that expressions of the block depend on."""
        return frozenset(u for e in exprs for v in free_vars(e) for u in self.used.get(v, ()))

    def times(self, loops: Iterable[Var]) -> int:
        return prod(self.loops[v] for v in loops)


class _Slots(msgspec.Struct, frozen=True):
    """The number of slots of a buffer, and the number of iterations in which they rotate before all of them have to be free. They are
    allocated around `loop`, that of their pipeline, or around the innermost one that all users share (None).
    """

    count: int = 1
    turns: int = 1
    loop: For | None = None


def _task_of(leaf: BlockRealize, path: Sequence[Stmt], below: Counter[Stmt]) -> _Task | None:
    """Returns the task of a leaf, or None if the leaf is no store."""
    store = leaf.block.body
    if not isinstance(store, BufferStore):
        return None
    every = [e for e in walk(store.value) if isinstance(e, BufferLoad)]
    loads = tuple(load for load in every if load.buffer is not store.buffer)
    kind: Kind = "elementwise"
    if isinstance(store.value, BufferLoad) and loads:
        kind = "copy"
    elif len(loads) == 1 and padded_load(store.value) is not None:
        kind = "pad"
    elif len(loads) < len(every):
        kind = "mac" if any(isinstance(e, Mul) for e in walk(store.value)) and len(loads) == 2 else "reduce"
    applied = activations_of(store.value) if kind == "elementwise" else None
    if applied is not None:
        loads = tuple(sorted(loads, key=lambda load: load is not applied[1]))
    loops = {s.loop_var: build.int_value(s.extent) or 1 for s in path if below[s] == 1 and isinstance(s, For)}
    values = zip(leaf.block.iter_vars, leaf.iter_values, strict=True)
    used = {iv.var: frozenset(v for v in free_vars(value) if v in loops) for iv, value in values}
    lanes = _times(s for s in path if below[s] == 1 and isinstance(s, For) and s.kind == "vectorized")
    count = _times(s for s in path if below[s] > 1)
    marks = (leaf.block.annotations, *(s.annotations for s in path if isinstance(s, For | Block)))
    engine = next(filter(None, map(requested_engine, marks)), None)
    blocks = _times(
        s for s in path if below[s] > 1 and isinstance(s, For) and (s.thread_tag or "").startswith("blockIdx")
    )
    return _Task(store, loads, kind, count, loops, used, lanes, engine, _phase(leaf, path), blocks)


def _phase(leaf: BlockRealize, path: Sequence[Stmt]) -> int:
    """Returns the number of the outermost statement of a sequence that contains the leaf; 0 if a loop contains the sequence."""
    inside: Stmt = leaf
    phase = 0
    for stmt in path:
        if isinstance(stmt, SeqStmt):
            phase = stmt.seq.index(inside)
        elif _turns(stmt):
            phase = 0
        inside = stmt
    return phase


def _cycles(tasks: Sequence[_Task], slots: Mapping[Buffer, _Slots], machine: Machine) -> tuple[int, int]:
    """Returns (busy cycles of the busiest resource, approximate total cycles)."""
    copies: list[Copy] = []
    works: list[UnitWork] = []
    writers: dict[Buffer, UnitWork] = {}
    for task in tasks:
        engine = _engine_of(task, machine)
        if engine is None:
            continue
        # One token each way is assumed.
        fixed = engine.setup_cycles + engine.wait_cycles + engine.signal_cycles
        one = fixed + _duration(engine, task, machine)
        unit = engine.unit or engine.name
        read, written = [load.buffer for load in task.loads], task.store.buffer
        if not isinstance(engine, DmaEngine):
            waits = tuple(writers[b] for b in dict.fromkeys(read) if b in writers and slots[b].count == 1)
            works.append(UnitWork(task.phase, unit, task.count_on(machine), one, waits))
            writers[written] = works[-1]
            continue
        source, target = _memory(read[0], machine), _memory(written, machine)
        count, ports = task.count_on(machine), (memory_port(source, written=False), memory_port(target, written=True))
        # Of the channels of an engine, one at a time uses its rate; their set-ups overlap.
        busy = dict.fromkeys((unit, *ports), count * max(one - fixed, over(one, engine.channels)))
        for port in ports:
            if port.level in machine.shared_levels:
                busy[port] = task.count * over(_moved(task, machine), port.bytes_per_cycle)
        leaves = target is machine.far
        copies.append(Copy(task.phase, count, slots[read[0] if leaves else written].turns, one, leaves, busy))
    return overlapped(copies, works)


def _engine_of(task: _Task, machine: Machine) -> Engine | None:
    """Returns the best engine for the task's kind that reaches its operands and its result; the annotated one if that does."""
    target = _memory(task.store.buffer, machine).name
    sources = {_memory(load.buffer, machine).name for load in task.loads}
    applied = activations_of(task.store.value) if task.kind == "elementwise" else None
    activations = applied and applied[0]
    able = [
        engine
        for wanted in PREFERENCE[task.kind]
        for engine in machine.engines
        if KINDS[type(engine)] == wanted
        and target in engine.writes
        and sources <= {*engine.reads}
        and supports(engine, task.kind, activations)
    ]
    return next((e for e in able if is_named(e, task.engine)), able[0] if able else None)


def _duration(engine: Engine, task: _Task, machine: Machine) -> int:
    match engine:
        case DmaEngine():
            return _copied(engine, task, machine)
        case MatrixEngine() | SystolicEngine() if len(task.loads) == 2:
            return _multiplied(engine, task, machine)
        case VectorEngine():
            return _vectorized(engine, task) * engine.cycles_per_operation
        case MatrixEngine() | SystolicEngine():
            return task.iterations
        case _:
            steps = steps_of(task.store.value, dict(engine.rates)) + len(task.loads) + 1
            return task.iterations * steps * engine.cycles_per_operation


def _vectorized(engine: VectorEngine, task: _Task) -> int:
    """Operations of a vector engine: whole vectors along the result, or along rows that are reduced, each with its tree."""
    rates, value = dict(engine.rates), task.store.value
    lanes = min(lanes_of_type(engine, access.buffer.dtype) for access in (*task.loads, task.store))
    steps = steps_of(value, rates)
    if engine.lanes == "program":
        lanes = min(lanes, task.lanes)
    row = 0 if task.kind not in ("reduce", "mac") or engine.lanes == "program" else _row(task, lanes)
    if not row:
        return over(task.iterations, lanes) * steps
    rows = task.times(task.reach(*task.store.indices))
    return row_operations(engine, lanes, steps, rows, [(task.iterations // row, row)], value, rates)


def _row(task: _Task, lanes: int) -> int:
    """Elements of a contiguous row that a reduction combines, as `vectors.row_of` finds it; 0 if its lanes follow the result."""
    kept = task.reach(*task.store.indices)
    along = task.reach(*task.store.indices[-1:])
    if any(along & task.reach(*x.indices[-1:]) and task.reach(*x.indices) - kept for x in task.loads):
        return 0
    rows = (_run(task, x, kept) for x in task.loads)
    return next((row for row in rows if row >= lanes or (row > 1 and task.times(kept) == 1)), 0)


def _copied(engine: DmaEngine, task: _Task, machine: Machine) -> int:
    """Cycles of a copy: each contiguous run in the far buffer moves in whole bursts, at the rate of the slowest port."""
    source, target = _memory(task.loads[0].buffer, machine), _memory(task.store.buffer, machine)
    memory = source if source is machine.far else target
    moved = _moved(task, machine)
    waited = moved // memory.burst_bytes * memory.latency_cycles if engine.outstanding_requests else 0
    return max(
        over(moved, min(engine.bytes_per_cycle, source.read_bytes_per_cycle, target.write_bytes_per_cycle)),
        over(waited, engine.outstanding_requests or 1),
    )


def _moved(task: _Task, machine: Machine) -> int:
    """Returns the bytes that a copy moves in whole bursts of the far memory."""
    source, target = _memory(task.loads[0].buffer, machine), _memory(task.store.buffer, machine)
    access, memory = (task.loads[0], source) if source is machine.far else (task.store, target)
    run = min(_run(task, access), task.iterations)
    bursts = over(run * dt.size_bytes(task.store.buffer.dtype), memory.burst_bytes)
    return task.iterations // run * bursts * memory.burst_bytes


def _run(task: _Task, access: BufferLoad | BufferStore, apart: frozenset[Var] = frozenset()) -> int:
    """Elements of a contiguous run: the product over the innermost axes that are traversed completely, and the next one. Loops of `apart`
    end a run.
    """
    axes = [
        (1 if task.reach(i) & apart else task.times(task.reach(i)), build.int_value(n) or 1)
        for i, n in zip(access.indices, access.buffer.shape, strict=True)
    ]
    whole = list(takewhile(lambda axis: axis[0] >= axis[1], reversed(axes)))
    return prod(taken for taken, _ in axes[-1 - len(whole) :])


def _multiplied(engine: MatrixEngine | SystolicEngine, task: _Task, machine: Machine) -> int:
    """Cycles of a product: those of its tiles or folds, or of its operands on the slowest port."""
    first, second, result = (task.reach(*a.indices) for a in (*task.loads, task.store))
    product = product_over(first, second, result, task.loops, task.times)
    types = [load.buffer.dtype for load in task.loads]
    traffic = operand_traffic(engine, product)
    sides = ((task.loads[0], False, traffic.first), (task.loads[1], False, traffic.second),
             (task.store, False, traffic.sums), (task.store, True, traffic.sums))  # fmt: skip
    moved = [(_memory(a.buffer, machine), written, n * dt.size_bytes(a.buffer.dtype)) for a, written, n in sides]
    ports = [
        *demands(engine, machine, moved).values(),
        *(over(n, _own_width(m, w)) for m, w, n in moved if m.has_own_ports),
    ]
    if isinstance(engine, SystolicEngine):
        return max(array_cycles(engine, product) * passes_of(engine, types), *ports)
    tiles = diagonal_tiles(engine, task.iterations) if _is_square(task) else tiles_of(engine, product)
    return max(tiles * tile_cycles(engine, types), *ports)


def _is_square(task: _Task) -> bool:
    """Whether the task multiplies an operand with itself."""
    first, second = task.loads
    return first.buffer is second.buffer and all(map(structural_equal, first.indices, second.indices))


def _own_width(memory: Memory, written: bool) -> int:
    """Bytes per cycle of an operand in a memory whose parts have their own ports: those of one block, or of all interleaved banks."""
    port = block_port(memory, 0, written=written) if memory.blocks > 1 else memory_port(memory, written=written)
    return port.bytes_per_cycle


def _memory(buffer: Buffer, machine: Machine) -> Memory:
    return machine.find_memory(buffer.scope) or machine.far


def _slots_of(buffer: Buffer, users: Sequence[BlockRealize], paths: Paths, pipelines: Pipelines) -> _Slots:
    """Returns the slots of a buffer: those of a double-buffer annotation, rotating in all loops; in a pipeline's loop one for each stage
    from the first to the last use.
    """
    asked = next((slots for user in users if (slots := marks_of(user.block).get(buffer))), None)
    if asked is not None:
        return _Slots(asked.count, sys.maxsize)
    found = [_Slots()]
    for var, stages in pipelines.items():
        loop = next((s for s in paths[users[0]] if isinstance(s, For) and s.loop_var is var), None)
        if loop is not None and (distance := _distance(loop, stages, users, paths)):
            found.append(_Slots(1 + distance, build.int_value(loop.extent) or 1, loop))
    return max(found, key=lambda slots: slots.count)


def _distance(loop: For, stages: Sequence[int], users: Sequence[BlockRealize], paths: Paths) -> int:
    """Returns the number of stages between the first and the last statement of a loop that use a buffer."""
    found: list[int] = []
    for user in users:
        if loop not in paths[user]:
            return 0
        below = (user, *paths[user][: paths[user].index(loop)])
        around = next((s for s in reversed(below) if isinstance(s, SeqStmt)), None)
        found += [stage for item, stage in zip(around.seq if around else (), stages, strict=False) if item in below]
    return max(found, default=0) - min(found, default=0)


def _end(chunks: Sequence[Chunk], memory: Memory) -> int:
    """Returns the end of the highest address of a memory."""
    spots = allocate(chunks, 1, memory.capacity_bytes, memory.alignment_bytes)
    return max(spot.address + chunk.size_bytes for chunk, spot in zip(chunks, spots, strict=True))


def _spans(leaves: Sequence[BlockRealize], paths: Paths) -> dict[Stmt, tuple[int, int]]:
    """Returns the first and the last of the leaves in each statement, by their numbers in program order; of a leaf, itself."""
    found: dict[Stmt, tuple[int, int]] = {}
    for number, leaf in enumerate(leaves):
        for stmt in (leaf, *paths[leaf]):
            found[stmt] = (found.get(stmt, (number,))[0], number)
    return found


def _lifetime(
    users: Sequence[BlockRealize], slots: _Slots, paths: Paths, spans: Mapping[Stmt, tuple[int, int]]
) -> tuple[int, int]:
    """Returns the first and the last leaf between which a memory keeps a buffer, as `tasks.lifetimes` does in a planned program."""
    shared = set(paths[users[0]]).intersection(*(paths[user] for user in users[1:]))
    around = [s for s in reversed(paths[users[0]]) if s in shared and _turns(s)]
    if slots.count > 1 and around:
        del around[around.index(slots.loop) if slots.loop in around else -1 :]
    found = [spans[next((s for s in reversed(paths[user]) if _turns(s) and s not in around), user)] for user in users]
    return min(first for first, _ in found), max(last for _, last in found)


def _turns(stmt: Stmt) -> bool:
    """Whether a statement is a loop of more than one iteration."""
    return isinstance(stmt, For) and build.int_value(stmt.extent) != 1


def _footprint(buffer: Buffer, users: Sequence[BlockRealize], paths: Paths) -> int:
    """Live bytes of one slot of a buffer: the part that is written inside of the loops that all users share."""
    common = set(paths[users[0]]).intersection(*(paths[user] for user in users[1:]))
    writer = next((user for user in users if _writes(user, buffer)), None)
    if writer is None:
        return 0
    block = writer.block
    summed = {v for iv, value in zip(block.iter_vars, writer.iter_values, strict=True) if iv.iter_type != "spatial"
              for v in free_vars(value)}  # fmt: skip
    inside = [s for s in paths[writer] if s not in common and not (isinstance(s, For) and s.loop_var in summed)]
    whole = prod(build.int_value(n) or 1 for n in buffer.shape)
    return min(_times(inside), whole) * dt.size_bytes(buffer.dtype)


def _writes(user: BlockRealize, buffer: Buffer) -> bool:
    return any(w.buffer is buffer for w in user.block.writes)


def _times(path: Iterable[Stmt]) -> int:
    return prod(build.int_value(stmt.extent) or 1 for stmt in path if isinstance(stmt, For))


__all__ = ["CostEstimate", "estimate_cost"]
