"""Latency of the first page: a real Chromium with an empty cache, the real server, no external network.

From the start of the navigation to the end of the first frame that shows the cards of the gallery ("gallery"), or tree, code and timeline
of an example ("notebook"). "first byte" is the start of the server's answer, "parsed" the end of all scripts, "server CPU" the processor
time of the server until then. Below: the fetched files, and the server's time for building the page.

Run: `python bench/first_page.py [--rounds 7]`. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH).
Times depend on the machine and its load. The goal is 1.5 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from drop import FLAGS, Served, chromium, quickest, server
from playwright.sync_api import Browser, sync_playwright

from tilewright.app.page.notebook_catalog import NotebookCatalog
from tilewright.app.page.page import Page
from tilewright.app.session.session import Session
from tilewright.app.views.shell.gallery import load_examples

WATCH = """
window.benchFirst = new Promise((resolve) => {
  const roots = (node, found = []) => {
    found.push(node);
    for (const inner of node.querySelectorAll("*")) if (inner.shadowRoot) roots(inner.shadowRoot, found);
    return found;
  };
  let painted = 0;
  const begin = CanvasRenderingContext2D.prototype.setTransform; // what each picture begins with (core/canvas.js)
  CanvasRenderingContext2D.prototype.setTransform = function (...how) { painted += 1; return begin.apply(this, how); };
  const all = (selector) => roots(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  const shown = (selector) => all(selector).some((e) => e.offsetWidth > 0 && e.offsetHeight > 0);
  const done = () => location.pathname.startsWith("/example/")
    ? shown('[role="treeitem"]') && shown(".code-line") && shown("#area-timeline") && painted > 0
    : shown(".card");
  const look = () => {
    if (!done() && performance.now() < 30000) return requestAnimationFrame(look);
    const channel = new MessageChannel(); // runs once the frame is out
    channel.port1.onmessage = () => resolve(performance.now());
    channel.port2.postMessage(0);
  };
  requestAnimationFrame(look);
});
"""

HEAD = (
    "| page | first byte | parsed | least | p50 | p95 | server CPU | requests | KiB |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)
PAGES = (("gallery", ""), ("notebook", "example/vtcm_double_buffer"))

ASK = """
async () => {
  const all = await window.benchFirst;
  const [first] = performance.getEntriesByType("navigation");
  const parts = performance.getEntriesByType("resource");
  return {
    all, first_byte: first.responseStart, parsed: first.domInteractive, loaded: first.loadEventEnd,
    resources: [...parts, first].map((p) => [p.name.split("?")[0].replace(location.origin, ""), p.encodedBodySize]),
  };
}
"""


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--rounds", type=int, default=7)
    options = reader.parse_args()
    print(
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {options.rounds} loads each; ms since the navigation began\n"
    )
    with server() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        print(HEAD)
        for name, path in PAGES:
            print(measured(browser, served, name, path, options.rounds).row, flush=True)
        fetched = loaded(browser, served.url + PAGES[-1][1])["resources"]
        browser.close()
    print("\nWhat was fetched, KiB:\n")
    for path, size in Counter(dict(map(tuple, fetched))).most_common(12):
        print(f"  {size / 1024:8.0f}  {path}")
    print("\nBuilding the page on the server, ms:\n")
    for what, work in (
        ("examples", load_examples),
        ("components", lambda: Page(Session(NoClock()), NotebookCatalog())),
    ):
        print(f"  {quickest(work):8.1f}  {what}")


class FirstPage(NamedTuple):
    """The measurements of a page: times in milliseconds, the requests, and their size in KiB."""

    name: str
    first_byte: float
    parsed: float
    least: float
    p50: float
    p95: float
    cpu: float
    requests: int
    kib: float

    @property
    def row(self) -> str:
        """A row of the table."""
        return f"| {self.name} | {' | '.join(f'{figure:.0f}' for figure in self[1:])} |"


def measured(browser: Browser, served: Served, name: str, path: str, rounds: int) -> FirstPage:
    """Loads a page `rounds` times."""
    loaded(browser, served.url + path)  # warm-up
    loads: list[dict[str, Any]] = []
    for _ in range(rounds):
        before = served.cpu_ms()
        loads.append(loaded(browser, served.url + path))
        loads[-1]["cpu"] = served.cpu_ms() - before
    return summarized(name, loads)


class NoClock:
    """A clock that runs nothing: only the components are built."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Never."""

    def soon(self, work: Callable[[], None]) -> None:
        """Never."""


def loaded(browser: Browser, url: str) -> dict[str, Any]:
    """One load with an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(url, wait_until="commit")
    found = page.evaluate(ASK)
    context.close()
    return found


def summarized(name: str, loads: list[dict[str, Any]]) -> FirstPage:
    times = sorted(load["all"] for load in loads)
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    first, parsed, cpu = (statistics.median(load[key] for load in loads) for key in ("first_byte", "parsed", "cpu"))
    resources = loads[-1]["resources"]
    size = sum(size for _, size in resources) / 1024
    return FirstPage(name, first, parsed, times[0], statistics.median(times), p95, cpu, len(resources), size)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
