"""Reductions with partial results, which are reduced in a second step: rfactor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import (
    Update,
    find_identities,
    find_update,
    is_once,
    provably_runs,
    starts_with_init,
    writes_distinct,
)
from ....arith import prove, simplify
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
    For,
    IntImm,
    IterType,
    IterVar,
    LetStmt,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
    rename,
    replace_nodes,
    substitute,
    uses_var,
    walk,
)
from ...context import BlockRV, Context, LoopRV, Result, with_allocations
from ...errors import refuse
from ...rules import block_motion
from ...rules.checks import no_own_sum, require_in_blocks, require_iterators_only
from .decompose import placed_before, require_plain_nest, require_reduction


def rfactor(ctx: Context, loop: LoopRV, factor_axis: int) -> Result[BlockRV]:
    """Factor a reduction: compute partial results in a buffer with one axis for `loop`, and reduce those.

    Rewrite:
        for i, k in T.grid(n, m):                 for i, k in T.grid(n, m):
            with T.sblock("B"):                       with T.sblock("B_rf"): B_rf[k, i] = A[i, k]
                with T.init(): B[i] = 0       =>  for i, k in T.grid(n, m):
                B[i] = B[i] + A[i, k]                 with T.sblock("B"):                            # rfactor(k, 0)
                                                          with T.init(): B[i] = 0
                                                          B[i] = B[i] + B_rf[k, i]
    Reduction loops inside `loop` stay in `B_rf`, which then has its own init. `factor_axis` is the position of the new axis (-1 is the
    last).
    Sums and products of floats are rounded in a different order; all other results are equal bit by bit.
    Requires: one reduction block below `loop`, which is serial and drives reduction iterators only; an update `x = op(x, term)` with a sum,
    product, min, max, and, or, bitwise operator, or argmax/argmin of two buffers. If the first of equal terms wins (argmax without a tie
    rule), `loop` is the outermost loop of the reduction.
    Returns: the block `<block>_rf`. The block and the loops around it stay valid, in the second nest, without the other reduction loops.
    Errors: not-one-block, not-a-reduction, not-serial, spatial-loop, mixed-loop, not-alone, bad-axis, unknown-reducer, order-dependent,
    region-not-covered, predicate-on-reduction, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/reduction.cc, RFactor.
    """
    factored = ctx.loop(loop)
    realize = require_one_block(ctx, factored)
    require_reduction(ctx, realize)
    loops = ctx.index.loops_above(realize)
    split = require_apart(realize, loops, factored)
    require_alone(ctx, realize, loops, split)
    update, identities = require_reducer(realize)
    axis = require_axis(update, factor_axis)
    require_terms_once(ctx, realize, loops)
    require_order_kept(realize, update, split, factored)
    predicate = require_all_partials(realize, split)
    for consumer in map(ctx.index.realize, ctx.index.consumers(realize.block.name)):
        block_motion.require_covered(ctx, realize, consumer)

    parts = _Parts(realize, update, identities, factored, axis, _partial_buffers(ctx, update, factored, axis))
    name = ctx.fresh_block_name(f"{realize.block.name}_rf")
    first = _partial_nest(parts, loops, name)
    second = build.nest(split.kept, _final_block(parts, predicate))
    scope = ctx.index.scope_of(realize)
    outermost = replace_nodes(loops[0], {split.top: second})
    body = replace_nodes(scope.body, placed_before(ctx, loops[0], first, outermost))
    return Result(ctx.replaced({scope: with_allocations(replace_fields(scope, body=body), parts.buffers)}), name)


class _Split(msgspec.Struct, frozen=True, eq=False):
    """The loops around the block. `reduced` drive reduction iterators; `top` is the outermost of them and contains only the block; `kept`
    are the loops from `top` on that stay around the block."""

    reduced: tuple[For, ...]
    top: For
    kept: tuple[For, ...]


class _Parts(msgspec.Struct, frozen=True, eq=False):
    """The inputs of both blocks."""

    realize: BlockRealize
    update: Update
    identities: tuple[Expr, ...]
    loop: For
    axis: int
    buffers: tuple[Buffer, ...]

    def place(self, var: Var, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The indices of the partial result of iteration `var` for the element at `indices`."""
        return (*indices[: self.axis], build.sub(var, self.loop.min), *indices[self.axis :])

    def iterator(self, loop: For, kind: IterType) -> IterVar:
        return IterVar(Var(f"v{loop.loop_var.name}", loop.loop_var.dtype), Range(loop.min, loop.extent), kind)


# -- legality


