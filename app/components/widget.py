"""A component of the page as a Jupyter widget: the same JavaScript and Python modules with another transport between them."""

from __future__ import annotations

from typing import Any

import anywidget
import param
import traitlets

from .component import Component
from .esm import bundle


class Widget(anywidget.AnyWidget):
    """Mirrors a component: sends its parameters and messages to the notebook, and the notebook's changes and messages back to it.

    Widgets of one `group` share a playhead, `picture` names the static picture that the live view replaces, `height` is in pixels, `shared`
    lists the component's parameters in the browser.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    shared = traitlets.List(traitlets.Unicode()).tag(sync=True)
    group = traitlets.Unicode().tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(400).tag(sync=True)

    def __init__(self, component: Component, **traits: Any) -> None:
        names = component.shared_parameters()
        self.add_traits(**{name: traitlets.Any(getattr(component, name)).tag(sync=True) for name in names})
        super().__init__(_esm=bundle(f"widgets/{component.root}.js"), shared=names, **traits)
        self.component = component
        component.param.watch(self._drawn, names)
        component.on_sent(self.send)
        self.observe(self._changed, names)
        self.on_msg(lambda _, message, __: component.receive(message))

    def _drawn(self, *events: param.parameterized.Event) -> None:
        with self.hold_sync():
            for event in events:
                setattr(self, event.name, event.new)

    def _changed(self, change: dict[str, Any]) -> None:
        if getattr(self.component, change["name"]) != change["new"]:
            self.component.param.update(**{change["name"]: change["new"]})
