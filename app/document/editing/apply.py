"""Edits of the schedule cells, from text to text; unedited parts stay byte-identical.

Lines count from 0 after `sch = tilewright.Schedule(...)`, as `Notebook.steps` does.
"""

from __future__ import annotations

import re

from msgspec.structs import replace as replace_fields

from ....engine.ir import Place, Refusal
from ..calls import schedule_calls
from ..cells import Cell, Document, lines_of, read_document
from ..files.merging import alike
from ..files.read_write import DocumentError
from ..workload import program_names


def append_call(document: Document, line: str) -> Document:
    """The document with `line` (one or more whole lines) at the end of the last schedule cell, which is created if missing."""
    cells = document.of_kind("schedule")
    if not cells:
        return _with_schedule_cell(document, line)
    cell = cells[-1]
    lines = lines_of(cell.text)
    kept = len(lines)
    while kept > 1 and not lines[kept - 1].strip():
        kept -= 1
    added = whole_lines(line, document.newline)
    before = "".join(lines[:kept])
    if not before.endswith(("\n", "\r")):
        before += document.newline
        # A file without a final line ending stays without one.
        added = added.removesuffix(document.newline) if cell is document.cells[-1] else added
    return _with_cell_text(document, cell, before + added + "".join(lines[kept:]))


def without_last_call(document: Document) -> Document:
    """The document without the last line of the schedule."""
    return remove_call(document, len(schedule_calls(document)) - 2)


def replace_call(document: Document, n: int, line: str) -> Document:
    """The document with step `n` replaced by `line`; a trailing comment stays."""
    return _with_span(document, _place(document, n), whole_lines(line, document.newline).rstrip("\r\n"))


def insert_call(document: Document, n: int, line: str) -> Document:
    """The document with `line` before step `n`."""
    place = _place(document, n)
    return _with_span(
        document,
        replace_fields(place, end_line=place.line, end_column=place.column),
        whole_lines(line, document.newline),
    )


def remove_call(document: Document, n: int) -> Document:
    """The document without step `n`: its whole lines and a trailing comment, or only its part of a shared line."""
    place = _place(document, n)
    lines = lines_of(document.text)
    before, after = lines[place.line - 1][: place.column - 1], lines[place.end_line - 1][place.end_column - 1 :]
    if not before.strip() and (not after.strip() or after.lstrip().startswith("#")):
        return read_document("".join(lines[: place.line - 1] + lines[place.end_line :]), document.path)
    shared_after = re.match(r"[ \t]*;[ \t]*", after)
    if shared_after is not None:
        place = replace_fields(place, end_column=place.end_column + shared_after.end())
    else:
        shared_before = re.search(r"(?<![ \t])[ \t]*;[ \t]*$", before)
        assert shared_before is not None, "two statements on a line are parted by a semicolon"
        place = replace_fields(place, column=shared_before.start() + 1)
    return _with_span(document, place, "")


def replace_cell(document: Document, cell: Cell, body: str) -> Document:
    """The document with the text below the marker of `cell` replaced, for editors of whole cells.

    A text field has line feeds only. In a `body` without carriage returns, unchanged lines keep their endings; new lines get the
    document's.
    """
    if body and not body.endswith(("\n", "\r")) and cell is not document.cells[-1]:
        body += document.newline if "\r" in body else "\n"
    body = _with_endings(body, cell, document.newline)
    return _with_cell_text(document, cell, cell.marker + body)


def _with_endings(body: str, cell: Cell, newline: str) -> str:
    if "\r" in body or (newline == "\n" and "\r" not in cell.text):
        return body
    before = lines_of(cell.body)
    bare, typed = [line.rstrip("\r\n") for line in before], body.split("\n")
    ended = [line + newline for line in typed[:-1]] + typed[-1:]
    for old, new, length in alike(bare, typed[:-1]):
        ended[new : new + length] = [
            line if line.endswith(("\n", "\r")) else line + newline for line in before[old : old + length]
        ]
    return "".join(ended)


def _place(document: Document, n: int) -> Place:
    calls = schedule_calls(document)[1:]
    if not 0 <= n < len(calls):
        raise DocumentError(
            Refusal(
                "no-such-step",
                f"the schedule has no step {n}",
                expected=f"0 to {len(calls) - 1}" if calls else "no steps yet",
            )
        )
    return calls[n].place


def _with_span(document: Document, place: Place, new: str) -> Document:
    lines = lines_of(document.text)
    before = "".join(lines[: place.line - 1]) + lines[place.line - 1][: place.column - 1]
    after = lines[place.end_line - 1][place.end_column - 1 :] + "".join(lines[place.end_line :])
    return read_document(before + new + after, document.path)


def _with_cell_text(document: Document, cell: Cell, text: str) -> Document:
    return read_document("".join(text if c is cell else c.text for c in document.cells), document.path)


def _with_schedule_cell(document: Document, line: str) -> Document:
    names = program_names(document)
    if not names:
        raise DocumentError(
            Refusal("no-workload", "there is no program to schedule", expected="a cell `# %% workload`")
        )
    newline, text = document.newline, document.text
    gap = "" if not text else newline if text.endswith(newline) else newline * 2
    made = f"# %% schedule{newline}sch = tilewright.Schedule({names[-1]}){newline}"
    return read_document(text + gap + made + whole_lines(line, newline), document.path)


def whole_lines(line: str, newline: str) -> str:
    """The lines of `line`, each ended by `newline`, the last one too."""
    return newline.join(line.rstrip("\r\n").splitlines()) + newline
