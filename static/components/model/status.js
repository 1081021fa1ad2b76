// The words, the sign and the colour of a kernel. Colour is never the only sign.

/** @import { KernelRow as Kernel } from "../views.js" */

/** @typedef {Kernel["status"]} Status */

/** @type {{ [status in Status]: [sign: string, label: string] }} */
export const STATUSES = {
  pending: ["◌", "not simulated yet"],
  error: ["✘", "error"],
  wrong: ["✘", "wrong result"],
  unscheduled: ["○", "unscheduled"],
  scheduled: ["●", "scheduled"],
  tested: ["✔", "tested"],
  proved: ["✔", "proved"],
};

/**
 * A CSS colour of a kernel: its own if it is called more than once, else grey.
 * @param {Kernel | undefined} kernel
 */
export const colorOf = (kernel) =>
  kernel?.hue === null || kernel === undefined ? "var(--tw-faint)" : `var(--tw-buffer-${kernel.hue})`;

/**
 * A part from 0 to 1 in percent.
 * @param {number} share
 */
export function percent(share) {
  const value = 100 * share;
  return `${value >= 9.95 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/**
 * What is known about a kernel, line by line.
 * @param {Kernel} kernel
 * @returns {[label: string, text: string][]}
 */
export function facts(kernel) {
  const [sign, label] = STATUSES[kernel.status];
  const status = `${sign} ${label}${kernel.detail ? `: ${kernel.detail}` : ""}`;
  /** @type {[string, string][]} */
  const found = [["status", kernel.over ? `${status}, ${kernel.over} over capacity` : status]];
  if (!kernel.cycles) return found;
  const calls = kernel.calls > 1 ? `${kernel.calls} × ${kernel.each} = ` : "";
  found.push(["cycles", `${calls}${kernel.cycles_text}, ${percent(kernel.share)} of the inference`]);
  if (kernel.bound) found.push(["bound", `${kernel.bound_text}, ratio ${kernel.ratio}`]);
  const loads = Object.entries(kernel.loads).filter(([, load]) => load > 0);
  if (loads.length) found.push(["busy", loads.map(([name, load]) => `${name} ${percent(load)}`).join(", ")]);
  const peaks = Object.entries(kernel.peaks).filter(([, [part]]) => part > 0);
  if (peaks.length)
    found.push(["on chip", peaks.map(([name, [part, text]]) => `${name} ${text} (${percent(part)})`).join(", ")]);
  return found;
}
