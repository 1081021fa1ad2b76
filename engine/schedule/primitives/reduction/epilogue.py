"""Epilogues of reductions, added at the start of the reduction: fuse_reduction_epilogue."""

from __future__ import annotations

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
from ....arith import prove_equal
from ....ir import (
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    Node,
    Range,
    Var,
    build,
    rewrite,
    structural_equal,
    substitute,
    walk,
)
from ...context import BlockRV, Context, Result
from ...errors import refuse
from ...rules import block_motion
from ...rules.checks import no_own_sum
from .decompose import require_reduction


def fuse_reduction_epilogue(ctx: Context, reduction_block: BlockRV, epilogue_block: BlockRV) -> Result[None]:
    """Fuse an epilogue into its reduction: the init loads the epilogue's other operand, and the update writes its output.

    Rewrite:
        for i, k in T.grid(n, m):
            with T.sblock("T"):                                for i, k in T.grid(n, m):
                with T.init(): T[i] = 0                            with T.sblock("T"):
                T[i] = T[i] + A[i, k]                    =>            with T.init(): D[i] = C[i]
        for i in range(n):                                             D[i] = D[i] + A[i, k]      # fuse_reduction_epilogue(T, D)
            with T.sblock("D"): D[i] = T[i] + C[i]
    Sums and products of floats are rounded in a different order.
    Requires: a reduction into one intermediate buffer whose only consumer is the epilogue; the epilogue is a complete block `D = op(T, c)`
    with the operator of the reduction (a ReLU after a sum is not: it would clip partial sums); both blocks compute the same elements one to
    one; the buffers that c reads are complete before the reduction; no other block accesses D up to the epilogue.
    Returns: nothing. The epilogue and its loops are removed; the reduction stays valid. The intermediate buffer stays allocated, unused, as
    in TVM.
    Errors: not-a-reduction, not-complete, output-block, unknown-reducer, not-the-only-consumer, not-an-epilogue, indices-differ,
    partial-domain, order-dependent, partial-sum, region-not-covered, write-after-read, opaque-access, opaque-iterator, only-block.
    Source: TVM src/s_tir/schedule/primitive/compute_inline.cc, FuseReductionEpilogue.
    """
    producer, realize = ctx.realize(reduction_block), ctx.realize(epilogue_block)
    require_reduction(ctx, producer)
    block_motion.require_intermediate(ctx, producer)
    update = require_single_update(producer)
    block_motion.require_complete(ctx, realize)
    buffer = update.targets[0].buffer
    require_only_consumer(ctx, producer, realize, buffer)
    store, load, addend = require_same_operator(realize, update)
    iterators = require_same_elements(ctx, producer, realize, update, load)
    require_sum_at_once(ctx, producer, realize)
    require_free_place(ctx, producer, realize, {n.buffer for n in walk(addend) if isinstance(n, BufferLoad)})

    start = update.identity[0]
    identity = _identity(producer, update)
    moved = substitute(addend, iterators)
    first = moved if start is not None else update.combine((identity,), (moved,))[0]
    target = BufferLoad(store.buffer, tuple(substitute(i, iterators) for i in store.indices))
    fused = _fused(producer, realize, buffer, target, first, iterators)
    scope = block_motion.scope_without(ctx, realize, {producer: fused})
    return Result(ctx.replaced({ctx.index.scope_of(realize): scope}), None)


# One element, one operator: the epilogue can become one more term.
def require_single_update(producer: BlockRealize) -> Update:
    block = producer.block
    update = find_update(block)
    known = isinstance(update, Update) and len(update.targets) == 1 and len(block.writes) == 1
    why = update if isinstance(update, str) else "several buffers"
    if known and isinstance(update, Update):
        identities = find_identities(block, update)
        if not isinstance(identities, str):
            return update
        why = identities
    raise refuse(
        "unknown-reducer", f"block {block.name!r} is not a reduction of one buffer by a known operator", producer, found=why,
        expected="x = op(x, term), op a sum, product, min, max, and, or, from its neutral element",
    )  # fmt: skip


def _identity(producer: BlockRealize, update: Update) -> Expr:
    found = find_identities(producer.block, update)
    assert not isinstance(found, str)
    return found[0]


# Any other reader would lose the intermediate result.
def require_only_consumer(ctx: Context, producer: BlockRealize, realize: BlockRealize, buffer: Buffer) -> None:
    readers = [n for n in ctx.index.readers(buffer) if n != producer.block.name]
    if readers != [realize.block.name]:
        raise refuse(
            "not-the-only-consumer", f"{realize.block.name!r} is not the only reader of {buffer.name!r}", producer, realize,
            found=", ".join(readers) or "nobody", expected=f"{realize.block.name!r} only",
        )  # fmt: skip
    views = [
        r
        for r in map(ctx.index.realize, ctx.index.block_names)
        if any(m.source.buffer is buffer for m in r.block.match_buffers)
    ]
    if views or buffer in ctx.index.addressed:
        raise refuse("opaque-access", f"{buffer.name!r} is also accessed by address or through views", *views)
    block_motion.require_not_loose(ctx, producer)


