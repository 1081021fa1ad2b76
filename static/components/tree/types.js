// Types of the loop tree: the values that the server sends (app/components/loop_tree.py, app/views/tree, app/views/menus), and what is derived.

/** @import { Model, Rect } from "../core/types.js" */
/** @import { FindRepair, Message } from "../messages.js" */

/** @typedef {{ packed_rows: string, packed_menus: string, packed_targets: string, packed_costs: string, packed_marks: string }} PackedJson */

/** @typedef {{ selected: string, active: string[] | null, busy: boolean, send_msg: (message: Message) => void }} TreeParameters */

/** @typedef {Omit<Model, "send_msg"> & PackedJson & TreeParameters} TreeModel */

// ---- Rows.

/** @typedef {{ id: string, name: string, scope: string, bytes: string, colour: number }} BufferChip */
/** @typedef {{ text: string, tone: string, tip: string, revises?: string }} Badge `revises`: the call whose argument it shows. */

/**
 * A loop or a block.
 * @typedef {object} Row
 * @property {string} id
 * @property {string} parent "" at the top.
 * @property {number} depth
 * @property {"loop" | "block"} kind
 * @property {string} name
 * @property {string} detail
 * @property {Badge[]} badges
 * @property {string} tooltip
 * @property {string[]} [by] The primitives that made it or were called on it.
 * @property {boolean} [made] Whether a call made it.
 * @property {string[]} [revises] The calls in its step whose arguments the row can change.
 * @property {string} [variable] Its name in the notebook, if that is another one.
 * @property {string} [extent] Of a loop, like the next two.
 * @property {string} [loop_kind]
 * @property {boolean} [reduces]
 * @property {{ name: string, type: string }[]} [iters] Of a block, like the next two.
 * @property {BufferChip[]} [reads]
 * @property {BufferChip[]} [writes]
 */

/**
 * @typedef {object} Derived
 * @property {Row} own The row as sent.
 * @property {IndexedRow[]} children
 * @property {boolean} last Whether it is the last of its siblings.
 * @property {number} place Among its siblings, from 1.
 * @property {number} siblings
 * @property {string} [signature] Equal for rows with equal elements.
 * @property {string} [searchText]
 */

/** @typedef {Row & Derived} IndexedRow */

/** @typedef {Map<string, IndexedRow>} RowIndex Parents first, in the order of the text. */

/**
 * The element of a row; `decorated` are keys of its present decorations, to skip equal updates.
 * @typedef {HTMLElement & { decorated: { offer?: string, cost?: string, mark?: string } }} RowElement
 */

/** @typedef {{ share: number, text: string, tip: string }} CostPart */
/** @typedef {{ cycles: CostPart, bytes: CostPart }} Cost */
/** @typedef {"" | "cycles" | "bytes"} CostMode */

/** @typedef {"error" | "warning" | "info"} Severity */
/** @typedef {{ severity: Severity, messages: { severity: Severity, text: string }[] }} Mark The problems of a row. */

// ---- Drops.

/**
 * A possible or refused drop on a loop, or on several loops with the same answer.
 * @typedef {object} Target
 * @property {string} [loop]
 * @property {string[]} [loops]
 * @property {boolean} legal
 * @property {boolean} costly
 * @property {string} primitive
 * @property {string} note
 * @property {string} reason The refusal, or the effect.
 * @property {string} [held] The sentence about memory.
 * @property {string} code
 * @property {string[]} fix
 * @property {string[]} [order] The arguments of a reorder.
 */

/** @typedef {"better" | "worse" | "same" | ""} Trend */
/** @typedef {{ name: string, text: string, change: string, sign: Trend, trend: Trend, word: string }} FigureLine */
/** @typedef {{ costly: boolean, trend: Trend, label: string, lines: FigureLine[], why: string[], others?: string[] }} Figures `others` are blocks that move too. */
/** @typedef {{ cycles: string, trend: Trend, memory: string }} Brief The effect of a call in a few characters. */
/** @typedef {Figures | { refused: string, code?: string }} Prediction */
/** @typedef {(Figures & { brief: Brief }) | { refused: string, code?: string }} Effect The prediction for a call of a menu or form. */
/** @typedef {{ calls: string[], blocks: string[] }} Repair The calls before a drop that make it legal, or the blocks that have to move too. */
/** @typedef {Map<string, Prediction>} Predictions By `predictionKey`. */

