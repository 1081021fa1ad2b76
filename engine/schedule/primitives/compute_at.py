"""Blocks moved under loops of others: compute_at towards the consumers, reverse_compute_at towards the producers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import ProgramIndex, hull, is_covered, is_injective, realized, runs_at
from ...arith import linear, simplify
from ...ir import (
    BlockRealize,
    Buffer,
    BufferRegion,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    PrimFunc,
    Range,
    Refusal,
    SeqStmt,
    Stmt,
    Var,
    build,
    replace_nodes,
    uses_var,
)
from .. import moves
from ..context import BlockRV, Context, LoopRV, Result
from ..domains import guard_terms, needed_domains, with_var
from ..errors import ScheduleError, refuse

Direction = Literal["compute_at", "reverse_compute_at"]


def compute_at(
    ctx: Context, block: BlockRV, loop: LoopRV | str, preserve_unit_loops: bool = False, index: int = -1
) -> Result:
    """Move a block under a loop of its consumers, so that each iteration computes what it needs.

    Rewrite:
        for i, j in T.grid(n, m):            for i in range(n):
            B[i, j] = f(A[i, j])        =>       for ax0 in range(m):
        for i, j in T.grid(n, m):                    B[i, ax0] = f(A[i, ax0])
            C[i, j] = g(B[i, j])                 for j in range(m):
                                                     C[i, j] = g(B[i, j])               # compute_at(B, i)
    The block runs over what its consumers below the loop read, cut to its domain (by a predicate where the cut depends on loops).
    `index`: before the first consumer (-1, default), first in the loop (-2), or the position among the loop's statements.
    `preserve_unit_loops` keeps new loops of extent 1.
    Requires: a complete or reduction block that writes intermediates only; all consumers under the loop, which is of the same scope
    and not around the block; its inputs are the same at both places.
    Returns: nothing. The block lives on, its loops die; new ones `ax0, ax1, …` run the iterators in order.
    Errors: other-scope, loop-around-block, not-complete, output-block, no-consumer, not-all-consumers, only-block, region-not-covered,
    region-not-solvable, write-after-read, order-dependent, not-final, partial-sum, bad-index.
    Source: TVM src/s_tir/schedule/primitive/compute_at.cc, ComputeAt.
    """
    return Result(_moved_or_refused(ctx, "compute_at", block, loop, preserve_unit_loops, index))


def reverse_compute_at(
    ctx: Context, block: BlockRV, loop: LoopRV | str, preserve_unit_loops: bool = False, index: int = -1
) -> Result:
    """Move a block under a loop of its producers, so that each iteration uses what it has made.

    Rewrite:
        for i, j in T.grid(n, m):            for i in range(n):
            B[i, j] = f(A[i, j])        =>       for j in range(m):
        for i, j in T.grid(n, m):                    B[i, j] = f(A[i, j])
            C[i, j] = g(B[i, j])                 for ax0 in range(m):
                                                     C[i, ax0] = g(B[i, ax0])           # reverse_compute_at(C, i)
    `index`: last in the loop (-1, default), right after the last producer (-2), or the position among the loop's statements.
    Requires: a complete or reduction block; all producers under the loop, which is of the same scope and not around the block; in each
    iteration the block reads only what was finished in it: the loop, and those around it, run no reduction of a producer.
    Returns: nothing. The block lives on, its loops die; new ones `ax0, ax1, …` run the iterators in order.
    Errors: as compute_at, and not-all-producers, not-ready, consumer-before, reduction-repeated, loop-may-not-run.
    Source: TVM src/s_tir/schedule/primitive/compute_at.cc, ReverseComputeAt; TVM accepts reduction loops of the producer.
    """
    return Result(_moved_or_refused(ctx, "reverse_compute_at", block, loop, preserve_unit_loops, index))


class Target(msgspec.Struct, frozen=True, eq=False):
    """A loop as a place for a block: `primitive` is the call that moves it there, or the one that `refusal` is of."""

    loop: Var
    legal: bool
    primitive: Direction
    refusal: Refusal | None = None


def legal_targets(ctx: Context, block: BlockRV) -> tuple[Target, ...]:
    """The verdict on every loop of the function, in text order. Legal exactly when the call succeeds: the same code decides."""
    realize = ctx.realize(block)
    always = _refused(lambda: _require_movable(ctx, realize))
    refused: dict[Direction, ScheduleError | None] = {
        d: _refused(lambda d=d: _require_direction(ctx, realize, d)) or always for d in _DIRECTIONS
    }
    verdicts = [_target(ctx, realize, loop, refused) for loop in ctx.index.loops]
    legal: dict[Var, Direction] = {t.loop: t.primitive for t in verdicts if t.legal}
    return tuple(t if t.legal else _with_fix(ctx, t, block, legal) for t in verdicts)


_DIRECTIONS: tuple[Direction, Direction] = ("compute_at", "reverse_compute_at")


def _target(
    ctx: Context, realize: BlockRealize, loop: For, refused: Mapping[Direction, ScheduleError | None]
) -> Target:
    errors: dict[Direction, ScheduleError] = {}
    for direction in _DIRECTIONS:
        error = _refused(lambda: _require_place(ctx, realize, loop)) or refused[direction]
        error = error or _refused(
            lambda d=direction: _moved(ctx, d, realize, loop, preserve_unit_loops=False, index=-1)
        )
        if error is None:
            return Target(loop.loop_var, True, direction)
        errors[direction] = error
    natural: Direction = "compute_at" if _stands_after(ctx, loop, realize) else "reverse_compute_at"
    return Target(loop.loop_var, False, natural, errors[natural].refusal)


def _refused(call: Callable[[], object]) -> ScheduleError | None:
    try:
        call()
    except ScheduleError as error:
        return error
    return None


def _stands_after(ctx: Context, loop: For, realize: BlockRealize) -> bool:
    names = ctx.index.block_names
    first = next(iter(ctx.index.child_blocks(loop)), None)
    return first is None or names.index(first.block.name) > names.index(realize.block.name)


def _with_fix(ctx: Context, target: Target, block: BlockRV, legal: Mapping[Var, Direction]) -> Target:
    """The refusal with the nearest loop around the refused one that is legal, where it says no other fix."""
    assert target.refusal is not None
    if target.refusal.fix:
        return target
    for outer in reversed(ctx.index.loops_above(ctx.index.loop(target.loop))):
        if legal.get(outer.loop_var) == target.primitive:
            fix = (_call(target.primitive, block, outer.loop_var),)
            return replace_fields(target, refusal=replace_fields(target.refusal, fix=fix))
    return target


# The one way to move a block.


def _moved_or_refused(
    ctx: Context, direction: Direction, block: BlockRV, loop: LoopRV | str, preserve_unit_loops: bool, index: int
) -> PrimFunc:
    realize, target = ctx.realize(block), ctx.loop(loop)
    _require_place(ctx, realize, target)
    _require_direction(ctx, realize, direction)
    _require_movable(ctx, realize)
    try:
        return _moved(ctx, direction, realize, target, preserve_unit_loops=preserve_unit_loops, index=index)
    except ScheduleError as error:
        if error.refusal.fix or error.code == "bad-index":
            raise
        raise ScheduleError(_with_outer_loop(ctx, direction, realize, target, error.refusal)) from error


def _with_outer_loop(ctx: Context, direction: Direction, realize: BlockRealize, loop: For, refusal: Refusal) -> Refusal:
    """The refusal with the nearest loop around the refused one that takes the block, if there is one."""
    for outer in reversed(ctx.index.loops_above(loop)):
        refused = _refused(lambda outer=outer: _require_place(ctx, realize, outer)) or _refused(
            lambda outer=outer: _moved(ctx, direction, realize, outer, preserve_unit_loops=False, index=-1)
        )
        if refused is None:
            return replace_fields(refusal, fix=(_call(direction, realize.block.name, outer.loop_var),))
    return refusal


def _call(direction: Direction, block: BlockRV, loop: Var) -> str:
    return f"sch.{direction}({block!r}, {loop.name})"


# The loop is of the block's own scope, and not around it already.
def _require_place(ctx: Context, realize: BlockRealize, loop: For) -> None:
    name, loop_name = realize.block.name, loop.loop_var.name
    if realize is ctx.index.root:
        raise refuse("root-block", "the root block cannot be moved", realize)
    if ctx.index.is_inside(realize, loop):
        raise refuse("loop-around-block", f"loop {loop_name!r} stands around block {name!r} already", loop, realize)
    if ctx.index.scope_of(loop) is not ctx.index.scope_of(realize):
        raise refuse(
            "other-scope", f"loop {loop_name!r} is in another block's scope than block {name!r}", loop, realize
        )


# Towards the consumers there must be some, and they must all be known.
def _require_direction(ctx: Context, realize: BlockRealize, direction: Direction) -> None:
    if direction == "compute_at" and realize is not ctx.index.root:
        moves.require_intermediate(ctx, realize)
        if not ctx.index.consumers(realize.block.name):
            raise refuse("no-consumer", f"nobody reads what block {realize.block.name!r} writes", realize)


def _require_movable(ctx: Context, realize: BlockRealize) -> None:
    """The rules that depend neither on the loop nor on the direction."""
    if realize is ctx.index.root:
        raise refuse("root-block", "the root block cannot be moved", realize)
    moves.require_complete_or_reduction(ctx, realize)
    moves.removal(ctx, realize)
    moves.require_read_before_write(ctx, realize)
    moves.require_own_order(ctx, realize, "move")
    if realize.block.init is not None or ctx.index.is_output(realize.block.name):
        moves.require_full_domain(ctx, realize)
    else:
        moves.require_safe_domain(ctx, realize)
    for producer in _producers(ctx, realize):
        moves.require_covered(ctx, producer, realize)
    for consumer in _consumers(ctx, realize):
        moves.require_covered(ctx, realize, consumer)


def _producers(ctx: Context, realize: BlockRealize) -> list[BlockRealize]:
    return [ctx.index.realize(n) for n in ctx.index.producers(realize.block.name)]


def _consumers(ctx: Context, realize: BlockRealize) -> list[BlockRealize]:
    return [ctx.index.realize(n) for n in ctx.index.consumers(realize.block.name)]


def _moved(
    ctx: Context, direction: Direction, realize: BlockRealize, loop: For, *, preserve_unit_loops: bool, index: int
) -> PrimFunc:
    """The function with the block under the loop. Refuses by the rules that depend on the loop."""
    forward = direction == "compute_at"
    around = (*ctx.index.loops_above(loop), loop)
    position = _position(ctx, realize, loop, index, forward=forward)
    _require_same_inputs(ctx, realize, around, forward=forward)
    others = _consumers(ctx, realize) if forward else _producers(ctx, realize)
    if not forward:
        _require_runs(ctx, realize, loop)
        _require_same_outputs(ctx, realize, around)

    required = _required_boxes(ctx, realize, loop, others, forward=forward)
    nest = _new_nest(ctx, realize, loop, required, forward=forward, preserve_unit_loops=preserve_unit_loops)
    scope = ctx.index.scope_of(realize)
    body = moves.removed(ctx, realize, scope.body)
    inside = _statements(loop)
    new_loop = replace_fields(loop, body=build.seq([*inside[:position], nest, *inside[position:]]))
    func = ctx.replaced({scope: replace_fields(scope, body=replace_nodes(body, {loop: new_loop}))})
    if not forward:
        _require_ready(func, realize, others, around, before=ctx.index.loops_above(realize))
    return func


# A block that no producer brings to the loop would not run at all where the loop does not.
def _require_runs(ctx: Context, realize: BlockRealize, loop: For) -> None:
    if not runs_at(ctx.index, loop, set(ctx.index.path(realize))):
        raise refuse(
            "loop-may-not-run", f"loop {loop.loop_var.name!r} may have no iteration, or stands under a condition", loop,
            expected="a loop that always runs",
        )  # fmt: skip


def _statements(loop: For) -> tuple[Stmt, ...]:
    return loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)


# Between the last producer and the first consumer.
def _position(ctx: Context, realize: BlockRealize, loop: For, index: int, *, forward: bool) -> int:
    inside = _statements(loop)
    producers = _places(ctx, realize, _producers(ctx, realize), inside, loop, required=not forward, kind="producers")
    consumers = _places(ctx, realize, _consumers(ctx, realize), inside, loop, required=forward, kind="consumers")
    first, last = max(producers, default=-1) + 1, min(consumers, default=len(inside))
    if first > last:
        raise refuse(
            "consumer-before",
            f"under loop {loop.loop_var.name!r} a consumer of {realize.block.name!r} stands before a producer",
            loop,
        )
    if index == -1:
        return last
    if index == -2:
        return first
    if not first <= index <= last:
        raise refuse(
            "bad-index", f"block {realize.block.name!r} cannot stand at position {index} of loop {loop.loop_var.name!r}", loop,
            found=str(index), expected=f"-1, -2, or {first} to {last}",
        )  # fmt: skip
    return index


def _places(
    ctx: Context,
    realize: BlockRealize,
    others: Sequence[BlockRealize],
    inside: Sequence[Stmt],
    loop: For,
    *,
    required: bool,
    kind: str,
) -> list[int]:
    """The statements of the loop that the `others` stand in; all must when `required`."""
    found: list[int] = []
    outside: list[BlockRealize] = []
    for other in others:
        place = next((i for i, s in enumerate(inside) if ctx.index.is_inside(other, s)), None)
        if place is None:
            outside.append(other)
        else:
            found.append(place)
    if outside and required:
        name, names = realize.block.name, ", ".join(o.block.name for o in outside)
        raise refuse(
            f"not-all-{kind}", f"loop {loop.loop_var.name!r} does not contain all {kind} of block {name!r}", loop, *outside,
            found=f"outside: {names}", expected=f"a loop around {', '.join(o.block.name for o in others)}",
        )  # fmt: skip
    return found


# The block reads the same values where it comes to stand, and reduces all of them there.
def _require_same_inputs(ctx: Context, realize: BlockRealize, around: Sequence[For], *, forward: bool) -> None:
    for producer in _producers(ctx, realize):
        lost = moves.lost_loops(ctx, producer, realize, around)
        moves.require_final(ctx, producer, realize, lost if forward else (*lost, *around))
    before = ctx.index.loops_above(realize)
    for loop in around:
        if loop in before and moves.drives_reduction(realize, loop):
            raise refuse(
                "reduction-outside", f"loop {loop.loop_var.name!r}, around both places, runs the reduction of block {realize.block.name!r}",
                loop, realize, expected="a block whose whole reduction moves with it",
            )  # fmt: skip


# Those who read the block find the same values although it runs earlier.
def _require_same_outputs(ctx: Context, realize: BlockRealize, around: Sequence[For]) -> None:
    names = ctx.index.block_names
    for consumer in _consumers(ctx, realize):
        moves.require_final(ctx, realize, consumer, moves.lost_loops(ctx, realize, consumer, around))
        inside = ctx.index.child_blocks(around[-1])
        if consumer not in inside and any(names.index(r.block.name) > names.index(consumer.block.name) for r in inside):
            raise refuse(
                "consumer-before",
                f"block {consumer.block.name!r} reads {realize.block.name!r} before loop {around[-1].loop_var.name!r} runs",
                consumer, around[-1], expected="a loop that stands before all consumers",
            )  # fmt: skip


def _required_boxes(
    ctx: Context, realize: BlockRealize, loop: For, others: Sequence[BlockRealize], *, forward: bool
) -> dict[Buffer, BufferRegion]:
    """What `others` read (or, backward, write) of the block's buffers in one iteration of the loop."""
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
    """The loops around `other` inside of `loop`; and the threads above it that share `buffer`, which fill it together."""
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


