// The values of holes, as they are shown.

/** A value without the brackets and quotes that every list of names has: ["mo", "no"] as mo no. */
export function plainText(text) {
  const names = /^\[(\s*"[^"]*"\s*,?)*\]$/.test(text)
    ? [...text.matchAll(/"([^"]*)"/g)].map((it) => it[1]).join(" ")
    : /^"[^"]*"$/.test(text)
      ? text.slice(1, -1)
      : text;
  return names || text;
}
