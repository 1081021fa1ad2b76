// A component as a widget of a notebook. What Panel's model is to it on the page is made here of the widget's model (anywidget's contract):
// properties, changes, messages both ways. The look is the notebook's, light or dark, and while it has the focus keys are the component's.

import { joinGroup } from "../core/playhead.js";

const THEMED = [
  "class",
  "style",
  "theme",
  "data-theme",
  "data-jp-theme-light",
  "data-jp-theme-name",
  "data-vscode-theme-kind",
];

// What is about the page around the views: there is none of ours, no gallery and no theme.
// The headline is narrower than a page knows of: figures give way, not the words about the program.
const OF_PAGE = `
  .of-page { display: none !important; }
  :host { background: var(--tw-surface); border-radius: 6px; }
  .headline .about { flex: none; }
  .headline .figures { flex: 1 1 0; min-width: 0; flex-wrap: wrap; row-gap: 24px; max-height: 40px; overflow: hidden; }
`;

class WidgetModel {
  constructor(model) {
    this.widget = model;
    this.ends = [];
    this.on("msg:custom", (message) => message.kind === "download" && download(message));
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

  on(event, call) {
    if (event === "remove") return this.ends.push(call);
    const name = event === "msg:custom" || event.startsWith("change:") ? event : `change:${event}`;
    const heard = (message) => call(message);
    this.widget.on(name, heard);
    return this.ends.push(() => this.widget.off(name, heard));
  }

  send_msg(message) {
    this.widget.send(message);
  }

  remove() {
    for (const end of this.ends.splice(0)) end();
  }
}

/** A file for the person, out of a message with its name and text. */
function download({ name, text }) {
  const link = document.createElement("a");
  link.href = text.startsWith("data:") ? text : URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Whether `element` stands on a dark ground: that of the first element around it that has one. */
function standsOnDark(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const [red, green, blue, alpha = 1] = (
      getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [255, 255, 255, 0]
    ).map(Number);
    if (alpha > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return false;
}

/** Takes the picture that a saved notebook keeps out of sight while the live view is there; returns what brings it back. */
function hidePicture(name) {
  const style = document.createElement("style");
  const picture = `[data-tilewright="${name}"]`;
  style.textContent = `${picture}, .jp-OutputArea-child:has(${picture}) { display: none !important; }`;
  document.head.append(style);
  return () => style.remove();
}

/** Whether a key is the notebook's wherever the focus is: saving. All others are the component's, as `x` and the arrows. */
function isOfNotebook(event) {
  return (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
}

class Host {
  constructor(render, css, model, el) {
    Object.assign(this, { render, css, model });
    this.element = document.createElement("div");
    this.element.className = "tw-live";
    this.keys = (event) =>
      event.composedPath().includes(this.element) &&
      this.element.toggleAttribute("data-lm-suppress-shortcuts", !isOfNotebook(event));
    window.addEventListener("keydown", this.keys, true);
    this.element.dataset.jpSuppressContextMenu = "true";
    this.root = this.element.attachShadow({ mode: "open" });
    el.append(this.element);
    this.sized = () => (this.element.style.height = `${model.get("height")}px`);
    model.on("change:height", this.sized);
    this.sized();
    this.themed = new MutationObserver(() => this.dark !== standsOnDark(el) && this.draw());
    for (const watched of [document.documentElement, document.body])
      this.themed.observe(watched, { attributes: true, attributeFilter: THEMED });
    this.draw();
    // The first drawing was before the element stood anywhere.
    requestAnimationFrame(() => this.dark !== standsOnDark(el) && this.draw());
    this.show = model.get("picture") ? hidePicture(model.get("picture")) : () => {};
  }

  /** The component, from the start: canvases keep the colours that they were made with. */
  draw() {
    this.component?.remove();
    this.dark = standsOnDark(this.element.parentElement);
    this.element.style.cssText = `display: block; position: relative; overflow: hidden; color-scheme: ${this.dark ? "dark" : "light"}`;
    this.sized();
    this.component = new WidgetModel(this.model);
    const style = document.createElement("style");
    style.textContent = `${this.css}\n${OF_PAGE}`;
    this.root.replaceChildren(style, this.render({ model: this.component }));
  }

  remove() {
    this.model.off("change:height", this.sized);
    this.themed.disconnect();
    window.removeEventListener("keydown", this.keys, true);
    this.component.remove();
    this.show();
  }
}

/** What anywidget calls for each view of the widget. */
export function hosted(render, css) {
  return {
    render({ model, el }) {
      joinGroup(model.get("group"));
      const host = new Host(render, css, model, el);
      return () => host.remove();
    },
  };
}
