"""Tensor products with padded sizes: pad_einsum pads the inputs with zeros, and copies the interior of the output back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec.structs import replace as replace_fields

from ....analysis import Update, find_update, is_once, provably_runs, starts_with_init, writes_all
from ....arith import prove_equal, simplify
from ....ir import (
    Add,
    BinaryOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IfThenElse,
    IterVar,
    Mod,
    Mul,
    Node,
    Range,
    Select,
    Stmt,
    Sub,
    Var,
    build,
    rewrite,
    uses_var,
    walk,
)
from ...context import BlockRV, Context, Result, with_allocations
from ...errors import refuse
from ...rules.block_motion import require_complete_or_reduction
from ...rules.checks import no_own_sum, require_in_blocks, require_iterators_only
from ..copies.staging_checks import require_initialized


def pad_einsum(ctx: Context, block: BlockRV, padding: Sequence[int]) -> Result[None]:
    """Pad the iterators of a block to multiples of `padding`, one number for each iterator, and its buffers with zeros.

    Rewrite:
        for i, k in T.grid(n, 127):                       for i, k in T.grid(n, 128):
            with T.sblock("C"):                               with T.sblock("A_pad"): A_pad[i, k] = T.if_then_else(k < 127, A[i, k], 0)
                with T.init(): C[i] = 0             =>    for i, k in T.grid(n, 128):                       # pad_einsum(C, [1, 32])
                C[i] = C[i] + A[i, k] * B[k]                  with T.sblock("C"): C[i] = C[i] + A_pad[i, k] * B_pad[k]
    A padded output is computed in `C_pad`, and its interior is copied to C afterwards. Values are assumed to be finite (0 * x = 0).
    Requires: a complete block or a reduction, whose buffers are indexed by single iterators or 0; each padded iterator runs from 0 over a
    whole axis, in its own loop around this block only; a reduction over a padded iterator is a sum of products with an input that becomes
    zero there. No padded value is a divisor.
    Returns: nothing. The blocks `A_pad`, … are named after the padded buffers; the block and its loops stay valid.
    Errors: bad-padding, not-complete, not-an-einsum, not-padded-with-zeros, order-dependent, opaque-iterator, partial-domain,
    region-not-covered, not-in-blocks.
    Source: TVM src/s_tir/schedule/primitive/pad_einsum.cc, PadEinsum.
    """
    realize = ctx.realize(block)
    require_padding_sizes(realize, padding)
    require_complete_or_reduction(ctx, realize)
    grown = _grown_extents(realize.block, padding)
    accesses = require_trivial_accesses(realize)
    require_own_nest(ctx, realize, grown)
    require_elements_of_its_own(realize, accesses, grown)
    require_outputs_filled(ctx, realize, accesses, grown)
    require_whole_axes(realize, accesses, grown)
    require_zeros_harmless(realize, grown)
    if not grown:
        return Result(ctx.func, None)

    pads = _pads(ctx, realize.block, accesses, grown)
    nest = ctx.index.loops_above(realize)[0]
    before = [_copy_in(p) for p in pads if not p.is_output]
    behind = [_copy_out(p) for p in pads if p.is_output]
    stmts: list[Stmt] = [*before, _padded_nest(nest, realize, pads, grown), *behind]
    scope = ctx.index.scope_of(realize)
    body = build.seq([s for item in _items(scope.body) for s in (stmts if item is nest else [item])])
    func = ctx.replaced({scope: with_allocations(replace_fields(scope, body=body), [p.padded for p in pads])})
    after = ctx.after(func)
    for pad in pads:
        if not pad.is_output and ctx.index.writers(pad.buffer):
            require_initialized(ctx, realize, after, pad.name, pad.buffer)
    return Result(func, None)


class _Access(msgspec.Struct, frozen=True, eq=False):
    """The block's accesses to a buffer, each at single iterators and zeros."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    is_output: bool

    def grows(self, grown: Grown) -> bool:
        """Whether the buffer becomes larger."""
        return any(i in grown for i in self.indices)


class _Pad(msgspec.Struct, frozen=True, eq=False):
    """A buffer, the larger one that the block accesses instead, and the block that copies between them."""

    buffer: Buffer
    padded: Buffer
    name: str
    is_output: bool
    domain: tuple[Range, ...]
    """What is copied: of an input, with the zeros; of an output, without."""


