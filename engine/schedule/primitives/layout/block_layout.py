"""Transformation and order of a block's iterators: transform_block_layout, reorder_block_iter_var."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as replace_fields

from ....arith import Analyzer, PaddedMap, keeps_order, padded_inverse, prove_equal
from ....ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IndexMap,
    IterType,
    IterVar,
    Node,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
    map_children,
    substitute,
    uses_var,
)
from ...context import BlockRV, Context, Result, with_block
from ...errors import refuse
from ...rules.checks import require_in_blocks, require_order_free
from ...rules.index_maps import IndexMapLike, map_of_iterators
from .buffer_layout import in_dtype


def transform_block_layout(ctx: Context, block: BlockRV, index_map: IndexMapLike) -> Result[None]:
    """Transform the iterators of a block by `index_map`. Each new iterator gets its own loop.

    Rewrite:
        for i, j in grid(n, m):                  for ax0 in range(n * m):
            vi, vj = i, j                 =>         v0 = ax0
            B[vi, vj] = f(A[vi, vj])                 B[v0 // m, v0 % m] = f(A[v0 // m, v0 % m])      # lambda i, j: [i * m + j]
    Requires: the loops contain only this block, with one loop for each iterator; the map is a bijection, and none of its results mixes
    spatial and reduction iterators; the iterations may run in any order.
    Returns: nothing. New loops replace the loops around the block; the block keeps its name.
    Errors: unknown-block, bad-index-map, not-bijective, not-only-child, not-trivial-binding, mixed-iterators, loop-start, order-dependent.
    Source: TVM src/s_tir/schedule/primitive/layout_transformation.cc, TransformBlockLayout.
    """
    realize = ctx.realize(block)
    given = map_of_iterators(realize.block, index_map)
    loops = ctx.index.loops_of(block)
    require_own_loops(ctx, realize, loops)
    require_trivial_bindings(realize, loops)
    extents = [iv.dom.extent for iv in realize.block.iter_vars]
    index_map = require_arity(realize.block, in_dtype(given, extents))
    places = require_bijection(realize.block, index_map)
    kinds: list[IterType] = [_kind_or_refuse(realize.block, index_map, k, e) for k, e in enumerate(places.shape)]
    if loops and not (
        realize.iter_values == tuple(f.loop_var for f in loops) and keeps_order(index_map, extents, places.shape)
    ):
        require_order_free(ctx, loops, [f.loop_var for f in loops], "transform the iterators of a block in")

    new = tuple(
        IterVar(Var(f"v{k}", index.dtype), build.make_range(0, build.cast(extent, index.dtype)), kind)
        for k, (index, extent, kind) in enumerate(zip(index_map.indices, places.shape, kinds, strict=True))
    )
    over = dict(zip(places.inverse.params, (iv.var for iv in new), strict=True))
    old = (iv.var for iv in realize.block.iter_vars)
    values = {v: substitute(e, over) for v, e in zip(old, places.inverse.indices, strict=True)}
    ranges = {iv.var: iv.dom for iv in new if not build.is_const(iv.dom.extent, 1)}
    body = _simplified(substitute(replace_fields(realize.block, iter_vars=()), values), Analyzer(ranges))
    axes = tuple(Var(f"ax{k}", iv.var.dtype) for k, iv in enumerate(new))
    moved = BlockRealize(axes, realize.predicate, replace_fields(body, iter_vars=new))
    nest: Stmt = moved
    for axis, iv in reversed(list(zip(axes, new, strict=True))):
        nest = build.serial(axis, iv.dom.extent, nest)
    return Result(ctx.replaced({loops[0] if loops else realize: nest}), None, traced={"index_map": given})


def reorder_block_iter_var(ctx: Context, block: BlockRV, new_order: Sequence[int]) -> Result[None]:
    """Reorder the iterators of a block.

    Rewrite:    vi, vj, vk = remap("SSR", [i, j, k])   =>   vk, vj, vi = remap("RSS", [k, j, i])        # [2, 1, 0]
    The loops, and so the computation and its order, stay the same. (`tensorize` matches iterators by their order.)
    Requires: a permutation of 0, 1, … for all iterators.
    Returns: nothing.
    Errors: unknown-block, bad-order.
    Source: TVM src/s_tir/schedule/primitive/reorder_block_iter_var.cc.
    """
    realize = ctx.realize(block)
    order = tuple(new_order)
    count = len(realize.block.iter_vars)
    if sorted(order) != list(range(count)):
        raise refuse(
            "bad-order", f"{list(order)} is not a permutation of the {count} iterators of block {block!r}", realize,
            expected=f"each of 0 to {count - 1} once",
        )  # fmt: skip
    new = with_block(realize, iter_vars=tuple(realize.block.iter_vars[k] for k in order))
    values = tuple(realize.iter_values[k] for k in order)
    return Result(ctx.replaced({realize: replace_fields(new, iter_values=values)}), None)


# The loops are replaced by new ones, so they must contain nothing else.
def require_own_loops(ctx: Context, realize: BlockRealize, loops: Sequence[For]) -> None:
    if not loops:
        return
    require_in_blocks(ctx, loops[0], "transform the iterators of a block in")
    inside: Stmt = loops[0]
    while isinstance(inside, For):
        if not build.is_const(inside.min, 0):
            raise refuse(
                "loop-start", f"loop {inside.loop_var.name!r} does not start at 0", inside, expected="a start of 0"
            )
        inside = inside.body
    if inside is not realize:
        raise refuse(
            "not-only-child", f"the loops around block {realize.block.name!r} contain other statements", loops[0],
            expected="perfectly nested loops around the block",
        )  # fmt: skip


# Each iterator is one loop over its whole domain, and vice versa: the new loops then run each iteration once.
def require_trivial_bindings(realize: BlockRealize, loops: Sequence[For]) -> None:
    mine = {f.loop_var: f for f in loops}
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    each_once = len({v for _, v in pairs}) == len(pairs) == len(loops)
    for iv, value in pairs:
        loop = mine.get(value) if isinstance(value, Var) else None
        whole = loop is not None and prove_equal(loop.extent, iv.dom.extent) and build.is_const(iv.dom.min, 0)
        if not whole or not each_once:
            raise _not_trivial(realize, iv.var.name)
    if len(pairs) != len(loops) or not build.is_true(realize.predicate):
        raise _not_trivial(realize, None)
    direct = next((v for v in mine if uses_var(realize.block, v)), None)
    if direct is not None:
        raise _not_trivial(realize, direct.name)


def _not_trivial(realize: BlockRealize, name: str | None):
    return refuse(
        "not-trivial-binding", f"block {realize.block.name!r} does not bind each of its loops to one iterator", realize,
        found="a predicate, or a loop without an iterator" if name is None else f"iterator {name!r}",
        expected="iterators bound to single loops that cover their domains",
    )  # fmt: skip


def require_arity(block: Block, index_map: IndexMap) -> IndexMap:
    if len(index_map.params) != len(block.iter_vars) or not index_map.indices:
        raise refuse(
            "bad-index-map", f"the index map has {len(index_map.params)} iterators, but block {block.name!r} has {len(block.iter_vars)}",
            block, expected=f"a function of {len(block.iter_vars)} iterators",
        )  # fmt: skip
    return index_map


# The map must reach each iteration once and add none.
def require_bijection(block: Block, index_map: IndexMap) -> PaddedMap:
    try:
        places = padded_inverse(index_map, [iv.dom.extent for iv in block.iter_vars])
    except ValueError as error:
        raise refuse("bad-index-map", str(error), block, expected="bounded iterators") from error
    exact = places is not None and build.is_const(places.padding, 0)
    if places is None or not exact or not all(build.is_const(low, 0) for low in places.lowest):
        raise refuse(
            "not-bijective", f"the index map is not a bijection on the iterations of block {block.name!r}", block,
            expected="an invertible map of sums of multiples, quotients and remainders of the iterators, without padding",
        )  # fmt: skip
    return places


# A spatial and a reduction iterator cannot become one iterator.
def _kind_or_refuse(block: Block, index_map: IndexMap, position: int, extent: Expr) -> IterType:
    used = free_vars(index_map.indices[position])
    kinds: set[IterType] = {iv.iter_type for iv, p in zip(block.iter_vars, index_map.params, strict=True) if p in used}
    if build.is_const(extent, 1):
        return "spatial"
    if len(kinds) != 1 or kinds == {"opaque"}:
        raise refuse(
            "mixed-iterators", f"iterator {position} of the map combines {' and '.join(sorted(kinds)) or 'no'} iterators", block,
            expected="iterators of a single kind in each",
        )  # fmt: skip
    return kinds.pop()


def _simplified(block: Block, known: Analyzer) -> Block:
    """The block with the indices of accesses and regions simplified, as in TVM."""

    def visit(node: Node) -> Node:
        done = map_children(node, visit)
        match done:
            case BufferLoad() | BufferStore():
                return replace_fields(done, indices=tuple(map(known.simplify, done.indices)))
            case BufferRegion():
                box = tuple(Range(known.simplify(r.min), known.simplify(r.extent)) for r in done.region)
                return replace_fields(done, region=box)
            case _:
                return done

    done = visit(block)
    assert isinstance(done, Block)
    return done
