"""Rule: the engine of each block."""

from __future__ import annotations

from math import gcd, prod

from ...hwsim import DmaEngine, Machine, MatrixEngine, SystolicEngine, VectorEngine, diagonal_tiles, tile_cycles
from ...ir import Block, BufferLoad, BufferStore
from ...ir import dtype as dt
from ..bounds.product import ProductIterators, product_of, uncast
from .draft import ScheduleDraft, executes_threads
from .gpu.warps import SIDE, fits_fragments

FRAGMENTS = "no product of float16 fragments of 16 x 16 x 16 with float32 sums, which tensor cores need"


def choose_engines(draft: ScheduleDraft) -> None:
    """Chooses the engine of each block of the group. A multiply-accumulate uses the matrix unit if its tiles there take fewer cycles than
    its vectors, as a product of two matrices does and a depthwise convolution does not; other work uses the vector unit, and on a machine
    of threads so do products that are not in fragments. Lines:
    `annotate(block, "engine", …)` where the machine would choose another engine by itself."""
    vector, matrix = _vector_unit(draft.machine), _matrix_unit(draft.machine)
    for name in draft.group.every:
        if name == draft.part:
            continue
        block, product = draft.block(name), product_of(draft.index, name)
        if product is not None and matrix is not None:
            on_matrix = _matrix_cycles(matrix, product)
            on_vector = _vector_cycles(vector, block, product) if _is_fed(draft, vector) else None
            lacks_fragments = executes_threads(draft.machine) and not fits_fragments(product, draft.index.realize(name))
            if vector is None or on_vector is None or (on_matrix <= on_vector and not lacks_fragments):
                draft.engines[name] = matrix
                draft.decide(f"{name} on {matrix.name}: a product")
                if executes_threads(draft.machine) and not lacks_fragments:
                    draft.in_fragments.add(name)
                _record_grains(draft, name, product, grains_of(draft, matrix))
                continue
            why = FRAGMENTS if lacks_fragments else f"{on_vector:,} cycles in vectors, {on_matrix:,} on {matrix.name}"
            draft.decide(f"{name} on {vector.name}: {why}")
        chosen = vector or draft.machine.engines[-1]
        draft.engines[name] = chosen
        if (product is not None and matrix is not None) or _is_copy(block):
            draft.builder.accepts("annotate", name, "engine", chosen.name)


def _is_copy(block: Block) -> bool:
    return isinstance(block.body, BufferStore) and isinstance(uncast(block.body.value), BufferLoad)


def _vector_unit(machine: Machine) -> VectorEngine | None:
    fit = [e for e in machine.engines if isinstance(e, VectorEngine)]
    return max(fit, key=lambda e: e.vector_bytes / e.cycles_per_operation, default=None)


def _matrix_unit(machine: Machine) -> MatrixEngine | SystolicEngine | None:
    fit = [e for e in machine.engines if isinstance(e, MatrixEngine | SystolicEngine)]
    return max(fit, key=_rate, default=None)


def _rate(engine: MatrixEngine | SystolicEngine) -> float:
    if isinstance(engine, SystolicEngine):
        return engine.rows * engine.columns
    return engine.tile_rows * engine.tile_columns * engine.tile_depth / engine.cycles_per_tile


def grains_of(draft: ScheduleDraft, engine: MatrixEngine | SystolicEngine) -> tuple[int, int, int]:
    """Rows, columns and depth that tiles have at least: those of a tile of the engine, for threads those of fragments of four warps."""
    return (2 * SIDE, 2 * SIDE, SIDE) if draft.binds_threads else _tile(engine)


def _tile(engine: MatrixEngine | SystolicEngine) -> tuple[int, int, int]:
    """Rows, columns and depth of a tile of the engine."""
    if isinstance(engine, SystolicEngine):
        return engine.rows, engine.columns, engine.rows
    return engine.tile_rows, engine.tile_columns, engine.tile_depth


def _matrix_cycles(engine: MatrixEngine | SystolicEngine, product: ProductIterators) -> int:
    """Cycles of the whole block on a matrix unit; edge tiles count as whole ones."""
    if isinstance(engine, MatrixEngine) and product.is_square:
        return diagonal_tiles(engine, product.count) * tile_cycles(engine, [f.buffer.dtype for f in product.factors])
    tiles = prod(
        -(-prod(part.values()) // grain)
        for part, grain in zip((product.rows, product.columns, product.depth), _tile(engine), strict=True)
    )
    each = engine.cycles_per_tile if isinstance(engine, MatrixEngine) else engine.rows
    passes = max(1, product.bytes // engine.element_bytes) ** 2
    return prod(product.batch.values()) * tiles * each * passes


def _vector_cycles(engine: VectorEngine | None, block: Block, product: ProductIterators) -> int:
    """Cycles of the whole block in vectors: a multiplication and an addition for each."""
    assert engine is not None
    lanes = max(1, engine.vector_bytes // dt.size_bytes(block.writes[0].buffer.dtype))
    return 2 * -(-product.count // lanes) * engine.cycles_per_operation


def _is_fed(draft: ScheduleDraft, engine: VectorEngine | None) -> bool:
    """Whether a DMA fills a memory near the engine."""
    near = {n for n in engine.reads if not draft.is_far(draft.machine.memory(n))} if engine is not None else set[str]()
    return any(isinstance(e, DmaEngine) and near & {*e.writes} for e in draft.machine.engines)


def _record_grains(draft: ScheduleDraft, name: str, product: ProductIterators, grains: tuple[int, int, int]) -> None:
    """Records the grain of the loops that drive the innermost row, column and depth of a product, the iterations of each loop that fill
    whole tiles together with the loops beside it, and the periods of loops."""
    for iterator, period in product.periods.items():
        draft.periods |= dict.fromkeys(draft.flow.of_iterator(name, iterator), period)
    for part, grain in zip((product.rows, product.columns, product.depth), grains, strict=True):
        for iterator, extent in part.items():
            beside = prod(part.values()) // extent
            for loop in draft.flow.of_iterator(name, iterator):
                draft.fills[loop] = max(draft.fills.get(loop, 1), grain // gcd(grain, beside))
        if part:
            innermost = list(part)[-1]
            for loop in draft.flow.of_iterator(name, innermost):
                draft.grains[loop] = max(draft.grains.get(loop, 1), min(grain, part[innermost]))


__all__ = ["choose_engines", "grains_of"]
