"""Rules for copies of buffers: a copied element is initialized, and a copy back overwrites only elements that the block wrote."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ....analysis import (
    ProgramIndex,
    contains_box,
    is_covered,
    is_update,
    only_guards_domain,
    provably_runs,
    reads_own_results,
    starts_with_init,
    stays_inside,
    touched_box,
    writes_all,
)
from ....arith import Analyzer
from ....ir import (
    And,
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    For,
    IfThenElse,
    Node,
    Or,
    Range,
    Select,
    Stmt,
    Var,
    build,
    children,
)
from ...context import BlockRV, Context
from ...errors import refuse
from ...rules.block_motion import require_full_domain, require_not_loose
from ...rules.checks import require_updates_own_element
from .staging import StatementSite, does_read


# A block that reads its own output has no fixed content to stage.
def require_not_written(ctx: Context, block: BlockRV, buffer: Buffer) -> None:
    if any(w.buffer is buffer for w in ctx.block(block).writes):
        raise refuse("reads-own-output", f"block {block!r} also writes {buffer.name!r}", ctx.block(block))


# Values in a new buffer must not depend on the contents of the old one.
def require_fresh(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    block = realize.block
    if not ctx.index.fact(is_update, block) or fills_before_reading(ctx, block, buffer):
        return
    if not ctx.index.fact_here(starts_from_init, realize):
        raise refuse(
            "reads-own-output", f"block {block.name!r} reads {buffer.name!r} before writing it", realize,
            expected="a block that only writes it, or a reduction that begins with its init",
        )  # fmt: skip
    require_updates_own_element(ctx, realize, "cache")


# A cache of the whole buffer has the values that a block reads of its own output, if it wrote them before.
def require_fresh_or_scan(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    if not reads_own_results(realize, buffer, ctx.index.loops_above(realize)):
        require_fresh(ctx, realize, buffer)


def starts_from_init(index: ProgramIndex, realize: BlockRealize) -> bool:
    """Whether the block is a reduction that starts each of its sums with its init."""
    loops = {f.loop_var: Range(f.min, f.extent) for f in index.loops_above(realize)}
    block = realize.block
    return block.init is not None and index.is_reduction(block.name) and starts_with_init(realize, loops)


def fills_before_reading(ctx: Context, block: Block, buffer: Buffer) -> bool:
    """Whether inner blocks write every element of the buffer before inner blocks read it."""
    inner = ctx.index.child_blocks(block)
    if not inner or block.init is not None or buffer in ctx.index.touched_loosely(block):
        return False
    if any(m.source.buffer is buffer for m in block.match_buffers):
        return False
    writers = [r for r in inner if any(w.buffer is buffer for w in r.block.writes)]
    readers = [r for r in inner if does_read(r.block, buffer)]
    if len(writers) != 1 or (
        ctx.index.fact(is_update, writers[0].block) and not starts_from_init(ctx.index, writers[0])
    ):
        return False
    return all(
        inner.index(writers[0]) < inner.index(r) and is_covered(ctx.index, writers[0], r, buffer) for r in readers
    )


# A copy of a buffer without a writer in the scope always runs, so its source must exist, as a parameter does.
def require_needed(ctx: Context, consumers: Sequence[BlockRealize], buffer: Buffer) -> None:
    if ctx.index.is_param(buffer):
        return
    if not any(provably_runs(ctx.index, c, ()) and only_guards_domain(c) for c in consumers):
        raise refuse(
            "region-not-covered", f"{buffer.name!r} may have no reader, and may be uninitialized where it would be copied", *consumers,
            expected="a reader that always runs",
        )  # fmt: skip


# A copy reads a whole box, so every element of it must have been written.
def require_filled(ctx: Context, writer: BlockRealize, box: BufferRegion, site: StatementSite) -> None:
    parent = site.parent
    around = (*ctx.index.loops_above(parent), parent) if isinstance(parent, For) else ()
    filled = writes_all(ctx.index, writer, box, around)
    if not filled:
        raise refuse(
            "region-not-covered", f"block {writer.block.name!r} may not write all elements of {box.buffer.name!r} that would be copied",
            writer, found=filled.detail, expected="a block that writes every element of a box",
        )  # fmt: skip
    require_not_loose(ctx, writer)


# The copy contains the single writer's values, not those of the caller or of blocks outside of the scope.
def require_content_of(
    ctx: Context, scope: Block, writer: BlockRealize, consumers: Sequence[BlockRealize], buffer: Buffer
) -> None:
    if buffer in scope.alloc_buffers:
        return
    order = ctx.index.block_names
    for consumer in consumers:
        later = order.index(consumer.block.name) > order.index(writer.block.name)
        covered = is_covered(ctx.index, writer, consumer, buffer)
        if not later or not covered:
            raise refuse(
                "region-not-covered",
                f"block {consumer.block.name!r} may read elements of {buffer.name!r} before block {writer.block.name!r} wrote it",
                consumer, writer, found=covered.detail, expected="a reader after the writer, of elements that it writes",
            )  # fmt: skip


# A copy has one position: after the single block that writes the content.
def require_one_writer(ctx: Context, scope: Block, buffer: Buffer) -> BlockRealize | None:
    writers = [r for r in ctx.index.child_blocks(scope) if any(w.buffer is buffer for w in r.block.writes)]
    if len(writers) > 1:
        names = ", ".join(r.block.name for r in writers)
        raise refuse(
            "several-writers",
            f"buffer {buffer.name!r} is written by {len(writers)} blocks",
            *writers,
            found=names,
            expected="one",
        )
    return writers[0] if writers else None


# A buffer that is written through a cache must have a single writer.
def require_only_writer(ctx: Context, scope: Block, block: BlockRV, buffer: Buffer) -> None:
    others = [
        r.block.name
        for r in ctx.index.child_blocks(scope)
        if r.block.name != block and any(w.buffer is buffer for w in r.block.writes)
    ]
    if others:
        raise refuse(
            "not-the-only-writer", f"buffer {buffer.name!r} is written by other blocks too", ctx.block(block),
            found=", ".join(others), expected=f"{block!r} only; cache_write before decompose_reduction",
        )  # fmt: skip


def is_overwritten_later(
    ctx: Context, scope: Block, writer: BlockRealize, consumers: Sequence[BlockRealize], buffer: Buffer
) -> bool:
    """Whether all consumers read values from before the scope: they precede the writer, with no loop of several iterations around both."""
    loops = {f for f in ctx.index.loops_above(writer) if not build.is_const(f.extent, 1)}
    order = ctx.index.block_names
    return buffer not in scope.alloc_buffers and all(
        order.index(r.block.name) < order.index(writer.block.name) and not loops & set(ctx.index.loops_above(r))
        for r in consumers
    )


# A bare store is in no block, so its order relative to the copy is unknown.
def require_not_stored_loosely(ctx: Context, scope: Block, buffer: Buffer) -> None:
    stack: list[Node] = [scope.body] if buffer in ctx.index.touched_loosely(scope) else []
    while stack:
        node = stack.pop()
        if isinstance(node, Block):
            continue
        if isinstance(node, BufferStore | BufferData) and node.buffer is buffer:
            raise refuse(
                "opaque-access",
                f"{buffer.name!r} is written outside of blocks",
                node,
                expected="a buffer that is only accessed in blocks",
            )
        stack.extend(children(node))


# A copy reads its whole region: each element must exist and have a value, even if the block would not have read it.
def require_initialized(ctx: Context, realize: BlockRealize, after: Context, stage: str, buffer: Buffer) -> None:
    """`realize` is the reader before the change; `after` is the program with the copy block `stage`."""
    copying = after.realize(stage)
    if stays_inside(copying.block) and holds_values(after.index, copying, buffer):
        return
    if not provably_loads(realize.block.body, buffer):
        raise refuse(
            "region-not-covered", f"block {realize.block.name!r} may not read all of {buffer.name!r} that would be copied", realize,
            expected="a fully written buffer, and indices within its bounds",
        )  # fmt: skip
    require_full_domain(ctx, realize)


def is_given(index: ProgramIndex, buffer: Buffer) -> bool:
    """Whether the caller initializes a parameter: the first block that accesses it, or a view of it, reads it before writing it."""
    blocks = [index.block(name) for name in index.block_names]
    names = {buffer}
    for block in blocks:  # outer blocks come first, because a view may view another view
        names |= {match.buffer for match in block.match_buffers if match.source.buffer in names}
    leaves = (b for b in blocks if not index.child_blocks(b))
    first = next((b for b in leaves if any(r.buffer in names for r in (*b.reads, *b.writes))), None)
    return first is not None and any(r.buffer in names for r in first.reads) and not _stores_first(first.body, names)


def _stores_first(body: Stmt, names: Collection[Buffer]) -> bool:
    def accesses(node: Node) -> Iterator[Node]:
        for child in children(node):  # the stored value is a child of the store
            yield from accesses(child)
        if isinstance(node, BufferLoad | BufferStore) and node.buffer in names:
            yield node

    return isinstance(next(accesses(body), None), BufferStore)


def holds_values(index: ProgramIndex, realize: BlockRealize, buffer: Buffer, *, given: bool = True) -> bool:
    """Whether every element of the buffer that the block declares as read is provably written: by the caller (for a parameter, if these are
    `given`), or earlier in its scope."""
    if given and index.is_param(buffer):
        return True
    scope = index.scope_of(realize)
    before = index.siblings(realize.block.name)
    before = before[: before.index(realize)]
    if any(w.buffer is buffer for r in before for w in r.block.writes):
        return any(
            is_covered(index, r, realize, buffer) for r in before if any(w.buffer is buffer for w in r.block.writes)
        )
    outer = index.realize(scope.name)
    if outer is index.root or buffer in scope.alloc_buffers:
        return False
    region = next((r for r in outer.block.reads if r.buffer is buffer), None)
    read = touched_box(index, realize, buffer, (), writes=False)
    return (
        region is not None
        and read is not None
        and is_within(read, region)
        and holds_values(index, outer, buffer, given=given)
    )


def is_within(inner: BufferRegion, outer: BufferRegion, ranges: Mapping[Var, Range] | None = None) -> bool:
    """Whether the box `outer` provably contains the box `inner`."""
    return contains_box(outer, inner, Analyzer(ranges))


def provably_loads(stmt: Node, buffer: Buffer) -> bool:
    """Whether each run of a body without blocks reads the buffer: unconditionally, in loops with at least one iteration."""
    match stmt:
        case BufferLoad() if stmt.buffer is buffer:
            return True
        case IfThenElse(condition=condition):
            return provably_loads(condition, buffer)
        case Call(op="if_then_else", args=(condition, *_)) | Select(condition=condition):
            return provably_loads(condition, buffer)
        case And(a=a) | Or(a=a):
            return provably_loads(a, buffer)
        case For() if (build.int_value(stmt.extent) or 0) <= 0:
            return provably_loads(stmt.extent, buffer)
        case Block() | Buffer():
            return False
        case _:
            return any(provably_loads(child, buffer) for child in children(stmt))
