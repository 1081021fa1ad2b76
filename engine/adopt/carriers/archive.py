"""Zip archives: each file is a text with names of its own. As text, an archive is what the page sends: `data:application/zip;base64,…`.

Nothing is written, so the names of files are labels only. Sizes are counted while files are unpacked, whatever the archive says they are.
"""

from __future__ import annotations

import binascii
import zipfile
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO

from ...cancellation import checkpoint
from ...ir import Refusal
from ...script import MAX_CARRIER_BYTES, Note
from .content import CarrierError, Content, Piece, Segment, left_out, limited, lines_in, piece_of

WHAT = "an archive"
PREFIX = "data:application/zip;base64,"
MOST_FILES = 2_000
CHUNK = 1 << 16

Unwrap = Callable[[str], Content | None]


def is_archive(text: str) -> bool:
    """Whether a text is a zip archive in base64."""
    return text.startswith(PREFIX)


def archive_text(data: bytes) -> str | None:
    """Return the bytes of a zip archive as the text of a carrier; None for other bytes."""
    return PREFIX + b64encode(data).decode("ascii") if data.startswith((b"PK\x03\x04", b"PK\x05\x06")) else None


def packed(files: Mapping[str, bytes]) -> str:
    """Return files as the text of an archive."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return PREFIX + b64encode(stream.getvalue()).decode("ascii")


def read_archive(text: str, unwrap: Unwrap) -> Content:
    """Return the texts of an archive; `unwrap` reads a file that is a carrier. Raises CarrierError "bad-archive", "too-large"."""
    try:
        archive = zipfile.ZipFile(BytesIO(b64decode(text.strip()[len(PREFIX) :], validate=True)))
    except (zipfile.BadZipFile, binascii.Error, OSError, ValueError, NotImplementedError) as error:
        raise CarrierError(Refusal("bad-archive", f"the archive is damaged: {error}", expected="a zip file")) from error
    files = [info for info in archive.infolist() if not info.is_dir()]
    if len(files) > MOST_FILES:
        raise _too_large(f"{len(files)} files", f"at most {MOST_FILES} files")
    pieces: list[Piece] = []
    notes: list[Note] = []
    rest = MAX_CARRIER_BYTES
    for info in sorted(files, key=lambda info: info.filename):
        name = _shown(info.filename)
        data, why = _unpacked(archive, info, rest)
        rest -= len(data)
        if why:
            notes.append(left_out(f"the file {name!r}, {why},"))
            continue
        made, more = _pieces(data, name, unwrap)
        pieces += made
        notes += more
    return Content(WHAT, tuple(pieces), limited(notes))


def _too_large(found: str, expected: str) -> CarrierError:
    return CarrierError(Refusal("too-large", "the archive is too large", found=found, expected=expected,
                                fix=("an archive with fewer files",)))  # fmt: skip


def _shown(name: str) -> str:
    """The name of a file for people: it may have any character."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)[-120:]


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> tuple[bytes, str]:
    """The bytes of a file, or the reason to leave it out. Raises "too-large"."""
    if info.flag_bits & 1:
        return b"", "which is encrypted"
    data = bytearray()
    try:
        with archive.open(info) as file:
            while chunk := file.read(CHUNK):
                checkpoint()
                if b"\0" in chunk:
                    return bytes(data), "which is not text"
                data += chunk
                if len(data) > most:
                    raise _too_large(
                        f"more than {MAX_CARRIER_BYTES} bytes",
                        f"at most {MAX_CARRIER_BYTES} bytes of text in all its files",
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
        return bytes(data), "which is damaged or packed in another way"
    return bytes(data), ""


def _pieces(data: bytes, name: str, unwrap: Unwrap) -> tuple[Sequence[Piece], Sequence[Note]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return (), (left_out(f"the file {name!r}, which is not UTF-8 text,"),)
    carried = unwrap(text)
    if carried is None:
        return [piece_of([Segment("text", lines_in(text))], name)], ()
    made = [Piece(p.text, p.parts, p.origins, f"{name}: {p.name}" if p.name else name) for p in carried.pieces]
    return made, [Note(f"{name}: {note.text}", note.place, note.section) for note in carried.notes]


__all__ = ["PREFIX", "archive_text", "is_archive", "packed", "read_archive"]
