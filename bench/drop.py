"""Latency of a drop until it is on the screen: a real Chromium, the real server, the mouse.

Each drag (a block onto a loop of an example) is repeated, each time followed by undo. Measured in the page: from `pointerup` to the end of
the first frame in which tree, code and timeline show the new program. "server" is from the page's message to the arrival of the last part
of the answer, "page" the rest; "CPU" is the processor time of the server meanwhile, which depends less on the load of the machine. "map" is
from the message of the grab to the frame in which the loops show whether they are legal targets, and its processor time. The last row is a
notebook of 187 blocks and loops and a hundred steps (tests/support/programs/transformer.py).

The second table has the parts of the work on the server, as multiples of `plan`, which sizes and report share; evaluating is the drop's
call and its line in the notebook.

Run: `python bench/drop.py [--rounds 20] [--example NAME]`. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH). Times
depend on the machine and its load; compare the ratios.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

from tilewright.app.document import Notebook, apply_call, evaluate, load_document, read_document
from tilewright.app.views.shell.gallery import FOLDER
from tilewright.engine.adopt import call_of
from tilewright.engine.hwsim import simulate
from tilewright.engine.ir import Var
from tilewright.engine.lower import allocations, planned
from tilewright.engine.script import to_script

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.programs.transformer import transformer_notebook  # tests are no package

DRAGS = (
    ("what_moves_what", "compute_at", "W_local", "ii"),
    ("what_moves_what", "reverse_compute_at", "C_local", "ii"),
    ("fused_matmul_relu", "compute_at", "x_local", "k_outer"),
    ("fused_matmul_relu", "reverse_compute_at", "bias_local", "k_outer"),
    ("box_blur", "reverse_compute_at", "blurred_local", "y"),
    ("place_the_copies", "compute_at", "A_local.vtcm", "ko"),
    ("vtcm_two_halves", "compute_at", "A_local.vtcm", "kh"),
    ("vtcm_double_buffer", "compute_at", "A_local.vtcm", "mi"),
    ("transformer", "compute_at", "W_down1_local", "ko_down1"),
)
"""Example, call, block, loop. The next to last turns 400 tasks into 16 528."""

FILES: dict[str, Callable[[], str]] = {"transformer": transformer_notebook}

HEAD = (
    "| example | drop | tasks | map CPU | map p50 | map p95 | CPU p50 | server p50 | page p50 | p50 | p95 |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)
"""Columns of the table of drops."""

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")

LISTEN = """
window.benchTalk = {sent: 0, heard: 0, bars: 0};
window.WebSocket = class extends WebSocket {
  constructor(...how) {
    super(...how);
    // Before Bokeh's listener, which draws. The parts of an answer are small, small and large.
    this.addEventListener("message", ({data}) => {
      if (benchTalk.sent && data.length > 10000) benchTalk.heard ||= performance.now();
      if (data.includes?.('"{\\\\"report\\\\"')) benchTalk.bars += 1;
    });
  }
  send(data) {
    benchTalk.sent ||= performance.now();
    super.send(data);
  }
};
"""

MAP = """
() => {
  const tree = (function find(node) {
    for (const inner of node.querySelectorAll("*")) {
      if (inner.matches(".tw-tree")) return inner;
      const found = inner.shadowRoot && find(inner.shadowRoot);
      if (found) return found;
    }
    return null;
  })(document);
  window.benchMap = () => new Promise((resolve) => {
    benchTalk.sent = 0;
    const look = () => {
      if (!benchTalk.sent || !tree.querySelector(".row[data-offer]")) return requestAnimationFrame(look);
      const channel = new MessageChannel();
      channel.port1.onmessage = () => resolve(performance.now() - benchTalk.sent);
      channel.port2.postMessage(0);
    };
    look();
  });
}
"""

WATCH = """
() => {
  const roots = (node, found = []) => {
    found.push(node);
    for (const inner of node.querySelectorAll("*")) if (inner.shadowRoot) roots(inner.shadowRoot, found);
    return found;
  };
  const all = (selector) => roots(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  const rows = () => all('[role="treeitem"]').map((e) => e.dataset.id + e.getAttribute("aria-level")).join("\\n");
  const text = (selector) => all(selector).map((e) => e.textContent).join("\\n");
  let painted = false;
  const begin = CanvasRenderingContext2D.prototype.setTransform; // what each picture begins with (core/canvas.js)
  CanvasRenderingContext2D.prototype.setTransform = function (...how) { painted = benchTalk.heard > 0; return begin.apply(this, how); };
  window.benchDrop = () => new Promise((resolve) => {
    const before = {tree: rows(), code: text(".code-line"), bars: benchTalk.bars};
    benchTalk.sent = benchTalk.heard = 0;
    painted = false;
    window.addEventListener("pointerup", (event) => {
      const start = event.timeStamp, at = {};
      const looked = new MessageChannel();
      const frame = () => requestAnimationFrame(() => looked.port2.postMessage(0)); // heard once the frame is out
      looked.port1.onmessage = () => {
        const now = performance.now();
        const {sent, heard} = benchTalk;
        if (!heard && now - start < 20000) return frame(); // to look takes time itself
        if (!at.tree && rows() !== before.tree) at.tree = now;
        if (!at.code && text(".code-line") !== before.code) at.code = now;
        if (!at.timeline && benchTalk.bars !== before.bars && painted) at.timeline = now;
        const done = at.tree && at.code && at.timeline;
        if (!done && now - start < 20000) return frame();
        resolve({all: now - start, away: heard - sent, page: now - start - (heard - sent), tree: at.tree - start, done: !!done});
      };
      frame();
    }, {capture: true, once: true});
  });
}
"""


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--rounds", type=int, default=20)
    reader.add_argument("--example", default="")
    options = reader.parse_args()
    drags = [drag for drag in DRAGS if options.example in drag[0]]
    print(
        f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {options.rounds} drops each; ms from the button's release\n"
    )
    print(HEAD)
    with server() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for drag in drags:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            print(dropped(page, served, drag, options.rounds).row, flush=True)
            page.close()
        browser.close()
    print(
        "\n| example | drop | plan ms | evaluate | allocations | simulate | code | sum |\n|---|---|---:|---:|---:|---:|---:|---:|"
    )
    for drag in drags:
        print(parts(drag), flush=True)


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("TILEWRIGHT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Served(NamedTuple):
    """A server: its address and process."""

    url: str
    process: int

    def cpu_ms(self) -> float:
        """The process's CPU time: all threads, since the start."""
        # The clock of another process, computed like clock_getcpuclockid(3) of Linux.
        return time.clock_gettime_ns((~self.process << 3) | 2) / 1e6


@contextmanager
def server(path: Path | None = None) -> Iterator[Served]:
    """`tilewright serve` in a separate process, on a file or folder, or with the gallery."""
    command = [
        sys.executable,
        "-m",
        "tilewright",
        "serve",
        "--no-token",
        "--port",
        "0",
        *([] if path is None else [str(path)]),
    ]
    with TemporaryDirectory() as state:  # no draft of the user costs time, and none remains
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"TILEWRIGHT_STATE_DIR": state},
        )
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "the server did not start"
            yield Served(found[0], process.pid)
        finally:
            process.terminate()
            process.wait(10)


