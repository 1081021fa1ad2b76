"""Reports about the disk outside of the page: lines on standard error, and texts that are rescued when a server ends."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ..folders.state import sync_folder
from ..folders.user import state_folder
from .file_status import SaveStatus

RESCUED = "rescued"


class Rescued(msgspec.Struct, frozen=True):
    """A text that was neither in file `name` nor in its history when the server ended. `place` is the file that holds it now; None if that
    write failed too."""

    name: str
    place: Path | None


def print_error(line: str) -> None:
    """Print one line on standard error; escape characters of a file's name that would break or reorder the line."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in line)
    print(f"tilewright: {shown}", file=sys.stderr, flush=True)


class DiskReports:
    """Reports once when a file cannot be saved or has no history, and once when it recovers."""

    def __init__(self, say: Callable[[str], None] = print_error) -> None:
        self._say = say
        self._reported: dict[Path, tuple[str, str]] = {}

    def update(self, real: Path, status: SaveStatus) -> None:
        """Report the change of the status of the file at `real`, if there is one."""
        why, no_history = status.why, status.no_history
        now = ("" if why is None else why.code, "" if no_history is None else no_history.code)
        before = self._reported.get(real, ("", ""))
        if now == before or (status.status == "saving" and why is None and before[0]):
            return  # second condition: a retry is under way
        self._reported[real] = now
        if why is not None:
            kept = "its edits are in memory only" if no_history is not None else "its edits are in the history"
            self._say(f"{real.name} is not saved: {why.message}; {kept}")
        elif before[0]:
            self._say(f"{real.name} is saved again")
        if no_history is not None and not before[1]:
            self._say(f"{real.name}: {no_history.message}; undo is lost when the server stops")
        elif no_history is None and before[1]:
            self._say(f"{real.name}: the history of edits works again")


def rescue(name: str, text: str) -> Rescued:
    """Write an unsaved text into the user's state folder, else into a private folder for temporary files."""
    for folder in (_rescue_folder, _temporary_folder):
        try:
            return Rescued(name, _write_new(folder(), name, text))
        except OSError:
            continue
    return Rescued(name, None)


def report_rescued(rescued: Sequence[Rescued], say: Callable[[str], None] = print_error) -> int:
    """Report the texts that were not in their files when the server ended. Returns the exit code: 0 for none, else 1."""
    for one in rescued:
        if one.place is None:
            say(f"the last edits of {one.name} are LOST: they could not be written to any disk")
        else:
            say(f"{one.name} could not be saved; its text is in {one.place}")
    return 1 if rescued else 0


def _rescue_folder() -> Path:
    folder = state_folder() / RESCUED
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="tilewright-rescued-"))


def _write_new(folder: Path, name: str, text: str) -> Path:
    """Write the text durably to a new file in the folder and return its path. On OSError, no part of the text remains."""
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", name.removesuffix(".py"))[:60]
    when = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1_000):
        path = folder / f"{stem}-{when}{f'-{number}' if number else ''}.py"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
            sync_folder(folder)
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise
        return path
    raise FileExistsError(folder)


__all__ = ["DiskReports", "Rescued", "print_error", "report_rescued", "rescue"]
