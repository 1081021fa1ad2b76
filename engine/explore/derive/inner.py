"""Rule: tiles of a block inside of the tiles of its group, for operands that are too large there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...hwsim import MatrixEngine, SystolicEngine
from ...ir import BlockRealize, For, Var, build, free_vars
from ..bounds.product import product_of
from ..space.tiling_target import Dim, tiled_operand
from .draft import InnerTile, ScheduleDraft
from .engines import grains_of
from .lanes import is_summed

LARGE = 8
"""An operand that takes more than this part of its memory leaves little room for a second slot and for other buffers."""

FIRST = 16
"""The part of a memory that the first tiles of such an operand take at most."""


def tile_inside(draft: ScheduleDraft) -> None:
    """Requires a block before the last one, an operand of which in the far memory takes more than an eighth of the memory of its engine
    inside of the loops over tiles. Lines: a `split` of the longest loop that the operand follows, its size a hole, and a `reorder` that
    moves the loop over these tiles outside of the block's own loops: the operand is copied tile by tile."""
    if draft.binds_threads or not draft.tiles_inside:
        return
    for name in draft.group.members[:-1]:
        realize, tiles = draft.index.realize(name), set(draft.loops.values())
        own = [f for f in draft.loops_of(name) if f.loop_var not in tiles]
        found = _loop_of_large(draft, realize, own)
        if found is not None:
            loop, most = found
            made = draft.builder.attempt(partial(_divided, draft, name, own, loop, most))
            if made is not None:
                draft.inner[name] = made
                draft.decide(f"tiles of {name} inside: loop {loop.loop_var.name}")


def _loop_of_large(draft: ScheduleDraft, realize: BlockRealize, own: Sequence[For]) -> tuple[For, int] | None:
    """The longest loop that the largest of the operands which are too large follows, and the most iterations of which the operand takes
    a part `FIRST` of its memory; None if each has room."""
    engine, block = draft.engines[realize.block.name], realize.block
    extents = {f.loop_var: build.int_value(f.extent) or 1 for f in own}
    values = dict(zip((iv.var for iv in block.iter_vars), realize.iter_values, strict=True))
    tile = {v: max([1, *(extents.get(u, 1) for u in free_vars(value))]) for v, value in values.items()}
    found: list[tuple[int, int, For]] = []
    for position, region in enumerate(block.reads):
        home, near = draft.memory_of(region.buffer), draft.on_chip(engine.reads)
        if home is None or not draft.is_far(home) or home.name in engine.reads or not near:
            continue
        size = tiled_operand(region, position, list(values)).footprint(tile)
        used = {u for axis in region.region for v in free_vars(axis.min) for u in free_vars(values.get(v, axis.min))}
        along = [f for f in own if f.loop_var in used]
        if LARGE * size > near[0].capacity_bytes and along:
            longest = max(along, key=lambda f: extents[f.loop_var])
            found.append((size, extents[longest.loop_var] * near[0].capacity_bytes // (FIRST * size), longest))
    _, most, loop = max(found, key=lambda one: one[0], default=(0, 0, None))
    return None if loop is None else (loop, most)


def _divided(draft: ScheduleDraft, name: str, own: Sequence[For], loop: For, most: int) -> InnerTile:
    """Divides a loop of a block, first in tiles of up to `most` iterations, and moves the loop over tiles outside of its own loops."""
    builder, realize = draft.builder, draft.index.realize(name)
    builder.name_loops(name)
    iterators = zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True)
    iterator = next(v for v, value in iterators if loop.loop_var in free_vars(value))
    extent, variable = build.int_value(loop.extent) or 1, draft.name(loop.loop_var)
    sizes = Dim(variable, iterator, extent, is_summed(realize, loop), min(_grain(draft, name, iterator), extent)).tiles
    size = draft.choice(f"tile_{name}_{variable}", f"tile {variable} of {name}", _first_up_to(sizes, most))
    outer, inner = builder.split(loop.loop_var, (None, size), [f"{variable}_o", f"{variable}_i"])
    builder.call("reorder", outer, *(inner if f is loop else f.loop_var for f in own))
    return InnerTile(iterator, outer)


def _grain(draft: ScheduleDraft, name: str, iterator: Var) -> int:
    """The iterations that the engine of a product processes at once."""
    engine, product = draft.engines[name], product_of(draft.index, name)
    if product is None or not isinstance(engine, MatrixEngine | SystolicEngine):
        return 1
    parts = zip((product.rows, product.columns, product.depth), grains_of(draft, engine), strict=True)
    return next((grain for part, grain in parts if iterator in part), 1)


def _first_up_to(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    """The sizes, the largest one up to `most` first."""
    first = max((n for n in sizes if n <= most), default=sizes[0])
    return (first, *(n for n in sizes if n != first))


__all__ = ["tile_inside"]
