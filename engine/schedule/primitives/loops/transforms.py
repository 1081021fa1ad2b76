"""Loops split, fused and reordered: split, fuse, reorder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace as replace_fields

from ....arith import Analyzer, prove, simplify
from ....ir import (
    BlockRealize,
    BufferLoad,
    Expr,
    For,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    map_stmts,
    uses_var,
    walk,
)
from ....ir import dtype as dt
from ....script import expr_text
from ...context import Context, LoopRV, Result
from ...errors import refuse
from ...rules.affine import require_affine_below
from ...rules.checks import require_in_blocks, require_no_reads_before_blocks, require_order_free


def split(
    ctx: Context,
    loop: LoopRV | str,
    factors: Sequence[int | Expr | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
    *,
    names: Sequence[str] | None = None,
) -> Result[list[LoopRV]]:
    """Split a loop into a nest with one loop for each of `factors`, outermost first.

    Rewrite:
        for i in range(n):            for i_0, i_1 in T.grid(ceil(n / 16), 16):
            f(i)                 =>       f(i_0 * 16 + i_1)        # where i_0 * 16 + i_1 < n, when 16 does not divide n
    At most one factor is None and is inferred. `split("i => io, ii", factors=[None, 16])` gives the loop and the names in one string. The
    name `_` stands for the default name. `preserve_unit_iters` keeps loops of one iteration in the bindings.
    Requires: the loop starts at 0 and has no annotations and no thread binding; the factors are positive numbers, or expressions that are
    provably positive, and cover the extent.
    Returns: the new loops, outermost first, named `names` (default `i_0, i_1, …`). The old loop is removed.
    Errors: bad-factors, bad-names, loop-not-from-zero, loop-annotated, needs-predicate.
    Source: TVM src/s_tir/schedule/primitive/loop_transformation.cc, Split; `names` is Tilewright's.
    """
    old = ctx.loop(loop)
    require_plain(old, "split")
    sizes = _complete_factors(old, factors, ctx.loop_ranges(old))
    chosen = new_names(old, [f"{old.loop_var.name}_{i}" for i in range(len(sizes))], names)
    variables = [Var(name, old.loop_var.dtype) for name in chosen]
    values = {v: Range(build.const(0, v.dtype), s) for v, s in zip(variables, sizes, strict=True)}

    index: Expr = build.const(0, old.loop_var.dtype)
    for variable, size in zip(variables, sizes, strict=True):
        index = build.add(build.mul(index, size), variable)
    ranges = {**ctx.loop_ranges(old), **values}
    kept = _with_units(ranges) if preserve_unit_iters else ranges
    index = simplify(index, kept)
    condition = build.lt(index, old.extent)
    body = ctx.body_with(old, {old.loop_var: index})
    if not prove(condition, ranges):
        if disable_predication:
            raise refuse(
                "needs-predicate", f"the factors do not divide loop {old.loop_var.name!r}", old,
                found=f"extent {_number(old.extent)}", expected="a divisor of the extent, or disable_predication=False",
            )  # fmt: skip
        require_in_blocks(ctx, old, "split unevenly")
        require_no_reads_before_blocks(old, "split unevenly")
        body = with_predicate(body, simplify(condition, kept))
    body = simplify_bindings(body, ranges, preserve_unit_iters)
    new = build.nest([build.serial(v, s, old.body) for v, s in zip(variables, sizes, strict=True)], body)
    return Result(ctx.replaced({old: new}), variables)


def fuse(ctx: Context, *loops: LoopRV, preserve_unit_iters: bool = True, name: str | None = None) -> Result[LoopRV]:
    """Fuse perfectly nested loops into one loop.

    Rewrite:
        for i, j in T.grid(n, m):           for i_j_fused in range(n * m):
            f(i, j)                    =>       f(i_j_fused // m, i_j_fused % m)
    Requires: each loop contains only the next one, in the given order; the loops start at 0 and have no annotations and no thread bindings;
    no extent depends on another of the loops.
    Returns: the fused loop, named `name` (default `i_j_fused`). The old loops are removed.
    Errors: not-nested, loop-not-from-zero, loop-annotated, extent-depends, too-few-loops, bad-names.
    Source: TVM src/s_tir/schedule/primitive/loop_transformation.cc, Fuse; `name` is Tilewright's.
    """
    nest = [ctx.loop(v) for v in loops]
    if not nest:
        raise refuse("too-few-loops", "fuse needs at least one loop")
    for old in nest:
        require_plain(old, "fuse")
    require_perfect_nest(ctx, nest)
    require_independent_extents(nest)

    default = "_".join(f.loop_var.name for f in nest) + "_fused"
    dtype = max((old.loop_var.dtype for old in nest), key=dt.bits)
    fused = Var(new_names(nest[0], [default], None if name is None else [name])[0], dtype)
    extent: Expr = build.const(1, fused.dtype)
    for old in nest:
        extent = build.mul(extent, old.extent)
    ranges = {**ctx.loop_ranges(nest[0]), fused: Range(build.const(0, fused.dtype), extent)}
    unfused = ctx.body_with(nest[-1], _unfused(fused, nest, ranges))
    body = simplify_bindings(unfused, ranges, preserve_unit_iters)
    return Result(ctx.replaced({nest[0]: build.serial(fused, simplify(extent, ranges), body)}), fused)


def reorder(ctx: Context, *ordered_loops: LoopRV) -> Result[None]:
    """Reorder loops of one nest. Loops between them that are not named keep their positions.

    Rewrite:
        for i, j, k in T.grid(a, b, c):          for k, j, i in T.grid(c, b, a):
            f(i, j, k)                    =>         f(i, j, k)                       # reorder(k, i)
    Requires: only loops lie between the outermost and the innermost of the loops; no extent depends on a loop that moves inside; the blocks
    below give the same result in any order of their iterators, and their bindings are quasi-affine (split and fused loops).
    Returns: nothing; all loops stay valid.
    Errors: duplicate-loop, not-one-chain, extent-depends, order-dependent, opaque-iterator, not-affine.
    Source: TVM src/s_tir/schedule/primitive/loop_transformation.cc, Reorder.
    """
    named = [ctx.loop(v) for v in ordered_loops]
    if len(set(named)) != len(named):
        raise refuse("duplicate-loop", "a loop occurs twice in the new order", *named)
    if len(named) < 2:
        return Result(ctx.func, None)
    chain = require_one_chain(ctx, named)
    wanted = iter(named)
    order = [next(wanted) if f in named else f for f in chain]
    if order == chain:
        return Result(ctx.func, None)
    require_extents_above(order)
    require_order_free(ctx, chain, [f.loop_var for f in named], "reorder", order)
    require_affine_below(ctx, chain[0], "reorder", still=ctx.index.loops_above(chain[0]))
    return Result(ctx.replaced({chain[0]: build.nest(order, chain[-1].body)}), None)


# A loop to split or fuse must start at zero and have no annotations that would be lost.
def require_plain(loop: For, what: str) -> None:
    if not build.is_const(loop.min, 0):
        raise refuse("loop-not-from-zero", f"cannot {what} loop {loop.loop_var.name!r}: it does not start at 0", loop)
    require_unmarked(loop, what)


# Annotations of a loop apply to its whole range.
def require_unmarked(loop: For, what: str) -> None:
    if loop.annotations or loop.thread_tag is not None:
        found = (
            f"a binding to {loop.thread_tag}"
            if loop.thread_tag
            else "annotations " + ", ".join(k for k, _ in loop.annotations)
        )
        raise refuse(
            "loop-annotated", f"cannot {what} loop {loop.loop_var.name!r}: it has annotations or a thread binding", loop,
            found=found, expected=f"{what} before annotate and bind",
        )  # fmt: skip


# Fused loops must be perfectly nested.
def require_perfect_nest(ctx: Context, nest: Sequence[For]) -> None:
    for outer, inner in pairwise(nest):
        if outer.body is not inner:
            raise refuse(
                "not-nested", f"loop {inner.loop_var.name!r} is not the only statement in loop {outer.loop_var.name!r}", outer, inner,
                *sibling_blocks(ctx, inner), expected="perfectly nested loops, outermost first",
            )  # fmt: skip


# A fused loop has one extent, so no extent may depend on another of its loops.
def require_independent_extents(nest: Sequence[For]) -> None:
    for position, inner in enumerate(nest):
        for outer in nest[:position]:
            if uses_var(inner.extent, outer.loop_var):
                raise refuse(
                    "extent-depends",
                    f"the extent of {inner.loop_var.name!r} depends on {outer.loop_var.name!r}",
                    inner,
                    outer,
                )


# Reordered loops form one chain: each contains the next, with only loops between them.
def require_one_chain(ctx: Context, loops: Sequence[For]) -> list[For]:
    """The chain of loops from the outermost to the innermost of `loops`."""
    deepest = max(loops, key=lambda f: len(list(ctx.index.path(f))))
    chain = [deepest]
    missing = set(loops) - {deepest}
    for outer in ctx.index.path(deepest):
        if not missing:
            break
        if not isinstance(outer, For):
            break
        chain.append(outer)
        missing.discard(outer)
    if missing:
        stray = [f for f in loops if f in missing]
        names = ", ".join(repr(f.loop_var.name) for f in stray)
        siblings = sibling_blocks(ctx, chain[-1])
        raise refuse(
            "not-one-chain",
            f"loops {names} and {deepest.loop_var.name!r} are not in one perfect nest", *stray, deepest, *siblings,
            found=f"adjacent: {', '.join(r.block.name for r in siblings)}" if siblings else "a block or a branch between them",
            expected="loops with only loops between them",
        )  # fmt: skip
    return chain[::-1]


def sibling_blocks(ctx: Context, stmt: Stmt) -> list[BlockRealize]:
    """The blocks in the other statements of the sequence that contains `stmt`."""
    around = ctx.index.parent(stmt)
    others = [s for s in around.seq if s is not stmt] if isinstance(around, SeqStmt) else []
    return [r for s in others for r in ((s,) if isinstance(s, BlockRealize) else ctx.index.child_blocks(s))]


# A loop may not move above a loop that its bounds depend on.
def require_extents_above(order: Sequence[For]) -> None:
    for position, outer in enumerate(order):
        for inner in order[position + 1 :]:
            if uses_var(outer.extent, inner.loop_var) or uses_var(outer.min, inner.loop_var):
                raise refuse(
                    "extent-depends",
                    f"the extent of {outer.loop_var.name!r} depends on {inner.loop_var.name!r}",
                    outer,
                    inner,
                )


def _complete_factors(loop: For, factors: Sequence[int | Expr | None], ranges: Mapping[Var, Range]) -> list[Expr]:
    """The factors as expressions of the loop's dtype, with the inferred one."""
    known = [_factor(loop, f, ranges) for f in factors if f is not None]
    if not factors or len(factors) - len(known) > 1:
        raise refuse(
            "bad-factors", "split needs at least one factor, and infers at most one", loop, found=str(list(factors))
        )
    product: Expr = build.const(1, loop.loop_var.dtype)
    for factor in known:
        product = build.mul(product, factor)
    covers = build.ge(product, loop.extent)
    if len(known) == len(factors) and not (build.is_true(covers) or prove(covers, ranges)):
        raise refuse(
            "bad-factors", f"the factors do not cover loop {loop.loop_var.name!r}", loop,
            found=f"product {_number(product)}", expected=f"at least {_number(loop.extent)}, or None for one factor",
        )  # fmt: skip
    rest = simplify(build.floordiv(build.sub(build.add(loop.extent, product), 1), product), ranges)
    given = iter(known)
    return [rest if f is None else next(given) for f in factors]


# A loop over a tile runs at least once.
def _factor(loop: For, factor: int | Expr, ranges: Mapping[Var, Range]) -> Expr:
    dtype = loop.loop_var.dtype
    if isinstance(factor, int) and not isinstance(factor, bool) and factor > 0:
        return build.const(factor, dtype)
    if not isinstance(factor, Expr):
        raise refuse("bad-factors", "factors must be positive integers or None", loop, found=str(factor))
    if not prove(build.ge(factor, 1), ranges):
        raise refuse(
            "bad-factors",
            "a factor may be zero or negative",
            loop,
            found=expr_text(factor),
            expected="a factor that is provably positive",
        )
    return build.cast(factor, dtype)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier()


def new_names(loop: For, default: Sequence[str], names: Sequence[str] | None) -> Sequence[str]:
    """The names of the loops that replace `loop`. The name "_" stands for the default."""
    if names is None:
        return default
    chosen = [d if name == "_" else name for name, d in zip(names, default, strict=False)]
    if len(names) != len(default) or len(set(chosen)) != len(chosen) or not all(map(_is_name, chosen)):
        raise refuse(
            "bad-names", "names must be distinct identifiers, one for each loop", loop,
            found=str(list(names)), expected=f"{len(default)} names",
        )  # fmt: skip
    return chosen


def _unfused(fused: Var, nest: Sequence[For], ranges: Mapping[Var, Range]) -> dict[Var, Expr]:
    """Each old loop variable as a function of the fused one."""
    if any(build.is_const(f.extent, 0) for f in nest):
        return {f.loop_var: f.min for f in nest}  # nothing runs
    values: dict[Var, Expr] = {}
    inner: Expr = build.const(1, fused.dtype)
    for position, loop in reversed(list(enumerate(nest))):
        whole = build.mul(inner, loop.extent)
        value = build.floormod(fused, whole) if position > 0 else fused
        values[loop.loop_var] = simplify(build.floordiv(value, inner), ranges)
        inner = whole
    return values


def with_predicate(body: Stmt, condition: Expr) -> Stmt:
    """`body` with `condition` added to the predicate of each block directly below, without inner blocks."""

    def visit(node: Node) -> Node:
        if isinstance(node, BlockRealize):
            # A predicate that reads memory is evaluated only if the condition holds.
            reads = any(isinstance(n, BufferLoad) for n in walk(node.predicate))
            terms = (condition, node.predicate) if reads else (node.predicate, condition)
            return replace_fields(node, predicate=build.logical_and(*terms))
        return map_stmts(node, visit)

    result = visit(body)
    assert isinstance(result, Stmt)
    return result


def simplify_bindings(body: Stmt, ranges: Mapping[Var, Range], preserve_unit_iters: bool) -> Stmt:
    """`body` with simplified bindings and predicates of the blocks directly below; on request, with loops of one iteration kept."""

    def visit(node: Node, ranges: Mapping[Var, Range]) -> Node:
        if isinstance(node, BlockRealize):
            known = Analyzer(_with_units(ranges) if preserve_unit_iters else ranges)
            values = tuple(map(known.simplify, node.iter_values))
            terms = (known.simplify(t) for t in build.conjuncts(node.predicate) if not prove(t, ranges))
            return replace_fields(node, iter_values=values, predicate=build.logical_and(*terms))
        if isinstance(node, For):
            ranges = {**ranges, node.loop_var: Range(node.min, node.extent)}
        return map_stmts(node, lambda child: visit(child, ranges))

    result = visit(body, ranges)
    assert isinstance(result, Stmt)
    return result


def _with_units(ranges: Mapping[Var, Range]) -> dict[Var, Range]:
    """The ranges, with extents of one widened to two, so that simplification keeps these loops."""
    two = {v: Range(r.min, build.const(2, r.extent.dtype)) for v, r in ranges.items() if build.is_const(r.extent, 1)}
    return {**ranges, **two}


def _number(extent: Expr) -> str:
    value = build.int_value(extent)
    return "a symbolic extent" if value is None else str(value)
