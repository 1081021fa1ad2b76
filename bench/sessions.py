"""Many people on one server: pages that drag at a human's pace, each over a websocket of its own as a browser has one, without the browser.

Each page opens an example, takes a block into the hand, drops it a moment later, looks at what came of it for a while, and undoes it.
Measured is from the message of the drop (or of undo) to the arrival of the new tree. "worst page" is the page whose median is the
largest. The figures of each page stand side by side: "unfair" is the worst page's median over that of all pages with the same example (an
example may be slower than another, a page may not), "starved" are pages that it is more than twice as large for, or that made less than
half as many acts as the others. While they drag, `/api` is asked once a second: what a visitor waits for. `--heavy` has one more person
open a text that takes seconds to read. The last line is that of the table in docs/security.md.

Run: `python bench/sessions.py [--pages 50] [--seconds 60] [--heavy] [--each] [--url http://127.0.0.1:5006]`; without an address a server is
started. Opening 50 pages takes about as long as dragging in them: two to four minutes in all.
Times are of this machine and of what else runs on it; the load before the run is printed.
"""

from __future__ import annotations

import argparse
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
from typing import Any

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

HEAVY = """# %% workload
@T.prim_func(s_tir=True)
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("B"):
            v = T.axis.spatial(64, i)
            B[v] = A[v]

# %% schedule
sch = tilewright.Schedule(f)
i, = sch.get_loops("B")
""" + "".join(f'sch.annotate(i, "key{n}", {n})\n' for n in range(600))
"""Six hundred annotations of one loop, each compared with those before it: some seconds."""


