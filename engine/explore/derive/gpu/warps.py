"""Rules: products on tensor cores, each warp with fragments of the tile in its registers.

The lines for a product:

    i_w, i_f, i_m = sch.split(i_i, [warps[0], None, 16], names=["i_w", "i_f", "i_m"])
    j_w, j_f, j_m = sch.split(j_i, [warps[1], None, 16], names=["j_w", "j_f", "j_m"])
    k_f, k_m = sch.split(k_i, [None, 16], names=["k_f", "k_m"])
    sch.reorder(i_w, j_w, k_o, k_f, i_f, j_f, i_m, j_m, k_m)
    C_warp = sch.fuse(i_w, j_w)
    sch.bind(C_warp, "threadIdx.y")
    C_fragment = sch.cache_write("C", 0, "wmma.accumulator")
    A_fragment = sch.cache_read("C", 0, "wmma.matrix_a")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ....ir import BlockRealize, For, Parameter, ParameterItem, Var, build, free_vars
from ....schedule import process_intrinsics
from ...bounds.product import ProductIterators, product_of
from ...space.schedule_builder import ScheduleBuilder
from ..draft import ScheduleDraft, WarpTile
from ..lanes import is_summed
from ..stage import consumers_argument

SIDE = 16
"""Rows, columns and depth of a fragment."""

WARPS = ((2, 2), (2, 4), (4, 2), (1, 4), (4, 1), (4, 4))
"""Warps of a block of threads along the rows and the columns of a tile: each has few enough fragments for its registers."""

FEWER = ((1, 2), (2, 1), (1, 1))
"""Those of a small tile."""

STEPS = (1, 2, 4, 8)
"""Fragments along the depth between two copies of the operands."""


def fits_fragments(product: ProductIterators, realize: BlockRealize) -> bool:
    """Whether a product is one of 16 x 16 x 16 fragments: float16 operands and float32 sums, in whole fragments."""
    first, second = (load.buffer.dtype for load in product.factors)
    sums = realize.block.writes[0].buffer.dtype
    parts = (product.rows, product.columns, product.depth)
    whole = all(part and list(part.values())[-1] % SIDE == 0 for part in parts)
    return first == second == "float16" and sums == "float32" and whole


def tile_in_warps(draft: ScheduleDraft) -> None:
    """Requires a product on tensor cores. Lines: its rows and columns `split` over warps and fragments of 16 x 16, `fuse` and `bind` of
    the warps to threadIdx.y, and `cache_write` to a fragment of sums for each."""
    for name in draft.group.every:
        product = product_of(draft.index, name)
        if product is not None and draft.binds_threads and name in draft.in_fragments:
            _tile(draft, name, product)


def _tile(draft: ScheduleDraft, name: str, product: ProductIterators) -> None:
    realize = draft.index.realize(name)
    own = [f for f in draft.loops_of(name) if f.loop_var not in (draft.grid, *draft.loops.values())]
    parts = [_loop_of(realize, own, list(part)[-1]) for part in (product.rows, product.columns, product.depth)]
    sides = [f for f in parts if f is not None]
    if len(sides) < len(parts):
        draft.leave_out(f"{name} in fragments", "no loop drives its rows, columns or depth alone")
        return
    rest = [f for f in own if f not in sides]
    step = next((v for v in draft.loops.values() if _drives(realize, v, list(product.depth)[-1])), None)
    tile = draft.builder.attempt(partial(_divided, draft, realize, sides, rest, step))
    if tile is None:
        draft.leave_out(f"{name} in fragments", "its loops cannot be divided over warps")
        return
    if tile.step not in draft.loops.values():
        draft.loops[draft.name(tile.step)] = tile.step
    draft.warp_tiles.append(tile)
    draft.decide(f"{name} in fragments of {SIDE} x {SIDE} x {SIDE}")


def _divided(
    draft: ScheduleDraft, realize: BlockRealize, sides: Sequence[For], rest: Sequence[For], step: Var | None
) -> WarpTile:
    """Divides the rows and the columns of a product over warps, and all of its sides into fragments. `step` is its loop over the depth, if
    it has one."""
    builder, name = draft.builder, realize.block.name
    rows, columns, depth = (f.loop_var for f in sides)
    warps = _warps(draft, sides[0], sides[1])
    builder.name_loops(name)
    (rw, rf, rm), (cw, cf, cm) = (
        builder.split(v, (ParameterItem(warps, n), None, SIDE), [f"{draft.name(v)}_{part}" for part in "wfm"])
        for n, v in enumerate((rows, columns))
    )
    k = draft.name(depth)
    if step is None:
        steps = draft.choice(f"{name}_steps", f"depth of {name}", STEPS)
        step, kf, km = builder.split(depth, (None, steps, SIDE), [f"{k}_o", f"{k}_f", f"{k}_m"])
    else:
        kf, km = builder.split(depth, (None, SIDE), [f"{k}_f", f"{k}_m"])
    summed = [f.loop_var for f in rest if is_summed(realize, f)]
    batch = [f.loop_var for f in rest if not is_summed(realize, f)]
    builder.call("reorder", *batch, rw, cw, *summed, step, kf, rf, cf, rm, cm, km)
    (warp,) = builder.call("fuse", rw, cw, into=[f"{name}_warp"])
    builder.call("bind", warp, "threadIdx.y")
    (stored,) = builder.call("cache_write", name, 0, "wmma.accumulator", into=[f"{name}_fragment"])
    builder.call("reverse_compute_at", stored, warp, preserve_unit_loops=True)
    return WarpTile(name, [*summed, step][0], step, kf, rm, stored)


def _warps(draft: ScheduleDraft, rows: For, columns: For) -> Parameter:
    """The warps, which all products share: those along the rows, along the columns, and all. The first fit the present tile."""
    if "warps" not in draft.shared:
        most = [(build.int_value(f.extent) or SIDE) // SIDE for f in (rows, columns)]
        fit = [w for w in (*WARPS, *FEWER) if not any(n > m for n, m in zip(w, most, strict=True))]
        values = [*fit[:1], *(w for w in WARPS if w != fit[0])]
        draft.shared["warps"] = draft.builder.choice("warps", "warps", [(r, c, r * c) for r, c in values])
    return draft.shared["warps"]


def _loop_of(realize: BlockRealize, own: list[For], iterator: Var) -> For | None:
    return next((f for f in reversed(own) if _drives(realize, f.loop_var, iterator)), None)


def _drives(realize: BlockRealize, loop: Var, iterator: Var) -> bool:
    """Whether the value of an iterator follows a loop."""
    names = [iv.var.name for iv in realize.block.iter_vars]
    return loop in free_vars(realize.iter_values[names.index(iterator.name)])


def load_fragments(draft: ScheduleDraft) -> None:
    """Requires a product in warps. Lines: `compute_at` of the copies of its operands at the loop over the depth, and `cache_read` of both
    operands into fragments, at the loop over the fragments of a copy."""
    for tile in draft.warp_tiles:
        for copied in draft.index.producers(tile.block):
            if copied not in draft.group.every and copied != tile.block:
                draft.first_accepted("compute_at", copied, [tile.step])
        product = product_of(draft.index, tile.block)
        assert product is not None
        reads = [r.buffer for r in draft.block(tile.block).reads]
        for factor, scope in zip(product.factors, ("wmma.matrix_a", "wmma.matrix_b"), strict=True):
            position, readers = (
                reads.index(factor.buffer),
                consumers_argument(draft, factor.buffer, [tile.block]),
            )
            copy = draft.builder.attempt(partial(_loaded, draft, tile, factor.buffer.name, position, scope, readers))
            if copy is not None:
                tile.loads.append(copy)
            else:
                draft.leave_out(f"{factor.buffer.name} in fragments", f"cache_read to {scope} is refused")


def _loaded(
    draft: ScheduleDraft, tile: WarpTile, buffer: str, position: int, scope: str, readers: Mapping[str, Sequence[str]]
) -> str:
    """Copies an operand into fragments; returns the block that copies."""
    call = partial(draft.builder.call, "cache_read", tile.block, position, scope, **readers)
    (copy,) = call(into=[f"{buffer}_fragment"])
    draft.builder.call("compute_at", copy, tile.inner, preserve_unit_loops=True)
    return copy


def tensorize_fragments(draft: ScheduleDraft) -> None:
    """Requires a product in warps and tensor intrinsics that match. Lines: `decompose_reduction`, and `tensorize` of the zeros, the loads,
    the products and the stores of fragments."""
    for tile in draft.warp_tiles:
        copies = (partial(_fragments, draft, name) for name in (*tile.loads, tile.stored))
        done = [_zeros(draft, tile), *(_tensorized(draft, copy) for copy in copies)]
        done.append(_tensorized(draft, lambda tile=tile: tile.tile))
        if all(done):
            draft.decide(f"{tile.block} in tensor intrinsics")
        else:
            draft.leave_out(
                f"{tile.block} in tensor intrinsics", "none of the registered ones matches all of its parts"
            )


def _zeros(draft: ScheduleDraft, tile: WarpTile) -> bool:
    """Separates the zeros of the sums, and calls the intrinsic that writes them."""
    builder, into = draft.builder, [f"{tile.block}_zero"]
    made = builder.attempt(lambda: builder.call("decompose_reduction", tile.block, tile.outer, into=into))
    if made is None:
        return False
    (init,) = made
    depth = len(draft.loops_of(init)) - 2
    return _tensorized(draft, lambda: builder.call("get_loops", init, into=[f"{builder.names[init]}_m"], at=depth)[0])


def _fragments(draft: ScheduleDraft, name: str) -> Var:
    """Divides a copy into fragments; returns the outermost loop of one."""
    builder = draft.builder
    builder.name_loops(name)
    sides = [f.loop_var for f in draft.loops_of(name)[-2:]]
    (rf, rm), (cf, cm) = (
        builder.call("split", v, (None, SIDE), into=[f"{draft.name(v)}_{part}" for part in "fm"]) for v in sides
    )
    builder.call("reorder", rf, cf, rm, cm)
    return rm


def _tensorized(draft: ScheduleDraft, loop: Callable[[], Var]) -> bool:
    """Calls the first intrinsic that matches at a loop, which `loop` finds by calls; adds nothing if none does."""
    builder = draft.builder
    names = process_intrinsics() if draft.intrinsics is None else draft.intrinsics
    return any(builder.attempt(partial(_tensorize, builder, loop, name)) is not None for name in names)


def _tensorize(builder: ScheduleBuilder, loop: Callable[[], Var], name: str) -> object:
    return builder.call("tensorize", loop(), name)


__all__ = ["SIDE", "fits_fragments", "load_fragments", "tensorize_fragments", "tile_in_warps"]
