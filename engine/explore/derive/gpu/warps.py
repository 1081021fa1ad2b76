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

from ....ir import BlockRealize, For, Var, build, free_vars
from ....schedule import process_intrinsics
from ..draft import ScheduleDraft, WarpTile, word
from ..lanes import is_summed
from ..product import ProductIterators, product_of
from ..stage import consumers_argument

SIDE = 16
"""Rows, columns and depth of a fragment."""

WARPS = ((2, 2), (2, 4), (4, 2), (1, 4), (4, 1), (4, 4))
"""Warps of a block of threads along the rows and the columns of a tile: each has few enough fragments for its registers."""

FEWER = ((1, 2), (2, 1), (1, 1))
"""Those of a small tile."""

STEPS = ("1", "2", "4", "8")
"""Fragments along the depth between two copies of the operands, as texts."""


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
    builder, realize = draft.builder, draft.index.realize(name)
    tiles = {draft.builder.value(o): o for o in draft.loops.values()}
    own = [f for f in draft.loops_of(name) if f.loop_var not in tiles and f.loop_var.name != draft.grid]
    parts = [_loop_of(realize, own, list(part)[-1]) for part in (product.rows, product.columns, product.depth)]
    rows, columns, depth = parts
    if rows is None or columns is None or depth is None:
        draft.leave_out(f"{name} in fragments", "no loop drives its rows, columns or depth alone")
        return
    lines, loops = draft.named_loops(name)
    warps = _warps(draft, rows, columns)
    (rw, rf, rm), (cw, cf, cm) = ([builder.fresh(f"{loops[f.loop_var]}_{p}") for p in "wfm"] for f in (rows, columns))
    lines += [
        f'{rw}, {rf}, {rm} = $.split({loops[rows.loop_var]}, [{warps}[0], None, {SIDE}], names=["{rw}", "{rf}", "{rm}"])',
        f'{cw}, {cf}, {cm} = $.split({loops[columns.loop_var]}, [{warps}[1], None, {SIDE}], names=["{cw}", "{cf}", "{cm}"])',
    ]
    k = loops[depth.loop_var]
    kf, km = (builder.fresh(f"{k}_{part}") for part in "fm")
    step = next((o for v, o in tiles.items() if _drives(realize, v, list(product.depth)[-1])), "")
    if step:
        lines.append(f'{kf}, {km} = $.split({k}, [None, {SIDE}], names=["{kf}", "{km}"])')
    else:
        step, steps = builder.fresh(f"{k}_o"), builder.fresh(f"{word(name)}_steps")
        builder.hole(steps, draft.hole(f"depth of {name}"), STEPS)
        lines.append(f'{step}, {kf}, {km} = $.split({k}, [None, {steps}, {SIDE}], names=["{step}", "{kf}", "{km}"])')
    rest = [f for f in own if f not in parts]
    summed = [loops[f.loop_var] for f in rest if is_summed(realize, f)]
    batch = [loops[f.loop_var] for f in rest if not is_summed(realize, f)]
    warp, stored = builder.fresh(f"{word(name)}_warp"), builder.fresh(f"{word(name)}_fragment")
    if not draft.write(
        *lines,
        f"$.reorder({', '.join([*batch, rw, cw, *summed, step, kf, rf, cf, rm, cm, km])})",
        f"{warp} = $.fuse({rw}, {cw})",
        f'$.bind({warp}, "threadIdx.y")',
        f'{stored} = $.cache_write("{name}", 0, "wmma.accumulator")',
        f"$.reverse_compute_at({stored}, {warp}, preserve_unit_loops=True)",
    ):
        draft.leave_out(f"{name} in fragments", "its loops cannot be divided over warps")
        return
    if step not in draft.loops.values():
        draft.loops[step] = step
    draft.warp_tiles.append(WarpTile(name, [*summed, step][0], step, kf, rm, builder.value(stored)))
    draft.decide(f"{name} in fragments of {SIDE} x {SIDE} x {SIDE}")


