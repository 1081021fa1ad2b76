// Types of the layout picker's value (app/views/layouts).

/**
 * A schedule call.
 * @typedef {{ method: string, target: string, arguments: { [name: string]: unknown }, text: string }} LayoutCall
 */

/** @typedef {{ code: string, message: string, found: string, expected: string }} LayoutError */

/**
 * A picture of a layout: one character for each element, from 0 to z.
 * @typedef {{ width: number, height: number, shades: string, blocks: string, own_axes: boolean }} Thumb
 */

/**
 * A candidate layout with its simulated figures.
 * @typedef {object} Card
 * @property {string} key
 * @property {string} title
 * @property {string} note
 * @property {string} map Its index map, or "".
 * @property {LayoutCall | null} call Null for the present layout.
 * @property {boolean} current
 * @property {boolean} waiting
 * @property {boolean} best
 * @property {boolean} overflows
 * @property {LayoutError | null} refused
 * @property {Thumb | null} thumb
 * @property {[name: string, value: string, meaning: string, tone: string][]} figures
 * @property {string} change
 * @property {"better" | "worse" | "same"} trend
 */

/**
 * A window of the buffer's elements; its cells have `scale` × `scale` elements.
 * @typedef {object} Grid
 * @property {number} rows Rows of the buffer.
 * @property {number} columns
 * @property {number[]} shape
 * @property {number} row The first row of the window.
 * @property {number} column
 * @property {number} height In cells.
 * @property {number} width
 * @property {number} scale
 * @property {number} across The requested width in elements.
 * @property {number} widest
 * @property {string[]} axes Names of the axes.
 * @property {number} base The address of the first element.
 * @property {number[]} addresses Of the cells, row by row.
 * @property {number[]} units The bank, block or set of each cell; -1 for several.
 * @property {number} slot
 * @property {number} slots
 * @property {number} element_bytes
 * @property {string} preview The title of a previewed layout.
 * @property {"bank" | "block" | "set" | "burst" | "memory"} unit
 * @property {string} unit_word
 * @property {number} unit_count
 * @property {number} row_bytes
 * @property {string} unit_text
 */

/** @typedef {[unit: number, rows: number, rowsOfOthers: number]} Hit Rows that one access reads or writes in a bank. */

/**
 * One access. `taken` has the positions of its elements as runs: start, step, count.
 * @typedef {{ taken: number[], size: number, degree: number, hits: Hit[], others: string[] }} Step
 */

/**
 * The accesses of one operand.
 * @typedef {object} Use
 * @property {string} block
 * @property {string} engine
 * @property {boolean} written
 * @property {string} takes
 * @property {number} count
 * @property {boolean} all Whether `count` is the number of all accesses.
 * @property {number} worst
 * @property {Step[]} steps
 * @property {string} note
 */

/** @typedef {{ value: string, label: string, note: string, call: LayoutCall | null }} Option */

/**
 * A setting: a choice between calls, or numbers for the arguments of one call.
 * @typedef {object} ControlBase
 * @property {string} id
 * @property {string} label
 * @property {string} value
 * @property {string} blocked The reason why it cannot be changed.
 * @property {string} help
 */

/** @typedef {ControlBase & { type: "choice", options: Option[] }} ChoiceControl */
/** @typedef {ControlBase & { type: "ints", count: number, placeholder: string, fields: string[], call: LayoutCall }} NumbersControl */
/** @typedef {ChoiceControl | NumbersControl} Control */

/**
 * The custom index map.
 * @typedef {object} Draft
 * @property {string[]} names Of the axes.
 * @property {number[] | null} extents
 * @property {string} text
 * @property {string} example
 * @property {"empty" | "wrong" | "checking" | "right"} status
 * @property {LayoutError | null} error
 * @property {number} column The column of the error; 0 without one.
 * @property {Card | null} card
 * @property {LayoutCall | null} padded The same map with padding.
 */

/**
 * @typedef {object} LayoutValue
 * @property {string} id
 * @property {string} name
 * @property {string} dtype
 * @property {string} scope
 * @property {number} colour
 * @property {[name: string, value: string, meaning: string][]} facts
 * @property {{ side: "read" | "write", block: string, row: string }[]} accesses Blocks that read or write the buffer.
 * @property {Grid | null} grid Null without a simulation; then `uses` and `draft` are not used.
 * @property {Use[] | null} uses Null until they are computed.
 * @property {number} [use]
 * @property {Card[]} cards
 * @property {Control[]} controls
 * @property {Draft | null} draft
 * @property {string} fixed The reason why no layout can be applied.
 * @property {string} note
 */

/**
 * What the picker shows of the buffer: a window of elements, a slot, an operand, the custom map, and the previewed card.
 * @typedef {object} View
 * @property {number} row
 * @property {number} column
 * @property {number} across 0: a suitable width.
 * @property {number} slot
 * @property {number} use
 * @property {string} draft
 * @property {string} preview
 */

/** @typedef {(changes: Partial<View>) => void} Request */
/** @typedef {(call: LayoutCall) => void} Apply */

export {};
