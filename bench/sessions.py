"""Many people on one server: clients without a browser that drag at a human's pace, each over its own websocket.

Each page opens an example, grabs a block, drops it shortly after, pauses, and undoes it. The latency is the time from the message of the
drop (or of undo) to the arrival of the new tree. "worst page" is the page with the largest median. "unfair" is the ratio of that median to
the median of all pages with the same example (examples may differ in speed, pages may not). "starved" counts pages whose median is more
than twice as large, or that performed less than half as many acts as the others. Meanwhile `/api` is requested once a second, for the
latency of a visitor. `--heavy` adds a page that opens a text which needs seconds to evaluate. The last line is that of the table in
docs/security.md.

Run: `python bench/sessions.py [--pages 50] [--seconds 60] [--pace 25] [--heavy] [--each] [--url ADDRESS]`. ADDRESS is the one printed by a
running server, with its token; without it a server is started. Opening 50 pages needs about as long as dragging in them. Times depend on
the machine and its load; the load before the run is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

from tornado.httpclient import AsyncHTTPClient

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.sessions.pageless import ACTS_PER_MINUTE, DRAGS, LONGEST_WAIT_S, Pageless, Server, server_at, started

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


async def types(page: Pageless, until: float) -> None:
    """Another page that repeatedly opens a text which needs seconds to evaluate."""
    typist = Pageless(page.server, DRAGS[0], -1)
    await typist.open()
    while time.perf_counter() < until:
        await typist.send({"kind": "open_text", "text": HEAVY})
        await asyncio.sleep(5)


async def visits(server: Server, until: float) -> list[float]:
    """A visitor's latency for one request, ms."""
    times: list[float] = []
    while time.perf_counter() < until:
        began = time.perf_counter()
        await AsyncHTTPClient().fetch(
            f"{server.url}/api", headers=server.headers, raise_error=False, request_timeout=LONGEST_WAIT_S
        )
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(1)
    return times


async def run(
    server: Server, count: int, seconds: float, *, pace: float, each: bool = False, heavy: bool = False
) -> None:
    AsyncHTTPClient.configure(None, max_clients=200)
    load = os.getloadavg()[0]
    pages = [Pageless(server, DRAGS[n % len(DRAGS)], n) for n in range(count)]
    for group in range(0, count, 5):
        await asyncio.gather(*(page.open() for page in pages[group : group + 5]))
    spent, began = server.processor_seconds, time.perf_counter()
    until = began + seconds
    lives = [page.live(until, pace) for page in pages] + ([types(pages[0], until)] if heavy else [])
    *_, visited = await asyncio.gather(*lives, visits(server, until))
    took = time.perf_counter() - began
    cores = (server.processor_seconds - spent) / took
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
    print(f"assumed: {pace:.0f} acts a minute of a person who never waits, {count * pace / 60:.1f} acts/s of {count}; "
          f"done: {acts / took:.1f} acts/s")  # fmt: skip
    spent_each = (
        f", {(server.processor_seconds - spent) / acts * 1000:.0f} ms of the server's processor each, work ahead included"
        if server.pid
        else ""
    )
    print(f"drops and undos of a page: {fewest} to {most}{spent_each}")
    print(f"| {count} | {load:.0f} | {cores:.2f} cores | {statistics.median(every):.0f} ms | {_p95(every):.0f} ms | {max(every):.0f} ms "
          f"| {worst.median:.0f} ms | {unfair:.2f} | {fewest} to {most} |")  # fmt: skip


def _fairness(pages: list[Pageless]) -> tuple[float, list[Pageless]]:
    """The worst page's median relative to all pages with its example, and the starved pages."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Many pages that drag at a human's pace.")
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pace", type=float, default=ACTS_PER_MINUTE, help="drops and undos of a person in a minute")
    parser.add_argument("--heavy", action="store_true", help="beside another session that reads a text for seconds")
    parser.add_argument("--each", action="store_true", help="the figures of every page")
    parser.add_argument("--url", help="the address that a running server printed, with its token")
    arguments = parser.parse_args()
    shown = {"pace": arguments.pace, "each": arguments.each, "heavy": arguments.heavy}
    if arguments.url:
        asyncio.run(run(server_at(arguments.url), arguments.pages, arguments.seconds, **shown))
        return
    with started() as server:
        asyncio.run(run(server, arguments.pages, arguments.seconds, **shown))


if __name__ == "__main__":
    main()
