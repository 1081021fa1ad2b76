"""A server process under watch: its resources including children, and the longest silence of its health check. Needs /proc."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("tilewright"))

TOKEN = "hostile-inputs-0123456789"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class WatchedServer:
    """A server process, with the resources that it and its children used."""

    def __init__(self, command: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [command, "serve", str(folder), "--port", "0", "--token", TOKEN],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        found = None
        while found is None:
            line = self.process.stdout.readline()
            assert line, "the server has ended"
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        self.port = int(found[1])
        self.peak = self.silence = 0.0
        self.ended = threading.Event()
        self.known: dict[int, float] = {}
        for task in (self._ping, self._measure):
            threading.Thread(target=task, daemon=True).start()

    def ask(self, method: str, path: str, body: Any = None, seconds: float = 60.0) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    @property
    def seconds(self) -> float:
        """The processor time of the server and of all children ever seen."""
        return sum(self.known.values())

    def _ping(self) -> None:
        while not self.ended.wait(0.02):
            began = time.monotonic()
            with suppress(OSError, ValueError, http.client.HTTPException):
                self.ask("GET", "/healthz", seconds=600)
            self.silence = max(self.silence, time.monotonic() - began)

    def _measure(self) -> None:
        while not self.ended.wait(0.05):
            total = 0.0
            for pid in family(self.process.pid):
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
                except (OSError, IndexError):
                    continue
                self.known[pid] = (int(fields[11]) + int(fields[12])) / TICKS
            self.peak = max(self.peak, total)

    def terminate(self) -> float | None:
        """End the server by SIGTERM; the seconds until its end, None if it had to be killed after 10."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
            return time.monotonic() - began
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.ended.set()
            for pid in family(self.process.pid):
                if pid != self.process.pid or self.process.poll() is None:
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for parent in found:
        with suppress(OSError):
            found += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    return found


@contextmanager
def watched_server(command: str = COMMAND) -> Iterator[WatchedServer]:
    """A server of an empty folder, until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        server = WatchedServer(command, Path(folder))
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.terminate()


__all__ = ["COMMAND", "WatchedServer", "watched_server"]
