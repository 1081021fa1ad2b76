// The pointer on a Bokeh figure of candidates: Bokeh finds the glyphs, the pane shows and opens their candidates.

/** @import { BokehFigure, Plot, PlotEvent, Source } from "../core/bokeh_figure.js" */
/** @import { Pane } from "./model.js" */

/**
 * The candidate under the pointer gets a card; a click chooses it, a double click opens it.
 * @param {BokehFigure} figure
 * @param {Plot} plot
 * @param {Source[]} sources From front to back, with the column "number".
 * @param {Pane} pane
 * @param {(event: PlotEvent) => boolean} [isElsewhere] Whether the pointer is on something else than a candidate.
 */
export function followPointer(figure, plot, sources, pane, isElsewhere = () => false) {
  const found = (/** @type {"inspected" | "selected"} */ what) => {
    for (const source of sources) {
      const at = source[what].indices[0];
      if (at !== undefined) return pane.candidates.byNumber.get(Number(source.data.number[at])) ?? null;
    }
    return null;
  };
  /** @type {ReturnType<typeof found>} */
  let clicked = null;
  plot.on_event("mousemove", (event) => {
    const row = isElsewhere(event) ? null : found("inspected");
    const box = figure.element.getBoundingClientRect();
    const [x, y] = [box.left + event.sx, box.top + event.sy];
    pane.hover(row, { left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 });
  });
  plot.on_event("mouseleave", () => pane.hover(null));
  plot.on_event("tap", (event) => {
    clicked = isElsewhere(event) ? null : found("selected");
    for (const { selected } of sources) if (selected.indices.length) selected.indices = [];
    if (clicked) pane.choose(clicked);
  });
  plot.on_event("doubletap", () => clicked && pane.open(clicked));
}
