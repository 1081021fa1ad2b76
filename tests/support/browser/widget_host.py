"""A page that shows widgets like a front end without Jupyter's APIs: only anywidget's contract.

It is as strict as the outputs of VS Code and Colab combined: an iframe of a separate origin (`sandbox`), no network, no `eval`, scripts
only from a blob or with the host's nonce, no import map, no style except the widget's. The kernel is this process.
"""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import FrameLocator, Page

POLICY = "default-src 'none'; script-src 'nonce-host' blob:; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'none'"

# The model that anywidget passes to `render`: Backbone's get, set, save_changes, on and off, and send.
HOST = """
class Model {
  constructor(id, values) {
    Object.assign(this, { id, values, heard: new Map(), dirty: {} });
  }
  get(name) { return this.values[name]; }
  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    this.dirty[name] = value;
    this.trigger(`change:${name}`, this, value);
  }
  save_changes() {
    const state = this.dirty;
    this.dirty = {};
    this.tell({ state });
  }
  send(content) { this.tell({ content }); }
  on(name, call) { this.heard.set(name, [...(this.heard.get(name) ?? []), call]); }
  off(name, call) { this.heard.set(name, (this.heard.get(name) ?? []).filter((known) => known !== call)); }
  trigger(name, ...given) { for (const call of this.heard.get(name) ?? []) call(...given); }
  async tell(message) {
    const answers = JSON.parse(await window.kernel(JSON.stringify({ id: this.id, ...message })));
    for (const answer of answers) models[answer.id].hear(answer);
  }
  hear({ state, content }) {
    for (const [name, value] of Object.entries(state ?? {})) {
      this.values[name] = value;
      this.trigger(`change:${name}`, this, value);
    }
    if (content !== undefined) this.trigger("msg:custom", content, []);
  }
}
const models = {};
const ends = {};
window.show = async (id, values) => {
  const url = URL.createObjectURL(new Blob([values._esm], { type: "text/javascript" }));
  const module = await import(url);
  URL.revokeObjectURL(url);
  models[id] = new Model(id, values);
  const el = document.createElement("div");
  el.id = id;
  document.body.append(el);
  await module.default.initialize?.({ model: models[id] });
  ends[id] = await module.default.render({ model: models[id], el });
};
window.take = (id) => {
  ends[id]();
  document.getElementById(id).remove();
};
"""

FRAME = f"""<!doctype html>
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<body style="margin: 0; background: GROUND"><script nonce="host">{HOST}</script></body>
"""


class Host:
    """Shows widgets on a page; their messages reach the Python objects at once."""

    def __init__(self, page: Page, ground: str = "white") -> None:
        self.page = page
        self._widgets: dict[str, Any] = {}
        self._answers: list[dict[str, Any]] = []
        page.expose_function("kernel", self._hear)
        frame = FRAME.replace("GROUND", ground).replace("&", "&amp;").replace('"', "&quot;")
        page.set_content(
            f'<iframe sandbox="allow-scripts" srcdoc="{frame}" style="border: 0; width: 100%; height: 98vh"></iframe>'
        )
        self._frame = page.frames[-1]
        self._frame.wait_for_function("() => Boolean(window.show)")

    @property
    def inside(self) -> FrameLocator:
        """The frame of the widgets."""
        return self.page.frame_locator("iframe")

    def show(self, name: str, widget: Any) -> None:
        """Show a widget below the others, in an element of that name."""
        self._widgets[name] = widget
        names = [key for key in widget.keys if not key.startswith("_") or key == "_esm"]
        values = {key: getattr(widget, key) for key in names if key not in ("layout", "tabbable", "tooltip")}
        widget.observe(
            lambda change: self._answers.append({"id": name, "state": {change["name"]: change["new"]}}), list(values)
        )
        widget.component.on_sent(lambda content: self._answers.append({"id": name, "content": content}))
        self._frame.evaluate("([name, values]) => window.show(name, values)", [name, values])

    def take(self, name: str) -> None:
        """Remove a widget, like a cleared output."""
        self._frame.evaluate("name => window.take(name)", name)

    def _hear(self, text: str) -> str:
        message = json.loads(text)
        widget = self._widgets[message["id"]]
        for name, value in message.get("state", {}).items():
            setattr(widget, name, value)
        if "content" in message:
            widget.component.receive(message["content"])
        answers, self._answers = self._answers, []
        return json.dumps(answers)
