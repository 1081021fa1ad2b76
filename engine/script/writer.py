"""Text that remembers where each node was written, and names that are valid and unambiguous where they stand."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Generator
from contextlib import contextmanager

from ..ir import Node, Place
from .source import Positions, PositionTable

INDENT = 4
_RESERVED = frozenset({"T", "I", "range", "tvm", *keyword.kwlist})

Start = tuple[int, int]


class Writer:
    """Pieces of text appended one after the other; lines and columns count from 1."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = [[]]
        self._column = 1
        self._indent = 0
        self._table = PositionTable()

    def write(self, text: str) -> None:
        """Append `text`, which has no line break; the first piece of a line is indented."""
        if not self._lines[-1] and self._indent:
            self._lines[-1].append(" " * (INDENT * self._indent))
            self._column += INDENT * self._indent
        self._lines[-1].append(text)
        self._column += len(text)

    def line(self, text: str = "") -> None:
        """`text`, and the end of the line."""
        if text:
            self.write(text)
        self._lines.append([])
        self._column = 1

    @contextmanager
    def indented(self, wanted: bool = True) -> Generator[None]:
        """Lines inside begin one step further in; not when it is not `wanted`."""
        self._indent += wanted
        yield
        self._indent -= wanted

    def here(self) -> Start:
        """Where the next piece will stand."""
        indent = INDENT * self._indent if not self._lines[-1] else 0
        return len(self._lines), self._column + indent

    def mark(self, node: Node, start: Start) -> None:
        """`node` stands from `start` to here."""
        self._table.add(node, Place(*start, len(self._lines), self._column))

    def text(self) -> str:
        return "\n".join("".join(pieces) for pieces in self._lines)

    def positions(self) -> Positions:
        return self._table.freeze()


class Names:
    """The names of variables and buffers; within a nest no two are the same, and what a nest named is free again after it."""

    def __init__(self, *, prefer_written: bool = False) -> None:
        self._of: dict[Node, str] = {}
        self._taken: set[str] = set()
        self._open: list[str] = []
        self._prefer_written = prefer_written

    def define(self, node: Node, wanted: str) -> str:
        """A name for `node` like `wanted`."""
        base = identifier(wanted)
        name, number = base, 0
        while name in self._taken or name in _RESERVED:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._open.append(name)
        self._of[node] = name
        return name

    def of(self, node: Node) -> str:
        """The name of `node`. One that nothing defined gets one now; with `prefer_written`, just as it is called."""
        if node not in self._of:
            wanted = str(getattr(node, "name", ""))
            if self._prefer_written:
                return identifier(wanted)
            return self.define(node, wanted)
        return self._of[node]

    def alias(self, node: Node, text: str) -> None:
        """Let `node` be written as `text`, which names a part of something named already: `A.elem_offset`."""
        self._of[node] = text

    def knows(self, node: Node) -> bool:
        return node in self._of

    @contextmanager
    def nested(self) -> Generator[None]:
        depth = len(self._open)
        yield
        self._taken.difference_update(self._open[depth:])
        del self._open[depth:]


def identifier(name: str) -> str:
    """`name` with what Python does not allow replaced by `_`."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII) or "v"
    return f"_{found}" if found[0].isdigit() else found


def quoted(text: str) -> str:
    """A string literal."""
    return json.dumps(text, ensure_ascii=False)
