"""Overlapping tiles without recomputation: rolling_buffer keeps the elements that the next tile reuses, in a buffer of one tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import accessed_regions, hull, is_covered, only_guards_domain, realized
from ....arith import linear, prove_equal, simplify
from ....ir import (
    LE,
    LT,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IterVar,
    Node,
    Or,
    PrimFunc,
    Range,
    Var,
    build,
    free_vars,
    replace_nodes,
    rewrite,
    structural_equal,
    substitute,
    uses_var,
)
from ...context import BlockRV, Context, Result
from ...errors import refuse
from ...rules import block_motion
from ...rules.checks import require_iterators_only, shares_elements


def rolling_buffer(ctx: Context, block: BlockRV, write_buffer_index: int | str | Buffer) -> Result[None]:
    """Turn the buffer of overlapping tiles into a rolling buffer: each element is computed once, and one tile is kept.

    Rewrite:
        for t in range(2):                                  for t in range(2):
            for a in range(6):                                  for a in range(6):
                with T.sblock("B"):                                 with T.sblock("B"):
                    i = T.axis.spatial(10, t * 4 + a)     =>            T.where(t < 1 or 2 <= a); i = T.axis.opaque(10, t * 4 + a)
                    B[i] = A[i] * 2                                     B[i % 6] = A[i] * 2
            for b, k in T.grid(4, 3):                           for b, k in T.grid(4, 3):
                with T.sblock("C"): … B[i + k] …                    with T.sblock("C"): … B[(i + k) % 6] …
    The buffer rolls along the axis that the outermost loop moves. Along the other axes, elements that were computed before are not computed
    again.
    Requires: a block that is the only writer of an intermediate buffer; its tile moves with loops around it and its consumers (`t`, `t *
    4`, `t * 5 // 2`, one axis for each loop) by less than its length; the loops are serial and start at 0; consumers read in each iteration
    only elements of that iteration's tile; the block's inputs do not change meanwhile.
    Returns: nothing. Iterators in these loops become opaque, because their order now matters.
    Errors: bad-buffer-index, unknown-buffer, output-block, not-complete, no-tile, no-overlap, order-dependent, region-not-covered,
    not-final, partial-sum, opaque-access, opaque-iterator.
    Source: TVM src/s_tir/schedule/primitive/rolling_buffer.cc, RollingBuffer.
    """
    buffer = ctx.buffer_region(block, write_buffer_index, side="write").buffer
    before = _rolled(ctx)
    flat = _unrolled(ctx.func, before)
    if before and not structural_equal(_all_rolled(flat, [r.block for r in before]), ctx.func):
        raise refuse(
            "opaque-iterator", f"block {before[0].block!r} was changed after its rolling_buffer", ctx.realize(before[0].block),
            expected="the rolling_buffer calls of all buffers one after the other",
        )  # fmt: skip
    if any(r.block == block for r in before):
        raise refuse("no-overlap", f"{buffer.name!r} is already a rolling buffer", ctx.realize(block))
    # Rolling buffers are first rewritten to flat indices, which the checks need; at the end all of them roll again.
    return Result(_all_rolled(flat, [block, *(r.block for r in before)], {block: buffer.name}), None)


_Change = Callable[[Expr], Expr]


class _Roll(msgspec.Struct, frozen=True, eq=False):
    """A rolling buffer: its writer, and its axis."""

    block: str
    buffer: Buffer
    axis: int


class _Tile(msgspec.Struct, frozen=True, eq=False):
    """The region that a block writes in one iteration of the loops around it and its consumers.

    `steps` are the loops that move the tile by less than its length, each with the axis, the overlap, and the position in the tile that
    the block stores.
    """

    top: For
    outer: tuple[For, ...]
    extents: tuple[Expr, ...]
    steps: tuple[_Step, ...]


class _Step(msgspec.Struct, frozen=True, eq=False):
    loop: For
    axis: int
    overlap: int
    offset: Expr


def _all_rolled(func: PrimFunc, blocks: Sequence[str], buffers: Mapping[str, str] | None = None) -> PrimFunc:
    """The function with rolling buffers for these blocks, consumers first, so that a block's inputs are not rolled when it is checked."""
    names = list(Context(func).index.block_names)
    done: list[tuple[For, _Roll]] = []
    for name in sorted(blocks, key=names.index, reverse=True):
        func, top, roll = _roll(Context(func), name, (buffers or {}).get(name))
        done.append((top, roll))
    for top, roll in done:
        func = _marked(func, top.loop_var, roll)
    return func


