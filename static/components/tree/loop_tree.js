// The component of the loop tree.

import { Tree } from "./tree.js";

/** @import { TreeModel } from "./tree.js" */

/** @param {{ model: TreeModel }} options */
export function render({ model }) {
  const tree = new Tree(model);
  model.on("remove", () => tree.remove());
  return tree.element;
}
