"""Text that remembers where each node was written, and names that are valid and unambiguous where they stand."""

from __future__ import annotations

import json
import keyword
import re
from contextlib import AbstractContextManager

from ...ir import Node, Place
from ..reading.source import Positions, PositionTable

INDENT = 4
_RESERVED = frozenset({"T", "I", "range", "tvm", *keyword.kwlist})

Start = tuple[int, int]


class Writer:
    """Pieces of text appended one after the other; lines and columns count from 1."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: list[str] = []  # of the line that is being written
        self._column = 1
        self._margin = 0
        self._table = PositionTable()

    def write(self, text: str) -> None:
        """Append `text`, which has no line break; the first piece of a line is indented."""
        if not self._pieces and self._margin:
            self._pieces.append(" " * self._margin)
            self._column += self._margin
        self._pieces.append(text)
        self._column += len(text)

    def line(self, text: str = "") -> None:
        """`text`, and the end of the line."""
        if text:
            self.write(text)
        self._lines.append("".join(self._pieces))
        self._pieces = []
        self._column = 1

    def indented(self, wanted: bool = True) -> AbstractContextManager[None]:
        """Lines inside begin one step further in; not when it is not `wanted`."""
        return _Indented(self, INDENT * wanted)

    def shift(self, columns: int) -> None:
        """Move the margin of the lines to come."""
        self._margin += columns

    def here(self) -> Start:
        """Where the next piece will stand."""
        return len(self._lines) + 1, self._column if self._pieces else self._column + self._margin

    def mark(self, node: Node, start: Start) -> None:
        """`node` stands from `start` to here."""
        self._table.add(node, Place(*start, len(self._lines) + 1, self._column))

    def text(self) -> str:
        return "\n".join([*self._lines, "".join(self._pieces)])

    def positions(self) -> Positions:
        return self._table.freeze()


class _Indented(AbstractContextManager[None]):
    """A class, since a generator costs a tenth of a print."""

    def __init__(self, out: Writer, columns: int) -> None:
        self._out, self._columns = out, columns

    def __enter__(self) -> None:
        self._out.shift(self._columns)

    def __exit__(self, *_: object) -> None:
        self._out.shift(-self._columns)


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

    def nested(self) -> AbstractContextManager[None]:
        """What is named inside is free again after it."""
        return _Nest(self)

    def depth(self) -> int:
        """How many names are in use."""
        return len(self._open)

    def free(self, depth: int) -> None:
        """Let go of the names given since there were `depth`."""
        self._taken.difference_update(self._open[depth:])
        del self._open[depth:]


class _Nest(AbstractContextManager[None]):
    def __init__(self, names: Names) -> None:
        self._names, self._depth = names, names.depth()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._names.free(self._depth)


def identifier(name: str) -> str:
    """`name` with what Python does not allow replaced by `_`."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII) or "v"
    return f"_{found}" if found[0].isdigit() else found


def quoted(text: str) -> str:
    """A string literal."""
    return json.dumps(text, ensure_ascii=False)