def opened_in(page: Page, url: str, example: str) -> None:
    """The example, or the file, in the page, fully analysed."""
    page.add_init_script(LISTEN)
    if example in FILES:
        page.goto(url)
        content = {"name": f"{example}.py", "mimeType": "text/x-python", "buffer": FILES[example]().encode()}
        page.get_by_label("A file", exact=True).set_input_files([content])  # pyright: ignore[reportArgumentType]
    else:
        page.goto(f"{url}example/{example}")
    page.get_by_role("treeitem").first.wait_for()
    page.locator(":is([data-verdict=tested], [data-verdict=proved])").wait_for(timeout=60_000)
    page.wait_for_function("() => !document.querySelector('[data-doing=steps]')", timeout=120_000)
    page.evaluate(WATCH)
    page.evaluate(MAP)


class Dropped(NamedTuple):
    """The times of a drag in milliseconds; medians except for the two p95."""

    example: str
    drop: str
    tasks: int
    map_cpu: float
    map_p50: float
    map_p95: float
    cpu: float
    server: float
    page: float
    p50: float
    p95: float

    @property
    def row(self) -> str:
        """A row of the first table."""
        return f"| {self.example} | {self.drop} | {self.tasks} | {' | '.join(f'{figure:.0f}' for figure in self[3:])} |"


