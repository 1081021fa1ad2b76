// Python with syntax colours.

import { h } from "./dom.js";

const PYTHON_TOKEN = new RegExp(
  [
    "(?<comment>#.*$)",
    '(?<string>"""[^]*?"""|"[^"]*"?|\'[^\']*\'?)',
    "(?<decorator>@[\\w.]+)",
    "(?<number>\\b\\d[\\d_.]*\\b)",
    "(?<keyword>\\b(?:for|in|with|if|else|elif|def|class|return|import|from|as|while|not|and|or|is|pass|break|continue|assert|raise|try|except|finally|yield|del|global|lambda|True|False|None)\\b)",
    "(?<call>(?<![\\w.])[\\w.]+(?=\\())", // the lookbehind reads a long word once
  ].join("|"),
  "g",
);

/**
 * One line of Python as coloured spans and texts.
 * @param {string} line
 */
export function highlighted(line) {
  /** @type {(HTMLSpanElement | string)[]} */
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(PYTHON_TOKEN)) {
    if (match.index > at) parts.push(line.slice(at, match.index));
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0];
    parts.push(h("span", { class: `tok-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(line.slice(at));
  return parts;
}
