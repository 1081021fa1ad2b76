"""Rules shared by several families of primitives. Each has a comment above it that states the rule, and raises its own refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ...analysis import (
    find_carried,
    find_conflicts,
    is_associative_update,
    is_covered,
    is_once,
    is_update,
    order_fault,
    reduction_loops,
    separated_loops,
    starts_with_init,
    touched_box,
    updates_only_own_element,
    writes_distinct,
)
from ...ir import (
    Allocate,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    For,
    Node,
    Range,
    Stmt,
    Var,
    addressed_buffers,
    children,
    free_vars,
    uses_var,
    walk,
    walk_stmts,
)
from ..context import Context
from ..errors import refuse

_SCOPE = re.compile(
    r"(global|shared|local|warp|texture|wmma\.(matrix_a|matrix_b|accumulator)|m16n8k8\.matrix[ABC]|amx\.tmm|metal\.simdgroup|trn\.(psum|sbuf))"
    r"([.:-][\w:-]+)*"
)


# A separator with no axes on one side would create an empty axis group, which TVM's buffers do not allow.
def require_separators(buffer: Buffer, separators: Sequence[int], rank: int) -> None:
    """Check separators of `buffer`, current or planned, against a rank of `rank` axes."""
    if any(not 0 < k < rank for k in separators) or list(separators) != sorted(set(separators)):
        raise refuse(
            "bad-separator", f"separators {list(separators)} do not fit {buffer.name!r} of {rank} axes", buffer,
            expected=f"positions between two axes, 1 to {rank - 1}, increasing" if rank > 1 else "none: it has a single axis",
        )  # fmt: skip


# The scope must be a TVM storage kind (StorageScope::Create), optionally with a machine-specific name after a dot.
def require_scope_name(storage_scope: object) -> None:
    if not isinstance(storage_scope, str) or not _SCOPE.fullmatch(storage_scope):
        raise refuse(
            "bad-scope",
            f"{storage_scope!r} is not a storage scope",
            expected='"global", "shared", "local", "warp", … or one of them with a suffix after a dot, such as "local.vtcm"',
        )


# Iterations may be reordered if each block gives the same result in any order of its iterators, and no block needs values that another
# block computes in a different iteration.
def require_order_free(
    ctx: Context, chain: Sequence[For], moving: Sequence[Var], what: str, order: Sequence[For] = ()
) -> None:
    """Check that the iterations of `moving`, loops of `chain` (outermost first), may run in another order or concurrently.

    `order`: the chain after the change; defaults to the current chain.
    """
    top = chain[0]
    require_in_blocks(ctx, top, what)
    if _keeps_order_within_slices(ctx, chain, moving, order):
        return
    for realize in ctx.index.child_blocks(top):
        require_free_block(
            ctx, realize, {f.loop_var: Range(f.min, f.extent) for f in chain if f.loop_var in moving}, what
        )
        require_updates_in_order(ctx, realize, chain, moving, what, order or chain)
    loose = ctx.index.touched_loosely(ctx.index.scope_of(top))
    conflicts = list(find_conflicts(ctx.index, top, moving))
    if conflicts:
        pairs = [
            f"blocks {c.first.block.name!r} and {c.second.block.name!r} pass values of {c.buffer.name!r}"
            for c in conflicts
        ]
        raise refuse(
            "order-dependent",
            f"cannot {what}: {', '.join(pairs)} from one iteration to another",
            *dict.fromkeys(block for c in conflicts for block in (c.first, c.second)),
            found="; ".join(dict.fromkeys(c.detail for c in conflicts)),
            expected="iterations that read only their own results",
        )  # fmt: skip
    for realize in ctx.index.child_blocks(top):
        written = next((w.buffer for w in realize.block.writes if w.buffer in loose), None)
        if written is not None:
            raise used_outside_of_blocks(written, realize)


# Statements added to a scope go into its body, which runs after its init.
def require_in_body(ctx: Context, realize: BlockRealize) -> None:
    if realize is ctx.index.root:
        raise refuse("root-block", "the root block has no enclosing statement for copies", realize)
    scope = ctx.index.scope_of(realize)
    if is_in_init(scope, realize):
        raise refuse(
            "in-init", f"block {realize.block.name!r} is in the init of block {scope.name!r}, where a copy would come too late", realize,
            expected="a block outside of an init", fix=(f"sch.decompose_reduction({scope.name!r}, loop)",),
        )  # fmt: skip


def is_in_init(scope: Block, stmt: Stmt) -> bool:
    """Whether the statement is in the block's init, which runs only with the block's first iterations."""
    return scope.init is not None and any(s is stmt for s in walk_stmts(scope.init))


# The analysis covers only statements inside of blocks.
def require_in_blocks(ctx: Context, loop: For, what: str) -> None:
    if ctx.index.is_bare(loop):
        raise refuse(
            "not-in-blocks", f"cannot {what} loop {loop.loop_var.name!r}: it contains statements outside of blocks", loop,
            expected="a loop around blocks",
        )  # fmt: skip


# Excess iterations of uneven splits evaluate conditions and bounds too, before the predicates of the blocks.
def require_no_reads_before_blocks(loop: For, what: str) -> None:
    stack: list[Node] = [loop.body]
    while stack:
        node = stack.pop()
        if isinstance(node, BlockRealize):
            continue
        if isinstance(node, BufferLoad) and uses_var(node, loop.loop_var):
            raise refuse(
                "opaque-access", f"cannot {what} loop {loop.loop_var.name!r}: a condition in it loads from {node.buffer.name!r}", loop,
                expected="factors that divide the extent of the loop", found="an access outside of blocks",
            )  # fmt: skip
        stack.extend(children(node))


def used_outside_of_blocks(buffer: Buffer, realize: BlockRealize):
    """The refusal for a block whose buffer is read by conditions, loop bounds or bindings, which do not move with it."""
    return refuse(
        "opaque-access", f"{buffer.name!r}, an output of block {realize.block.name!r}, is also accessed outside of blocks", realize,
        expected="a buffer that is only accessed in blocks",
    )  # fmt: skip


# Iterations that differ in a loop of `apart` access other elements, so only the order of the iterations that agree in these loops matters.
def _keeps_order_within_slices(ctx: Context, chain: Sequence[For], moving: Sequence[Var], order: Sequence[For]) -> bool:
    """Whether the blocks below consist of independent slices, each of which keeps its order: the rows of a scan. Without an `order`,
    whether all moving loops are between slices, so that any order is right."""
    blocks = ctx.index.child_blocks(chain[0])
    if not all(_is_plain_spatial(realize) for realize in blocks):
        return False
    if all(ctx.index.fact(updates_only_own_element, realize.block) for realize in blocks):
        return False  # the usual case, which other rules decide with better explanations
    pairs = [(one, other) for n, one in enumerate(blocks) for other in blocks[n:]]
    top = chain[0].loop_var
    if not order:
        return all(find_carried(ctx.index, *pair, moving) is None for pair in pairs) and not _is_loose(ctx, chain[0])
    apart = [v for v in moving if all(find_carried(ctx.index, *pair, [v], top) is None for pair in pairs)]
    before, after = ([f.loop_var for f in loops if f.loop_var not in apart] for loops in (chain, order))
    return bool(apart) and before == after and not _is_loose(ctx, chain[0])


def _is_loose(ctx: Context, loop: For) -> bool:
    """Whether a buffer that the blocks below write is also accessed outside of blocks."""
    loose = ctx.index.touched_loosely(ctx.index.scope_of(loop))
    return any(w.buffer in loose for r in ctx.index.child_blocks(loop) for w in r.block.writes)


def _is_plain_spatial(realize: BlockRealize) -> bool:
    """Whether the block has only spatial iterators, and its accesses are those that it declares."""
    block = realize.block
    hidden = block.match_buffers or addressed_buffers(block)
    nested = any(isinstance(node, BlockRealize) for node in walk(block.body))
    return all(iv.iter_type == "spatial" for iv in block.iter_vars) and block.init is None and not hidden and not nested


# A block is free in its order if its spatial iterators write distinct elements, it reads none of its output but the element that it
# updates, and the order of its reduction does not matter.
def require_free_block(ctx: Context, realize: BlockRealize, moving: Mapping[Var, Range], what: str) -> None:
    block = realize.block
    driven = {
        iv.iter_type
        for iv, value in zip(block.iter_vars, realize.iter_values, strict=True)
        if not free_vars(value).isdisjoint(moving)
    }
    if driven - {"spatial", "reduce"}:
        raise refuse(
            "opaque-iterator",
            f"cannot {what}: block {block.name!r} has iterators that are neither spatial nor reduction iterators",
            realize,
        )
    if not ctx.index.fact(updates_only_own_element, block) and not _is_scan_apart(ctx, realize, moving):
        require_updates_own_element(ctx, realize, what)
    used = {v: r for v, r in moving.items() if v in ctx.index.fact(free_vars, block)}
    inner = _used_inside(ctx, realize, moving)
    apart = writes_distinct(block, used, inner) if used or inner else ctx.index.fact(writes_distinct, block)
    if not apart:
        raise refuse(
            "order-dependent", f"cannot {what}: iterations of block {block.name!r} may write the same element, and the last one wins",
            realize, found=apart.detail, expected="spatial iterations that write distinct elements",
        )  # fmt: skip
    if "reduce" in driven and not ctx.index.fact(is_associative_update, block):
        raise refuse(
            "order-dependent", f"cannot {what}: block {block.name!r} has a reduction whose result may depend on the order", realize,
            expected="one update `x = op(x, …)` with op a sum, product, min, max, and, or",
        )  # fmt: skip


def _used_inside(ctx: Context, realize: BlockRealize, moving: Mapping[Var, Range]) -> dict[Var, Range]:
    """The loops inside of the outermost moving one that do not move, and that the block uses directly."""
    used, above = ctx.index.fact(free_vars, realize.block), ctx.index.loops_above(realize)
    first = next((n for n, f in enumerate(above) if f.loop_var in moving), len(above))
    inside = [f for f in above[first:] if f.loop_var in used and f.loop_var not in moving]
    return {f.loop_var: Range(f.min, f.extent) for f in inside}


def _is_scan_apart(ctx: Context, realize: BlockRealize, moving: Mapping[Var, Range]) -> bool:
    """Whether iterations of the moving loops never access an element that another one writes: `s[t, i] = s[t - 1, i] + …` for `i`."""
    block = realize.block
    hidden = block.match_buffers or addressed_buffers(block)
    if hidden or any(isinstance(node, BlockRealize) for node in walk(block.body)):
        return False
    return find_carried(ctx.index, realize, realize, [*moving]) is None


# A block must use the loops through its iterators only; otherwise the analysis cannot relate its accesses to iterations.
def require_iterators_only(ctx: Context, realize: BlockRealize, loops: Iterable[For], what: str) -> None:
    used = ctx.index.fact(free_vars, realize.block)
    direct = next((f.loop_var for f in loops if f.loop_var in used), None)
    if direct is not None:
        raise refuse(
            "opaque-iterator", f"cannot {what}: block {realize.block.name!r} uses loop {direct.name!r} directly", realize,
            expected="a block that uses its loops only through iterators",
        )  # fmt: skip


# A scan reads elements that its other iterations write.
def require_updates_own_element(ctx: Context, realize: BlockRealize, what: str) -> None:
    if not ctx.index.fact(updates_only_own_element, realize.block):
        raise refuse(
            "order-dependent",
            f"cannot {what}: block {realize.block.name!r} reads elements of its own output that other iterations write", realize,
            expected="independent iterations",
        )  # fmt: skip


# A sum or an in-place update must add each of its terms once and run its init first, in the old and in the new order.
def require_updates_in_order(
    ctx: Context, realize: BlockRealize, chain: Sequence[For], moving: Sequence[Var], what: str, order: Sequence[For]
) -> None:
    """Check the update order. `chain` are the loops around, outermost first, which get the new `order`; `moving` are those that change
    place."""
    block = realize.block
    if not ctx.index.fact(is_update, block):
        return
    below = ctx.index.loops_above(realize)
    inner = {f.loop_var: Range(f.min, f.extent) for f in below}
    outer = {f.loop_var: inner.pop(f.loop_var) for f in below[: below.index(chain[0])]}
    later = {v: inner[v] for v in (*(f.loop_var for f in order if f.loop_var in inner), *inner)}
    reducing = set(reduction_loops(realize, inner))
    if block.init is None:
        in_order = not reducing or ctx.index.fact(is_associative_update, block) or is_once(realize, inner, outer)
    else:
        stays_whole = not reducing & {f.loop_var for f in chain}
        in_order = stays_whole or is_once(realize, inner, outer)
        in_order = in_order and (
            not reducing & set(moving) or starts_with_init(realize, later, partly=True, before=inner)
        )
    if not in_order:
        raise out_of_order(realize, what, order_fault(realize, later, partly=True))


# A block that leaves its loops must compute its sum once and start with the init.
def require_one_sum(ctx: Context, realize: BlockRealize, what: str) -> None:
    if realize.block.init is None:
        return
    loops = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize)}
    if not starts_with_init(realize, loops) or not is_once(realize, _from_first_reduction(realize, loops)):
        raise out_of_order(realize, what, order_fault(realize, loops))


def _from_first_reduction(realize: BlockRealize, loops: Mapping[Var, Range]) -> dict[Var, Range]:
    reducing = reduction_loops(realize, loops)
    names = list(loops)
    return {v: loops[v] for v in names[names.index(reducing[0]) :]} if reducing else {}


_MAY_NOT_RUN = "undecided: a loop or a block around it may have no iteration"


def no_own_sum(
    ctx: Context,
    realize: BlockRealize,
    what: str,
    loops: Mapping[Var, Range],
    *,
    partly: bool = False,
    other: str = _MAY_NOT_RUN,
):
    """The refusal for a block whose elements do not each have one sum in the loops: with a witness, or why that is undecided.

    `other`: the reason if that is proved.
    """
    fault = ctx.index.fact(writes_distinct, realize.block).detail or order_fault(realize, loops, partly=partly)
    return out_of_order(realize, what, fault or other)


def out_of_order(realize: BlockRealize, what: str, found: str = ""):
    """The refusal for a sum that may add a term twice or not start with its init."""
    return refuse(
        "order-dependent", f"cannot {what}: block {realize.block.name!r} may repeat terms of its reduction, or not start at its init",
        realize, found=found, expected="one loop for each iterator, and reductions that start at the init",
    )  # fmt: skip


def shares_elements(ctx: Context, loop: For, realize: BlockRealize, buffer: Buffer) -> bool:
    """Whether iterations of a loop around the block may write the same elements of a buffer that is not private to an iteration."""
    above = ctx.index.loops_above(realize)
    box = touched_box(ctx.index, realize, buffer, above[: above.index(loop) + 1], writes=True)
    own = {loop.loop_var: Range(loop.min, loop.extent)}
    apart = box is not None and loop.loop_var in separated_loops(box.region, box.region, own)
    return not apart and not _is_private_to(ctx, loop, buffer)


def _is_private_to(ctx: Context, loop: For, buffer: Buffer) -> bool:
    """Whether the buffer is used only below the loop, and each iteration reads only elements that it has written itself."""
    index, below = ctx.index, {r.block.name: r for r in ctx.index.child_blocks(loop)}
    users = {*index.readers(buffer), *index.writers(buffer)}
    return (
        not index.is_param(buffer)
        and users <= below.keys()
        and buffer not in index.touched_loosely(index.scope_of(loop))
        and all(_reads_own(ctx, loop, below, name, buffer) for name in users)
    )


def _reads_own(ctx: Context, loop: For, below: Mapping[str, BlockRealize], name: str, buffer: Buffer) -> bool:
    """Whether the block reads only elements of the buffer that it or an earlier block below the loop wrote in the same iteration."""
    user, writers = below[name], ctx.index.writers(buffer)
    if name in writers and not ctx.index.fact(is_update, user.block):
        return True
    if name in writers and user.block.init is not None:
        above = ctx.index.loops_above(user)
        return not reduction_loops(user, {f.loop_var: Range(f.min, f.extent) for f in above[: above.index(loop)]})
    names = list(below)
    return any(is_covered(ctx.index, below[n], user, buffer) for n in names[: names.index(name)] if n in writers)


# A schedule call changes the buffers of blocks. An allocation in the text of a lowered program is a statement around other statements.
def require_buffer_of_block(ctx: Context, buffer: Buffer, code: str) -> None:
    allocated = (b for s in walk_stmts(ctx.func.body) if isinstance(s, Allocate) for b in s.buffers)
    if any(b is buffer for b in allocated):
        raise refuse(
            code, f"{buffer.name!r} is allocated by a statement (T.alloc_buffer), not by a block", buffer,
            expected=f"a buffer of the enclosing block: {buffer.name} = T.sblock_alloc_buffer(...)",
        )  # fmt: skip
