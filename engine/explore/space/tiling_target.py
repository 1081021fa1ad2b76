"""The main block of a program as a tiling target: its loops by role, and the footprint of a tile in each operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import prod
from typing import TypeVar

import msgspec

from ...analysis import ProgramIndex
from ...arith import divisors, linear
from ...hwsim import Engine, Machine, MatrixEngine, SystolicEngine, VectorEngine
from ...ir import Buffer, BufferRegion, Expr, Refusal, TilewrightError, Var, build
from ...ir import dtype as dt

T = TypeVar("T")

MOST_ORDERS = 6
MOST_TILES = 8
"""Values of one tile size; more would cost search time that other holes need."""


class TilingTargetError(TilewrightError):
    """A program without a block to tile."""


class Dim(msgspec.Struct, frozen=True, eq=False):
    """A loop of the main block and its iterator. The engine processes `grain` iterations at once: smaller tiles leave cells empty. With
    multiples of `full` none is empty if the loops beside it are whole."""

    name: str
    iterator: Var
    extent: int
    is_reduction: bool
    grain: int
    full: int = 1

    @property
    def tiles(self) -> tuple[int, ...]:
        """Tile sizes to try, ascending: a few divisors that are multiples of the grain, most of them full, and the whole extent. If fewer
        than three divide, also multiples of the grain that leave a remainder."""
        sizes = [n for n in divisors(self.extent) if n % self.grain == 0 or n == self.extent]
        if len(sizes) < 3 and self.extent > 4 * self.grain:
            sizes = sorted({*sizes, *(self.grain << n for n in range(8) if self.grain << n < self.extent)})
        return _spread(sizes, MOST_TILES, self.full)


class TiledOperand(msgspec.Struct, frozen=True, eq=False):
    """A buffer that the main block reads (`position` among its reads) or writes. Each axis has the step of each iterator, and its width."""

    buffer: Buffer
    position: int
    axes: tuple[tuple[Mapping[Var, int], int], ...]

    def footprint(self, tile: Mapping[Var, int]) -> int:
        """Bytes of the operand that a tile accesses."""
        extents = (width + sum(abs(step) * (tile[v] - 1) for v, step in steps.items()) for steps, width in self.axes)
        return prod(extents) * dt.size_bytes(self.buffer.dtype)

    def uses(self, iterator: Var) -> bool:
        return any(iterator in steps for steps, _ in self.axes)


class TilingTarget(msgspec.Struct, frozen=True, eq=False):
    """The main block, its engine, and its operands."""

    block: str
    engine: Engine
    dims: tuple[Dim, ...]
    reads: tuple[TiledOperand, ...]
    result: TiledOperand

    @property
    def spatial(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if not d.is_reduction)

    @property
    def summed(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if d.is_reduction)


def find_tiling_target(index: ProgramIndex, machine: Machine) -> TilingTarget:
    """The block with the most iterations, among reductions if there are any. Raises TilingTargetError "no-main-block", "has-threads"."""
    _require_no_threads(index)
    blocks = [name for name in index.block_names[1:] if _is_plain(index, name)]
    if not blocks:
        raise TilingTargetError(Refusal("no-main-block", "no block of the program has only plain loops of known extents around it",
                                  expected="a block whose iterators are bound to its loops"))  # fmt: skip
    block = max(blocks, key=lambda n: (bool(_reduced(index, n)), prod(_extents(index, n))))
    engine = _engine(machine, sums=bool(_reduced(index, block)))
    realize = index.realize(block)
    iterators = [iv.var for iv in realize.block.iter_vars]
    written = realize.block.writes[0]
    reads = tuple(
        tiled_operand(region, n, iterators)
        for n, region in enumerate(realize.block.reads)
        if region.buffer is not written.buffer
    )
    dims = _dims(index, block, reads, engine)
    return TilingTarget(block, engine, dims, reads, tiled_operand(written, 0, iterators))


def _dims(index: ProgramIndex, block: str, reads: Sequence[TiledOperand], engine: Engine) -> tuple[Dim, ...]:
    realize = index.realize(block)
    by_loop = {value: iv for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)}
    found: list[Dim] = []
    grained: set[tuple[bool, tuple[int, ...]]] = set()
    for loop in reversed(index.loops_of(block)):
        iterator = by_loop[loop.loop_var]
        summed = iterator.iter_type == "reduce"
        used = tuple(n for n, operand in enumerate(reads) if operand.uses(iterator.var))
        extent = build.int_value(loop.extent) or 1
        # If several loops form one side of the product, the innermost one fills the engine.
        grain = 1 if (summed, used) in grained else min(_grain(engine, used, summed=summed), extent)
        grained.add((summed, used))
        found.append(Dim(loop.loop_var.name, iterator.var, extent, summed, grain))
    return tuple(reversed(found))


def _grain(engine: Engine, used: tuple[int, ...], *, summed: bool) -> int:
    """The iterations that the engine processes at once, of a loop that the reads `used` depend on."""
    match engine:
        case MatrixEngine():
            if summed:
                return engine.tile_depth
            return engine.tile_rows if used == (0,) else engine.tile_columns if used == (1,) else 1
        case SystolicEngine():
            if summed:
                return engine.rows
            return engine.rows if used == (0,) else engine.columns if used == (1,) else 1
        case _:
            return 1


def _engine(machine: Machine, *, sums: bool) -> Engine:
    """The fastest engine for such a block: for reductions a matrix or systolic engine, else a vector engine, else the last engine of the
    machine."""
    kinds = (MatrixEngine, SystolicEngine) if sums else ()
    for kind in (kinds, VectorEngine):
        fit = [e for e in machine.engines if isinstance(e, kind)]
        if fit:
            return max(fit, key=_work_per_cycle)
    return machine.engines[-1]


def _work_per_cycle(engine: Engine) -> float:
    """Multiply-accumulates per cycle of a matrix engine, bytes per cycle of a vector engine."""
    match engine:
        case MatrixEngine():
            return engine.tile_rows * engine.tile_columns * engine.tile_depth / engine.cycles_per_tile
        case SystolicEngine():
            return engine.rows * engine.columns
        case VectorEngine():
            return engine.vector_bytes / engine.cycles_per_operation
        case _:
            return 0


# A program whose loops are bound to threads has a schedule, to which another one cannot be added.
def _require_no_threads(index: ProgramIndex) -> None:
    bound = next((f for name in index.block_names[1:] for f in index.loops_of(name) if f.thread_tag is not None), None)
    if bound is not None:
        message = f"loop {bound.loop_var.name!r} is bound to {bound.thread_tag}: the program has a schedule already"
        fix = ("for a TileLang kernel, tilewright explore FILE",)
        raise TilingTargetError(Refusal("has-threads", message, expected="a program without bound loops", fix=fix))


def _is_plain(index: ProgramIndex, name: str) -> bool:
    """Whether the block writes one buffer, and its iterators are its loops, each once and of known extent."""
    realize = index.realize(name)
    loops = index.loops_of(name)
    values = [v for v in realize.iter_values if isinstance(v, Var)]
    return (
        bool(loops)
        and len(realize.block.writes) == 1
        and {f.loop_var for f in loops} == set(values)
        and len(values) == len(loops) == len(realize.iter_values)
        and all(build.int_value(f.extent) is not None for f in loops)
    )


def _reduced(index: ProgramIndex, name: str) -> list[Var]:
    return [iv.var for iv in index.block(name).iter_vars if iv.iter_type == "reduce"]


def _extents(index: ProgramIndex, name: str) -> list[int]:
    return [build.int_value(f.extent) or 1 for f in index.loops_of(name)]


def tiled_operand(region: BufferRegion, position: int, iterators: Sequence[Var]) -> TiledOperand:
    """The operand of a block with these iterators."""
    axes = tuple((_steps(axis.min, iterators), build.int_value(axis.extent) or 1) for axis in region.region)
    return TiledOperand(region.buffer, position, axes)


def _steps(index: Expr, iterators: Sequence[Var]) -> dict[Var, int]:
    """The step of an index for each iterator; empty, as if it were constant, if the index is not linear."""
    form = linear(index)
    if form is None:
        return {}
    found: dict[Var, int] = {}
    for atom, factor in form.terms:
        for v in iterators:
            if atom is v:
                found[v] = found.get(v, 0) + factor
    return found


def _spread(sizes: Sequence[int], most: int, full: int) -> tuple[int, ...]:
    """At most `most` of the sizes: the first and the last, and between them those furthest apart as ratios; of those that are no multiples
    of `full` two, unless there is room."""
    kept = list(sizes)
    while len(kept) > most:
        inner = range(1, len(kept) - 1)
        partial = [n for n in inner if kept[n] % full]
        del kept[min(partial if len(partial) > 1 else inner, key=lambda n: kept[n + 1] / kept[n - 1])]
    return tuple(kept)


def loop_orders(names: Sequence[T]) -> list[list[T]]:
    """Loop orders to try: all permutations of up to three loops; else each loop outermost and innermost in turn."""
    if len(names) <= 3:
        return [list(order) for order in permutations(names)]
    first = [[n, *(m for m in names if m != n)] for n in names]
    last = [[*(m for m in names if m != n), n] for n in names]
    found: list[list[T]] = []
    for order in (list(names), *first, *last):
        if order not in found:
            found.append(order)
    return found[:MOST_ORDERS]
