"""Limits on expression size: a line that uses an expression twice doubles it, and every later pass walks the whole tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..ir import Expr, Node, children
from ..script.reading.reader import Reader

MAX_NODES = 20_000
MAX_LEVELS = 150


def require_small(reader: Reader, exprs: Iterable[Expr], node: ast.AST) -> None:
    """Raise "too-large" if an expression, as an expanded tree, has too many nodes or levels."""
    sizes: dict[Node, tuple[int, int]] = {}
    for expr in exprs:
        nodes, levels = _size(expr, sizes)
        if nodes > MAX_NODES or levels > MAX_LEVELS:
            raise reader.error(
                node, "too-large", f"the expanded expression has {nodes} nodes in {levels} levels",
                expected=f"at most {MAX_NODES} nodes and {MAX_LEVELS} levels",
                fix=("compute parts of it in separate te.compute operations",),
            )  # fmt: skip


def _size(root: Node, sizes: dict[Node, tuple[int, int]]) -> tuple[int, int]:
    """Return nodes and levels of the tree; a shared part counts at each occurrence."""
    pending = [(root, False)]
    while pending:
        node, done = pending.pop()
        if node in sizes:
            continue
        below = children(node)
        if not done:
            pending.append((node, True))
            pending.extend((child, False) for child in below)
            continue
        found = [sizes[child] for child in below]
        sizes[node] = (1 + sum(n for n, _ in found), 1 + max((d for _, d in found), default=0))
    return sizes[root]
