// The timeline's values as app/views/timeline sends them, and windows as the browser keeps them.
//
// Times are in cycles. Compressed time contains each repeat once, real time all its copies. Lanes (engines) and rows (memories) are numbered as
// they are listed; `kind`, `of` and the numbers of bands are indices of the tables.

/** @import { Cause } from "../core/colors.js" */
/** @import { Blank } from "../core/types.js" */

/**
 * The tables and the first window. Without a report `cycles` is 0, the tables are empty, and `overview` and `window` are missing.
 * @typedef {object} TimelineData
 * @property {number} report Identifies the report.
 * @property {number} cycles The run in real time.
 * @property {number} length The run in compressed time.
 * @property {Repeat[]} repeats
 * @property {Engine[]} engines
 * @property {MemoryRow[]} rows
 * @property {Cell[]} cells
 * @property {Template[]} templates
 * @property {TaskKind[]} kinds
 * @property {WaitKind[]} waits
 * @property {Record<string, number>} lines The line of the TVMScript text of each row of the tree.
 * @property {[name: string, value: string][]} figures
 * @property {{ name: string, colour: number }[]} buffers
 * @property {string} note
 * @property {Blank | null} [blank]
 * @property {{ count: number, lanes: string[], overlap: string }} [overview] Shares of bins of the run, as bytes in base 64.
 * @property {SentWindow} [window]
 */

/**
 * A polynomial in the copies of repeats: each term is a factor times binomial coefficients, the copy of a repeat over k.
 * @typedef {[factor: number, orders: [repeat: number, k: number][]][]} Series
 */

/**
 * An interval of compressed time that occurs `extra` more times in real time, `cycles` apart.
 * @typedef {object} Repeat
 * @property {number} start
 * @property {number} end
 * @property {number} cycles
 * @property {number} extra
 * @property {number} first The rows of its tasks are from `first` to `last`, exclusive.
 * @property {number} last
 * @property {number} depth The number of loops around the repeated ones.
 * @property {number[]} extents Extents of the repeated loops.
 * @property {number} iterations The iterations in one copy.
 * @property {number} level The number of repeats around this one.
 * @property {string[]} names Names of the repeated loops.
 * @property {number[]} base The indices of the repeated loops in the first copy.
 * @property {Series} length The cycles of a copy; `cycles` are those of the first.
 * @property {Record<number, number>} more The copies by which it grows with each copy of a repeat around it; `extra` are those in the first.
 * @property {number} runs The number of copies in the whole run.
 * @property {Record<number, number[]>} moves By row: the iterations by which the inner loops advance with each copy.
 */

/** @typedef {{ name: string, kind: string, busy: number, tasks: number, waits: Partial<Record<Cause, number>> }} Engine */

/**
 * A memory; `limit` is its capacity as a part of the row's height, 0 if it is beyond the scale.
 * @typedef {object} MemoryRow
 * @property {string} name
 * @property {string} scope
 * @property {number} scale The bytes that the row's height represents.
 * @property {number} capacity
 * @property {number} limit
 * @property {string} text
 * @property {boolean} over Whether the capacity is exceeded.
 */

/**
 * A slot of a buffer at a byte `address`; `low` and `high` are parts of its row's height. Other slots use the addresses of a `shared` one at
 * other times.
 * @typedef {{ row: number, label: string, buffer: string, colour: number, bytes: string, address: string, shared: boolean, low: number,
 *   high: number }} Cell
 */

/**
 * The tasks of one block: the loops around it, and the rows of the tree for both.
 * @typedef {object} Template
 * @property {number} lane
 * @property {string} block
 * @property {string[]} rows
 * @property {{ name: string, row: string, extent: number }[]} loops
 * @property {number} colour
 */

/** @typedef {[number: number, label: string]} CellLabel */

/**
 * `reads` and `writes` are labels of cells, `inputs` and `outputs` the cells that the replay waits for: numbers and labels.
 * @typedef {{ template: number, reads: string[], writes: string[], inputs: CellLabel[],
 *   outputs: CellLabel[] }} TaskKind
 */

/** @typedef {{ engine: string, block: string, cause: string, buffer: string, cycles: number, tasks: number }} PathPart */

/**
 * A stall of an engine: `what` is the awaited slot, port, queue or engine; `block` holds it.
 * @typedef {object} WaitKind
 * @property {number} lane
 * @property {Cause} cause
 * @property {string} what
 * @property {string} buffer
 * @property {string} block
 * @property {number} colour
 * @property {string} row
 */

