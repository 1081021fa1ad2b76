// A small timeline for the tests: a copy and a computation, in a loop of four iterations that is drawn once.

/** @import { SentWindow } from "./windows.js" */
/** @import { Timeline as TimelineData, TimelineRepeat as Repeat } from "../views.js" */

/**
 * @param {Partial<Repeat>} [fields]
 * @returns {Repeat}
 */
export function repeat(fields = {}) {
  return {
    start: 0,
    end: 100,
    cycles: 100,
    extra: 3,
    first: 0,
    last: 2,
    depth: 0,
    extents: [4],
    iterations: 1,
    level: 0,
    names: ["ko"],
    base: [0],
    length: [[100, []]],
    more: {},
    runs: 4,
    moves: {},
    ...fields,
  };
}

/**
 * The run takes 100 cycles of compressed time and 400 of real time.
 * @param {Partial<TimelineData>} [fields]
 * @returns {TimelineData}
 */
export function timelineData(fields = {}) {
  const loops = [{ name: "ko", row: "ko", extent: 4 }];
  return {
    report: 7,
    cycles: 400,
    length: 100,
    repeats: [repeat()],
    engines: [
      { name: "dma", engine: "dma", kind: "dma", busy: 160, tasks: 4, waits: { idle: 60 } },
      { name: "matrix", engine: "matrix", kind: "matrix", busy: 200, tasks: 4, waits: { data: 160 } },
    ],
    rows: [
      {
        name: "vtcm",
        scope: "local.vtcm",
        scale: 2048,
        capacity: 2048,
        limit: 1,
        text: "2 KiB of 2 KiB",
        over: false,
        kind: "memory",
        tip: "",
      },
    ],
    cells: [
      { row: 0, label: "A#0", buffer: "A", colour: 1, bytes: "1 KiB", address: "0", shared: false, low: 0, high: 0.5 },
      {
        row: 0,
        label: "A#1",
        buffer: "A",
        colour: 1,
        bytes: "1 KiB",
        address: "1,024",
        shared: false,
        low: 0.5,
        high: 1,
      },
    ],
    templates: [
      { lane: 0, block: "copy", rows: ["copy"], loops, colour: 1, grid: [0, 0] },
      { lane: 1, block: "C", rows: ["C"], loops, colour: 2, grid: [0, 0] },
    ],
    kinds: [
      { template: 0, reads: ["A"], writes: ["A#0"], inputs: [], outputs: [[0, "A#0"]], place: 0 },
      { template: 1, reads: ["A#0"], writes: [], inputs: [[0, "A#0"]], outputs: [], place: 0 },
    ],
    waits: [
      { lane: 1, cause: "data", what: "A#0", buffer: "A", block: "copy", colour: 1, row: "copy" },
      { lane: 0, cause: "idle", what: "", buffer: "", block: "", colour: 9, row: "" },
    ],
    lines: { copy: 4, C: 6 },
    figures: [["Tasks", "8"]],
    buffers: [{ name: "A", colour: 1 }],
    note: "",
    overview: { count: 1, lanes: ["/w==", "/w=="], overlap: "AA==" },
    drawn: 1500,
    run: exactWindow(),
    ...fields,
  };
}

/**
 * All of compressed time: `copy` to 40, then `C` from 40 to 90.
 * @param {Partial<Extract<SentWindow, { exact: true }>>} [fields]
 * @returns {Extract<SentWindow, { exact: true }>}
 */
export function exactWindow(fields = {}) {
  return {
    folded: true,
    start: 0,
    end: 100,
    exact: true,
    tasks: { kind: [0, 1], start: [0, 40], length: [40, 50], place: [[0], [0]], row: [0, 1] },
    waits: { start: [0, 90], length: [40, 10], of: [0, 1] },
    overlaps: { start: [], length: [], of: [] },
    fills: { start: [0], length: [40], of: [0] },
    lives: { start: [40], length: [50], of: [0] },
    bytes: [{ at: [0, 90], live: [1024, 0], allocated: [1024, 0], least: [] }],
    ...fields,
  };
}

/**
 * The whole run in real time, as two bins.
 * @returns {Extract<SentWindow, { exact: false }>}
 */
export function binnedWindow() {
  const bins = { count: 2, task: /** @type {[number, string][]} */ ([[0, "/wA="]]), overlap: [], fill: [], live: [] };
  return {
    folded: false,
    start: 0,
    end: 400,
    exact: false,
    bins: { ...bins, wait: [[0, "AID="]] },
    bytes: [{ at: [0], live: [1024], allocated: [1024], least: [0] }],
  };
}