Grown = Mapping[Var, Expr]
"""The new extent of each iterator that grows."""


# The padding has one number for each iterator.
def require_padding_sizes(realize: BlockRealize, padding: Sequence[int]) -> None:
    count = len(realize.block.iter_vars)
    if len(padding) != count or any(n <= 0 for n in padding):
        raise refuse(
            "bad-padding", f"{list(padding)} does not give one positive size for each iterator of block {realize.block.name!r}", realize,
            expected=f"{count} positive numbers, 1 for iterators that keep their extent",
        )  # fmt: skip


def _grown_extents(block: Block, padding: Sequence[int]) -> dict[Var, Expr]:
    grown: dict[Var, Expr] = {}
    for iv, size in zip(block.iter_vars, padding, strict=True):
        extent = simplify(build.mul(build.floordiv(build.add(iv.dom.extent, size - 1), size), size))
        if not prove_equal(extent, iv.dom.extent):
            grown[iv.var] = extent
    return grown


# A padded buffer can replace a buffer if each axis of it belongs to one iterator.
def require_trivial_accesses(realize: BlockRealize) -> list[_Access]:
    block = realize.block
    found: list[_Access] = []
    for regions, is_output in ((block.reads, False), (block.writes, True)):
        for region in regions:
            indices = tuple(r.min for r in region.region)
            single = all(build.is_const(r.extent, 1) for r in region.region)
            if not single or not all(isinstance(i, Var) or build.is_const(i, 0) for i in indices):
                raise _not_einsum(
                    realize, f"an access to {region.buffer.name!r} whose indices are not single iterators"
                )
            if any(a.buffer is region.buffer for a in found):
                raise _not_einsum(realize, f"two accesses to {region.buffer.name!r}")
            found.append(_Access(region.buffer, indices, is_output))
    at = {a.buffer: a.indices for a in found}
    if block.alloc_buffers or block.match_buffers:
        raise _not_einsum(realize, "local buffers")
    for node in walk(block):
        if (type(node) is BufferLoad or type(node) is BufferStore) and _differ(node.indices, at.get(node.buffer)):
            raise _not_einsum(realize, f"an undeclared access to {node.buffer.name!r}")
        if type(node) in _NESTED and node is not block:
            raise _not_einsum(realize, "statements other than stores")
    return found


_NESTED = frozenset((Block, For, IfThenElse))


def _differ(indices: Sequence[Expr], declared: Sequence[Expr] | None) -> bool:
    return declared is None or any(
        i is not d and not (build.is_const(i, 0) and build.is_const(d, 0))
        for i, d in zip(indices, declared, strict=True)
    )


def _not_einsum(realize: BlockRealize, found: str):
    return refuse(
        "not-an-einsum", f"block {realize.block.name!r} does not compute an einsum", realize, found=found,
        expected="C[i, j] = C[i, j] + A[i, k] * B[k, j]: each buffer once, indexed by single iterators",
    )  # fmt: skip


# Longer loops run more iterations, so they must contain no other block, and the copies surround the whole nest.
def require_own_nest(ctx: Context, realize: BlockRealize, grown: Grown) -> None:
    name = realize.block.name
    loops = ctx.index.loops_above(realize)
    require_iterators_only(ctx, realize, loops, "pad")
    nested: Stmt = realize
    for loop in reversed(loops):
        if loop.body is not nested:
            require_in_blocks(ctx, loop, "pad")
            raise _not_einsum(realize, f"other statements in loop {loop.loop_var.name!r}")
        nested = loop
    if not loops or not any(item is loops[0] for item in _items(ctx.index.scope_of(realize).body)):
        raise _not_einsum(realize, "a condition around its loops")
    for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if iv.var not in grown:
            continue
        loop = next((f for f in loops if f.loop_var is value), None)
        if loop is None or not _is_own_loop(realize, loops, loop, iv):
            raise refuse(
                "not-an-einsum", f"iterator {iv.var.name!r} of block {name!r} is not bound to a single loop over its whole domain", realize,
                expected="padding before loops are split or fused",
            )  # fmt: skip
    if grown and not build.is_true(realize.predicate):
        raise _not_einsum(realize, "a predicate")
    ranges = {f.loop_var: Range(f.min, f.extent) for f in loops}
    if realize.block.init is not None and not (
        is_once(realize, ranges) and starts_with_init(realize, ranges) and provably_runs(ctx.index, realize, ())
    ):
        raise no_own_sum(ctx, realize, "pad", ranges)


