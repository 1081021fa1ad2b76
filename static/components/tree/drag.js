// What is in the hand: rows that were grabbed, where they may go, and what each drop would do. Three ways to move end here: drag with the
// pointer; click the grip, then a loop; Enter, arrows, Enter. All three are one grab: `start`, `hover`, `drop`, `cancel`.

import { h } from "../core/dom.js";
import { pointRect } from "../core/popup.js";
import { icon } from "./rows.js";
import { MARKS, offersOf, predictionKey, reasonBody, spokenOffer } from "./offers.js";

const HELP_DELAY = 250;

export class Hand {
  constructor(tree) {
    this.tree = tree;
    this.grab = null;
    this.held = null;
    this.answers = new Map();
    this.known = new Map();
    this.repairs = new Map();
  }

  /** Another program: what was asked of the one before is of no use. */
  forget() {
    this.cancel();
    this.letGo();
    this.answers.clear();
    this.known.clear();
    this.repairs.clear();
  }

  /** `by` is "pointer", "click" or "keyboard"; `only` narrows a block's move to one primitive. */
  start(id, by, only = "") {
    const { tree } = this;
    const row = tree.byId.get(id);
    if (!row || row.kind === "allocation") return;
    this.cancel();
    this.letGo();
    this.repairs.clear();
    tree.sheets.close(false);
    tree.pointer.hideTip();
    tree.sheets.hideNotice();
    const rows = tree.together(id);
    const known = this.knows(rows);
    if (!known) this.ask(rows); // first, so that Python works meanwhile
    this.grab = {
      row,
      rows,
      key: rows.join(" "),
      name: rows.length > 1 ? `${rows.length} ${row.kind}s` : row.name,
      by,
      only,
      offers: null,
      over: "",
    };
    tree.element.classList.add("is-grabbing");
    tree.decorateAll();
    if (known) this.offer();
    else tree.hint.replaceChildren("Asking which loops are legal…");
  }

  /** Whether the answer to "where may these go?" is here. */
  knows(rows) {
    return this.answers.has(rows.join(" ")) || (rows.length === 1 && this.tree.targets.has(rows[0]));
  }

  ask(rows) {
    this.tree.send({ kind: "targets", rows });
  }

  entries(rows) {
    return (rows.length === 1 && this.tree.targets.get(rows[0])) || (this.answers.get(rows.join(" ")) ?? []);
  }

  told(message) {
    const key = message.rows.join(" ");
    this.answers.set(key, message.entries);
    if (this.grab?.key === key && !this.grab.offers) this.offer();
    if (this.held?.key === key) this.dropHeld();
  }

  /** The figures of one drop are here. */
  predicted(message) {
    const key = message.rows.join(" ");
    if (!this.known.has(key)) this.known.set(key, new Map());
    this.known.get(key).set(predictionKey(message.loop, message.primitive), message.value);
    if (this.grab?.key !== key || !this.grab.offers) return;
    this.lay();
    this.tree.decorate(message.loop);
    if (this.grab.over === message.loop) this.hover(message.loop);
  }

  /** The offers as they are known now, and the line below the tree that counts them. */
  lay() {
    const { tree, grab } = this;
    const known = this.known.get(grab.key) ?? new Map();
    const entries = this.entries(grab.rows);
    grab.offers = offersOf(tree.byId, entries, grab.only, known);
    for (const id of grab.rows) grab.offers.delete(id);
    grab.count = { legal: 0, costly: 0, illegal: 0 };
    for (const offer of grab.offers.values()) grab.count[offer.state]++;
    const tried = entries.filter((entry) => entry.legal).reduce((sum, entry) => sum + (entry.loops?.length ?? 1), 0);
    const part = (name, text) =>
      h("span", { class: `legend legend-${name}` }, icon(MARKS[name]), `${grab.count[name]} ${text}`);
    tree.element.classList.toggle("is-trying", this.foretells && known.size < tried);
    tree.hint.replaceChildren(
      h("b", {}, grab.name),
      part("legal", "legal"),
      grab.count.costly ? part("costly", "costly") : "",
      part("illegal", "not possible"),
      this.foretells && known.size < tried ? h("span", { class: "trying" }, `figures ${known.size}/${tried}`) : "",
      h("span", { class: "tw-kbd" }, "Esc"),
    );
  }

  offer() {
    const { tree, grab } = this;
    this.lay();
    tree.decorateAll();
    const { count } = grab;
    const how = grab.by === "keyboard" ? "Arrows choose a loop, Enter drops, Escape cancels." : "";
    tree.say(
      `${grab.name} grabbed. ${count.legal} legal, ${count.costly} costly, ${count.illegal} not possible. ${how}`,
    );
    if (grab.over) this.hover(grab.over);
    else if (grab.by !== "pointer") this.hover(tree.cursor);
    tree.send({ kind: "grabbed", rows: grab.rows, near: grab.over || grab.row.id });
  }

  /** Whether Python works out what drops would do: it has once done so. */
  get foretells() {
    return this.known.size > 0;
  }

