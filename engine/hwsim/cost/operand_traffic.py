"""Operand traffic of matrix engines: the elements that a task reads and writes, repeats included.

A systolic array reads an operand once for each fold along the other one. A tiled matrix engine holds a block of sums in registers,
`register_rows` x `register_columns` tiles, and reads one tile of each operand at a time: each element of the first operand once for each
block along the columns, each of the second once for each block along the rows. This is the outer-product blocking of Goto and van de Geijn
("Anatomy of high-performance matrix multiplication", TOMS 2008). The traffic of a product depends on the engine's registers, not on the
number of tasks, as long as tasks consist of whole blocks. Sums are read and written once per task, or with each tile of the depth if they
accumulate in memory.
"""

from __future__ import annotations

import msgspec

from ..access.ports import over
from ..machine.parts import MatrixEngine, SystolicEngine
from ..tasks.product import Product
from .systolic import folding_of


class OperandTraffic(msgspec.Struct, frozen=True):
    """Elements of the `first` and of the `second` operand that enter the engine, and `sums` that are read and written."""

    first: int
    second: int
    sums: int


def operand_traffic(engine: MatrixEngine | SystolicEngine, product: Product) -> OperandTraffic:
    """Returns the operand traffic of a product, all of its batch included."""
    if isinstance(engine, SystolicEngine):
        folding = folding_of(engine, product)
        (first, second), sums = folding.reads, folding.writes
    else:
        first = over(product.columns, engine.register_columns * engine.tile_columns)
        second = over(product.rows, engine.register_rows * engine.tile_rows)
        sums = over(product.depth, engine.tile_depth) if engine.accumulate_in == "memory" else 1
    return OperandTraffic(
        product.batch * product.rows * product.depth * first,
        product.batch * product.depth * product.columns * second,
        product.batch * product.rows * product.columns * sums,
    )
