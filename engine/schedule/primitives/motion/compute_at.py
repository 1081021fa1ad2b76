"""Block motion: compute_at moves a block under a loop of its consumers, reverse_compute_at under a loop of its producers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace as replace_fields

from ....analysis import is_covered, is_injective, runs_at
from ....arith import linear
from ....ir import (
    BlockRealize,
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
    uses_var,
)
from ...context import BlockRV, Context, LoopRV, Result
from ...errors import ScheduleError, refuse
from ...rules import block_motion
from ...rules.checks import is_in_init
from ...rules.finalize import finalize
from ...rules.new_loops import Options, new_nest, required_boxes

Direction = Literal["compute_at", "reverse_compute_at"]


def compute_at(
    ctx: Context,
    block: BlockRV,
    loop: LoopRV,
    preserve_unit_loops: bool = False,
    index: int = -1,
    *,
    keep_tiling: bool = False,
) -> Result[None]:
    """Move a block under a loop of its consumers: each iteration computes the part that it reads.

    Rewrite:
        for i, j in T.grid(n, m):            for i in range(n):
            B[i, j] = f(A[i, j])        =>       for ax0 in range(m):
        for i, j in T.grid(n, m):                    B[i, ax0] = f(A[i, ax0])
            C[i, j] = g(B[i, j])                 for j in range(m):
                                                     C[i, j] = g(B[i, j])               # compute_at(B, i)
    The block computes the region that its consumers below the loop read, restricted to its domain (by a predicate if the limit depends on
    loops).
    `index`: before the first consumer (-1, default), first in the loop (-2), or the position among the loop's statements.
    `preserve_unit_loops` keeps new loops of extent 1. `keep_tiling` keeps the block's own loops for the region that it computes: the same
    tiles and order, and each loop with its name, kind and annotations. A predicate guards tiles that do not divide the region evenly.
    Requires: a complete or reduction block that writes intermediate buffers only; all consumers are below the loop; the loop is in the same
    scope and does not contain the block; the block's inputs have the same values at both places.
    Returns: nothing. The block stays valid and its loops are removed; new loops `ax0, ax1, …` run over its iterators in order. With
    `keep_tiling` the loops with more than one iteration stay valid.
    Errors: other-scope, loop-around-block, not-complete, output-block, no-consumer, not-all-consumers, only-block, region-not-covered,
    region-not-solvable, write-after-read, order-dependent, not-final, partial-sum, bad-index, in-init, tiling-not-kept.
    Source: TVM src/s_tir/schedule/primitive/compute_at.cc, ComputeAt; `keep_tiling` is Tilewright's.
    """
    options = Options(preserve_unit_loops, keep_tiling)
    return Result(_moved_or_refused(ctx, "compute_at", block, loop, options, index), None)


def reverse_compute_at(
    ctx: Context,
    block: BlockRV,
    loop: LoopRV,
    preserve_unit_loops: bool = False,
    index: int = -1,
    *,
    keep_tiling: bool = False,
) -> Result[None]:
    """Move a block under a loop of its producers: each iteration consumes the part that it has computed.

    Rewrite:
        for i, j in T.grid(n, m):            for i in range(n):
            B[i, j] = f(A[i, j])        =>       for j in range(m):
        for i, j in T.grid(n, m):                    B[i, j] = f(A[i, j])
            C[i, j] = g(B[i, j])                 for ax0 in range(m):
                                                     C[i, ax0] = g(B[i, ax0])           # reverse_compute_at(C, i)
    `index`: last in the loop (-1, default), right after the last producer (-2), or the position among the loop's statements.
    `preserve_unit_loops`, `keep_tiling`: as for `compute_at`.
    Requires: a complete or reduction block; all producers are below the loop; the loop is in the same scope and does not contain the block;
    each iteration reads only elements that are final in it: neither the loop nor a loop around it runs a reduction of a producer. (A copy
    may repeat in such loops if no other block in them reads it: the last iteration overwrites the partial sums.)
    Returns: nothing. The block stays valid and its loops are removed; new loops `ax0, ax1, …` run over its iterators in order.
    Errors: as compute_at, and not-all-producers, not-ready, consumer-before, reduction-repeated, loop-may-not-run.
    Source: TVM src/s_tir/schedule/primitive/compute_at.cc, ReverseComputeAt; TVM accepts all blocks in reduction loops of the producer.
    """
    options = Options(preserve_unit_loops, keep_tiling)
    return Result(_moved_or_refused(ctx, "reverse_compute_at", block, loop, options, index), None)


# -- the shared implementation of block motion


def _moved_or_refused(
    ctx: Context, direction: Direction, block: BlockRV, loop: LoopRV | str, options: Options, index: int
) -> PrimFunc:
    realize, target = ctx.realize(block), ctx.loop(loop)
    require_place(ctx, realize, target)
    require_direction(ctx, realize, direction)
    require_movable(ctx, realize)
    try:
        return finalize(ctx, direction, moved(ctx, direction, realize, target, options, index))
    except ScheduleError as error:
        if error.refusal.fix or error.code == "bad-index":
            raise
        raise ScheduleError(_with_outer_loop(ctx, direction, realize, target, error.refusal)) from error


def _with_outer_loop(ctx: Context, direction: Direction, realize: BlockRealize, loop: For, refusal: Refusal) -> Refusal:
    """The refusal with the nearest outer loop that accepts the block, if there is one, as its fix."""
    for outer in reversed(ctx.index.loops_above(loop)):
        refused = refusal_of(lambda outer=outer: require_place(ctx, realize, outer)) or refusal_of(
            lambda outer=outer: finalize(ctx, direction, moved(ctx, direction, realize, outer))
        )
        if refused is None:
            return replace_fields(refusal, fix=(call_line(direction, realize.block.name, outer.loop_var),))
    return refusal


def refusal_of(call: Callable[[], object]) -> ScheduleError | None:
    """The error that `call` raises, None when it succeeds."""
    try:
        call()
    except ScheduleError as error:
        return error
    return None


def call_line(direction: Direction, block: BlockRV, loop: Var) -> str:
    return f"sch.{direction}({block!r}, {loop.name})"


# The loop must be in the block's own scope, and not around the block already.
def require_place(ctx: Context, realize: BlockRealize, loop: For) -> None:
    name, loop_name = realize.block.name, loop.loop_var.name
    if realize is ctx.index.root:
        raise refuse("root-block", "the root block cannot be moved", realize)
    if ctx.index.is_inside(realize, loop):
        raise refuse("loop-around-block", f"loop {loop_name!r} already encloses block {name!r}", loop, realize)
    if ctx.index.scope_of(loop) is not ctx.index.scope_of(realize):
        raise refuse("other-scope", f"loop {loop_name!r} is not in the scope of block {name!r}", loop, realize)
    scope = ctx.index.scope_of(loop)
    if is_in_init(scope, loop) or is_in_init(scope, realize):
        raise refuse(
            "in-init", f"the init of block {scope.name!r} runs only in its first iterations: blocks cannot move into or out of it", loop,
            realize, expected="a loop and a block in the body", fix=(f"sch.decompose_reduction({scope.name!r}, loop)",),
        )  # fmt: skip


# A move towards the consumers requires consumers, all of them known.
def require_direction(ctx: Context, realize: BlockRealize, direction: Direction) -> None:
    if direction == "compute_at" and realize is not ctx.index.root:
        block_motion.require_intermediate(ctx, realize)
        if not ctx.index.consumers(realize.block.name):
            raise refuse("no-consumer", f"the output of block {realize.block.name!r} has no reader", realize)


def require_movable(ctx: Context, realize: BlockRealize) -> None:
    """The rules that depend on neither the loop nor the direction."""
    if realize is ctx.index.root:
        raise refuse("root-block", "the root block cannot be moved", realize)
    block_motion.require_complete_or_reduction(ctx, realize)
    block_motion.removal(ctx, realize)
    block_motion.require_read_before_write(ctx, realize)
    block_motion.require_own_order(ctx, realize, "move")
    if realize.block.init is not None or ctx.index.is_output(realize.block.name):
        block_motion.require_full_domain(ctx, realize)
    else:
        block_motion.require_safe_domain(ctx, realize)
    for producer in _producers(ctx, realize):
        block_motion.require_covered(ctx, producer, realize)
    for consumer in _consumers(ctx, realize):
        block_motion.require_covered(ctx, realize, consumer)


def _producers(ctx: Context, realize: BlockRealize) -> list[BlockRealize]:
    return [ctx.index.realize(n) for n in ctx.index.producers(realize.block.name)]


def _consumers(ctx: Context, realize: BlockRealize) -> list[BlockRealize]:
    return [ctx.index.realize(n) for n in ctx.index.consumers(realize.block.name)]


_PLAIN = Options()


def moved(
    ctx: Context, direction: Direction, realize: BlockRealize, loop: For, options: Options = _PLAIN, index: int = -1
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

    required = required_boxes(ctx, realize, loop, others, forward=forward)
    nest = new_nest(ctx, realize, loop, required, forward=forward, options=options)
    if not forward:
        _require_no_partial_sum(others, realize, [f for f in around if uses_var(nest, f.loop_var)])
    inside = _statements(loop)
    new_loop = replace_fields(loop, body=build.seq([*inside[:position], nest, *inside[position:]]))
    scope = block_motion.scope_without(ctx, realize, {loop: new_loop})
    func = ctx.replaced({ctx.index.scope_of(realize): scope})
    if forward:
        before = [p for p in _producers(ctx, realize) if ctx.index.is_inside(p, around[0])]
        _require_made(ctx.after(func), realize, before, loop)
    else:
        before = ctx.index.loops_above(realize)
        _require_made(ctx.after(func), realize, others, loop)
        _require_reduced_once(ctx.after(func), realize, [f for f in around if f not in before], before)
    return func


# A copy that repeats in a reduction loop must copy the same elements each time.
def _require_no_partial_sum(producers: Sequence[BlockRealize], realize: BlockRealize, used: Sequence[For]) -> None:
    for producer in producers:
        block_motion.require_whole_sum(producer, realize, used)


# A block that no producer brings to the loop would never run if the loop does not.
def _require_runs(ctx: Context, realize: BlockRealize, loop: For) -> None:
    if not runs_at(ctx.index, loop, set(ctx.index.path(realize))):
        raise refuse(
            "loop-may-not-run", f"loop {loop.loop_var.name!r} may have no iterations, or is under a condition", loop,
            expected="a loop that always runs",
        )  # fmt: skip


def _statements(loop: For) -> tuple[Stmt, ...]:
    return loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)


# The position is between the last producer and the first consumer.
def _position(ctx: Context, realize: BlockRealize, loop: For, index: int, *, forward: bool) -> int:
    inside = _statements(loop)
    producers = _places(ctx, realize, _producers(ctx, realize), inside, loop, required=not forward, kind="producers")
    consumers = _places(ctx, realize, _consumers(ctx, realize), inside, loop, required=forward, kind="consumers")
    first, last = max(producers, default=-1) + 1, min(consumers, default=len(inside))
    if first > last:
        raise refuse(
            "consumer-before",
            f"under loop {loop.loop_var.name!r} a consumer of {realize.block.name!r} comes before a producer",
            loop,
        )
    if index == -1:
        return last
    if index == -2:
        return first
    if not first <= index <= last:
        raise refuse(
            "bad-index", f"block {realize.block.name!r} cannot be at position {index} of loop {loop.loop_var.name!r}", loop,
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
    """The statements of the loop that contain the `others`; with `required`, each must be in one."""
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


# At its new position, the block must read the same values and reduce all of them.
def _require_same_inputs(ctx: Context, realize: BlockRealize, around: Sequence[For], *, forward: bool) -> None:
    for producer in _producers(ctx, realize):
        lost = block_motion.lost_loops(ctx, producer, realize, around)
        if not forward:
            repeated = block_motion.overwriting_loops(ctx, producer, realize, around)
            lost += [f for f in around if f not in repeated]
        block_motion.require_final(ctx, producer, realize, lost)
    before = ctx.index.loops_above(realize)
    for loop in around:
        if loop in before and block_motion.drives_reduction(realize, loop):
            raise refuse(
                "reduction-outside",
                f"loop {loop.loop_var.name!r}, which encloses both positions, runs the reduction of block {realize.block.name!r}",
                loop, realize, expected="a block whose whole reduction moves with it",
            )  # fmt: skip


# Readers of the block must find the same values although it runs earlier.
def _require_same_outputs(ctx: Context, realize: BlockRealize, around: Sequence[For]) -> None:
    names = ctx.index.block_names
    for consumer in _consumers(ctx, realize):
        block_motion.require_final(ctx, realize, consumer, block_motion.lost_loops(ctx, realize, consumer, around))
        inside = ctx.index.child_blocks(around[-1])
        if consumer not in inside and any(names.index(r.block.name) > names.index(consumer.block.name) for r in inside):
            raise refuse(
                "consumer-before",
                f"block {consumer.block.name!r} reads {realize.block.name!r} before loop {around[-1].loop_var.name!r} runs",
                consumer, around[-1], expected="a loop before all consumers",
            )  # fmt: skip


# In each iteration the block reads only values that its producers have computed in it.
def _require_made(after: Context, realize: BlockRealize, producers: Sequence[BlockRealize], loop: For) -> None:
    if not producers:
        return  # avoids building an index of the new program
    index = after.index
    new = index.realize(realize.block.name)
    for producer in producers:
        for buffer in block_motion.written_for(producer, realize):
            if not is_covered(index, index.realize(producer.block.name), new, buffer):
                raise refuse(
                    "not-ready",
                    f"in one iteration of loop {loop.loop_var.name!r} block {producer.block.name!r} does not compute all elements of "
                    f"{buffer.name!r} that block {realize.block.name!r} reads",
                    loop, producer, expected="a loop whose iterations produce and consume the same tile",
                )  # fmt: skip


# A reduction over surrounding loops must include each term once, the first one first.
def _require_reduced_once(after: Context, realize: BlockRealize, around: Sequence[For], before: Sequence[For]) -> None:
    if not any(iter_var.iter_type == "reduce" for iter_var in realize.block.iter_vars):
        return
    index = after.index
    realize = index.realize(realize.block.name)
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    reduced = [v for iv, v in pairs if iv.iter_type == "reduce"]
    # Loops around both positions drove no reduction before; they count only if they drive one now.
    outside = {f.loop_var for f in before if not any(uses_var(v, f.loop_var) for v in reduced)}
    if not any(uses_var(v, f.loop_var) for v in reduced for f in around):
        return
    loops = {f.loop_var: Range(f.min, f.extent) for f in index.loops_above(realize) if f.loop_var not in outside}
    if not (is_injective([v for _, v in pairs], loops) and all(map(_grows, reduced))):
        raise refuse(
            "reduction-repeated", f"block {realize.block.name!r} would repeat terms of its reduction", around[-1], realize,
            expected="one loop for each iterator of the block",
        )  # fmt: skip


def _grows(value: Expr) -> bool:
    """Whether the value is a sum of loop digits without negative terms, so that its first value is the smallest."""
    form = linear(value)
    return form is not None and all(f > 0 and isinstance(a, Var | FloorDiv | FloorMod) for a, f in form.terms)
