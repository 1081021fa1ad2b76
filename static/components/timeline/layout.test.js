import assert from "node:assert/strict";
import { test } from "node:test";
import { GUTTER, MARK, cellBand, isDense, layoutOf, timeAt, xAt } from "./layout.js";
import { timelineData, repeat } from "./example.js";

test("lanes and rows follow one another, above the axis", () => {
  const layout = layoutOf(timelineData(), 800, 400, true);
  assert.equal(layout.lanes.length, 2);
  assert.equal(layout.lanes[1].top, layout.lanes[0].top + layout.lanes[0].height);
  assert.ok(layout.rows[0].top > layout.lanesEnd && layout.rows[0].top + layout.rows[0].height < layout.bottom);
  assert.equal(layout.height, 400);
});

test("pinned rows come first, lanes before memories, and no two rows overlap", () => {
  const plain = layoutOf(timelineData(), 800, 400, true);
  const layout = layoutOf(timelineData(), 800, 400, true, { lanes: [1], rows: [0] });
  assert.equal(layout.lanes[1].top, layout.top);
  const bands = [layout.lanes[1], layout.rows[0], layout.lanes[0]];
  bands.slice(1).forEach(({ top }, n) => assert.ok(top >= bands[n].top + bands[n].height));
  assert.ok(layout.rows[0].top + layout.rows[0].height < layout.pinnedEnd);
  assert.deepEqual([layout.lanesTop, layout.bottom], [layout.pinnedEnd, plain.bottom]);
  assert.equal(plain.pinnedEnd, plain.top);
});

test("a small stage is exceeded: lanes and rows keep their least heights", () => {
  const layout = layoutOf(timelineData(), 800, 50, true);
  assert.ok(layout.height > 50 && layout.bar > 10);
});

test("marks of repeats take a row for each level, three at most, where they are shown", () => {
  const data = timelineData({ repeats: [0, 1, 2, 3].map((level) => repeat({ level })) });
  assert.equal(layoutOf(data, 800, 400, true).top, 3 * MARK + 2);
  assert.equal(layoutOf(data, 800, 400, false).top, 4);
});

test("positions and times are inverse", () => {
  const view = { start: 100, end: 300 };
  const layout = { width: 800 };
  assert.equal(xAt(view, layout, 100), GUTTER);
  for (const time of [100, 250, 300, 412])
    assert.ok(Math.abs(timeAt(view, layout, xAt(view, layout, time)) - time) < 1e-9);
});

test("cells are stacked from the bottom of their row", () => {
  const data = timelineData();
  const layout = layoutOf(data, 800, 400, true);
  const [low, high] = data.cells.map((cell) => cellBand(layout, cell));
  assert.ok(high.top + high.height <= low.top);
});

test("a run with repeats is dense if its tasks would be narrower than three pixels", () => {
  const engine = { engine: "dma", kind: "dma", busy: 0, waits: {} };
  const run = (/** @type {number} */ tasks, /** @type {number} */ repeats) => ({
    engines: [
      { ...engine, name: "a", tasks: 4 },
      { ...engine, name: "b", tasks },
    ],
    repeats: Array.from({ length: repeats }, repeat),
  });
  assert.ok(isDense(run(400, 1), 600));
  assert.ok(!isDense(run(200, 1), 600));
  assert.ok(!isDense(run(400, 0), 600), "nothing repeats");
});
