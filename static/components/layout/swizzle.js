// Swizzles composed by hand: CuTe's Swizzle<B, M, S>, or single bits of the last index xor bits of the other indices. The result is the text of an
// index map, which the custom map checks and simulates.

import { h } from "../core/dom.js";

/** @typedef {{ names: string[], extents: number[] }} Axes */
/** @typedef {{ text: string } | { problem: string }} Composed */
/** @typedef {{ axis: number, bit: number } | null} Source The bit of another index that a bit of the last index is combined with. */

/** @param {number} number */
const bitsOf = (number) => Math.max(0, Math.ceil(Math.log2(number)));

/**
 * @param {Axes} axes
 * @param {string[]} indices
 */
const lambda = ({ names }, indices) => `lambda ${names.join(", ")}: [${indices.join(", ")}]`;

/**
 * `value // 2**shift % 2**bits * 2**base`, without the parts that change nothing.
 * @param {string} value
 * @param {number} shift
 * @param {number} bits
 * @param {number} base
 */
function moved(value, shift, bits, base) {
  return `${value}${shift ? ` // ${2 ** shift}` : ""} % ${2 ** bits}${base ? ` * ${2 ** base}` : ""}`;
}

/**
 * The index map of Swizzle<bits, base, shift>: the `bits` bits of the offset from bit base + shift on are added, by xor, to those from bit base on.
 * @param {Axes} axes
 * @param {{ bits: number, base: number, shift: number }} swizzle
 * @returns {Composed}
 */
export function cuteSwizzle(axes, { bits, base, shift }) {
  const { names, extents } = axes;
  const size = extents.reduce((product, extent) => product * extent, 1);
  if (bits < 1) return { problem: "B is at least 1" };
  if (shift < bits) return { problem: "S is at least B: a bit would be combined with itself" };
  if (extents.some((extent) => extent !== 2 ** bitsOf(extent))) return { problem: "the extents are powers of two" };
  if (2 ** (base + shift + bits) > size) return { problem: `B + M + S is at most ${bitsOf(size)}` };
  const last = names.length - 1;
  const inner = bitsOf(extents[last]);
  const outer = last > 0 ? bitsOf(extents[last - 1]) : 0;
  // Bits of the last two indices: the other indices stay as they are.
  if (base + bits <= inner && base + shift >= inner && base + shift + bits <= inner + outer) {
    const from = moved(names[last - 1], base + shift - inner, bits, base);
    return { text: lambda(axes, [...names.slice(0, last), `${names[last]} ^ ${from}`]) };
  }
  const offset = names.reduce((flat, name, n) => (n ? `(${flat} * ${extents[n]} + ${name})` : name), "");
  const swizzled = `(${offset} ^ ${moved(offset, base + shift, bits, base)})`;
  let below = size;
  const indices = extents.map((extent) => {
    below /= extent;
    return `${swizzled}${below > 1 ? ` // ${below}` : ""} % ${extent}`;
  });
  return { text: lambda(axes, indices) };
}

/**
 * The index map that combines bits of the last index, by xor, with bits of other indices.
 * @param {Axes} axes
 * @param {Source[]} sources By bit of the last index.
 * @returns {Composed}
 */
export function xorOfBits(axes, sources) {
  const { names, extents } = axes;
  const last = names.length - 1;
  if (last < 1) return { problem: "a buffer of two axes or more" };
  if (extents[last] !== 2 ** bitsOf(extents[last])) return { problem: "the last extent is a power of two" };
  const terms = sources.flatMap((source, bit) => (source ? [moved(names[source.axis], source.bit, 1, bit)] : []));
  if (!terms.length) return { problem: "no bit is chosen" };
  return { text: lambda(axes, [...names.slice(0, last), [names[last], ...terms].join(" ^ ")]) };
}

export class SwizzleForm {
  /** @param {(text: string) => void} done Takes the index map. */
  constructor(done) {
    this.done = done;
    /** @type {Axes | null} */
    this.axes = null;
    this.key = "";
    const number = (/** @type {string} */ name, /** @type {string} */ title, /** @type {string} */ value) =>
      h("input", {
        type: "number",
        class: "field-control",
        min: 0,
        max: 24,
        value,
        title,
        "aria-label": title,
        "data-part": name,
      });
    this.kind = h(
      "select",
      { class: "field-control", "aria-label": "Kind of swizzle", onchange: () => this.changed() },
      h("option", { value: "cute" }, "Swizzle<B, M, S>"),
      h("option", { value: "bits" }, "xor of index bits"),
    );
    this.parts = [
      number("B", "B: number of bits", "3"),
      number("M", "M: bits below, which stay", "0"),
      number("S", "S: distance to the bits that they are combined with", "3"),
    ];
    this.cute = h(
      "div",
      { class: "swizzle-parts" },
      this.parts.map((part) => h("label", {}, part.dataset.part ?? "", part)),
    );
    this.bits = h("div", { class: "swizzle-parts" });
    this.state = h("div", { class: "quiet", role: "status" });
    this.element = h("div", { class: "swizzle-form" }, this.kind, this.cute, this.bits, this.state);
    this.element.addEventListener("input", (event) => {
      if (event.target !== this.kind) this.compose();
    });
    this.changed();
  }

  /** @param {Axes | null} axes Null if an extent is unknown. */
  update(axes) {
    const key = JSON.stringify(axes);
    if (key === this.key) return;
    this.key = key;
    this.axes = axes;
    this.state.textContent = axes ? "" : "The extents of the buffer are unknown.";
    this.bits.replaceChildren(...(axes ? this.bitFields(axes) : []));
  }

  /** @param {Axes} axes */
  bitFields({ names, extents }) {
    const last = names.length - 1;
    const options = names
      .slice(0, last)
      .flatMap((name, axis) =>
        Array.from({ length: bitsOf(extents[axis]) }, (_, bit) => ({
          value: `${axis} ${bit}`,
          label: `${name} bit ${bit}`,
        })),
      );
    return Array.from({ length: bitsOf(extents[last] ?? 1) }, (_, bit) =>
      h(
        "label",
        {},
        `${names[last]} bit ${bit}`,
        h(
          "select",
          { class: "field-control", "aria-label": `${names[last]} bit ${bit} xor` },
          h("option", { value: "" }, "–"),
          options.map(({ value, label }) => h("option", { value }, `^ ${label}`)),
        ),
      ),
    );
  }

  changed() {
    const isCute = this.kind.value === "cute";
    this.cute.hidden = !isCute;
    this.bits.hidden = isCute;
  }

  compose() {
    if (!this.axes) return;
    const [bits, base, shift] = this.parts.map((part) => Number(part.value));
    const sources = [...this.bits.querySelectorAll("select")].map(({ value }) => {
      const [axis, bit] = value.split(" ").map(Number);
      return value ? { axis, bit } : null;
    });
    const composed =
      this.kind.value === "cute" ? cuteSwizzle(this.axes, { bits, base, shift }) : xorOfBits(this.axes, sources);
    this.state.textContent = "problem" in composed ? composed.problem : "";
    if ("text" in composed) this.done(composed.text);
  }
}
