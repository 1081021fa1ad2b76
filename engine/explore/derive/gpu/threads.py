"""Rules: blocks of threads, for machines whose work is done by threads, as of a GPU.

The lines for a tile of an elementwise block:

    i_b, i_t = sch.split(i_o, [blocks, None], names=["i_b", "i_t"])
    sch.bind(i_b, "blockIdx.x")
    power_f = sch.fuse(i_i, j)
    power_s, power_x = sch.split(power_f, [None, threads], names=["power_s", "power_x"])
    sch.bind(power_x, "threadIdx.x")
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isfinite, prod
from typing import Any

from ....analysis import Update, find_identities, find_update
from ....ir import Block, BufferLoad, BufferStore, FloatImm, For, IntImm, Parameter, ParameterItem, Var, build
from ....ir import dtype as dt
from ..draft import ScheduleDraft
from ..lanes import along_rows, is_summed

THREADS = (256, 128, 512, 64, 1024)
"""Threads of a block."""

GRID = "blockIdx.x"

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028234e38, "float64": 1.7976931348623157e308}
"""The largest values of types: TVM's threads combine a maximum from the negative one."""

TILES = (1, 2, 4)
"""Tiles that one block of a chip computes."""


def add_grid(draft: ScheduleDraft) -> None:
    """Requires a machine with memory that threads share, or of several cores. Lines: a loop for the blocks of threads around the loops over
    tiles, by `split` of the outermost one, or by `add_unit_loop` if that is a reduction or there is none. On a chip the tiles are the
    blocks: `split` of each loop over tiles outside of reductions, `reorder`, `fuse` and `bind`. What depends on no tile is computed in each
    block."""
    if not draft.binds_threads and draft.machine.cores == 1:
        return
    builder, last = draft.builder, draft.group.last
    name, outer = next(iter(draft.loops.items()), ("", draft.loops_of(last)[0].loop_var))
    wanted = f"{name or last}_b"
    if not draft.spatial:
        builder.name_loops(last)
        made = builder.attempt(lambda: builder.call("add_unit_loop", outer, into=[wanted]))
        draft.grid = None if made is None else made[0]
        return
    if draft.machine.cores > 1:
        builder.attempt(lambda: _add_blocks(draft, [*draft.loops][: draft.spatial]))
        return
    blocks = draft.choice("blocks", "blocks", (1,))
    made = builder.attempt(lambda: builder.split(outer, (blocks, None), [wanted, f"{name}_t"]))
    if made is not None:
        draft.grid, draft.loops[name] = made


def _add_blocks(draft: ScheduleDraft, tiled: Sequence[str]) -> None:
    """Adds the loop over blocks of a chip: all tiles but for a few of the first loop, which one block computes."""
    builder, loops = draft.builder, dict(draft.loops)
    kept = draft.choice("tiles_per_block", "tiles per block", TILES)
    blocks: list[Var] = []
    for number, name in enumerate(tiled):
        factors = (None, kept if number == 0 else 1)
        block, loops[name] = builder.split(loops[name], factors, [f"{name}_b", f"{name}_t"])
        blocks.append(block)
    builder.call("reorder", *blocks, *(loops[name] for name in tiled))
    grid = blocks[0] if len(blocks) == 1 else builder.call("fuse", *blocks, into=["grid"])[0]
    builder.call("bind", grid, GRID)  # before the calls that an estimate leaves out, as it needs the number of blocks
    draft.grid, draft.loops = grid, loops


def bind_threads(draft: ScheduleDraft) -> None:
    """Requires a loop for the blocks of threads. Lines: `bind` of it to blockIdx.x; of each block the loops below the tiles, as one
    (`fuse`), `split` by the number of threads, a hole, or by the warps of a product, and `bind` to threadIdx.x. Of a reduction along rows
    these are summed loops: the threads combine their sums."""
    if draft.grid is None or not draft.binds_threads:
        return
    if not draft.index.loop(draft.grid).thread_tag and not draft.builder.accepts("bind", draft.grid, GRID):
        return
    threads = None if draft.warp_tiles else _threads(draft)
    tiles = {draft.grid, *draft.loops.values()}
    on_warps = {n for tile in draft.warp_tiles for n in (tile.block, tile.stored, *tile.loads)}
    for name in draft.index.block_names[1:]:
        if any(f.loop_var is draft.grid for f in draft.loops_of(name)) and name not in on_warps:
            own = [f for f in draft.loops_of(name) if f.loop_var not in tiles and not f.thread_tag]
            _bind_block(draft, name, own, threads)
    draft.decide(f"blocks of threads around {draft.name(draft.grid)}")