def _roll(ctx: Context, name: str, buffer_name: str | None) -> tuple[PrimFunc, For, _Roll]:
    """The function with one rolling buffer, and the loop around all of its users."""
    realize = ctx.realize(name)
    region = next(w for w in realize.block.writes if buffer_name in (None, w.buffer.name))
    require_own_buffer(ctx, realize, region.buffer)
    consumers = [ctx.index.realize(n) for n in ctx.index.consumers(name)]
    tile = require_tile(ctx, realize, region, consumers)
    rolling = require_overlap(realize, tile)
    require_steps_in_order(ctx, realize, tile, rolling)
    for consumer in consumers:
        require_same_tile(ctx, realize, consumer, region.buffer)
    require_final_tiles(ctx, realize, tile, rolling, consumers)

    size = tile.extents[rolling.axis]
    shape = list(region.buffer.shape)
    shape[rolling.axis] = size
    new = replace_fields(region.buffer, shape=tuple(shape))
    terms = (Or(LT(s.loop.loop_var, _like(s.loop, 1)), LE(_like(s.loop, s.overlap), s.offset)) for s in tile.steps)
    guarded = replace_fields(realize, predicate=build.logical_and(realize.predicate, *terms))
    func = ctx.replaced({realize: guarded})
    func = _with_indices(func, region.buffer, new, rolling.axis, lambda index: FloorMod(index, size))
    return func, tile.top, _Roll(name, new, rolling.axis)


def _like(loop: For, value: int) -> Expr:
    return build.const(value, loop.loop_var.dtype)


# -- legality