def dropped(page: Page, served: Served, drag: tuple[str, str, str, str], rounds: int) -> Dropped:
    """Measure a drag, `rounds` times."""
    example, _, block, loop = drag
    opened_in(page, served.url, example)
    steps = page.locator(".step code")
    count = steps.count()
    found: list[dict[str, float]] = []
    for _ in range(rounds + 1):
        maps = grab(page, served, block, loop)
        page.evaluate("() => { window.benchResult = benchDrop(); }")
        before = served.cpu_ms()
        page.mouse.up()
        found.append(page.evaluate("() => window.benchResult") | maps | {"cpu": served.cpu_ms() - before})
        if not found[-1]["done"]:
            alerts = page.locator("[role=alert]").all_inner_texts()
            raise SystemExit(f"{example}: {block} onto {loop} was never drawn: {alerts}")
        page.wait_for_timeout(700)  # until the analyses after the paint have ended
        page.get_by_label("Undo (Ctrl+Z)").click()
        steps.nth(count).wait_for(state="detached")
        page.wait_for_timeout(300)
    del found[0]  # warm-up
    medians = {key: statistics.median(f[key] for f in found) for key in found[0]}

    def p95(key: str) -> float:
        return (
            statistics.quantiles([f[key] for f in found], n=20, method="inclusive")[-1] if rounds > 1 else medians[key]
        )

    figures = [
        medians["map_cpu"],
        medians["map"],
        p95("map"),
        *(medians[key] for key in ("cpu", "away", "page", "all")),
        p95("all"),
    ]
    return Dropped(example, f"{block} onto {loop}", len(simulated(drag).segments), *figures)


def grab(page: Page, served: Served, block: str, loop: str) -> dict[str, float]:
    """Hold the block over the loop until its targets are shown; the time of that."""
    source, target = (page.locator(f'[role="treeitem"][data-id="{row}"]') for row in (block, loop))
    if not source.count():  # a long tree contains only the rows near the viewport
        page.get_by_role("tree").evaluate("(list) => { list.scrollTop = 0; }")
    source.scroll_into_view_if_needed()
    start = source.bounding_box()
    assert start is not None
    page.mouse.move(start["x"] + 60, start["y"] + 10)
    page.mouse.down()
    page.evaluate("() => { window.benchOffers = benchMap(); }")
    before = served.cpu_ms()
    page.mouse.move(start["x"] + 70, start["y"] + 20, steps=3)
    offers = page.evaluate("() => window.benchOffers")
    cpu = served.cpu_ms() - before
    while not target.count():
        page.mouse.wheel(0, 1000)
        page.wait_for_timeout(50)
    target.scroll_into_view_if_needed()
    end = target.bounding_box()
    assert end is not None
    page.mouse.move(end["x"] + 60, end["y"] + end["height"] / 2, steps=8)
    return {"map": offers, "map_cpu": cpu}


def opened(drag: tuple[str, str, str, str]) -> tuple[Notebook, Var]:
    text = FILES.get(drag[0])
    notebook = evaluate(read_document(text()) if text else load_document(FOLDER / f"{drag[0]}.py"))
    assert notebook.schedule is not None
    (loop,) = [v for v in map(loop_var, notebook.schedule.index.loops) if v.name == drag[3]]
    return notebook, loop


def loop_var(loop: Any) -> Var:
    return loop.loop_var


def simulated(drag: tuple[str, str, str, str]) -> Any:
    notebook, loop = opened(drag)
    after = apply_call(notebook, call_of(drag[1], (drag[2], loop)))
    assert after.schedule is not None and after.machine is not None
    return simulate(after.schedule.func, after.machine)


def parts(drag: tuple[str, str, str, str]) -> str:
    """A row of the second table."""
    notebook, loop = opened(drag)
    after = apply_call(notebook, call_of(drag[1], (drag[2], loop)))
    assert after.schedule is not None and after.machine is not None
    schedule, machine = after.schedule, after.machine
    func = schedule.func
    shared = planned(func)
    planning = quickest(lambda: planned(func))
    works: tuple[Callable[[], object], ...] = (
        lambda: apply_call(notebook, call_of(drag[1], (drag[2], loop))),
        lambda: allocations(func, shared),
        lambda: simulate(func, machine, known_plan=shared),
        lambda: to_script(schedule.mod),
    )
    times = [quickest(work) for work in works]
    ratios = " | ".join(f"{t / planning:.2f}" for t in (*times, planning + sum(times)))
    return f"| {drag[0]} | {drag[2]} onto {drag[3]} | {planning:.1f} | {ratios} |"


def quickest(work: Callable[[], object]) -> float:
    """Milliseconds of the quickest of ten runs."""
    times: list[float] = []
    for _ in range(10):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
