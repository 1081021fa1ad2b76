// The layout of a graph in layers, by dagre.

import { Graph, layout } from "@dagrejs/dagre";

/** @import { GraphNode, ModelGraph as GraphData } from "../views.js" */

/** @typedef {{ x: number, y: number, width: number, height: number }} Box The centre and the size. */
/** @typedef {{ x: number, y: number }} Point */

/**
 * @typedef {object} Layout
 * @property {Map<string, Box>} boxes By node.
 * @property {Point[][]} lines The points of each edge.
 * @property {number} width
 * @property {number} height
 */

/**
 * Place the nodes of a graph in layers, each below those that it reads.
 * @param {GraphData} data
 * @param {(node: GraphNode) => { width: number, height: number }} sizeOf
 * @returns {Layout}
 */
export function layersOf(data, sizeOf) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 26, edgesep: 14, ranksep: 30, marginx: 16, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of data.nodes) graph.setNode(node.id, { ...sizeOf(node) });
  for (const { from, to } of data.edges) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = /** @type {{ width?: number, height?: number }} */ (graph.graph());
  return {
    boxes: new Map(data.nodes.map(({ id }) => [id, /** @type {Box} */ (graph.node(id))])),
    lines: data.edges.map(({ from, to }) => /** @type {{ points: Point[] }} */ (graph.edge(from, to)).points),
    width,
    height,
  };
}

/**
 * The data of an SVG path through points, with round bends.
 * @param {Point[]} points
 */
export function pathOf(points) {
  const [first, ...others] = points;
  let path = `M${textOf(first)}`;
  others.forEach((point, n) => {
    const next = others[n + 1];
    if (!next) path += `L${textOf(point)}`;
    else path += `Q${textOf(point)} ${textOf({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return path;
}

const ARROW = { length: 7, half: 3.5 };

/**
 * The data of the SVG path of an arrow's head at the end of a line.
 * @param {Point[]} points
 */
export function arrowOf(points) {
  const [from, to] = points.slice(-2);
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [x, y] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const [backX, backY] = [to.x - x * ARROW.length, to.y - y * ARROW.length];
  const corner = (/** @type {number} */ side) =>
    textOf({ x: backX - side * y * ARROW.half, y: backY + side * x * ARROW.half });
  return `M${textOf(to)}L${corner(1)}L${corner(-1)}z`;
}

/** @param {Point} point */
function textOf({ x, y }) {
  return `${Math.round(10 * x) / 10},${Math.round(10 * y) / 10}`;
}
