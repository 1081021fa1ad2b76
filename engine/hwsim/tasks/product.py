"""Matrix products: a multiply-accumulate as a batch of them, derived from the loops that index each operand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from math import prod

import msgspec
import numpy as np

from ...ir import Var
from ...ir import dtype as dt
from ..access.ports import over
from ..machine.parts import MatrixEngine, SystolicEngine
from .geometry import TaskDomain, number_of
from .grid import used_vars
from .work import Access, Work


class Product(msgspec.Struct, frozen=True):
    """`batch` products of a rows x depth by a depth x columns matrix. `rows` and `depth` index the first factor of the program's
    multiplication, `depth` and `columns` the second."""

    rows: int
    columns: int
    depth: int
    batch: int = 1


def tiles_of(engine: MatrixEngine, product: Product) -> int:
    """Returns the number of tiles that cover the rows, columns and depth of each product; tiles at the edge count as whole ones."""
    tiles = over(product.rows, engine.tile_rows) * over(product.columns, engine.tile_columns)
    return product.batch * tiles * over(product.depth, engine.tile_depth)


def diagonal_tiles(engine: MatrixEngine, iterations: int) -> int:
    """Returns the number of tiles of a square, the sums of one operand times itself, or of a fill: as if every iteration were on the
    diagonal of tiles."""
    return over(iterations, engine.tile_rows * engine.tile_columns)


def passes_of(engine: SystolicEngine, types: Iterable[str]) -> int:
    """Returns the number of passes over a product with operands of these types."""
    table = dict(engine.passes_by_type)
    return max(table.get(dt.element(t), _passes(engine, t)) for t in types)


def tile_cycles(engine: MatrixEngine, types: Iterable[str]) -> int:
    """Returns the duration of a tile with operands of these types."""
    table = dict(engine.cycles_by_type)
    return max(table.get(dt.element(t), _passes(engine, t) * engine.cycles_per_tile) for t in types)


def _passes(engine: MatrixEngine | SystolicEngine, dtype: str) -> int:
    return over(dt.size_bytes(dtype), engine.element_bytes) ** 2


def product_of(work: Work, where: TaskDomain) -> Product:
    """Returns the product of a multiply-accumulate. Rows index the first operand and the result, columns the second and the result, depth
    both operands alone; any other loops repeat the product. A square reads its single operand twice.
    """
    first, second, result = (indexing(a, where) for a in (work.reads[0], work.reads[-1], work.writes[0]))
    return product_over(first, second, result, where.active, lambda loops: joint_values(loops, where))


def product_over(
    first: Set[Var], second: Set[Var], result: Set[Var], loops: Iterable[Var], count: Callable[[Set[Var]], int]
) -> Product:
    """Returns the product of operands and a result that depend on these of the `loops`; `count` returns the number of joint values of
    loops.
    """
    rows, columns, depth = first & result - second, second & result - first, (first & second) - result
    return Product(*map(count, (rows, columns, depth, {*loops} - rows - columns - depth)))


def indexing(access: Access, where: TaskDomain) -> set[Var]:
    """Returns the loops of the task that an access depends on."""
    return {v for i in access.indices for v in used_vars(i, where.extents)}


def joint_values(loops: Collection[Var], where: TaskDomain) -> int:
    """Returns the number of joint values of the loops: 100 if a condition cuts 13 x 8 to that, not 104."""
    if where.mask is None and where.chosen is not None:
        return len(np.unique(number_of(where.chosen, {v: where.extents[v] for v in where.extents if v in loops})))
    if where.mask is None:
        return prod(where.active[v] for v in loops)
    others = tuple(axis for axis, v in enumerate(where.extents) if v not in loops)
    return int(where.mask.any(axis=others).sum())
