"""How fast the figures of `tilewright.plot` are in a browser: embedding, an update of all data, and the frames of a zoom.

A real Chromium draws each figure alone. An update ends when the figure has painted. Headless Chromium paints without a GPU.

Run: `python bench/plots.py`. Needs playwright and a Chromium ($TILEWRIGHT_CHROMIUM, or on the PATH).
"""

from __future__ import annotations

import statistics
from pathlib import Path

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure
from bokeh.resources import INLINE
from drop import FLAGS, chromium
from playwright.sync_api import sync_playwright
from timeline import tiled

import tilewright
from tilewright import plot
from tilewright.app.plots.study import Amounts, add_marks, jitter, scatter_frame
from tilewright.app.plots.style import Style
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


def scatter_of(count: int) -> figure:
    """A scatter plot of `count` candidates."""
    xs, ys = [1e4 * (1 + jitter(n)) for n in range(count)], [1e5 * (1 + jitter(3 * n)) for n in range(count)]
    style = Style("light")
    drawn = scatter_frame(style, ("Peak", "bytes"), ("Cycles", "cycles"), Amounts(xs), Amounts(ys), 380)
    texts = [""] * count
    data = {"x": xs, "y": ys, "number": [*range(count)], "words": texts, "choices": texts, "why": texts}
    add_marks(drawn, style, "fits", ColumnDataSource(data, name="fits"), many=count > 1_500)
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
        browser.close()


if __name__ == "__main__":
    main()
