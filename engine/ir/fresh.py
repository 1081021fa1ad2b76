"""Copies with their own variables, which can occur next to their originals."""

from __future__ import annotations

from typing import TypeVar, cast, get_args

from .buffer import Buffer
from .expr import Node, Var
from .stmt import Block, For
from .visitor import BINDING, children, rename, walk

N = TypeVar("N", bound=Node)

_BINDING = frozenset(get_args(BINDING))


def fresh_vars(root: N) -> tuple[N, dict[Var, Var]]:
    """Return a copy of `root` that defines its own variables (same names), with the map from old to new."""
    new = {var: Var(var.name, var.dtype, var.points_to) for var in defined_vars(root)}
    return rename(root, new), new


def defined_vars(root: Node) -> list[Var]:
    """Return the variables that `root` defines: those of loops, iterators, lets, threads and views."""
    found: list[Var] = []
    viewing = False
    for node in walk(root):
        if type(node) is For:
            found.append(node.loop_var)
        elif node.__class__ in _BINDING:
            found.append(cast("BINDING", node).var)
        elif type(node) is Block:
            viewing = viewing or bool(node.match_buffers)
    return [*found, *_matched_vars(root)] if viewing else found


def _matched_vars(root: Node) -> list[Var]:
    """Return the variables that match_buffers below `root` define: sizes and offsets of views, unused outside the block."""
    matched: dict[Var, None] = {}
    elsewhere: set[Node] = set()
    stack: list[tuple[Node, frozenset[Node]]] = [(root, frozenset())]
    while stack:
        node, own = stack.pop()
        if isinstance(node, Buffer):
            if node not in own:
                elsewhere.update(_layout_vars(node))
            continue
        if isinstance(node, Var) and node not in own:
            elsewhere.add(node)
        if isinstance(node, Block):
            views = [m.buffer for m in node.match_buffers]
            sizes = [var for view in views for var in _layout_vars(view)]
            matched.update(dict.fromkeys(sizes))
            own |= {*views, *sizes}
            elsewhere.update(v for b in node.alloc_buffers for v in _layout_vars(b) if v not in own)
            own |= {*node.alloc_buffers}
        stack.extend((child, own) for child in children(node))
    return [var for var in matched if var not in elsewhere]


def _layout_vars(buffer: Buffer) -> list[Var]:
    parts = (*buffer.shape, *buffer.strides, *((buffer.elem_offset,) if buffer.elem_offset is not None else ()))
    return [node for part in parts for node in walk(part) if isinstance(node, Var)]