/**
 * Tasks by start, relative to the window. `place` has the iterations of the loops around, `row` numbers in compressed time.
 * @typedef {{ kind: number[], start: number[], length: number[], place: number[][], row: number[] }} Tasks
 */

/** @typedef {{ start: number[], length: number[], of: number[] }} Intervals Relative to the window. */

/**
 * The bytes of a memory from each of `at` on; `least` if a bin covers several values.
 * @typedef {{ at: number[], live: number[], allocated: number[], least: number[] }} MemoryLine
 */

/**
 * The share of each bin that a template, stall or cell takes, from 0 to 255.
 * @template Levels
 * @typedef {[number: number, levels: Levels]} Band
 */

/**
 * @template Levels
 * @typedef {object} Bins
 * @property {number} count
 * @property {Band<Levels>[]} task
 * @property {Band<Levels>[]} wait
 * @property {Band<Levels>[]} overlap
 * @property {Band<Levels>[]} fill
 * @property {Band<Levels>[]} live
 */

/** @typedef {{ folded: boolean, start: number, end: number, bytes: MemoryLine[] }} WindowBase `folded`: in compressed time. */

/** @typedef {WindowBase & { exact: true, tasks: Tasks, waits: Intervals, fills: Intervals, lives: Intervals }} SentExactWindow */

/**
 * @template Levels
 * @typedef {WindowBase & { exact: false, bins: Bins<Levels> }} BinnedWindowOf
 */

/** @typedef {SentExactWindow | BinnedWindowOf<string>} SentWindow A window with the levels of its bins in base 64. */

/** @typedef {SentExactWindow & { overlaps: [start: number, end: number][] }} ExactWindow With intervals of at least two busy engines. */
/** @typedef {BinnedWindowOf<Uint8Array>} BinnedWindow */
/** @typedef {ExactWindow | BinnedWindow} Window */

/** @typedef {{ kind: "window", ticket: number, start: number, end: number, folded: boolean }} WindowQuery */
/** @typedef {{ kind: "find", ticket: number, template: number, place: number[] }} FindQuery */
/** @typedef {{ kind: "select_stall", engine: string, cause: string, buffer: string, block: string, row: string }} StallQuery */
/** @typedef {{ kind: "select", id?: string, buffer?: string }} Select */

/** @typedef {{ kind: "window", ticket: number, report: number, window: SentWindow }} WindowAnswer */
/** @typedef {{ kind: "found", ticket: number, report: number, cycle: number | null }} FoundAnswer */
/**
 * The critical path from `start` to `end`: its steps, backward in time and relative to `start`, or the share of each bin on each lane.
 * @typedef {object} PathAnswer
 * @property {"path"} kind
 * @property {number} ticket
 * @property {number} report
 * @property {number} start
 * @property {number} end
 * @property {{ lane: number[], start: number[], length: number[] } | null} steps
 * @property {string[]} lanes
 * @property {PathPart[]} parts
 */
/**
 * What would end the selected stall: its figures, and calls that were tried; `looking` while others are tried.
 * @typedef {{ kind: "remedy", reason: string, looking: boolean, fix: { calls: string[], replaces: string, text: string } | null }} RemedyAnswer
 */
/** @typedef {{ kind: "path", ticket: number, start: number, end: number }} PathQuery */
/** @typedef {{ bars: [start: number, end: number, colour: number, words: string][], stretches: [colour: number, shares: number[]][] }} LaneAfter */
/**
 * The run after a drop, from `start` to `end`: lanes by engine, and live bytes by the scope of the memory.
 * @typedef {{ kind: "timeline_after", rows: string[], loop: string, primitive: string, cycles: number, start: number, end: number,
 *   lanes: Record<string, LaneAfter>, bytes: Record<string, MemoryLine> }} TimelineAfter
 */
/** @typedef {{ buffer: string, source: string, destination: string, bytes: string }} Copied */
/**
 * The totals of an area: the engines within it, and the copies that begin in it.
 * @typedef {{ kind: "totals", ticket: number, report: number, start: number, end: number,
 *   engines: { name: string, tasks: number, busy: number, waits: Partial<Record<Cause, number>> }[], copies: Copied[] }} TotalsAnswer
 */
/** @typedef {{ kind: "blamed", step: number | null, text: string }} BlamedAnswer */

export {};
