"""The memory of a server: before any page, with pages open, and a minute after they closed, in several rounds.

Each page opens an example, drops a block and undoes the drop a few times without a pause, then closes its websocket. Bokeh discards its
session 15 to 32 s later. Meanwhile the server is idle; it releases the memory of closed pages after two idle seconds.
"warm" is the memory a minute after one page of each example has closed: modules that are loaded on first use, and caches.

Run: `python bench/memory.py [--pages 50] [--rounds 4] [--acts 4] [--after 60]`; a server is started for it. Needs /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tornado.httpclient import AsyncHTTPClient

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.sessions.pageless import DRAGS, Pageless, Server, started

AT_ONCE = 5
"""Pages that are opened concurrently."""


async def visit(server: Server, count: int, acts: int) -> float:
    """Open pages, act in each, close them. The resident memory before the first closes, MiB."""
    pages = [Pageless(server, DRAGS[n % len(DRAGS)], n) for n in range(count)]
    for first in range(0, count, AT_ONCE):
        group = pages[first : first + AT_ONCE]
        await asyncio.gather(*(page.open() for page in group))
        await asyncio.gather(*(page.act(acts) for page in group))
    used = server.resident_mib
    for page in pages:
        page.close()
    return used


async def measure(server: Server, count: int, rounds: int, acts: int, after_s: float) -> None:
    """Print a row for each round."""
    AsyncHTTPClient.configure(None, max_clients=200)
    await asyncio.sleep(3)
    start = server.resident_mib
    await visit(server, len(DRAGS), acts)
    await asyncio.sleep(after_s)
    warm = server.resident_mib
    print(f"start {start:.0f} MiB, warm {warm:.0f} MiB")
    print(f"| pages so far | with {count} open | {after_s:.0f} s after they closed | of the start | of warm |")
    print("|---:|---:|---:|---:|---:|")
    for number in range(1, rounds + 1):
        used = await visit(server, count, acts)
        await asyncio.sleep(after_s)
        left = server.resident_mib
        print(
            f"| {number * count} | {used:.0f} MiB | {left:.0f} MiB | {left / start:.0%} | {left / warm:.0%} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory of a server whose pages open and close.")
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--acts", type=int, default=4, help="drops of each page, each undone")
    parser.add_argument(
        "--after", type=float, default=60, help="seconds between the end of a round and its measurement"
    )
    given = parser.parse_args()
    with started() as server:
        asyncio.run(measure(server, given.pages, given.rounds, given.acts, given.after))


if __name__ == "__main__":
    main()
