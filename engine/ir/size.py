"""The size of programs as expanded trees: a shared expression counts at each use, and a variable of a `let` as its value.

A line that uses an expression twice doubles it, and passes walk, print or inline the whole tree, however small its shared form is. A call
that makes a name of other names may double it, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..cancellation import checkpoint
from .errors import Refusal
from .expr import Let, Node
from .stmt import Block, For, LetStmt, Stmt
from .visitor import LEAVES, child_stmts, children

MOST_NODES = 50_000
"""Maximum number of nodes of one statement without the statements inside, or of one expression."""

MOST_NODES_OF_A_PROGRAM = 300_000

MOST_CHARACTERS = 1_000
"""Maximum length of the name of a loop, a block or an allocated buffer."""

Size = tuple[int, int]
"""Nodes, and levels."""


def expanded_size(root: Node, sizes: dict[Node, Size]) -> Size:
    """Return the nodes and levels of an expression as a tree. `sizes` has those of known parts, and receives the new ones."""
    pending = [root]
    while pending:
        node = pending[-1]
        if node in sizes:
            pending.pop()
            continue
        if node.__class__ in LEAVES:
            sizes[node] = (1, 1)
            continue
        if isinstance(node, Let) and node.var not in sizes:
            sizes[node.var] = expanded_size(node.value, sizes)
        nodes, levels, is_known = 1, 0, True
        for child in children(node):
            if child in sizes:
                inner, below = sizes[child]
                nodes, levels = nodes + inner, max(levels, below)
            elif child.__class__ in LEAVES:
                sizes[child] = (1, 1)
                nodes, levels = nodes + 1, max(levels, 1)
            else:
                pending.append(child)
                is_known = False
        if is_known:
            sizes[node] = (nodes, 1 + levels)
    return sizes[root]


class ProgramSize:
    """The sizes of the statements of a program. `before` are those of an earlier version, of which unchanged statements are not visited."""

    def __init__(self, root: Stmt, before: ProgramSize | None = None) -> None:
        self._before: Mapping[Node, int] = {} if before is None else before._nodes
        self._nodes: dict[Node, int] = {}
        self.largest: tuple[int, Node] = (0, root)
        self._longest: tuple[int, Node] = (0, root)
        self._exprs: dict[Node, Size] = {}
        self.nodes = self._count(root)
        self._before = {}
        self._exprs = {}

    @property
    def refusal(self) -> Refusal | None:
        """The refusal "too-large" if the program, or one of its statements, has too many nodes, or a name too many characters."""
        characters, named = self._longest
        if characters > MOST_CHARACTERS:
            return Refusal(
                "too-large", f"a name has {characters:,} characters", expected=f"at most {MOST_CHARACTERS:,} characters",
                fix=("name the loop: sch.split(…, names=[…]), sch.fuse(…, name=…)",) if isinstance(named, For) else (),
                nodes=(named,),
            )  # fmt: skip
        nodes, stmt = self.largest
        if nodes > MOST_NODES:
            what, most = "the expressions of a statement have", MOST_NODES
        elif self.nodes > MOST_NODES_OF_A_PROGRAM:
            what, nodes, most = "the program has", self.nodes, MOST_NODES_OF_A_PROGRAM
        else:
            return None
        message = f"{what} {nodes:,} nodes where shared parts are expanded"
        fix = ("store an intermediate result in a buffer instead of inlining it",)
        return Refusal("too-large", message, expected=f"at most {most:,} nodes", fix=fix, nodes=(stmt,))

    def _count(self, stmt: Node) -> int:
        checkpoint()
        known = self._before.get(stmt)
        if known is None:
            inner = child_stmts(stmt)
            if isinstance(stmt, LetStmt):
                self._exprs[stmt.var] = expanded_size(stmt.value, self._exprs)
            statements = set(inner)
            own = 1 + sum(expanded_size(e, self._exprs)[0] for e in children(stmt) if e not in statements)
            self.largest = max(self.largest, (own, stmt), key=lambda found: found[0])
            self._longest = max(self._longest, (_longest_name(stmt), stmt), key=lambda found: found[0])
            known = own + sum(map(self._count, inner))
        self._nodes[stmt] = known
        return known


def _longest_name(stmt: Node) -> int:
    """The length of the longest name that a statement introduces."""
    match stmt:
        case For(loop_var=variable):
            return len(variable.name)
        case Block(name=name, alloc_buffers=buffers):
            return max(len(name), *(len(buffer.name) for buffer in buffers), 0)
        case _:
            return 0


__all__ = ["MOST_CHARACTERS", "MOST_NODES", "MOST_NODES_OF_A_PROGRAM", "ProgramSize", "Size", "expanded_size"]
