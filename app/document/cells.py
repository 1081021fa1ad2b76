"""The text of a notebook file as cells. Reading is lossless: the concatenated texts of the cells are the document's text.

The format is Python with percent cells, as VS Code, Jupytext, Spyder and PyCharm read it: a line `# %% title` opens a cell, and
`# %% [markdown]` opens a cell of prose in comments. Tilewright knows five titles: `machine`, `workload`, `intrinsic`, `schedule`
(text after a colon is a free description: `# %% schedule: stage the operands`) and `branch` (see `branches`). Other cells are kept
unchanged.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
from propcache.api import cached_property

CellKind = Literal["preamble", "markdown", "machine", "workload", "intrinsic", "schedule", "branch", "code"]

MARKER = re.compile(r"\ufeff?#[ \t]*%%+(?P<title>[^\r\n]*)")
_PERCENTS = re.compile(r"\\*[ \t]*%%")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_KINDS: dict[str, CellKind] = {
    "machine": "machine",
    "workload": "workload",
    "intrinsic": "intrinsic",
    "schedule": "schedule",
    "branch": "branch",
}


class Cell(msgspec.Struct, frozen=True):
    """A run of lines of the file. `first_line` (from 1) is the line of the marker; the preamble has no marker."""

    kind: CellKind
    text: str
    first_line: int

    @property
    def marker(self) -> str:
        """The marker line with its line ending; empty in the preamble."""
        found = None if self.kind == "preamble" else _LINE.match(self.text)
        return "" if found is None else found[0]

    @property
    def body(self) -> str:
        """The text after the marker line."""
        return self.text[len(self.marker) :]

    @property
    def body_line(self) -> int:
        """The line of the file where the body starts."""
        return self.first_line + (self.kind != "preamble")

    @property
    def title(self) -> str:
        """The marker's text after the percent signs, without a `[markdown]` tag."""
        found = MARKER.match(self.marker)
        return re.sub(r"\[\w+\]", "", found["title"]).strip() if found else ""

    @property
    def prose(self) -> str:
        """A markdown cell's text: its lines without comment signs, or the content of a single triple-quoted string."""
        text = self.body.strip()
        for quotes in ('"""', "'''"):
            if len(text) >= 6 and text.startswith(quotes) and text.endswith(quotes):
                return text[3:-3].strip("\r\n")
        lines = (re.sub(r"^#[ \t]?", "", line.rstrip("\r\n")) for line in lines_of(text))
        return "\n".join(line[1:] if line.startswith("\\") and _PERCENTS.match(line) else line for line in lines)

    @staticmethod
    def comments_of(prose: str) -> list[str]:
        """The prose as comment lines. A line that begins with percent signs would open a cell, so it is escaped with a backslash."""
        marks = ("# \\" if _PERCENTS.match(line) else "# " for line in prose.split("\n"))
        return [(mark + line).rstrip() for mark, line in zip(marks, prose.split("\n"), strict=True)]


class Document(msgspec.Struct, frozen=True, dict=True):
    """A notebook file's text in cells. `path` is the path of that file, for messages and for relative paths."""

    cells: tuple[Cell, ...]
    path: str | None = None

    @cached_property
    def text(self) -> str:
        """The full text of the file, unchanged."""
        return "".join(cell.text for cell in self.cells)

    @property
    def newline(self) -> str:
        """The first line ending in the file; a line feed for a text without one."""
        found = re.search(r"\r\n|\r|\n", self.text)
        return found[0] if found else "\n"

    def of_kind(self, kind: CellKind) -> tuple[Cell, ...]:
        """The cells of a kind, in order."""
        return tuple(cell for cell in self.cells if cell.kind == kind)


def read_document(text: str, path: str | None = None) -> Document:
    """The cells of `text`. Every text is a document: a text without markers is a single preamble."""
    cells: list[Cell] = []
    kind: CellKind = "preamble"
    held: list[str] = []
    first = line_number = 1
    for line in lines_of(text):
        marker = MARKER.match(line)
        if marker is not None:
            if held:
                cells.append(Cell(kind, "".join(held), first))
            kind, held, first = _kind_of(marker["title"]), [], line_number
        held.append(line)
        line_number += 1
    if held:
        cells.append(Cell(kind, "".join(held), first))
    return Document(tuple(cells), path)


def _kind_of(title: str) -> CellKind:
    if re.search(r"\[(markdown|md)\]", title):
        return "markdown"
    word = re.match(r"\s*(\w+)", title)
    return _KINDS.get(word[1].lower(), "code") if word else "code"


def lines_of(text: str) -> list[str]:
    """The lines with their endings, as Python's parser counts them (`str.splitlines` also breaks at form feeds and the like)."""
    if "\r" in text:
        return _LINE.findall(text)
    *ended, rest = text.split("\n")
    return [*(line + "\n" for line in ended), *([rest] if rest else [])]
