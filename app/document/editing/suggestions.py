"""Spelling suggestions: the known name closest to an unknown name, as a text replacement."""

from __future__ import annotations

import difflib
import re

import msgspec

from ....engine.adopt import QUERIES
from ....engine.hwsim import preset_names
from ....engine.ir import Place, TilewrightError
from ....engine.schedule import PRIMITIVES
from ..cells import Document, lines_of, read_document
from ..notebook import Notebook


class TextSuggestion(msgspec.Struct, frozen=True):
    """A replacement of the text at `place` by `new`."""

    place: Place
    new: str


def culprit(notebook: Notebook, error: TilewrightError) -> Place | None:
    """The place of an error in the file, narrowed to the unknown name if the line contains it."""
    place = error.refusal.place
    if place is None:
        return None
    name = _unknown(error)
    lines = lines_of(notebook.document.text)
    for number in range(place.line, min(place.end_line, len(lines)) + 1) if name else ():
        start = place.column - 1 if number == place.line else 0
        found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(lines[number - 1], start)
        if found is not None:
            return Place(number, found.start() + 1, number, found.end() + 1, place.file)
    return place


def suggestion(notebook: Notebook, error: TilewrightError) -> TextSuggestion | None:
    """The closest known name, if the error is an unknown name."""
    name, place = _unknown(error), culprit(notebook, error)
    if not name or place is None or place.line != place.end_line or place.end_column - place.column != len(name):
        return None
    known = {
        "unknown-method": sorted({*PRIMITIVES, *QUERIES}),
        "unknown-name": list(notebook.names),
    }.get(error.code, list(preset_names()))
    near = difflib.get_close_matches(name, known, 1, 0.6)
    return TextSuggestion(place, near[0]) if near else None


def with_suggestion(document: Document, made: TextSuggestion) -> Document:
    """The document with the suggestion applied."""
    lines = lines_of(document.text)
    line = lines[made.place.line - 1]
    lines[made.place.line - 1] = line[: made.place.column - 1] + made.new + line[made.place.end_column - 1 :]
    return read_document("".join(lines), document.path)


def _unknown(error: TilewrightError) -> str:
    """The unknown name of an error; empty for other errors."""
    if error.code not in ("unknown-method", "unknown-name", "unknown-machine", "no-such-machine"):
        return ""
    found = re.search(r"'([^']+)'", error.refusal.message)
    return found[1] if found else error.refusal.found.strip("'\"")


__all__ = ["TextSuggestion", "culprit", "suggestion", "with_suggestion"]