def _warps(draft: ScheduleDraft, rows: For, columns: For) -> str:
    """The variable of the warps, which all products share: those along the rows, along the columns, and all. The first fit the present
    tile."""
    if "warps" not in draft.builder.state.names:
        most = [(build.int_value(f.extent) or SIDE) // SIDE for f in (rows, columns)]
        fit = [w for w in (*WARPS, *FEWER) if not any(n > m for n, m in zip(w, most, strict=True))]
        values = [*fit[:1], *(w for w in WARPS if w != fit[0])]
        draft.builder.hole("warps", "warps", [str([r, c, r * c]) for r, c in values])
    return "warps"


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
                draft.write(f'$.compute_at("{copied}", {tile.step}{draft.unit_loops})')
        product = product_of(draft.index, tile.block)
        assert product is not None
        reads = [r.buffer for r in draft.block(tile.block).reads]
        for factor, scope in zip(product.factors, ("wmma.matrix_a", "wmma.matrix_b"), strict=True):
            copy = draft.builder.fresh(f"{word(factor.buffer.name)}_fragment")
            readers = consumers_argument(draft, factor.buffer, [tile.block])
            if draft.write(
                f'{copy} = $.cache_read("{tile.block}", {reads.index(factor.buffer)}, "{scope}"{readers})',
                f"$.compute_at({copy}, {tile.inner}, preserve_unit_loops=True)",
            ):
                tile.loads.append(draft.builder.value(copy))
            else:
                draft.leave_out(f"{factor.buffer.name} in fragments", f"cache_read to {scope} is refused")


def tensorize_fragments(draft: ScheduleDraft) -> None:
    """Requires a product in warps and tensor intrinsics that match. Lines: `decompose_reduction`, and `tensorize` of the zeros, the loads,
    the products and the stores of fragments."""
    for tile in draft.warp_tiles:
        done = [
            _zeros(draft, tile),
            *(_in_fragments(draft, name) for name in (*tile.loads, tile.stored)),
            _call(draft, tile.tile),
        ]
        if all(done):
            draft.decide(f"{tile.block} in tensor intrinsics")
        else:
            draft.leave_out(
                f"{tile.block} in tensor intrinsics", "none of the registered ones matches all of its parts"
            )


def _zeros(draft: ScheduleDraft, tile: WarpTile) -> bool:
    """Separates the zeros of the sums, and calls the intrinsic that writes them."""
    init = draft.builder.fresh(f"{word(tile.block)}_zero")
    if not draft.write(f'{init} = $.decompose_reduction("{tile.block}", {tile.outer})'):
        return False
    depth = len(draft.loops_of(draft.builder.value(init)))
    loop = draft.builder.fresh(f"{init}_m")
    return _call(draft, loop, f"{loop} = $.get_loops({init})[{depth - 2}]")


def _in_fragments(draft: ScheduleDraft, name: str) -> bool:
    """Divides a copy into fragments, and calls the intrinsic that copies one."""
    rows, columns = draft.loops_of(name)[-2:]
    lines, loops = draft.named_loops(name)
    r, c = loops[rows.loop_var], loops[columns.loop_var]
    (rf, rm), (cf, cm) = ([draft.builder.fresh(f"{loop}_{part}") for part in "fm"] for loop in (r, c))
    return _call(
        draft,
        rm,
        *lines,
        f"{rf}, {rm} = $.split({r}, [None, {SIDE}])",
        f"{cf}, {cm} = $.split({c}, [None, {SIDE}])",
        f"$.reorder({rf}, {cf}, {rm}, {cm})",
    )


def _call(draft: ScheduleDraft, loop: str, *lines: str) -> bool:
    """Writes the lines and `tensorize` of a loop by the first intrinsic that matches; nothing if none does."""
    names = process_intrinsics() if draft.intrinsics is None else draft.intrinsics
    return any(draft.write(*lines, f'$.tensorize({loop}, "{name}")') for name in names)


__all__ = ["SIDE", "fits_fragments", "load_fragments", "tensorize_fragments", "tile_in_warps"]