  /** The pointer or cursor is over row `id`: say what a drop there would do. */
  hover(id) {
    const { tree, grab } = this;
    const before = grab.over;
    grab.over = id;
    if (before !== id) tree.decorate(before);
    tree.decorate(id);
    const offer = grab.offers?.get(id);
    const element = tree.elements.get(id);
    if (!offer || !element) {
      tree.tip.hide();
      return;
    }
    if (before !== id && offer.choices.some((choice) => !choice.value)) tree.send({ kind: "near", row: id });
    tree.tip.element.dataset.offer = offer.state;
    const calls = this.repairs.get(id) ?? [];
    tree.tip.show(
      element.getBoundingClientRect(),
      "beside",
      ...offer.reasons.map((reason) => reasonBody(reason, reason.state ?? offer.state)),
      helpLine(calls),
    );
    if (before !== id) this.askForHelp(id, offer);
    if (grab.by === "keyboard") tree.say(`${tree.byId.get(id).name}: ${spokenOffer(offer)}`);
  }

  /** Over a loop that is not possible for a moment: are there calls that would make it so? */
  askForHelp(id, offer) {
    clearTimeout(this.helpTimer);
    const { grab } = this;
    const wish = this.wishOf(grab, offer, id);
    if (offer.state !== "illegal" || !wish || this.repairs.has(id)) return;
    this.helpTimer = setTimeout(() => {
      if (this.grab === grab && grab.over === id) this.tree.send(wish);
    }, HELP_DELAY);
  }

  wishOf(grab, offer, id) {
    const primitive = offer.reasons[0]?.head;
    return grab.row.kind === "block" && grab.rows.length === 1 && primitive
      ? { kind: "wish", block: grab.row.id, loop: id, primitive }
      : null;
  }

  /** Which calls would make a drop possible: none, where nothing is known to. */
  helped({ wish, calls }) {
    if (this.grab?.row.id !== wish.block) return;
    this.repairs.set(wish.loop, calls);
    if (calls.length && this.grab.over === wish.loop) this.hover(wish.loop);
  }

  drop(id, point) {
    const { tree } = this;
    const { offers, ...grab } = this.grab;
    const offer = offers?.get(id);
    const isClear = offer?.choices.length === 1 && !grab.rows.includes(id);
    // First, so that Python works while the hand is tidied up.
    if (isClear) this.dropped(grab, offer, id, point);
    this.cancel(Boolean(offer?.choices.length));
    if (isClear) return;
    if (!offers && tree.byId.get(id)?.kind === "loop") {
      // The hand was faster than the answer: the drop waits for it.
      this.held = { ...grab, id, point };
      tree.decorate(id);
      tree.hint.replaceChildren(`Asking whether ${grab.name} may go to ${tree.byId.get(id).name}…`);
      return;
    }
    this.dropped(grab, offer, id, point);
  }

  dropHeld() {
    const { id, point, ...grab } = this.held;
    this.letGo();
    const offers = offersOf(this.tree.byId, this.entries(grab.rows), grab.only, this.known.get(grab.key) ?? new Map());
    this.dropped(grab, offers.get(id), id, point);
  }

  /** A drop that waits is given up, or its answer is here. */
  letGo() {
    if (!this.held) return;
    const { id } = this.held;
    this.held = null;
    this.tree.decorate(id);
    this.tree.rest();
  }

  dropped(grab, offer, id, point) {
    const { tree } = this;
    if (!offer || grab.rows.includes(id)) return;
    tree.after = { id: grab.row.id, focus: grab.by === "keyboard" };
    if (offer.state === "illegal") {
      const wish = this.wishOf(grab, offer, id);
      tree.sheets.showNotice({
        text: `${grab.name} cannot go to ${tree.byId.get(id).name}`,
        reasons: offer.reasons,
        otherwise: "not here",
      });
      if (wish) tree.sheets.wishFor(wish);
    } else if (offer.choices.length === 1) this.send(grab, offer.choices[0]);
    else
      this.choose(
        grab,
        offer.choices,
        point ? pointRect(point.x, point.y) : tree.elements.get(id).getBoundingClientRect(),
      );
  }

  send(grab, choice) {
    const { rows, row } = grab;
    const loop = this.tree.byId.get(choice.loop)?.name ?? choice.loop;
    this.tree.say(`${choice.primitive} ${grab.name} at ${loop}`);
    if (choice.order) this.tree.send({ kind: "reorder", loops: choice.order });
    else if (rows.length > 1) this.tree.send({ kind: "moves", rows, loop: choice.loop });
    else this.tree.send({ kind: "move", block: row.id, loop: choice.loop, primitive: choice.primitive });
  }

  /** Both primitives are possible: a small menu asks which, with what each would do. */
  choose(grab, choices, anchor) {
    const items = choices.map((choice) => ({
      label: [choice.primitive, choice.value?.label].filter(Boolean).join("  "),
      key: { compute_at: "c", reverse_compute_at: "r" }[choice.primitive],
      help: choice.reason,
      run: () => this.send(grab, choice),
    }));
    this.tree.sheets.menu(`${grab.name} → ${this.tree.byId.get(choices[0].loop)?.name}`, items, anchor, grab.row.id);
  }

  /** `dropping`: what was grabbed is on its way, and its figures are used. */
  cancel(dropping = false) {
    if (!this.grab) {
      this.letGo();
      return;
    }
    const { tree } = this;
    this.grab = null;
    if (!dropping) tree.send({ kind: "released" });
    tree.element.classList.remove("is-grabbing", "is-trying");
    tree.decorateAll();
    tree.tip.hide();
    tree.pointer.rest();
    tree.rest();
  }
}

function helpLine(calls) {
  if (!calls.length) return null;
  const count = calls.length - 1;
  return h(
    "div",
    { class: "reason-help" },
    `Possible after ${count === 1 ? "one more call" : `${count} more calls`}: drop it here to see ${count === 1 ? "it" : "them"}`,
  );
}
