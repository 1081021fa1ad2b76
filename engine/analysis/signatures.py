"""Completion of block signatures. All later analyses rely on T.reads and T.writes and would miss undeclared accesses."""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ..ir import (
    Allocate,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Node,
    PrimFunc,
    children,
    rewrite,
    walk_stmts,
)
from .regions import accessed_regions


def honest_signatures(func: PrimFunc) -> PrimFunc:
    """`func` with undeclared buffers of each block added to its T.reads and T.writes; the same object if none is missing.

    The root block has no signature. For accesses through an address, the declaration is trusted.
    """
    root = func.body.block if isinstance(func.body, BlockRealize) else None
    if not any(_is_silent(b) for b in walk_stmts(func.body) if isinstance(b, Block) and b is not root):
        return func

    def leave(node: Node) -> Node:
        return _named(node) if isinstance(node, Block) and node.name != (root.name if root else None) else node

    return rewrite(func, leave)


def _is_silent(block: Block) -> bool:
    reads, writes = _touched(block)
    written = {w.buffer for w in block.writes}
    return not (writes <= written and reads <= written | {r.buffer for r in block.reads})


def _named(block: Block) -> Block:
    """The block with its undeclared regions added, at the extent of their accesses."""
    if not _is_silent(block):
        return block
    reads, writes = _touched(block)
    found_reads, found_writes = accessed_regions(block)
    new_writes = (*block.writes, *_missing(found_writes, writes, block.writes))
    new_reads = (*block.reads, *_missing(found_reads, reads, (*block.reads, *block.writes)))
    return replace_fields(block, reads=new_reads, writes=new_writes)


def _missing(
    found: tuple[BufferRegion, ...], touched: set[Buffer], declared: tuple[BufferRegion, ...]
) -> list[BufferRegion]:
    known = {r.buffer for r in declared}
    return [r for r in found if r.buffer in touched and r.buffer not in known]


def _touched(block: Block) -> tuple[set[Buffer], set[Buffer]]:
    """The outer buffers that the block loads from and stores to; nested blocks count by their declarations."""
    reads: set[Buffer] = set()
    writes: set[Buffer] = set()
    local = set(block.alloc_buffers)
    stack: list[Node] = [block.body] if block.init is None else [block.init, block.body]
    while stack:
        node = stack.pop()
        if isinstance(node, Block):
            reads |= {r.buffer for r in node.reads}
            writes |= {w.buffer for w in node.writes}
            continue
        if isinstance(node, Buffer):
            continue
        if isinstance(node, BufferLoad):
            reads.add(node.buffer)
        elif isinstance(node, BufferStore):
            writes.add(node.buffer)
        elif isinstance(node, Allocate):
            local.update(node.buffers)
        stack.extend(children(node))
    source = {m.buffer: m.source.buffer for m in block.match_buffers}
    return ({source.get(b, b) for b in reads - local}, {source.get(b, b) for b in writes - local})
