"""Cost model of a task: the whole cycles that it occupies its engine, rounded up, from its bursts, tiles, vectors and operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd

import msgspec
from msgspec.structs import replace as replace_fields

from ...arith import Analyzer
from ...ir import Buffer, IntImm, Var, build, free_vars, substitute
from ...ir import dtype as dt
from ..access.descriptors import Descriptor, describe
from ..access.placement import Places
from ..access.ports import (
    PortSpec,
    atomic_ports,
    cycles_of_ports,
    least_cycles,
    link_latency,
    memory_port,
    over,
    port_bytes,
)
from ..access.vectors import (
    BankConflict,
    Spread,
    row_of,
    vector_conflicts,
    vector_operations,
    vector_spreads,
    vector_width,
)
from ..caches.shared.results import Behind
from ..machine.parts import DmaEngine, Engine, MatrixEngine, Memory, ScalarEngine, SystolicEngine, VectorEngine
from ..tasks.geometry import AffineProgression, Layout, TaskDomain, layout
from ..tasks.index_boxes import Indexed, box_elements, progressions
from ..tasks.product import diagonal_tiles, joint_values, passes_of, product_of, tile_cycles, tiles_of
from ..tasks.work import Access, Work, element_bytes
from .operand_traffic import operand_traffic
from .systolic import array_cycles, drain_cycles, folding_of
from .tile_rows import row_conflicts


class Touched(msgspec.Struct, frozen=True, eq=False):
    """Bytes of a buffer that a task reads or writes."""

    buffer: Buffer
    written: bool
    size_bytes: int


class Tiling(msgspec.Struct, frozen=True):
    """Utilisation of a matrix engine's tiles, or of a systolic array's folds. `tiles` have room for `offered` multiplications, of which
    `useful` are done; tiles at the edge cost as much as whole ones.
    """

    tiles: int = 0
    useful: int = 0
    offered: int = 0

    def __add__(self, other: Tiling) -> Tiling:
        return Tiling(self.tiles + other.tiles, self.useful + other.useful, self.offered + other.offered)


class Cost(msgspec.Struct, frozen=True, eq=False):
    """Cost of a task: `duration` on the engine, `latency` until the result is available, `operations` (elements, for a copy).

    Its causes: the `descriptor` of a copy, the `tiling` of matrix work, the `conflicts` of a vector engine's accesses, their `spreads` in
    memories with bursts, and `demands`, the cycles that the task's bytes occupy each port, `setup` cycles after the start; `spare` are the
    bytes that the last of these cycles has room for, on a machine with levels. `in_blocks` is the traffic of memories whose physical blocks
    have ports of their own. In `waited` cycles of the duration it waits for its own loads, as do other blocks of its core at the same time.
    `preloaded` are stationary operands of an array, each with the cycles by which it has to be ready before the
    task starts. `tokens` is the part of the duration in which the engine waits for tokens of other engines, and signals its own. A cost
    `is_bound`, an upper bound, if the iterations of a piece are too many to count.
    """

    duration: int
    latency: int
    operations: int
    touched: tuple[Touched, ...]
    descriptor: Descriptor | None = None
    tiling: Tiling | None = None
    conflicts: tuple[BankConflict, ...] = ()
    demands: tuple[tuple[PortSpec, int], ...] = ()
    spreads: tuple[Spread, ...] = ()
    preloaded: tuple[tuple[Buffer, int], ...] = ()
    setup: int = 0
    in_blocks: tuple[Touched, ...] = ()
    tokens: int = 0
    spare: tuple[tuple[PortSpec, int], ...] = ()
    is_bound: bool = False
    waited: int = 0

    @property
    def port_work(self) -> Iterator[tuple[PortSpec, int, int]]:
        """The ports with the cycles of the task, and the bytes that the last of them has room for."""
        room = dict(self.spare)
        return ((port, cycles, room.get(port, 0)) for port, cycles in self.demands)

    def with_tokens(self, waits: int, signals: int) -> Cost:
        """Returns the cost of a task that waits for tokens before its set-up, and signals some after its work."""
        tokens = waits + signals
        return replace_fields(self, duration=self.duration + tokens, setup=self.setup + waits, tokens=tokens)

    def with_blocks(self, needed: Mapping[PortSpec, int]) -> Cost:
        """Returns the cost with these demands of physical blocks: they depend on the cells of a task."""
        if not needed:
            return self
        duration = max(self.duration, self.setup + max(needed.values()))
        return replace_fields(self, duration=duration, demands=(*self.demands, *needed.items()))

    def with_misses(self, behind: Behind, template: int, places: Places) -> Cost:
        """Returns the cost with the bytes that move behind a shared cache; the results of accesses that wait for a line are later."""
        misses = behind.misses.get(template)
        if misses is None:
            return self
        moved = {False: 0, True: 0}
        for t in self.touched:
            if places.by_buffer[t.buffer].memory.name == behind.memory.name:
                moved[t.written] += t.size_bytes
        shares = {behind.read_port: moved[False] * misses.read}
        returned = sum(moved.values()) * misses.returned
        shares[behind.write_port] = shares.get(behind.write_port, 0) + returned
        sizes = {port: _short_share(size, port.bytes_per_cycle) for port, size in shares.items()}
        needed = cycles_of_ports(sizes)
        room = tuple((p, cycles * p.bytes_per_cycle - sizes[p]) for p, cycles in needed.items())
        return replace_fields(
            self, duration=max(self.duration, self.setup + max(needed.values(), default=0)),
            latency=self.latency + round(misses.delayed * behind.memory.latency_cycles),
            demands=(*self.demands, *needed.items()), spare=(*self.spare, *room),
        )  # fmt: skip

    @property
    def key(self) -> object:
        """Deduplication key: costs with equal keys look the same in a report."""
        sizes = tuple((t.buffer.name, t.written, t.size_bytes) for t in self.touched)
        lost = tuple((tuple(b.name for b in c.buffers), c.kind, c.accesses, c.degree, c.cycles) for c in self.conflicts)
        moved = tuple((s.buffer.name, s.written, s.accesses, s.wanted_bytes, s.moved_bytes) for s in self.spreads)
        return self.duration, self.latency, self.operations, sizes, self.descriptor, self.tiling, lost, moved


def _short_share(size: Fraction, width: int) -> int:
    """Returns bytes near a mean size, so that few requests fill whole cycles of a port: as many as divide MOST_REQUESTS and the width."""
    parts = gcd(MOST_REQUESTS, width)
    return round(size * parts / width) * (width // parts)


MOST_REQUESTS = 12
"""Requests behind a shared cache after which they repeat."""


class Measured(msgspec.Struct, frozen=True, eq=False):
    """A piece of work with the loops of its task, the layouts of its accesses (reads first) and, if known, the progressions of their
    indices. Accesses to a buffer that loops around the task move by the same amounts have equal numbers in `moved_alike`.
    """

    work: Work
    inner: dict[Var, int]
    layouts: tuple[Layout, ...]
    progressions: tuple[tuple[AffineProgression, ...] | None, ...]
    moved_alike: dict[Access, int]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.work.reads, *self.work.writes)

    @property
    def copied(self) -> tuple[Access, Access]:
        """The source and the target of a copy."""
        return self.work.reads[0], self.work.writes[0]


def measure(work: Work, inner: dict[Var, int], analyzer: Analyzer) -> Measured:
    """Analyses a piece once for `cost`."""
    accesses = (*work.reads, *work.writes)
    layouts = tuple(layout(a, inner, analyzer) for a in accesses)
    known = tuple(progressions(a, inner, analyzer) for a in accesses)
    return Measured(work, inner, layouts, known, _moved_alike(accesses, inner, analyzer))


def _moved_alike(accesses: Sequence[Access], inner: Mapping[Var, int], analyzer: Analyzer) -> dict[Access, int]:
    """Numbers the accesses: equal ones have a distance that loops around do not change."""
    found: dict[Access, int] = {}
    zeros = {v: IntImm(0, v.dtype) for v in inner}
    for access in accesses:
        for other, number in found.items():
            if other.buffer is access.buffer and not (access.extents or other.extents):
                pairs = zip(access.indices, other.indices, strict=True)
                apart = [analyzer.simplify(substitute(build.sub(a, b), zeros)) for a, b in pairs]
                if not any(free_vars(e) for e in apart):
                    found[access] = number
                    break
        else:
            found[access] = len(found)
    return found


def cost(engine: Engine, pieces: Sequence[tuple[Measured, TaskDomain]], places: Places) -> Cost | None:
    """Returns the cost of a task that consists of `pieces`, each with its iterations; None if there are none."""
    live = [(m, d) for m, d in pieces if d.iterations]
    if not live:
        return None
    touches = [_touched(engine, m, d, places) for m, d in live]
    spreads = [_spreads(engine, m, d, places) for m, d in live]
    tilings = [_tiling(engine, m.work, d) for m, d in live if isinstance(engine, MatrixEngine | SystolicEngine)]
    conflicts = [c for m, d in live for c in _conflicts(engine, m, d, places)]
    descriptor = _descriptor(engine, *live[0], places) if isinstance(engine, DmaEngine) else None
    # Loads into registers are instructions of their own: the next products run while banks serve the rows of a load.
    loads = isinstance(engine, MatrixEngine) and engine.operand_rows == "loads_8x16"
    waits = 0 if loads else sum(c.cycles for c in conflicts)
    work = sum(_work(engine, m, d, descriptor, places) for m, d in live) + waits
    served = [c.accesses + c.cycles for c in conflicts]
    in_turn = loads or (isinstance(engine, VectorEngine) and engine.operands == "in_turn")
    banks = sum(served) if in_turn else max(served, default=0)
    if isinstance(engine, MatrixEngine) and engine.operand_loads == "before":
        work += banks
    setup = engine.setup_cycles * (descriptor.descriptors if descriptor else 1)

    def memory_of(touched: Touched) -> Memory:
        return places.by_buffer[touched.buffer].memory

    sent = [
        [t for t in touched if t.written or not m.work.atomic or t.buffer is not m.work.writes[0].buffer]
        for touched, (m, _) in zip(touches, live, strict=True)
    ]
    moved = [a for t, s in zip(sent, spreads, strict=True) for a in _moved(engine, t, descriptor, s, places)]
    machine = places.machine
    waited = 0
    if isinstance(engine, VectorEngine) and engine.around_bytes_per_cycle:
        outside = sum(t.size_bytes for t in moved if memory_of(t).level != engine.level)
        banks += over(outside, engine.around_bytes_per_cycle)
        waited = _waits_inside(engine, live, places)
    sizes = port_bytes(engine, machine, [(memory_of(t), t.written, t.size_bytes) for t in moved])
    for port, asked in _more_requests(engine, live, conflicts if loads else (), places):
        sizes[port] = sizes.get(port, 0) + asked
    needed = cycles_of_ports(sizes)
    return Cost(
        max(1, setup + max(work, banks, least_cycles(needed))) + waited,
        _latency(engine, live[0][0], places),
        sum(d.iterations * _operations(engine, m.work) for m, d in live),
        tuple(t for touched in touches for t in touched),
        descriptor,
        sum(tilings, Tiling()) if tilings else None,
        tuple(c for c in conflicts if c.cycles),
        tuple(needed.items()),
        tuple(s for spread in spreads for s in spread),
        _preloaded(engine, [m.work for m, _ in live]),
        setup,
        tuple(t for t in moved if memory_of(t).has_own_ports),
        spare=tuple((p, cycles * p.bytes_per_cycle - sizes[p]) for p, cycles in needed.items())
        if machine.levels
        else (),
        is_bound=any(d.is_bound or (d.inside is not None and d.inside.is_bound) for _, d in live),
        waited=waited,
    )


def _more_requests(
    engine: Engine, pieces: Sequence[tuple[Measured, TaskDomain]], loads: Sequence[BankConflict], places: Places
) -> Iterator[tuple[PortSpec, int]]:
    """Yields bytes of ports beside those of the accesses: of atomic updates, and of the cycles that loads of operands lose."""
    for measured, where in pieces:
        if measured.work.atomic:
            yield from atomic_requests(engine, measured, where, places).items()
    for lost in loads:
        port = memory_port(places.machine.memory(lost.memory), written=False)
        yield port, lost.cycles * port.bytes_per_cycle


def atomic_requests(engine: Engine, measured: Measured, where: TaskDomain, places: Places) -> dict[PortSpec, int]:
    """Returns the bytes of atomic updates, and the cycles of one of the updated elements. Lanes update an element one after the other; a
    vector engine sums a row before its update.
    """
    work, target = measured.work, measured.accesses[-1]
    placed = places.by_buffer[target.buffer]
    elements = _elements(target.buffer, [(target, measured.progressions[-1])], measured, where, places)
    is_row = isinstance(engine, VectorEngine) and row_of(
        work, measured.layouts, where, vector_width(engine, work)
    ) is not None  # fmt: skip
    updates = elements if is_row else where.iterations
    every, *own = atomic_ports(placed.memory, target.buffer)
    each = {port: over(updates, max(elements, 1)) * placed.memory.atomic_cycles for port in own}
    return {every: updates * element_bytes(target), **each}


def _waits_inside(engine: VectorEngine, pieces: Sequence[tuple[Measured, TaskDomain]], places: Places) -> int:
    """Cycles in which a task waits for elements that its pieces load from memories around the core and that others of its pieces read: one
    latency for each iteration of the loops around both.
    """
    longest = 0
    for n, (source, where) in enumerate(pieces):
        latency = _latency_around(engine, source, places)
        written = {a.buffer for a in source.work.writes}
        for target, _ in pieces[n + 1 :]:
            if latency and any(a.buffer in written for a in target.work.reads):
                lanes = {*source.work.piece.lanes, *source.work.piece.vectorized}
                rounds = [v for v in source.inner if v in target.inner and v not in lanes]
                longest = max(longest, latency * joint_values(frozenset(rounds), where))
    return longest


def _latency_around(engine: VectorEngine, measured: Measured, places: Places) -> int:
    """The latency of the slowest memory around the core that a piece reads."""
    memories = [places.by_buffer[a.buffer].memory for a in measured.work.reads]
    return max((m.latency_cycles for m in memories if m.level != engine.level), default=0)


def _operations(engine: Engine, work: Work) -> int:
    if isinstance(engine, DmaEngine):
        return 1
    return 2 if work.kind == "mac" else work.operations


def _preloaded(engine: Engine, works: Sequence[Work]) -> tuple[tuple[Buffer, int], ...]:
    if not isinstance(engine, SystolicEngine) or not engine.preload_cycles:
        return ()
    stationary = -1 if engine.dataflow == "weight_stationary" else 0
    return tuple({(work.reads[stationary].buffer, engine.preload_cycles): None for work in works if work.reads})


def _work(engine: Engine, measured: Measured, where: TaskDomain, descriptor: Descriptor | None, places: Places) -> int:
    match engine:
        case DmaEngine():
            return _copy(engine, measured, descriptor, places) if descriptor else 0
        case MatrixEngine():
            return _tiling(engine, measured.work, where).tiles * tile_cycles(engine, _types(measured.work))
        case SystolicEngine():
            return _array(engine, measured.work, where)
        case VectorEngine():
            operations = vector_operations(engine, measured.work, measured.layouts, where)
            return operations * engine.cycles_per_operation
        case ScalarEngine():
            # Loads and the store count as operations, like the arithmetic.
            steps = measured.work.steps(dict(engine.rates)) + len(measured.accesses)
            return where.iterations * steps * engine.cycles_per_operation


def _conflicts(engine: Engine, measured: Measured, where: TaskDomain, places: Places) -> tuple[BankConflict, ...]:
    if isinstance(engine, MatrixEngine | SystolicEngine) and engine.operand_rows != "ideal":
        return row_conflicts(engine, measured.work, measured.layouts, where, places)
    if not isinstance(engine, VectorEngine):
        return ()
    return vector_conflicts(engine, measured.work, measured.layouts, where, places)


def _spreads(engine: Engine, measured: Measured, where: TaskDomain, places: Places) -> tuple[Spread, ...]:
    if not isinstance(engine, VectorEngine):
        return ()
    return vector_spreads(engine, measured.work, measured.layouts, where, places)


def _descriptor(engine: DmaEngine, measured: Measured, where: TaskDomain, places: Places) -> Descriptor:
    source, target = (places.by_buffer[a.buffer].memory for a in measured.copied)
    return describe(engine, measured.work, (measured.layouts[0], measured.layouts[-1]), where, source, target)


def _copy(engine: DmaEngine, measured: Measured, descriptor: Descriptor, places: Places) -> int:
    """Cycles of a copy: each contiguous run moves in whole bursts of either memory, at the rate of the slowest of both ports, the engine,
    and its transposer. Functions apply as elements leave the source: only results pass the engine.
    """
    source, target = (places.by_buffer[a.buffer].memory for a in measured.copied)
    sides = ((source, descriptor.read_bytes), (target, descriptor.written_bytes))
    waited = max(_requested(engine, memory, size) for memory, size in sides)
    reading = engine.bytes_per_cycle if measured.work.kind == "copy" else source.read_bytes_per_cycle
    turned = over(descriptor.wanted_bytes, engine.transpose_bytes_per_cycle) if descriptor.transposed else 0
    if source is target and source.ports == "shared":
        both = descriptor.read_bytes + descriptor.written_bytes
        return max(waited, turned, over(both, min(source.read_bytes_per_cycle, engine.bytes_per_cycle)))
    return max(
        waited,
        turned,
        over(descriptor.read_bytes, min(source.read_bytes_per_cycle, reading)),
        over(descriptor.written_bytes, min(_write_width(target), engine.bytes_per_cycle)),
    )


def _requested(engine: DmaEngine, memory: Memory, size_bytes: int) -> int:
    """Least cycles of the bursts that a copy reads or writes: as many as may be outstanding complete in each latency (Little's law)."""
    if not engine.outstanding_requests:
        return 0
    return over(size_bytes // memory.burst_bytes * memory.latency_cycles, engine.outstanding_requests)


def _write_width(memory: Memory) -> int:
    """Width of the write port; a shared port is as wide as reads are."""
    return memory.write_bytes_per_cycle if memory.ports == "separate" else memory.read_bytes_per_cycle


def _tiling(engine: MatrixEngine | SystolicEngine, work: Work, where: TaskDomain) -> Tiling:
    """Tiles cover rows, columns and depth of each product; folds of an array cover two of these."""
    if isinstance(engine, SystolicEngine):
        if not work.reads:
            return Tiling()
        product = product_of(work, where)
        folding = folding_of(engine, product)
        folds = product.batch * folding.down * folding.across
        return Tiling(folds, where.iterations, folds * folding.cycles * engine.rows * engine.columns)
    if len(work.reads) != 2:
        tiles = diagonal_tiles(engine, where.iterations)
        return Tiling(tiles, where.iterations, tiles * engine.tile_rows * engine.tile_columns)
    tiles = tiles_of(engine, product_of(work, where))
    return Tiling(tiles, where.iterations, tiles * engine.tile_rows * engine.tile_columns * engine.tile_depth)


def _array(engine: SystolicEngine, work: Work, where: TaskDomain) -> int:
    if not work.reads:
        # A fill leaves the array like results, one row per cycle.
        return over(where.iterations, engine.columns)
    return array_cycles(engine, product_of(work, where)) * passes_of(engine, _types(work))


def _types(work: Work) -> list[str]:
    return [a.buffer.dtype for a in work.reads or work.writes]


def _touched(engine: Engine, measured: Measured, where: TaskDomain, places: Places) -> list[Touched]:
    """Bytes by buffer: a matrix engine's operand traffic; a vector engine accesses each element once per task, the scalar engine once per
    iteration.

    A buffer that is allocated inside of the task is a different one each time, and for each thread that has a private copy.
    """
    found: list[Touched] = []
    work = measured.work
    if isinstance(engine, MatrixEngine | SystolicEngine) and work.kind == "mac":
        return _streamed(engine, work, where)
    known = list(zip(measured.accesses, measured.progressions, strict=True))
    reads, writes = known[: len(work.reads)], known[len(work.reads) :]
    sides = [(a, False) for a in reads] + [(a, True) for a in writes]
    if work.updates:
        sides += [(a, False) for a in writes]
    groups: dict[tuple[Buffer, bool], list[Indexed]] = {}
    for access, written in sides:
        groups.setdefault((access[0].buffer, written), []).append(access)
    for (buffer, written), accesses in groups.items():
        each = isinstance(engine, ScalarEngine) or (
            isinstance(engine, DmaEngine) and any(a in measured.copied for a, _ in accesses)
        )
        each = each and not any(a.extents for a, _ in accesses)
        if each:
            inside = where.inside if isinstance(engine, DmaEngine) and not written else None
            elements = (where if inside is None else inside).iterations * len(accesses)
        else:
            elements = _elements(buffer, accesses, measured, where, places)
        found.append(Touched(buffer, written, elements * dt.size_bytes(buffer.dtype)))
    return found


def _elements(
    buffer: Buffer, accesses: Sequence[Indexed], measured: Measured, where: TaskDomain, places: Places
) -> int:
    """Elements of a buffer that a task accesses, each once."""
    site = places.by_buffer[buffer].site
    reallocating = {loop.var for loop in (*site.loops, *site.threads)} & where.active.keys()
    once = where
    if reallocating:
        active = {v: min(n, 1) if v in reallocating else n for v, n in where.active.items()}
        once = replace_fields(where, active=active, iterations=joint_values(where.active.keys() - reallocating, where))
    groups: dict[int, list[Indexed]] = {}
    for indexed in accesses:
        groups.setdefault(measured.moved_alike[indexed[0]], []).append(indexed)
    times = joint_values(reallocating, where) if reallocating else 1
    return times * sum(box_elements(group, once) for group in groups.values())


def _streamed(engine: MatrixEngine | SystolicEngine, work: Work, where: TaskDomain) -> list[Touched]:
    """Bytes that a matrix engine reads and writes, sums in both directions. A square reads its single operand twice."""
    traffic = operand_traffic(engine, product_of(work, where))
    entering = [traffic.first, traffic.second] if len(work.reads) == 2 else [traffic.first + traffic.second]
    sides = [(a, False, n) for a, n in zip(work.reads, entering, strict=True)]
    sides += [(a, written, traffic.sums) for a in work.writes for written in (True, False)]
    return [Touched(a.buffer, written, n * element_bytes(a)) for a, written, n in sides]


def _moved(
    engine: Engine, touched: Sequence[Touched], descriptor: Descriptor | None, spreads: Sequence[Spread], places: Places
) -> Iterator[Touched]:
    """Yields the traffic of memory ports. Copies and vectors move whole bursts. Memory behind caches
    moves by the line and is left out here: `cached` has its stalls. The first operand that a copy reads is its source.
    """
    spread = {(s.buffer, s.written): s.moved_bytes for s in spreads}
    for t in touched:
        if places.machine.caches_of(engine.name, places.by_buffer[t.buffer].memory.name):
            continue
        size = spread.get((t.buffer, t.written), t.size_bytes)
        if descriptor is not None:
            is_end = t.written or t is touched[0]
            burst = places.by_buffer[t.buffer].memory.burst_bytes
            size = over(size, burst) * burst
            size = (descriptor.written_bytes if t.written else descriptor.read_bytes) if is_end else size
        yield Touched(t.buffer, t.written, size)


def _latency(engine: Engine, measured: Measured, places: Places) -> int:
    """Latency of the engine, for a copy plus that of the slower memory and of links; other engines' latencies include their memory."""
    memories = [places.by_buffer[a.buffer].memory for a in measured.accesses]
    atomic = memories[-1].atomic_latency_cycles if measured.work.atomic else 0
    if isinstance(engine, SystolicEngine):
        return engine.latency_cycles + drain_cycles(engine)
    if isinstance(engine, VectorEngine) and engine.around_bytes_per_cycle:
        return engine.latency_cycles + atomic + _latency_around(engine, measured, places)
    if not isinstance(engine, DmaEngine):
        return engine.latency_cycles + atomic
    own = engine.latency_cycles + atomic + link_latency([m.name for m in memories], places.machine)
    return own + max(m.latency_cycles for m in memories)