# A buffer that others write, view or address cannot get a new layout.
def require_own_buffer(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    block_motion.require_intermediate(ctx, realize)
    block_motion.require_complete_or_reduction(ctx, realize)
    block_motion.require_not_loose(ctx, realize)
    require_iterators_only(ctx, realize, ctx.index.loops_above(realize), "roll")
    if len(realize.block.writes) != 1:
        raise refuse("not-complete", f"block {realize.block.name!r} writes several buffers", realize, expected="one")
    viewed = any(m.source.buffer is buffer for n in ctx.index.block_names for m in ctx.index.block(n).match_buffers)
    if viewed or buffer in ctx.index.addressed or buffer.strides or buffer.elem_offset is not None:
        raise refuse(
            "opaque-access", f"{buffer.name!r} is accessed by address or through views, or has strides", realize, buffer
        )


# The buffer is used only inside of loops, and each iteration works on a box of it.
def require_tile(ctx: Context, realize: BlockRealize, region: BufferRegion, consumers: Sequence[BlockRealize]) -> _Tile:
    loops = ctx.index.loops_above(realize)
    around = [f for f in loops if all(f in ctx.index.loops_above(c) for c in consumers)]
    if not consumers or not around:
        raise refuse(
            "no-tile", f"block {realize.block.name!r} and its consumers have no common loop", realize, *consumers,
            expected=f"compute_at({realize.block.name!r}, a loop of the consumer) first",
        )  # fmt: skip
    inner = {f.loop_var: Range(f.min, f.extent) for f in loops[len(around) :]}
    outer = {f.loop_var: Range(f.min, f.extent) for f in around}
    written = realized(region, realize)
    box = hull([written], inner, outer)
    steps: list[_Step] = []
    for axis, (place, span) in enumerate(zip(written.region, box.region, strict=True)):
        loop, stride = _step_of(span.min, around, box)
        length = build.int_value(simplify(span.extent, outer))
        if loop is None:
            continue
        if length is None:
            raise _no_overlap(realize, f"axis {axis} of {region.buffer.name!r} has a varying extent")
        offset = simplify(substitute(place.min, {loop.loop_var: _like(loop, 0)}), {**inner, **outer})
        if length > stride and prove_equal(place.min, build.add(span.min, offset), {**inner, **outer}):
            steps.append(_Step(loop, axis, length - stride, offset))
        elif length > stride:
            raise _no_overlap(realize, f"the tile does not move along axis {axis} with {loop.loop_var.name!r}")
    extents = tuple(simplify(r.extent, outer) for r in box.region)
    return _Tile(around[-1], tuple(around), extents, tuple(steps))


def _step_of(start: Expr, around: Sequence[For], box: BufferRegion) -> tuple[For | None, int]:
    """The loop that moves the start of a tile, and its largest step: `t`, `t * 4`, `t * 5 // 2`. No loop if the start is fixed."""
    start = simplify(start)
    whole, divisor = (start.a, build.int_value(start.b)) if isinstance(start, FloorDiv) else (start, 1)
    form = linear(whole)
    used = [f for f in around if uses_var(start, f.loop_var)]
    if not used:
        return None, 0
    single = form is not None and len(form.terms) == 1 and form.terms[0][0] is used[0].loop_var and form.constant == 0
    if len(used) > 1 or not single or form is None or divisor is None or form.terms[0][1] <= 0:
        raise refuse(
            "no-tile", f"the start of the tile of {box.buffer.name!r} is not a multiple of one loop", box,
            expected="t, t * 4 or t * 5 // 2 along each axis",
        )  # fmt: skip
    return used[0], -(-form.terms[0][1] // divisor)


# Consecutive tiles must overlap.
def require_overlap(realize: BlockRealize, tile: _Tile) -> _Step:
    """The step of the outermost loop."""
    moved = [s for loop in tile.outer for s in tile.steps if s.loop is loop]
    if not moved:
        raise _no_overlap(realize, "no overlap")
    return moved[0]


def _no_overlap(realize: BlockRealize, found: str):
    return refuse(
        "no-overlap", f"tiles of block {realize.block.name!r} do not overlap from iteration to iteration", realize, found=found,
        expected="a tile that one loop moves by less than its extent",
    )  # fmt: skip


# An element is kept from the previous iteration: in order, at the same position along the other axes, and not overwritten since.
def require_steps_in_order(ctx: Context, realize: BlockRealize, tile: _Tile, rolling: _Step) -> None:
    loops = ctx.index.loops_above(realize)
    names = {f.loop_var for f in loops}
    for loop in loops[loops.index(rolling.loop) :]:
        serial = loop not in tile.outer or (loop.kind in ("serial", "unrolled") and build.is_const(loop.min, 0))
        if not serial or (free_vars(loop.min) | free_vars(loop.extent)) & names:
            raise refuse(
                "order-dependent", f"iterations of {loop.loop_var.name!r} would need elements that other iterations computed",
                loop, realize, expected="serial loops from 0, with the same extent in all iterations",
            )  # fmt: skip
    written = realized(realize.block.writes[0], realize)
    for step in tile.steps:
        if sum(uses_var(r, step.loop.loop_var) for r in written.region) > 1:
            raise refuse(
                "order-dependent", f"loop {step.loop.loop_var.name!r} moves the tile along several axes", step.loop, realize,
                expected="a separate loop for each axis",
            )  # fmt: skip
    buffer = realize.block.writes[0].buffer
    for outer in tile.outer[: tile.outer.index(rolling.loop)]:
        if outer.kind not in ("serial", "unrolled") and shares_elements(ctx, outer, realize, buffer):
            raise refuse(
                "order-dependent", f"iterations of {outer.loop_var.name!r} run concurrently and share {buffer.name!r}", outer, realize,
            )  # fmt: skip


# Only the tile of the current iteration is available.
def require_same_tile(ctx: Context, realize: BlockRealize, consumer: BlockRealize, buffer: Buffer) -> None:
    if any(w.buffer is buffer for w in consumer.block.writes) or not is_covered(ctx.index, realize, consumer, buffer):
        raise refuse(
            "region-not-covered",
            f"block {consumer.block.name!r} may read elements of {buffer.name!r} that {realize.block.name!r} did not write "
            "in the same iteration",
            realize, consumer, expected="reads within the tile",
        )  # fmt: skip


# A value from the previous iteration must equal the value that the current one would compute.
def require_final_tiles(
    ctx: Context, realize: BlockRealize, tile: _Tile, rolling: _Step, consumers: Sequence[BlockRealize]
) -> None:
    if not only_guards_domain(realize):
        raise refuse(
            "order-dependent", f"the predicate of block {realize.block.name!r} may exclude different elements in each iteration", realize,
            expected="a predicate that only keeps iterators in their domains",
        )  # fmt: skip
    inside = tile.outer[tile.outer.index(rolling.loop) :]
    for consumer in consumers:
        block_motion.require_final(ctx, realize, consumer, inside)
    read = {r.buffer for r in realize.block.reads} - {w.buffer for w in realize.block.writes}
    for maker in ctx.index.child_blocks(rolling.loop):
        made = next((w.buffer for w in maker.block.writes if w.buffer in read), None)
        if made is not None:
            if not is_covered(ctx.index, maker, realize, made):
                raise refuse(
                    "not-final",
                    f"block {maker.block.name!r} computes {made.name!r} in the same loops, but not all elements that one iteration reads",
                    maker, realize,
                )  # fmt: skip
            block_motion.require_final(ctx, maker, realize, inside)


# -- construction


def _with_indices(func: PrimFunc, old: Buffer, new: Buffer, axis: int, change: _Change) -> PrimFunc:
    """The function with `new` for `old`, and a changed index along the axis."""

    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad | BufferStore) and node.buffer is old:
            indices = tuple(change(i) if n == axis else i for n, i in enumerate(node.indices))
            return replace_fields(node, buffer=new, indices=indices)
        if isinstance(node, Block):
            return _with_regions(node, old, new)
        return node

    return rewrite(func, leave)


def _with_regions(block: Block, old: Buffer, new: Buffer) -> Block:
    """The block with new regions of the buffer, and an allocation in place of the old one."""
    owned = tuple(new if b is old else b for b in block.alloc_buffers)
    if not any(r.buffer is old for r in (*block.reads, *block.writes)):
        return block if old not in block.alloc_buffers else replace_fields(block, alloc_buffers=owned)
    found = accessed_regions(block)
    sides = (
        tuple(
            next((f for f in mine if f.buffer is new), build.full_region(new)) if r.buffer is old else r for r in before
        )
        for before, mine in zip((block.reads, block.writes), found, strict=True)
    )
    reads, writes = sides
    return replace_fields(block, reads=reads, writes=writes, alloc_buffers=owned)


def _marked(func: PrimFunc, top: Var, roll: _Roll) -> PrimFunc:
    """The function with opaque iterators where order now matters: as in TVM those at the axis' position; in the block, the axis' own."""
    index = Context(func).index
    new: dict[Node, Node] = {}
    for realize in index.child_blocks(index.loop(top)):
        block = realize.block
        write = next((w for w in block.writes if w.buffer is roll.buffer and block.name == roll.block), None)
        along = free_vars(write.region[roll.axis]) if write is not None else set[Var]()
        iterators = tuple(
            replace_fields(iv, iter_type="opaque")
            if iv.iter_type == "spatial" and (n == roll.axis or iv.var in along)
            else iv
            for n, iv in enumerate(block.iter_vars)
        )
        new[realize] = replace_fields(realize, block=replace_fields(block, iter_vars=iterators))
    return replace_nodes(func, new)


# -- buffers that roll already


def _rolled(ctx: Context) -> list[_Roll]:
    """The buffers that are written at `i % size` along an axis of that size, with an opaque iterator i."""
    found: list[_Roll] = []
    for name in ctx.index.block_names:
        block = ctx.index.block(name)
        opaque = {iv.var for iv in block.iter_vars if iv.iter_type == "opaque"}
        for write in block.writes:
            for axis, span in enumerate(write.region):
                match span.min:
                    case FloorMod(a=Var() as var, b=size) if var in opaque and structural_equal(
                        size, write.buffer.shape[axis]
                    ):
                        found.append(_Roll(name, write.buffer, axis))
                    case _:
                        pass
    return found


def _unrolled(func: PrimFunc, rolled: Sequence[_Roll]) -> PrimFunc:
    """The function without rolling: each element of these buffers has its own position, and is computed in each tile."""
    for roll in rolled:
        index = Context(func).index
        realize = index.realize(roll.block)
        write = next(w for w in realize.block.writes if w.buffer.name == roll.buffer.name)
        var = next(iter(free_vars(write.region[roll.axis])))
        dom = next(iv.dom for iv in realize.block.iter_vars if iv.var is var)
        shape = list(write.buffer.shape)
        shape[roll.axis] = simplify(build.add(dom.min, dom.extent))
        kept = (t for t in build.conjuncts(realize.predicate) if not _is_kept_term(t))
        func = replace_nodes(func, {realize: replace_fields(realize, predicate=build.logical_and(*kept))})
        flat = replace_fields(write.buffer, shape=tuple(shape))
        func = _with_indices(func, write.buffer, flat, roll.axis, lambda i: i.a if isinstance(i, FloorMod) else i)
    if not rolled:
        return func

    def leave(node: Node) -> Node:
        opaque = isinstance(node, IterVar) and node.iter_type == "opaque"
        return replace_fields(node, iter_type="spatial") if opaque else node

    return rewrite(func, leave)


def _is_kept_term(term: Expr) -> bool:
    """`t < 1 or 2 <= a`."""
    return isinstance(term, Or) and isinstance(term.a, LT) and isinstance(term.a.a, Var) and build.is_const(term.a.b, 1)
