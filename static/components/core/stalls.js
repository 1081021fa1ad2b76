// The causes of stalls and the hatchings, made of app/views/timeline/causes.py by tests/support/record/messages.py.

export const CAUSES = {
  data: { word: "operand", hatch: "forward" },
  slot: { word: "slot", hatch: "back" },
  port: { word: "port", hatch: "dots" },
  issue: { word: "queue", hatch: "upright" },
  unit: { word: "unit", hatch: "level" },
  idle: { word: "done", hatch: "sparse" },
};

/** @type {Record<string, { path: string, width: number }>} */
export const HATCHES = {
  forward: { path: "M0 6 6 0M-1 1 1-1M5 7 7 5", width: 1.3 },
  back: { path: "M0 0 6 6M-1 5 1 7M5-1 7 1", width: 1.3 },
  dots: { path: "M1.5 1.5h.01M4.5 4.5h.01", width: 2.2 },
  upright: { path: "M1.5 0V6M4.5 0V6", width: 1.3 },
  level: { path: "M0 1.5H6M0 4.5H6", width: 1.3 },
  sparse: { path: "M0 5H6", width: 1.3 },
};