def _new_nest(
    ctx: Context,
    realize: BlockRealize,
    loop: For,
    required: Mapping[Buffer, BufferRegion],
    *,
    forward: bool,
    preserve_unit_loops: bool,
) -> Stmt:
    """The block in new loops that cover the required boxes."""
    block = realize.block
    ranges = ctx.loop_ranges(loop) | {loop.loop_var: Range(loop.min, loop.extent)}
    domains = needed_domains(block, block.writes if forward else block.reads, required, ranges, every=forward)
    loops: list[tuple[Var, Expr]] = []
    values: list[Expr] = []
    terms: list[Expr] = []
    for domain, iter_var in zip(domains, block.iter_vars, strict=True):
        extent = simplify(domain.span.first_and_extent.extent, ranges)
        var = None
        if preserve_unit_loops or not build.is_const(extent, 1):
            var = Var(f"ax{len(loops)}", iter_var.var.dtype)
            loops.append((var, extent))
            ranges = ranges | {var: build.make_range(0, extent)}
        values.append(with_var(domain, var))
        terms.extend(guard_terms(values[-1], domain.guard, ranges))
    predicate = build.logical_and(*(simplify(t, ranges) for t in terms))
    nest: Stmt = BlockRealize(tuple(values), predicate, block)
    for var, extent in reversed(loops):
        nest = build.serial(var, extent, nest)
    return nest


