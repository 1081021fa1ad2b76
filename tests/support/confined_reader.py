"""`python -m support.confined_reader`: a confined process that reads a JSON list of actions, tries them in turn, and returns their
results as JSON."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilewright.engine.processes.confined import ConfinedRequest, serve
from tilewright.engine.processes.sandbox import out_of_memory

LIBC = ctypes.CDLL(None, use_errno=True)


def native(name: str, *arguments: Any) -> str:
    """The result of a function of the C library, which Python's audit hooks do not see."""
    result = getattr(LIBC, name)(*arguments)
    return "done" if result >= 0 else os.strerror(ctypes.get_errno())


def spin(_: str) -> str:
    while True:
        pass


def fork(_: str) -> str:
    pid = LIBC.fork()
    if pid == 0:
        os._exit(0)
    return "done" if pid > 0 else os.strerror(ctypes.get_errno())


def connect(port: str) -> str:
    with socket.create_connection(("127.0.0.1", int(port)), timeout=5):
        return "done"


def write(path: str) -> str:
    Path(path).write_text("written")
    return "done"


ACTIONS: dict[str, Callable[[str], str]] = {
    "write": write,
    "write native": lambda path: native("open", path.encode(), os.O_WRONLY | os.O_CREAT, 0o600),
    "remove": lambda path: os.remove(path) or "done",
    "link": lambda path: os.symlink(path, "link") or write("link"),
    "read": lambda path: Path(path).read_text(),
    "read native": lambda path: native("open", path.encode(), os.O_RDONLY),
    "write here": write,
    "large file": lambda _: str(Path("large").write_bytes(bytes(100 << 20))),
    "variables": lambda _: json.dumps(dict(os.environ)),
    "folder": lambda _: json.dumps([os.getcwd(), os.environ["HOME"]]),
    "allocate": lambda count: str(len(bytearray(int(count)))),
    "spin": spin,
    "sleep": lambda seconds: time.sleep(float(seconds)) or "done",
    "fork": fork,
    "fork in Python": lambda _: str(os.fork()),
    "program": lambda _: subprocess.run(["true"], check=True) and "done",
    "program native": lambda _: native("execv", b"/bin/true", (ctypes.c_char_p * 2)(b"true", None)),
    "connect": connect,
    "socket native": lambda _: native("socket", socket.AF_INET, socket.SOCK_DGRAM, 0),
    "signal": lambda _: native("kill", os.getppid(), 0),
    "long text": lambda count: "x" * int(count),
    "crash": lambda _: os.abort(),
}


def work(request: ConfinedRequest, start_limits: Callable[[], None]) -> str:
    start_limits()
    actions = json.loads(Path(request.file).read_text())
    try:
        return json.dumps([_tried(name, argument) for name, argument in actions])
    except MemoryError as error:
        raise out_of_memory(Path(request.file), request.memory_bytes) from error


def _tried(name: str, argument: str) -> str:
    try:
        return ACTIONS[name](argument)
    except OSError as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(serve(work, ()))
