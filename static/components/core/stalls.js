// The causes of stalls and the hatchings, made of app/views/timeline/causes.py by tests/support/record/messages.py.

export const CAUSES = {
  data: { word: "operand", hatch: "forward", reason: "Operand not ready: {block} is still filling {what}" },
  slot: { word: "slot", hatch: "back", reason: "No free slot: {block} still uses {what}" },
  flag: { word: "flag", hatch: "cross", reason: "Flag not set: {block} ends before the {what}" },
  port: { word: "port", hatch: "dots", reason: "Port contention: other engines transfer bursts through the {what}" },
  issue: { word: "queue", hatch: "upright", reason: "Queue full: the task could not be issued to the {what}" },
  unit: { word: "unit", hatch: "level", reason: "Unit busy: {what} runs on the same unit" },
  idle: { word: "done", hatch: "sparse", reason: "No further tasks" },
};

/** @type {Record<string, { path: string, width: number }>} */
export const HATCHES = {
  forward: { path: "M0 6 6 0M-1 1 1-1M5 7 7 5", width: 1.3 },
  back: { path: "M0 0 6 6M-1 5 1 7M5-1 7 1", width: 1.3 },
  cross: { path: "M0 6 6 0M0 0 6 6", width: 1.0 },
  dots: { path: "M1.5 1.5h.01M4.5 4.5h.01", width: 2.2 },
  upright: { path: "M1.5 0V6M4.5 0V6", width: 1.3 },
  level: { path: "M0 1.5H6M0 4.5H6", width: 1.3 },
  sparse: { path: "M0 5H6", width: 1.3 },
};
