"""Remarks of a reader about the text."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import msgspec

from ..ir import Place
from .reading.source import Source


class Note(msgspec.Struct, frozen=True):
    """A remark about text that is not in the program, or about an inferred property."""

    text: str
    place: Place


MAX_NOTES = 12
"""Maximum number of lines that are listed."""


def passed_notes(source: Source, passed: Mapping[ast.stmt, str]) -> tuple[Note, ...]:
    """Return notes on statements that were passed over: one for those that run or print, and one for each that could not be read."""
    found: list[Note] = []
    ran = sorted({source.place(node).line: node for node, why in passed.items() if not why}.items())
    if ran:
        lines = ", ".join(str(line) for line, _ in ran[:MAX_NOTES]) + (", …" if len(ran) > MAX_NOTES else "")
        text = f"this code builds, runs or prints, which is never done here; it is passed over (lines {lines})"
        found.append(Note(text, source.place(ran[0][1])))
    unread = sorted(((source.place(node), why) for node, why in passed.items() if why), key=lambda pair: pair[0].line)
    found += [Note(f"this code is passed over: {why}", place) for place, why in unread[:MAX_NOTES]]
    return tuple(found)


__all__ = ["Note", "passed_notes"]
