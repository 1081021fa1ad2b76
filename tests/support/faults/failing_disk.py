"""A disk whose calls fail, one after the other: the changes by the thread of the open files are counted, and the chosen ones raise."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tilewright.app.document.files import read_write as files
from tilewright.app.document.files.history import History

SQLITE_ERRORS = {"ENOSPC": "database or disk is full", "EIO": "disk I/O error"}
"""SQLite's report of an error; all other errors appear as a read-only database."""


class FailingDisk:
    """`count` is the number of calls, `failed` that of raised errors. Call number `first` fails, and all later ones if `for_ever`."""

    def __init__(self, first: int, error: str, *, for_ever: bool) -> None:
        self.first, self.error, self.for_ever = first, error, for_ever
        self.count = self.failed = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every call that writes a notebook's file or its history."""
        for name in ("open", "fsync", "replace", "fchmod"):
            monkeypatch.setattr(os, name, self._failing(getattr(os, name)))
        monkeypatch.setattr(files.os, "fdopen", self._writer(os.fdopen))
        connected = History._connected
        monkeypatch.setattr(History, "_connected", lambda *a, **k: _Connection(connected(*a, **k), self))

    def check(self, *, in_database: bool = False) -> None:
        """Count one call; raise if it must fail."""
        if threading.current_thread().name != "files":
            return
        number, self.count = self.count, self.count + 1
        if number == self.first or (self.for_ever and number > self.first):
            self.failed += 1
            if in_database:
                raise sqlite3.OperationalError(SQLITE_ERRORS.get(self.error, "attempt to write a readonly database"))
            code = getattr(errno, self.error)
            raise OSError(code, os.strerror(code))

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*arguments: Any, **named: Any) -> Any:
            self.check()
            return call(*arguments, **named)

        return failing

    def _writer(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def opened(*arguments: Any, **named: Any) -> Any:
            file = call(*arguments, **named)
            return file if threading.current_thread().name != "files" else _Writer(file, self)

        return opened


class _Writer:
    """A file that fails in the middle of a write."""

    def __init__(self, file: Any, disk: FailingDisk) -> None:
        self._file, self._disk = file, disk

    def write(self, data: bytes) -> None:
        half = len(data) // 2
        self._file.write(data[:half])
        self._disk.check()
        self._file.write(data[half:])

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Connection:
    """A database whose statements are counted."""

    def __init__(self, connection: Any, disk: FailingDisk) -> None:
        self._connection, self._disk = connection, disk

    def execute(self, statement: str, *arguments: Any) -> Any:
        if not statement.startswith(("SELECT", "ROLLBACK")):
            self._disk.check(in_database=True)
        return self._connection.execute(statement, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