def _is_own_loop(realize: BlockRealize, loops: Sequence[For], loop: For, iter_var: IterVar) -> bool:
    parts = [e for f in loops for e in (f.min, f.extent)]
    users = [v for v in realize.iter_values if uses_var(v, loop.loop_var)]
    whole = prove_equal(loop.min, iter_var.dom.min) and prove_equal(loop.extent, iter_var.dom.extent)
    return (
        len(users) == 1 and whole and build.is_const(loop.min, 0) and not any(uses_var(e, loop.loop_var) for e in parts)
    )


# Values beyond the iterators' ends must be zeros, not other elements; an output is copied back whole.
def require_whole_axes(realize: BlockRealize, accesses: Sequence[_Access], grown: Grown) -> None:
    extents = {iv.var: iv.dom for iv in realize.block.iter_vars}
    for access in accesses:
        padded = access.grows(grown)
        for index, size in zip(access.indices, access.buffer.shape, strict=True):
            matters = padded and (access.is_output or index in grown)
            point = Range(index, build.const(1, index.dtype))
            dom = extents.get(index, point) if isinstance(index, Var) else point
            if matters and not (build.is_const(dom.min, 0) and prove_equal(dom.extent, size)):
                raise _not_einsum(realize, f"an axis of {access.buffer.name!r} that is not fully covered")


# A spatial iterator of one value that indexes no output cannot grow: its new values would store the same elements again.
def require_elements_of_its_own(realize: BlockRealize, accesses: Sequence[_Access], grown: Grown) -> None:
    for iv in realize.block.iter_vars:
        if iv.var in grown and iv.iter_type != "reduce":
            for access in accesses:
                if access.is_output and iv.var not in access.indices:
                    raise _not_einsum(
                        realize, f"spatial iterator {iv.var.name!r}, which does not index {access.buffer.name!r}"
                    )


# The copy out reads a whole padded output, so each element of it must have been written.
def require_outputs_filled(ctx: Context, realize: BlockRealize, accesses: Sequence[_Access], grown: Grown) -> None:
    for access in accesses:
        padded = access.is_output and access.grows(grown)
        if padded and not writes_all(ctx.index, realize, build.full_region(access.buffer), ()):
            raise _not_einsum(realize, f"elements of {access.buffer.name!r} that it may leave unwritten")


# A padded reduction has extra terms, which must not change the result; extra computations must not fail.
def require_zeros_harmless(realize: BlockRealize, grown: Grown) -> None:
    block = realize.block
    divisions = [cast("BinaryOp", n) for n in walk(block) if type(n) in _DIVISIONS] if grown else []
    for node in divisions:
        divides = not node.dtype.startswith(("float", "bfloat"))
        if divides and any(isinstance(n, BufferLoad | Var) for n in walk(node.b)):
            raise refuse("not-padded-with-zeros", f"block {block.name!r} may divide by zero in the padding", realize)
    reduced = [iv.var for iv in block.iter_vars if iv.iter_type == "reduce" and iv.var in grown]
    update = find_update(block)
    for var in reduced:
        sums = isinstance(update, Update) and all(n == 0 for n in update.identity)
        if not sums or not isinstance(update, Update) or not all(_is_zero_beyond(t, var) for t in update.terms):
            raise refuse(
                "not-padded-with-zeros", f"terms of block {block.name!r} beyond the end of {var.name!r} would change the result", realize,
                expected=f"a sum of products with an input indexed by {var.name!r}",
            )  # fmt: skip


_DIVISIONS = frozenset((Div, Mod, FloorDiv, FloorMod))


def _is_zero_beyond(expr: Expr, var: Var) -> bool:
    """Whether the expression is zero if all loads at `var` are."""
    match expr:
        case BufferLoad(indices=indices):
            return any(i is var for i in indices)
        case Mul(a=a, b=b):
            return _is_zero_beyond(a, var) or _is_zero_beyond(b, var)
        case (
            Add(a=a, b=b)
            | Sub(a=a, b=b)
            | Select(true_value=a, false_value=b)
            | Call(op="if_then_else", args=(_, a, b))
        ):
            return _is_zero_beyond(a, var) and _is_zero_beyond(b, var)
        case Cast(value=value):
            return _is_zero_beyond(value, var)
        case _:
            return False


# -- construction


