"""Unified diffs: the new side of each file that the diff shows completely."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha1

import msgspec

from ...ir import Place, Refusal
from ...script import Note, find_tree
from ..posts import has_fences
from .content import CarrierError, Content, Origin, Piece, Segment, left_out, limited, lines_in, piece_of

WHAT = "a diff"
CONTEXT = 3
"""Lines of context that `diff -u` and git show."""

_BEGINS = re.compile(r"(?:diff --git |diff -\w|Index: |--- \S|commit [0-9a-f]{7,40}|From [0-9a-f]{40} )")
_OLD = re.compile(r"--- (?P<name>[^\t\n]+)")
_NEW = re.compile(r"\+\+\+ (?P<name>[^\t\n]+)")
_INDEX = re.compile(r"index [0-9a-f]{7,64}\.\.(?P<new>[0-9a-f]{7,64})\b")
_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<removed>\d+))? \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")
_HUNKS = re.compile(r"^--- [^\n]+\n\+\+\+ [^\n]+\n@@ -\d", re.MULTILINE)
_PROGRAM = re.compile(r"\.(?:py|ipynb|txt|tir|md)$|(?:^|/)[^./]+$", re.IGNORECASE)


Unwrap = Callable[[str], Content | None]


class _Hunk(msgspec.Struct):
    """Consecutive lines of the new side: `first` is the number of the first, `numbers` are those in the diff. `before` and `after` count
    the lines of context at both ends; `is_last`: the file ends here for certain."""

    first: int
    lines: list[str]
    numbers: list[int]
    before: int = 0
    after: int = 0
    is_last: bool = False

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


class _File(msgspec.Struct):
    """The new side of a file: `line` is that of the diff, `digest` is git's, abbreviated; a file without an old side `is_new`."""

    name: str
    line: int
    is_new: bool
    digest: str
    hunks: list[_Hunk]


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff; text before it, as of a commit, is no post with a diff in fences and no Python."""
    if _HUNKS.search(text.replace("\r\n", "\n")) is None:
        return False
    return _BEGINS.match(text) is not None or not (has_fences(text) or find_tree(text) is not None)


def read_diff(text: str, unwrap: Unwrap) -> Content:
    """Return the files that a diff makes; `unwrap` reads a file that is a carrier. Raises CarrierError "bad-diff", and "partial-diff" if
    it shows only parts of each file."""
    files = [*_files(lines_in(text))]
    context = max([CONTEXT, *(max(hunk.before, hunk.after) for file in files for hunk in file.hunks)])
    pieces: list[Piece] = []
    notes: list[Note] = []
    wrong: Refusal | None = None
    for file in files:
        if not file.hunks or not _PROGRAM.search(file.name):
            notes.append(left_out(f"the file {file.name[:80]!r}", file.line))
            continue
        why = _missing(file, context)
        if why is None:
            made, more = _pieces(file, unwrap)
            pieces += made
            notes += more
        else:
            wrong = wrong or why
            notes.append(left_out(f"the file {file.name[:80]!r}, since {why.message}", file.line))
    if not pieces:
        raise CarrierError(
            wrong or Refusal("bad-diff", "the diff leaves no file of a program", expected="a file in Python")
        )
    return Content(WHAT, tuple(pieces), limited(notes))


def _pieces(file: _File, unwrap: Unwrap) -> tuple[Sequence[Piece], Sequence[Note]]:
    """The content of a file with the lines of the diff, or what it carries."""
    lines = tuple(line for hunk in file.hunks for line in hunk.lines)
    numbers = tuple(number for hunk in file.hunks for number in hunk.numbers)
    carried = unwrap("\n".join(lines))
    if carried is None:
        return [piece_of([Segment("text", lines, "", numbers)], file.name)], ()
    origin = {line: Origin("", number) for line, number in enumerate(numbers, 1)}
    made = [
        Piece(p.text, p.parts, tuple(o if o.section else origin.get(o.line, o) for o in p.origins), file.name)
        for p in carried.pieces
    ]
    return made, carried.notes


def _missing(file: _File, context: int) -> Refusal | None:
    """Why a file cannot be joined: the diff does not show all of its lines."""
    gaps: list[str] = []
    after = 0
    for hunk in file.hunks:
        if hunk.first > after + 1:
            gaps.append(f"{after + 1}–{hunk.first - 1}" if hunk.first - 1 > after + 1 else f"{after + 1}")
        after = max(after, hunk.last)
    last = file.hunks[-1]
    ends = file.is_new or last.is_last or last.after < context or _has_digest(file)
    if not gaps and ends:
        return None
    if not ends:
        gaps.append(f"{after + 1} and further")
    message = f"the diff shows only parts of {file.name}: lines {', '.join(gaps)} are missing"
    return Refusal("partial-diff", message, expected="a diff with all lines of the file, or the file itself",
                   fix=("git diff -U1000000", f"git show REVISION:{file.name}"), place=Place(file.line, 1, file.line, 1))  # fmt: skip


def _has_digest(file: _File) -> bool:
    """Whether the lines have git's digest of the new file, so that they are all."""
    if not file.digest:
        return False
    text = "\n".join(line for hunk in file.hunks for line in hunk.lines)
    data = (text if file.hunks[-1].is_last else text + "\n").encode("utf-8", "surrogatepass")
    found = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return found.startswith(file.digest)


