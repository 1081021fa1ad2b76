"""Latency of opening a large program: a real Chromium, the real server, a file of TVMScript chosen on the start screen.

The program is a chain of elementwise blocks (`chain_program` of growth.py). Measured from the browser's `input` event to the end of the
first frame that shows the loop tree, and the processor time of the server and of the browser meanwhile, which depends less on the load
of the machine than the time. The row is the least of several rounds.

Run: `python bench/opening.py [--rounds 5] [--blocks 100 300]`. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH).
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from drop import FLAGS, Served, chromium, server
from growth import chain_program
from playwright.sync_api import Browser, sync_playwright

BLOCKS = (100, 300)
HEAD = "| blocks | server CPU | browser CPU | first tree |\n|---:|---:|---:|---:|"

WATCH = """
() => {
  const find = (node, selector) => {
    for (const inner of node.querySelectorAll("*")) {
      if (inner.matches(selector)) return inner;
      const found = inner.shadowRoot && find(inner.shadowRoot, selector);
      if (found) return found;
    }
    return null;
  };
  window.benchOpened = new Promise((resolve) => {
    document.addEventListener("input", (event) => {
      const start = event.timeStamp;
      const look = () => {
        const row = find(document, '[role="treeitem"]');
        if (!row?.offsetHeight) return requestAnimationFrame(look);
        const channel = new MessageChannel(); // runs once the frame is out
        channel.port1.onmessage = () => resolve(performance.now() - start);
        channel.port2.postMessage(0);
      };
      requestAnimationFrame(look);
    }, {capture: true, once: true});
  });
}
"""


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--rounds", type=int, default=5)
    reader.add_argument("--blocks", type=int, nargs="+", default=list(BLOCKS))
    options = reader.parse_args()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {options.rounds} rounds; the least of each, ms\n")
    print(HEAD)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for blocks in options.blocks:
            print(measured(browser, blocks, options.rounds).row, flush=True)
        browser.close()


class Opening(NamedTuple):
    """The least times of a program, in milliseconds."""

    blocks: int
    server_cpu: float
    browser_cpu: float
    tree: float

    @property
    def row(self) -> str:
        """A row of the table."""
        return f"| {' | '.join(f'{figure:.0f}' for figure in self)} |"


def measured(browser: Browser, blocks: int, rounds: int) -> Opening:
    """Opens a program `rounds` times, on a new server. The first opening is not counted."""
    text = chain_program(blocks)
    with server() as served:
        found = [opened(browser, served, text) for _ in range(rounds + 1)][1:]
    return Opening(blocks, *(min(times[key] for times in found) for key in ("server", "browser", "tree")))


def opened(browser: Browser, served: Served, text: str) -> dict[str, float]:
    """Milliseconds of one opening, on a fresh page."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(served.url)
    page.locator(".card").first.wait_for()
    page.wait_for_timeout(1000)  # the start screen is at rest
    page.evaluate(WATCH)
    before = served.cpu_ms(), browser_ms(browser)
    content: Any = {"name": "chain.py", "mimeType": "text/x-python", "buffer": text.encode()}
    page.get_by_label("A file", exact=True).set_input_files([content])
    tree = page.evaluate("() => window.benchOpened")
    found = {"server": served.cpu_ms() - before[0], "browser": browser_ms(browser) - before[1], "tree": tree}
    context.close()
    return found


def browser_ms(browser: Browser) -> float:
    """The browser's CPU time: all processes, since the start."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(process["cpuTime"] for process in processes) * 1000


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
