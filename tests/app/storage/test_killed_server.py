"""Kill -9 of a real server 0 to 50 ms after it answered an edit: no answered edit is lost, and the file is never torn."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.profile import IS_DEEP
from support.sessions.notebooks import SMALL

ROOT = Path(__file__).parents[2]
TOKEN = "killed-once-and-again"

KILLS = 500 if IS_DEEP else 6
"""Lives per seed."""

SEEDS = range(20 if IS_DEEP else 1)

MOST_S = 0.05
"""Longest time from the last answer to the kill, in seconds."""

CUT_SHORT = 0.15
"""The share of lives that end during a request, whose edit may be kept or not."""


class Nursery:
    """The process whose children are killed."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "support.faults.killed_server", str(folder), TOKEN]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True, bufsize=1
        )
        self.child = 0

    def start(self) -> str:
        """A child, with its host and port."""
        assert self.process.stdin is not None
        self.process.stdin.write("next\n")
        self.process.stdin.flush()
        output = dict([self._hear(), self._hear()])
        self.child = int(output["pid"])
        return urlsplit(output["at"]).netloc

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)
        assert self._hear()[0] == "end"

    def _hear(self) -> tuple[str, str]:
        assert self.process.stdout is not None
        word, _, rest = self.process.stdout.readline().strip().partition(" ")
        assert word, "the nursery is gone"
        return word, rest

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(30) == 0
        self.process.stdout.close()


class Client:
    """One connection to a server, with its session."""

    def __init__(self, place: str) -> None:
        self.connection = http.client.HTTPConnection(place, timeout=60)
        status, opened = self.ask("/api/sessions?parts=notebook", {"name": "mine.py"})
        assert status == 201, opened
        self.address = f"/api/sessions/{opened['session']}?parts=notebook"
        self.notebook = opened["state"]["notebook"]

    def send(self, target: str, body: dict[str, Any]) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        self.connection.request("POST", target, json.dumps(body).encode(), headers)

    def ask(self, target: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.send(target, body)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def edit(self, rng: random.Random, name: str) -> dict[str, Any]:
        """An edit of varying size, or undo or redo if possible."""
        way = rng.choices(["edit_prose", "undo", "redo"], [6, 2, 2])[0]
        if way == "edit_prose" or not self.notebook[way]:
            words = f"Edit {name} " + "x" * rng.choice([0, 10, 5_000])
            return {"kind": "edit_prose", "cell": 0, "text": f"# {words}"}
        return {"kind": way}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_after_an_answer_loses_no_edit(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SMALL)
    rng = random.Random(20261123 + seed)
    known, last, answered, behind, cut = {digest(SMALL)}, digest(SMALL), 0, 0, 0
    maybe: str | None = None  # an edit in flight when the server was killed
    for life in range(KILLS):
        if life % 250 == 0:
            nursery = Nursery(tmp_path)
        client = Client(nursery.start())
        opened = client.notebook["text"]
        if maybe is not None and maybe in opened:
            last = digest(opened)
            known.add(last)
        assert digest(opened) == last, f"life {life} opened a text without what was answered before"
        for number in range(rng.randint(1, 3)):
            status, done = client.ask(client.address, client.edit(rng, f"{life} {number}"))
            assert (status, done["durable"]) == (200, True), done
            client.notebook = done["state"]["notebook"]
            last, answered = digest(client.notebook["text"]), answered + 1
            known.add(last)
        maybe = None
        if rng.random() < CUT_SHORT:
            maybe, cut = f"Cut {life}.", cut + 1
            client.send(client.address, {"kind": "edit_prose", "cell": 0, "text": f"# {maybe}"})
            time.sleep(rng.uniform(0, MOST_S / 5))
        else:
            time.sleep(rng.uniform(0, MOST_S))
        nursery.kill()
        client.connection.close()
        text = path.read_text()
        assert digest(text) in known or (maybe is not None and maybe in text), f"life {life} left a torn file"
        behind += digest(text) != last
        if life % 250 == 249 or life == KILLS - 1:
            nursery.close()
    assert answered >= KILLS and behind > KILLS / 4
    print(f"{KILLS} kills, {answered} answered edits, {cut} on their way, {behind} files behind their history")
