import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowOf, layersOf, pathOf } from "./layout.js";

/** @import { GraphNode, ModelGraph as GraphData } from "../views.js" */

/** @type {(id: string) => GraphNode} */
const node = (id) => ({ id, kind: "call", label: id, shape: "" });

/** @type {GraphData} */
const DIAMOND = {
  nodes: ["a", "b", "c", "d"].map(node),
  edges: [
    ["a", "b"],
    ["a", "c"],
    ["b", "d"],
    ["c", "d"],
    ["a", "d"],
  ].map(([from, to]) => ({ from, to, shape: "" })),
};

test("given a graph then each node is below those that it reads, and no two overlap", () => {
  const { boxes, lines, width, height } = layersOf(DIAMOND, ({ id }) => ({ width: 80, height: id === "b" ? 90 : 40 }));
  const box = (/** @type {string} */ id) => boxes.get(id) ?? assert.fail(id);
  for (const { from, to } of DIAMOND.edges)
    assert.ok(box(from).y + box(from).height / 2 < box(to).y - box(to).height / 2, `${from} is above ${to}`);
  assert.ok(Math.abs(box("b").x - box("c").x) >= 80);
  for (const { x, y, width: w, height: h } of boxes.values())
    assert.ok(x - w / 2 >= 0 && y - h / 2 >= 0 && x + w / 2 <= width && y + h / 2 <= height);
  assert.equal(lines.length, DIAMOND.edges.length);
});

test("given the points of an edge then its path ends at the last and the arrow points there", () => {
  const points = [
    { x: 0, y: 0 },
    { x: 10, y: 10 },
    { x: 10, y: 30 },
  ];
  assert.equal(pathOf(points), "M0,0Q10,10 10,20L10,30");
  assert.equal(arrowOf(points), "M10,30L6.5,23L13.5,23z");
});