# Terms of two blocks have no common partial result.
def require_one_block(ctx: Context, loop: For) -> BlockRealize:
    below = ctx.index.child_blocks(loop)
    if len(below) != 1:
        raise refuse(
            "not-one-block", f"loop {loop.loop_var.name!r} contains {len(below)} blocks", loop, *below,
            found=", ".join(r.block.name for r in below) or "none", expected="only the block to factor",
        )  # fmt: skip
    return below[0]


# Each iteration of the loop is a group of terms of every element; the remaining loops must not depend on the removed ones.
def require_apart(realize: BlockRealize, loops: Sequence[For], loop: For) -> _Split:
    if loop.kind != "serial":
        raise refuse("not-serial", f"loop {loop.loop_var.name!r} is {loop.kind}", loop, expected="a serial loop")
    spatial = {f for f in loops if _drives(realize, f, "spatial")}
    reduced = tuple(f for f in loops if _drives(realize, f, "reduce"))
    if loop not in reduced and loop in spatial:
        raise refuse(
            "spatial-loop", f"loop {loop.loop_var.name!r} drives spatial iterators of block {realize.block.name!r}", loop, realize,
            expected="a loop of the reduction iterators",
        )  # fmt: skip
    both = next((f for f in reduced if f in spatial), None)
    if both is not None:
        raise refuse(
            "mixed-loop", f"loop {both.loop_var.name!r} drives spatial and reduction iterators", both, realize,
            expected="loops that each drive one kind",
        )  # fmt: skip
    top = next(f for f in loops if f in reduced or f is loop)
    kept = tuple(f for f in loops[loops.index(top) :] if f is loop or f not in reduced)
    names = {f.loop_var for f in loops}
    gone = {f.loop_var for f in reduced if f is not loop}
    needs = {f: free_vars(f.min) | free_vars(f.extent) for f in kept}
    for user in kept:
        if needs[user] & (names if user is loop else gone):
            raise refuse(
                "mixed-loop", f"the bounds of loop {user.loop_var.name!r} depend on other loops", user,
                expected="constant bounds",
            )  # fmt: skip
    return _Split(reduced, top, kept)


def _drives(realize: BlockRealize, loop: For, kind: IterType) -> bool:
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return any(iv.iter_type == kind and uses_var(value, loop.loop_var) for iv, value in pairs)


# All terms are read before the first nest: no other block in the loops may compute them there, or read a partial sum.
def require_alone(ctx: Context, realize: BlockRealize, loops: Sequence[For], split: _Split) -> None:
    require_in_blocks(ctx, loops[0], "factor")
    require_iterators_only(ctx, realize, loops, "factor")
    require_plain_nest(ctx, realize, loops[0], "factor")
    for outer in ctx.index.path(realize):
        if ctx.index.is_inside(outer, split.top) and not isinstance(outer, For):
            raise refuse(
                "not-alone", f"loop {split.top.loop_var.name!r} contains more than block {realize.block.name!r}", split.top, outer,
                expected="perfectly nested reduction loops",
            )  # fmt: skip
    bounds = [e for f in loops for e in (f.min, f.extent)]
    needed = (realize.block.body, realize.predicate, *realize.iter_values, *bounds)
    read = {n.buffer for part in needed for n in walk(part) if isinstance(n, BufferLoad)}
    read -= {w.buffer for w in realize.block.writes}
    for other in ctx.index.child_blocks(loops[0]):
        conflicting = next((w.buffer for w in other.block.writes if w.buffer in read), None)
        if conflicting is not None:
            raise refuse(
                "order-dependent", f"block {other.block.name!r} computes {conflicting.name!r} in loops around block {realize.block.name!r}",
                realize, other, loops[0], expected="inputs that are complete before the outermost loop",
            )  # fmt: skip


# Grouping of terms is legal only for a known operator.
def require_reducer(realize: BlockRealize) -> tuple[Update, tuple[Expr, ...]]:
    block = realize.block
    update = find_update(block)
    identities = find_identities(block, update) if isinstance(update, Update) else update
    why = "local buffers" if block.alloc_buffers or block.match_buffers else identities
    if isinstance(update, Update) and {w.buffer for w in block.writes} != {t.buffer for t in update.targets}:
        why = "declared writes of other buffers"
    if not isinstance(update, Update) or isinstance(why, str):
        raise refuse(
            "unknown-reducer", f"block {block.name!r} is not an associative and commutative reduction", realize, found=str(why),
            expected="x = op(x, term), op a sum, product, min, max, and, or, argmax or argmin, from its neutral element",
        )  # fmt: skip
    assert not isinstance(identities, str)
    return update, identities


def require_axis(update: Update, factor_axis: int) -> int:
    """The position of the new axis, counted from the front."""
    last = len(update.targets[0].indices)
    if not -(last + 1) <= factor_axis <= last:
        raise refuse(
            "bad-axis", f"factor_axis {factor_axis} is not an axis of the partial results", update.targets[0].buffer,
            expected=f"from {-(last + 1)} to {last}",
        )  # fmt: skip
    return factor_axis + last + 1 if factor_axis < 0 else factor_axis


