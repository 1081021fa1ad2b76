"""The init of a reduction as a separate block: decompose_reduction."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ....analysis import accessed_regions, is_covered, is_once, provably_runs, starts_with_init, writes_distinct
from ....arith import simplify
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
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
    replace_nodes,
    substitute,
    uses_var,
    walk,
)
from ...context import BlockRV, Context, LoopRV, Result
from ...errors import refuse
from ...rules.checks import no_own_sum, require_iterators_only


def decompose_reduction(ctx: Context, block: BlockRV, loop: LoopRV) -> Result[BlockRV]:
    """Move the init of a reduction into its own block before `loop`.

    Rewrite:
        for i, k in T.grid(n, m):             for i in range(n):
            with T.block("B"):                    with T.block("B_init"):
                with T.init(): B[i] = 0     =>        B[i] = 0
                B[i] = B[i] + A[i, k]             for k in range(m):
                                                      with T.block("B"): B[i] = B[i] + A[i, k]     # decompose_reduction(B, k)
    Requires: a reduction block below `loop`; no loop outside of `loop` drives a reduction iterator.
    Returns: the init block `<block>_init`. The block keeps its name (`<block>_update` in TVM).
    Errors: not-a-reduction, loop-not-around, reduction-outside, predicate-on-reduction, order-dependent, opaque-iterator.
    Source: TVM src/s_tir/schedule/primitive/reduction.cc, DecomposeReduction.
    """
    realize = ctx.realize(block)
    target = ctx.loop(loop)
    require_reduction(ctx, realize, rescaled=True)
    require_init_without_own(realize)
    loops = ctx.index.loops_of(block)
    require_around(block, loops, target)
    position = loops.index(target)
    require_reduction_inside(realize, loops[:position])
    require_own_sum(ctx, realize, loops[position:])
    require_nobody_between(ctx, realize, target)
    body = realize.block

    init_name = ctx.fresh_block_name(f"{block}_init")
    init_nest = _init_nest(realize, loops[position:], init_name)
    update = replace_fields(realize, block=replace_fields(body, init=None, reads=_with_own_output(body)))
    new_loop = replace_nodes(target, {realize: update})
    return Result(ctx.replaced(placed_before(ctx, target, init_nest, new_loop)), init_name)


# Only a reduction block has an init to separate. `rescaled`: the init may read the elements that its instance writes, and keep some.
def require_reduction(ctx: Context, realize: BlockRealize, *, rescaled: bool = False) -> None:
    name = realize.block.name
    if realize.block.init is None:
        raise refuse(
            "not-a-reduction", f"block {name!r} has no init", realize, expected="a reduction block with T.init()"
        )
    if not (ctx.index.has_separate_init(name) if rescaled else ctx.index.is_reduction(name)):
        raise refuse("not-a-reduction", f"block {name!r} is not a reduction block", realize,
                     expected="the only writer of its buffers, which are indexed by spatial iterators only")  # fmt: skip


# A buffer or view that the block allocates does not exist at the position of the init.
def require_init_without_own(realize: BlockRealize) -> None:
    block = realize.block
    assert block.init is not None
    own = {*block.alloc_buffers, *(m.buffer for m in block.match_buffers)}
    for node in walk(block.init):
        if isinstance(node, Buffer) and node in own:
            raise refuse(
                "own-buffer", f"the init of block {block.name!r} uses {node.name!r}, which exists only in the block", realize, node,
                expected="an init that stores to buffers of the program, not to views",
            )  # fmt: skip


# The init is placed before a loop around the block.
def require_around(block: BlockRV, loops: Sequence[For], loop: For) -> None:
    if loop not in loops:
        raise refuse("loop-not-around", f"loop {loop.loop_var.name!r} does not enclose block {block!r}", loop,
                     expected="one of " + ", ".join(f.loop_var.name for f in loops))  # fmt: skip


# If a reduction loop were outside, the init would run again in each of its iterations and erase the partial sum.
def require_reduction_inside(realize: BlockRealize, outside: Sequence[For]) -> None:
    for outer in outside:
        for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if iter_var.iter_type == "reduce" and uses_var(value, outer.loop_var):
                raise refuse(
                    "reduction-outside",
                    f"loop {outer.loop_var.name!r}, outside the given one, drives the reduction iterator {iter_var.var.name!r}",
                    outer, realize, expected="all reduction loops at or inside the given loop",
                    fix=(f"sch.decompose_reduction({realize.block.name!r}, {outer.loop_var.name})",),
                )  # fmt: skip


# Copies of the loops run the same iterations only if there is nothing else between them and the block.
def require_plain_nest(ctx: Context, realize: BlockRealize, outermost: For, what: str) -> None:
    for outer in ctx.index.path(realize):
        if not isinstance(outer, For | SeqStmt):
            raise refuse(
                "not-alone", f"cannot {what}: block {realize.block.name!r} is nested in statements other than loops", realize, outer,
                expected=f"loops only, up to {outermost.loop_var.name!r}",
            )  # fmt: skip
        if outer is outermost:
            return


# The separated init runs once for each element, before all its terms; the original must do the same.
def require_own_sum(ctx: Context, realize: BlockRealize, inside: Sequence[For]) -> None:
    require_iterators_only(ctx, realize, ctx.index.loops_above(realize), "decompose")
    loops = {f.loop_var: Range(f.min, f.extent) for f in inside}
    around = set(ctx.index.path(inside[0]))
    apart = ctx.index.fact(writes_distinct, realize.block) and is_once(realize, loops)
    if not (apart and starts_with_init(realize, loops) and provably_runs(ctx.index, realize, around)):
        raise no_own_sum(ctx, realize, "decompose", loops)


# The init moves before all other statements in the loop: none of them may need the old value, or compute an input of the init.
def require_nobody_between(ctx: Context, realize: BlockRealize, loop: For) -> None:
    block = realize.block
    written = {w.buffer for w in block.writes}
    needed = (
        {n.buffer for n in walk(block.init) if isinstance(n, BufferLoad)} if block.init is not None else set[Buffer]()
    )
    for other in ctx.index.child_blocks(loop):
        makes = any(w.buffer in needed for w in other.block.writes)
        reads = [r.buffer for r in other.block.reads if r.buffer in written]
        if other is realize or not (makes or any(not is_covered(ctx.index, realize, other, b) for b in reads)):
            continue
        raise refuse(
            "order-dependent",
            f"block {block.name!r} cannot be initialized before loop {loop.loop_var.name!r}: block {other.block.name!r} must run first",
            realize, other, expected="a loop without other blocks that the init depends on",
        )  # fmt: skip


def _init_nest(realize: BlockRealize, loops: Sequence[For], name: str) -> Stmt:
    """The init as a block over the spatial iterators, under copies of those of `loops` that drive them, with kinds and annotations."""
    block = realize.block
    assert block.init is not None
    spatial = [(iv, v) for iv, v in zip(block.iter_vars, realize.iter_values, strict=True) if iv.iter_type == "spatial"]
    driven = [f for f in loops if any(uses_var(v, f.loop_var) for _, v in spatial)]
    predicate = _init_predicate(realize, loops, driven)

    fresh = {iv.var: Var(iv.var.name, iv.var.dtype) for iv, _ in spatial}
    body = rename(block.init, fresh)
    init = Block(
        name=name,
        iter_vars=tuple(IterVar(fresh[iv.var], iv.dom, iv.iter_type) for iv, _ in spatial),
        reads=accessed_regions(body)[0],
        writes=tuple(rename(w, fresh) for w in block.writes),
        body=body,
        alloc_buffers=(),
        annotations=block.annotations,
    )
    copies = {f.loop_var: Var(f"{f.loop_var.name}_init", f.loop_var.dtype) for f in driven}
    nest: Stmt = BlockRealize(tuple(substitute(v, copies) for _, v in spatial), substitute(predicate, copies), init)
    for old in reversed(driven):
        first, extent = substitute(old.min, copies), substitute(old.extent, copies)
        nest = For(copies[old.loop_var], first, extent, old.kind, nest, old.thread_tag, old.annotations)
    return nest


def _init_predicate(realize: BlockRealize, loops: Sequence[For], driven: Sequence[For]) -> Expr:
    """The predicate of the init: that of the first term, with which each sum starts (`starts_with_init`)."""
    dropped = {f.loop_var: f.min for f in loops if f not in driven}
    kept: list[Expr] = []
    for term in build.conjuncts(realize.predicate):
        used = free_vars(term)
        if used & dropped.keys() and used & {f.loop_var for f in driven}:
            raise refuse("predicate-on-reduction", "a predicate depends on both spatial and reduction loops", realize)
        kept.append(simplify(substitute(term, dropped)) if used & dropped.keys() else term)
    return build.logical_and(*kept)


def _with_own_output(block: Block):
    """The reads of the update: first its own output, which the init wrote; without regions that only the init read."""
    missing = [w for w in block.writes if all(r.buffer is not w.buffer for r in block.reads)]
    used = {r.buffer for r in accessed_regions(replace_fields(block, init=None))[0]}
    by_init = (
        {n.buffer for n in walk(block.init) if isinstance(n, BufferLoad)} if block.init is not None else set[Buffer]()
    )
    return (*missing, *(r for r in block.reads if r.buffer in used or r.buffer not in by_init))


def placed_before(ctx: Context, loop: For, first: Stmt, new_loop: For) -> dict[Node, Node]:
    """`first` placed before `loop`, in the sequence that contains it if there is one."""
    parent = ctx.index.parent(loop)
    if isinstance(parent, SeqStmt):
        items = [s for item in parent.seq for s in ((first, new_loop) if item is loop else (item,))]
        return {parent: build.seq(items)}
    return {loop: build.seq([first, new_loop])}
