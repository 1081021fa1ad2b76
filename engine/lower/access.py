"""Replacement of buffers by buffers of another shape, with all accesses, regions and allocations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace as replace_fields

from ..ir import (
    Allocate,
    Block,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    Node,
    Range,
    rewrite,
)

N = TypeVar("N", bound=Node)

Indices = tuple[Expr, ...]
Axes = tuple[Range, ...]

_WITH_BUFFERS = frozenset((BufferLoad, BufferStore, BufferData, BufferRegion, Block, Allocate))


class BufferChange(msgspec.Struct, frozen=True, eq=False):
    """A replacement `buffer` with functions that map the old buffer's indices and region boxes to its own."""

    buffer: Buffer
    indices: Callable[[Indices], Indices]
    region: Callable[[Axes], Axes]


def change_buffers(root: N, changes: Mapping[Buffer, BufferChange]) -> N:
    """`root` with each key of `changes` replaced in accesses, regions and allocations."""

    def leave(node: Node) -> Node:
        if type(node) is BufferLoad and (change := changes.get(node.buffer)):
            return BufferLoad(change.buffer, change.indices(node.indices))
        if type(node) is BufferStore and (change := changes.get(node.buffer)):
            return BufferStore(change.buffer, node.value, change.indices(node.indices))
        if type(node) is BufferData and (change := changes.get(node.buffer)):
            return BufferData(change.buffer)
        if type(node) is BufferRegion and (change := changes.get(node.buffer)):
            return BufferRegion(change.buffer, change.region(node.region))
        if type(node) is Block and any(b in changes for b in node.alloc_buffers):
            return replace_fields(node, alloc_buffers=tuple(_changed(b, changes) for b in node.alloc_buffers))
        if type(node) is Allocate and any(b in changes for b in node.buffers):
            return replace_fields(node, buffers=tuple(_changed(b, changes) for b in node.buffers))
        return node

    return rewrite(root, leave, kinds=_WITH_BUFFERS) if changes else root


def _changed(buffer: Buffer, changes: Mapping[Buffer, BufferChange]) -> Buffer:
    change = changes.get(buffer)
    return buffer if change is None else change.buffer
