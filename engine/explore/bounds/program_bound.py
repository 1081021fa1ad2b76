"""A lower bound on the cycles of every schedule of a program on a machine.

Two things that no schedule avoids:

- Movement: each element of an argument that the program needs crosses the port of the far memory at least once, each result once. Where
  all engines are behind caches without prefetching, the first access to each line stalls one of them until the line arrives.
- Work: each multiply-accumulate, combination and function of the program runs on some engine. Whatever the distribution, the engines' busy
  times, weighted by any weights of sum one, are at least the sum over the blocks of the cheapest engine's weighted cycles; the longest of
  them is at least that. The bound is that of the best weights found.

A schedule repeats work and movement but never removes them: what it could drop is not counted (elements that no reader needs, copies,
choices between values, arithmetic that a DMA applies in passing or that becomes the start of a sum; `operations` has the rest). It holds
for all schedules that keep the types of the buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product as tuples_of
from math import prod

import msgspec

from ...analysis import Guard, ProgramIndex, loads_of
from ...hwsim import (
    DmaEngine,
    Engine,
    Machine,
    MatrixEngine,
    Promise,
    ScalarEngine,
    SystolicEngine,
    VectorEngine,
    passes_of,
    tile_cycles,
)
from ...ir import (
    Add,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    IRModule,
    Max,
    Min,
    Mul,
    PrimFunc,
    build,
)
from ...ir import dtype as dt
from ...lower import with_sizes
from ...schedule import Schedule
from .operations import LastingOperation, lasting_operations
from .product import ProductIterators, product_of
from .touched import Box, box_of, inside, touched, touched_by, touched_together

WEIGHTS = (0, 1, 4, 16, 64)
"""Weights of the engines, before they are divided by their sum."""

ROUNDS = 8
"""The most times that the weight of each engine is improved."""

FUNCTIONS = frozenset({"div", "erf", "exp", "log", "pow", "rsqrt", "sigmoid", "sin", "sqrt", "tanh"})
"""Operations that only engines which compute have; a division by a constant is none."""


class ProgramBound(msgspec.Struct, frozen=True):
    """Cycles that every schedule needs: for the movement of arguments and results, and for the work."""

    movement: int
    work: int

    @property
    def promise(self) -> Promise:
        return "lower bound"

    @property
    def cycles(self) -> int:
        return max(self.movement, self.work, 1)


def program_bound(
    program: IRModule | PrimFunc, machine: Machine, sizes: Mapping[str, int] | None = None
) -> ProgramBound:
    """The bound of a program on a machine. `sizes` are values of symbolic sizes. Work and movement that cannot be counted (opaque
    blocks, indices that are data) count as zero."""
    index = ProgramIndex(with_sizes(Schedule(program).func, sizes or {}).func)
    needed = _Needed(index)
    costs = [_costs(index, name, needed.share(name), machine) for name in index.block_names[1:]]
    # Cores share the work, and the memories that each of them has.
    memories = machine.cores // machine.cores_around(machine.far.level)
    work = _work([c for c in costs if any(c)], len(_computing(machine)))
    return ProgramBound(_movement(index, machine, needed) // memories, work // machine.cores)


class _Needed:
    """The elements of each buffer that the program reads at least, and the part of each block's iterations that writes them."""

    def __init__(self, index: ProgramIndex) -> None:
        self._index = index
        self._read: dict[Buffer, int] = {}
        self._boxes: dict[Buffer, Box | None] = {}
        self._share: dict[str, Fraction] = {}
        for name in reversed(index.block_names[1:]):
            self._visit(name)

    def read(self, buffer: Buffer) -> int:
        return self._read.get(buffer, 0)

    def share(self, block: str) -> Fraction:
        return self._share.get(block, Fraction(0))

    def _visit(self, name: str) -> None:
        block = self._index.block(name)
        body = block.body
        if not isinstance(body, BufferStore) or any(build.int_value(iv.dom.extent) is None for iv in block.iter_vars):
            return
        written = touched(block, BufferLoad(body.buffer, body.indices))
        wanted = written if self._index.is_param(body.buffer) else min(self.read(body.buffer), written)
        self._share[name] = Fraction(wanted, written) if written else Fraction(0)
        where = () if self._share[name] == 1 else self._guards(block, body)
        if where is None:
            return
        loads: dict[Buffer, list[tuple[BufferLoad, tuple[Guard, ...]]]] = {}
        for load, guards in loads_of(body.value):
            if load.buffer is not body.buffer:
                loads.setdefault(load.buffer, []).append((load, (*guards, *where)))
        for buffer, accesses in loads.items():
            count = touched_by(block, accesses)
            if count > self.read(buffer):
                self._read[buffer] = count
                self._boxes[buffer] = box_of(block, accesses, count)

    def _guards(self, block: Block, body: BufferStore) -> tuple[Guard, ...] | None:
        """The conditions under which a block that is needed in part writes what is needed; None if they are not known."""
        box = self._boxes.get(body.buffer)
        return None if box is None or block.init is not None else inside(block, body.indices, box)


