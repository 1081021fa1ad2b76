"""Bank conflicts of matrix engines: each row of a tile of an operand or of the sums is one access to the banks.

A row is what enters or leaves the unit in one cycle. It conflicts like an access of a vector engine with the elements of the row as lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from ...ir import Buffer, Var
from ..access.bank_conflicts import AccessedElements, BankConflicts, Banking, banking, listed_conflicts
from ..access.byte_addresses import byte_addresses
from ..access.lanes import LaneAccess, Lanes, PieceIterations
from ..access.placement import Places, constant_shape, strides_of
from ..access.vectors import BankConflict, conflict_of
from ..machine.parts import MatrixEngine, SystolicEngine
from ..tasks.geometry import Layout, TaskDomain, listed, without_loops
from ..tasks.grid import UnknownValueError
from ..tasks.product import indexing, product_of
from ..tasks.work import Work, element_bytes
from .operand_traffic import operand_traffic

LOAD_ROWS, LOAD_BYTES = 8, 16
"""A piece of a matrix that ldmatrix loads at once."""
Axis = str
"""An axis of a product: "rows", "columns" or "depth"."""


class _Row(msgspec.Struct, frozen=True):
    """The axis along which a row of a tile lies, and its elements."""

    axis: Axis
    elements: int


def row_conflicts(
    engine: MatrixEngine | SystolicEngine, work: Work, layouts: Sequence[Layout], where: TaskDomain, places: Places
) -> tuple[BankConflict, ...]:
    """Returns the conflicts of a product's rows in memories with interleaved banks, as often as the unit reads and writes them."""
    if work.kind != "mac" or len(work.reads) != 2:
        return ()
    traffic = operand_traffic(engine, product_of(work, where))
    accesses = ((work.reads[0], False, traffic.first), (work.reads[1], False, traffic.second),
                (work.writes[0], True, traffic.sums), (work.writes[0], False, traffic.sums))  # fmt: skip
    axes, rows = _axes(work, where), _rows_of(engine)
    found: list[BankConflict] = []
    for (access, written, elements), layout, row in zip(
        accesses, (*layouts, layouts[-1]), (*rows, rows[-1]), strict=True
    ):
        memory = places.by_buffer[access.buffer].memory
        rule, moving = banking(memory), layout.loops(where.extents)
        if rule is None:
            continue
        once = without_loops(where, [v for v in where.extents if v not in moving])
        side = LaneAccess(access, layout, written)
        if engine.operand_rows == "loads_8x16":
            conflicts = _load_conflicts(rule, side, once, places)
            if conflicts is not None:
                found.append(conflict_of([side], memory, conflicts, times=elements // max(once.iterations, 1)))
            continue
        strides = layout.strides or {}
        inner_first = [v for v in reversed(once.active) if v in axes[row.axis] and once.active[v] > 1]
        along = sorted(inner_first, key=lambda v: abs(strides.get(v, 0)))
        conflicts = PieceIterations(work, [layout], once, places).in_lanes(
            rule, [side], Lanes(tuple(along), row.elements), layout
        )
        if conflicts is not None:
            found.append(conflict_of([side], memory, conflicts, times=elements // max(once.iterations, 1)))
    return tuple(found)


def _load_conflicts(rule: Banking, side: LaneAccess, where: TaskDomain, places: Places) -> BankConflicts | None:
    """Returns the conflicts of loading each element once, in pieces of LOAD_ROWS rows of LOAD_BYTES; None if its places depend on data."""
    placement, size = places.by_buffer[side.access.buffer], element_bytes(side.access)
    try:
        (places_of,) = listed([side.layout], where)
    except UnknownValueError:
        return None
    columns, width = _row_elements(placement.buffer), max(1, LOAD_BYTES // size)
    row, column = np.divmod(places_of, columns)
    row = row - row.min(initial=0)
    access = row // LOAD_ROWS * -(-columns // width) + column // width
    lane = row % LOAD_ROWS * width + column % width
    order = np.lexsort((lane, access))
    addresses = byte_addresses(placement, places_of, where.outer)
    elements = AccessedElements(access[order], addresses[order], size, side.written)
    return listed_conflicts(rule, [elements], lane[order])


def _row_elements(buffer: Buffer) -> int:
    """Returns the elements from a row of a matrix to the next."""
    strides = strides_of(buffer)
    return max(strides[-2] if len(strides) > 1 else 0, constant_shape(buffer)[-1])


def _axes(work: Work, where: TaskDomain) -> Mapping[Axis, set[Var]]:
    first, second, result = (indexing(a, where) for a in (*work.reads, work.writes[0]))
    return {
        "rows": first & result - second,
        "columns": second & result - first,
        "depth": (first & second) - result,
    }


def _rows_of(engine: MatrixEngine | SystolicEngine) -> tuple[_Row, _Row, _Row]:
    """Returns the rows of the first operand, of the second and of the sums."""
    if isinstance(engine, MatrixEngine):
        columns = _Row("columns", engine.tile_columns)
        return _Row("depth", engine.tile_depth), columns, columns
    columns = _Row("columns", engine.columns)
    match engine.dataflow:
        case "weight_stationary":
            return _Row("depth", engine.rows), columns, columns
        case "output_stationary":
            return _Row("rows", engine.rows), columns, columns
        case "input_stationary":
            across = _Row("rows", engine.columns)
            return across, _Row("depth", engine.rows), across
