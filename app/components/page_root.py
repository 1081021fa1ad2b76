"""The components of a page as one Panel component: its messages carry all parameters and messages of the components."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import param
from panel.custom import JSComponent

from .component import Component
from .esm import bundle

MODULE = f"page-{hashlib.sha256(bundle('page_root.js').encode()).hexdigest()[:16]}.js"
"""The address of the page's module below the server's root. It changes with the text, so that browsers may keep it."""


class PageRoot(JSComponent):
    """Draws each component in the element of the page with its name in `data-root`. A change of a parameter is sent as a message, after
    the first values; `static/components/page_root.js` has the other half."""

    mounted = param.Dict(doc="The components by their names: root, and the parameters at the creation of the page.")

    _esm = f'export const {{ render }} = await import(new URL("{MODULE}", document.baseURI).href);'

    def __init__(self, components: Mapping[str, Component]) -> None:
        self._components = dict(components)
        super().__init__(
            mounted={
                name: {"root": one.root, "parameters": {key: getattr(one, key) for key in one.shared_parameters()}}
                for name, one in components.items()
            },
            sizing_mode="fixed",
            width=0,
            height=0,
            margin=0,
        )
        self.on_msg(lambda event: self._receive(event.data))
        for name, component in components.items():
            component.param.watch(partial(self._changed, name), component.shared_parameters())
            component.on_sent(partial(self._sent, name))

    def _changed(self, name: str, *events: param.parameterized.Event) -> None:
        self._send_msg({"name": name, "parameters": {event.name: event.new for event in events}})

    def _sent(self, name: str, message: Any) -> None:
        self._send_msg({"name": name, "message": message})

    def _receive(self, data: Any) -> None:
        """Pass a message of the browser to its component; any script could send other data."""
        match data:
            case {"name": str(name), "message": message} if name in self._components:
                self._components[name].receive(message)
            case _:
                pass
