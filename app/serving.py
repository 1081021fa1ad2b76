"""The server: the page, the API and the door before both, on one port; and where it is written down for programs to find."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from panel.io.server import get_server

from .api import Office, patterns
from .guard import LOGIN, Door, Guard, Login
from .limits import LIMITS
from .user_folders import runtime_folder


def open_server(page: Callable[[], Any], office: Office, door: Door, port: int, **options: Any) -> Any:
    """A Panel server that is not started yet; nothing reaches it but through the door. `options` are Panel's."""
    server: Any = get_server(
        page,
        port=port,
        address=door.address,
        start=False,
        verbose=False,
        extra_patterns=[*patterns(office), (LOGIN, Login, {"door": door})],
        websocket_max_message_size=LIMITS.message_bytes,
        # The door refuses in words what is too large; what is far too large is not even read.
        http_server_kwargs={
            "max_body_size": 4 * LIMITS.request_bytes,
            "max_header_size": LIMITS.header_bytes,
            "idle_connection_timeout": LIMITS.headers_seconds,
            "body_timeout": LIMITS.body_seconds,
        },
        **options,
    )
    # The socket is bound, but the loop has not run: nothing was let in before.
    server._tornado.websocket_origins.update(door.origins(server.port))
    server._http.request_callback = Guard(server._tornado, door)
    return server


@contextmanager
def written_down(door: Door, url: str) -> Iterator[Path | None]:
    """A file with address and token while the server runs, for programs of the same user: {"url", "token", "pid"}.

    None where no such file can be made, which is said on standard error; the server runs all the same.
    """
    path: Path | None = None
    try:
        folder = runtime_folder()
        _forget_ended(folder)
        path = folder / f"server-{os.getpid()}.json"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode({"url": url, "token": door.key, "pid": os.getpid()}))
    except OSError as error:
        path = None
        print(f"tilewright: programs cannot find this server: {error.strerror or error}", file=sys.stderr)
    try:
        yield path
    finally:
        if path is not None:
            with suppress(OSError):
                path.unlink()


def _forget_ended(folder: Path) -> None:
    """Take away what servers that were killed left."""
    for path in folder.glob("server-*.json"):
        pid = path.stem.removeprefix("server-")
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OverflowError, PermissionError):
            continue  # not ours to say


__all__ = ["open_server", "written_down"]
