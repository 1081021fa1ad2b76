"""Loops and blocks in one outer block, by subspace division: blockize."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import accessed_regions, hull
from ....arith import prove, simplify
from ....ir import (
    Block,
    BlockRealize,
    BufferRegion,
    Expr,
    For,
    IterVar,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    free_vars,
    rename,
    rewrite,
    structural_equal,
    substitute,
    uses_var,
)
from ...context import BlockRV, Context, LoopRV, Result
from ...errors import refuse
from ...rules.checks import require_iterators_only
from ...rules.division import (
    Iterators,
    divided,
    require_bounds_inside,
    require_nest,
    require_own_init,
    split_predicate,
    wrapped_nest,
)


def blockize(ctx: Context, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True) -> Result[BlockRV]:
    """Wrap a loop, or the nests of several blocks, in one outer block.

    Rewrite:
        for i_0, j_0, i_1, j_1:                       for i_0, j_0:
            with T.block("B"):                            with T.block("B_o"):
                vi = i_0 * 16 + i_1                           vi_o, vj_o = i_0, j_0
                vj = j_0 * 16 + j_1            =>             T.reads(A[vi_o * 16 : vi_o * 16 + 16, …]) …
                B[vi, vj] = A[vi, vj]                         for i_1, j_1:
                                                                  with T.block("B"):
                                                                      vi_i, vj_i = i_1, j_1
                                                                      B[vi_o * 16 + vi_i, …] = A[…]   # blockize(i_1)
    Requires: the loop is a plain nest around one block, or the blocks are consecutive statements, each in its own nest; each iterator
    consists of a tile index from the outer loops and a position from the inner ones; each condition uses one of the two only. The init of a
    block becomes an init of the outer block, so each reduction must start with it.
    Returns: the new block, `<block>_o`, or `outer_<first>_<second>_`. The blocks and loops inside keep their handles.
    Errors: not-one-block, not-divisible, order-dependent, opaque-iterator, opaque-access, predicate-on-reduction, not-neighbours, has-init,
    no-blocks.
    Source: TVM src/s_tir/schedule/primitive/blockize_tensorize.cc, Blockize.
    """
    if isinstance(target, Var | str):
        loop = ctx.loop(target)
        made = outer_block(ctx, loop, keep_units=preserve_unit_iters)
        return Result(ctx.replaced({loop: made}), made.block.name)
    realizes, place = require_neighbours(ctx, target)
    made = _outer_of_many(ctx, realizes, place, keep_units=preserve_unit_iters)
    return Result(ctx.replaced(_in_place_of(ctx, place, made)), made.block.name)


def outer_block(ctx: Context, loop: For, *, keep_units: bool) -> BlockRealize:
    """The realize of the block that wraps `loop`. Refuses as `blockize` does."""
    realize = require_nest(loop)
    nest = ctx.index.loops_above(realize)
    outside, inside = nest[: nest.index(loop)], nest[nest.index(loop) :]
    require_iterators_only(ctx, realize, nest, "blockize")
    iterators = divided(realize, outside, inside, keep_units=keep_units)
    predicate = split_predicate(realize, outside, inside)
    bounds = require_bounds_inside(realize, inside, predicate.inner, outside, iterators)
    if realize.block.init is not None:
        require_own_init(ctx, realize, inside, iterators)

    name = ctx.fresh_block_name(f"{realize.block.name}_o")
    body = _with_iterators(realize.block, iterators)
    reducing = body.init is not None and any(iv.iter_type == "reduce" for iv in iterators.outer)
    inner = replace_fields(
        body, iter_vars=iterators.inner, init=None, reads=_with_writes(body) if reducing else body.reads
    )
    inner_realize = BlockRealize(iterators.inner_values, substitute(predicate.inner, bounds), inner)
    return BlockRealize(
        iterators.outer_values,
        predicate.outer,
        Block(
            name,
            iterators.outer,
            reads=_relaxed(body.reads, iterators),
            writes=_relaxed(body.writes, iterators),
            body=wrapped_nest(inside, inner_realize, bounds),
            init=None if body.init is None else _init_nest(ctx, body.init, inner_realize, inside, bounds),
        ),
    )


def _with_iterators(block: Block, iterators: Iterators) -> Block:
    """The block with the new iterators, and its expressions simplified."""
    ranges = {iv.var: iv.dom for iv in iterators.inner}

    def leave(node: Node) -> Node:
        return simplify(node, ranges) if isinstance(node, Expr) else node

    def enter(node: Node) -> Node | None:
        return simplify(node, ranges) if isinstance(node, Expr) else None

    return rewrite(substitute(block, iterators.values), leave, enter=enter)


def _with_writes(block: Block) -> tuple[BufferRegion, ...]:
    """The reads of an update: first the regions that the init wrote."""
    missing = [w for w in block.writes if all(not structural_equal(w, r) for r in block.reads)]
    return (*missing, *block.reads)


def _relaxed(regions: Iterable[BufferRegion], iterators: Iterators) -> tuple[BufferRegion, ...]:
    """The regions over all inner iterations, in the outer iterators."""
    inner = {iv.var: iv.dom for iv in iterators.inner}
    return tuple(
        hull([r], inner, {iv.var: iv.dom for iv in iterators.outer if not build.is_const(iv.dom.extent, 1)})
        for r in regions
    )


def _init_nest(
    ctx: Context, init: Stmt, realize: BlockRealize, loops: Sequence[For], bounds: Mapping[Var, Expr]
) -> Stmt:
    """The init as a block over the inner spatial iterators that it uses, under copies of the loops that drive them."""
    block = realize.block
    pairs = zip(block.iter_vars, realize.iter_values, strict=True)
    spatial = [(iv, v) for iv, v in pairs if iv.iter_type == "spatial" and uses_var(init, iv.var)]
    driven = [f for f in loops if any(uses_var(v, f.loop_var) for _, v in spatial)]
    fresh = {iv.var: Var(f"{iv.var.name}_init", iv.var.dtype) for iv, _ in spatial}
    body = rename(init, fresh)
    made = Block(
        name=ctx.fresh_block_name(f"{block.name}_init"),
        iter_vars=tuple(IterVar(fresh[iv.var], iv.dom, iv.iter_type) for iv, _ in spatial),
        reads=accessed_regions(body)[0],
        writes=tuple(rename(w, fresh) for w in block.writes),
        body=body,
    )
    predicate = _init_predicate(realize, loops, driven, ctx.loop_ranges(loops[0]) if loops else {})
    copies = {f.loop_var: Var(f.loop_var.name, f.loop_var.dtype) for f in driven}
    values = tuple(substitute(v, copies) for _, v in spatial)
    inner: Stmt = BlockRealize(values, substitute(predicate, copies), made)
    for old in reversed(driven):
        first, extent = (substitute(substitute(e, bounds), copies) for e in (old.min, old.extent))
        inner = For(copies[old.loop_var], first, extent, old.kind, inner, old.thread_tag, old.annotations)
    return inner


# The init runs over its own loops only, at the first iteration of the others; its condition is the predicate at that iteration.
def _init_predicate(
    realize: BlockRealize, loops: Sequence[For], driven: Sequence[For], ranges: Mapping[Var, Range]
) -> Expr:
    first: dict[Var, Expr] = {f.loop_var: f.min for f in loops if f not in driven}
    dropped = first.keys()
    kept: list[Expr] = []
    for term in build.conjuncts(realize.predicate):
        used = free_vars(term)
        if not used & dropped:
            kept.append(term)
        elif used & {f.loop_var for f in driven}:
            raise refuse("predicate-on-reduction", "a predicate depends on both spatial and reduction loops", realize)
        elif not prove(starts := substitute(term, first), ranges):
            kept.append(simplify(starts, ranges))
    return build.logical_and(*kept)


# Several blocks can be blockized together if they are adjacent and alone in their nests.
class StatementRun(msgspec.Struct, frozen=True, eq=False):
    """The statements `items`, consecutive in `seq`, one for each block."""

    seq: SeqStmt
    items: tuple[Stmt, ...]


def require_neighbours(ctx: Context, blocks: Sequence[BlockRV]) -> tuple[tuple[BlockRealize, ...], StatementRun]:
    """The blocks in execution order, and their place."""
    if not blocks:
        raise refuse("no-blocks", "no block to blockize is given", expected="a loop, or the names of blocks")
    names = [n for n in ctx.index.block_names if n in {*(ctx.realize(b).block.name for b in blocks)}]
    realizes = [ctx.realize(name) for name in names]
    paths = [[r, *ctx.index.path(r)] for r in realizes]
    shared = next((s for s in paths[0] if all(s in p for p in paths[1:])), None)
    if len(names) < 2 or not isinstance(shared, SeqStmt):
        raise _not_neighbours(realizes, "two or more consecutive blocks in one loop or block")
    items = tuple(path[path.index(shared) - 1] for path in paths)
    first = next(i for i, s in enumerate(shared.seq) if s is items[0])
    if len({*items}) < len(items) or shared.seq[first : first + len(items)] != items:
        raise _not_neighbours(realizes, "blocks with nothing between them")
    for item, realize in zip(items, realizes, strict=True):
        if require_nest(item) is not realize:
            raise _not_neighbours(realizes, "blocks of one scope")
    return tuple(realizes), StatementRun(shared, items)


def _not_neighbours(realizes: Sequence[BlockRealize], expected: str):
    names = ", ".join(r.block.name for r in realizes)
    return refuse("not-neighbours", f"blocks {names} are not adjacent", *realizes, expected=expected)


def _outer_of_many(
    ctx: Context, realizes: Sequence[BlockRealize], place: StatementRun, *, keep_units: bool
) -> BlockRealize:
    """The outer block of all nests. Its outer iterators are those of the first nest."""
    first: Iterators | None = None
    outer: Expr = build.const(True, "bool")
    bodies: list[Stmt] = []
    reads: list[BufferRegion] = []
    writes: list[BufferRegion] = []
    outside = ctx.index.loops_above(place.seq)
    for realize in realizes:
        require_no_init(realize)
        nest = ctx.index.loops_above(realize)
        inside = nest[len(outside) :]
        require_iterators_only(ctx, realize, nest, "blockize")
        iterators = divided(realize, outside, inside, keep_units=keep_units)
        predicate = split_predicate(realize, outside, inside)
        if first is None:
            first, outer = iterators, predicate.outer
        else:
            iterators = require_same_outer(realizes[0], realize, first, iterators)
            require_same_condition(realizes[0], realize, outer, predicate.outer)
        bounds = require_bounds_inside(realize, inside, predicate.inner, outside, iterators)
        body = _with_iterators(realize.block, iterators)
        reads.extend(_relaxed(body.reads, iterators))
        writes.extend(_relaxed(body.writes, iterators))
        inner = BlockRealize(
            iterators.inner_values, substitute(predicate.inner, bounds), replace_fields(body, iter_vars=iterators.inner)
        )
        bodies.append(wrapped_nest(inside, inner, bounds) if inside else inner)
    assert first is not None
    name = ctx.fresh_block_name("outer_" + "".join(f"{r.block.name}_" for r in realizes))
    block = Block(name, first.outer, _united(reads, first), _united(writes, first), build.seq(bodies))
    return BlockRealize(first.outer_values, outer, block)


# An init of one block would have to run at the start of the first block.
def require_no_init(realize: BlockRealize) -> None:
    if realize.block.init is not None:
        raise refuse(
            "has-init", f"block {realize.block.name!r} has an init, which cannot move to the outer block", realize,
            expected="blocks without T.init()", fix=(f"sch.decompose_reduction({realize.block.name!r}, …)",),
        )  # fmt: skip


# The outer block has one set of iterators, so each block must use the outer loops in the same way.
def require_same_outer(one: BlockRealize, other: BlockRealize, first: Iterators, mine: Iterators) -> Iterators:
    """`mine` with the iterators of `first`."""
    same = len(first.outer) == len(mine.outer) and all(
        a.iter_type == b.iter_type and structural_equal(a.dom, b.dom) and structural_equal(x, y)
        for a, b, x, y in zip(first.outer, mine.outer, first.outer_values, mine.outer_values, strict=True)
    )
    if not same:
        raise refuse(
            "not-divisible", f"blocks {one.block.name!r} and {other.block.name!r} bind the outer loops differently", one, other,
            expected="the same tiles of the outer loops",
        )  # fmt: skip
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(mine.outer, first.outer, strict=True)}
    return replace_fields(mine, outer=first.outer, values={v: substitute(e, values) for v, e in mine.values.items()})


# A single condition guards the outer block.
def require_same_condition(one: BlockRealize, other: BlockRealize, first: Expr, mine: Expr) -> None:
    if not structural_equal(first, mine):
        raise refuse(
            "not-divisible", f"blocks {one.block.name!r} and {other.block.name!r} run under different conditions", one, other,
            expected="the same condition on the outer loops",
        )  # fmt: skip


def _united(regions: Sequence[BufferRegion], iterators: Iterators) -> tuple[BufferRegion, ...]:
    """The regions, united to one for each buffer."""
    ranges = {iv.var: iv.dom for iv in iterators.outer}
    buffers = dict.fromkeys(r.buffer for r in regions)
    return tuple(hull([r for r in regions if r.buffer is b], {}, ranges) for b in buffers)


def _in_place_of(ctx: Context, place: StatementRun, made: BlockRealize) -> dict[Node, Node]:
    first, *others = place.items
    kept = [made if s is first else s for s in place.seq.seq if not any(s is o for o in others)]
    return {place.seq: build.seq(kept)}
