"""Folders crafted to harm the user who serves them: links out of the folder, databases with other texts, names, pipes.

Each craft is a function that fills the folder `inside`; files that must never change are in the folder `outside`. `CRAFTS` names them all.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from support.sessions.notebooks import SMALL

from tilewright.app.document.files.history_rows import digest_of, packed

EVIL = SMALL.replace("Killed often", "Written by somebody else")

PROGRAM = SMALL.split("# %% workload\n")[1].split("# %% schedule")[0]
"""A program without cells: its notebook becomes a separate file."""

MACHINE = '\n# %% machine\nimport tilewright\n\nmachine = tilewright.machine("{}")\n'


class Craft(NamedTuple):
    """`fill` fills the folder; a user edits the notebook `edited`, which may write only the file `made`."""

    name: str
    fill: Callable[[Path, Path], None]
    edited: str = "mine.py"
    made: str = "mine.py"


def outside_files(outside: Path) -> None:
    """Targets of an attacker: files to read or write."""
    (outside / "notebook.py").write_text(SMALL.replace("Killed often", "A secret"))
    (outside / "precious.txt").write_text("precious\n")
    (outside / "machine.toml").write_text('name = "secret"\nclock_hz = 1000\n')
    (outside / "folder").mkdir()
    (outside / "folder" / "mine.py").write_text(EVIL)
    write_history(outside / "folder" / "history.sqlite3")


def write_history(path: Path, *more: str, text: str = EVIL, disk: str = SMALL, name: str = "mine.py") -> None:
    """A history in the format of Tilewright 0.1, beside the notebooks: the file has the last written text, and `text` is not written
    yet."""
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE versions (id INTEGER PRIMARY KEY, file TEXT, parent INTEGER, digest BLOB, text BLOB, at REAL);"
        "CREATE TABLE made (source TEXT PRIMARY KEY, digest BLOB, name TEXT);"
        "CREATE TABLE files (name TEXT PRIMARY KEY, here INTEGER, disk BLOB, next BLOB);"
        "CREATE TABLE drafts (file TEXT, page TEXT, base BLOB, text BLOB, PRIMARY KEY (file, page));"
        "CREATE TABLE temporary (id INTEGER PRIMARY KEY, file TEXT, name TEXT);"
    )
    db.execute("INSERT INTO versions VALUES (1, ?, NULL, ?, ?, 0)", (name, digest_of(text), packed(text)))
    db.execute("INSERT INTO files VALUES (?, 1, ?, NULL)", (name, digest_of(disk)))
    for statement in more:
        db.execute(statement)
    db.commit()
    db.close()


def _history(*more: str, **fields: str) -> Callable[[Path], None]:
    return lambda path: write_history(path, *more, **fields)


def _draft(path: Path) -> None:
    write_history(path, text=SMALL)
    db = sqlite3.connect(path)
    db.execute("INSERT INTO drafts VALUES ('mine.py', 'page', ?, ?)", (packed(SMALL), packed(EVIL)))
    db.execute("INSERT INTO temporary VALUES (1, 'mine.py', '../outside/precious.txt')")
    db.execute("INSERT INTO made VALUES ('mine.py', ?, '../outside/notebook.py')", (digest_of(SMALL),))
    db.commit()
    db.close()


def _torn(path: Path) -> None:
    write_history(path)
    data = bytearray(path.read_bytes())
    data[100:4000] = os.urandom(3900)
    path.write_bytes(data)


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: (path.write_bytes(data), None)[1]


DATABASES: dict[str, Callable[[Path], None]] = {
    "other-text": _history(),
    "other-text-and-clash": _history(disk="neither"),
    "draft-and-temporary": _draft,
    "trigger": _history("CREATE TRIGGER t AFTER INSERT ON versions BEGIN DELETE FROM versions; END"),
    "view": _history("DROP TABLE made", "CREATE VIEW made AS SELECT 'mine.py' source, x'00' digest, '../x.py' name"),
    "index-on-expression": _history("CREATE INDEX e ON versions (length(text))"),
    "large-blob": _history("INSERT INTO versions VALUES (9, 'mine.py', 1, x'00', zeroblob(5000000), 0)"),
    "circle-of-parents": _history("UPDATE versions SET parent = 1"),
    "other-name": _history(name="../outside/notebook.py"),
    "bomb": _history(text="x" * 3_900_000),
    "torn": _torn,
    "no-database": _bytes(b"no database" * 500),
    "empty": _bytes(b""),
    "header-only": _bytes(b"SQLite format 3\0"),
}

Place = Callable[[Path, Path], Path]
"""The path of a database at the place of an earlier version's history."""


