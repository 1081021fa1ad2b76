"""Loops of a moved block at its new place: one for each iterator, or the tiles of its old loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import hull, realized
from ...arith import linear, prove, prove_equal, simplify
from ...ir import (
    BlockRealize,
    Buffer,
    BufferRegion,
    Expr,
    For,
    IterVar,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
)
from ...lower import PIPELINE_KEYS
from ..context import Context
from ..errors import refuse
from .domains import guard_terms, needed_domains

Ranges = Mapping[Var, Range]


class Options(msgspec.Struct, frozen=True):
    """Form of the new loops: `preserve_unit_loops` keeps loops of one trip, `keep_tiling` reproduces the old tiles."""

    preserve_unit_loops: bool = False
    keep_tiling: bool = False


class _Digit(msgspec.Struct, frozen=True, eq=False):
    """A loop to create: its step in the iterator, its position among the loops, and the old loop as its template."""

    loop: For
    step: int
    place: int


def required_boxes(
    ctx: Context, realize: BlockRealize, loop: For, others: Sequence[BlockRealize], *, forward: bool
) -> dict[Buffer, BufferRegion]:
    """The regions of the block's buffers that `others` read (or, backward, write) in one iteration of the loop."""
    buffers = dict.fromkeys(r.buffer for r in (realize.block.writes if forward else realize.block.reads))
    boxes: dict[Buffer, list[BufferRegion]] = {}
    ranges: dict[Var, Range] = {}
    for other in others:
        ranges |= ctx.loop_ranges(other)
        for region in other.block.reads if forward else other.block.writes:
            if region.buffer in buffers:
                relaxed = _relaxed(ctx, other, loop, region.buffer if forward else None)
                box = hull([realized(region, other)], relaxed, ctx.loop_ranges(other))
                boxes.setdefault(region.buffer, []).append(box)
    return {b: hull(boxes[b], {}, ranges) if len(boxes[b]) > 1 else boxes[b][0] for b in buffers if b in boxes}


def _relaxed(ctx: Context, other: BlockRealize, loop: For, buffer: Buffer | None) -> dict[Var, Range]:
    """The loops around `other` inside of `loop`, and the threads above it that share `buffer`: they fill it together."""
    loops = ctx.index.loops_above(other)
    below = loops[loops.index(loop) + 1 :]
    shared = [f for f in loops if buffer is not None and f not in below and _is_shared_by(buffer.scope, f)]
    return {f.loop_var: Range(f.min, f.extent) for f in (*below, *shared)}


def _is_shared_by(scope: str, loop: For) -> bool:
    if loop.kind != "thread_binding" or loop.thread_tag is None:
        return False
    memory = scope.split(".")[0]
    if memory == "warp":
        return loop.thread_tag == "threadIdx.x"
    return memory == "shared" and not loop.thread_tag.startswith("blockIdx")


def new_nest(
    ctx: Context,
    realize: BlockRealize,
    loop: For,
    required: Mapping[Buffer, BufferRegion],
    *,
    forward: bool,
    options: Options,
) -> Stmt:
    """The block in new loops under `loop` that cover the required boxes."""
    block = realize.block
    ranges = ctx.loop_ranges(loop) | {loop.loop_var: Range(loop.min, loop.extent)}
    domains = needed_domains(block, block.writes if forward else block.reads, required, ranges, every=forward)
    tiles = _tiles(ctx, realize, loop) if options.keep_tiling else {}
    made: list[tuple[int, For]] = []
    values: list[Expr] = []
    terms: list[Expr] = []
    for domain, iter_var in zip(domains, block.iter_vars, strict=True):
        extent = simplify(domain.span.first_and_extent.extent, ranges)
        tile = tiles.get(iter_var.var)
        if not tile:
            tile = [_Digit(build.serial(Var(f"ax{len(made)}", iter_var.var.dtype), extent, realize), 1, -1)]
        loops, offset = _cut(tile, extent, ranges, keep_units=options.preserve_unit_loops)
        made += loops
        ranges = ranges | {f.loop_var: Range(f.min, f.extent) for _, f in loops}
        if not (offset is extent or prove(build.lt(offset, extent), ranges)):
            terms.append(build.lt(offset, extent))
        value = build.add(domain.span.low, offset)
        values.append(simplify(value, ranges) if len(loops) > 1 else value)
        terms.extend(guard_terms(values[-1], domain.guard, ranges))
    predicate = build.logical_and(*(simplify(t, ranges) for t in terms))
    in_order = [f for _, f in sorted(made, key=lambda entry: entry[0])]
    _require_threads_once(ctx, loop, in_order)
    return build.nest(in_order, BlockRealize(tuple(values), predicate, block))


