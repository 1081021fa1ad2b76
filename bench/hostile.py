"""Hostile inputs, each on a fresh server: processor time, memory, the longest silence of its health check, and the time to SIGTERM.

    python bench/hostile.py [--only WORD] [--command tilewright] [--seconds 60]

Each program is posted as a session, whose report, verdict and problems are then requested. `run` is the processor time of `tilewright run`.
"""

from __future__ import annotations

import argparse
import http.client
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fuzzing.towers import HOSTILE
from support.sessions.watched import COMMAND, watched_server


def on_server(command: str, text: str, seconds: float) -> list[str]:
    """Post a program to a fresh server: the row of its costs, and the verdict."""
    with watched_server(command) as watched:
        time.sleep(1.0)
        before, watched.silence = watched.seconds, 0.0
        began, verdict = time.monotonic(), "no answer"
        try:
            status, created = watched.ask("POST", "/api/sessions", {"text": text}, seconds)
            verdict = f"refused: {created['error']['code']}" if "error" in created else "no verdict"
            while status in (200, 201, 202) and time.monotonic() - began < seconds:
                path = f"/api/sessions/{created['session']}?parts=report,verdict,problems&wait=10"
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
    parser.add_argument("--command", default=COMMAND)
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