def _files(lines: Sequence[str]) -> Iterator[_File]:
    """The files of a diff with their hunks. Raises "bad-diff" for a hunk whose lines do not agree with its head."""
    at, file, digest = 0, None, ""
    while at < len(lines):
        index = _INDEX.match(lines[at])
        digest = index["new"] if index is not None else digest
        old, new = _OLD.match(lines[at]), _NEW.match(lines[at + 1]) if at + 1 < len(lines) else None
        if old is not None and new is not None:
            if file is not None:
                yield file
            name = new["name"].strip()
            is_removed = name == "/dev/null"
            name = old["name"].strip() if is_removed else name
            file = _File(re.sub(r"^[abiwco]/", "", name), at + 1, old["name"].strip() == "/dev/null", digest, [])
            at, digest = at + 2, ""
            continue
        head = _HUNK.match(lines[at])
        if head is not None and file is not None:
            hunk, at = _hunk(lines, at, head)
            if hunk.lines:
                file.hunks.append(hunk)
            continue
        at += 1
    if file is not None:
        yield file


def _hunk(lines: Sequence[str], start: int, head: re.Match[str]) -> tuple[_Hunk, int]:
    """The hunk below its head, and the line after it."""
    removed, added = int(head["removed"] or 1), int(head["count"] or 1)
    hunk = _Hunk(int(head["first"]), [], [])
    at, changed = start + 1, False
    while at < len(lines) and (removed > 0 or added > 0):
        line = lines[at]
        sign = line[:1] or " "  # programs strip the space of an empty line
        if sign not in " +-\\":
            break
        at += 1
        if sign == "\\":
            hunk.is_last = lines[at - 2][:1] != "-"
            continue
        removed -= sign in " -"
        added -= sign in " +"
        if sign != "-":
            hunk.lines.append(line[1:])
            hunk.numbers.append(at)
        changed = changed or sign != " "
        hunk.before += not changed
        hunk.after = hunk.after + 1 if sign == " " and changed else 0
    if removed or added:
        place = Place(start + 1, 1, start + 1, 1)
        raise CarrierError(Refusal("bad-diff", "this part of the diff has more or fewer lines than its head says", found=head[0],
                                   expected="the diff as it was printed", place=place))  # fmt: skip
    if at < len(lines) and lines[at].startswith("\\"):
        hunk.is_last, at = lines[at - 1][:1] != "-", at + 1
    return hunk, at


__all__ = ["is_diff", "read_diff"]
