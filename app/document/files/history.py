"""What was done to the notebooks of a folder, in the user's private state folder: each edit before the file itself is written.

It adds three things to files that are written atomically: undo goes on after a restart; an edit is durable in a few milliseconds, so that
writing the file can wait until a burst of edits is over; and where another program changed the file in between, the text that both
changes began with is known. SQLite keeps it whole whenever the process or the machine stops (write-ahead log, synced at each commit).

Versions are a tree, as edits are: undo goes to a version's parent, redo to its latest child.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ....engine.ir import Refusal
from ...folders.state import folder_state, state_path
from .history_rows import (
    MOST_BACK,
    children,
    digest_at,
    digest_of,
    packed,
    parents,
    text_at,
    text_with,
    texts,
    unpacked,
)
from .read_write import DocumentError

FILE = "history.sqlite3"

MOST_VERSIONS = 1_000
"""Of one file; older ones are forgotten."""

MOST_BYTES = 16_000_000
"""Of one file's versions, compressed."""

MOST_TEMPORARY = 50
"""Names of temporary files that are kept for each notebook, to be removed after a kill."""

CHECKPOINT_EVERY = 50
"""Commits; SQLite itself makes one of them wait for a checkpoint after a few hundred."""

FORGET_EVERY = 50
"""Versions between two looks for old ones, where the file is not written in between: looking takes longer than a commit."""

_TABLES = """
CREATE TABLE IF NOT EXISTS versions (
  id INTEGER PRIMARY KEY, file TEXT NOT NULL, parent INTEGER, digest BLOB NOT NULL, text BLOB NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS of_file ON versions (file, id);
CREATE INDEX IF NOT EXISTS of_parent ON versions (parent, id);
CREATE TABLE IF NOT EXISTS made (source TEXT PRIMARY KEY, digest BLOB NOT NULL, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, here INTEGER NOT NULL, disk BLOB, next BLOB);
CREATE TABLE IF NOT EXISTS drafts (
  file TEXT NOT NULL, page TEXT NOT NULL, base BLOB NOT NULL, text BLOB NOT NULL, PRIMARY KEY (file, page));
CREATE TABLE IF NOT EXISTS temporary (id INTEGER PRIMARY KEY, file TEXT NOT NULL, name TEXT NOT NULL);
"""


class Edit(msgspec.Struct, frozen=True):
    """One thing that was done: `text` is what came of it, `before` what it was done to. `way`: "edit", or where undo and redo went."""

    before: str
    text: str
    way: str = "edit"


class Draft(msgspec.Struct, frozen=True):
    """Text that is nowhere but on one page: what is being typed there, or a version that clashes with the file. `base` is the text that
    it was made of; a draft that equals its base ends it."""

    page: str
    base: str
    text: str


class Entry(msgspec.Struct, frozen=True):
    """What one commit adds to the history of file `name`: edits in order, drafts, and the file (name and text) that it was made of.

    `base` is the text that the file held when it was read or written last; None: there was no file. `text` is the notebook's, which the
    drafts are about.
    """

    name: str
    edits: tuple[Edit, ...] = ()
    base: str | None = None
    text: str = ""
    drafts: tuple[Draft, ...] = ()
    source: tuple[str, str] | None = None


class Kept(msgspec.Struct, frozen=True):
    """What is known of a file: the text that was reached, and those that undo (its last one first) and redo (its first one first) go to.

    `disk` are digests of what the file holds if nobody else wrote it: more than one where the server ended while it wrote, none where there
    was no file. `base` is the text that the file was last known to hold. `temporary` are names of files that writing it may have left.
    """

    text: str
    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()
    disk: tuple[bytes, ...] = ()
    base: str | None = None
    drafts: tuple[Draft, ...] = ()
    temporary: tuple[str, ...] = ()


class Version(msgspec.Struct, frozen=True):
    """A text that the file had, or was to have. `at` is when, in seconds since 1970; `parent` is the number of the one it was made of, 0
    where that is forgotten or there was none."""

    number: int
    parent: int
    at: float
    text: str


