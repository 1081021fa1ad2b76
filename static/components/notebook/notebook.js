// The entry of the notebook's component.

import { Notebook } from "./column.js";

/** @import { PayloadModel } from "../core/dom.js" */

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  return new Notebook(model).view;
}
