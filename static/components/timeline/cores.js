// The cores of a chip: which block each runs. The tasks of the timeline are those of the first core, with other blocks on other cores.

/** @import { ChipCores, CoreClass, TaskKind, TaskTemplate as Template } from "../views.js" */

/**
 * The loops around a task that count blocks: the range of their places, and their extents.
 * @param {Template} template
 */
function gridOf({ grid: [first, last], loops }) {
  return { first, last, extents: loops.slice(first, last).map(({ extent }) => extent) };
}

/**
 * @param {number[]} index
 * @param {number[]} extents
 */
function rank(index, extents) {
  return extents.reduce((number, extent, n) => number * extent + index[n], 0);
}

/**
 * @param {number} number
 * @param {number[]} extents
 */
function indexOf(number, extents) {
  /** @type {number[]} */
  const index = [];
  for (const extent of [...extents].reverse()) {
    index.unshift(number % extent);
    number = Math.floor(number / extent);
  }
  return index;
}

/**
 * @param {number[]} place
 * @param {{ first: number, last: number, extents: number[] }} grid
 * @param {number} block
 */
function placeOf(place, { first, last, extents }, block) {
  return [...place.slice(0, first), ...indexOf(block, extents), ...place.slice(last)];
}

/** @param {number[]} extents @param {ChipCores} chip */
function blocksPerCore(extents, chip) {
  return Math.ceil(extents.reduce((product, extent) => product * extent, 1) / chip.cores);
}

/**
 * The iterations of a task on a core, from those on the first core; the same for a core that has no such block.
 * @param {ChipCores | null} chip
 * @param {number} core
 * @param {Template} template
 * @param {TaskKind} kind
 * @param {number[]} place
 */
export function placeOn(chip, core, template, kind, place) {
  const grid = gridOf(template);
  if (!chip?.numbers || !grid.extents.length) return place;
  const { step, is_static: isStatic } = chip.numbers;
  const wave = Math.floor(rank(place.slice(grid.first, grid.last), grid.extents) / step) * step;
  const block = isStatic
    ? core * blocksPerCore(grid.extents, chip) + wave + kind.place
    : wave + kind.place * chip.cores + core;
  const isInside = block < grid.extents.reduce((product, extent) => product * extent, 1);
  return isInside ? placeOf(place, grid, block) : place;
}

/**
 * The core that runs a task at given iterations, the place of the block on it, and the iterations on the first core.
 * @param {ChipCores | null} chip
 * @param {Template} template
 * @param {number[]} place
 */
export function coreOf(chip, template, place) {
  const grid = gridOf(template);
  if (!chip?.numbers || !grid.extents.length) return { core: 0, held: 0, place };
  const { step, stride, is_static: isStatic } = chip.numbers;
  const block = rank(place.slice(grid.first, grid.last), grid.extents);
  const per = blocksPerCore(grid.extents, chip);
  const core = isStatic ? Math.floor(block / per) : block % chip.cores;
  const own = isStatic ? block % per : block;
  const held = Math.floor((own % step) / (isStatic ? 1 : chip.cores));
  return { core, held, place: placeOf(place, grid, Math.floor(own / step) * step + held * stride) };
}

/**
 * The class of a core.
 * @param {ChipCores} chip
 * @param {number} core
 * @returns {CoreClass | undefined}
 */
export function classOf(chip, core) {
  return chip.classes.findLast(({ first }) => first <= core);
}
