"""Hostile inputs, each on a server of its own: processor time, memory, the longest silence of its health check, and the time to SIGTERM.

    python bench/hostile.py [--only WORD] [--command tilewright] [--seconds 60]

Each program is posted as a session, whose report, verdict and problems are then requested. `run` is the processor time of `tilewright run`.
"""

from __future__ import annotations

import argparse
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

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fuzzing.towers import HOSTILE

TOKEN = "hostile-inputs-0123456789"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watched:
    """A server process, and what it needed so far with its children."""

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
        """The processor time of the server and of all children seen so far."""
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
        """End the server by SIGTERM; the seconds that it took, None if it had to be killed after 10."""
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


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for parent in found:
        with suppress(OSError):
            found += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    return found


@contextmanager
def server(command: str) -> Iterator[Watched]:
    with tempfile.TemporaryDirectory() as folder:
        made = Watched(command, Path(folder))
        try:
            yield made
        finally:
            if made.process.poll() is None:
                made.terminate()


def on_server(command: str, text: str, seconds: float) -> list[str]:
    """Post a program to a server of its own: the row of what that cost, and the verdict."""
    with server(command) as watched:
        time.sleep(1.0)
        before, watched.silence = watched.seconds, 0.0
        began, verdict = time.monotonic(), "no answer"
        try:
            status, made = watched.ask("POST", "/api/sessions", {"text": text}, seconds)
            verdict = f"refused: {made['error']['code']}" if "error" in made else "no verdict"
            while status in (200, 201, 202) and time.monotonic() - began < seconds:
                path = f"/api/sessions/{made['session']}?parts=report,verdict,problems&wait=10"
                status, found = watched.ask("GET", path, seconds=seconds)
                state = found.get("state", {})
                if not found.get("pending") and state.get("verdict"):
                    verdict = state["verdict"]["status"]
                    break
                if not found.get("pending"):
                    break
        except (OSError, TimeoutError, http.client.HTTPException):
            pass
        wall = time.monotonic() - began
        used, peak, silence = watched.seconds - before, watched.peak, watched.silence
        ended = watched.terminate()
    stopped = "killed" if ended is None else f"{ended:.1f} s"
    return [f"{wall:.1f} s", f"{used:.1f} s", f"{peak / 2**20:.0f} MiB", f"{silence:.2f} s", stopped, verdict]


def on_command_line(command: str, text: str, seconds: float) -> str:
    """The processor time of `tilewright run`, and its exit code."""
    before = os.times()
    try:
        code: object = subprocess.run(
            [command, "run", "-"], input=text, text=True, capture_output=True, timeout=seconds, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        code = "killed"
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return f"{used:.1f} s, {code}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the inputs whose names contain this")
    parser.add_argument("--command", default=str(Path(sys.executable).with_name("tilewright")))
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each input")
    arguments = parser.parse_args()
    print("| input | answer | processor | memory | longest silence | SIGTERM | verdict | `run` |")
    print("|---|---:|---:|---:|---:|---:|---|---|")
    for name, make in HOSTILE.items():
        if arguments.only in name:
            text = make()
            row = on_server(arguments.command, text, arguments.seconds)
            row.append(on_command_line(arguments.command, text, arguments.seconds))
            print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