def _movement(index: ProgramIndex, machine: Machine, needed: _Needed) -> int:
    """Cycles of the far memory's port."""
    far = machine.far
    read = written = 0
    stores: dict[Buffer, list[tuple[Block, BufferLoad]]] = {}
    for name in index.block_names[1:]:
        body = index.block(name).body
        if isinstance(body, BufferStore) and index.is_param(body.buffer):
            access = BufferLoad(body.buffer, body.indices)
            stores.setdefault(body.buffer, []).append((index.block(name), access))
    outputs = {buffer: touched_together(some) for buffer, some in stores.items()}
    for buffer in (region.buffer for name in index.block_names[1:] for region in index.block(name).reads):
        if index.is_param(buffer) and buffer not in outputs and machine.find_memory(buffer.scope) is far:
            read += needed.read(buffer) * dt.size_bytes(buffer.dtype)
            outputs[buffer] = 0
    for buffer, count in outputs.items():
        if machine.find_memory(buffer.scope) is far:
            written += count * dt.size_bytes(buffer.dtype)
    if far.ports == "shared":
        moving = -(-(read + written) // far.read_bytes_per_cycle)
    else:
        moving = max(-(-read // far.read_bytes_per_cycle), -(-written // far.write_bytes_per_cycle))
    return max(moving, _first_misses(machine, read + written))


def _first_misses(machine: Machine, size: int) -> int:
    """Cycles that the engines stall on the first accesses to this many bytes of the far memory, divided among the engines; 0 if an
    engine is not behind all caches, or a cache prefetches."""
    far, engines = machine.far, [e for e in machine.engines if machine.far.name in {*e.reads, *e.writes}]
    if machine.levels:
        return 0
    chains = {machine.caches_of(e.name, far.name) for e in engines}
    if len(chains) != 1 or not (caches := chains.pop()) or any(cache.prefetch_lines for cache in caches):
        return 0
    line = max(cache.line_bytes for cache in caches)
    givers = [
        *((c.latency_cycles, c.bytes_per_cycle) for c in caches[1:]),
        (far.latency_cycles, far.read_bytes_per_cycle),
    ]
    each = sum(latency + -(-cache.line_bytes // rate) for cache, (latency, rate) in zip(caches, givers, strict=True))
    return size // line * each // len(engines)


def _costs(index: ProgramIndex, name: str, share: Fraction, machine: Machine) -> tuple[Fraction | None, ...]:
    """Least cycles of a block's work on each engine that computes; None where the engine cannot do it."""
    block = index.block(name)
    body = block.body
    if not isinstance(body, BufferStore) or not share:
        return ()
    engines = _computing(machine)
    lanes = _narrowest(index, name)
    if not index.is_reduction(name) and _may_join_a_sum(index, name):
        return ()
    in_passing = not index.is_reduction(name) and _applies_functions(machine)
    work = lasting_operations(block, body.value, only=FUNCTIONS if in_passing else None)
    product = product_of(index, name)
    if product is not None:
        types = _least_types(index, product)
        return tuple(_product_cycles(engine, product, lanes, types, work) * share for engine in engines)
    plain = [_plain_cycles(engine, lanes, work) for engine in engines]
    return tuple(None if cycles is None else cycles * share for cycles in plain)


def _computing(machine: Machine) -> list[Engine]:
    return [e for e in machine.engines if not isinstance(e, DmaEngine)]


def _applies_functions(machine: Machine) -> bool:
    """Whether an engine applies arithmetic to what passes it."""
    return any(getattr(engine, "activations", ()) for engine in machine.engines)


def _may_join_a_sum(index: ProgramIndex, name: str) -> bool:
    """Whether the block combines a sum with something else, so that its arithmetic may become the start of the sum
    (`fuse_reduction_epilogue`)."""
    body = index.block(name).body
    value = body.value if isinstance(body, BufferStore) else None
    operands = (value.a, value.b) if isinstance(value, Add | Max | Min | Mul) else ()
    return any(isinstance(one, BufferLoad) and _is_sum(index, one.buffer) for one in operands)


def _is_sum(index: ProgramIndex, buffer: Buffer) -> bool:
    """Whether a buffer is the result of a reduction, or a copy of it."""
    for name in index.block_names[1:]:
        block = index.block(name)
        if not any(w.buffer is buffer for w in block.writes):
            continue
        value = block.body.value if isinstance(block.body, BufferStore) else None
        is_copy = isinstance(value, BufferLoad) and value.buffer is not buffer
        if index.is_reduction(name) or (isinstance(value, BufferLoad) and is_copy and _is_sum(index, value.buffer)):
            return True
    return False


def _product_cycles(
    engine: Engine,
    product: ProductIterators,
    narrowest: int,
    types: Sequence[Sequence[str]],
    work: Sequence[LastingOperation],
) -> Fraction:
    """Cycles of a product's multiply-accumulates, in tiles as full as its extents allow, with the passes that its types need: the least
    over the types that each factor may have."""
    match engine:
        case MatrixEngine():
            sides = (engine.tile_rows, engine.tile_columns, engine.tile_depth)
            full = prod(sides[:2]) if product.is_square else prod(map(min, sides, product.most))
            cycles = max(min(tile_cycles(engine, [one]) for one in some) for some in types)
            return Fraction(product.count * cycles, full)
        case SystolicEngine():
            passes = max(min(passes_of(engine, [one]) for one in some) for some in types)
            return Fraction(product.count * passes, engine.rows * engine.columns)
        case _:
            return _plain_cycles(engine, narrowest, work) or Fraction(0)


def _least_types(index: ProgramIndex, product: ProductIterators) -> list[list[str]]:
    """The types that each factor of a product may have: that of an argument or of the result of a reduction; else those of all buffers,
    since a cast may be inlined."""
    every = sorted(
        {r.buffer.dtype for n in index.block_names[1:] for r in (*index.block(n).reads, *index.block(n).writes)}
    )
    return [[load.buffer.dtype] if _is_lasting(index, load.buffer) else every for load in product.factors]


def _is_lasting(index: ProgramIndex, buffer: Buffer) -> bool:
    """Whether no schedule removes a buffer: an argument or the result of a reduction."""
    writers = [n for n in index.block_names[1:] if any(w.buffer is buffer for w in index.block(n).writes)]
    return index.is_param(buffer) or any(index.is_reduction(n) for n in writers)


def _plain_cycles(engine: Engine, narrowest: int, work: Sequence[LastingOperation]) -> Fraction | None:
    """Cycles of combinations, arithmetic and functions."""
    if not isinstance(engine, VectorEngine | ScalarEngine):
        return None
    rates = dict(engine.rates)
    steps = sum(one.iterations * rates.get(one.rated, 1) for one in work)
    return Fraction(steps * engine.cycles_per_operation, _lanes(engine, narrowest))


def _narrowest(index: ProgramIndex, name: str) -> int:
    """Bytes of an element that limit the lanes of a block's work: those of its widest access whatever the conditions, to a buffer that no
    schedule removes (an argument or the result of a reduction) or, through the blocks that may be inlined, of what it is computed from;
    else of the narrowest buffer of the program."""
    block = index.block(name)
    written = [w.buffer for w in block.writes if _is_lasting(index, w.buffer)]
    read = [_width(index, load.buffer) for load in _always_read(index, name)]
    every = [r.buffer.dtype for n in index.block_names[1:] for r in (*index.block(n).reads, *index.block(n).writes)]
    return max([*map(_bytes, written), *read], default=min(map(dt.size_bytes, every)))


def _always_read(index: ProgramIndex, name: str) -> list[BufferLoad]:
    """The loads of a block that happen in each of its iterations."""
    body = index.block(name).body
    if not isinstance(body, BufferStore):
        return []
    return [load for load, guards in loads_of(body.value) if not guards and load.buffer is not body.buffer]


def _width(index: ProgramIndex, buffer: Buffer) -> int:
    """The bytes of the widest element that a reader of a buffer reads at least: of this buffer, or of those that it is computed from."""
    writers = [n for n in index.block_names[1:] if any(w.buffer is buffer for w in index.block(n).writes)]
    if _is_lasting(index, buffer) or len(writers) != 1:
        return _bytes(buffer) if _is_lasting(index, buffer) else 1
    return min(_bytes(buffer), max((_width(index, load.buffer) for load in _always_read(index, writers[0])), default=1))


def _bytes(buffer: Buffer) -> int:
    return dt.size_bytes(buffer.dtype)


def _lanes(engine: VectorEngine | ScalarEngine, narrowest: int) -> int:
    """The most elements that the engine processes at once."""
    if isinstance(engine, ScalarEngine):
        return 1
    return max([1, engine.vector_bytes // narrowest, *dict(engine.lanes_by_type).values()])


def _work(costs: Sequence[tuple[Fraction | None, ...]], engines: int) -> int:
    """The bound of the best weights found: those of a grid, then of each engine in turn the weight with the highest bound."""
    weights = max(tuples_of(map(Fraction, WEIGHTS), repeat=engines), key=lambda some: _weighted(costs, some))
    best = _weighted(costs, weights)
    for _ in range(ROUNDS):
        for engine in range(engines):
            tried = [(*weights[:engine], one, *weights[engine + 1 :]) for one in _turns(costs, weights, engine)]
            weights = max([weights, *tried], key=lambda some: _weighted(costs, some))
        before, best = best, _weighted(costs, weights)
        if best == before:
            break
    return -(-best.numerator // best.denominator)


def _weighted(costs: Sequence[tuple[Fraction | None, ...]], weights: Sequence[Fraction]) -> Fraction:
    """The bound of these weights."""
    total = Fraction(0)
    for row in costs:
        total += min((w * c for w, c in zip(weights, row, strict=True) if c is not None), default=Fraction(0))
    return total / (sum(weights) or 1)


def _turns(costs: Sequence[tuple[Fraction | None, ...]], weights: Sequence[Fraction], engine: int) -> set[Fraction]:
    """The weights of an engine at which it becomes the cheapest of a block, the other weights as they are: between them the bound rises
    or falls."""
    found: set[Fraction] = set()
    for row in costs:
        own = row[engine]
        others = (w * c for n, (w, c) in enumerate(zip(weights, row, strict=True)) if n != engine and c is not None)
        least = min(others, default=None)
        if own and least is not None:
            found.add(least / own)
    return found


__all__ = ["ProgramBound", "program_bound"]