# Each term counts once, and the sum of an element starts at its init; the original must do the same.
def require_terms_once(ctx: Context, realize: BlockRealize, loops: Sequence[For]) -> None:
    ranges = _ranges(loops)
    plain = replace_fields(realize, predicate=build.TRUE)
    apart = (
        ctx.index.fact(writes_distinct, realize.block) and is_once(realize, ranges) and starts_with_init(plain, ranges)
    )
    if not apart or not provably_runs(ctx.index, realize, set(ctx.index.path(loops[0]))):
        raise no_own_sum(ctx, plain, "factor", ranges)


# If the first of equal terms wins, groups must consist of consecutive terms.
def require_order_kept(realize: BlockRealize, update: Update, split: _Split, loop: For) -> None:
    outer = next((f for f in split.reduced if f is not loop and not build.is_const(f.extent, 1)), None)
    if (
        update.keeps_order
        and outer is not None
        and loop in split.reduced
        and split.reduced.index(outer) < split.reduced.index(loop)
    ):
        raise refuse(
            "order-dependent",
            f"of equal terms of block {realize.block.name!r} the first one wins, but terms of {loop.loop_var.name!r} are not consecutive",
            loop, outer, realize, expected="the outermost loop of the reduction, or a reducer that breaks ties",
            fix=(f"sch.rfactor({outer.loop_var.name}, factor_axis)",),
        )  # fmt: skip


# Every partial result that is read must be initialized.
def require_all_partials(realize: BlockRealize, split: _Split) -> Expr:
    """The condition for a partial result to exist. The first term of each one that exists must not be excluded."""
    gone = {f.loop_var: f.min for f in split.reduced if f not in split.kept}
    first_kept = {f.loop_var: f.min for f in split.reduced if f in split.kept}
    ranges = _ranges((*split.reduced, *split.kept))
    kept: list[Expr] = []
    for term in build.conjuncts(realize.predicate):
        start = simplify(substitute(term, gone))
        if start is not term and prove(start, ranges):
            continue
        starts = free_vars(start).isdisjoint(first_kept) or prove(substitute(start, first_kept), ranges)
        if not starts or not _is_weakest_at(term, gone, ranges):
            raise refuse(
                "predicate-on-reduction", "the predicate may exclude the first terms of a partial result", realize,
                expected="a predicate that holds at the start of the reduction",
            )  # fmt: skip
        kept.append(start)
    return build.logical_and(*kept)


def _is_weakest_at(term: Expr, starts: Mapping[Var, Expr], ranges: Mapping[Var, Range]) -> bool:
    """Whether a condition that holds somewhere in the loops also holds at their starts: `k * 8 + f < 12` at k = 0."""
    if free_vars(term).isdisjoint(starts):
        return True
    if not isinstance(term, LT | LE) or not free_vars(term.b).isdisjoint(starts):
        return False
    return prove(build.ge(term.a, substitute(term.a, starts)), ranges)


def _ranges(loops: Sequence[For]) -> dict[Var, Range]:
    return {f.loop_var: Range(f.min, f.extent) for f in loops}


# -- construction


def _partial_buffers(ctx: Context, update: Update, loop: For, axis: int) -> tuple[Buffer, ...]:
    found: list[Buffer] = []
    no_offset = None if update.targets[0].indices else IntImm(0, "int64")  # TVM's form for buffers without axes
    for target in update.targets:
        old = target.buffer
        shape = (*old.shape[:axis], loop.extent, *old.shape[axis:])
        separators = tuple(s if s <= axis else s + 1 for s in old.axis_separators)
        name = ctx.fresh_buffer_name(f"{old.name}_rf")
        plain = replace_fields(old, name=name, strides=(), elem_offset=no_offset)
        found.append(replace_fields(plain, shape=shape, axis_separators=separators))
    return tuple(found)


