"""Kill -9 at any moment: no acknowledged edit is lost, and the file is never torn."""

from __future__ import annotations

import hashlib
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.profile import IS_DEEP
from support.sessions.filed import Desk
from support.sessions.notebooks import SMALL

ROOT = Path(__file__).parents[2]

KILLS = 1_000 if IS_DEEP else 12
"""Lives; 300 of them need a minute on two free cores."""

MOST_WORDS = 8
"""Most lines of a child before it is killed: one after opening the file, then two for each edit."""

EARLY = 0.06
"""The share of lives that end while the file is opened."""


@pytest.mark.slow
@pytest.mark.deep
def test_kills_lose_no_acknowledged_edit_and_tear_no_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SMALL)
    rng = random.Random(20261121)
    texts = {hashlib.sha256(path.read_bytes()).hexdigest()}
    possible = set(texts)
    edits = kept = behind = 0
    for number in range(KILLS):
        if number % 50 == 0:  # a fresh process from time to time
            nursery = start(path)
        words = rng.randint(1, MOST_WORDS) if rng.random() > EARLY else 0  # 0: while it opens the file
        output = one_life(nursery, number, words, rng.uniform(0.0, 0.03 if words else 0.005))
        opened = [name for word, name in output if word == "opened"]
        assert not opened or opened[0] in possible, f"life {number} opened a text without what was acknowledged before"
        if opened:
            possible = {opened[0]}
        for word, name in output:
            if word == "sent":
                texts.add(name)
                possible.add(name)
                edits += 1
            elif word == "kept":
                possible = {name}
                kept += 1
        on_disk = hashlib.sha256(path.read_bytes()).hexdigest()
        assert on_disk in texts, f"after life {number} the file is no text that there ever was"
        behind += on_disk not in possible
        if number % 50 == 49 or number == KILLS - 1:
            finish(nursery)
    assert edits > KILLS / 2 and kept > KILLS / 4
    assert behind or KILLS < 300, "some kills must come between an edit's record and its file"
    for left in tmp_path.glob(".mine.py.*.tmp"):  # one for each kill during a write
        os.utime(left, (0, 0))
    desk = Desk()
    desk.page(path)
    desk.close()
    assert not list(tmp_path.glob(".mine.py.*.tmp")), "the next server takes them away"
    print(f"{KILLS} kills, {edits} edits, {kept} acknowledged, {behind} files behind their history")


def start(path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "support.faults.killed_editor", str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def finish(nursery: subprocess.Popen[bytes]) -> None:
    assert nursery.stdin is not None and nursery.stdout is not None
    nursery.stdin.close()
    assert nursery.wait(30) == 0
    nursery.stdout.close()


def one_life(nursery: subprocess.Popen[bytes], seed: int, words: int, seconds: float) -> list[tuple[str, str]]:
    """The output of a child that is killed `seconds` after its first `words` lines, so that a busy machine records as many."""
    assert nursery.stdin is not None and nursery.stdout is not None
    nursery.stdin.write(f"{seed}\n".encode())
    nursery.stdin.flush()
    output: list[tuple[str, str]] = []
    child, until = 0, None
    os.set_blocking(nursery.stdout.fileno(), False)
    rest = b""
    while True:
        if child and until is None and len(output) >= words:
            until = time.monotonic() + seconds
        if until is not None and time.monotonic() >= until:
            os.kill(child, signal.SIGKILL)
            until = float("inf")
        data = os.read(nursery.stdout.fileno(), 1 << 16) if _readable(nursery, until) else b""
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            word, _, name = line.decode().partition(" ")
            if word == "pid":
                child = int(name)
            elif word == "end":
                assert until == float("inf"), f"the child ended by itself after {output[-3:]}"
                return output
            else:
                output.append((word, name))


def _readable(nursery: subprocess.Popen[bytes], until: float | None) -> bool:
    wait = 60.0 if until in (None, float("inf")) else max(0.0, until - time.monotonic())
    found, _, _ = select.select([nursery.stdout], [], [], wait)
    assert found or (until is not None and until != float("inf")), f"nothing was heard for {wait:.0f} s"
    return bool(found)
