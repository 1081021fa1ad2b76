"""Processes of the command line that a test ends by a signal, each at some time after its start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

INSTALLED = b"tilewright.app.signals"
"""Once Python's log of imports has a line after this module's, the handlers are installed. Before it the interpreter itself starts."""


class Ended(NamedTuple):
    """The exit code; the lines on standard error without those of Python's log."""

    code: int
    errors: str
    seconds: float


@contextmanager
def default_interrupt() -> Generator[None]:
    """Let an interrupt end children that start meanwhile. It is ignored if the tests run in the background of a shell, and a child would
    inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ended_by(number: int, command: list[str], milliseconds: int, folder: Path) -> Ended:
    """Start `tilewright` with the words of `command`, and signal it a given time after its handlers were installed."""
    words = [sys.executable, "-X", "importtime", "-m", "tilewright", *command]
    with default_interrupt():
        process = subprocess.Popen(
            words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
    with process:
        try:
            return _signalled(process, number, milliseconds)
        finally:
            process.kill()


def _signalled(process: subprocess.Popen[bytes], number: int, milliseconds: int) -> Ended:
    assert process.stderr is not None
    stderr = line = b""
    while INSTALLED not in stderr or INSTALLED in line:
        line = process.stderr.readline()
        assert line, stderr.decode()
        stderr += line
    os.set_blocking(process.stderr.fileno(), False)
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until and process.poll() is None:
        stderr += process.stderr.read() or b""  # the pipe must not fill
        time.sleep(0.002)
    os.set_blocking(process.stderr.fileno(), True)
    sent = time.monotonic()
    process.send_signal(number)
    stderr += process.stderr.read()
    process.wait(timeout=60)
    lines = [line for line in stderr.decode().splitlines() if not line.startswith("import time:")]
    return Ended(process.returncode, "\n".join(lines), time.monotonic() - sent)