class History:
    """The history of the notebooks in one folder. Not for two threads at once. Everything raises DocumentError "no-history" where the
    state folder cannot be written to, or the disk is full; nothing is lost of what was recorded before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._connection: sqlite3.Connection | None = None
        self._recovered = False
        self._commits = 0

    @property
    def path(self) -> Path:
        """The database. Raises OSError where the state folder cannot be used."""
        return state_path(self.folder) / FILE

    @property
    def exists(self) -> bool:
        """Whether something was recorded. Looking for it makes nothing."""
        try:
            return self._connection is not None or self.path.is_file()
        except OSError as error:
            raise _refused(error) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection, self._recovered = None, False

    # Recording.

    def commit(self, entries: Sequence[Entry]) -> None:
        """Add the entries of one or several files, in one transaction: when this returns they are durable."""
        self._commits += 1
        with self._transaction() as db:
            for entry in entries:
                self._record(db, entry)
                if entry.source is not None:
                    source, text = entry.source
                    db.execute("INSERT OR REPLACE INTO made VALUES (?, ?, ?)", (source, digest_of(text), entry.name))
                for draft in entry.drafts:
                    _set_draft(db, entry.name, draft)

    def writing(self, name: str, text: str, temporary: str) -> None:
        """The file is about to be written by way of the file `temporary`: until `written` it holds the base or this text."""
        with self._transaction() as db:
            db.execute("UPDATE files SET next = ? WHERE name = ?", (digest_of(text), name))
            db.execute("INSERT INTO temporary (file, name) VALUES (?, ?)", (name, temporary))
            kept = "SELECT id FROM temporary WHERE file = ? ORDER BY id DESC LIMIT ?"
            db.execute(f"DELETE FROM temporary WHERE file = ? AND id NOT IN ({kept})", (name, name, MOST_TEMPORARY))

    def written(self, name: str, text: str, temporary: str) -> None:
        """The file holds `text`, and the temporary file is gone."""
        with self._transaction() as db:
            self._record(db, Entry(name, base=text))
            db.execute("DELETE FROM temporary WHERE file = ? AND name = ?", (name, temporary))

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the database once it is long, while nobody waits for a commit: the commit after it syncs twice."""
        if self._connection is None or self._commits < CHECKPOINT_EVERY:
            return
        with self._guarded():
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._commits = 0

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
            text = None if found is None else text_at(db, found[0])
            if found is None or text is None:
                return None
            here, *digests = found
            left = db.execute("SELECT name FROM temporary WHERE file = ? ORDER BY id", (name,)).fetchall()
            return Kept(
                text,
                tuple(reversed(list(texts(db, parents(db, here))))),
                tuple(texts(db, children(db, here))),
                tuple(digest for digest in digests if digest is not None),
                text_with(db, name, digests[0]),
                tuple(_drafts(db, name)),
                tuple(row[0] for row in left),
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
            found = ((number, parent, at, text_at(db, number)) for number, parent, at in rows)
            return tuple(
                Version(number, parent or 0, at, text) for number, parent, at, text in found if text is not None
            )

    # Inside.

    @contextmanager
    def _transaction(self, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
        with self._guarded():
            db = self._connected(reading=reading)
            db.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """After an error the connection is closed, and the next transaction opens another one."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            if type(error) is sqlite3.DatabaseError:  # neither locked nor out of room: the file is no history
                self._set_aside()
            raise _refused(error) from error

    def _connected(self, *, reading: bool) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _opened(folder_state(self.folder) / FILE)
        if not reading and not self._recovered:
            _recover(self._connection)
            self._recovered = True
        return self._connection

    def _set_aside(self) -> None:
        """Keep a broken database under another name, for whoever wants to look at it."""
        for end in ("", "-wal", "-shm"):
            path = self.path.with_name(FILE + end)
            if path.exists():
                os.replace(path, path.with_name(f"broken-{int(time.time())}-{FILE}{end}"))

    def _record(self, db: sqlite3.Connection, entry: Entry) -> None:
        name = entry.name
        found = db.execute(
            "SELECT here, digest FROM files JOIN versions ON id = here WHERE name = ?", (name,)
        ).fetchone()
        here, digest = found or (None, None)
        for edit in entry.edits:
            if here is None or digest != digest_of(edit.before):
                here = _add(db, name, here, edit.before)
            here = _went(db, here, edit) or _add(db, name, here, edit.text)
            digest = digest_of(edit.text)
        if here is None and any(draft.text != draft.base for draft in entry.drafts):
            here = _add(db, name, None, entry.text)
        if here is not None:
            row = (name, here, None if entry.base is None else digest_of(entry.base))
            db.execute("INSERT OR REPLACE INTO files (name, here, disk) VALUES (?, ?, ?)", row)
            if not entry.edits or here % FORGET_EVERY == 0:
                _forget(db, name, here)


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


def _recover(db: sqlite3.Connection) -> None:
    """Copy the log into the database and empty it, before anything is added: where syncing the log failed, pages of it may exist in memory
    only, and whatever came after them in the log would be lost with them."""
    is_busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise sqlite3.OperationalError("the log of the history is in use")


def _refused(error: Exception) -> DocumentError:
    return DocumentError(Refusal("no-history", f"the history of edits cannot be used: {error}"))


def _set_draft(db: sqlite3.Connection, name: str, draft: Draft) -> None:
    if draft.text == draft.base:
        db.execute("DELETE FROM drafts WHERE file = ? AND page = ?", (name, draft.page))
    else:
        row = (name, draft.page, packed(draft.base), packed(draft.text))
        db.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?, ?)", row)


def _drafts(db: sqlite3.Connection, name: str) -> Iterator[Draft]:
    rows = db.execute("SELECT page, base, text FROM drafts WHERE file = ? ORDER BY rowid", (name,)).fetchall()
    for page, packed_base, packed_text in rows:
        base, text = unpacked(packed_base), unpacked(packed_text)
        if base is not None and text is not None:
            yield Draft(page, base, text)


def _add(db: sqlite3.Connection, name: str, parent: int | None, text: str) -> int:
    made = db.execute(
        "INSERT INTO versions (file, parent, digest, text, at) VALUES (?, ?, ?, ?, ?)",
        (name, parent, digest_of(text), packed(text), time.time()),
    )
    assert made.lastrowid is not None
    return made.lastrowid


def _went(db: sqlite3.Connection, here: int, edit: Edit) -> int | None:
    """Where undo or redo lead, if it is where they led on the page."""
    around = {"undo": parents, "redo": children}.get(edit.way)
    there = None if around is None else next(around(db, here), None)
    return there if there is not None and digest_at(db, there) == digest_of(edit.text) else None


def _forget(db: sqlite3.Connection, name: str, here: int) -> None:
    """The oldest versions, so that a history does not grow for ever; never the one that the file is at."""
    rows = db.execute("SELECT id, length(text) FROM versions WHERE file = ? ORDER BY id DESC", (name,)).fetchall()
    size, old = 0, []
    for count, (version, length) in enumerate(rows):
        size += length
        if (count >= MOST_VERSIONS or size > MOST_BYTES) and version != here:
            old.append((version,))
    db.executemany("DELETE FROM versions WHERE id = ?", old)


__all__ = ["Draft", "Edit", "Entry", "History", "Kept", "Version", "digest_of"]
