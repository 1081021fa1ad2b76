"""How fast the figures of `tilewright.plot` are in a browser: embedding, an update of all data, and the frames of a zoom.

A real Chromium draws each figure alone. An update ends when the figure has painted. Headless Chromium paints without a GPU. At the end, the
figures of the app's Explore pane: embedding, and filters by keys on an axis.

Run: `python bench/plots.py`. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH).
"""

from __future__ import annotations

import statistics
from pathlib import Path

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure
from bokeh.resources import INLINE
from drop import FLAGS, chromium, server
from playwright.sync_api import Browser, sync_playwright
from timeline import tiled

import tilewright
from tilewright import plot
from tilewright.app.plots.study import TOOLTIPS, Amounts, add_marks, jitter, scatter_frame
from tilewright.app.plots.style import Style, add_hover
from tilewright.engine.hwsim import load_machine, simulate

EXAMPLE = Path(tilewright.app.__file__).parents[1] / "static" / "examples" / "vtcm_double_buffer.py"
REPEATS = 12

MEASURE = """async ([item, repeats]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const painted = async () => { await frame(); await frame(); }; // Bokeh paints in a frame after that of the change
  const target = document.body.appendChild(document.createElement("div"));
  target.style.width = "900px";
  const begun = performance.now();
  await Bokeh.embed.embed_item(item, target);
  await painted();
  const embedded = performance.now() - begun;
  const { model } = Bokeh.index.roots.filter((view) => view.model.renderers).at(-1);
  const updates = [], frames = [];
  const sources = model.renderers.map((renderer) => renderer.data_source);
  for (let n = 0; n < repeats; n++) {
    let start = performance.now();
    for (const source of sources)
      source.data = Object.fromEntries(Object.entries(source.data).map(([name, column]) => [name, [...column].reverse()]));
    await painted();
    updates.push(performance.now() - start);
    start = performance.now();
    const { start: low, end: high } = model.x_range;
    model.x_range.setv({ start: low + (high - low) / 50, end: high - (high - low) / 50 });
    await painted();
    frames.push(performance.now() - start);
  }
  target.remove();
  return [embedded, updates, frames];
}"""


TIME_EMBEDDING = """() => {
  window.embedded = [];
  const embed = Bokeh.embed.embed_item;
  Bokeh.embed.embed_item = async (item, target) => {
    const start = performance.now();
    const views = await embed(item, target);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    window.embedded.push(performance.now() - start);
    return views;
  };
}"""

FILTER = """async (head, repeats) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let n = 0; n < repeats; n++) {
    const start = performance.now();
    head.dispatchEvent(new KeyboardEvent("keydown", { key: n % 6 < 3 ? "ArrowDown" : "ArrowUp", bubbles: true }));
    await frame();
    await frame();
    times.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 400));
  }
  return times;
}"""


def measure_pane(browser: Browser, url: str) -> tuple[list[float], list[float]]:
    """The times to embed each figure of the Explore pane, and to filter 432 candidates, in ms."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}example/explore_tiles")
    page.get_by_role("treeitem").first.wait_for()
    page.get_by_role("tab", name="Explore").click()
    page.evaluate(TIME_EMBEDDING)
    page.get_by_role("button", name="Start").click()
    page.locator("[data-status=ended]").wait_for(timeout=300_000)
    filters = page.locator(".xp-head").first.evaluate(FILTER, REPEATS)
    return page.evaluate("window.embedded"), filters


def scatter_of(count: int) -> figure:
    """A scatter plot of `count` candidates."""
    xs, ys = [1e4 * (1 + jitter(n)) for n in range(count)], [1e5 * (1 + jitter(3 * n)) for n in range(count)]
    style = Style("light")
    drawn = scatter_frame(style, ("Peak", "bytes"), ("Cycles", "cycles"), Amounts(xs), Amounts(ys), 380)
    texts = [""] * count
    data = {"x": xs, "y": ys, "number": [*range(count)], "words": texts, "choices": texts, "why": texts}
    add_marks(drawn, style, ColumnDataSource(data, name="fits"), size=5 if count > 1_500 else 7)
    add_hover(drawn, [*drawn.renderers], TOOLTIPS)
    return drawn


def main() -> None:
    report = tilewright.simulate(tilewright.load(EXAMPLE))
    long_run = simulate(tiled(31).func, load_machine("dual-bank-npu"))
    figures = {
        "scatter, 2 000 candidates": scatter_of(2_000),
        "roofline": plot.roofline(report),
        "traffic": plot.traffic(report),
        "timeline, 400 tasks": plot.timeline(report),
        "timeline, 49 000 tasks in bins": plot.timeline(long_run),
    }
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_content(f"<html><head>{INLINE.render()}</head><body></body></html>")
        for name, drawn in figures.items():
            embedded, updates, frames = page.evaluate(MEASURE, [json_item(drawn), REPEATS])
            middle, worst, zoom = statistics.median(updates), max(updates), statistics.median(frames)
            print(
                f"{name:32} embed {embedded:6.0f} ms  update {middle:5.0f} (most {worst:.0f}) ms  zoom frame {zoom:5.0f} ms"
            )
        with server() as served:
            embedded, filters = measure_pane(browser, served.url)
        print(f"Explore pane: embed {', '.join(f'{ms:.0f}' for ms in embedded)} ms")
        print(f"Explore pane: filter {statistics.median(filters):.0f} (most {max(filters):.0f}) ms")
        browser.close()


if __name__ == "__main__":
    main()