def _in_folder(inside: Path, outside: Path) -> Path:
    (inside / ".tilewright").mkdir()
    return inside / ".tilewright" / "history.sqlite3"


def _in_linked_folder(inside: Path, outside: Path) -> Path:
    (outside / "state").mkdir()
    (inside / ".tilewright").symlink_to(outside / "state")
    return outside / "state" / "history.sqlite3"


def _behind_link(inside: Path, outside: Path) -> Path:
    (inside / ".tilewright").mkdir()
    (inside / ".tilewright" / "history.sqlite3").symlink_to(outside / "own.sqlite3")
    return outside / "own.sqlite3"


def _as_wal(inside: Path, outside: Path) -> Path:
    write_history(_in_folder(inside, outside))
    return inside / ".tilewright" / "history.sqlite3-wal"


PLACES: dict[str, Place] = {
    "folder": _in_folder,
    "linked-folder": _in_linked_folder,
    "link": _behind_link,
    "log": _as_wal,
}


def _with_database(place: Place, write: Callable[[Path], None]) -> Callable[[Path, Path], None]:
    return lambda inside, outside: write(place(inside, outside))


Maker = Callable[[Path, Path, Path], None]
"""Creates an entry at a path, given the folders inside and outside."""

ENTRIES: dict[str, Maker] = {
    "link-to-notebook": lambda path, inside, outside: path.symlink_to(outside / "notebook.py"),
    "link-to-text": lambda path, inside, outside: path.symlink_to(outside / "precious.txt"),
    "link-to-folder": lambda path, inside, outside: path.symlink_to(outside / "folder"),
    "link-to-parent": lambda path, inside, outside: path.symlink_to(".."),
    "link-relative": lambda path, inside, outside: path.symlink_to("../outside/notebook.py"),
    "link-to-nothing": lambda path, inside, outside: path.symlink_to(outside / "new.py"),
    "link-in-circle": lambda path, inside, outside: path.symlink_to(path.name),
    "link-by-link": lambda path, inside, outside: (
        (inside / "hop").symlink_to(outside / "folder"),
        path.symlink_to("hop/mine.py"),
        None,
    )[-1],
    "link-to-zero": lambda path, inside, outside: path.symlink_to("/dev/zero"),
    "link-to-terminal": lambda path, inside, outside: path.symlink_to("/dev/tty"),
    "link-to-memory": lambda path, inside, outside: path.symlink_to("/proc/self/mem"),
    "hard-link": lambda path, inside, outside: os.link(outside / "notebook.py", path),
    "pipe": lambda path, inside, outside: os.mkfifo(path),
    "folder": lambda path, inside, outside: path.mkdir(),
    "unreadable": lambda path, inside, outside: (path.write_text(SMALL), path.chmod(0))[1],
    "read-only": lambda path, inside, outside: (path.write_text(SMALL), path.chmod(0o444))[1],
    "set-user-id": lambda path, inside, outside: (path.write_text(SMALL), path.chmod(0o4755))[1],
    "empty": lambda path, inside, outside: path.touch(),
    "binary": lambda path, inside, outside: (path.write_bytes(b"\xff\x00# %%\n"), None)[1],
    "too-large": lambda path, inside, outside: (path.write_bytes(b"# %%\n" * 500_000), None)[1],
    "notebook": lambda path, inside, outside: (path.write_text(EVIL), None)[1],
}
"""Entries in place of an expected file."""

