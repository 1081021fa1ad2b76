"""One search space for all layers that are products, for machines with a matrix unit between operand memory and accumulator.

Tiles of rows, columns and depth; the order of the loops over tiles, and over several products; each operand copied tile by tile, or as a
panel that stays while the other one is streamed, or once; one slot or two; sums in one set or two, so that a tile is written back during
the next one; operands split along the depth over the physical blocks of their memory.
"""

from __future__ import annotations

from math import prod

import msgspec
from support.programs.layers import Layer

from tilewright.engine.explore import Space, space_of
from tilewright.engine.export import quoted
from tilewright.engine.hwsim import Machine, load_machine
from tilewright.engine.ir.dtype import size_bytes
from tilewright.engine.script import read_calls


class Target(msgspec.Struct, frozen=True):
    """The machine parameters of the space: types, memories, the tile of the engine, the numbers of blocks for operands and sums, and their
    capacities."""

    machine: str
    dtype: str
    sums: str
    operands: str
    results: str
    grain: int
    blocks: int
    result_blocks: int
    result_bytes: int
    products_per_cycle: int
    far_bytes_per_cycle: int

    def bound(self, layer: Layer) -> int:
        """A lower bound in cycles of all schedules of the layer on the machine: every product at the engine's best rate, and each operand
        and the result once over the far memory's port."""
        first, second, result = layer.elements
        moved = (first + second) * size_bytes(self.dtype) + result * 4
        return max(-(-layer.products // self.products_per_cycle), -(-moved // self.far_bytes_per_cycle))

    def reachable(self, layer: Layer) -> int:
        """The bound with the engine's overheads: an array fills for each fold, with as many rows as the memory of the sums allows,
        and tiles at an edge cost as much as whole ones."""
        depth, g = prod(layer.window) * layer.depth, self.grain
        columns, deep = -(-layer.columns // g), -(-depth // g)
        if self.machine == "gemmini":
            folds = -(-layer.rows * g * 4 // self.result_bytes)
            busy = columns * deep * (layer.rows + folds * (3 * g - 2))
        else:
            busy = columns * deep * -(-layer.rows // g) * g**3 // self.products_per_cycle
        return max(self.bound(layer), layer.batch * busy)


GEMMINI = Target("gemmini", "int8", "int32", "local.scratchpad", "local.accumulator", 16, 4, 2, 65_536, 256, 16)
DUAL = Target("dual-bank-npu", "float16", "float32", "local.vtcm", "local.acc", 32, 2, 1, 65_536, 1024, 26)
TARGETS = {target.machine: target for target in (GEMMINI, DUAL)}


def study_machine(name: str) -> Machine:
    """The machine of the recorded study: gemmini with one register per cell, so that each fold fills the array, as LOMA's model has it."""
    machine = load_machine(name)
    if name != GEMMINI.machine:
        return machine
    for memory in ("scratchpad", "accumulator"):
        machine = machine.replace(f"memories.{memory}.block_ports", "common")
    return machine.replace("engines.array.weights", "single")


MOST = 6


def layer_space(layer: Layer, target: Target) -> Space:
    """The space of a layer on a machine."""
    return space_of(layer.program(target.dtype, target.sums), read_calls(space_text(layer, target)))


def space_text(layer: Layer, target: Target) -> str:
    """The schedule lines of a notebook, below `sch = tilewright.Schedule(…)`."""
    rows, columns, depth, loops = _loops(layer)
    pairs, depths = _tiles(layer, target)
    turns = _turns(layer, *pairs[0], depths[0])
    outer, names, orders = _orders(layer.batch > 1)
    inner = [f"{n}i" if n in (rows, columns, depth) else n for n in loops if n != "b"]
    places = [f"{depth}o", *outer[-2::-1], "root"]
    lines = [
        'C = sch.get_block("C")',
        copied_in(layer, target),
        f'B_in = sch.cache_read(C, 1, "{target.operands}")',
        f'C_out = sch.cache_write(C, 0, "{target.results}")',
        f"{', '.join(loops)} = sch.get_loops(C)",
        f'order = choose("order", {orders})',
        f'root, {loops[0]} = sch.split({loops[0]}, [1, None], names=["root", {names.get("b", quoted(f"{loops[0]}_all"))}])',
        f'tile = choose("tile", {pairs})',
        f'{rows}o, {rows}i = sch.split({rows}, [None, tile[0]], names=[{names["rows"]}, "{rows}i"])',
        f'{columns}o, {columns}i = sch.split({columns}, [None, tile[1]], names=[{names["columns"]}, "{columns}i"])',
        f'tile_{depth} = choose("depth", {depths})',
        f'{depth}o, {depth}i = sch.split({depth}, [None, tile_{depth}], names=["{depth}o", "{depth}i"])',
        f"sch.reorder({', '.join(map(quoted, ('root', *outer)))}, {depth}o, {', '.join(inner)})",
        f"sch.reverse_compute_at(C_out, {quoted(outer[-1])})",
        f'A_at = choose("A at", {places})',
        "sch.compute_at(A_in, A_at)",
        f'B_at = choose("B at", {places})',
        "sch.compute_at(B_in, B_at)",
        f'A_slots = choose("A slots", {[2, 1] if turns[0] else [1, 2]})',
        "sch.double_buffer(A_in, slots=A_slots)",
        f'B_slots = choose("B slots", {[2, 1] if turns[1] else [1, 2]})',
        "sch.double_buffer(B_in, slots=B_slots)",
        *banking(layer, target),
        'sums = choose("sums", [[0, 1], [0, 0]])',
        f"sch.pipeline({quoted(outer[-1])}, stages=sums)",
    ]
    return "\n".join([*lines, ""])


def _orders(has_batch: bool) -> tuple[list[str], dict[str, str], list[list[str]]]:
    """The names of the loops over tiles from the outermost on, which of them are the rows', the columns' and the products', and the orders
    there are. Products are around the tiles of each, or innermost, so that the operands of one are copied while the one before is worked
    on."""
    if not has_batch:
        names = {"rows": "order[0]", "columns": "order[1]"}
        return ["outer", "inner"], names, [["outer", "inner"], ["inner", "outer"]]
    names = {"b": "order[0]", "rows": "order[1]", "columns": "order[2]"}
    orders = [["outer", "middle", "inner"], ["outer", "inner", "middle"], ["inner", "outer", "middle"]]
    return ["outer", "middle", "inner"], names, orders


def _tiles(layer: Layer, target: Target) -> tuple[list[list[int]], list[int]]:
    """Tiles of rows and columns whose sums fit into their memory and fill a quarter of it or more, where the layer has as many; and of
    depth. In front those to begin with: two sets of sums that fill their memory."""
    height, width = layer.out or (layer.rows, 1)
    room = target.result_bytes // 4
    columns = tiles_of(layer.columns, target.grain)
    sizes = set(tiles_of(height, 1))
    if not layer.out:
        sizes |= {n for n in range(target.grain, height, target.grain) if height % n == 0}
    rows = [n for n in sorted(sizes, reverse=True) if n * width >= 2 * target.grain] or [height]
    pairs = [[r, c] for r in rows for c in columns if r * width * c <= room]
    most = max(r * width * c for r, c in pairs)
    pairs = [[r, c] for r, c in pairs if r * width * c * 4 >= most]
    twice = [pair for pair in pairs if pair[0] * width * pair[1] <= room // 2] or pairs
    large = [pair for pair in twice if pair[0] * width * pair[1] >= room // 4] or [max(twice, key=prod)]
    begin = min(large, key=lambda p: abs(p[0] * width - 2 * p[1]))
    depths = [n for n in tiles_of(layer.depth, min(32, layer.depth)) if n <= 1024]
    depth = next((n for n in depths if n <= 128), depths[-1])
    return [begin, *(p for p in pairs if p != begin)], [depth, *(d for d in depths if d != depth)]


def _turns(layer: Layer, row: int, column: int, depth: int) -> tuple[bool, bool]:
    """Whether with these tiles there is more than one of each operand."""
    height = layer.out[0] if layer.out else layer.rows
    more = layer.batch > 1 or layer.depth != depth
    return more or height != row, more or layer.columns != column


def _loops(layer: Layer) -> tuple[str, str, str, list[str]]:
    """The loops that are tiled for rows, columns and depth, and all of them in order."""
    if layer.out is not None:
        return "y", "f", "c", ["y", "x", "f", "dy", "dx", "c"]
    return "i", "j", "k", ["i", "j", "k"] if layer.batch == 1 else ["b", "i", "j", "k"]


def copied_in(layer: Layer, target: Target) -> str:
    """The copy of the first operand. If single pixels are read with a stride, those between them are not copied; `dy` and `dx` are
    zero there, but they index the element, so that the axes must exist."""
    if layer.window == (1, 1) and layer.step > 1:
        place = "lambda y, x, f, dy, dx, c: [y + dy, x + dx, c]"
        return f'A_in = sch.reindex_cache_read(C, 0, "{target.operands}", {place})'
    return f'A_in = sch.cache_read(C, 0, "{target.operands}")'


def banking(layer: Layer, target: Target) -> list[str]:
    """Operands in groups of depth, sums in groups of columns, alternating over the blocks of their memories."""
    axes = (
        ("y, x", "dy, dx, ", "y, x") if layer.out else ("i", "", "i") if layer.batch == 1 else ("b, i", "b, ", "b, i")
    )
    depth, column = ("c", "f") if layer.out else ("k", "j")
    first, second, result = axes

    def spread(before: str, after: str, axis: str, group: int, blocks: int) -> str:
        names = ", ".join(n for n in (before.rstrip(", "), axis, after) if n)
        head = f"{before}, " if before and not before.endswith(", ") else before
        tail = f", {after}" if after else ""
        return (
            f"lambda {names}: [{axis} // {group} % {blocks}, tilewright.AXIS_SEPARATOR, {head}{axis} // {group * blocks}, "
            f"{axis} % {group}{tail}]"
        )

    plain = [f"lambda {first}, {depth}: [{first}, {depth}]",
             f"lambda {second}{depth}, {column}: [{second}{depth}, {column}]"]  # fmt: skip
    values = []
    for group in (64, 128, 256, 32, 16):
        if group >= target.grain and layer.depth % (group * target.blocks) == 0:
            pair = spread(first, "", depth, group, target.blocks), spread(second, column, depth, group, target.blocks)
            values.append(f"[{pair[0]}, {pair[1]}]")
    values.append(f"[{plain[0]}, {plain[1]}]")
    lines = [
        f'banks = choose("banks", [{", ".join(values)}])',
        'sch.transform_layout(A_in, ("write", 0), banks[0])',
        'sch.transform_layout(B_in, ("write", 0), banks[1])',
    ]
    if target.result_blocks > 1 and layer.columns % (target.grain * target.result_blocks) == 0:
        layout = spread(result, "", column, target.grain, target.result_blocks)
        lines.append(f'sch.transform_layout(C, ("write", 0), {layout})')
    return lines


def tiles_of(extent: int, grain: int) -> list[int]:
    """Some sizes from the grain to the whole, descending: divisors in whole grains, and if these are few, grains that leave a rest."""
    sizes = [n for n in range(1, extent + 1) if extent % n == 0 and (n % grain == 0 or n == extent)]
    if len(sizes) < 3 and extent > 2 * grain:
        sizes = sorted({*sizes, *(grain << n for n in range(8) if grain << n < extent)})
    while len(sizes) > MOST + 2:
        ratios = [sizes[n + 1] / sizes[n - 1] for n in range(1, len(sizes) - 1)]
        del sizes[1 + ratios.index(min(ratios))]
    return sizes[::-1]
