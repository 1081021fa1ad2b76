"""The edit history of the notebooks in a folder, in the user's private state folder; each edit is recorded before the file is written.

It adds three guarantees to atomic file writes. Undo survives a restart. An edit is durable within a few milliseconds, so the file write
can wait for the end of a burst of edits. If another program changes the file in between, the common base of both changes is known.
SQLite keeps the history consistent after a crash of the process or the machine (write-ahead log, synced at each commit).

Versions form a tree: undo moves to a version's parent, redo to its latest child.
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
"""The maximum number of versions of a file; older ones are deleted."""

MOST_BYTES = 16_000_000
"""The maximum compressed size of a file's versions."""

MOST_TEMPORARY = 50
"""The number of temporary file names recorded for each notebook; leftover files are removed after a kill."""

CHECKPOINT_EVERY = 50
"""Commits between checkpoints. Without them, SQLite blocks a commit for a checkpoint after a few hundred commits."""

LOCK_WAIT_S = 0.1
"""Seconds that a transaction waits for another process. It is short, since answers wait for transactions; what could not be recorded stays
queued."""

BUSY = "history-busy"
"""The code of the refusal while another process holds the history."""

FORGET_EVERY = 50
"""Versions between two cleanups of old versions, if the file is not written in between; a cleanup is slower than a commit."""

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
    """One edit from text `before` to `text`. `way` is "edit", "undo" or "redo"."""

    before: str
    text: str
    way: str = "edit"


class Draft(msgspec.Struct, frozen=True):
    """Text that exists only on one page: unsaved typing, or a version in conflict with the file. `base` is the text that it started from;
    recording a draft equal to its base deletes it."""

    page: str
    base: str
    text: str


class Entry(msgspec.Struct, frozen=True):
    """The additions of one commit to the history of file `name`: edits in order, drafts, and the notebook's source file (name and text).

    `base` is the file's text when it was last read or written; None: there was no file. `text` is the notebook's text, to which the
    drafts belong.
    """

    name: str
    edits: tuple[Edit, ...] = ()
    base: str | None = None
    text: str = ""
    drafts: tuple[Draft, ...] = ()
    source: tuple[str, str] | None = None


class Kept(msgspec.Struct, frozen=True):
    """The stored history of a file: the current text, and the texts that undo and redo lead to, in the order of the steps.

    `disk` holds digests of the file's expected content, absent foreign writes: two if the server stopped during a write, none if there
    was no file. `base` is the last known text of the file. `temporary` are names of temporary files that a write may have left.
    """

    text: str
    past: tuple[str, ...] = ()
    future: tuple[str, ...] = ()
    disk: tuple[bytes, ...] = ()
    base: str | None = None
    drafts: tuple[Draft, ...] = ()
    temporary: tuple[str, ...] = ()


class Version(msgspec.Struct, frozen=True):
    """A recorded text of the file, written or pending. `at` is its time in seconds since 1970; `parent` is its parent's number, or 0 if the
    parent was deleted or never existed."""

    number: int
    parent: int
    at: float
    text: str


