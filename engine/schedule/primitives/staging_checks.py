"""Rules for copies of buffers: what a copy holds was written before, and what it gives back overwrites nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis import (
    is_covered,
    is_update,
    only_guards_domain,
    starts_with_init,
    surely_runs,
    writes_all,
)
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    For,
    Range,
)
from ..checks import require_updates_own_element
from ..context import BlockRV, Context
from ..errors import refuse
from ..moves import require_not_loose
from .staging import Site, does_read


# A block that reads what it writes has no fixed content to stage.
def require_not_written(ctx: Context, block: BlockRV, buffer: Buffer) -> None:
    if any(w.buffer is buffer for w in ctx.block(block).writes):
        raise refuse("reads-own-output", f"block {block!r} also writes {buffer.name!r}", ctx.block(block))


# What is written into a new buffer may not build upon what the old one held.
def require_fresh(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    block = realize.block
    if not is_update(block) or _fills_before_reading(ctx, block, buffer):
        return
    loops = {f.loop_var: Range(f.min, f.extent) for f in ctx.index.loops_above(realize)}
    if block.init is None or not ctx.index.is_reduction(block.name) or not starts_with_init(realize, loops):
        raise refuse(
            "reads-own-output", f"block {block.name!r} reads {buffer.name!r} before it writes it", realize,
            expected="a block that only writes it, or a reduction that begins with its init",
        )  # fmt: skip
    require_updates_own_element(realize, "cache")


def _fills_before_reading(ctx: Context, block: Block, buffer: Buffer) -> bool:
    """Whether all that blocks inside of the block read of the buffer was written by one of them before."""
    inner = ctx.index.child_blocks(block)
    if not inner or block.init is not None or buffer in ctx.index.touched_loosely(block):
        return False
    if any(m.source.buffer is buffer for m in block.match_buffers):
        return False
    writers = [r for r in inner if any(w.buffer is buffer for w in r.block.writes)]
    readers = [r for r in inner if does_read(r.block, buffer)]
    return len(writers) == 1 and all(
        inner.index(writers[0]) < inner.index(r) and is_covered(ctx.index, writers[0], r, buffer) for r in readers
    )


# A copy of what nobody in the scope writes is made whether it is needed or not: it must be there, as a parameter is.
def require_needed(ctx: Context, consumers: Sequence[BlockRealize], buffer: Buffer) -> None:
    if ctx.index.is_param(buffer):
        return
    if not any(surely_runs(ctx.index, c, ()) and only_guards_domain(c) for c in consumers):
        raise refuse(
            "region-not-covered", f"{buffer.name!r} may be read nowhere, and hold nothing that could be copied", *consumers,
            expected="a reader that surely runs",
        )  # fmt: skip


# A copy takes all of a box: every element of it must have been written.
def require_filled(ctx: Context, writer: BlockRealize, buffer: Buffer, site: Site) -> None:
    parent = site.parent
    around = (*ctx.index.loops_above(parent), parent) if isinstance(parent, For) else ()
    if not writes_all(ctx.index, writer, buffer, around):
        raise refuse(
            "region-not-covered", f"block {writer.block.name!r} may leave out elements of what would be copied of {buffer.name!r}", writer,
            expected="a block that writes each element of a box",
        )  # fmt: skip
    require_not_loose(ctx, writer)


# The copy has what the one writer made, not what the caller or blocks outside of the scope put there.
def require_content_of(
    ctx: Context, scope: Block, writer: BlockRealize, consumers: Sequence[BlockRealize], buffer: Buffer
) -> None:
    if buffer in scope.alloc_buffers:
        return
    order = ctx.index.block_names
    for consumer in consumers:
        later = order.index(consumer.block.name) > order.index(writer.block.name)
        if not later or not is_covered(ctx.index, writer, consumer, buffer):
            raise refuse(
                "region-not-covered",
                f"block {consumer.block.name!r} may read what {buffer.name!r} held before block {writer.block.name!r} wrote it",
                consumer, writer, expected="a reader of what the block wrote",
            )  # fmt: skip


# A copy has one place: after the one block that makes the content.
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


# What is written through a cache must all come from the one block that uses it.
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
