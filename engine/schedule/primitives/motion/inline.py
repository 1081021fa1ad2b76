"""Inlining: compute_inline into the consumers, reverse_compute_inline into the producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from msgspec.structs import replace as replace_fields

from ....analysis import accessed_regions, is_covered
from ....arith import inverse, prove, simplify
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    FloorDiv,
    FloorMod,
    IndexMap,
    Node,
    PrimFunc,
    Range,
    Stmt,
    Var,
    build,
    rewrite,
    structural_equal,
    substitute,
    uses_var,
    walk,
)
from ...context import BlockRV, Context, Result
from ...errors import refuse
from ...rules import block_motion
from ...rules.checks import require_iterators_only


def compute_inline(ctx: Context, block: BlockRV) -> Result[None]:
    """Inline a block into its consumers: they compute its value, and its buffer is removed.

    Rewrite:
        for i in range(n):
            B[i] = A[i] * 2         =>       for i in range(n):
        for i in range(n):                       C[i] = A[i] * 2 + 1                     # compute_inline(B)
            C[i] = B[i] + 1
    Requires: a complete block that stores one element of one intermediate buffer, at indices that map one to one to its iterators; its
    inputs have the same values where the consumers run.
    Returns: nothing. The block, its loops and the buffer are removed.
    Errors: not-complete, output-block, has-init, not-one-store, indices-not-invertible, only-block, opaque-access, region-not-covered,
    write-after-read, not-final, partial-sum.
    Source: TVM src/s_tir/schedule/primitive/compute_inline.cc, ComputeInline.
    """
    realize = ctx.realize(block)
    _require_no_init(ctx, realize)
    store = _require_one_store(realize)
    block_motion.require_intermediate(ctx, realize)
    block_motion.require_complete(ctx, realize)
    _require_direct_access(ctx, store.buffer)
    block_motion.removal(ctx, realize)
    consumers = [ctx.index.realize(name) for name in ctx.index.consumers(block)]
    # A consumer's predicate is evaluated where the consumer runs, and uses the value too.
    block_motion.require_read_before_write(ctx, realize, apart=[c.predicate for c in consumers])
    require_iterators_only(ctx, realize, ctx.index.loops_above(realize), "inline")
    for consumer in consumers:
        block_motion.require_covered(ctx, realize, consumer)
        for producer in map(ctx.index.realize, ctx.index.producers(block)):
            around = ctx.index.loops_above(consumer)
            block_motion.require_final(ctx, producer, realize, block_motion.lost_loops(ctx, producer, realize, around))

    axes, value = _value_by_axes(realize.block, store)
    inlined: dict[Stmt, Stmt] = {c: _with_loads(c, store, axes, value) for c in consumers}
    return Result(_without(ctx, realize, store.buffer, inlined), None)


def reverse_compute_inline(ctx: Context, block: BlockRV) -> Result[None]:
    """Inline a block into its only producer: the producer computes and stores the block's output.

    Rewrite:
        for i in range(n):
            B[i] = A[i] * 2         =>       for i in range(n):
        for i in range(n):                       C[i] = A[i] * 2 + 1                     # reverse_compute_inline(C)
            C[i] = B[i] + 1
    If the producer computes more elements than the block reads, it gets a predicate.
    Requires: a complete block without a predicate that stores one element and reads one intermediate buffer, at indices that map one to one
    to its iterators; its only producer is a complete block that stores one element, covers all elements that the block reads, and has no
    other consumer. If the producer has an init, the block is a copy.
    Returns: nothing. The block, its loops and the intermediate buffer are removed; the producer stays valid.
    Errors: not-complete, has-init, has-predicate, not-one-store, not-one-input, not-one-producer, not-the-only-consumer,
    indices-not-invertible, indices-differ, only-block, opaque-access, region-not-covered, write-after-read.
    Source: TVM src/s_tir/schedule/primitive/compute_inline.cc, ReverseComputeInline.
    """
    realize = ctx.realize(block)
    _require_no_init(ctx, realize)
    store = _require_one_store(realize)
    block_motion.require_complete(ctx, realize)
    buffer = _require_one_input(ctx, realize)
    producer = _require_one_producer(ctx, realize, buffer)
    _require_no_predicate(realize)
    _require_direct_access(ctx, buffer)
    block_motion.require_not_loose(ctx, producer)
    block_motion.removal(ctx, realize)
    block_motion.require_read_before_write(ctx, realize)
    block_motion.require_own_order(ctx, realize, "inline")
    element = _require_one_element(realize, store, buffer)
    _require_made(ctx, producer, realize, buffer, element)
    if ctx.index.is_output(block):
        block_motion.require_full_domain(ctx, realize)
    else:
        block_motion.require_safe_domain(ctx, realize)

    made = _require_one_store(producer)
    _require_own_element(producer, made)
    if producer.block.init is not None:
        _require_copy(realize, store)
    values = _iterators_by_element(realize.block, element, made)
    read_at = [substitute(index, values) for index in element]
    merged = _merged_producer(ctx, realize, producer, store, made, values, read_at)
    return Result(_without(ctx, realize, buffer, {producer: merged}), None)


# A block with an init is a reduction: its value is not a single expression.
def _require_no_init(ctx: Context, realize: BlockRealize) -> None:
    name = realize.block.name
    if realize is ctx.index.root:
        raise refuse("root-block", "the root block cannot be inlined", realize)
    if realize.block.init is not None:
        raise refuse("has-init", f"block {name!r} is a reduction, whose value is not a single expression", realize,
                     expected="a block without T.init()")  # fmt: skip


# An inlined block stores one value for one element.
def _require_one_store(realize: BlockRealize) -> BufferStore:
    body = realize.block.body
    if not isinstance(body, BufferStore) or len(realize.block.writes) != 1 or realize.block.alloc_buffers:
        raise refuse(
            "not-one-store", f"block {realize.block.name!r} is not a single store", realize,
            expected="a body of the form B[i, j] = f(i, j)",
        )  # fmt: skip
    return body


# A view of the buffer would lose its source.
def _require_direct_access(ctx: Context, buffer: Buffer) -> None:
    for name in ctx.index.block_names:
        if any(m.source.buffer is buffer for m in ctx.index.block(name).match_buffers):
            raise refuse("opaque-access", f"block {name!r} has a view of {buffer.name!r}", ctx.index.block(name))
    if buffer in ctx.index.addressed:
        raise refuse("opaque-access", f"the address of {buffer.name!r} is used", buffer)


# Only one input is replaced; the others must be available from the start.
def _require_one_input(ctx: Context, realize: BlockRealize) -> Buffer:
    scope = ctx.index.scope_of(realize)
    written = {w.buffer for r in ctx.index.child_blocks(scope) for w in r.block.writes}
    inputs = list(dict.fromkeys(r.buffer for r in realize.block.reads if r.buffer in written))
    if len(inputs) != 1:
        raise refuse(
            "not-one-input", f"block {realize.block.name!r} reads {len(inputs)} buffers that other blocks write", realize,
            found=", ".join(b.name for b in inputs) or "none", expected="one",
        )  # fmt: skip
    return inputs[0]


# The new writer must be the only one, and no other reader may need the value that is no longer stored.
def _require_one_producer(ctx: Context, realize: BlockRealize, buffer: Buffer) -> BlockRealize:
    name = realize.block.name
    siblings = ctx.index.siblings(name)
    writers = [r for r in siblings if any(w.buffer is buffer for w in r.block.writes)]
    if len(writers) != 1 or not ctx.index.is_complete(writers[0].block.name):
        raise refuse(
            "not-one-producer", f"{buffer.name!r} is not written by one complete block", realize, *writers,
            found=", ".join(w.block.name for w in writers), expected="one complete block",
        )  # fmt: skip
    producer = writers[0]
    if siblings.index(producer) > siblings.index(realize):
        raise refuse("not-one-producer", f"block {producer.block.name!r} comes after block {name!r}", realize, producer)
    block_motion.require_intermediate(ctx, producer)
    others = [r for r in siblings if r is not realize and any(x.buffer is buffer for x in r.block.reads)]
    if others:
        raise refuse(
            "not-the-only-consumer", f"{buffer.name!r} is also read by other blocks", *others,
            found=", ".join(o.block.name for o in others), expected=f"{name!r} only",
        )  # fmt: skip
    return producer


# The producer would have to know the elements that satisfy the predicate.
def _require_no_predicate(realize: BlockRealize) -> None:
    if not build.is_true(realize.predicate):
        raise refuse("has-predicate", f"block {realize.block.name!r} has a predicate", realize,
                     expected="factors that divide the loops, or inlining before the split")  # fmt: skip


def _value_by_axes(block: Block, store: BufferStore) -> tuple[tuple[Var, ...], Expr]:
    """The stored value as a function of the buffer's axes."""
    axes, iterators = _inverted(block, store.indices)
    return axes, substitute(store.value, iterators)


