// The call, the parameter, the string or the name at the caret, and the completions there. Incomplete Python is read as far as possible and never
// executed.

/** @import { CallParameter as Parameter, KnownCall as Call, Words } from "../views.js" */

/** @typedef {{ char: string, at: number, commas: number, from: number }} Bracket An open bracket; `from`: where its last argument begins. */
/** @typedef {{ inside: "code" | "comment" | "string", from: number, open: Bracket[] }} Context */
/** @typedef {{ call: Call, at: number, parameter: number }} CallContext `parameter` is an index or -1. */
/** @typedef {{ text: string, kind: string, detail?: string }} Completion */
/** @typedef {{ from: number, items: Completion[] }} Completions */

const OPEN = "([{";
const CLOSE = ")]}";

/**
 * The lexical context at the caret.
 * @param {string} text
 * @param {number} caret
 * @returns {Context}
 */
export function contextAt(text, caret) {
  /** @type {Bracket[]} */
  let open = [];
  let quote = "";
  let from = 0;
  for (let n = 0; n < caret; n += 1) {
    const char = text[n];
    if (quote) {
      if (char === "\\") n += 1;
      else if (text.startsWith(quote, n)) {
        n += quote.length - 1;
        quote = "";
      } else if (char === "\n" && quote.length === 1) quote = "";
    } else if (char === "#") {
      const end = text.indexOf("\n", n);
      if (end < 0 || end >= caret) return { inside: "comment", from: n, open };
      n = end - 1;
    } else if (char === '"' || char === "'") {
      quote = text.startsWith(char.repeat(3), n) ? char.repeat(3) : char;
      from = n + quote.length;
      n += quote.length - 1;
    } else if (OPEN.includes(char)) open.push({ char, at: n, commas: 0, from: n + 1 });
    else if (CLOSE.includes(char)) open.pop();
    else if (char === "," && open.length) {
      const bracket = open[open.length - 1];
      bracket.commas += 1;
      bracket.from = n + 1;
    }
    // An unclosed bracket ends at the next line that starts with a name.
    else if (char === "\n" && /[A-Za-z_]/.test(text[n + 1] ?? "")) open = [];
  }
  return { inside: quote ? "string" : "code", from, open };
}

/**
 * The innermost open call of `calls`, by name.
 * @param {string} text
 * @param {Context} context
 * @param {Map<string, Call>} calls
 * @returns {CallContext | null}
 */
export function callAt(text, context, calls) {
  for (let n = context.open.length - 1; n >= 0; n -= 1) {
    const bracket = context.open[n];
    const name = bracket.char === "(" && /(\w+)\s*\.\s*(\w+)\s*$/.exec(text.slice(0, bracket.at))?.[2];
    const call = name ? calls.get(name) : undefined;
    if (call) return { call, at: bracket.at, parameter: parameterAt(text, bracket, call.parameters) };
  }
  return null;
}

/**
 * @param {string} text
 * @param {Bracket} bracket
 * @param {Parameter[]} parameters
 */
function parameterAt(text, bracket, parameters) {
  const named = /^\s*(\w+)\s*=(?!=)/.exec(text.slice(bracket.from));
  if (named) return parameters.findIndex((it) => it.name === named[1]);
  const many = parameters.findIndex((it) => it.many);
  if (many >= 0 && bracket.commas >= many) return many;
  return parameters[bracket.commas] && !parameters[bracket.commas].named ? bracket.commas : -1;
}

/**
 * The keyword arguments of the call at `at`.
 * @param {string} text
 * @param {number} at
 */
export function namedArguments(text, at) {
  const end = text.indexOf("\n", at);
  return new Set([...text.slice(at, end < 0 ? undefined : end).matchAll(/(\w+)\s*=(?!=)/g)].map((match) => match[1]));
}

/**
 * The names that the text assigns.
 * @param {string} text
 */
export function assignedNames(text) {
  const lines = text.split("\n").map((line) => /^([A-Za-z_][\w, ]*?),?\s*=(?!=)/.exec(line)?.[1] ?? "");
  return [
    ...new Set(
      lines.flatMap((names) =>
        names
          .split(",")
          .map((name) => name.trim())
          .filter((name) => /^\w+$/.test(name)),
      ),
    ),
  ];
}

/**
 * The completions at the caret, or null.
 * @param {string} text
 * @param {number} caret
 * @param {Words} words
 * @param {boolean} asked Whether the user pressed the key for completions, which also shows them without a prefix.
 * @returns {Completions | null}
 */
export function offersAt(text, caret, words, asked) {
  const context = contextAt(text, caret);
  if (context.inside === "comment") return null;
  const calls = new Map(words.calls.map((call) => [call.name, call]));
  const within = callAt(text, context, calls);
  const parameter = within?.call.parameters[within.parameter];
  if (context.inside === "string") return stringOffers(context.from, words, parameter);
  const method = /(\w+)\.(\w*)$/.exec(text.slice(0, caret));
  if (method)
    return method[1] === words.schedule ? { from: caret - method[2].length, items: methodOffers(words) } : null;
  const begun = /[A-Za-z_]\w*$/.exec(text.slice(0, caret))?.[0] ?? "";
  if ((!begun && !asked) || /[\d.]$/.test(text.slice(0, caret - begun.length))) return null;
  return { from: caret - begun.length, items: nameOffers(text, words, within, parameter, begun) };
}

/**
 * @param {number} from
 * @param {Words} words
 * @param {Parameter | undefined} parameter
 * @returns {Completions | null}
 */
function stringOffers(from, words, parameter) {
  /** @type {Record<string, string[]>} */
  const kinds = {
    block: ["block"],
    loop: ["loop"],
    scope: ["scope"],
    thread: ["thread"],
    intrinsic: ["intrinsic"],
    buffer: ["buffer"],
    machine: ["machine"],
  };
  const items = (kinds[parameter?.takes ?? ""] ?? []).flatMap((kind) =>
    words.strings[kind].map((text) => ({ text, kind })),
  );
  return items.length ? { from, items } : null;
}

/** @param {Words} words */
function methodOffers(words) {
  return words.calls
    .filter((call) => call.name !== "machine")
    .map((call) => ({ text: call.name, kind: "call", detail: call.summary }));
}

/**
 * @param {string} text
 * @param {Words} words
 * @param {CallContext | null} within
 * @param {Parameter | undefined} parameter
 * @param {string} begun
 * @returns {Completion[]}
 */
function nameOffers(text, words, within, parameter, begun) {
  const known = new Map(words.handles.map((it) => [it.name, it]));
  const typed = assignedNames(text).filter((name) => !known.has(name) && name !== begun && name !== words.schedule);
  const handles = [...words.handles, ...typed.map((name) => ({ name, kind: "name", detail: "" }))].map((it) => ({
    text: it.name,
    kind: it.kind,
    detail: it.detail,
  }));
  const wanted = handles.filter((it) => it.kind === parameter?.takes);
  const others = handles.filter((it) => it.kind !== parameter?.takes);
  const given = within ? namedArguments(text, within.at) : new Set();
  const named = (within?.call.parameters ?? [])
    .filter((it) => !it.many && !given.has(it.name))
    .map((it) => ({
      text: `${it.name}=`,
      kind: "argument",
      detail: it.default === null ? "" : `otherwise ${it.default}`,
    }));
  const schedule = within ? [] : [{ text: words.schedule, kind: "schedule", detail: "" }];
  return [...wanted, ...named, ...others, ...schedule];
}
