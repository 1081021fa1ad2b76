"""The two private folders of the user who runs Tilewright: state that outlives a server, and runtime files of running servers.

Nothing that is read from a served folder is trusted; what Tilewright must trust (histories, drafts) is
kept here. Each folder belongs to this user alone (mode 0700), or it is not used.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def state_folder() -> Path:
    """`$TILEWRIGHT_STATE_DIR`, `$XDG_STATE_HOME/tilewright` or `~/.local/state/tilewright`; created when missing.

    Raises OSError if it cannot be created, PermissionError if it is not private to this user.
    """
    named = os.environ.get("TILEWRIGHT_STATE_DIR")
    if named:
        return _private(Path(named))
    base = os.environ.get("XDG_STATE_HOME")
    parent = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    return _private(parent / "tilewright")


def runtime_folder() -> Path:
    """`$TILEWRIGHT_RUNTIME_DIR`, `$XDG_RUNTIME_DIR/tilewright` or `tilewright-UID` in the folder for temporary files; created when missing.

    Raises OSError if it cannot be created, PermissionError if it is not private to this user.
    """
    named = os.environ.get("TILEWRIGHT_RUNTIME_DIR")
    base = os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return _private(Path(named))
    if base and Path(base).is_dir():
        return _private(Path(base) / "tilewright")
    return _private(Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}")


def _private(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private to this user: chmod 700 {folder}")
    return folder


__all__ = ["runtime_folder", "state_folder"]