/** @typedef {Target & { loop: string, value?: Figures }} Drop A target with what was predicted. */

/** @typedef {"legal" | "costly" | "illegal"} OfferState */

/**
 * @typedef {object} Reason
 * @property {string} head The primitive, or "".
 * @property {string} text
 * @property {string} code
 * @property {string[]} [fix] Calls that would help.
 * @property {Figures} [value]
 * @property {OfferState} [state]
 */

/**
 * The result of a drop on one loop.
 * @typedef {object} Offer
 * @property {OfferState} state
 * @property {Drop[]} choices The legal drops.
 * @property {string} label
 * @property {Reason[]} reasons
 * @property {Trend} trend
 */

/**
 * A row that a drop adds or moves; `colour` is that of the written buffer.
 * @typedef {{ kind: "loop" | "block", name: string, extent: string, depth: number, colour: number | null, new: boolean }} AppearingRow
 */

/**
 * The tree after a drop: rows that appear below the row `above`, and rows that leave their place.
 * @typedef {{ kind: "tree_after", rows: string[], loop: string, primitive: string, groups: { above: string, rows: AppearingRow[] }[],
 *   leaving: string[] }} TreeAfter
 */

/** @typedef {{ x: number, y: number }} Point In CSS pixels of the viewport. */

// ---- Menus and forms.

/** @typedef {string | number | boolean | null} Scalar */
/** @typedef {Scalar | Scalar[]} Value The value of an argument. */
/** @typedef {Record<string, Value>} Values */

/** @typedef {{ value: Value, label: string, sets?: Values }} FieldChoice `sets`: the defaults of other fields with this choice. */

/** @typedef {"text" | "index_map" | "int" | "ints" | "names" | "words" | "literal"} TextType */

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {"choice" | TextType} type
 * @property {FieldChoice[]} choices
 * @property {Value} default
 * @property {boolean} optional
 * @property {string} help
 * @property {string} [placeholder]
 * @property {string} [stem] Names follow the number of factors: stem_0, stem_1.
 * @property {string[]} [spread] The value is a list with one item for each of these arguments.
 * @property {boolean} [empty] Whether an empty list is a value.
 * @property {{ label: string, value: string }[]} [chips] Values to choose from with a press, each with its predicted effect.
 */

/**
 * @typedef {object} MenuEntry
 * @property {string} method
 * @property {string} label
 * @property {string} key
 * @property {string} help
 * @property {string} group
 * @property {boolean} rare
 * @property {string} disabled Why it is not applicable, or "".
 * @property {Field[]} fields
 * @property {boolean} [revises] Whether it changes a step of the notebook.
 * @property {string} [target] The row of the message "revise", if it is another one.
 */

/** @typedef {{ entries: MenuEntry[], rows: Record<string, number[]> }} Menus Each distinct entry once; by row, its entries. */

/**
 * `otherwise` is the head of a reason without one, `more` what follows the reasons.
 * @typedef {{ text: string, reasons?: Reason[], tone?: string, otherwise?: string, more?: HTMLElement | null }} TreeNotice
 */

/**
 * What the server sends beside the parameters.
 * @typedef {{ kind: "answered" }
 *   | { kind: "notice" } & TreeNotice
 *   | ({ kind: "repair", request: FindRepair } & Repair)
 *   | { kind: "targets", rows: string[], entries: Target[] }
 *   | TreeAfter
 *   | { kind: "predicted", rows: string[], loop: string, primitive: string, value: Prediction }
 *   | { kind: "tried", ticket: number, index: number, value: Effect }
 *   | { kind: "menu", row: string, entries: MenuEntry[] }} TreeMessage
 */

/** @typedef {Rect} Anchor What a popup opens at. */

export {};