# In each iteration the block reads only what its producers have made in it, and reduces each of it once.
def _require_ready(
    func: PrimFunc,
    realize: BlockRealize,
    producers: Sequence[BlockRealize],
    around: Sequence[For],
    before: Sequence[For],
) -> None:
    index = ProgramIndex(func)
    new = index.realize(realize.block.name)
    for producer in producers:
        for buffer in moves.written_for(producer, realize):
            if not is_covered(index, index.realize(producer.block.name), new, buffer):
                raise refuse(
                    "not-ready",
                    f"in one iteration of loop {around[-1].loop_var.name!r} block {producer.block.name!r} does not make all of "
                    f"{buffer.name!r} that block {realize.block.name!r} reads",
                    around[-1], producer, expected="a loop in whose iterations producer and consumer use the same tile",
                )  # fmt: skip
    _require_reduced_once(index, new, [f for f in around if f not in before], before)


# A sum that is spread over the loops around must take each term once, the first one first.
def _require_reduced_once(
    index: ProgramIndex, realize: BlockRealize, around: Sequence[For], before: Sequence[For]
) -> None:
    outside = {f.loop_var for f in before}
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    reduced = [v for iv, v in pairs if iv.iter_type == "reduce"]
    if not any(uses_var(v, f.loop_var) for v in reduced for f in around):
        return
    loops = {f.loop_var: Range(f.min, f.extent) for f in index.loops_above(realize) if f.loop_var not in outside}
    if not (is_injective([v for _, v in pairs], loops) and all(map(_grows, reduced))):
        raise refuse(
            "reduction-repeated", f"block {realize.block.name!r} would take terms of its reduction more than once", around[-1], realize,
            expected="loops that each run an iterator of the block",
        )  # fmt: skip


def _grows(value: Expr) -> bool:
    """Whether the value is a sum of digits of loops, none taken away: then its first value comes first."""
    form = linear(value)
    return form is not None and all(f > 0 and isinstance(a, Var | FloorDiv | FloorMod) for a, f in form.terms)
