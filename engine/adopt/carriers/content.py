"""What a carrier contains: pieces of code and prose, each line with its place in the original file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace as replace_fields

from ...ir import Place, Refusal, TilewrightError
from ...script import Note, find_tree
from ..functions.needs import MissingValuesError
from ..posts import PostPart, fence_parts, split_post

_LINES = re.compile(r"\blines? (\d+)((?:(?:, | to |–)\d+)*)")
_NUMBER = re.compile(r"\d+")


class CarrierError(TilewrightError):
    """A carrier that cannot be read, or that has no code."""


class Origin(msgspec.Struct, frozen=True):
    """A line of the original file; `section` names the part of the file whose lines are counted, such as a cell."""

    section: str
    line: int

    def __str__(self) -> str:
        return f"{self.section}, line {self.line}" if self.section else f"line {self.line}"


class Segment(msgspec.Struct, frozen=True):
    """Lines of one kind. `code` is Python, `fence` is code in a `language` or what it prints, `text` may have both and prose. `numbers` are
    the lines of the original, by default they count from 1."""

    kind: Literal["prose", "code", "fence", "text"]
    lines: tuple[str, ...]
    section: str = ""
    numbers: tuple[int, ...] = ()
    language: str = ""

    def origins(self) -> Iterator[Origin]:
        """The origin of each line."""
        numbers = self.numbers or range(1, len(self.lines) + 1)
        return (Origin(self.section, number) for number in numbers)


class Piece(msgspec.Struct, frozen=True):
    """A text with names of its own, such as one file of an archive. `parts` have its lines, `origins` one place for each line. `trace` is
    the JSON of a schedule of its program."""

    text: str
    parts: tuple[PostPart, ...]
    origins: tuple[Origin, ...]
    name: str = ""
    trace: str = ""

    @property
    def code(self) -> str:
        """The lines of code; others are empty."""
        lines = [""] * len(self.origins)
        for part in self.parts:
            if part.kind == "code":
                lines[part.first - 1 : part.first - 1 + len(part.lines)] = part.lines
        return "\n".join(lines) + "\n"

    def origin(self, line: int) -> Origin:
        """The origin of a line of the text."""
        return self.origins[min(max(line, 1), len(self.origins)) - 1] if self.origins else Origin("", line)

    def note(self, note: Note) -> Note:
        """The note with its place in the original."""
        place, section = self._placed(note.place)
        return Note(self.words(note.text), place, section)

    def error(self, error: TilewrightError) -> TilewrightError:
        """The error with its place in the original."""
        refusal = error.bare_refusal
        message = self.words(refusal.message)
        if refusal.place is None:
            return _changed(error, replace_fields(refusal, message=message))
        place, section = self._placed(refusal.place)
        if section:
            place = replace_fields(place, file=", ".join(filter(None, (place.file, section))))
        return _changed(error, replace_fields(refusal, message=message, place=place))

    def _placed(self, place: Place) -> tuple[Place, str]:
        first, last = self.origin(place.line), self.origin(place.end_line)
        end = last.line if last.section == first.section else first.line
        return Place(first.line, place.column, max(end, first.line), place.end_column, place.file), first.section

    def words(self, text: str) -> str:
        """A message of a reader, in which "line 7" is a line of this text, with the lines of the original."""
        return _LINES.sub(lambda found: self._words(found[0]), text)

    def _words(self, found: str) -> str:
        numbers = [int(number) for number in _NUMBER.findall(found)]
        if not all(number <= len(self.origins) for number in numbers):
            return found
        origins = [self.origin(number) for number in numbers]
        if len({origin.section for origin in origins}) > 1:
            return ", ".join(map(str, origins))
        shown = iter(origins)
        said = _NUMBER.sub(lambda _: str(next(shown).line), found)
        return f"{origins[0].section}, {said}" if origins[0].section else said


class Content(msgspec.Struct, frozen=True):
    """What a carrier has: `what` names its kind ("a Jupyter notebook"), `notes` tell what is left out."""

    what: str
    pieces: tuple[Piece, ...]
    notes: tuple[Note, ...] = ()


def _changed(error: TilewrightError, refusal: Refusal) -> TilewrightError:
    made = type(error)(refusal)
    if isinstance(error, MissingValuesError) and isinstance(made, MissingValuesError):
        made.needs = error.needs
    made.__cause__ = error
    return made


def piece_of(segments: Iterable[Segment], name: str = "") -> Piece:
    """Return the segments as one text, with an empty line between two of them."""
    lines: list[str] = []
    origins: list[Origin] = []
    parts: list[PostPart] = []
    for segment in segments:
        if not any(line.strip() for line in segment.lines):
            continue
        if lines:
            lines.append("")
            origins.append(origins[-1])
        parts += _parts(segment, len(lines) + 1)
        lines += segment.lines
        origins += segment.origins()
    return Piece("\n".join(lines), tuple(parts), tuple(origins), name)


def _parts(segment: Segment, first: int) -> Sequence[PostPart]:
    match segment.kind:
        case "prose" | "code":
            return [PostPart(segment.kind, segment.lines, first)]
        case "fence":
            return list(fence_parts(segment.lines, first, segment.language))
        case "text":
            text = "\n".join(segment.lines)
            found = split_post(text, find_tree(text))
            return [replace_fields(part, first=part.first + first - 1) for part in found]


def lines_in(text: str) -> tuple[str, ...]:
    """The lines of a text, whatever ends them."""
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def left_out(text: str, line: int = 1, section: str = "") -> Note:
    """A note on something that is left out."""
    return Note(f"{text} is left out", Place(line, 1, line, 1), section)


MOST_NOTES = 40
"""Maximum number of things that are listed as left out."""


def limited(notes: Sequence[Note]) -> tuple[Note, ...]:
    """The notes, the last of many as their number."""
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    more = notes[MOST_NOTES - 1]
    return (
        *notes[: MOST_NOTES - 1],
        Note(f"{len(notes) - MOST_NOTES + 1} more are left out", more.place, more.section),
    )


__all__ = ["CarrierError", "Content", "Origin", "Piece", "Segment", "left_out", "limited", "lines_in", "piece_of"]
