"""How long a task occupies its engine, from what it really does: bursts, tiles, vectors, operations. Whole cycles, rounded up."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec
from msgspec.structs import replace as replace_fields

from ..arith import Analyzer
from ..ir import Buffer, Var
from ..ir import dtype as dt
from .geometry import Domain, Layout, box_elements, layout, runs
from .machine import DmaEngine, Engine, MatrixEngine, Memory, ScalarEngine, SystolicEngine, VectorEngine
from .place import Places
from .product import indexing, product_of
from .systolic import array_cycles, fold
from .work import Access, Work, element_bytes


class Touched(msgspec.Struct, frozen=True, eq=False):
    """Bytes of a buffer that a task reads or writes."""

    buffer: Buffer
    written: bool
    size_bytes: int


class Cost(msgspec.Struct, frozen=True, eq=False):
    """`duration` on the engine, `latency` until the result is there, `operations` done (elements, for a copy)."""

    duration: int
    latency: int
    operations: int
    touched: tuple[Touched, ...]


class Measured(msgspec.Struct, frozen=True, eq=False):
    """A piece of work with the loops of its task and the layouts of its accesses, reads first."""

    work: Work
    inner: dict[Var, int]
    layouts: tuple[Layout, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.work.reads, *self.work.writes)


def measure(work: Work, inner: dict[Var, int], analyzer: Analyzer) -> Measured:
    """What `cost` needs to know of a piece, found once."""
    found = tuple(layout(a, inner, analyzer) for a in (*work.reads, *work.writes))
    return Measured(work, inner, found)


def cost(engine: Engine, pieces: Sequence[tuple[Measured, Domain]], places: Places) -> Cost | None:
    """The cost of a task made of pieces, each with its iterations; None when there are none."""
    live = [(m, d) for m, d in pieces if d.iterations]
    if not live:
        return None
    work = sum(_work(engine, m, d, places) for m, d in live)
    touched = tuple(t for m, d in live for t in _touched(engine, m, d, places))
    duration = max(1, engine.setup_cycles + max(work, _port_cycles(touched, places)))
    operations = sum(d.iterations * (2 if m.work.kind == "mac" else m.work.operations) for m, d in live)
    return Cost(duration, _latency(engine, live[0][0], places), operations, touched)


def _work(engine: Engine, measured: Measured, where: Domain, places: Places) -> int:
    match engine:
        case DmaEngine():
            return _copy(engine, measured, where, places)
        case MatrixEngine():
            return _tiles(engine, measured, where)
        case SystolicEngine():
            return _array(engine, measured.work, where)
        case VectorEngine():
            return _vectors(engine, measured, where)
        case ScalarEngine():
            # Loads and the store count as operations beside the arithmetic.
            steps = measured.work.operations + len(measured.accesses)
            return where.iterations * steps * engine.cycles_per_operation


def _copy(engine: DmaEngine, measured: Measured, where: Domain, places: Places) -> int:
    """Each contiguous run moves in whole bursts of either memory, as fast as the slowest of both ports and the engine."""
    (read,), (written,) = measured.work.reads, measured.work.writes
    source, target = places.by_buffer[read.buffer].memory, places.by_buffer[written.buffer].memory
    size = element_bytes(written)
    found = runs(measured.layouts, where)
    out = sum(r.count * _bursts(r.elements * size, source) for r in found)
    into = sum(r.count * _bursts(r.elements * size, target) for r in found)
    return max(
        _over(out, min(source.read_bytes_per_cycle, engine.bytes_per_cycle)),
        _over(into, min(target.write_bytes_per_cycle, engine.bytes_per_cycle)),
    )


def _bursts(run_bytes: int, memory: Memory) -> int:
    return _over(run_bytes, memory.burst_bytes) * memory.burst_bytes


def _tiles(engine: MatrixEngine, measured: Measured, where: Domain) -> int:
    work = measured.work
    if len(work.reads) != 2:
        # A square (one operand twice) or a fill: as if every iteration were on the diagonal of tiles.
        passes = _over(where.iterations, engine.tile_rows * engine.tile_columns)
        return passes * engine.cycles_per_tile
    product = product_of(work, where)
    tiles = _over(product.rows, engine.tile_rows) * _over(product.columns, engine.tile_columns)
    depth = _over(product.depth, engine.tile_depth)
    return product.batch * tiles * depth * _passes(engine, work) * engine.cycles_per_tile


def _array(engine: SystolicEngine, work: Work, where: Domain) -> int:
    if not work.reads:
        # A fill leaves the array like results do, a row a cycle.
        return _over(where.iterations, engine.columns)
    return array_cycles(engine, product_of(work, where)) * _passes(engine, work)


def _passes(engine: MatrixEngine | SystolicEngine, work: Work) -> int:
    return _over(max(element_bytes(a) for a in work.reads), engine.element_bytes) ** 2


def _vectors(engine: VectorEngine, measured: Measured, where: Domain) -> int:
    """Runs of the result (of an operand, when one element is summed up) in whole vectors, once for each operation."""
    work = measured.work
    along = measured.layouts[-1]
    if work.reads and not indexing(work.writes[0], where):
        along = measured.layouts[0]
    widest = max(element_bytes(a) for a in measured.accesses)
    count = sum(r.count * _over(r.elements * widest, engine.vector_bytes) for r in runs((along,), where))
    return count * work.operations * engine.cycles_per_operation


def _touched(engine: Engine, measured: Measured, where: Domain, places: Places) -> list[Touched]:
    """Bytes by buffer: each element once a task where an engine holds its operands, once an iteration on the scalar engine.

    A buffer that is allocated inside of the task is another one each time.
    """
    found: list[Touched] = []
    work = measured.work
    if isinstance(engine, SystolicEngine) and work.kind == "mac":
        return _streamed(engine, work, where)
    sides = [(a, False) for a in work.reads] + [(a, True) for a in work.writes]
    if work.updates:
        sides += [(a, False) for a in work.writes]
    groups: dict[tuple[Buffer, bool], list[Access]] = {}
    for access, written in sides:
        groups.setdefault((access.buffer, written), []).append(access)
    for (buffer, written), accesses in groups.items():
        each = isinstance(engine, ScalarEngine | DmaEngine) and not any(a.extents for a in accesses)
        if each:
            elements = where.iterations * len(accesses)
        else:
            renewed = {loop.var for loop in places.by_buffer[buffer].site.loops}
            times = prod(n for v, n in where.active.items() if v in renewed)
            once = {v: min(n, 1) if v in renewed else n for v, n in where.active.items()}
            elements = times * box_elements(
                accesses, replace_fields(where, active=once, iterations=prod(once.values()))
            )
        found.append(Touched(buffer, written, elements * dt.size_bytes(buffer.dtype)))
    return found


def _streamed(engine: SystolicEngine, work: Work, where: Domain) -> list[Touched]:
    """What a systolic array reads and writes: an operand again for each fold that needs it, partial sums in and out."""
    product = product_of(work, where)
    folding = fold(engine.dataflow, engine.rows, engine.columns, product)
    entering = folding.reads if len(work.reads) == 2 else (sum(folding.reads),)
    sides = [(a, False, times) for a, times in zip(work.reads, entering, strict=True)]
    sides += [(a, written, folding.writes) for a in work.writes for written in (True, False)]
    return [
        Touched(a.buffer, written, box_elements([a], where) * times * element_bytes(a)) for a, written, times in sides
    ]


def _port_cycles(touched: Sequence[Touched], places: Places) -> int:
    """The least time that the ports of the memories need for what the task moves."""
    moved: dict[tuple[str, bool], int] = {}
    for t in touched:
        key = (places.by_buffer[t.buffer].memory.name, t.written)
        moved[key] = moved.get(key, 0) + t.size_bytes
    cycles = 0
    for (name, written), size in moved.items():
        memory = places.machine.memory(name)
        cycles = max(cycles, _over(size, memory.write_bytes_per_cycle if written else memory.read_bytes_per_cycle))
    return cycles


def _latency(engine: Engine, measured: Measured, places: Places) -> int:
    """The engine's own, and for a copy that of the slower memory; other engines' latencies include the memory they work on."""
    if not isinstance(engine, DmaEngine):
        return engine.latency_cycles
    memories = [places.by_buffer[a.buffer].memory for a in measured.accesses]
    return engine.latency_cycles + max(m.latency_cycles for m in memories)


def _over(amount: int, per: int) -> int:
    """`amount / per`, rounded up."""
    return -(-amount // per)
