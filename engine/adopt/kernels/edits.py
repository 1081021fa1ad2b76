"""Edits of a text: spans with their new text, everything else byte for byte as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from ...ir import TilewrightError

Located: TypeAlias = ast.stmt | ast.expr | ast.keyword


class KernelError(TilewrightError):
    """An edit of a kernel's text that is refused."""


class TextEdit(msgspec.Struct, frozen=True, order=True):
    """The characters from `first` up to `last` become `text`; an insertion if both are equal."""

    first: int
    last: int
    text: str


class TextSpans:
    """The positions of nodes of Python's syntax tree as characters of their text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def span(self, node: Located) -> tuple[int, int]:
        """The characters of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def of(self, node: Located) -> str:
        """The text of a node."""
        first, last = self.span(node)
        return self.text[first:last]

    def replaced(self, node: Located, text: str) -> TextEdit:
        return TextEdit(*self.span(node), text)

    def lines(self, first: int, last: int) -> tuple[int, int]:
        """The characters of the lines from `first` to `last`, counted from 1, with their endings."""
        return self._starts[first - 1], min(self._starts[last], len(self.text))

    def with_argument(self, call: ast.Call, text: str) -> TextEdit:
        """The edit that adds an argument at the end of a call."""
        given = [*call.args, *call.keywords]
        end = self.span(call)[1] - 1
        if not given:
            return TextEdit(end, end, text)
        last = max(self.span(argument)[1] for argument in given)
        return TextEdit(last, last, f", {text}")

    def _at(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        offset = column if text.isascii() else len(text.encode()[:column].decode())
        return self._starts[line - 1] + offset


def with_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with edits that do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.first] + edit.text + text[edit.last :]
    return text


__all__ = ["KernelError", "TextEdit", "TextSpans", "with_edits"]
