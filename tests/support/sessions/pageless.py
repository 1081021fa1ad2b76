"""A client without a browser: pages over separate websockets, and a server for them."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

DRAGS = (
    ("what_moves_what", "compute_at", "W_local", "ii"),
    ("fused_matmul_relu", "compute_at", "x_local", "k_outer"),
    ("box_blur", "reverse_compute_at", "blurred_local", "y"),
    ("place_the_copies", "compute_at", "A_local.vtcm", "ko"),
    ("vtcm_two_halves", "compute_at", "A_local.vtcm", "kh"),
)
"""Example, call, block, loop."""

LONGEST_WAIT_S = 60.0


ACTS_PER_MINUTE = 25
"""Drops and undos at a human's pace, one in 2.4 s, without waiting for the server. A pace of `live` is relative to it."""


class Server(NamedTuple):
    """A running server: its address without a slash at the end, the token (if it requires one) and the process (if it is known)."""

    url: str
    token: str = ""
    pid: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The credential of a request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def processor_seconds(self) -> float:
        """The processor time that the server has used; 0 for an unknown process."""
        if self.pid is None:
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_mib(self) -> float:
        """The server's resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


class Pageless:
    """A browser's part of a page."""

    def __init__(self, server: Server, drag: tuple[str, str, str, str], seed: int) -> None:
        self.server = server
        self.example, self.primitive, self.block, self.loop = drag
        self.number = seed
        self.random = random.Random(seed)
        self.times: list[float] = []
        self.opened_s = 0.0
        self._ids = 0
        self._root = ""
        self._news = asyncio.Event()
        self._plug: WebSocketClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def median(self) -> float:
        """The median latency; for a page without answers, the longest wait."""
        return statistics.median(self.times) if self.times else LONGEST_WAIT_S * 1000

    async def open(self) -> None:
        """Fetch the page and its document, and report that the page is ready."""
        began = time.perf_counter()
        page = await self.fetch()
        found = re.search(rb'"token":\s*"([^"]+)"', page)
        assert found is not None, "the page has no session token"
        address = HTTPRequest(
            f"{self.server.url.replace('http', 'ws', 1)}/ws",
            headers={"Origin": _origin(self.server.url), **self.server.headers},
            request_timeout=LONGEST_WAIT_S,
        )
        self._plug = await websocket_connect(
            address, subprotocols=["bokeh", found[1].decode()], max_message_size=1 << 28
        )
        await self._message("ACK")
        await self._send("PULL-DOC-REQ", {})
        document = await self._message("PULL-DOC-REPLY")
        self._root = _root_of(document)
        await self._event({"type": "event", "name": "document_ready", "values": {}})
        self.opened_s = time.perf_counter() - began

    async def fetch(self) -> bytes:
        """The page as a browser gets it, without the websocket."""
        url = f"{self.server.url}/example/{self.example}"
        answer = await AsyncHTTPClient().fetch(url, headers=self.server.headers, request_timeout=LONGEST_WAIT_S)
        return answer.body

    def close(self) -> None:
        """Close the websocket, as a browser does with its tab."""
        if self._reader is not None:
            self._reader.cancel()
        if self._plug is not None:
            self._plug.close()

    async def act(self, times: int) -> None:
        """Drop the block and undo it, without a pause."""
        self._reader = self._reader or asyncio.create_task(self._read())
        for _ in range(times):
            await self._timed(self._move)
            await self._timed({"kind": "undo"})

    async def live(self, until: float, acts_per_minute: float = ACTS_PER_MINUTE) -> None:
        """Drag and undo at a human's pace."""
        self._reader = asyncio.create_task(self._read())
        slower = ACTS_PER_MINUTE / acts_per_minute

        async def think(least_s: float, most_s: float) -> None:
            await asyncio.sleep(slower * self.random.uniform(least_s, most_s))

        await think(0, 4)
        while time.perf_counter() < until:
            await self.send({"kind": "begin_drag", "rows": [self.block], "near": self.block})
            await think(0.4, 1.2)
            await self._timed(self._move)
            await think(1.5, 4)
            await self._timed({"kind": "undo"})
            await think(0.5, 2)
        self._reader.cancel()

    @property
    def _move(self) -> dict[str, Any]:
        return {"kind": "move", "block": self.block, "loop": self.loop, "primitive": self.primitive}

    async def _timed(self, message: dict[str, Any]) -> None:
        self._news.clear()
        began = time.perf_counter()
        await self.send(message)
        await asyncio.wait_for(self._news.wait(), LONGEST_WAIT_S)
        self.times.append((time.perf_counter() - began) * 1000)

    async def _read(self) -> None:
        while True:
            text = await self._frames()
            if text[0].find('"PATCH-DOC"') >= 0 and "packed_rows" in text[2]:
                self._news.set()

    async def _frames(self) -> list[str]:
        assert self._plug is not None
        frames = [str(await self._plug.read_message()) for _ in range(3)]
        assert frames[0] != "None", "the server closed the page"
        buffers = int(json.loads(frames[0]).get("num_buffers", 0))
        for _ in range(2 * buffers):
            await self._plug.read_message()
        return frames

    async def _message(self, kind: str) -> str:
        while True:
            frames = await self._frames()
            if json.loads(frames[0])["msgtype"] == kind:
                return frames[2]

    async def send(self, data: dict[str, Any]) -> None:
        """A message of the loop tree."""
        await self._event(
            {
                "type": "event",
                "name": "data_event",
                "values": {
                    "type": "map",
                    "entries": [["model", {"id": self._root}], ["data", {"name": "tree", "message": data}]],
                },
            }
        )

    async def _event(self, event: dict[str, Any]) -> None:
        await self._send(
            "PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}]}
        )

    async def _send(self, kind: str, content: dict[str, Any]) -> None:
        assert self._plug is not None
        self._ids += 1
        for part in ({"msgid": str(self._ids), "msgtype": kind}, {}, content):
            await self._plug.write_message(json.dumps(part))


def _root_of(document: str) -> str:
    """The id of the model that carries the messages of all components."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            yield value
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    for model in walk(json.loads(document)):
        if model.get("attributes", {}).get("class_name") == "PageRoot":
            return str(model["id"])
    raise AssertionError("the page has no root")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def server_at(address: str) -> Server:
    """A server by the address that it printed, with its token in the query."""
    parts = urlsplit(address)
    token = parse_qs(parts.query).get("token", [""])[0]
    return Server(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", token)


@contextmanager
def started() -> Iterator[Server]:
    """A private server with temporary folders; its token is read from the runtime file."""
    command = [sys.executable, "-c", "from tilewright.app.cli import main; main()", "serve", "--port", "0"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as log:
        runtime = Path(folder) / "run"
        own = {"TILEWRIGHT_STATE_DIR": f"{folder}/state", "TILEWRIGHT_RUNTIME_DIR": str(runtime)}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | own, cwd=folder)
        try:
            yield _started(process, runtime)
        finally:
            process.terminate()
            process.wait(20)


def _started(process: subprocess.Popen[bytes], runtime: Path) -> Server:
    path = runtime / f"server-{process.pid}.json"
    for _ in range(600):
        if path.exists() and (text := path.read_text()):
            published = json.loads(text)
            return Server(published["url"].rstrip("/"), published["token"], process.pid)
        assert process.poll() is None, "the server ended"
        time.sleep(0.1)
    raise AssertionError("the server did not start")


__all__ = ["ACTS_PER_MINUTE", "DRAGS", "LONGEST_WAIT_S", "Pageless", "Server", "server_at", "started"]
