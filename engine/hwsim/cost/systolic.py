"""Cycles of a systolic array for a matrix product, and the number of times that it reads each operand: fold by fold.

A product larger than the array is folded over it: two of its three extents are mapped to the array's rows and columns, the third passes in
time, one step per cycle. Operands enter skewed, so the last cell starts rows + columns - 2 cycles after the first; a stationary operand is
loaded before, one row per cycle. The next fold begins after the last one has left; a fold at the edge lasts as long as a whole one.

With two registers per cell (`weights = "double"`), the next fold's stationary operand is loaded while a fold streams, and folds follow each
other at once: a fold takes the cycles of its stream, or of the next load if that is longer. The skew at the end delays only the result,
and the first load of a task ends before the task starts (`preload_cycles`). Sources: Gemmini (Genc et al., DAC 2021), the TPU (Jouppi et
al., ISCA 2017), and ONNXim's `src/SystolicWS.cc`, which delays each preload to the previous start + max(stream, rows).

Source: SCALE-Sim v3.0.0, `scalesim/compute/systolic_compute_{os,ws,is}.py`, whose demand matrices have one row a cycle
(`create_*_demand_mat`; the model is that of Samajdar et al., arXiv 1811.02883). It reports the *number* of the last of these cycles,
counted from 0 (`memory/double_buffered_scratchpad_mem.py`, `service_memory_requests`): one less than the number of cycles.
"""

from __future__ import annotations

import msgspec

from ..access.ports import over
from ..machine.parts import Dataflow, SystolicEngine
from ..tasks.product import Product


class Folding(msgspec.Struct, frozen=True):
    """A product on an array: folds down (over the rows) and across (over the columns), and the cycles of each.

    `reads` is the number of times that each element of the first and of the second operand enters the array, `writes` the number of times
    that an element of the result leaves it: more than once if the depth is folded, because partial sums leave the array.
    """

    down: int
    across: int
    cycles: int
    reads: tuple[int, int]
    writes: int


def folding_of(engine: SystolicEngine, product: Product) -> Folding:
    """Returns the folding of a product on an engine."""
    folding = fold(engine.dataflow, engine.rows, engine.columns, product)
    if engine.weights == "single":
        return folding
    streamed = product.rows if engine.dataflow == "weight_stationary" else product.columns
    return msgspec.structs.replace(folding, cycles=max(streamed, engine.rows))


def drain_cycles(engine: SystolicEngine) -> int:
    """Cycles from the end of the last stream to the last result, if another fold may begin meanwhile."""
    return engine.rows + engine.columns - 2 if engine.weights == "double" else 0


def fold(dataflow: Dataflow, rows: int, columns: int, product: Product) -> Folding:
    """Returns the folding of a product on an array of `rows` x `columns` cells with one register each. The first operand is SCALE-Sim's
    ifmap, the second its filter.
    """
    fill = rows + columns - 2
    match dataflow:
        case "output_stationary":
            down, across = over(product.rows, rows), over(product.columns, columns)
            return Folding(down, across, product.depth + fill, (across, down), 1)
        case "weight_stationary":
            down, across = over(product.depth, rows), over(product.columns, columns)
            return Folding(down, across, rows + product.rows + fill, (across, 1), down)
        case "input_stationary":
            down, across = over(product.depth, rows), over(product.rows, columns)
            return Folding(down, across, rows + product.columns + fill, (1, across), down)


def array_cycles(engine: SystolicEngine, product: Product) -> int:
    """Cycles of all products of a batch in sequence, in one pass."""
    folding = folding_of(engine, product)
    return product.batch * folding.down * folding.across * folding.cycles