def _cut(
    tile: Sequence[_Digit], extent: Expr, ranges: Ranges, *, keep_units: bool
) -> tuple[list[tuple[int, For]], Expr]:
    """The loops that count to `extent` with the digits of `tile` (innermost first), and the value that they count.

    The last loop covers the remaining trips; loops of one trip are omitted unless `keep_units`.
    """
    loops: list[tuple[int, For]] = []
    offset: Expr = build.const(0, extent.dtype)
    rest = extent
    for position, digit in enumerate(tile):
        trips = rest
        if position + 1 < len(tile):
            whole = digit.loop.extent
            trips = simplify(build.minimum(whole, rest)) if build.int_value(rest) is not None else whole
            rest = simplify(build.floordiv(build.add(rest, build.sub(whole, 1)), whole), ranges)
        if build.is_const(trips, 1) and not keep_units:
            continue
        loops.append((digit.place, _like(digit.loop, trips)))
        offset = build.add(build.mul(digit.loop.loop_var, digit.step), offset)
    return loops, offset


def _like(old: For, extent: Expr) -> For:
    if old.thread_tag is not None and not prove_equal(extent, old.extent):
        raise _not_kept(old, f"{old.thread_tag} would have a different extent")
    return replace_fields(old, min=build.const(0, old.loop_var.dtype), extent=extent)


# A thread axis occurs once above a block.
def _require_threads_once(ctx: Context, loop: For, made: Sequence[For]) -> None:
    used = {f.thread_tag for f in (loop, *ctx.index.path(loop)) if isinstance(f, For)} - {None}
    for new in made:
        if new.thread_tag in used:
            raise _not_kept(new, f"{new.thread_tag} already binds a loop around the new position")


def _tiles(ctx: Context, realize: BlockRealize, loop: For) -> dict[Var, list[_Digit]]:
    """For each iterator, the loops that count it, innermost first. Refuses "tiling-not-kept" for a binding that is no sum of digits."""
    around = {loop, *ctx.index.loops_above(loop)}
    own = [f for f in ctx.index.loops_above(realize) if f not in around]
    leaving = _loops_of_its_own(ctx, realize)
    new = {f: f if f in leaving else _sibling(f) for f in own}
    used: set[For] = set()
    tiles: dict[Var, list[_Digit]] = {}
    for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        steps = _steps(iter_var, value, own)
        again = next((f for f, _ in steps if f in used), None)
        if again is not None:
            raise _not_kept(again, "it drives several iterators")
        used |= {f for f, _ in steps}
        tiles[iter_var.var] = [_Digit(new[f], step, own.index(f)) for f, step in steps]
    return tiles


def _sibling(loop: For) -> For:
    """A copy of a loop that stays around other blocks: same name, without the pipeline annotations."""
    notes = tuple(note for note in loop.annotations if note[0] not in PIPELINE_KEYS)
    return replace_fields(loop, loop_var=Var(loop.loop_var.name, loop.loop_var.dtype), annotations=notes)


def _steps(iter_var: IterVar, value: Expr, own: Sequence[For]) -> list[tuple[For, int]]:
    """The loops in the value with their factors, innermost first: a factor equals the product of the trips of the loops further in."""
    by_var = {f.loop_var: f for f in own}
    form = linear(value)
    found: list[tuple[For, int]] = []
    for atom, factor in form.terms if form is not None else ():
        if isinstance(atom, Var) and atom in by_var:
            found.append((by_var[atom], factor))
        elif free_vars(atom) & by_var.keys():
            raise _not_kept(next(by_var[v] for v in by_var if v in free_vars(atom)), "several loops are fused into it")
    if form is None and free_vars(value) & by_var.keys():
        raise _not_kept(
            next(by_var[v] for v in by_var if v in free_vars(value)), "its iterator is not bound to a sum of loops"
        )
    found = sorted((f for f in found if not build.is_const(f[0].extent, 1)), key=lambda entry: entry[1])
    step = 1
    for position, (loop, factor) in enumerate(found):
        trips = build.int_value(loop.extent)
        if factor != step or (trips is None and position + 1 < len(found)):
            raise _not_kept(loop, f"it does not count {iter_var.var.name!r} on where the loops inside have run through")
        step = factor * (trips or 1)
    return found


def _loops_of_its_own(ctx: Context, realize: BlockRealize) -> set[For]:
    """The loops that move with the block."""
    found: set[For] = set()
    for outer in ctx.index.path(realize):
        if not isinstance(outer, For):
            break
        found.add(outer)
    return found


def _not_kept(loop: For, why: str):
    return refuse(
        "tiling-not-kept", f"loop {loop.loop_var.name!r} cannot be kept at the new position: {why}", loop,
        expected="loops that split created, each a digit of one iterator",
    )  # fmt: skip
