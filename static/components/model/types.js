// The values of a model's page (app/views/model).

/** @typedef {"pending" | "error" | "wrong" | "unscheduled" | "scheduled" | "tested" | "proved"} Status */

/**
 * A kernel of the list. `hue` is the colour of a kernel that is called more than once. `loads` are the busy parts of the engines, `peaks` the
 * used part and the bytes of each on-chip memory.
 * @typedef {object} Kernel
 * @property {string} key
 * @property {string} name
 * @property {string} label
 * @property {number} functions
 * @property {number | null} hue
 * @property {number} calls
 * @property {Status} status
 * @property {number} cycles
 * @property {string} cycles_text
 * @property {string} each
 * @property {number} share
 * @property {number} bound
 * @property {string} bound_text
 * @property {string} ratio
 * @property {string} engine
 * @property {string} over Bytes over capacity.
 * @property {string} detail
 * @property {number} lines
 * @property {{ [engine: string]: number }} loads
 * @property {{ [memory: string]: [number, string] }} peaks
 */

/**
 * @typedef {object} Head
 * @property {string} title
 * @property {string} machine
 * @property {number} done
 * @property {number} total
 * @property {string} cycles
 * @property {number} count The cycles as a number.
 * @property {string} bound
 * @property {string} ratio
 * @property {number} calls
 * @property {number} kernels
 * @property {number} prepared
 * @property {string} preparation
 * @property {string[]} failed
 * @property {number} on_chip The tensors that stay on chip between kernels.
 * @property {string} waits Cycles of waits for copies of these.
 * @property {string} misfit Why they do not fit; their cycles are not counted then.
 */

/** @typedef {{ key: string, label: string, count: number }} Filter */

/**
 * One inference: for each call its position in the graph, its kernel, and its first and last cycle.
 * @typedef {object} Inference
 * @property {number} cycles
 * @property {number[]} calls
 * @property {string[]} keys
 * @property {number[]} starts
 * @property {number[]} ends
 * @property {string[]} engines
 * @property {{ name: string, capacity: string }[]} memories
 */

/** @typedef {{ name: string, head: Head, filters: Filter[], kernels: Kernel[], timeline: Inference, theme: "light" | "dark" }} ModelData */

/**
 * @typedef {object} GraphNode
 * @property {string} id
 * @property {"input" | "call" | "result"} kind
 * @property {string} label
 * @property {string} shape
 * @property {string} [key] The kernel of a call.
 * @property {string[]} [reads]
 * @property {string[]} [writes]
 */

/** @typedef {{ from: string, to: string, shape: string }} GraphEdge */
/** @typedef {{ nodes: GraphNode[], edges: GraphEdge[] }} GraphData */

/**
 * What the parts of the page share: the kernel under the pointer or the focus, and those that the search and the filter leave.
 * @typedef {object} Page
 * @property {(key: string) => Kernel | undefined} kernel
 * @property {(key: string | null) => void} point
 * @property {(key: string) => void} open
 * @property {(key: string) => boolean} fits
 */

export {};
