"""Budgets of the reader of Python text: steps, items and characters, so that no short text becomes a large computation."""

from __future__ import annotations

import ast

from ..errors import ParseError
from ..reading.source import Source
from .scope import Value

MAX_STEPS = 100_000
"""Maximum number of evaluated expressions and statements, also in calls."""
MAX_LOOP_STEPS = 20_000
"""Maximum number of steps in a loop that concerns no program."""
MAX_LOOPS = 10
"""Maximum number of such loops whose steps do not count."""
MAX_ITEMS = 4096
"""Maximum number of items in a list."""
MAX_TEXT = 10_000
"""Maximum length of a string that the text puts together."""
MAX_CALLS = 24
"""Maximum depth of calls."""


class Budget:
    """What is left for the reading of one text. All methods raise ParseError "too-large"."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.steps = 0
        self._given_back = 0
        self._sizes: dict[int, tuple[Value, int]] = {}  # by id: tuples, and the number of values in them at all levels

    def step(self, node: ast.AST) -> None:
        """Count a step of reading."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise self._error(
                node, "reading the text needs too many steps", f"{MAX_STEPS} expressions and statements, also in calls"
            )

    def give_back(self, first: int) -> None:
        """Give back the steps since `first`, of a loop that is passed over; those of a few loops."""
        if self._given_back < MAX_LOOPS:
            self._given_back += 1
            self.steps = first

    def require_items(self, count: int, node: ast.AST) -> None:
        if count > MAX_ITEMS:
            raise self._error(node, f"{count} items are too many", str(MAX_ITEMS))

    def require_text(self, length: int, node: ast.AST) -> None:
        if length > MAX_TEXT:
            raise self._error(node, "the string is too long", f"{MAX_TEXT} characters")

    def require_new(self, value: Value, node: ast.AST) -> None:
        """Require that a new list, dict or tuple has few items, and few values at all levels."""
        if isinstance(value, list | dict | tuple):
            self.require_items(len(value), node)
            if self._size(value) > MAX_STEPS:
                raise self._error(node, "the list has too many values in its lists", str(MAX_STEPS))

    def require_small(self, value: Value, node: ast.AST) -> None:
        """Require that a walk over a value and all values in it ends soon: lists may have got more items since they were made."""
        pending, count = [value], 0
        while pending:
            found = pending.pop()
            count += 1
            if isinstance(found, tuple | list):
                pending.extend(found)
            elif isinstance(found, dict):
                pending.extend(found.values())
            if count > MAX_STEPS:
                raise self._error(node, "the value has too many values in its lists", str(MAX_STEPS))

    def _size(self, value: Value) -> int:
        if not isinstance(value, tuple | list | dict):
            return 1
        known = self._sizes.get(id(value)) if isinstance(value, tuple) else None
        if known is not None:
            return known[1]
        total = 1
        for item in value.values() if isinstance(value, dict) else value:
            total += self._size(item) if total <= MAX_STEPS else 0
        if isinstance(value, tuple):
            self._sizes[id(value)] = (value, total)
        return total

    def _error(self, node: ast.AST, message: str, most: str) -> ParseError:
        return self.source.error(node, "too-large", message, expected=f"at most {most}")


__all__ = ["MAX_CALLS", "MAX_ITEMS", "MAX_LOOP_STEPS", "MAX_STEPS", "MAX_TEXT", "Budget"]
