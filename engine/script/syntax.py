"""Python's parser, for texts that are not ours."""

from __future__ import annotations

import ast
import warnings


def python_tree(text: str) -> ast.Module:
    """The syntax tree, without Python's warnings of odd escapes and the like. Raises as `ast.parse`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def find_tree(text: str) -> ast.Module | None:
    """The syntax tree; None for a text that is not Python, or that Python cannot read."""
    try:
        return python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
