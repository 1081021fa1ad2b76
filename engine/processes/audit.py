"""A hook of Python's audit events: Python code of this process writes in one folder alone, and starts no process and no connection.

It holds on every system, and only for calls that Python makes; native code is confined by the kernel (`landlock`, `seccomp`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REFUSED = frozenset(
    {
        "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn", "os.spawn", "os.startfile", "os.system",
        "pty.spawn", "signal.pthread_kill", "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname",
        "socket.sendmsg", "socket.sendto", "subprocess.Popen",
    }
)  # fmt: skip
"""Events of processes, signals and connections."""

CHANGES = frozenset(
    {
        "os.chflags", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.removexattr", "os.rename", "os.rmdir",
        "os.setxattr", "os.symlink", "os.truncate", "os.utime",
    }
)  # fmt: skip
"""Events that change the paths in their first two arguments."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def refuse_effects(folder: Path) -> None:
    """From now on such calls of Python raise PermissionError. There is no way back."""
    inside = os.path.realpath(folder)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in REFUSED:
            raise PermissionError(f"{event} is refused in a confined process")
        if event == "open" and _writes(arguments):
            _require_inside(inside, event, arguments[0])
        elif event in CHANGES:
            for path in arguments[:2]:
                _require_inside(inside, event, path)

    sys.addaudithook(hook)


def _writes(arguments: tuple[object, ...]) -> bool:
    """Whether the event opens a path, not a number of an open file, for writing."""
    path, _, flags = arguments
    return isinstance(path, str | bytes) and isinstance(flags, int) and bool(flags & WRITING)


def _require_inside(folder: str, event: str, path: object) -> None:
    if not isinstance(path, str | bytes):
        return
    name = os.fsdecode(path)
    real = os.path.join(os.path.realpath(os.path.dirname(name) or "."), os.path.basename(name))
    if real != os.devnull and os.path.commonpath([folder, real]) != folder:
        raise PermissionError(f"{event} outside of the folder of a confined process")


__all__ = ["refuse_effects"]