def _threads(draft: ScheduleDraft) -> Parameter:
    """The number of threads, which all groups share."""
    if "threads" not in draft.shared:
        draft.shared["threads"] = draft.choice("threads", "threads", THREADS)
    return draft.shared["threads"]


def _bind_block(draft: ScheduleDraft, name: str, own: Sequence[For], threads: Parameter | None) -> None:
    """Binds the loops of a block below its tiles."""
    realize = draft.index.realize(name)
    reduced = [f for f in own if is_summed(realize, f)]
    row = along_rows(draft, realize) if reduced else None
    across = [row] if row is not None and row in reduced else [f for f in own if f not in reduced]
    if not across:
        return
    if reduced and across[0] is row and not combines_in_tvm(realize.block):
        draft.leave_out(
            f"{name} on threads", "its first value is none from which TVM's threads combine: T.min_value or T.max_value"
        )
        return
    if reduced and across[0] is not row and _has_guarded_sums(realize.block, across):
        draft.leave_out(f"{name} on threads", "TVM has no barrier in the condition of the threads that have a row")
        return
    is_inside = bool(reduced) and across[0] is not row and own.index(across[-1]) > own.index(reduced[0])
    summed = [f.loop_var for f in reduced] if is_inside else []
    vector = _vector(draft, name) if draft.warp_tiles and across[0] is not row else 1
    bound = partial(_bind, draft, name, [f.loop_var for f in across], summed, threads, vector)
    if draft.builder.attempt(bound) is None:
        draft.leave_out(f"{name} on threads", "its loops cannot be bound")


def combines_in_tvm(block: Block) -> bool:
    """Whether TVM has a reduction across threads for a block: from 0, 1, or the least or the largest value of its type."""
    update = find_update(block)
    starts = find_identities(block, update) if isinstance(update, Update) else ""
    if isinstance(update, str) or isinstance(starts, str):
        return False
    if len(starts) != 1 or update.identity != (None,) or not isinstance(starts[0], IntImm | FloatImm):
        return True
    dtype = update.targets[0].buffer.dtype
    least = LARGEST.get(dtype, 2.0 ** (dt.bits(dtype) - 1) - 1)
    return isfinite(starts[0].value) and abs(starts[0].value) >= least * (1 - 1e-6)


def _has_guarded_sums(block: Block, across: Sequence[For]) -> bool:
    """Whether some threads have no row, of rows that are summed in memory that threads share."""
    rows = prod(build.int_value(loop.extent) or 1 for loop in across)
    return block.writes[0].buffer.scope.startswith("shared") and rows % THREADS[0] > 0


def _bind(
    draft: ScheduleDraft,
    name: str,
    across: Sequence[Var],
    summed: Sequence[Var],
    threads: Parameter | None,
    vector: int,
) -> bool:
    """Distributes the iterations of loops, outside of the `summed` ones, over the threads, or over the warps and their lanes."""
    builder = draft.builder
    builder.name_loops(name)
    if summed:
        builder.call("reorder", *across, *summed)
    fused = across[0] if len(across) == 1 else builder.call("fuse", *across, into=[f"{name}_f"])[0]
    parts: dict[str, Any] = {"s": None, "x": threads}
    if threads is None:
        parts = {"s": None, "y": ParameterItem(draft.shared["warps"], 2), "x": 32}
    parts |= {"v": vector} if vector > 1 else {}
    loops = dict(zip(parts, builder.split(fused, [*parts.values()], [f"{name}_{part}" for part in parts]), strict=True))
    for part, tag in (("y", "threadIdx.y"), ("x", "threadIdx.x")):
        if part in loops:
            builder.call("bind", loops[part], tag)
    if "v" in loops:
        builder.call("vectorize", loops["v"])
    return True


def _vector(draft: ScheduleDraft, name: str) -> int:
    """The elements that a thread moves at once: 16 bytes of a copy, else one."""
    body = draft.block(name).body
    if not isinstance(body, BufferStore) or not isinstance(body.value, BufferLoad):
        return 1
    return max(1, 16 // dt.size_bytes(body.buffer.dtype))


__all__ = ["add_grid", "bind_threads"]
