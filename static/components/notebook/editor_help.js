// Help at the caret of a cell editor: the signature of the present call with the current parameter, and completions.

import {
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completionStatus,
  insertCompletionText,
  moveCompletionSelection,
  pickedCompletion,
  startCompletion,
} from "@codemirror/autocomplete";
import { Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, keymap, showTooltip } from "@codemirror/view";
import { h } from "../core/dom.js";
import { callAt, contextAt, offersAt } from "./call_text.js";

/** @import { Completion as Option, CompletionContext, CompletionResult } from "@codemirror/autocomplete" */
/** @import { EditorState, StateEffectType } from "@codemirror/state" */
/** @import { Command, Tooltip } from "@codemirror/view" */
/** @import { CallContext, Completion } from "./call_text.js" */
/** @import { Words } from "../views.js" */

/** @type {Record<string, string>} */
const KIND_SIGNS = { call: "ƒ", loop: "↻", block: "■", list: "[ ]", argument: "=", name: "x", schedule: "s" };

/** Sets the words of the notebook. */
export const setWords = /** @type {StateEffectType<Words>} */ (StateEffect.define());

const wordsField = StateField.define({
  create: () => /** @type {Words | null} */ (null),
  update: (words, { effects }) => effects.find((effect) => effect.is(setWords))?.value ?? words,
});

// The call.

/** @typedef {Tooltip & { label: string }} Signature */

const signatureField = StateField.define({
  create: () => /** @type {Signature | null} */ (null),
  update(signature, { state, docChanged, selection, effects }) {
    if (!docChanged && !selection && !effects.some((effect) => effect.is(setWords))) return signature;
    const within = callOf(state);
    if (!within) return null;
    const made = signatureOf(within);
    return signature?.label === made.label && signature.pos === made.pos ? signature : made;
  },
  provide: (field) => showTooltip.from(field),
});

/**
 * The call at the caret.
 * @param {EditorState} state
 */
function callOf(state) {
  const words = state.field(wordsField);
  const { head, empty } = state.selection.main;
  if (!words || !empty) return null;
  const text = state.doc.toString();
  const context = contextAt(text, head);
  const calls = new Map(words.calls.map((call) => [call.name, call]));
  return context.inside === "comment" ? null : callAt(text, context, calls);
}

/**
 * @param {CallContext} within
 * @returns {Signature}
 */
function signatureOf({ call, parameter, at }) {
  const names = call.parameters.map((it, n) => [
    n ? ", " : "",
    h(
      "span",
      { class: n === parameter ? "is-meant" : it.default === null ? "" : "is-optional" },
      `${it.many ? "*" : ""}${it.name}`,
      it.default === null ? "" : `=${it.default}`,
    ),
  ]);
  const summary = call.summary.split("`").map((part, n) => (n % 2 ? h("code", {}, part) : part));
  const dom = h(
    "div",
    { class: "signature", "aria-hidden": "true" },
    h("code", {}, h("b", {}, call.name), "(", names, ")"),
    h("div", { class: "signature-says" }, summary),
  );
  const label = `${call.name}: ${call.parameters.map((it) => it.name).join(", ")}. ${call.parameters[parameter]?.name ?? ""}`;
  return { pos: at, above: true, label, create: () => ({ dom }) };
}

/** The signature for screen readers. */
const announcement = EditorView.updateListener.of(({ startState, state, view }) => {
  const label = state.field(signatureField)?.label;
  if (label && label !== startState.field(signatureField)?.label)
    view.dispatch({ effects: EditorView.announce.of(label) });
});

// Completions.

/**
 * @param {CompletionContext} context
 * @returns {CompletionResult | null}
 */
function completions({ state, pos, explicit }) {
  const words = state.field(wordsField);
  const found = words && offersAt(state.doc.toString(), pos, words, explicit);
  if (!found) return null;
  const typed = state.sliceDoc(found.from, pos);
  return { from: found.from, options: found.items.filter(({ text }) => text !== typed).map(optionOf) };
}

/**
 * @param {Completion} item
 * @returns {Option}
 */
function optionOf({ text, kind, detail }) {
  return {
    label: text,
    type: kind,
    detail: detail?.replaceAll("`", ""),
    apply: kind === "call" ? insertCall : undefined,
  };
}

/**
 * Insert a call with its brackets, and place the caret between them.
 * @param {EditorView} view
 * @param {Option} option
 * @param {number} from
 * @param {number} to
 */
function insertCall({ state, dispatch }, option, from, to) {
  const hasBracket = state.sliceDoc(to, to + 1) === "(";
  const inserted = insertCompletionText(state, hasBracket ? option.label : `${option.label}()`, from, to);
  const selection = { anchor: from + option.label.length + 1 };
  dispatch({ ...inserted, selection, annotations: pickedCompletion.of(option) });
}

/** Opens the list if the words of the notebook come after the user has typed one. */
function whenWordsCome() {
  let isTyped = false;
  return EditorView.updateListener.of(({ startState, state, transactions, view }) => {
    isTyped ||= transactions.some((transaction) => transaction.isUserEvent("input"));
    if (!isTyped || startState.field(wordsField) || !state.field(wordsField)) return;
    const { head } = state.selection.main;
    if (/[\w.]$/.test(state.sliceDoc(0, head))) queueMicrotask(() => view.hasFocus && startCompletion(view));
  });
}

/** The help at the caret. Enter takes a completion only after an arrow key or the key for completions. */
export function editorHelp() {
  let isChosen = false;
  /** @type {(command: Command) => Command} */
  const choosing = (command) => (view) => {
    isChosen = command(view);
    return isChosen;
  };
  const keys = keymap.of([
    { key: "Ctrl-Space", mac: "Cmd-Space", run: choosing(startCompletion) },
    { key: "ArrowDown", run: choosing(moveCompletionSelection(true)) },
    { key: "ArrowUp", run: choosing(moveCompletionSelection(false)) },
    { key: "Tab", run: acceptCompletion },
    { key: "Enter", run: (view) => isChosen && acceptCompletion(view) },
    { key: "Escape", run: closeCompletion },
  ]);
  return [
    wordsField,
    signatureField,
    announcement,
    whenWordsCome(),
    Prec.highest(keys),
    EditorView.updateListener.of(({ docChanged, view }) => {
      if (docChanged || !completionStatus(view.state)) isChosen = false;
    }),
    autocompletion({
      override: [completions],
      defaultKeymap: false,
      interactionDelay: 0,
      activateOnTypingDelay: 0,
      icons: false,
      compareCompletions: () => 0, // the order of the source
      addToOptions: [
        {
          position: 20,
          render: ({ type = "" }) =>
            h("span", { class: `offer-kind is-${type}`, "aria-hidden": "true" }, KIND_SIGNS[type] ?? "”"),
        },
      ],
    }),
  ];
}