def _items(body: Stmt) -> Sequence[Stmt]:
    return getattr(body, "seq", (body,))


def _pads(ctx: Context, block: Block, accesses: Sequence[_Access], grown: Grown) -> list[_Pad]:
    doms: dict[Expr, Range] = {iv.var: Range(iv.dom.min, grown.get(iv.var, iv.dom.extent)) for iv in block.iter_vars}
    pads: list[_Pad] = []
    for access in accesses:
        if not access.grows(grown):
            continue
        old = access.buffer
        shape = tuple(_padded_size(i, size, grown) for i, size in zip(access.indices, old.shape, strict=True))
        padded = Buffer(ctx.fresh_buffer_name(f"{old.name}_pad"), shape, old.dtype, old.scope)
        copied = build.full_region(old if access.is_output else padded).region
        if not access.is_output and ctx.index.writers(old):
            copied = tuple(_within(doms.get(i, whole), whole) for i, whole in zip(access.indices, copied, strict=True))
        pads.append(_Pad(old, padded, ctx.fresh_block_name(padded.name), access.is_output, copied))
    return pads


def _padded_size(index: Expr, size: Expr, grown: Grown) -> Expr:
    if not isinstance(index, Var):
        return build.const(1, index.dtype)
    return grown.get(index, size)


def _within(dom: Range, whole: Range) -> Range:
    """The part of the range `dom` within `whole`."""
    begin = simplify(build.maximum(dom.min, whole.min))
    end = build.minimum(build.add(dom.min, dom.extent), build.add(whole.min, whole.extent))
    return Range(begin, simplify(build.sub(end, begin)))


def _copy_in(pad: _Pad) -> Stmt:
    """`A_pad[v0, v1] = if_then_else(v1 < n, A[v0, v1], 0)`."""
    variables, nest = _copy_nest(pad.domain)
    pairs = zip(variables, pad.buffer.shape, pad.padded.shape, strict=True)
    inside = build.logical_and(*(build.lt(v, old) for v, old, new in pairs if not prove_equal(old, new)))
    value = build.if_then_else(inside, BufferLoad(pad.buffer, variables), build.const(0, pad.buffer.dtype))
    return nest(pad.name, pad.buffer, BufferStore(pad.padded, value, variables))


def _copy_out(pad: _Pad) -> Stmt:
    """`C[v0, v1] = C_pad[v0, v1]`."""
    variables, nest = _copy_nest(pad.domain)
    copy = BufferStore(pad.buffer, BufferLoad(pad.padded, variables), variables)
    return nest(pad.name, pad.padded, copy)


def _copy_nest(domain: Sequence[Range]):
    """Iterators over a domain, and a function that builds a block's nest over them from its name, its reads and its store."""
    variables = tuple(Var(f"v{n}", r.extent.dtype) for n, r in enumerate(domain))
    points = tuple(map(build.point, variables))

    def nest(name: str, source: Buffer, store: BufferStore) -> Stmt:
        block = Block(
            name=name,
            iter_vars=tuple(map(IterVar, variables, domain)),
            reads=(BufferRegion(source, points),),
            writes=(BufferRegion(store.buffer, points),),
            body=store,
        )
        loops = [Var(f"i{n}", r.extent.dtype) for n, r in enumerate(domain)]
        result: Stmt = BlockRealize(tuple(loops), build.TRUE, block)
        for loop, r in zip(reversed(loops), reversed(domain), strict=True):
            result = For(loop, r.min, r.extent, "serial", result)
        return result

    return variables, nest


def _padded_nest(nest: For, realize: BlockRealize, pads: Sequence[_Pad], grown: Grown) -> Stmt:
    """The block and its loops over the padded domain."""
    block = realize.block
    new = {p.buffer: p.padded for p in pads}
    longer = {v: grown[iv.var] for iv, v in zip(block.iter_vars, realize.iter_values, strict=True) if iv.var in grown}

    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad | BufferStore | BufferRegion) and node.buffer in new:
            return replace_fields(node, buffer=new[node.buffer])
        if isinstance(node, IterVar) and node.var in grown:
            return replace_fields(node, dom=Range(node.dom.min, grown[node.var]))
        if isinstance(node, For) and node.loop_var in longer:
            return replace_fields(node, extent=longer[node.loop_var])
        return node

    return rewrite(nest, leave, kinds={BufferLoad, BufferStore, BufferRegion, IterVar, For})
