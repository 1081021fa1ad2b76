"""A history locked by another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.app.document.files.history import FILE
from tilewright.app.folders.state import state_path

_HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
for statement in sys.argv[2].split(";"):
    db.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.read()
"""

WRITING = "BEGIN IMMEDIATE"
"""A lock like that of a committing server: the history can be read."""

ALONE = "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE held (x)"
"""An exclusive lock, like that of a database tool."""


@contextmanager
def held(folder: Path, how: str) -> Iterator[None]:
    """Another process locks the history of the notebooks in a folder until the end of the block."""
    command = [sys.executable, "-c", _HOLD, str(state_path(folder) / FILE), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.kill()
            process.wait()
