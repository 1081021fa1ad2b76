// Python in the editor of cells, with the colours of `core/python_text.js`.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { pythonLanguage } from "@codemirror/lang-python";
import { styleTags, tags } from "@lezer/highlight";

const CALLEE = "CallExpression/MemberExpression";

// All of `T.axis.remap` is coloured as a call, and all of `@T.prim_func` as a decorator.
const LANGUAGE = pythonLanguage.configure({
  props: [
    styleTags({
      [`${CALLEE}/VariableName ${CALLEE}/"." ${CALLEE}/MemberExpression/...`]: tags.function(tags.variableName),
      'Decorator/VariableName Decorator/PropertyName Decorator/"."': tags.meta,
    }),
  ],
});

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, class: "tok-comment" },
  { tag: tags.string, class: "tok-string" },
  { tag: tags.number, class: "tok-number" },
  { tag: [tags.keyword, tags.bool, tags.null], class: "tok-keyword" },
  { tag: tags.meta, class: "tok-decorator" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: "tok-call" },
]);

/**
 * Python with `comment` as the comment sign.
 * @param {string} comment
 */
export function python(comment) {
  return [LANGUAGE.data.of({ commentTokens: { line: comment } }), LANGUAGE, syntaxHighlighting(COLOURS)];
}
