// The Next pane: what limits the program, the machine while there are no steps, and calls that improve it, the best first.

import { follow, h, keepScroll } from "../core/dom.js";
import { reconcile } from "../core/reconcile.js";
import { settingForm } from "../core/settings.js";
import { MakeFast } from "../explore/deriving.js";
import { fixBox } from "./fix.js";

/** @import { PayloadModel } from "../core/dom.js" */
/** @import { DrawnEngine as MachineEngine, DrawnMemory as MachineMemory, MachineChoice as MachineCard, NextSteps as NextData, SuggestedStep as Suggestion } from "../views.js" */

const SHOWN = 6;
const BEFORE_PX = 24; // of the machine before the chosen one

/**
 * A drawing of a machine: the far memory, the engines that copy, the near memories, and the engines that compute.
 * @param {PayloadModel} model
 * @param {MachineCard} card
 */
function machineCard(model, card) {
  const [far, ...near] = card.memories;
  const copiers = card.engines.filter((engine) => engine.kind === "dma");
  const others = card.engines.filter((engine) => engine.kind !== "dma");
  /** @param {MachineMemory} memory */
  const memoryBox = (memory) => h("span", { class: "memory-box" }, memory.name, h("small", {}, memory.size));
  /** @param {MachineEngine} engine */
  const engineBox = (engine) => h("span", { class: `engine-box is-${engine.kind}` }, engine.name);
  const columns = [[memoryBox(far)], copiers.map(engineBox), near.map(memoryBox), others.map(engineBox)];
  return h(
    "button",
    {
      class: "machine-card",
      type: "button",
      "aria-pressed": String(card.chosen),
      title: card.description,
      "data-machine": card.name,
      onclick: () => model.send_msg({ kind: "machine", name: card.name }),
    },
    h("b", {}, card.name),
    h(
      "span",
      { class: "machine-drawing", "aria-hidden": "true" },
      columns.filter((column) => column.length).map((column) => h("span", { class: "machine-column" }, column)),
    ),
  );
}

/**
 * @param {PayloadModel} model
 * @param {Suggestion} item
 * @param {boolean} first
 */
function suggestion(model, item, first) {
  return h(
    "li",
    { "data-rule": item.rule },
    h("b", {}, item.title),
    item.decisions.length
      ? h(
          "details",
          { class: "decisions" },
          h("summary", {}, "What it decides"),
          h(
            "ul",
            {},
            item.decisions.map((text) => h("li", {}, text)),
          ),
        )
      : null,
    fixBox(model, item.fix, first),
  );
}

/**
 * What limits the program.
 * @param {PayloadModel} model
 * @param {NextData} data
 */
function facts(model, { limit, bound, heaviest }) {
  return [
    limit ? h("p", { class: "next-limit" }, h("b", {}, limit.text), limit.detail ? ` · ${limit.detail}` : "") : null,
    bound ? h("p", { class: "next-bound quiet" }, bound) : null,
    heaviest
      ? h(
          "p",
          { class: "next-heaviest" },
          "Most work: ",
          h(
            "button",
            {
              class: "tool small place",
              title: `Select ${heaviest.name} in the tree`,
              onclick: () => model.send_msg({ kind: "select", id: heaviest.row }),
            },
            heaviest.name,
          ),
          ` ${heaviest.text}`,
        )
      : null,
  ];
}

/**
 * The result of the trials, once they have ended: until then, the page shows their progress.
 * @param {NextData} data
 */
function status(data) {
  if (data.looking) return "";
  if (!data.suggestions.length) return "No call that was tried improves the program. Explore searches combinations.";
  return "Each step is one edit: Undo takes it back.";
}

/**
 * Scrolls the row of machines to one; the machine before it stays visible in part.
 * @param {HTMLElement} machines
 * @param {string | undefined} name
 */
function scrollTo(machines, name) {
  const card = [...machines.children].find((node) => node instanceof HTMLElement && node.dataset.machine === name);
  if (card)
    machines.scrollLeft += card.getBoundingClientRect().left - machines.getBoundingClientRect().left - BEFORE_PX;
}

/** @param {{ model: PayloadModel }} options */
export function render({ model }) {
  const view = h("section", { class: "next-steps", tabindex: "0", "aria-label": "Next steps" });
  const head = h("div", {});
  const machines = h("div", { class: "machine-cards", role: "group", "aria-label": "Machine" });
  const said = h("p", { class: "quiet", role: "status" });
  const list = h("ol", {});
  const more = h("button", { class: "tool small", type: "button" });
  const needed = h("div", {});
  const fast = new MakeFast(
    (message) => model.send_msg(message),
    "derives a schedule as a branch, then searches its values",
  );
  view.append(fast.element, head, needed, machines, said, list, more);
  let all = false;
  /** @type {string | undefined} */
  let chosen;
  /** @type {string | undefined} */
  let wanted;
  // A hidden pane cannot scroll.
  const showChosen = () => {
    if (machines.clientWidth && wanted !== chosen) scrollTo(machines, (chosen = wanted));
  };
  new ResizeObserver(showChosen).observe(machines);
  /** @type {NextData | null} */
  let drawn = null;
  const draw = () => {
    if (!drawn) return;
    const data = drawn;
    const shown = all ? data.suggestions : data.suggestions.slice(0, SHOWN);
    keepScroll(view, () => {
      head.replaceChildren(...facts(model, data).filter((node) => node !== null));
      fast.draw(data.tiles);
      fast.element.hidden = data.fields.length > 0;
      reconcile(
        needed,
        data.fields.length ? [{ setting: data.setting, fields: data.fields }] : [],
        (line) => JSON.stringify(line),
        (line) => settingForm((message) => model.send_msg(message), line),
      );
      machines.hidden = !data.machines.length;
      const left = machines.scrollLeft;
      machines.replaceChildren(...data.machines.map((card) => machineCard(model, card)));
      machines.scrollLeft = left;
      wanted = data.machines.find((card) => card.chosen)?.name;
      showChosen();
      if (said.textContent !== status(data)) said.textContent = status(data);
      said.hidden = data.looking || data.fields.length > 0;
      list.hidden = !shown.length;
      reconcile(
        list,
        shown.map((item, n) => ({ item, first: n === 0 })),
        (entry) => JSON.stringify(entry),
        ({ item, first }) => suggestion(model, item, first),
      );
      more.hidden = data.suggestions.length <= SHOWN;
      more.textContent = all ? "Fewer" : `${data.suggestions.length - SHOWN} more`;
    });
  };
  more.onclick = () => {
    all = !all;
    draw();
  };
  follow(model, (/** @type {NextData} */ data) => {
    drawn = data;
    draw();
  });
  return view;
}
