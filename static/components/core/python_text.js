// Python in colours.

const PYTHON_TOKEN = new RegExp(
  [
    "(?<comment>#.*$)",
    '(?<string>"""[^]*?"""|"[^"]*"?|\'[^\']*\'?)',
    "(?<decorator>@[\\w.]+)",
    "(?<number>\\b\\d[\\d_.]*\\b)",
    "(?<keyword>\\b(?:for|in|with|if|else|elif|def|class|return|import|from|as|while|not|and|or|lambda|True|False|None)\\b)",
    "(?<call>(?<![\\w.])[\\w.]+(?=\\())", // from its beginning only: a long word is read once
  ].join("|"),
  "g",
);

/** One line of Python as coloured spans. */
export function highlighted(line) {
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(PYTHON_TOKEN)) {
    if (match.index > at) parts.push(line.slice(at, match.index));
    const [kind] = Object.entries(match.groups).find(([, text]) => text !== undefined);
    const span = document.createElement("span");
    span.className = `tok-${kind}`;
    span.textContent = match[0];
    parts.push(span);
    at = match.index + match[0].length;
  }
  parts.push(line.slice(at));
  return parts;
}
