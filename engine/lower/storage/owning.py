"""Opaque blocks that own buffers: allocations around a statement in programs with blocks."""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ...analysis import accessed_regions
from ...ir import Annotations, Block, BlockRealize, Buffer, Stmt, build


def owning_block(body: Stmt, buffers: tuple[Buffer, ...], annotations: Annotations = ()) -> BlockRealize:
    """A block "" without iterators around `body` that allocates `buffers`; its regions are `body`'s accesses to other buffers."""
    bare = Block("", (), (), (), body, alloc_buffers=buffers, annotations=annotations)
    reads, writes = accessed_regions(body)
    inside = set(buffers)
    block = replace_fields(
        bare,
        reads=tuple(r for r in reads if r.buffer not in inside),
        writes=tuple(w for w in writes if w.buffer not in inside),
    )
    return BlockRealize((), build.TRUE, block)
