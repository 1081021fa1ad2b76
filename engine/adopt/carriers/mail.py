"""E-mail as programs save it (`.eml`, one message of a mailbox, `.mhtml`): the text of the message, and attached programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from email import message_from_string
from email.message import EmailMessage
from email.policy import default
from typing import cast

from ...ir import TilewrightError
from ...script import Note
from .content import Content, Piece, Segment, left_out, limited, lines_in, piece_of

WHAT = "an e-mail"
MOST_PARTS = 200

_KNOWN = re.compile(
    "from|to|cc|date|subject|message-id|mime-version|content-type|received|return-path|delivered-to|reply-to|sender|in-reply-to|references"
    "|content-transfer-encoding|list-id|x-mailer|user-agent"
)
_HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]*):(?=[ \t]|$)")
_PROGRAM_NAME = re.compile(r"\.(?:py|ipynb|txt|tir|patch|diff|md|json)$", re.I)

Unwrap = Callable[[str], Content | None]


def is_mail(text: str) -> bool:
    """Whether a text begins with headers of an e-mail, two of them known ones."""
    lines = text.split("\n", 60)
    names: list[str] = []
    for number, line in enumerate(lines[:60]):
        found = _HEADER.match(line)
        if found is not None:
            names.append(found["name"].lower())
        elif not line.strip():
            break
        elif not (line[0] in " \t" and names) and not (number == 0 and line.startswith("From ")):
            return False
    known = [name for name in names if _KNOWN.fullmatch(name)]
    return (
        len(known) >= 2 and bool({"from", "subject", "mime-version"} & {*known}) and 2 * len(known) >= len(names) // 2
    )


def read_mail(text: str, unwrap: Unwrap) -> Content:
    """Return the texts of an e-mail; `unwrap` reads what it carries itself, such as a page or a patch."""
    message = message_from_string(text.replace("\r\n", "\n").lstrip(), policy=default)
    reader = _Reader(text.replace("\r\n", "\n"), unwrap)
    for number, part in enumerate(_leaves(message)):
        if number >= MOST_PARTS:
            reader.notes.append(left_out(f"everything after {MOST_PARTS} parts"))
            break
        reader.part(part)
    subject = " ".join(str(message.get("subject", "")).split())[:200]
    title = [Segment("prose", (f"# {subject}",))] if subject else []
    body = [piece_of([*title, *reader.segments])] if reader.segments else []
    return Content(WHAT, (*body, *reader.pieces), limited(reader.notes))


def _leaves(message: EmailMessage) -> Iterator[EmailMessage]:
    """The parts of a message that have content; of alternatives the plain text, else the page."""
    if not message.is_multipart():
        yield message
        return
    parts = cast("Sequence[EmailMessage]", message.get_payload())
    if message.get_content_subtype() == "alternative":
        order = ("text/plain", "text/html")
        parts = sorted(
            parts, key=lambda part: order.index(part.get_content_type()) if part.get_content_type() in order else 1
        )[:1]
    for part in parts:
        yield from _leaves(part)


class _Reader:
    """Collects the texts of the parts of a message."""

    def __init__(self, text: str, unwrap: Unwrap) -> None:
        self.original, self.unwrap = text, unwrap
        self.after = 0  # the position in the original after the part before
        self.segments: list[Segment] = []
        self.pieces: list[Piece] = []
        self.notes: list[Note] = []

    def part(self, part: EmailMessage) -> None:
        """Take the text of a part; an image and the like are noted."""
        name = str(part.get_filename() or "")[:80]
        kind = part.get_content_type()
        line, raw = self._found(part)
        if part.get_content_maintype() != "text" and not _PROGRAM_NAME.search(name):
            self.notes.append(left_out(f"the attachment {name!r} ({kind})" if name else f"a part of kind {kind}", line))
            return
        content = _text_of(part)
        section, numbers = self._lines(part, raw, line, name)
        carried = self.unwrap(content)
        if carried is not None:
            self._carried(carried, section, numbers, name)
            return
        segment = Segment("text", lines_in(content), section, numbers)
        if part.get_content_disposition() == "attachment":
            self.pieces.append(piece_of([segment], name))
        else:
            self.segments.append(_flowed(segment) if part.get_param("format") == "flowed" else segment)

    def _carried(self, carried: Content, section: str, numbers: tuple[int, ...], name: str) -> None:
        """Take what a part carries, with the lines of the e-mail if they are those of the part."""

        def line_of(line: int) -> int:
            return numbers[line - 1] if not section and line <= len(numbers) else line

        for piece in carried.pieces:
            origins = tuple(
                type(o)(", ".join(filter(None, (section, o.section))), o.line if o.section else line_of(o.line))
                for o in piece.origins
            )
            self.pieces.append(Piece(piece.text, piece.parts, origins, piece.name or name))
        self.notes += carried.notes

    def _found(self, part: EmailMessage) -> tuple[int, str]:
        """The line of the original at which the encoded text of a part begins, and this text."""
        payload = part.get_payload()
        raw = payload if isinstance(payload, str) else ""
        at = self.original.find(raw, self.after) if raw else -1
        if at < 0:
            return 1, raw
        self.after = at + len(raw)
        return self.original.count("\n", 0, at) + 1, raw

    def _lines(self, part: EmailMessage, raw: str, first: int, name: str) -> tuple[str, tuple[int, ...]]:
        """The section that counts the lines of a part, and the number of each: those of the e-mail, unless the part is in base64."""
        encoding = str(part.get("content-transfer-encoding", "")).lower()
        if encoding == "base64":
            return name or "the decoded text", ()
        lines = lines_in(raw)
        if encoding == "quoted-printable":
            joined = [False, *(line.rstrip(" \t").endswith("=") for line in lines[:-1])]
            return "", tuple(first + n for n in range(len(lines)) if not joined[n])
        return "", tuple(range(first, first + len(lines)))


def _text_of(part: EmailMessage) -> str:
    """The decoded text of a part."""
    try:
        content = part.get_content()
    except (LookupError, ValueError, UnicodeError, TilewrightError):
        content = part.get_payload(decode=True)
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    return content if isinstance(content, str) else ""


def _flowed(segment: Segment) -> Segment:
    """The lines of a text whose long lines are broken after a space (RFC 3676)."""
    lines: list[str] = []
    numbers: list[int] = []
    is_open = False
    for line, origin in zip(segment.lines, segment.origins(), strict=False):
        bare = line.removeprefix(" ")
        if is_open:
            lines[-1] += bare
        else:
            lines.append(bare)
            numbers.append(origin.line)
        is_open = line.endswith(" ") and line != "-- "
    return Segment(segment.kind, tuple(lines), segment.section, tuple(numbers))


__all__ = ["is_mail", "read_mail"]
