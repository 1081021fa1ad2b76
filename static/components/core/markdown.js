// Markdown as elements; the text of a notebook never becomes HTML.

import { h } from "./dom.js";
import { highlighted } from "./python_text.js";

// No alternative crosses the beginning of another one, and addresses are bounded, so that hostile texts take linear time.
const INLINE =
  /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\][]+)\]\((https?:\/\/[^\s()]{1,2000}|[\w-]{1,80}\.md(?:#[\w-]{1,200})?)\)/g;

/** @typedef {(name: string) => void} Follow Open another document, which a link names without ".md". */

/**
 * Inline markdown: `code`, **bold**, *italic*, [links](https://…), and with `follow` [links](to-another.md).
 * @param {string} text
 * @param {Follow} [follow]
 * @returns {(Node | string)[]}
 */
function inline(text, follow) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const [, code, bold, italic, label, address] = match;
    if (code) parts.push(h("code", {}, code));
    else if (bold) parts.push(h("b", {}, inline(bold, follow)));
    else if (italic) parts.push(h("em", {}, inline(italic, follow)));
    else if (!address.startsWith("http")) {
      const name = address.split(".md")[0];
      parts.push(
        follow ? h("button", { class: "link", type: "button", onclick: () => follow(name) }, label) : match[0],
      );
    } else parts.push(h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, label));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

/**
 * @param {string[]} lines
 * @param {Follow} [follow]
 */
function table(lines, follow) {
  const rows = lines.map((line) =>
    line
      .replace(/^\||\|$/g, "")
      .split("|")
      .map((cell) => cell.trim()),
  );
  const [head, , ...rest] = rows;
  return h(
    "div",
    { class: "prose-table" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((cell) => h("th", {}, inline(cell, follow))),
        ),
      ),
      h(
        "tbody",
        {},
        rest.map((row) =>
          h(
            "tr",
            {},
            row.map((cell) => h("td", {}, inline(cell, follow))),
          ),
        ),
      ),
    ),
  );
}

const ITEM = /^(\d+\.|[-*]) /;

/**
 * A list; a line without a mark continues the item before it.
 * @param {string[]} lines
 * @param {Follow} [follow]
 */
function bullets(lines, follow) {
  /** @type {string[]} */
  const items = [];
  for (const line of lines) {
    if (ITEM.test(line)) items.push(line.replace(ITEM, ""));
    else items.push(`${items.pop()} ${line.trim()}`);
  }
  return h(
    /^\d/.test(lines[0]) ? "ol" : "ul",
    {},
    items.map((item) => h("li", {}, inline(item, follow))),
  );
}

/** @param {string[]} lines */
function fenced(lines) {
  return h(
    "pre",
    { class: "prose-code" },
    h(
      "code",
      {},
      lines.flatMap((line) => [...highlighted(line), "\n"]),
    ),
  );
}

/**
 * Headings, paragraphs, quotes, lists, tables, code between fences.
 * @param {string} text
 * @param {Follow} [follow]
 * @returns {Node[]}
 */
export function prose(text, follow) {
  /** @type {Node[]} */
  const blocks = [];
  // Code between fences keeps its empty lines.
  for (const [n, piece] of text.split(/^```[^\n]*\n?/m).entries()) {
    if (n % 2) blocks.push(fenced(piece.replace(/\n$/, "").split("\n")));
    else blocks.push(...paragraphs(piece, follow));
  }
  return blocks;
}

/**
 * @param {string} text
 * @param {Follow} [follow]
 */
function paragraphs(text, follow) {
  /** @type {Node[]} */
  const blocks = [];
  for (const part of text.split(/\n\s*\n/)) {
    const lines = part.split("\n").filter((line) => line.trim());
    while (lines.length && /^#{1,6} /.test(lines[0])) {
      const [marks] = lines[0].split(" ");
      blocks.push(
        h(
          marks.length === 1 ? "h2" : "h3",
          {},
          inline(/** @type {string} */ (lines.shift()).replace(/^#+ /, ""), follow),
        ),
      );
    }
    if (!lines.length) continue;
    if (lines.every((line) => line.startsWith(">")))
      blocks.push(h("blockquote", {}, prose(lines.map((l) => l.replace(/^>\s?/, "")).join("\n"), follow)));
    else if (lines.length > 1 && lines.every((line) => line.startsWith("|"))) blocks.push(table(lines, follow));
    else if (ITEM.test(lines[0])) blocks.push(bullets(lines, follow));
    else blocks.push(h("p", {}, inline(lines.join(" "), follow)));
  }
  return blocks;
}
