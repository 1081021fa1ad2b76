// Problems that differ only in names and numbers are one entry with a count.

/** @import { Problem } from "../views.js" */

const MOST_APART = 3;

/**
 * What alike problems have in common: the message without what is a name or a number.
 * @param {Problem} problem
 */
function kindOf({ severity, code, message }) {
  return `${severity} ${code} ${message.replace(/[\w.#[\]]*[\d_][\w.#[\]]*/g, "#")}`;
}

/**
 * The problems in groups, in the order of the first of each; up to MOST_APART alike ones stay apart.
 * @param {Problem[]} problems
 * @returns {Problem[][]}
 */
export function groupAlike(problems) {
  /** @type {Map<string, Problem[]>} */
  const kinds = new Map();
  for (const problem of problems) {
    const kind = kindOf(problem);
    kinds.set(kind, [...(kinds.get(kind) ?? []), problem]);
  }
  return [...kinds.values()].flatMap((group) => (group.length > MOST_APART ? [group] : group.map((one) => [one])));
}
