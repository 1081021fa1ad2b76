"""Padding in two steps, the constant and the interior: decompose_padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import provably_runs, writes_distinct
from ....arith import linear, prove, simplify
from ....ir import (
    GE,
    GT,
    LE,
    LT,
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    FloatImm,
    For,
    IntImm,
    IterVar,
    Max,
    Min,
    Node,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
    rename,
    replace_nodes,
    rewrite,
    substitute,
    uses_var,
    walk,
)
from ...context import BlockRV, Context, LoopRV, Result
from ...errors import refuse
from ...rules import block_motion
from ...rules.checks import out_of_order, require_iterators_only, shares_elements
from ..reduction.decompose import placed_before, require_around, require_nobody_between, require_plain_nest


def decompose_padding(ctx: Context, block: BlockRV, loop: LoopRV) -> Result[BlockRV]:
    """Fill a padded buffer with its constant before `loop`, and store only the interior in the block.

    Rewrite:
        for i in range(10):                                             for i in range(10):
            with T.sblock("P"):                                             with T.sblock("P_pad_const"): P[i] = 0
                P[i] = T.if_then_else(1 <= i and i < 9, A[i - 1], 0)  =>  for i in range(8):
                                                                            with T.sblock("P"): P[i + 1] = A[i]
    Loops around the block alone that drive one iterator each become as long as the interior. For other loops, the condition becomes the
    block's predicate.
    Requires: a complete block `P[…] = T.if_then_else(condition, value, constant)` whose iterations store different elements, below `loop`;
    a condition on the iterators that is not always true; no block in `loop` reads elements before the block stores them.
    Returns: the block `<block>_pad_const`. The block and the loops stay valid.
    Errors: not-complete, loop-not-around, not-a-padding, trivial-padding, order-dependent, opaque-iterator, opaque-access, not-alone.
    Source: TVM src/s_tir/schedule/primitive/decompose_padding.cc, DecomposePadding.
    """
    realize = ctx.realize(block)
    target = ctx.loop(loop)
    block_motion.require_complete(ctx, realize)
    loops = ctx.index.loops_above(realize)
    require_around(block, loops, target)
    padding = require_padding(realize)
    inside = loops[loops.index(target) :]
    require_own_elements(ctx, realize, loops, target)
    block_motion.require_not_loose(ctx, realize)
    require_nobody_between(ctx, realize, target)
    ranges = {f.loop_var: Range(f.min, f.extent) for f in loops}
    terms = padding.terms(realize)
    require_border(realize, terms, ranges)

    name = ctx.fresh_block_name(f"{block}_pad_const")
    border = _border_nest(realize, padding, inside, name, ranges)
    own = _own_loops(ctx, realize, inside)
    inner = _inner_nest(realize, padding, own, ranges)
    top: Stmt = own[0] if own else realize
    return Result(ctx.replaced(placed_before(ctx, target, border, replace_nodes(target, {top: inner}))), name)


class _Padding(msgspec.Struct, frozen=True, eq=False):
    """A block whose `store` has the value `if_then_else(condition, value, constant)`."""

    store: BufferStore
    condition: tuple[Expr, ...]
    value: Expr
    constant: Expr

    def terms(self, realize: BlockRealize) -> list[Expr]:
        """The terms under which the value is stored, in the loops: the condition, and the predicate of the block."""
        bindings = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
        return [*(substitute(t, bindings) for t in self.condition), *build.conjuncts(realize.predicate)]


# The constant must be known in advance, and the position of the store must depend on the iterators alone.
def require_padding(realize: BlockRealize) -> _Padding:
    block = realize.block
    store = block.body
    plain = not (block.alloc_buffers or block.match_buffers or block.init) and len(block.writes) == 1
    match store:
        case BufferStore(value=Call(op="if_then_else", args=(condition, value, IntImm() | FloatImm() as constant))) if (
            plain
        ):
            if not any(isinstance(n, BufferLoad) for n in walk(condition)):
                return _Padding(store, tuple(map(_without_likely, build.conjuncts(condition))), value, constant)
        case _:
            pass
    raise refuse(
        "not-a-padding", f"block {block.name!r} is not a padding block", realize,
        expected="P[i] = T.if_then_else(condition of the iterators, value, constant)",
    )  # fmt: skip


def _without_likely(term: Expr) -> Expr:
    return term.args[0] if isinstance(term, Call) and term.op == "likely" else term


# An element that is temporarily stored twice must get its final value before it is read.
def require_own_elements(ctx: Context, realize: BlockRealize, loops: Sequence[For], target: For) -> None:
    require_iterators_only(ctx, realize, loops, "decompose")
    require_plain_nest(ctx, realize, target, "decompose")
    if not ctx.index.fact(writes_distinct, realize.block) or not provably_runs(
        ctx.index, realize, set(ctx.index.path(target))
    ):
        raise out_of_order(realize, "decompose")
    buffer = realize.block.writes[0].buffer
    for outer in loops[: loops.index(target)]:
        if outer.kind not in ("serial", "unrolled") and shares_elements(ctx, outer, realize, buffer):
            raise refuse(
                "order-dependent", f"concurrent iterations of loop {outer.loop_var.name!r} store the same elements of {buffer.name!r}",
                outer, realize, expected="iterations that store distinct elements",
            )  # fmt: skip


# A condition that always holds leaves nothing to fill.
def require_border(realize: BlockRealize, terms: Sequence[Expr], ranges: Mapping[Var, Range]) -> None:
    if all(prove(t, ranges) for t in terms):
        raise refuse(
            "trivial-padding", f"the condition of block {realize.block.name!r} always holds: there is nothing to fill", realize,
            expected="a condition that excludes a border",
        )  # fmt: skip


def _border_nest(
    realize: BlockRealize, padding: _Padding, inside: Sequence[For], name: str, ranges: Mapping[Var, Range]
) -> Stmt:
    """The block that stores the constant everywhere, under serial copies of the loops."""
    block = realize.block
    fresh = {iv.var: Var(iv.var.name, iv.var.dtype) for iv in block.iter_vars}
    fill = Block(
        name=name,
        iter_vars=tuple(IterVar(fresh[iv.var], iv.dom) for iv in block.iter_vars),
        reads=(),
        writes=tuple(rename(w, fresh) for w in block.writes),
        body=rename(replace_fields(padding.store, value=padding.constant), fresh),
    )
    copied = {f.loop_var for f in inside}
    outer = {v: r for v, r in ranges.items() if v not in copied}
    values = tuple(simplify(v, outer) for v in realize.iter_values)
    nest: Stmt = BlockRealize(values, simplify(realize.predicate, outer), fill)
    for loop in reversed(inside):
        nest = For(loop.loop_var, loop.min, loop.extent, "serial", nest)
    return rename(nest, {v: Var(v.name, v.dtype) for v in copied})


def _own_loops(ctx: Context, realize: BlockRealize, inside: Sequence[For]) -> tuple[For, ...]:
    """The innermost loops that contain this block only."""
    own: list[For] = []
    below: Stmt = realize
    for loop in reversed(inside):
        if loop.body is not below:
            break
        own.insert(0, loop)
        below = loop
    return tuple(own)


def _inner_nest(realize: BlockRealize, padding: _Padding, own: Sequence[For], ranges: Mapping[Var, Range]) -> Stmt:
    """The block that stores the interior. Its loops and iterators have the extents of the interior and count from its start."""
    block = realize.block
    changed = dict(ranges)
    shifts: dict[Var, Expr] = {}
    moved: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    values: list[Expr] = []
    for iv, value in zip(block.iter_vars, realize.iter_values, strict=True):
        loop = _loop_of(value, realize, own)
        inside = _inside(iv, padding.condition, {iv.var for iv in block.iter_vars}, loop)
        var = Var(iv.var.name, iv.var.dtype)
        iterators.append(IterVar(var, Range(build.const(0, var.dtype), inside.extent)))
        shifts[iv.var] = build.add(var, inside.min)
        if loop is None:
            values.append(build.sub(value, inside.min))
        else:
            values.append(loop.loop_var)
            changed[loop.loop_var] = iterators[-1].dom
            moved[loop.loop_var] = build.add(loop.loop_var, inside.min)
    terms = (substitute(t, moved) for t in padding.terms(realize))
    predicate = build.logical_and(*(simplify(t, changed) for t in terms if not prove(t, changed)))
    plain = {f.loop_var for f in own}
    bindings = tuple(v if isinstance(v, Var) and v in plain else simplify(v, changed) for v in values)
    store = replace_fields(padding.store, value=padding.value)
    inner = replace_fields(
        block,
        iter_vars=tuple(iterators),
        reads=tuple(_shifted_region(r, shifts) for r in block.reads),
        writes=tuple(_shifted_region(w, shifts) for w in block.writes),
        body=_shifted(store, shifts),
    )
    nest: Stmt = BlockRealize(bindings, predicate, inner)
    for loop in reversed(own):
        span = changed[loop.loop_var]
        nest = replace_fields(loop, min=span.min, extent=span.extent, body=nest)
    return nest


def _loop_of(value: Expr, realize: BlockRealize, own: Sequence[For]) -> For | None:
    """The loop that drives this iterator and no other one."""
    loop = next((f for f in own if f.loop_var is value), None)
    if loop is None:
        return None
    bounds = [e for f in own for e in (f.min, f.extent)]
    others = [v for v in realize.iter_values if v is not value]
    once = sum(v is value for v in realize.iter_values) == 1
    return loop if once and not any(uses_var(e, loop.loop_var) for e in (*bounds, *others)) else None


def _inside(iter_var: IterVar, condition: Sequence[Expr], iterators: set[Var], loop: For | None) -> Range:
    """The values of an iterator, within its range, for which the condition may hold."""
    spans = [iter_var.dom] if loop is None else [Range(loop.min, loop.extent), iter_var.dom]
    lows = [s.min for s in spans]
    ends = [build.add(s.min, s.extent) for s in spans]
    for term in condition:
        for low, end in _limits(term, iter_var.var, iterators):
            lows += [low] if low is not None else []
            ends += [end] if end is not None else []
    low, end = _decided(lows, build.maximum), _decided(ends, build.minimum)
    extent = simplify(build.sub(end, low))
    count = build.int_value(extent)
    return Range(low, build.const(0, extent.dtype) if count is not None and count < 0 else extent)


def _decided(candidates: Sequence[Expr], pick: Callable[[Expr, Expr], Expr]) -> Expr:
    """The largest or smallest candidate; the first of those that cannot be compared."""
    best = candidates[0]
    for other in candidates[1:]:
        found = simplify(pick(best, other))
        best = best if any(isinstance(n, Min | Max) for n in walk(found)) else found
    return simplify(best)


def _limits(term: Expr, var: Var, iterators: set[Var]) -> list[tuple[Expr | None, Expr | None]]:
    """(lowest value, end) of an iterator under a comparison with an expression without iterators."""
    if not isinstance(term, LT | LE | GT | GE) or not uses_var(term, var):
        return []
    small, large = (term.a, term.b) if isinstance(term, LT | LE) else (term.b, term.a)
    slack = 0 if isinstance(term, LT | GT) else 1
    form = linear(build.sub(small, large))  # < slack
    if form is None:
        return []
    factor = next((f for a, f in form.terms if a is var), 0)
    rest: Expr = build.const(form.constant, var.dtype)
    for atom, scale in form.terms:
        if atom is not var:
            rest = build.add(rest, build.mul(atom, scale))
    if abs(factor) != 1 or free_vars(rest) & iterators:
        return []
    if factor == 1:  # var + rest < slack
        return [(None, simplify(build.sub(slack, rest)))]
    return [(simplify(build.add(rest, 1 - slack)), None)]  # rest - var < slack


def _shifted_region(region: BufferRegion, shifts: Mapping[Var, Expr]) -> BufferRegion:
    found = substitute(region, shifts)
    return replace_fields(found, region=tuple(Range(simplify(r.min), simplify(r.extent)) for r in found.region))


def _shifted(store: BufferStore, shifts: Mapping[Var, Expr]) -> BufferStore:
    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad | BufferStore):
            return replace_fields(node, indices=tuple(map(simplify, node.indices)))
        return node

    return rewrite(substitute(store, shifts), leave)
