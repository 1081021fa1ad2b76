"""ESM components: the modules of `static/components`, which `static/bundling/build.js` bundles into one text each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from panel.custom import JSComponent
from panel.io.document import hold
from panel.io.state import set_curdoc

from ... import static

STATIC = Path(static.__file__).parent

BUILT = STATIC / "built"

STYLE_SHEETS = '"@style-sheets@"'
"""The placeholder of a component's style sheets in the module of its widget."""


def style(name: str) -> str:
    """The text of a style sheet in `static`, for a component's shadow root."""
    return (STATIC / "styles" / name).read_text(encoding="utf-8")


class Bundle(str):
    """The text of a module from the file `name`. `text` is the same as a plain string, one object for all pages; copies would take 0.7 MB
    per page. `digest` is its SHA-256."""

    name: str
    text: str
    digest: str


class Compiled(JSComponent):
    """A component whose module is plain JavaScript: the server does not dedent it for each page, and the browser does not search it for JSX
    and TypeScript, which is half of a page's load time. Subclasses set `_esm = bundle(...)`."""

    __abstract = True

    @classmethod
    def _render_esm(cls, compiled: Any = True, server: bool = False) -> str:
        assert isinstance(cls._esm, Bundle)
        return cls._esm.text

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._callbacks: list[Callable[[Any], None]] = []
        self._listeners: list[Callable[[Any], None]] = []

    @classmethod
    def widget_module(cls) -> str:
        """The module for a notebook's widget (anywidget's contract): the component, wrapped by `jupyter/host.js`."""
        assert isinstance(cls._esm, Bundle)
        css = json.dumps("\n".join(cls._stylesheets))
        return _built(f"widgets/{cls._esm.name}").replace(STYLE_SHEETS, css)

    @classmethod
    def shared_parameters(cls) -> list[str]:
        """The parameters that Tilewright's classes add to a component and that are sent to the browser."""
        hidden = {name for name, other in cls._rename.items() if other is None}
        owned = (name for name in cls.param if _is_ours(cls.param[name].owner))
        return sorted(name for name in owned if name not in {"name", *hidden})

    def send(self, message: object) -> None:
        """Send the view a message that is not a property: anything that msgspec converts."""
        self._send_msg(msgspec.to_builtins(message))

    def receive(self, message: Any) -> None:
        """Handle a message of the view, on any kind of page."""
        self._handle_msg(message)

    def on_message(self, callback: Callable[[Any], None]) -> None:
        """Call `callback` with each message of the view, as JSON: app/protocol/messages.py has the kinds."""
        self._callbacks.append(callback)

    def _handle_msg(self, data: Any) -> None:
        for callback in self._callbacks:
            callback(data)

    def on_sent(self, listener: Callable[[Any], None]) -> None:
        """Also pass each message to the browser to `listener`, which connects the component to another kind of page."""
        self._listeners.append(listener)

    def _send_msg(self, data: Any) -> None:
        super()._send_msg(data)
        for listener in self._listeners:
            listener(data)

    def _process_bokeh_event(self, doc: Any, event: Any) -> None:
        # Panel's method counts events in progress for an indicator that our pages lack; that is a tenth of an action's time.
        with set_curdoc(doc):
            self._process_event(event)

    # The next methods replace Panel's updates of changed parameters. They omit the handling of components, designs and style sheets in
    # values, since ours are texts and plain data; that saves a tenth of an action's time.

    def _update_properties(self, *events: Any, doc: Any) -> dict[str, Any]:
        plain = _plain_names(type(self))
        changed = {event.name: event.new for event in events if self._rename.get(event.name, event.name) is not None}
        return changed if changed.keys() <= plain else super()._update_properties(*events, doc=doc)

    def _update_model(self, events: Any, msg: dict[str, Any], root: Any, model: Any, doc: Any, comm: Any) -> None:
        from_browser = self._in_process__events.get(doc, {})
        if not msg.keys() <= _plain_names(type(self)) or msg.keys() & from_browser.keys():
            super()._update_model(events, msg, root, model, doc, comm)
            return
        changed = {name: value for name, value in msg.items() if getattr(model.data, name) != value}
        ref, before = root.ref["id"], self._changing
        self._changing = {**before, ref: list(changed)}  # these changes do not come from the browser
        try:
            with hold(doc):
                model.data.update(**changed)
        finally:
            self._changing = before

    def _get_properties(self, doc: Any) -> dict[str, Any]:
        # A component with a bundle name counts as compiled, and modules of one name are loaded once.
        assert isinstance(self._esm, Bundle)
        return {**super()._get_properties(doc), "bundle": self._esm.digest}


def bundle(name: str) -> Bundle:
    """The module of `static/components/NAME`, with all that it imports."""
    text = _built(name)
    made = Bundle(text)
    made.name, made.text, made.digest = name, text, hashlib.sha256(text.encode()).hexdigest()
    return made


@cache
def _plain_names(component: type[Compiled]) -> frozenset[str]:
    return frozenset(component.shared_parameters())


def _is_ours(owner: object) -> bool:
    return isinstance(owner, type) and issubclass(owner, Compiled)


def _built(name: str) -> str:
    try:
        return (BUILT / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"static/built/{name} is missing; `make components` bundles the components") from error
