"""Long texts through Python's parser, in another process: the parser holds the interpreter's lock, and its time is quadratic in the length
of an f-string.

The tree comes back in parts, one for each statement, because reading a pickled value holds the lock too.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from ..ir import Refusal, TilewrightError
from ..processes import isolated

LONG_CHARACTERS = 50_000
"""A shorter text is parsed in this process: it takes at most a third of a second."""

SECONDS = 5.0
"""Maximum processor time of the parser."""

MOST_PARTS = 400_000
MOST_PARTS_OF_A_STATEMENT = 60_000
"""Maximum number of nodes of a tree, and of one statement without the statements inside."""

_LISTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields with lists of statements, or of parts that have such lists."""

_Part = tuple[bytes, tuple[tuple[str, list["_Part"]], ...]]
"""A pickled node without its lists, and these lists."""


def long_tree(text: str, parse: Callable[[str], ast.Module]) -> ast.Module:
    """Return the syntax tree of a long text by `parse`, a function of a module. Raises as `ast.parse`, OverBudgetError, and TilewrightError
    "too-large"."""
    found = _outcome(text, parse)
    if isinstance(found, Exception):
        raise found.with_traceback(None)
    return cast("ast.Module", _joined(found))


@lru_cache(maxsize=2)
def _outcome(text: str, parse: Callable[[str], ast.Module]) -> _Part | Exception:
    """The parts of the tree, or the parser's error. Several readers ask for the same text."""
    try:
        return isolated(_parts, text, parse, seconds=SECONDS, what="Python's parser")
    except Exception as error:
        return error


def _parts(text: str, parse: Callable[[str], ast.Module]) -> _Part:
    tree = parse(text)
    count = sum(1 for _ in ast.walk(tree))
    if count > MOST_PARTS:
        raise _too_large("the text", count, MOST_PARTS)
    return _split(tree)


def _split(node: ast.AST) -> _Part:
    fields: list[tuple[str, object]] = [(name, getattr(node, name, None)) for name in _LISTS]
    lists = {name: cast("list[ast.AST]", value) for name, value in fields if isinstance(value, list)}
    for name in lists:
        setattr(node, name, [])
    count = sum(1 for _ in ast.walk(node))
    if count > MOST_PARTS_OF_A_STATEMENT:
        raise _too_large(f"the statement in line {getattr(node, 'lineno', 1)}", count, MOST_PARTS_OF_A_STATEMENT)
    return pickle.dumps(node, pickle.HIGHEST_PROTOCOL), tuple(
        (name, [_split(part) for part in value]) for name, value in lists.items()
    )


def _joined(part: _Part) -> ast.AST:
    data, lists = part
    node: ast.AST = pickle.loads(data)
    for name, parts in lists:
        setattr(node, name, [_joined(inner) for inner in parts])
    return node


def _too_large(what: str, count: int, most: int) -> TilewrightError:
    message = f"{what} has {count:,} names, numbers and operators"
    return TilewrightError(Refusal("too-large", message, expected=f"at most {most:,}"))


__all__ = ["LONG_CHARACTERS", "long_tree"]