NAMES = (
    "two\nlines.py", "tab\tin.py", "-rf.py", "--help.py", "\u202egnp.py", "zero\u200bwidth.py", " lead.py", "trail .py", "a" * 250 + ".py",
    "\U0001f642.py", os.fsdecode(b"\xff\xfe.py"), "back\\slash.py", "quote'\".py", "%00%s.py", "$(touch x).py", "; rm -rf x.py", "~.py",
    "MINE.py", "Mine.py", "mine.py.py", "..py", "...py", "con.py", "<script>.py", "{}.py", "nul\x01.py", "star*.py", "[a].py", "?.py",
)  # fmt: skip

LEFTOVERS = (".mine.py.0123456789abcdef.tmp",)

MACHINES = (
    "../outside/machine.toml", "/dev/zero.toml", "link.toml", "circle.toml", "pipe.toml", "folder.toml", "hop/machine.toml", "~/x.toml",
    "./../outside/machine.toml", "file:///etc/x.toml", "mine.py/../../outside/machine.toml", "two\\nlines.toml", "nothing.toml",
)  # fmt: skip


def _named(name: str, make: Maker) -> Callable[[Path, Path], None]:
    return lambda inside, outside: make(inside / name, inside, outside)


def _old(name: str, make: Maker) -> Callable[[Path, Path], None]:
    """Make it old enough to be removed as a leftover of a killed server."""

    def fill(inside: Path, outside: Path) -> None:
        make(inside / name, inside, outside)
        os.utime(inside / name, (0, 0), follow_symlinks=False)

    return fill


def _machine(source: str) -> Callable[[Path, Path], None]:
    def fill(inside: Path, outside: Path) -> None:
        for name, make in (
            ("link", "link-to-text"),
            ("circle", "link-in-circle"),
            ("pipe", "pipe"),
            ("folder", "folder"),
        ):
            ENTRIES[make](inside / f"{name}.toml", inside, outside)
        (inside / "hop").symlink_to(outside)
        (inside / "mine.py").write_text(SMALL + MACHINE.format(source))

    return fill


def _program(make: Maker) -> Callable[[Path, Path], None]:
    """An entry at the path where the notebook of a program would be written."""

    def fill(inside: Path, outside: Path) -> None:
        (inside / "prog.py").write_text(PROGRAM)
        make(inside / "prog_blocks.py", inside, outside)

    return fill


def _state(name: str, make: Maker) -> Callable[[Path, Path], None]:
    """An entry at the path of an earlier version's state."""

    def fill(inside: Path, outside: Path) -> None:
        path = inside / ".tilewright" / name
        if name:
            path.parent.mkdir(parents=True)
        make(path if name else inside / ".tilewright", inside, outside)

    return fill


_LINKS = [name for name in ENTRIES if "link" in name or name in ("pipe", "folder")]

CRAFTS = (
    *(Craft(f"history-{d}-in-{p}", _with_database(PLACES[p], DATABASES[d])) for d in DATABASES for p in PLACES),
    *(Craft(f"entry-{entry}", _named("evil.py", make)) for entry, make in ENTRIES.items()),
    *(
        Craft(f"name-{n}-{e}", _named(name, ENTRIES[e]))
        for n, name in enumerate(NAMES)
        for e in ("notebook", "link-relative")
    ),
    *(Craft(f"leftover-{n}-{e}", _old(name, ENTRIES[e])) for n, name in enumerate(LEFTOVERS) for e in ENTRIES),
    *(Craft(f"machine-{n}", _machine(source)) for n, source in enumerate(MACHINES)),
    *(Craft(f"program-{e}", _program(ENTRIES[e]), "prog.py", "prog_blocks_1.py") for e in ENTRIES),
    *(
        Craft(f"state-{n or 'itself'}-{e}", _state(n, ENTRIES[e]))
        for n in ("", "explore", ".gitignore")
        for e in _LINKS
    ),
)

__all__ = ["CRAFTS", "SMALL", "Craft", "outside_files"]
