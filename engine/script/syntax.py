"""Python's parser, for untrusted texts."""

from __future__ import annotations

import ast
import warnings

from ..cancellation import checkpoint


def python_tree(text: str) -> ast.Module:
    """Return the syntax tree, without Python's warnings about odd escapes and the like. Raises as `ast.parse`."""
    checkpoint()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def find_tree(text: str) -> ast.Module | None:
    """Return the syntax tree; None for a text that is not Python, or that Python cannot parse."""
    try:
        return python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