def _partial_nest(parts: _Parts, loops: Sequence[For], name: str) -> Stmt:
    """The block of partial results under copies of all loops. It reduces over the loops in the iterators that `loop` drove."""
    old, reducing = parts.realize.block, _reducing_loops(parts, loops)
    factored = parts.iterator(parts.loop, "spatial")
    iterators = [factored]
    values: list[Expr] = [parts.loop.loop_var]
    by_loop: dict[Var, Expr] = {parts.loop.loop_var: factored.var}
    bindings: dict[Var, Expr] = {}
    for iv, value in zip(old.iter_vars, parts.realize.iter_values, strict=True):
        if iv.iter_type == "spatial" or not any(uses_var(value, v) for v in reducing):
            iterators.append(iv)
            values.append(value)
            continue
        for loop in (f for v in walk(value) for f in loops if f.loop_var is v):
            if loop.loop_var not in by_loop:
                iterators.append(parts.iterator(loop, "reduce"))
                values.append(loop.loop_var)
                by_loop[loop.loop_var] = iterators[-1].var
        bindings[iv.var] = substitute(value, by_loop)

    indices = parts.place(factored.var, parts.update.targets[0].indices)
    made = {t.buffer: b for t, b in zip(parts.update.targets, parts.buffers, strict=True)}
    reads = tuple(substitute(r, bindings) for r in old.reads if r.buffer not in made)
    terms = tuple(substitute(t, bindings) for t in parts.update.terms)
    body, init = _contents(parts, parts.buffers, indices, terms, iterators)
    block = Block(
        name=name,
        iter_vars=tuple(iterators),
        reads=reads,
        writes=tuple(_widened(parts, w, made[w.buffer], factored.var) for w in old.writes),
        annotations=old.annotations,
        body=body,
        init=init,
    )
    copies = {f.loop_var: Var(f.loop_var.name, f.loop_var.dtype) for f in loops}
    nest = build.nest(loops, BlockRealize(tuple(values), parts.realize.predicate, block))
    return rename(nest, copies)


def _reducing_loops(parts: _Parts, loops: Sequence[For]) -> set[Var]:
    """The factored loop and the loops that share a reduction iterator with it, directly or through other loops."""
    pairs = zip(parts.realize.block.iter_vars, parts.realize.iter_values, strict=True)
    groups = [{f.loop_var for f in loops if uses_var(v, f.loop_var)} for iv, v in pairs if iv.iter_type != "spatial"]
    found = {parts.loop.loop_var}
    while more := set[Var]().union(*(g for g in groups if g & found)) - found:
        found |= more
    return found


def _widened(parts: _Parts, write: BufferRegion, buffer: Buffer, var: Var) -> BufferRegion:
    axis, place = parts.axis, build.sub(var, parts.loop.min)
    return BufferRegion(buffer, (*write.region[:axis], build.point(place), *write.region[axis:]))


def _final_block(parts: _Parts, predicate: Expr) -> BlockRealize:
    """The block that reduces the partial results, with the old name."""
    old = parts.realize.block
    factored = parts.iterator(parts.loop, "reduce")
    pairs = [
        (iv, v) for iv, v in zip(old.iter_vars, parts.realize.iter_values, strict=True) if iv.iter_type == "spatial"
    ]
    fresh = {iv.var: Var(iv.var.name, iv.var.dtype) for iv, _ in pairs}
    iterators = [factored, *(IterVar(fresh[iv.var], iv.dom, iv.iter_type) for iv, _ in pairs)]
    indices = tuple(substitute(i, fresh) for i in parts.update.targets[0].indices)
    targets = [t.buffer for t in parts.update.targets]
    terms = tuple(BufferLoad(b, parts.place(factored.var, indices)) for b in parts.buffers)
    body, init = _contents(parts, targets, indices, terms, iterators)
    block = Block(
        name=old.name,
        iter_vars=tuple(iterators),
        reads=tuple(BufferRegion(t.buffer, tuple(map(build.point, t.indices))) for t in terms),
        writes=tuple(BufferRegion(b, tuple(map(build.point, indices))) for b in targets),
        annotations=old.annotations,
        body=body,
        init=init,
    )
    return BlockRealize((parts.loop.loop_var, *(v for _, v in pairs)), predicate, block)


def _contents(
    parts: _Parts,
    buffers: Sequence[Buffer],
    indices: tuple[Expr, ...],
    terms: tuple[Expr, ...],
    iterators: Sequence[IterVar],
) -> tuple[Stmt, Stmt | None]:
    """The body and the init; without reduction iterators, the terms are the results."""
    if all(iv.iter_type == "spatial" for iv in iterators):
        return build.seq([BufferStore(b, t, indices) for b, t in zip(buffers, terms, strict=True)]), None
    values = parts.update.combine(tuple(BufferLoad(b, indices) for b in buffers), terms)
    init = build.seq([BufferStore(b, v, indices) for b, v in zip(buffers, parts.identities, strict=True)])
    if len(buffers) == 1:
        return BufferStore(buffers[0], values[0], indices), init
    names = [Var(f"v_{b.name}", v.dtype) for b, v in zip(buffers, values, strict=True)]
    body = build.seq([BufferStore(b, name, indices) for b, name in zip(buffers, names, strict=True)])
    for name, value in zip(reversed(names), reversed(values), strict=True):
        body = LetStmt(name, value, body)
    return body, init
