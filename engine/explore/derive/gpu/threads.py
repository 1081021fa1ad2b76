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

from ....ir import BufferLoad, BufferStore, For
from ....ir import dtype as dt
from ..draft import ScheduleDraft, word
from ..lanes import along_rows, is_summed

THREADS = ("256", "128", "512", "64", "1024")
"""Threads of a block, as texts."""


def add_grid(draft: ScheduleDraft) -> None:
    """Requires a machine with memory that threads share. Lines: a loop for the blocks of threads around the loops over tiles, by `split` of
    the outermost one, or by `add_unit_loop` if that is a reduction or there is none. What depends on no tile is computed in each block."""
    if not draft.binds_threads:
        return
    builder = draft.builder
    name, outer = next(iter(draft.loops.items()), ("", ""))
    lines, loops = draft.named_loops(draft.group.last)
    outer = outer or loops[draft.loops_of(draft.group.last)[0].loop_var]
    grid = builder.fresh(f"{word(name or draft.group.last)}_b")
    if not draft.spatial:
        draft.grid = grid if draft.write(*lines, f"{grid} = $.add_unit_loop({outer})") else ""
        return
    blocks, inner = builder.fresh("blocks"), builder.fresh(f"{word(name)}_t")
    builder.hole(blocks, draft.hole("blocks"), ["1"])
    if draft.write(f'{grid}, {inner} = $.split({outer}, [{blocks}, None], names=["{grid}", "{inner}"])'):
        draft.grid, draft.loops[name] = grid, inner
    else:
        builder.drop()


def bind_threads(draft: ScheduleDraft) -> None:
    """Requires a loop for the blocks of threads. Lines: `bind` of it to blockIdx.x; of each block the loops below the tiles, as one
    (`fuse`), `split` by the number of threads, a hole, or by the warps of a product, and `bind` to threadIdx.x. Of a reduction along rows
    these are summed loops: the threads combine their sums."""
    if not draft.grid or not draft.write(f'$.bind({draft.grid}, "blockIdx.x")'):
        return
    threads = "" if draft.warp_tiles else _threads(draft)
    tiles = {draft.builder.value(o) for o in (draft.grid, *draft.loops.values())}
    on_warps = {n for tile in draft.warp_tiles for n in (tile.block, tile.stored, *tile.loads)}
    for name in draft.index.block_names[1:]:
        if _is_inside(draft, name, draft.grid) and name not in on_warps:
            own = [f for f in draft.loops_of(name) if f.loop_var not in tiles and not f.thread_tag]
            _bind_block(draft, name, own, threads)
    draft.decide(f"blocks of threads around {draft.grid}")


def _is_inside(draft: ScheduleDraft, name: str, grid: str) -> bool:
    return any(f.loop_var is draft.builder.value(grid) for f in draft.loops_of(name))


def _threads(draft: ScheduleDraft) -> str:
    """The variable of the number of threads, which all groups share."""
    if "threads" not in draft.builder.state.names:
        draft.builder.hole("threads", draft.hole("threads"), THREADS)
    return "threads"


def _bind_block(draft: ScheduleDraft, name: str, own: Sequence[For], threads: str) -> None:
    """Binds the loops of a block below its tiles."""
    builder, realize = draft.builder, draft.index.realize(name)
    reduced = [f for f in own if is_summed(realize, f)]
    row = along_rows(draft, realize) if reduced else None
    across = [row] if row is not None and row in reduced else [f for f in own if f not in reduced]
    if not across:
        return
    lines, loops = draft.named_loops(name)
    variables = [loops[f.loop_var] for f in across]
    if across[0] is not row and reduced and own.index(across[-1]) > own.index(reduced[0]):
        lines.append(f"$.reorder({', '.join([*variables, *(loops[f.loop_var] for f in reduced)])})")
    stem = word(name)
    fused = variables[0]
    if len(variables) > 1:
        fused = builder.fresh(f"{stem}_f")
        lines.append(f"{fused} = $.fuse({', '.join(variables)})")
    step, warp, lane, part = (builder.fresh(f"{stem}_{kind}") for kind in "syxv")
    vector = _vector(draft, name) if draft.warp_tiles and fused not in {loops[f.loop_var] for f in reduced} else 1
    parts = {step: "None", lane: threads} if threads else {step: "None", warp: "warps[2]", lane: "32"}
    parts |= {part: str(vector)} if vector > 1 else {}
    names = ", ".join(f'"{one}"' for one in parts)
    lines.append(f"{', '.join(parts)} = $.split({fused}, [{', '.join(parts.values())}], names=[{names}])")
    tags = {warp: "threadIdx.y", lane: "threadIdx.x"}
    lines += [f'$.bind({one}, "{tag}")' for one, tag in tags.items() if one in parts]
    lines += [f"$.vectorize({part})"] if vector > 1 else []
    if not draft.write(*lines):
        draft.leave_out(f"{name} on threads", "its loops cannot be bound")


def _vector(draft: ScheduleDraft, name: str) -> int:
    """The elements that a thread moves at once: 16 bytes of a copy, else one."""
    body = draft.block(name).body
    if not isinstance(body, BufferStore) or not isinstance(body.value, BufferLoad):
        return 1
    return max(1, 16 // dt.size_bytes(body.buffer.dtype))


__all__ = ["add_grid", "bind_threads"]