def _inverted(block: Block, indices: Sequence[Expr]) -> tuple[tuple[Var, ...], dict[Var, Expr]]:
    """Axes, and each iterator of the block as a function of them. Refuses "indices-not-invertible"."""
    params = tuple(iv.var for iv in block.iter_vars)
    index_map = IndexMap(params, tuple(indices))
    back = inverse(index_map, [iv.dom for iv in block.iter_vars]) or inverse(index_map, _whole_digits(block, indices))
    if back is None:
        raise _not_invertible(block)
    iterators = dict(zip(params, back.indices, strict=True))
    for axis, index in zip(back.params, indices, strict=True):
        if isinstance(index, Var) and index in iterators:
            iterators[index] = axis  # an iterator of one trip keeps its name, as in TVM
    return back.params, iterators


def _whole_digits(block: Block, indices: Sequence[Expr]) -> list[Range]:
    """The iterators' domains, extended until the divisors in the indices divide them. An inverse on them is an inverse on a part too."""
    result: list[Range] = []
    for iv in block.iter_vars:
        digits = (n for i in indices for n in walk(i) if isinstance(n, FloorDiv | FloorMod) and uses_var(n.a, iv.var))
        whole, extent = prod({build.int_value(d.b) or 1 for d in digits}), build.int_value(iv.dom.extent)
        longer = None if extent is None else build.const(-(-extent // whole) * whole, iv.dom.extent.dtype)
        result.append(iv.dom if longer is None else Range(iv.dom.min, longer))
    return result


def _not_invertible(block: Block):
    return refuse(
        "indices-not-invertible", f"the indices of block {block.name!r} are not a one-to-one map of its iterators", block,
        expected="each iterator in exactly one index",
    )  # fmt: skip


def _with_loads(consumer: BlockRealize, made: BufferStore, axes: Sequence[Var], value: Expr) -> BlockRealize:
    """`consumer` with each load of `made`'s buffer replaced by the value at its indices, and with new regions."""
    buffer, made_at = made.buffer, made.indices

    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad) and node.buffer is buffer:
            inlined = substitute(value, dict(zip(axes, node.indices, strict=True)))
            return inlined if all(isinstance(i, Var) for i in made_at) else _with_simple_indices(inlined)
        if isinstance(node, Block) and any(r.buffer is buffer for r in node.reads):
            reads, writes = accessed_regions(node)
            return replace_fields(node, reads=reads, writes=writes)
        return node

    def enter(node: Node) -> Node | None:
        return node if isinstance(node, Block) and all(r.buffer is not buffer for r in node.reads) else None

    return rewrite(consumer, leave, enter=enter, kinds={BufferLoad, Block})


def _with_simple_indices(value: Expr) -> Expr:
    """The value with simplified indices of loads: a map and its inverse leave `i // 4 * 4 + i % 4`, which is `i`."""

    def leave(node: Node) -> Node:
        return (
            replace_fields(node, indices=tuple(map(simplify, node.indices))) if isinstance(node, BufferLoad) else node
        )

    return rewrite(value, leave)


def _without(ctx: Context, realize: BlockRealize, buffer: Buffer, new: Mapping[Stmt, Stmt]) -> PrimFunc:
    """The function without the block and the buffer, and with the keys of `new` replaced."""
    scope = block_motion.scope_without(ctx, realize, new)
    kept = tuple(b for b in scope.alloc_buffers if b is not buffer)
    return ctx.replaced({ctx.index.scope_of(realize): replace_fields(scope, alloc_buffers=kept)})


# All loads of the buffer must access one element: the one that the producer is about to store.
def _require_one_element(realize: BlockRealize, store: BufferStore, buffer: Buffer) -> tuple[Expr, ...]:
    loads = [n for n in walk(store) if isinstance(n, BufferLoad) and n.buffer is buffer]
    first = loads[0].indices
    if any(not structural_equal(a, b) for load in loads for a, b in zip(load.indices, first, strict=True)):
        raise refuse(
            "indices-differ", f"block {realize.block.name!r} reads several elements of {buffer.name!r}", realize,
            expected="one element per iteration",
        )  # fmt: skip
    return first


# Each iteration of the consumer needs a matching iteration of the producer; otherwise its store would be lost.
def _require_made(
    ctx: Context, producer: BlockRealize, realize: BlockRealize, buffer: Buffer, element: Sequence[Expr]
) -> None:
    if not is_covered(ctx.index, producer, realize, buffer, element):
        name, maker = realize.block.name, producer.block.name
        raise refuse(
            "region-not-covered", f"block {maker!r} may not write an element of {buffer.name!r} for each iteration of block {name!r}",
            producer, realize, expected=f"a block {maker!r} that runs for every element that {name!r} stores",
        )  # fmt: skip


# The producer may read only the current element of its output: other elements are stored elsewhere, with other values.
def _require_own_element(producer: BlockRealize, made: BufferStore) -> None:
    parts = [part for part in (producer.block.init, made) if part is not None]
    loads = [n for part in parts for n in walk(part) if isinstance(n, BufferLoad) and n.buffer is made.buffer]
    if any(not structural_equal(a, b) for load in loads for a, b in zip(load.indices, made.indices, strict=True)):
        raise refuse(
            "indices-differ", f"block {producer.block.name!r} reads other elements of its output", producer,
            expected="reads at the indices of the store only",
        )  # fmt: skip


# Between its init and its update the producer keeps a partial value in the buffer, so the consumer must be a plain copy.
def _require_copy(realize: BlockRealize, store: BufferStore) -> None:
    if not isinstance(store.value, BufferLoad):
        raise refuse(
            "has-init", f"the producer has an init, and block {realize.block.name!r} does not just copy its result", realize,
            expected="a copy, or a producer without T.init()",
        )  # fmt: skip


def _iterators_by_element(block: Block, indices: Sequence[Expr], made: BufferStore) -> dict[Var, Expr]:
    """The consumer's iterators as functions of the element that the producer computes."""
    axes, iterators = _inverted(block, indices)
    element = dict(zip(axes, made.indices, strict=True))
    return {v: substitute(value, element) for v, value in iterators.items()}


def _merged_producer(
    ctx: Context,
    realize: BlockRealize,
    producer: BlockRealize,
    store: BufferStore,
    made: BufferStore,
    values: Mapping[Var, Expr],
    read_at: Sequence[Expr],
) -> BlockRealize:
    """The producer that stores the consumer's value for the consumer's iterations: those with the iterators' `values` in their domains,
    and with the current element at the indices `read_at`."""
    target = substitute(store, values)

    def moved(node: Node) -> Node:
        if isinstance(node, BufferStore | BufferLoad) and node.buffer is made.buffer:
            return replace_fields(node, buffer=target.buffer, indices=target.indices)
        return node

    def leave(node: Node) -> Node:
        return rewrite(made.value, moved) if isinstance(node, BufferLoad) and node.buffer is made.buffer else node

    init = producer.block.init
    body = rewrite(target, leave)
    ranges: dict[Var, Range] = {iv.var: iv.dom for iv in producer.block.iter_vars}
    bindings = dict(zip((iv.var for iv in producer.block.iter_vars), producer.iter_values, strict=True))
    terms: list[Expr] = []
    for iv in realize.block.iter_vars:
        value = values[iv.var]
        bounds = (build.ge(value, iv.dom.min), build.lt(value, build.add(iv.dom.min, iv.dom.extent)))
        terms.extend(simplify(t, ranges) for t in bounds if not prove(t, ranges))
    same = (build.eq(at, index) for at, index in zip(read_at, made.indices, strict=True))
    terms.extend(simplify(t, ranges) for t in same if not prove(t, ranges))
    around = ctx.loop_ranges(producer)
    terms = [simplify(substitute(t, bindings), around) for t in terms]
    block = replace_fields(producer.block, body=body, init=None if init is None else rewrite(init, moved))
    reads, writes = accessed_regions(block)
    block = replace_fields(block, reads=reads, writes=writes)
    known = [simplify(t, around) for t in build.conjuncts(producer.predicate)]
    terms = [t for t in terms if not any(structural_equal(t, k) for k in known)]
    predicate = build.logical_and(producer.predicate, *terms) if terms else producer.predicate
    return replace_fields(producer, block=block, predicate=predicate)
