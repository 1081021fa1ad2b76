"""What was done to the notebooks of a folder, beside them in `.tilewright/history.sqlite3`: each edit before the file itself is written.

It adds three things to files that are written atomically: undo goes on after a restart; an edit is safe in a few milliseconds, so that
writing the file can wait until a burst of edits is over; and where another program changed the file in between, the text that both
changes began with is known. SQLite keeps it whole whenever the process or the machine stops (write-ahead log, synced at each commit).

Versions are a tree, as edits are: undo goes to a version's parent, redo to its latest child.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ...engine.ir import Refusal
from .files import MAX_BYTES, DocumentError

FOLDER = ".tilewright"
FILE = "history.sqlite3"

MOST_VERSIONS = 1_000
"""Of one file; older ones are forgotten."""

MOST_BYTES = 16_000_000
"""Of one file's versions, compressed."""

MOST_BACK = 200
"""Versions that undo and redo get back after a restart, in each direction."""

_TABLES = """
CREATE TABLE IF NOT EXISTS versions (
  id INTEGER PRIMARY KEY, file TEXT NOT NULL, parent INTEGER, digest BLOB NOT NULL, text BLOB NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS of_file ON versions (file, id);
CREATE INDEX IF NOT EXISTS of_parent ON versions (parent, id);
CREATE TABLE IF NOT EXISTS made (source TEXT PRIMARY KEY, digest BLOB NOT NULL, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, here INTEGER NOT NULL, disk BLOB, next BLOB);
CREATE TABLE IF NOT EXISTS drafts (
  file TEXT NOT NULL, page TEXT NOT NULL, base BLOB NOT NULL, text BLOB NOT NULL, PRIMARY KEY (file, page));
"""


class Edit(msgspec.Struct, frozen=True):
    """One thing that was done: `text` is what came of it, `before` what it was done to. `way`: "edit", or where undo and redo went."""

    before: str
    text: str
    way: str = "edit"


class Draft(msgspec.Struct, frozen=True):
    """What was being typed on a page, and the text that it is typed into."""

    page: str
    base: str
    text: str


class Kept(msgspec.Struct, frozen=True):
    """What is known of a file: the text that was reached, and those that undo (its last one first) and redo (its first one first) go to.

    `disk` are digests of what the file holds if nobody else wrote it: more than one where the server ended while it wrote, none where there
    was no file. `base` is the text that the file was last known to hold.
    """

    text: str
    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()
    disk: tuple[bytes, ...] = ()
    base: str | None = None
    drafts: tuple[Draft, ...] = ()


class Version(msgspec.Struct, frozen=True):
    """A text that the file had, or was to have. `at` is when, in seconds since 1970; `parent` is the number of the one it was made of, 0
    where that is forgotten or there was none."""

    number: int
    parent: int
    at: float
    text: str


