"""Rules for the main block alone: tile sizes from memory capacities, copies at legal loops, one slot or two.

The result is a schedule with holes as a person would write it, to read, edit and search:

    tile_i = tilewright.choose("tile i", [64, 16, 32, 128])
    i_o, i_i = sch.split(i, factors=[None, tile_i], names=["i_o", "i_i"])
    order = tilewright.choose("order", [["i_o", "j_o", "k_o"], ["j_o", "i_o", "k_o"]])
    sch.reorder(*order, i_i, j_i, k_i)
    A_in = sch.cache_read(C, 0, "local.vtcm")
    A_at = tilewright.choose("A at", ["k_o", "j_o", "i_o"])
    sch.compute_at(A_in, A_at)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...adopt import call_of
from ...hwsim import Engine, MachineError, Memory, copy_path, simulate
from ...ir import Parameter, ParameterItem, Var, build
from ...lower import with_sizes
from ..space.layout_choices import column_layouts, layout_maps
from ..space.neighbours import followers_of, pads_in_flight, vector_engine
from ..space.tiling_target import Dim, TiledOperand, find_tiling_target, loop_orders
from .draft import Group, ScheduleDraft
from .main_tiles import MainTiles
from .stage import copy_calls, first_made, neighbours_first

Place = Var | Parameter
"""A loop, or a choice among loops."""


def main_group(draft: ScheduleDraft) -> Group:
    """The group of the main block. Raises TilingTargetError "no-main-block"."""
    return Group((find_tiling_target(draft.index, draft.machine).block,), ())


def tile_main(draft: ScheduleDraft) -> None:
    """Requires a block with plain loops. Lines: a `split` of each loop, its size a hole whose tiles fit in the memories, and a `reorder`,
    the order of the loops over tiles a hole; around them a loop of one iteration if an operand fits whole."""
    main = draft.main = MainTiles(draft.index, draft.machine)
    builder, dims = draft.builder, main.target.dims
    builder.call("get_block", main.block, into=[main.block])
    inner = list(builder.name_loops(main.block, anew=True))
    names = [draft.name(loop) for loop in inner]
    if any(map(main.fits_whole, main.target.reads)):
        rooted = builder.attempt(lambda: builder.split(inner[0], (1, None), ["root", f"{names[0]}_all"]))
        if rooted is not None:
            main.root, inner[0] = rooted
    main.first = main.first_tiles()
    outer: dict[Dim, Var] = {}
    for n, (dim, name) in enumerate(zip(dims, names, strict=True)):
        sizes = [size for size in dim.tiles if main.may_fit(dim, size)] or [dim.tiles[0]]
        if sizes != [dim.extent]:
            at = sizes.index(main.first[dim.iterator]) if main.first[dim.iterator] in sizes else 0
            size = builder.choice(f"tile_{name}", f"tile {dim.name}", sizes, at)
            outer[dim], inner[n] = builder.split(inner[n], (None, size), [f"{name}_o", f"{name}_i"])
    main.dims = {loop: dim for dim, loop in outer.items()}
    _order(draft, outer, inner)
    if outer:
        draft.decide(f"tiles of {main.block}: loops {', '.join(dim.name for dim in outer)}")


def _order(draft: ScheduleDraft, outer: Mapping[Dim, Var], inner: Sequence[Var]) -> None:
    main, builder = draft.main, draft.builder
    spatial = [o for d, o in outer.items() if not d.is_reduction]
    summed = [o for d, o in outer.items() if d.is_reduction]
    orders = [(*some, *summed) for some in loop_orders(spatial)]
    if not spatial and not summed:
        return
    main.outer = orders[0][::-1]
    if len(orders) > 1:
        order = builder.choice("order", "order", [tuple(v.name for v in order) for order in orders])
        builder.accepts("reorder", ParameterItem(order), *inner)
        main.at = ParameterItem(order, len(spatial) - 1) if spatial else None
    else:
        builder.accepts("reorder", *orders[0], *inner)
        main.at = spatial[-1] if spatial else None


def keep_sums(draft: ScheduleDraft) -> None:
    """Requires an engine that writes to memory on chip. Lines: `set_scope` if the blocks that follow read the sums there; else
    `cache_write` along the shortest path of copies, `reverse_compute_at` the tile, and groups of columns over the blocks of the memory."""
    main, builder, block = draft.main, draft.builder, draft.main.block
    memory, followers = main.memory_of_result(), followers_of(main.index, block)
    if memory is None or (followers and builder.accepts("set_scope", block, 0, memory.scope)):
        main.followers = followers
        _divide_columns(draft, memory)
        return
    home = draft.machine.find_memory(main.index.block(block).writes[0].buffer.scope)
    if home is None or home.name in main.target.engine.writes:
        return
    _leave(draft, block, memory, home)
    _divide_columns(draft, memory)
    draft.decide(f"the sums stay in {memory.scope} until a tile is done")


def _leave(draft: ScheduleDraft, block: str, memory: Memory, home: Memory) -> None:
    """Copies the result of a block from one memory to another, tile by tile."""
    for stage in reversed(copy_path(draft.machine, (memory.name,), (home.name,))[:-1]):
        made = first_made(draft.builder, [call_of("cache_write", (block, 0, stage))], f"{block}_out")
        if made is not None:
            _move(draft, "reverse_compute_at", made[1], draft.main.at)


def _divide_columns(draft: ScheduleDraft, memory: Memory | None) -> None:
    """Distributes groups of columns of the result over the blocks of its memory, so that a tile may occupy several."""
    target, block = draft.main.target, draft.main.block
    shape = [build.int_value(n) or 0 for n in target.result.buffer.shape]
    columns = target.spatial[-1].grain if target.spatial else 1
    if memory is None or memory.blocks < 2 or not shape or shape[-1] % (columns * memory.blocks) or columns < 2:
        return
    layouts = column_layouts(len(shape), columns, memory.blocks)
    layout = draft.builder.choice("layout", f"{block} layout", layouts)
    draft.builder.accepts("transform_layout", block, ("write", 0), layout)


def bring_operands(draft: ScheduleDraft) -> None:
    """Requires an operand that the engine does not read in the far memory. Lines: `cache_read` along the shortest path of copies and
    `compute_at`, the loop a hole, or the block that computes it moved to the tile; and one slot or two as a hole, with their banks."""
    main = draft.main
    for turn, operand in enumerate(main.target.reads):
        memory = main.memory_for(operand)
        if memory is None or _compute_operand(draft, operand, memory, turn):
            continue
        whole = [main.root] if main.root is not None and main.fits_whole(operand) else []
        _bring(draft, main.block, main.target.engine, operand.position, turn, [*main.outer, *whole])
        padding = main.producers.get(operand.buffer)
        if padding is not None and padding.is_padding and pads_in_flight(draft.machine, memory):
            draft.builder.accepts("compute_inline", padding.block)


def _compute_operand(draft: ScheduleDraft, operand: TiledOperand, memory: Memory, turn: int) -> bool:
    """Computes an operand in the memory of the engine, tile by tile, from copies of what it is computed from. Returns whether it is."""
    main, producer = draft.main, draft.main.producers.get(operand.buffer)
    engine = vector_engine(draft.machine, memory)
    if producer is None or engine is None or memory.name not in engine.writes:
        return False
    if producer.is_padding and pads_in_flight(draft.machine, memory):
        return False
    if not draft.builder.accepts("set_scope", producer.block, 0, memory.scope):
        return False
    at = _place(draft, producer.block, operand.buffer.name, main.once_first(operand, memory))
    if at is not None:
        _offer_slots(draft, producer.block, operand.buffer.name, memory, turn)
    for position in range(len(main.index.block(producer.block).reads)):
        _bring(draft, producer.block, engine, position, turn, [] if at is None else [at])
    return True


def _bring(
    draft: ScheduleDraft, reader: str, engine: Engine, position: int, turn: int, around: Sequence[Place]
) -> None:
    """Copies what a block reads at a position to the memory of its engine, at one of these loops."""
    main, builder = draft.main, draft.builder
    buffer = main.index.block(reader).reads[position].buffer
    home, memory = draft.machine.find_memory(buffer.scope), main.nearest(engine.reads, turn)
    if home is None or memory is None or home.name in engine.reads:
        return
    for stage in copy_path(draft.machine, (home.name,), (memory.name,))[1:]:
        block = builder.schedule.index.block(reader)
        made = first_made(builder, copy_calls(block, reader, buffer.name, position, stage, {}), f"{buffer.name}_in")
        if made is None:
            return
        copy = made[1]
        if _place(draft, copy, buffer.name, around) is not None:
            main.copies[copy] = buffer.name
            _offer_slots(draft, copy, buffer.name, draft.machine.find_memory(stage), turn)


def _place(draft: ScheduleDraft, block: str, buffer: str, around: Sequence[Place]) -> Place | None:
    """Moves the block that writes a buffer to one of these loops. Returns the loop or the choice among loops; None if none is legal."""
    if len(around) == 1:
        _move(draft, "compute_at", block, around[0])
        return around[0]
    targets = draft.builder.schedule.legal_targets(block)
    legal = [t.loop for t in targets if t.legal and t.primitive == "compute_at"]
    loops = [loop for loop in around if isinstance(loop, Var) and loop in legal]
    if not loops:
        return None
    at = draft.builder.choice(f"{buffer}_at", f"{buffer} at", [loop.name for loop in loops])
    place = at if len(loops) > 1 else loops[0]
    _move(draft, "compute_at", block, place)
    return place


def _move(draft: ScheduleDraft, method: str, block: str, at: Place | ParameterItem | None) -> None:
    if at is not None:
        draft.builder.accepts(method, block, at)


def _offer_slots(draft: ScheduleDraft, copy: str, buffer: str, memory: Memory | None, turn: int) -> None:
    slots = draft.builder.choice(f"{buffer}_slots", f"{buffer} slots", (2, 1))
    banks: dict[str, Any] = {}
    if memory is not None and memory.blocks > 1:
        pairs = neighbours_first(memory, turn)
        banks = {"banks": draft.builder.choice(f"{buffer}_banks", f"{buffer} banks", pairs)}
    draft.builder.accepts("double_buffer", copy, **banks, slots=slots)


def follow_main(draft: ScheduleDraft) -> None:
    """Requires blocks that read the sums on chip. Lines: `reverse_compute_at` the tile, their other operands brought to the vector engine,
    and their result in its memory, or copied out."""
    main = draft.main
    engine = vector_engine(draft.machine, main.memory_of_result())
    for block in main.followers:
        _move(draft, "reverse_compute_at", block, main.at)
        if engine is None:
            continue
        node = main.index.block(block)
        for position, read in enumerate(node.reads):
            if main.index.is_param(read.buffer):
                _bring(draft, block, engine, position, 0, main.outer)
        _keep_result(draft, block, engine)


def _keep_result(draft: ScheduleDraft, block: str, engine: Engine) -> None:
    """Keeps the result of a following block in the memory of its engine, or copies a result of the program out."""
    main, machine = draft.main, draft.machine
    written = main.index.block(block).writes[0].buffer
    if not main.index.is_param(written):
        near = next((m for n in engine.writes if not draft.is_far(m := machine.memory(n))), None)
        if near is not None:
            draft.builder.accepts("set_scope", block, 0, near.scope)
        return
    home, memory = machine.find_memory(written.scope), main.nearest(engine.writes, 0)
    if home is not None and memory is not None and home.name not in engine.writes:
        _leave(draft, block, memory, home)


def lay_out_copies(draft: ScheduleDraft) -> None:
    """Requires copies of operands. Lines: `transform_layout`, a hole with the layouts of the layout picker: over the blocks of the memory,
    and others if bank conflicts cost cycles."""
    main, builder = draft.main, draft.builder
    try:
        report = simulate(with_sizes(builder.schedule.described, draft.sizes).func, draft.machine)
    except MachineError:
        return
    target = ("write", 0)
    for copy, buffer in main.copies.items():
        maps = layout_maps(report, builder.schedule.index.block(copy))
        fit = [m for m in maps if builder.would("transform_layout", copy, target, m)]
        if len(fit) > 1:
            layout = builder.choice(f"{buffer}_layout", f"{buffer} layout", fit)
            builder.accepts("transform_layout", copy, target, layout)


__all__ = ["bring_operands", "follow_main", "keep_sums", "lay_out_copies", "main_group", "tile_main"]