# Only the reduction's own operator commutes with it: max(sum, 0) is not the sum of maxima.
def require_same_operator(realize: BlockRealize, update: Update) -> tuple[BufferStore, BufferLoad, Expr]:
    """The epilogue's store, its load of the result, and the other operand."""
    block, buffer = realize.block, update.targets[0].buffer
    store = block.body
    plain = not (block.init or block.alloc_buffers or block.match_buffers) and len(block.writes) == 1
    if isinstance(store, BufferStore) and plain and store.buffer.dtype == buffer.dtype:
        parts = (getattr(store.value, "a", None), getattr(store.value, "b", None))
        for load, other in (parts, parts[::-1]):
            if not isinstance(load, BufferLoad) or load.buffer is not buffer or not isinstance(other, Expr):
                continue
            made = (update.combine((load,), (other,))[0], update.combine((other,), (load,))[0])
            if _uses(store, buffer) == 1 and any(structural_equal(m, store.value) for m in made):
                return store, load, other
    raise refuse(
        "not-an-epilogue", f"block {block.name!r} does not combine {buffer.name!r} with one more term", realize,
        expected="D = op(T, c) with the op of the reduction: T + c after a sum, max(T, c) after a maximum",
    )  # fmt: skip


def _uses(store: BufferStore, buffer: Buffer) -> int:
    return sum(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(store))


# Each element has one sum and one epilogue.
def require_same_elements(
    ctx: Context, producer: BlockRealize, realize: BlockRealize, update: Update, load: BufferLoad
) -> dict[Var, Expr]:
    """The epilogue's iterators in terms of the reduction's."""
    mine = {iv.var: iv.dom for iv in producer.block.iter_vars if iv.iter_type == "spatial"}
    theirs = {iv.var: iv.dom for iv in realize.block.iter_vars}
    found: dict[Var, Expr] = {v: d.min for v, d in theirs.items() if build.is_const(d.extent, 1)}
    used: set[Var] = set()
    for made, read in zip(update.targets[0].indices, load.indices, strict=True):
        if isinstance(made, Var) and isinstance(read, Var) and made in mine and read in theirs and made not in used:
            same = all(map(prove_equal, (mine[made].min, mine[made].extent), (theirs[read].min, theirs[read].extent)))
            if same and (read not in found or build.is_const(theirs[read].extent, 1)):
                found[read] = made
                used.add(made)
                continue
        if structural_equal(made, read) and not isinstance(made, Var):
            continue
        break
    else:
        if found.keys() == theirs.keys():
            block_motion.require_full_domain(ctx, producer)
            block_motion.require_full_domain(ctx, realize)
            block_motion.require_covered(ctx, producer, realize)
            return found
    raise refuse(
        "indices-differ", f"blocks {producer.block.name!r} and {realize.block.name!r} do not iterate over the same elements",
        producer, realize, expected="both indexed by single iterators of the same domains",
    )  # fmt: skip


# A sum that restarts, or that is read before it is complete, is not a result.
def require_sum_at_once(ctx: Context, producer: BlockRealize, realize: BlockRealize) -> None:
    loops = ctx.index.loops_above(producer)
    ranges = {f.loop_var: Range(f.min, f.extent) for f in loops}
    apart = (
        ctx.index.fact(writes_distinct, producer.block)
        and is_once(producer, ranges)
        and starts_with_init(producer, ranges)
    )
    if not apart or not provably_runs(ctx.index, producer, ()):
        raise no_own_sum(ctx, producer, "fuse", ranges)
    block_motion.require_own_order(ctx, realize, "fuse")
    block_motion.require_own_order(ctx, producer, "fuse")
    block_motion.require_whole_sum(producer, realize, _common(ctx, producer, realize))


def _common(ctx: Context, first: BlockRealize, second: BlockRealize) -> list[For]:
    around = set(ctx.index.loops_above(second))
    return [f for f in ctx.index.loops_above(first) if f in around]


# After the fusion, the output is written earlier and the other operand is read earlier.
def require_free_place(ctx: Context, producer: BlockRealize, realize: BlockRealize, inputs: set[Buffer]) -> None:
    block_motion.require_read_before_write(ctx, realize)
    siblings = ctx.index.siblings(realize.block.name)
    output = {w.buffer for w in realize.block.writes}
    if producer not in siblings or siblings.index(producer) > siblings.index(realize):
        raise refuse(
            "order-dependent",
            f"block {realize.block.name!r} does not follow {producer.block.name!r}",
            producer,
            realize,
        )
    if any(r.buffer in output for r in producer.block.reads):
        raise refuse(
            "order-dependent",
            f"block {producer.block.name!r} reads the output of {realize.block.name!r}",
            producer,
            realize,
        )
    place = siblings.index(producer)
    for position, other in enumerate(siblings):
        conflicting = next((w.buffer for w in other.block.writes if w.buffer in inputs), None)
        if conflicting is not None and (position > place or _common(ctx, other, producer)):
            raise refuse(
                "order-dependent", f"{conflicting.name!r} is not complete before block {producer.block.name!r}", other, producer, realize,
                expected="inputs of the epilogue that separate loops compute before the reduction",
            )  # fmt: skip


def _fused(
    producer: BlockRealize,
    realize: BlockRealize,
    buffer: Buffer,
    target: BufferLoad,
    first: Expr,
    iterators: dict[Var, Expr],
) -> BlockRealize:
    """The reduction that starts from `first` and updates `target` instead of an element of the buffer."""

    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad | BufferStore) and node.buffer is buffer:
            return replace_fields(node, buffer=target.buffer, indices=target.indices)
        return node

    block = producer.block
    reads = {r.buffer: substitute(r, iterators) for r in realize.block.reads if r.buffer is not buffer}
    for region in block.reads:
        if region.buffer is not buffer:
            reads.setdefault(region.buffer, region)
    body = replace_fields(
        block,
        reads=tuple(reads.values()),
        writes=(BufferRegion(target.buffer, tuple(map(build.point, target.indices))),),
        init=BufferStore(target.buffer, first, target.indices),
        body=rewrite(block.body, leave),
    )
    return replace_fields(producer, block=body)