def digest_of(text: str) -> bytes:
    """By this a text is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class History:
    """The history of the notebooks in one folder. Not for two threads at once. Everything raises DocumentError "no-history" where the
    folder cannot be written to, or the disk is full; nothing is lost of what was recorded before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER
        self._connection: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        """Whether something was recorded here. Looking for it makes nothing."""
        return self._connection is not None or (self.folder / FILE).is_file()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Recording.

    def record(self, name: str, edits: Sequence[Edit], base: str | None) -> None:
        """The edits of file `name`, in order; when this returns they are on the disk.

        `base` is the file's text that they go on from: what it held when it was read or written last (None: it was not there).
        """
        with self._transaction() as db:
            here = self._here(db, name)
            for edit in edits:
                if here is None or _digest_at(db, here) != digest_of(edit.before):
                    here = self._add(db, name, here, edit.before)
                here = self._went(db, here, edit) or self._add(db, name, here, edit.text)
            if here is not None:
                row = (name, here, None if base is None else digest_of(base))
                db.execute("INSERT OR REPLACE INTO files (name, here, disk) VALUES (?, ?, ?)", row)
                self._forget(db, name, here)

    def writing(self, name: str, text: str) -> None:
        """The file is about to be written: from here on it holds the base or this text, until `record` says which."""
        with self._transaction() as db:
            db.execute("UPDATE files SET next = ? WHERE name = ?", (digest_of(text), name))

    def draft(self, name: str, draft: Draft) -> None:
        """What is being typed on a page; the last one counts. One with nothing in it that is new ends it."""
        with self._transaction() as db:
            if draft.text == draft.base:
                db.execute("DELETE FROM drafts WHERE file = ? AND page = ?", (name, draft.page))
            else:
                row = (name, draft.page, _packed(draft.base), _packed(draft.text))
                db.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?, ?)", row)

    def made(self, source: str, text: str, name: str) -> None:
        """Notebook `name` was made of file `source`, which holds `text`."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO made VALUES (?, ?, ?)", (source, digest_of(text), name))

    # Reading.

    def made_of(self, source: str, text: str) -> str | None:
        """The notebook that was made of a file, where that still holds the same text."""
        if not self.exists:
            return None
        with self._transaction(reading=True) as db:
            found = db.execute("SELECT digest, name FROM made WHERE source = ?", (source,)).fetchone()
            return found[1] if found is not None and found[0] == digest_of(text) else None

    def load(self, name: str) -> Kept | None:
        """What is known of file `name`; None where nothing is."""
        if not self.exists:
            return None
        with self._transaction(reading=True) as db:
            found = db.execute("SELECT here, disk, next FROM files WHERE name = ?", (name,)).fetchone()
            text = None if found is None else _text_at(db, found[0])
            if found is None or text is None:
                return None
            here, *digests = found
            rows = db.execute("SELECT page, base, text FROM drafts WHERE file = ? ORDER BY rowid", (name,)).fetchall()
            texts = [(page, _unpacked(base), _unpacked(typed)) for page, base, typed in rows]
            drafts = [Draft(p, base, typed) for p, base, typed in texts if base is not None and typed is not None]
            return Kept(
                text,
                tuple(reversed(list(_texts(db, _parents(db, here))))),
                tuple(_texts(db, _children(db, here))),
                tuple(digest for digest in digests if digest is not None),
                _text_of(db, name, digests[0]),
                tuple(drafts),
            )

    def versions(self, name: str, most: int = MOST_BACK) -> tuple[Version, ...]:
        """The last versions of file `name` that can be read, the newest first."""
        if not self.exists:
            return ()
        with self._transaction(reading=True) as db:
            rows = db.execute(
                "SELECT v.id, p.id, v.at FROM versions v LEFT JOIN versions p ON p.id = v.parent WHERE v.file = ? "
                "ORDER BY v.id DESC LIMIT ?",
                (name, most),
            ).fetchall()
            found = ((number, parent, at, _text_at(db, number)) for number, parent, at in rows)
            return tuple(
                Version(number, parent or 0, at, text) for number, parent, at, text in found if text is not None
            )

    # Inside.

    @contextmanager
    def _transaction(self, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
        try:
            db = self._connected()
            db.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            self.close()  # the next one begins anew
            if type(error) is sqlite3.DatabaseError:  # neither locked nor out of room: what is there is no history
                self._set_aside()
            raise DocumentError(Refusal("no-history", f"edits cannot be kept in {FOLDER}: {error}")) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self.folder.mkdir(exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# Made by Tilewright: the history of the notebooks in this folder.\n*\n")
            self._connection = _opened(self.folder / FILE)
        return self._connection

    def _set_aside(self) -> None:
        """A history that is none: kept for whoever wants to look at it, out of the way."""
        for end in ("", "-wal", "-shm"):
            path = self.folder / (FILE + end)
            if path.exists():
                os.replace(path, self.folder / f"broken-{int(time.time())}-{FILE}{end}")

    def _here(self, db: sqlite3.Connection, name: str) -> int | None:
        found = db.execute("SELECT here FROM files WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def _add(self, db: sqlite3.Connection, name: str, parent: int | None, text: str) -> int:
        made = db.execute(
            "INSERT INTO versions (file, parent, digest, text, at) VALUES (?, ?, ?, ?, ?)",
            (name, parent, digest_of(text), _packed(text), time.time()),
        )
        assert made.lastrowid is not None
        return made.lastrowid

    def _went(self, db: sqlite3.Connection, here: int, edit: Edit) -> int | None:
        """Where undo or redo lead, if it is where they led on the page."""
        around = {"undo": _parents, "redo": _children}.get(edit.way)
        there = None if around is None else next(around(db, here), None)
        return there if there is not None and _digest_at(db, there) == digest_of(edit.text) else None

    def _forget(self, db: sqlite3.Connection, name: str, here: int) -> None:
        """The oldest versions, so that a history does not grow for ever; never the one that the file is at."""
        rows = db.execute("SELECT id, length(text) FROM versions WHERE file = ? ORDER BY id DESC", (name,)).fetchall()
        size, old = 0, []
        for count, (version, length) in enumerate(rows):
            size += length
            if (count >= MOST_VERSIONS or size > MOST_BYTES) and version != here:
                old.append((version,))
        db.executemany("DELETE FROM versions WHERE id = ?", old)


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(_TABLES)
    except BaseException:
        db.close()
        raise
    return db


def _parents(db: sqlite3.Connection, version: int) -> Iterator[int]:
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


def _children(db: sqlite3.Connection, version: int) -> Iterator[int]:
    seen = {version}
    for _ in range(MOST_BACK):
        found = db.execute("SELECT id FROM versions WHERE parent = ? ORDER BY id DESC LIMIT 1", (version,)).fetchone()
        if found is None or found[0] in seen:
            return
        version = found[0]
        seen.add(version)
        yield version


def _texts(db: sqlite3.Connection, versions: Iterator[int]) -> Iterator[str]:
    """As far as they can be read."""
    for version in versions:
        text = _text_at(db, version)
        if text is None:
            return
        yield text


def _digest_at(db: sqlite3.Connection, version: int) -> bytes | None:
    found = db.execute("SELECT digest FROM versions WHERE id = ?", (version,)).fetchone()
    return None if found is None else found[0]


def _text_at(db: sqlite3.Connection, version: int) -> str | None:
    found = db.execute("SELECT digest, text FROM versions WHERE id = ?", (version,)).fetchone()
    if found is None:
        return None
    digest, packed = found
    text = _unpacked(packed)
    return text if text is not None and digest_of(text) == digest else None


def _text_of(db: sqlite3.Connection, name: str, digest: bytes | None) -> str | None:
    """The text of a file that has the digest."""
    rows = db.execute("SELECT id FROM versions WHERE file = ? AND digest = ? ORDER BY id DESC", (name, digest))
    found = rows.fetchone()
    return None if found is None else _text_at(db, found[0])


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def _unpacked(data: bytes) -> str | None:
    """None for what is no text of ours; what would unpack to more than a notebook may have is none."""
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(data, 2 * MAX_BYTES)
        return None if unpacking.unconsumed_tail or not unpacking.eof else text.decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError, TypeError):
        return None


__all__ = ["Draft", "Edit", "History", "Kept", "Version", "digest_of"]
