"""Recovery of lost indentation: web pages and forum posts often drop it.

An opening line starts a body; names determine its end: a nest belongs to the innermost loop, block or function whose names it uses. If
several depths are possible, the outermost is chosen: a nest that uses no names of the previous nest becomes its sibling. That is reliable
for blocks, which declare their outer operands; stores without blocks are ambiguous.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence

import msgspec

from ..syntax import find_tree

STEP = 4
_FIRST_IN_BLOCK = re.compile(
    r"(?:[\w, ()]+=\s*)?\w+\.(?:axis\.\w+|reads|writes|where|block_attr|sblock_attr|bind|func_attr|match_buffer"
    r"|alloc_buffer|sblock_alloc_buffer)\("
)
"""Lines at the top of a block or function, before its statements."""
_OUTSIDE = re.compile(r"(?:@|class\b|def\b|import\b|from\b|print\(|\"\"\"|''')")
_MAKES_SCHEDULE = re.compile(r"\w+\s*=\s*[\w.]*(?:[sS]chedule)\(")


class _Line(msgspec.Struct, frozen=True):
    """A logical line: first and last physical line, and its text on one line."""

    first: int
    last: int
    text: str

    @property
    def opens(self) -> bool:
        return self.text.endswith(":")


class _Open(msgspec.Struct):
    """An open body: its kind and the names defined in it."""

    kind: str
    names: set[str]
    done: bool = False  # has its first statement
    init: bool = False  # a block with an init
    statements: int = 0  # number of direct statements


def is_flat(lines: Sequence[str]) -> bool:
    """Whether no line is indented although some open a body."""
    return not any(line[:1].isspace() and line.strip() for line in lines) and any(
        line.rstrip().endswith(":") for line in lines
    )


def without_margin(lines: Sequence[str]) -> list[int] | None:
    """Return the columns, as negative numbers, that remove the margin of a text copied from inside of other code; None if it has none.
    The first line and its decorators may have lost the margin, as happens when the selection begins behind it; comments may have none."""
    code = [n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    first = next((n for n in code if lines[n][0].isspace()), len(lines))
    bare, rest = [n for n in code if n < first], [n for n in code if n >= first]
    if not rest or (len(bare) > 1 and not all(lines[n].startswith("@") for n in bare)):
        return None
    margin = min(len(lines[n]) - len(lines[n].lstrip()) for n in rest)
    moved = {*rest}
    return [-margin if n in moved else 0 for n in range(len(lines))] if margin else None


def shifted(line: str, columns: int) -> str:
    """Return a line moved to the right, or to the left by the spaces that it begins with."""
    return " " * columns + line if columns >= 0 else line[-columns:]


def restored(lines: Sequence[str]) -> list[int] | None:
    """Return the indentation in columns of each line of a flat text; None if it is ambiguous."""
    logical = _logical_lines(lines)
    if logical is None:
        return None
    depths = [0] * len(lines)
    stack: list[_Open] = []
    previous: _Line | None = None
    for number, line in enumerate(logical):
        _close(stack, logical, number, previous)
        if _is_unclear(stack, line):
            return None
        for physical in range(line.first, line.last + 1):
            depths[physical] = len(stack) * STEP
        _enter(stack, line, decorated=previous is not None and previous.text.startswith("@"))
        previous = line
    return depths


def _is_unclear(stack: list[_Open], line: _Line) -> bool:
    """Whether names do not determine the line's depth: it is a statement outside of a block, a sibling of a loop or condition in a block,
    or it follows the single statements of the init and the update in a block with an init."""
    if not any(level.kind == "def" for level in stack) or _FIRST_IN_BLOCK.match(line.text):
        return False
    if line.opens:
        inside_init = any(level.kind == "init" for level in stack)
        return inside_init or not line.text.startswith(("for ", "with "))
    if line.text.startswith(("@", '"', "'")) or line.text == "pass":
        return False
    block = stack[-1]
    return block.kind not in ("block", "init") or (block.kind == "block" and block.init and block.statements > 0)


def _logical_lines(lines: Sequence[str]) -> list[_Line] | None:
    """Return the lines with continuations joined, without comments and empty lines."""
    found: list[_Line] = []
    start: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT):
                continue
            if token.type == tokenize.NEWLINE:
                if start is not None:
                    found.append(_Line(start, token.start[0] - 1, _joined(lines, start, token.start)))
                start = None
            elif start is None:
                start = token.start[0] - 1
    except (tokenize.TokenError, SyntaxError):
        return None
    return found


def _joined(lines: Sequence[str], start: int, end: tuple[int, int]) -> str:
    last = end[0] - 1
    pieces = [*lines[start:last], lines[last][: end[1]]]
    return " ".join(piece.strip() for piece in pieces).split(" #")[0].strip()


def _close(stack: list[_Open], lines: list[_Line], number: int, previous: _Line | None) -> None:
    """Close the bodies that do not contain line `number`."""
    line = lines[number]
    if previous is not None and previous.opens:
        return  # a body has at least one line
    if _OUTSIDE.match(line.text) or _MAKES_SCHEDULE.match(line.text):
        keep = 1 if stack and stack[0].kind == "class" and line.text.startswith(("@", "def ")) else 0
        if previous is not None and previous.text.startswith("@") and line.text.startswith(("def ", "class ")):
            keep = len(stack)
        del stack[keep:]
        return
    if not stack or stack[-1].kind == "python":
        return
    while stack and stack[-1].kind == "init" and stack[-1].done:
        stack.pop()
    if not stack:
        return
    if _FIRST_IN_BLOCK.match(line.text) or (line.text.startswith("with ") and ".init(" in line.text):
        return
    if previous is not None and _FIRST_IN_BLOCK.match(previous.text):
        return  # the first statement of a block or function
    if stack[-1].kind in ("block", "init") and not stack[-1].done:
        return
    used = _free_names(lines, number)
    deepest = max((n for n, level in enumerate(stack) if level.names & used), default=-1)
    bottom = 2 if stack[0].kind == "class" else 1
    if not any(level.kind == "def" for level in stack):
        bottom = 0
    del stack[max(deepest + 1, bottom) :]


def _enter(stack: list[_Open], line: _Line, *, decorated: bool) -> None:
    """Update the stack with the body that the line opens, its names, and its statement."""
    names = _defined(line)
    if line.opens:
        kind = next(
            (k for k, mark in (("class", "class "), ("def", "def "), ("init", "with ")) if line.text.startswith(mark)), "loop"
        )  # fmt: skip
        if kind == "init" and ".init(" not in line.text:
            kind = "block"
        if kind == "def" and not decorated:
            kind = "python"  # not a tensor program: the reader reports it
        if kind == "init" and stack:
            stack[-1].init = True
        stack.append(_Open(kind, names))
        return
    if stack:
        stack[-1].names |= names
        if not _FIRST_IN_BLOCK.match(line.text) and not line.text.startswith("@"):
            stack[-1].statements += 1
            for level in reversed(stack):
                level.done = True
                if level.kind in ("def", "class", "python"):
                    break


def _parsed(line: _Line) -> ast.stmt | None:
    tree = find_tree(line.text + (" pass" if line.opens else ""))
    return tree.body[0] if tree is not None and tree.body else None


def _defined(line: _Line) -> set[str]:
    """Return the names that the line defines: loop variables, iterators, bindings."""
    node = _parsed(line)
    match node:
        case ast.For(target=target):
            return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        case ast.With(items=[ast.withitem(optional_vars=ast.expr() as target)]):
            return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        case ast.Assign(targets=targets):
            return {
                n.id
                for t in targets
                if not isinstance(t, ast.Subscript)
                for n in ast.walk(t)
                if isinstance(n, ast.Name)
            }
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()


def _free_names(lines: list[_Line], number: int) -> set[str]:
    """Return the free names of the statement at `number`; for a nest, up to the end of its first block or store."""
    used: set[str] = set()
    made: set[str] = set()
    in_init = False
    for line in lines[number:]:
        node = _parsed(line)
        names: set[str] = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()
        used |= names - made
        made |= _defined(line)
        used -= _defined(line)
        if line.opens:
            in_init = ".init(" in line.text
        elif not _FIRST_IN_BLOCK.match(line.text):
            if not in_init:
                break
            in_init = False
    return used
