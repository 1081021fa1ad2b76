"""Queries on the tables of a history: the texts of versions, and the parents and children of versions."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator

from ...limits import LIMITS

MOST_BACK = 200
"""The maximum number of undo steps, and of redo steps, restored after a restart."""


def digest_of(text: str) -> bytes:
    """The digest that identifies a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def parents(db: sqlite3.Connection, version: int) -> Iterator[int]:
    """The versions that undo leads to, nearest first."""
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
    """The versions that redo leads to, nearest first."""
    seen = {version}
    for _ in range(MOST_BACK):
        found = db.execute("SELECT id FROM versions WHERE parent = ? ORDER BY id DESC LIMIT 1", (version,)).fetchone()
        if found is None or found[0] in seen:
            return
        version = found[0]
        seen.add(version)
        yield version


def texts(db: sqlite3.Connection, versions: Iterable[int]) -> Iterator[str]:
    """The texts of versions, up to the first unreadable one."""
    for version in versions:
        text = text_at(db, version)
        if text is None:
            return
        yield text


def digest_at(db: sqlite3.Connection, version: int) -> bytes | None:
    """The digest of a version; None if the version does not exist."""
    found = db.execute("SELECT digest FROM versions WHERE id = ?", (version,)).fetchone()
    return None if found is None else found[0]


def text_at(db: sqlite3.Connection, version: int) -> str | None:
    """The text of a version; None if it is missing or does not match its digest."""
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
    """The compressed bytes of a text, as stored."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpacked(data: bytes) -> str | None:
    """The text of stored bytes; None for invalid bytes, or a text larger than the limit of a notebook."""
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
