// Types of the notebook's payload (app/views/notebook).

/** @typedef {"better" | "worse" | "same" | "other" | string} Trend */

/**
 * An error of the text. Lines and columns count from 1.
 * @typedef {object} Problem
 * @property {number | null} line
 * @property {number} column
 * @property {number} end_line
 * @property {number} end_column
 * @property {string} message
 * @property {string} found
 * @property {string} expected
 * @property {string} code
 * @property {string | null} mend The replacement text of the fix.
 */

/** @typedef {Omit<Problem, "line"> & { line: number, in_file: number }} CellProblem A problem whose lines count from the start of a cell. */

/** @typedef {{ label: string, before: string, after: string, change: string, trend: Trend }} Figure */
/** @typedef {{ sign: "+" | "−" | "→" | "~", word: string, text: string, rows: string[] }} TreeChange */
/** @typedef {{ label: string, hint: string, message: import("../core/types.js").Message }} Choice */

/**
 * A step that does not apply: the reason, and the ways to continue.
 * @typedef {object} Conflict
 * @property {string} title
 * @property {string} why
 * @property {string} found
 * @property {string} expected
 * @property {string} code
 * @property {{ text: string }[]} needs
 * @property {{ text: string }[]} changes
 * @property {number} waiting The number of later steps.
 * @property {Choice[]} choices
 */

/** @typedef {{ name: string, target: string, values: string[], order: number[] }} Hole A parameter of the schedule with its values. */

/** @typedef {{ kind: "note", text: string }} Note A comment of the schedule. */

/**
 * A line of the schedule; a disabled one has the kind "off".
 * @typedef {object} Step
 * @property {"step" | "off"} kind
 * @property {number} item
 * @property {number} line
 * @property {string} text
 * @property {string} comment
 * @property {number} index
 * @property {number} number
 * @property {number} count
 * @property {"applied" | "failed" | "skipped" | string} status
 * @property {boolean} query
 * @property {string | null} error
 * @property {[start: number, end: number] | null} underline
 * @property {Hole | null} hole
 * @property {string} change
 * @property {Trend} trend
 * @property {string} hint
 * @property {Conflict | null} [conflict]
 * @property {{ figures: Figure[], changes: TreeChange[] } | null} [details]
 */

/**
 * @typedef {object} Cell
 * @property {number} index
 * @property {"markdown" | "machine" | "workload" | "schedule" | "intrinsic" | "code" | "preamble"} kind
 * @property {string} title
 * @property {string} body
 * @property {number} first_line
 * @property {number} lines
 * @property {string} [prose]
 * @property {(Step | Note)[] | null} [rows]
 * @property {boolean} [takes_steps]
 */

/**
 * `others`: the other programs of the text that was opened; `model`: its functions can be opened as a model.
 * @typedef {{ kind: string, text: string, count: number | null, others?: { number: number, label: string }[], model?: boolean }} Banner
 */
/** @typedef {{ name: string, current: boolean, shared: number | null }} Branch */

/**
 * @typedef {object} NotebookData
 * @property {string} title
 * @property {string} [revision]
 * @property {Cell[]} cells
 * @property {number} chosen
 * @property {Banner[]} banners
 * @property {Branch[]} branches
 * @property {Problem[]} problems
 * @property {boolean} draft
 */

/** @typedef {{ name: string, default: string | null, many: boolean, named: boolean, takes: string }} Parameter */
/** @typedef {{ name: string, parameters: Parameter[], summary: string }} Call */

/**
 * The words for completion.
 * @typedef {object} Words
 * @property {string} schedule The name of the schedule's variable.
 * @property {Call[]} calls
 * @property {{ name: string, kind: string, detail: string }[]} handles
 * @property {Record<string, string[]>} strings By kind.
 */

// The editor.

/** @typedef {{ from: number, to: number }} Range Offsets in a text. */

/**
 * @typedef {object} TextOptions
 * @property {string} label
 * @property {"python" | "prose" | "line"} kind
 * @property {string} comment The comment sign.
 * @property {HTMLElement} host An element on the page that will contain the editor and its tooltips.
 */

/** @typedef {TextOptions & { changed: () => void, finish: () => void, drop: () => void }} AreaOptions */

/**
 * The part of an editor that takes the text.
 * @typedef {object} EditArea
 * @property {HTMLElement} element
 * @property {HTMLElement} content The element that takes the keys.
 * @property {string} text
 * @property {Range} selection
 * @property {boolean} isComposing Whether an input method composes a character.
 * @property {() => void} focus
 * @property {(range: Range) => void} select
 * @property {(range: Range, text: string) => void} write Replaces a range as if the user typed `text`.
 * @property {() => void} show Scrolls to the caret.
 * @property {(words: Words) => void} setWords
 * @property {(problems: (Range & { message: string })[]) => void} markProblems
 * @property {() => void} closeTooltips
 * @property {() => void} destroy
 */

/**
 * @typedef {object} EditorEvents
 * @property {(text: string) => void} draft Called after a pause.
 * @property {(text: string, byKey: boolean) => void} done
 * @property {() => void} dropped
 * @property {() => void} left Called when the text loses the focus.
 */

/** @typedef {TextOptions & EditorEvents} EditorOptions */

export {};
