// A component as a notebook's widget: Panel's model interface on top of the widget's model (anywidget's contract), the notebook's theme, and keys
// for the component while it has the focus.

import { download, h } from "../core/dom.js";
import { joinGroup } from "../core/bus.js";

/** @import { Message } from "../core/dom.js" */
/** @import { Root } from "../roots.js" */

/**
 * anywidget's model.
 * @typedef {object} AnyModel
 * @property {(name: string) => any} get
 * @property {(name: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(message: unknown) => void} send
 * @property {(event: string, listener: (message?: any) => void) => void} on
 * @property {(event: string, listener: (message?: any) => void) => void} off
 */

const THEME_ATTRIBUTES = [
  "class",
  "style",
  "theme",
  "data-theme",
  "data-jp-theme-light",
  "data-jp-theme-name",
  "data-vscode-theme-kind",
];

// Elements of the page's frame are hidden. The headline is narrower than on the page: its figures are cut, not the words about the program.
const WIDGET_STYLE = `
  .of-page { display: none !important; }
  :host { background: var(--tw-surface); border-radius: 6px; }
  .headline .about { flex: none; }
  .headline .figures { flex: 1 1 0; min-width: 0; flex-wrap: wrap; row-gap: 24px; max-height: 40px; overflow: hidden; }
`;

/** Panel's model interface: the shared parameters as properties, and messages both ways. */
class WidgetModel {
  /** @param {AnyModel} model */
  constructor(model) {
    this.widget = model;
    /** @type {(() => void)[]} */
    this.cleanups = [];
    this.on("msg:custom", (message) => message.kind === "download" && download(message.name, message.text));
    for (const name of model.get("shared")) {
      Object.defineProperty(this, name, {
        get: () => model.get(name),
        set: (value) => {
          model.set(name, value);
          model.save_changes();
        },
      });
    }
  }

  /**
   * @param {string} event
   * @param {(message?: any) => void} listener
   */
  on(event, listener) {
    if (event === "remove") {
      this.cleanups.push(listener);
      return;
    }
    const name = event === "msg:custom" ? event : `change:${event}`;
    const forward = (/** @type {any} */ message) => listener(message);
    this.widget.on(name, forward);
    this.cleanups.push(() => this.widget.off(name, forward));
  }

  /** @param {Message} message */
  send_msg(message) {
    this.widget.send(message);
  }

  remove() {
    for (const cleanup of this.cleanups.splice(0)) cleanup();
  }
}

/**
 * Whether the background of an element is dark: that of the nearest ancestor with one.
 * @param {Element | null} element
 */
function isOnDark(element) {
  for (let at = element; at; at = at.parentElement ?? shadowHost(at)) {
    const numbers = getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [255, 255, 255, 0];
    const [red, green, blue, alpha = 1] = numbers.map(Number);
    if (alpha > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return false;
}

/** @param {Element} element */
function shadowHost(element) {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

/**
 * Hide the static picture of a saved notebook while the live view is shown. Returns a function that shows it again.
 * @param {string} name
 */
function hidePicture(name) {
  const picture = `[data-tilewright="${name}"]`;
  const style = h("style", {}, `${picture}, .jp-OutputArea-child:has(${picture}) { display: none !important; }`);
  document.head.append(style);
  return () => style.remove();
}

/**
 * Whether a key belongs to the notebook even inside of a component: the shortcut to save.
 * @param {KeyboardEvent} event
 */
function isNotebookKey(event) {
  return (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
}

class Host {
  /**
   * @param {Root} mounted
   * @param {AnyModel} model
   * @param {HTMLElement} el
   */
  constructor(mounted, model, el) {
    this.mounted = mounted;
    this.model = model;
    this.dark = false;
    this.component = new WidgetModel(model);
    this.element = h("div", { class: "tw-live", "data-jp-suppress-context-menu": "true" });
    this.keys = (/** @type {KeyboardEvent} */ event) => {
      if (event.composedPath().includes(this.element))
        this.element.toggleAttribute("data-lm-suppress-shortcuts", !isNotebookKey(event));
    };
    window.addEventListener("keydown", this.keys, true);
    this.root = this.element.attachShadow({ mode: "open" });
    el.append(this.element);
    this.resize = () => (this.element.style.height = `${model.get("height")}px`);
    model.on("change:height", this.resize);
    const redrawForTheme = () => this.dark !== isOnDark(el) && this.draw();
    this.themeObserver = new MutationObserver(redrawForTheme);
    for (const watched of [document.documentElement, document.body])
      this.themeObserver.observe(watched, { attributes: true, attributeFilter: THEME_ATTRIBUTES });
    this.draw();
    requestAnimationFrame(redrawForTheme); // `el` gets its place in the page after this call
    this.showPicture = model.get("picture") ? hidePicture(model.get("picture")) : () => {};
  }

  /** Draw the component anew: a canvas keeps the colours of its creation. */
  draw() {
    this.component.remove();
    this.dark = isOnDark(this.element.parentElement);
    this.element.style.cssText = `display: block; position: relative; overflow: hidden; color-scheme: ${this.dark ? "dark" : "light"}`;
    this.resize();
    this.component = new WidgetModel(this.model);
    const style = h("style", {}, [...this.mounted.sheets, WIDGET_STYLE].join("\n"));
    this.root.replaceChildren(style, this.mounted.render({ model: this.component }));
  }

  remove() {
    this.model.off("change:height", this.resize);
    this.themeObserver.disconnect();
    window.removeEventListener("keydown", this.keys, true);
    this.component.remove();
    this.showPicture();
  }
}

/**
 * The module that anywidget calls for each view of the widget.
 * @param {Root} root
 */
export function hosted(root) {
  return {
    render(/** @type {{ model: AnyModel, el: HTMLElement }} */ { model, el }) {
      joinGroup(model.get("group"));
      const host = new Host(root, model, el);
      return () => host.remove();
    },
  };
}
