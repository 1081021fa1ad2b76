// Values of parameters as text.

/**
 * A list of names or a name without brackets and quotes: `["mo", "no"]` as `mo no`. Other values are unchanged.
 * @param {string} text
 */
export function plainText(text) {
  if (/^"[^"]*"$/.test(text)) return text.slice(1, -1) || text;
  if (!/^\[(\s*"[^"]*"\s*,?)*\]$/.test(text)) return text;
  return [...text.matchAll(/"([^"]*)"/g)].map((match) => match[1]).join(" ") || text;
}
