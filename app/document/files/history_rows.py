"""Rows of a history's tables: the texts of versions, and which version was made of which."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator

from ...limits import LIMITS

MOST_BACK = 200
"""Versions that undo and redo get back after a restart, in each direction."""


def digest_of(text: str) -> bytes:
    """The digest that identifies a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def parents(db: sqlite3.Connection, version: int) -> Iterator[int]:
    """The versions that undo leads to, the nearest first."""
    seen = {version}
    for _ in range(MOST_BACK):
        found = db.execute(
            "SELECT v.parent FROM versions v JOIN versions p ON p.id = v.parent WHERE v.id = ?", (version,)
        ).fetchone()
        if found is None or found[0] in seen:
            return
        version = found[0]
        seen.add(version)
        yield version


def children(db: sqlite3.Connection, version: int) -> Iterator[int]:
    """The versions that redo leads to, the nearest first."""
    seen = {version}
    for _ in range(MOST_BACK):
        found = db.execute("SELECT id FROM versions WHERE parent = ? ORDER BY id DESC LIMIT 1", (version,)).fetchone()
        if found is None or found[0] in seen:
            return
        version = found[0]
        seen.add(version)
        yield version


def texts(db: sqlite3.Connection, versions: Iterable[int]) -> Iterator[str]:
    """The texts of versions, up to the first one that cannot be read."""
    for version in versions:
        text = text_at(db, version)
        if text is None:
            return
        yield text


def digest_at(db: sqlite3.Connection, version: int) -> bytes | None:
    """The digest of a version; None where there is no such version."""
    found = db.execute("SELECT digest FROM versions WHERE id = ?", (version,)).fetchone()
    return None if found is None else found[0]


def text_at(db: sqlite3.Connection, version: int) -> str | None:
    """The text of a version; None where it is missing or does not have its digest."""
    found = db.execute("SELECT digest, text FROM versions WHERE id = ?", (version,)).fetchone()
    if found is None:
        return None
    digest, packed = found
    text = unpacked(packed)
    return text if text is not None and digest_of(text) == digest else None


def text_with(db: sqlite3.Connection, name: str, digest: bytes | None) -> str | None:
    """The newest text of a file with this digest."""
    rows = db.execute("SELECT id FROM versions WHERE file = ? AND digest = ? ORDER BY id DESC", (name, digest))
    found = rows.fetchone()
    return None if found is None else text_at(db, found[0])


def packed(text: str) -> bytes:
    """A text as it is stored."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpacked(data: bytes) -> str | None:
    """The text of stored bytes; None for bytes that are no such text, or hold more than a notebook may have."""
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(data, 2 * LIMITS.file_bytes)
        return None if unpacking.unconsumed_tail or not unpacking.eof else text.decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError, TypeError):
        return None


__all__ = [
    "MOST_BACK",
    "children",
    "digest_at",
    "digest_of",
    "packed",
    "parents",
    "text_at",
    "text_with",
    "texts",
    "unpacked",
]
