"""The private folder that holds what Tilewright keeps about a folder of notebooks: its history and its searches.

It lies in the user's state folder, never among the notebooks, so that nothing in a folder that somebody else made is trusted. Its name is
a digest of this machine and the folder's real path; `folder.txt` in it names the folder for people.
"""

from __future__ import annotations

import hashlib
import os
import platform
from contextlib import suppress
from pathlib import Path

from .user import state_folder

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def folder_state(folder: Path) -> Path:
    """The private folder of the folder at this path, created when missing and durable. Raises OSError if it cannot be created or used."""
    place = state_path(folder)
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.mkdir(mode=0o700, exist_ok=True)
    name = place / "folder.txt"
    if not name.exists():
        name.write_text(f"{_real(folder)}\n", encoding="utf-8", errors="backslashreplace")
    for made in (place, place.parent, place.parent.parent):
        sync_folder(made)
    with suppress(PermissionError):  # the state folder was there before, below a folder that cannot be listed
        sync_folder(place.parent.parent.parent)
    return place


def state_path(folder: Path) -> Path:
    """Where `folder_state` is or would be. Raises OSError where the user's state folder cannot be used."""
    key = f"{_machine()}\n{_real(folder)}".encode("utf-8", "surrogateescape")
    return state_folder() / "folders" / hashlib.sha256(key).hexdigest()[:32]


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder durable: files that were created, renamed or removed in it. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _real(folder: Path) -> str:
    return os.path.normcase(os.path.realpath(folder))


def _machine() -> str:
    """The machine's id, else its name: a home folder may be shared by several machines, whose paths mean different files."""
    for file in MACHINE_IDS:
        try:
            return file.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
    return platform.node()


__all__ = ["folder_state", "state_path", "sync_folder"]
