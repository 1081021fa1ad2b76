"""Products on a matrix unit or a systolic array: tiles and folds, operand traffic, rows of tiles in banks."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.engine.hwsim import MatrixEngine, SystolicEngine
from tilewright.engine.ir import Var
from tilewright.engine.ir import dtype as dt

from .banks import Lost, is_interleaved, lost
from .contiguous import Operations, numbered, strides_of
from .elements import Operand, Part
from .work import Moved, Worked, by_buffer, elements_in_box, over


class Axes(NamedTuple):
    """The loops along each axis of a product."""

    rows: set[Var]
    columns: set[Var]
    depth: set[Var]


class Sizes(NamedTuple):
    rows: int
    columns: int
    depth: int
    batch: int


class Times(NamedTuple):
    """How often each element of the operands enters, and each sum is read and written."""

    first: int
    second: int
    sums: int


def multiplied(engine: MatrixEngine | SystolicEngine, part: Part) -> Worked:
    if part.kind != "mac":
        return _filled(engine, part)
    a, b, c = (set(o.loops) for o in (part.reads[0], part.reads[-1], part.writes[0]))
    axes = Axes(a & c - b, b & c - a, (a & b) - c)
    batch = set(part.points.loops) - axes.rows - axes.columns - axes.depth
    sizes = Sizes(*(part.points.values_of(loops) for loops in (*axes, batch)))
    types = [o.placement.buffer.dtype for o in part.reads]
    if isinstance(engine, MatrixEngine):
        tiles = over(sizes.rows, engine.tile_rows) * over(sizes.columns, engine.tile_columns)
        tiles = sizes.batch * tiles * over(sizes.depth, engine.tile_depth)
        if len(part.reads) == 1:
            # A square: all of it is on the diagonal of tiles.
            tiles = over(part.points.count, engine.tile_rows * engine.tile_columns)
        cycles = tiles * _tile_cycles(engine, types)
        times = Times(
            over(sizes.columns, engine.register_columns * engine.tile_columns),
            over(sizes.rows, engine.register_rows * engine.tile_rows),
            over(sizes.depth, engine.tile_depth) if engine.accumulate_in == "memory" else 1,
        )
    else:
        folds, each, times = _folded(engine, sizes)
        passes = dict(engine.passes_by_type)
        cycles = sizes.batch * folds * each * max(passes.get(dt.element(t), _passes(engine, t)) for t in types)
    first, second, sums = (
        sizes.batch * elements * n
        for elements, n in zip(
            (sizes.rows * sizes.depth, sizes.depth * sizes.columns, sizes.rows * sizes.columns), times, strict=True
        )
    )
    entering = [(part.reads[0], False, first), (part.reads[-1], False, second)]
    operands = [*entering, (part.writes[0], True, sums), (part.writes[0], False, sums)]
    moved = [Moved(o.placement, written, n * o.size, [o]) for o, written, n in operands]
    return Worked(cycles, moved, moved, _row_conflicts(engine, part, axes, operands))


def _tile_cycles(engine: MatrixEngine, types: list[str]) -> int:
    table = dict(engine.cycles_by_type)
    return max(table.get(dt.element(t), _passes(engine, t) * engine.cycles_per_tile) for t in types)


def _passes(engine: MatrixEngine | SystolicEngine, dtype: str) -> int:
    return over(dt.size_bytes(dtype), engine.element_bytes) ** 2


def _folded(engine: SystolicEngine, sizes: Sizes) -> tuple[int, int, Times]:
    """The table of folds in docs/oracles.md; with two registers per cell a fold needs its stream, or the loading of the next if longer."""
    rows, columns, fill = engine.rows, engine.columns, engine.rows + engine.columns - 2
    match engine.dataflow:
        case "output_stationary":
            down, across = over(sizes.rows, rows), over(sizes.columns, columns)
            each, stream, times = sizes.depth + fill, sizes.columns, Times(across, down, 1)
        case "weight_stationary":
            down, across = over(sizes.depth, rows), over(sizes.columns, columns)
            each, stream, times = rows + sizes.rows + fill, sizes.rows, Times(across, 1, down)
        case "input_stationary":
            down, across = over(sizes.depth, rows), over(sizes.rows, columns)
            each, stream, times = rows + sizes.columns + fill, sizes.columns, Times(1, across, down)
    return down * across, max(stream, rows) if engine.weights == "double" else each, times


def _filled(engine: MatrixEngine | SystolicEngine, part: Part) -> Worked:
    """A fill leaves the unit like results: as tiles of one step in depth, or a row of the array per cycle."""
    moved = [
        Moved(placement, written, elements_in_box(part, operands) * operands[0].size, operands)
        for placement, written, operands in by_buffer(part)
    ]
    if isinstance(engine, SystolicEngine):
        return Worked(over(part.points.count, engine.columns), moved, moved)
    tiles = over(part.points.count, engine.tile_rows * engine.tile_columns)
    return Worked(tiles * _tile_cycles(engine, [part.writes[0].placement.buffer.dtype]), moved, moved)


def _row_conflicts(
    engine: MatrixEngine | SystolicEngine, part: Part, axes: Axes, operands: list[tuple[Operand, bool, int]]
) -> list[Lost]:
    if engine.operand_rows != "banked" or len(part.reads) == 1:
        return []
    if isinstance(engine, MatrixEngine):
        along = [(axes.depth, engine.tile_depth), *[(axes.columns, engine.tile_columns)] * 3]
    elif engine.dataflow == "input_stationary":
        along = [(axes.rows, engine.columns), (axes.depth, engine.rows), *[(axes.rows, engine.columns)] * 2]
    else:
        first = (axes.depth if engine.dataflow == "weight_stationary" else axes.rows), engine.rows
        along = [first, *[(axes.columns, engine.columns)] * 3]
    strides = strides_of(part)
    numbers = (0, 1, 2, 2)
    found: list[Lost] = []
    for number, (operand, written, elements), (axis, width) in zip(numbers, operands, along, strict=True):
        memory = operand.placement.memory
        if not is_interleaved(memory):
            continue
        once = part.over(part.points.once(operand.loops))
        own = strides[number] or {}
        several = {v for v, column in once.points.loops.items() if column.max() > 0}
        loops = sorted(
            (v for v in reversed(list(part.extents)) if v in axis & several), key=lambda v: abs(own.get(v, 0))
        )
        rows: Operations = numbered(loops, width, once.points, once.points.box or part.extents)
        here = lost(memory, [once.operands[number]._replace(written=written)], rows)
        times = elements // once.points.count
        found.append(Lost(here.accesses * times, here.cycles * times))
    return found
