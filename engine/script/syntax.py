"""Python's parser, for untrusted texts."""

from __future__ import annotations

import ast
import gc
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from ..cancellation import checkpoint
from ..ir import TilewrightError
from .long_texts import LONG_CHARACTERS, long_tree


def python_tree(text: str) -> ast.Module:
    """Return the syntax tree, without Python's warnings about odd escapes and the like. Raises as `ast.parse`; for a long text that takes
    too much also OverBudgetError and TilewrightError "too-large"."""
    checkpoint()
    return _tree_here(text) if len(text) <= LONG_CHARACTERS else long_tree(text, _tree_here)


def _tree_here(text: str) -> ast.Module:
    with warnings.catch_warnings(), collection_paused():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def find_tree(text: str) -> ast.Module | None:
    """Return the syntax tree; None for a text that is not Python, or that Python cannot parse."""
    try:
        return python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TilewrightError):
        return None


_NAMES = {"ctx", "op", "ops", "id", "attr", "arg", "name", "names", "kind", "type_comment", "type_ignores"}
"""Fields without nodes; those of operators and contexts, which have no place, are left out too."""

_CHILD_FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = {
    kind: () if kind is ast.Constant else tuple(field for field in kind._fields if field not in _NAMES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node that have a place, in field order."""
    found: list[ast.AST] = []
    for field in _CHILD_FIELDS[type(node)]:
        value = getattr(node, field)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in cast("list[object]", value) if isinstance(item, ast.AST)]
    return found


@contextmanager
def collection_paused() -> Generator[None]:
    """Pause garbage collection while a tree and a program are built: all of their nodes live, and the collector would visit them again and
    again, for half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
