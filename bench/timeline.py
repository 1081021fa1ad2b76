"""Smoothness of the timeline with tens of thousands of tasks: a real Chromium, a real server, wheel, drag and playhead.

A matmul is replayed in full, so that every task is a separate event; then with its repeats skipped and expanded in real time. In the
page: the script time of a frame (its drawing), and the time from frame to frame while the view moves. On the socket: the size of the
first value and of the windows that follow. On the server: the time of a window.

Run: `python bench/timeline.py [--tasks 50000]`. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec
import panel as pn
from drop import FLAGS, chromium
from playwright.sync_api import Page, sync_playwright
from support.browser.alone import ROUTES, alone  # `drop` adds the folder of the tests to the path

from tilewright.app.cli.commands.serve import free_port
from tilewright.app.components.page_root import PageRoot
from tilewright.app.components.timeline import TimelineView
from tilewright.app.protocol.messages import FindTask, FindWindow, decode
from tilewright.app.state.derived import Store
from tilewright.app.views.timeline.value import start_of_task, value_of, window_value
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

MATMUL = """
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({k}, {n}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""

WATCH = """
window.benchFrames = {work: [], apart: [], last: 0};
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (call) => ask((now) => {
  const start = performance.now();
  call(now);
  benchFrames.work.push(performance.now() - start);
});
const beat = (now) => { benchFrames.apart.push(now - benchFrames.last); benchFrames.last = now; ask(beat); };
ask(beat);
"""


def tiled(tiles: int) -> Schedule:
    """A double-buffered matmul of `tiles` x `tiles` x 16 tiles of 64 x 64 x 64: about 51 tasks for each tile of the result."""
    sch = Schedule(parse(MATMUL.format(m=64 * tiles, n=64 * tiles, k=64 * 16)).program)
    i, j, k = sch.get_loops("C")
    (io, ii), (jo, ji), (ko, ki) = (sch.split(loop, factors=[None, 64]) for loop in (i, j, k))
    sch.reorder(io, jo, ko, ii, ji, ki)
    for n in (0, 1):
        copy = sch.cache_read("C", n, "local.vtcm")
        sch.compute_at(copy, ko)
        sch.double_buffer(copy)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local.acc"), jo)
    return sch


class Bench:
    """A page with one timeline, the sizes of its messages, and the times of its answers."""

    def __init__(self, report: Report, schedule: Schedule) -> None:
        self.store = Store()
        self.report = report
        self.times: list[float] = []
        start = time.perf_counter()
        self.value = value_of(report, schedule, self.store)
        self.value_ms = 1000 * (time.perf_counter() - start)
        self.value_bytes = len(msgspec.json.encode(self.value))
        self.sizes: list[int] = []

    def answer(self, message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
        about = {"ticket": message.get("ticket"), "report": id(self.report)}
        start = time.perf_counter()
        match decode(message):
            case FindWindow() as asked:
                window = window_value(self.report, self.store, asked.start, asked.end, folded=asked.folded)
                found = {"kind": "window", **about, "window": window}
            case FindTask() as asked:
                cycle = start_of_task(self.report, self.store, asked.template, asked.place)
                found = {"kind": "found", **about, "cycle": cycle}
            case _:
                return
        self.times.append(1000 * (time.perf_counter() - start))
        self.sizes.append(len(msgspec.json.encode(found)))
        send(found)

    def view(self) -> PageRoot:
        timeline = TimelineView(self.value)
        timeline.on_message(lambda message: self.answer(message, timeline.send))
        return alone(timeline, 1200, 320)


def act(page: Page, name: str) -> dict[str, list[float]]:
    """Perform one gesture with the mouse or the keys, and report the frame times meanwhile."""
    page.evaluate("benchFrames.work = []; benchFrames.apart = []")
    box = page.locator("canvas.plot").bounding_box()
    assert box is not None
    x, y = box["x"] + 700, box["y"] + 20
    page.mouse.move(x, y)
    if name == "zoom":
        for n in range(60):
            page.mouse.wheel(0, -120 if n < 40 else 120)
    elif name == "pan":
        page.mouse.down()
        for n in range(60):
            page.mouse.move(x - 8 * n, y)
        page.mouse.up()
    elif name == "scrub":
        page.mouse.move(x - 300, box["y"] + box["height"] - 8)
        page.mouse.down()
        for n in range(60):
            page.mouse.move(x - 300 + 8 * n, box["y"] + box["height"] - 8)
        page.mouse.up()
    else:
        page.keyboard.press("Space")
        page.wait_for_timeout(2_000)
        page.keyboard.press("Space")
    page.wait_for_timeout(300)
    frames: dict[str, list[float]] = page.evaluate("({work: benchFrames.work, apart: benchFrames.apart})")
    return frames


def quantiles(values: list[float]) -> str:
    ordered = sorted(values) or [0.0]
    return f"p50 {statistics.median(ordered):6.1f}  p95 {ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]:6.1f}"


def measure(name: str, report: Report, schedule: Schedule) -> None:
    bench = Bench(report, schedule)
    tasks = sum(engine.tasks for engine in report.engines.values())
    print(f"\n{name}: {tasks} tasks, {len(report.timeline.numbers)} of them played")
    print(f"  first value {bench.value_bytes / 1024:.0f} KiB in {bench.value_ms:.1f} ms")
    port = free_port(0)
    server = pn.serve(
        bench.view, port=port, address="127.0.0.1", show=False, threaded=True, verbose=False, start=True, **ROUTES
    )
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.add_init_script(WATCH)
            page.wait_for_timeout(500)
            page.goto(f"http://127.0.0.1:{port}")
            page.locator(".playhead[aria-valuetext]").wait_for()
            page.wait_for_timeout(500)
            for action in ("zoom", "pan", "scrub", "play"):
                frames = act(page, action)
                print(
                    f"  {action:6} drawing {quantiles(frames['work'])} ms   frame to frame {quantiles(frames['apart'])} ms"
                )
            browser.close()
    finally:
        server.stop()
    sizes = [size / 1024 for size in bench.sizes]
    print(f"  {len(sizes)} windows: {quantiles(sizes)} KiB, on the server {quantiles(bench.times)} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50_000)
    arguments = parser.parse_args()
    schedule = tiled(max(1, round((arguments.tasks / 49) ** 0.5)))
    machine = load_machine("dual-bank-npu")
    measure("played whole", simulate(schedule.func, machine, whole=10**9), schedule)
    measure("skipped, by the clock", simulate(schedule.func, machine), schedule)


if __name__ == "__main__":
    main()
