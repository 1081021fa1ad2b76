// What is being typed: the call that the caret is in, its parameter, a string or a name that is begun. Python that is not finished yet is
// read as far as it goes; nothing of it is run.

const OPEN = "([{";
const CLOSE = ")]}";

/** {inside: "code" | "comment" | "string", from: where the string begins, open: [{char, at, commas, from}]} at `caret`. */
export function contextAt(text, caret) {
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
    else if (char === "," && open.length) Object.assign(open.at(-1), { commas: open.at(-1).commas + 1, from: n + 1 });
    // A bracket that was never closed ends where a line begins anew.
    else if (char === "\n" && /[A-Za-z_]/.test(text[n + 1] ?? "")) open = [];
  }
  return { inside: quote ? "string" : "code", from, open };
}

/** The innermost of `calls` (by name) that is open: {call, at, parameter: its number or -1, path: whether the caret is in a list in it}. */
export function callAt(text, context, calls) {
  for (let n = context.open.length - 1; n >= 0; n -= 1) {
    const bracket = context.open[n];
    const name = bracket.char === "(" && /(\w+)\s*\.\s*(\w+)\s*$/.exec(text.slice(0, bracket.at))?.[2];
    const call = name && calls.get(name);
    if (call) return { call, at: bracket.at, parameter: parameterAt(text, bracket, call.parameters) };
  }
  return null;
}

function parameterAt(text, bracket, parameters) {
  const named = /^\s*(\w+)\s*=(?!=)/.exec(text.slice(bracket.from));
  if (named) return parameters.findIndex((it) => it.name === named[1]);
  const many = parameters.findIndex((it) => it.many);
  if (many >= 0 && bracket.commas >= many) return many;
  return parameters[bracket.commas] && !parameters[bracket.commas].named ? bracket.commas : -1;
}

/** The names of arguments that the call at `at` has already. */
export function namedArguments(text, at) {
  const end = text.indexOf("\n", at);
  return new Set([...text.slice(at, end < 0 ? undefined : end).matchAll(/(\w+)\s*=(?!=)/g)].map((match) => match[1]));
}

/** Names that the text itself gives to what calls return. */
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

/** What could stand where the caret is: {from, items: [{text, kind, detail}]}; none where nothing fits. `asked`: by a key, so that all is shown. */
export function offersAt(text, caret, words, asked) {
  const context = contextAt(text, caret);
  if (context.inside === "comment") return null;
  const calls = new Map(words.calls.map((call) => [call.name, call]));
  const within = callAt(text, context, calls);
  const parameter = within?.call.parameters[within.parameter];
  if (context.inside === "string") return stringOffers(text.slice(context.from, caret), context.from, words, parameter);
  const method = /(\w+)\.(\w*)$/.exec(text.slice(0, caret));
  if (method)
    return method[1] === words.schedule
      ? { from: caret - method[2].length, begun: method[2], items: methodOffers(words) }
      : null;
  const begun = /[A-Za-z_]\w*$/.exec(text.slice(0, caret))?.[0] ?? "";
  if ((!begun && !asked) || /[\d.]$/.test(text.slice(0, caret - begun.length))) return null;
  return { from: caret - begun.length, begun, items: nameOffers(text, words, within, parameter, begun) };
}

function stringOffers(begun, from, words, parameter) {
  const kinds = {
    block: ["block"],
    loop: ["loop"],
    scope: ["scope"],
    thread: ["thread"],
    intrinsic: ["intrinsic"],
    buffer: ["buffer"],
    machine: ["machine"],
  };
  const items = (kinds[parameter?.takes] ?? []).flatMap((kind) => words.strings[kind].map((text) => ({ text, kind })));
  return items.length ? { from, begun, items, isString: true } : null;
}

function methodOffers(words) {
  return words.calls
    .filter((call) => call.name !== "machine")
    .map((call) => ({ text: call.name, kind: "call", detail: call.summary }));
}

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

/** Those of `items` that what is `begun` may be: what starts so first, then what has it inside. */
export function fitting(items, begun) {
  const low = begun.toLowerCase();
  const starts = items.filter((it) => it.text.toLowerCase().startsWith(low));
  const inside =
    low.length > 1
      ? items.filter((it) => !it.text.toLowerCase().startsWith(low) && it.text.toLowerCase().includes(low))
      : [];
  return [...starts, ...inside].filter((it) => it.text !== begun);
}
