"""Text output that records the place of each node, and unambiguous, valid names for each scope."""

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
    """Text assembled from pieces; lines and columns count from 1."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: list[str] = []  # pieces of the current line
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
        """Append `text` and end the line."""
        if text:
            self.write(text)
        self._lines.append("".join(self._pieces))
        self._pieces = []
        self._column = 1

    def indented(self, wanted: bool = True) -> AbstractContextManager[None]:
        """Indent the lines inside by one step if `wanted`."""
        return _Indented(self, INDENT * wanted)

    def shift(self, columns: int) -> None:
        """Move the margin of the following lines."""
        self._margin += columns

    def here(self) -> Start:
        """Return the position of the next piece."""
        return len(self._lines) + 1, self._column if self._pieces else self._column + self._margin

    def mark(self, node: Node, start: Start) -> None:
        """Record the place of `node`, from `start` to the current position."""
        self._table.add(node, Place(*start, len(self._lines) + 1, self._column))

    def text(self) -> str:
        return "\n".join([*self._lines, "".join(self._pieces)])

    def positions(self) -> Positions:
        return self._table.freeze()


class _Indented(AbstractContextManager[None]):
    """A context manager as a class, because a generator costs a tenth of a print."""

    def __init__(self, out: Writer, columns: int) -> None:
        self._out, self._columns = out, columns

    def __enter__(self) -> None:
        self._out.shift(self._columns)

    def __exit__(self, *_: object) -> None:
        self._out.shift(-self._columns)


class Names:
    """Names of variables and buffers, unique within a nest; the names of a nest are free after it."""

    def __init__(self, *, prefer_written: bool = False) -> None:
        self._of: dict[Node, str] = {}
        self._used: set[str] = set()
        self._open: list[str] = []
        self._prefer_written = prefer_written

    def define(self, node: Node, wanted: str) -> str:
        """Define a unique name for `node` based on `wanted`."""
        base = identifier(wanted)
        name, number = base, 0
        while name in self._used or name in _RESERVED:
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        self._open.append(name)
        self._of[node] = name
        return name

    def of(self, node: Node) -> str:
        """Return the name of `node`. An undefined node gets a name now; with `prefer_written`, its own name unchanged."""
        if node not in self._of:
            wanted = str(getattr(node, "name", ""))
            if self._prefer_written:
                return identifier(wanted)
            return self.define(node, wanted)
        return self._of[node]

    def alias(self, node: Node, text: str) -> None:
        """Write `node` as `text`, a part of an already named object: `A.elem_offset`."""
        self._of[node] = text

    def knows(self, node: Node) -> bool:
        return node in self._of

    def nested(self) -> AbstractContextManager[None]:
        """Open a nested scope; its names are free after it."""
        return _Nest(self)

    def depth(self) -> int:
        """Return the number of names in use."""
        return len(self._open)

    def free(self, depth: int) -> None:
        """Release the names defined since the count was `depth`."""
        self._used.difference_update(self._open[depth:])
        del self._open[depth:]


class _Nest(AbstractContextManager[None]):
    def __init__(self, names: Names) -> None:
        self._names, self._depth = names, names.depth()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._names.free(self._depth)


def identifier(name: str) -> str:
    """Return `name` with invalid characters replaced by `_`."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII) or "v"
    return f"_{found}" if found[0].isdigit() else found


def quoted(text: str) -> str:
    """Return a string literal."""
    return json.dumps(text, ensure_ascii=False)
