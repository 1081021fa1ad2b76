"""Remarks of a reader about the text."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import msgspec

from ..ir import Place
from .reading.source import Source


class Note(msgspec.Struct, frozen=True):
    """A remark about text that is not in the program, or about an inferred property. `section` names the part of the file whose lines
    its place counts, such as a cell; "": the file."""

    text: str
    place: Place
    section: str = ""

    @property
    def where(self) -> str:
        """The line for people."""
        return f"{self.section}, line {self.place.line}" if self.section else f"line {self.place.line}"


MAX_NOTES = 12
"""Maximum number of lines that are listed."""


def passed_notes(source: Source, passed: Mapping[ast.stmt, str]) -> tuple[Note, ...]:
    """Return a note on each statement that was passed over: it runs or prints, or could not be read."""
    ran = {source.place(node).line: node for node, why in passed.items() if not why}
    texts = {
        line: f"this code builds, runs or prints and is passed over: {source.text(node)}" for line, node in ran.items()
    }
    found = [Note(texts[line], source.place(ran[line])) for line in sorted(ran)]
    unread = sorted(((source.place(node), why) for node, why in passed.items() if why), key=lambda pair: pair[0].line)
    return (*_first(found), *_first([Note(f"this code is passed over: {why}", place) for place, why in unread]))


def _first(notes: Sequence[Note]) -> Sequence[Note]:
    """The first notes, the last of which tells how many more there are."""
    if len(notes) <= MAX_NOTES:
        return notes
    more = Note(f"{len(notes) - MAX_NOTES + 1} more parts of the code are passed over", notes[MAX_NOTES - 1].place)
    return [*notes[: MAX_NOTES - 1], more]


__all__ = ["Note", "passed_notes"]
