"""The runtime file of a running server, by which programs of the same user find it; and the secret that makes cookies outlive a restart."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ..folders.user import runtime_folder, state_folder
from .access import AccessPolicy

SECRET_BYTES = 32


def cookie_secret() -> bytes:
    """The secret of this user's servers: made once, readable by this user only. A new one each time where it cannot be kept."""
    fresh = secrets.token_bytes(SECRET_BYTES)
    with suppress(OSError):
        path = state_folder() / "cookie-secret"
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(fresh)
            return fresh
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            kept = file.read(SECRET_BYTES)
        if len(kept) == SECRET_BYTES:
            return kept
        path.unlink()  # a server that was killed while it wrote the file
    return fresh


@contextmanager
def runtime_file(policy: AccessPolicy, url: str) -> Iterator[Path | None]:
    """A file with address and token while the server runs, for programs of the same user: {"url", "token", "pid"}.

    None where no such file can be made, which is said on standard error; the server runs all the same.
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
    """Take away what servers that were killed left."""
    for path in folder.glob("server-*.json"):
        pid = path.stem.removeprefix("server-")
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OverflowError, PermissionError):
            continue  # not ours to say


__all__ = ["cookie_secret", "runtime_file"]
