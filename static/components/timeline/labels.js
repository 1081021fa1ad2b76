// Labels that are cut to the available width.

const CHARACTER = 5.7; // mean width in pixels

/**
 * `text` cut to `width` pixels; "" if less than three characters fit.
 * @param {string} text
 * @param {number} width
 */
export function shortened(text, width) {
  const count = Math.floor(width / CHARACTER);
  if (text.length <= count) return text;
  return count < 3 ? "" : `${text.slice(0, count - 1)}…`;
}

/**
 * `text` cut to `width` pixels, with the whole of `end` behind it.
 * @param {string} text
 * @param {string} end
 * @param {number} width
 */
export function shortenedBefore(text, end, width) {
  return `${shortened(text, width - end.length * CHARACTER)}${end}`;
}

/**
 * The label of a slot, such as `A_local.vtcm#1`: its number stays.
 * @param {string} label
 * @param {number} width
 */
export function slotLabel(label, width) {
  const [name, slot] = label.split("#");
  return shortenedBefore(name, slot === undefined ? "" : `#${slot}`, width);
}

/**
 * The block of a task with its innermost index, or the block alone where both do not fit.
 * @param {import("./model.js").Task} task
 * @param {number} width
 */
export function taskLabel(task, width) {
  const { block } = task.template;
  const text = [block, innermostIndex(task)].filter(Boolean).join(" ");
  return shortened(text, width) === text ? text : shortened(block, width);
}

/**
 * `ko=3`; "" without loops.
 * @param {import("./model.js").Task} task
 */
export function innermostIndex({ template, place }) {
  const last = template.loops.length - 1;
  return last < 0 ? "" : `${template.loops[last].name}=${place[last]}`;
}