class Pageless:
    """A browser's part of a page."""

    def __init__(self, url: str, drag: tuple[str, str, str, str], seed: int) -> None:
        self.url = url
        self.example, self.primitive, self.block, self.loop = drag
        self.number = seed
        self.random = random.Random(seed)
        self.times: list[float] = []
        self.opened_s = 0.0
        self._ids = 0
        self._tree = ""
        self._news = asyncio.Event()
        self._plug: WebSocketClientConnection | None = None

    @property
    def median(self) -> float:
        """Of a page that nothing came to: the longest that was waited for."""
        return statistics.median(self.times) if self.times else LONGEST_WAIT_S * 1000

    async def open(self) -> None:
        """Fetch the page and its document, and say that it is there."""
        began = time.perf_counter()
        page = await AsyncHTTPClient().fetch(f"{self.url}/?example={self.example}", request_timeout=LONGEST_WAIT_S)
        found = re.search(rb'"token":\s*"([^"]+)"', page.body)
        assert found is not None, "the page has no token"
        address = HTTPRequest(
            f"{self.url.replace('http', 'ws', 1)}/ws", headers={"Origin": self.url}, request_timeout=LONGEST_WAIT_S
        )
        self._plug = await websocket_connect(
            address, subprotocols=["bokeh", found[1].decode()], max_message_size=1 << 28
        )
        await self._message("ACK")
        await self._send("PULL-DOC-REQ", {})
        document = await self._message("PULL-DOC-REPLY")
        self._tree = _tree_of(document)
        await self._event({"type": "event", "name": "document_ready", "values": {}})
        self.opened_s = time.perf_counter() - began

    async def live(self, until: float) -> None:
        """Drag and undo at a person's pace."""
        reader = asyncio.create_task(self._read())
        await asyncio.sleep(self.random.uniform(0, 4))
        while time.perf_counter() < until:
            await self._tell({"kind": "grabbed", "rows": [self.block], "near": self.block})
            await asyncio.sleep(self.random.uniform(0.4, 1.2))
            await self._timed({"kind": "move", "block": self.block, "loop": self.loop, "primitive": self.primitive})
            await asyncio.sleep(self.random.uniform(1.5, 4))
            await self._timed({"kind": "undo"})
            await asyncio.sleep(self.random.uniform(0.5, 2))
        reader.cancel()

    async def _timed(self, message: dict[str, Any]) -> None:
        self._news.clear()
        began = time.perf_counter()
        await self._tell(message)
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

    async def _tell(self, data: dict[str, Any]) -> None:
        await self._event(
            {
                "type": "event",
                "name": "data_event",
                "values": {"type": "map", "entries": [["model", {"id": self._tree}], ["data", data]]},
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


def _tree_of(document: str) -> str:
    """The id of the loop tree's model."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            yield value
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    for model in walk(json.loads(document)):
        if model.get("attributes", {}).get("class_name") == "LoopTree":
            return str(model["id"])
    raise AssertionError("the page has no tree")


async def types(page: Pageless, until: float) -> None:
    """Another page, whose person opens a text that takes seconds to read, over and over."""
    typist = Pageless(page.url, DRAGS[0], -1)
    await typist.open()
    while time.perf_counter() < until:
        await typist._tell({"kind": "open_text", "text": HEAVY})
        await asyncio.sleep(5)


async def visits(url: str, until: float) -> list[float]:
    """What a visitor waits for a word of the server, ms."""
    times: list[float] = []
    while time.perf_counter() < until:
        began = time.perf_counter()
        await AsyncHTTPClient().fetch(f"{url}/api", raise_error=False, request_timeout=LONGEST_WAIT_S)
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(1)
    return times


async def run(
    url: str, count: int, seconds: float, pid: int | None, *, each: bool = False, heavy: bool = False
) -> None:
    AsyncHTTPClient.configure(None, max_clients=200)
    load = os.getloadavg()[0]
    pages = [Pageless(url, DRAGS[n % len(DRAGS)], n) for n in range(count)]
    for group in range(0, count, 5):
        await asyncio.gather(*(page.open() for page in pages[group : group + 5]))
    spent, began = _processor_seconds(pid), time.perf_counter()
    until = began + seconds
    lives = [page.live(until) for page in pages] + ([types(pages[0], until)] if heavy else [])
    *_, visited = await asyncio.gather(*lives, visits(url, until))
    took = time.perf_counter() - began
    cores = (_processor_seconds(pid) - spent) / took
    print(f"{count} pages, {took:.0f} s, load before {load:.1f}, server {cores:.2f} cores, page opened in p50 "
          f"{statistics.median(p.opened_s for p in pages):.1f} s (five at once)")  # fmt: skip
    every = [t for page in pages for t in page.times]
    worst = max(pages, key=lambda page: page.median)
    _row("all pages", every)
    _row("worst page", worst.times)
    _row("a visitor", visited)
    unfair, starved = _fairness(pages)
    p95s, longest = sorted(_p95(p.times) for p in pages), sorted(max(p.times, default=0.0) for p in pages)
    print(
        f"pages: p50 {_spread([p.median for p in pages])}, p95 {_spread(p95s)}, longest {_spread(longest)} ms (least, middle, most)"
    )
    print(f"unfair {unfair:.2f}, starved {len(starved)} {[f'{p.example} {p.number}' for p in starved] or ''}")
    if each:
        for page in sorted(pages, key=lambda p: (p.example, p.number)):
            _row(f"{page.number} {page.example}", page.times)
    fewest, most = min(len(p.times) for p in pages), max(len(p.times) for p in pages)
    acts = len(every)
    spent_each = (
        f", {(_processor_seconds(pid) - spent) / acts * 1000:.0f} ms of the server's processor each, work ahead included"
        if pid
        else ""
    )
    print(f"drops and undos of a page: {fewest} to {most}{spent_each}")
    print(f"| {count} | {load:.0f} | {cores:.2f} cores | {statistics.median(every):.0f} ms | {_p95(every):.0f} ms | {max(every):.0f} ms "
          f"| {worst.median:.0f} ms | {unfair:.2f} | {fewest} to {most} |")  # fmt: skip


def _fairness(pages: list[Pageless]) -> tuple[float, list[Pageless]]:
    """The worst page's median over that of its example's pages, and the pages that starve."""
    usual = {
        page.example: statistics.median(
            t for p in pages if p.example == page.example for t in p.times or [LONGEST_WAIT_S * 1000]
        )
        for page in pages
    }
    acts = statistics.median(len(page.times) for page in pages)
    starved = [p for p in pages if p.median > 2 * usual[p.example] or len(p.times) < acts / 2]
    return max(p.median / usual[p.example] for p in pages), starved


def _p95(times: list[float]) -> float:
    ranked = sorted(times)
    return ranked[min(len(ranked) - 1, int(len(ranked) * 0.95))] if ranked else LONGEST_WAIT_S * 1000


def _spread(values: list[float]) -> str:
    return f"{min(values):.0f}, {statistics.median(values):.0f}, {max(values):.0f}"


def _row(name: str, times: list[float]) -> None:
    if not times:
        print(f"{name:12}     0  nothing came of it")
        return
    print(f"{name:12} {len(times):5}  p50 {statistics.median(times):6.0f} ms  p95 {_p95(times):6.0f} ms  "
          f"longest {max(times):6.0f} ms")  # fmt: skip


def _processor_seconds(pid: int | None) -> float:
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A server of its own."""
    code = "from tilewright.app.shell import serve; serve(port=0)"
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        found = re.search(r"http://\S+?(?=/?\s)", process.stdout.readline() + " ")
        assert found is not None, "the server did not start"
        try:
            yield found[0].rstrip("/"), process.pid
        finally:
            process.terminate()
            process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description="Many pages that drag at a human's pace.")
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--heavy", action="store_true", help="somebody else reads a text that takes seconds")
    parser.add_argument("--each", action="store_true", help="the figures of every page")
    parser.add_argument("--url")
    arguments = parser.parse_args()
    shown = {"each": arguments.each, "heavy": arguments.heavy}
    if arguments.url:
        asyncio.run(run(arguments.url, arguments.pages, arguments.seconds, None, **shown))
        return
    with server() as (url, pid):
        asyncio.run(run(url, arguments.pages, arguments.seconds, pid, **shown))


if __name__ == "__main__":
    main()
