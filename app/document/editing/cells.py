"""Edits of whole cells, from text to text: insert, delete, move, and replace prose. Every other cell stays byte-identical."""

from __future__ import annotations

import re

from ....engine.ir import Refusal
from ..cells import MARKER, Cell, CellKind, Document, read_document
from ..files.merging import alike
from ..files.read_write import DocumentError
from ..workload import program_names
from .apply import replace_cell

_BEFORE_SCHEDULE = ("machine", "workload", "intrinsic")
"""Cells whose names the schedule uses; they must precede it, since Python executes from top to bottom."""

_ONLY_ONE = ("machine", "workload")

_MARKERS: dict[CellKind, str] = {
    "markdown": "# %% [markdown]",
    "machine": "# %% machine",
    "workload": "# %% workload",
    "intrinsic": "# %% intrinsic",
    "schedule": "# %% schedule",
    "code": "# %%",
}


def insert_cell(document: Document, index: int, kind: CellKind) -> Document:
    """The document with a new cell of `kind` before cell `index` (at the end for the number of cells).
    Raises DocumentError "second-cell", "bad-cell-order", "no-such-cell".
    """
    if kind not in _MARKERS:
        raise DocumentError(Refusal("bad-cell", f"there is no cell of kind {kind!r}", expected=", ".join(_MARKERS)))
    if not 0 <= index <= len(document.cells):
        raise _no_cell(index, document)
    if kind in _ONLY_ONE and document.of_kind(kind):
        raise DocumentError(
            Refusal("second-cell", f"the notebook already has a {kind} cell", expected=f"one {kind} cell")
        )
    if index == 0 and document.cells and document.cells[0].kind == "preamble":
        index = 1
    newline = document.newline
    text = f"{_MARKERS[kind]}{newline}{_start_of(document, kind, index)}{newline}"
    above, below = document.cells[:index], document.cells[index:]
    head = "".join(cell.text for cell in above)
    gap = "" if not head or re.search(r"(\r\n|\n|\r)[ \t]*(\r\n|\n|\r)$", head) else newline
    gap = gap if not head or head.endswith(("\n", "\r")) else gap + newline
    made = read_document(head + gap + text + "".join(cell.text for cell in below), document.path)
    return _in_order(made)


def _start_of(document: Document, kind: CellKind, index: int) -> str:
    newline = document.newline
    if kind == "machine":
        return f'import tilewright{newline}{newline}machine = tilewright.machine("dual-bank-npu"){newline}'
    names = program_names(document)
    if kind == "schedule" and names and not any(c.kind == "schedule" for c in document.cells[:index]):
        return "" if document.of_kind("schedule") else f"sch = tilewright.Schedule({names[-1]}){newline}"
    return ""


def delete_cell(document: Document, index: int) -> Document:
    """The document without a cell, its marker included. Raises DocumentError "no-such-cell"."""
    cell = cell_at(document, index)
    return read_document("".join(c.text for c in document.cells if c is not cell), document.path)


def move_cell(document: Document, index: int, to: int) -> Document:
    """The document with cell `index` moved to position `to`. Raises DocumentError "no-such-cell", and "bad-cell-order" if the schedule
    would precede a cell whose names it uses."""
    cell, other = cell_at(document, index), cell_at(document, to)
    if "preamble" in (cell.kind, other.kind):
        raise DocumentError(
            Refusal("bad-cell-order", "the text before the first marker cannot be moved", expected="another cell")
        )
    cells = [c for c in document.cells if c is not cell]
    cells.insert(to, cell)
    texts = [c.text if c.text.endswith(("\n", "\r")) else c.text + document.newline for c in cells]
    return _in_order(read_document("".join(texts), document.path))


def with_prose(document: Document, index: int, prose: str) -> Document:
    """The document with the prose of a markdown cell replaced, as comments or inside the cell's triple quotes."""
    cell = cell_at(document, index)
    prose = prose.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if cell.kind != "markdown" or prose == cell.prose.strip("\n"):
        return document
    body = re.sub("\r\n?", "\n", cell.body)
    lead = body[: len(body) - len(body.lstrip("\r\n"))] if body.strip() else ""
    tail = body[len(body.rstrip()) :] or "\n"
    quotes = next((q for q in ('"""', "'''") if body.strip().startswith(q) and len(body.strip()) >= 6), None)
    if (
        quotes is not None
        and quotes not in prose
        and "\\" not in prose
        and not any(map(MARKER.match, prose.split("\n")))
    ):
        text = f"{quotes}\n{prose}\n{quotes}"
    else:
        text = "\n".join(_comments(cell, body.strip(), prose))
    return replace_cell(document, cell, lead + text + tail)


def _comments(cell: Cell, body: str, prose: str) -> list[str]:
    """The prose as comments; unchanged lines keep their original text."""
    made, written, words = cell.comments_of(prose), body.split("\n"), cell.prose.split("\n")
    if body and len(written) == len(words):
        for old, new, length in alike(words, prose.split("\n")):
            made[new : new + length] = written[old : old + length]
    return made


def cell_at(document: Document, index: int) -> Cell:
    """The cell at `index`. Raises DocumentError "no-such-cell"."""
    if not 0 <= index < len(document.cells):
        raise _no_cell(index, document)
    return document.cells[index]


def _no_cell(index: int, document: Document) -> DocumentError:
    return DocumentError(
        Refusal(
            "no-such-cell",
            f"the notebook has no cell {index}",
            expected=f"0 to {len(document.cells) - 1}" if document.cells else "no cells yet",
        )
    )


def _in_order(document: Document) -> Document:
    """The document, after a check that every cell that the schedule uses precedes it."""
    first = next((n for n, cell in enumerate(document.cells) if cell.kind == "schedule"), None)
    late = [c for c in document.cells[first or 0 :] if c.kind in _BEFORE_SCHEDULE] if first is not None else []
    if late:
        raise DocumentError(
            Refusal(
                "bad-cell-order",
                f"the {late[0].kind} cell would follow the schedule that uses it; Python executes from top to bottom",
                expected=f"{', '.join(_BEFORE_SCHEDULE)} cells above the schedule",
            )
        )
    return document


__all__ = ["cell_at", "delete_cell", "insert_cell", "move_cell", "with_prose"]