class History:
    """The history of the notebooks in one folder; not thread-safe. Every method raises DocumentError "no-history" if the state folder is
    not writable or the disk is full, and `BUSY` if another process holds it for longer than LOCK_WAIT_S; earlier records stay intact."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._wait_s = LOCK_WAIT_S
        self._connection: sqlite3.Connection | None = None
        self._recovered = False
        self._commits = 0

    @property
    def path(self) -> Path:
        """The path of the database. Raises OSError if the state folder is unusable."""
        return state_path(self.folder) / FILE

    @property
    def exists(self) -> bool:
        """Whether a history exists. The check creates no files."""
        try:
            return self._connection is not None or self.path.is_file()
        except OSError as error:
            raise _refused(error) from error

    def wait_for_lock(self, seconds: float) -> None:
        """Wait this long for other processes in each later transaction."""
        self._wait_s = seconds
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection, self._recovered = None, False

    # Recording.

    def commit(self, entries: Sequence[Entry]) -> None:
        """Add the entries of one or several files in one transaction; they are durable on return."""
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
        """Record the start of a write through the file `temporary`; until `written`, the file holds its base or `text`."""
        with self._transaction() as db:
            db.execute("UPDATE files SET next = ? WHERE name = ?", (digest_of(text), name))
            db.execute("INSERT INTO temporary (file, name) VALUES (?, ?)", (name, temporary))
            kept = "SELECT id FROM temporary WHERE file = ? ORDER BY id DESC LIMIT ?"
            db.execute(f"DELETE FROM temporary WHERE file = ? AND id NOT IN ({kept})", (name, name, MOST_TEMPORARY))

    def written(self, name: str, text: str, temporary: str) -> None:
        """Record the end of a write: the file holds `text`, and the temporary file no longer exists."""
        with self._transaction() as db:
            self._record(db, Entry(name, base=text))
            db.execute("DELETE FROM temporary WHERE file = ? AND name = ?", (name, temporary))

    def checkpoint(self) -> None:
        """Copy a long write-ahead log into the database; call it when idle, because the next commit syncs twice."""
        if self._connection is None or self._commits < CHECKPOINT_EVERY:
            return
        with self._guarded():
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._commits = 0

    # Reading.

    def made_of(self, source: str, text: str) -> str | None:
        """The name of the notebook converted from file `source`, if the file's text is still the converted one."""
        if not self.exists:
            return None
        with self._transaction(reading=True) as db:
            found = db.execute("SELECT digest, name FROM made WHERE source = ?", (source,)).fetchone()
            return found[1] if found is not None and found[0] == digest_of(text) else None

    def load(self, name: str) -> Kept | None:
        """The stored history of file `name`; None if there is none."""
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
        """The most recent readable versions of file `name`, newest first."""
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
        """Close the connection after an error; the next transaction opens a new one."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            if type(error) is sqlite3.DatabaseError:  # neither a lock nor a full disk: the file is not a valid database
                self._set_aside()
            raise _refused(error) from error

    def _connected(self, *, reading: bool) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _opened(folder_state(self.folder) / FILE, self._wait_s)
        if not reading and not self._recovered:
            _recover(self._connection)
            self._recovered = True
        return self._connection

    def _set_aside(self) -> None:
        """Rename a broken database, so that it stays available for inspection."""
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


def _opened(path: Path, wait_s: float) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=wait_s, isolation_level=None, check_same_thread=False)
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
    """Copy the log into the database and truncate it before the first write. If a sync of the log failed, some of its pages may exist only
    in memory; a crash would lose them and every later page."""
    is_busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        error = sqlite3.OperationalError("the log of the history is in use")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error


_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def _refused(error: Exception) -> DocumentError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOCKED:
        expected = "the other process to end or to close it; edits are kept meanwhile, and recorded then"
        return DocumentError(Refusal(BUSY, "the history of edits is in use by another process", expected=expected))
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
    """The version that undo or redo leads to, if it has the text that the page shows; else None."""
    around = {"undo": parents, "redo": children}.get(edit.way)
    there = None if around is None else next(around(db, here), None)
    return there if there is not None and digest_at(db, there) == digest_of(edit.text) else None


def _forget(db: sqlite3.Connection, name: str, here: int) -> None:
    """Delete the oldest versions beyond the limits of count and size, except the current one."""
    rows = db.execute("SELECT id, length(text) FROM versions WHERE file = ? ORDER BY id DESC", (name,)).fetchall()
    size, old = 0, []
    for count, (version, length) in enumerate(rows):
        size += length
        if (count >= MOST_VERSIONS or size > MOST_BYTES) and version != here:
            old.append((version,))
    db.executemany("DELETE FROM versions WHERE id = ?", old)


__all__ = ["Draft", "Edit", "Entry", "History", "Kept", "Version", "digest_of"]
