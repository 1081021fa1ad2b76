"""The runtime file, by which programs of the same user find a running server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ..folders.user import runtime_folder
from .access import AccessPolicy


@contextmanager
def runtime_file(policy: AccessPolicy, url: str) -> Iterator[Path | None]:
    """A file with address and token while the server runs, for programs of the same user: {"url", "token", "pid"}.

    None if the file cannot be written, which is reported on standard error; the server still runs.
    """
    path: Path | None = None
    try:
        folder = runtime_folder()
        _remove_stale(folder)
        path = folder / f"server-{os.getpid()}.json"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode({"url": url, "token": policy.token, "pid": os.getpid()}))
    except OSError as error:
        path = None
        print(f"tilewright: programs cannot find this server: {error.strerror or error}", file=sys.stderr)
    try:
        yield path
    finally:
        if path is not None:
            with suppress(OSError):
                path.unlink()


def _remove_stale(folder: Path) -> None:
    """Remove the files of killed servers."""
    for path in folder.glob("server-*.json"):
        pid = path.stem.removeprefix("server-")
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OverflowError, PermissionError):
            continue  # not a process id, or another user's process


__all__ = ["runtime_file"]
