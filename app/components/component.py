"""What the Python side of a component is, on a page or in Jupyter: parameters for the browser, and messages in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import param


class Component(param.Parameterized):
    """A component of `static/components/roots.js`, by the name `root`. What shows it (`page_root.py`, `widget.py`) watches its parameters
    and passes its messages on."""

    root: ClassVar[str]

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._callbacks: list[Callable[[Any], None]] = []
        self._listeners: list[Callable[[Any], None]] = []

    @classmethod
    def shared_parameters(cls) -> list[str]:
        """The parameters that are sent to the browser."""
        return sorted(name for name in cls.param if name != "name" and f"packed_{name}" not in cls.param)

    def send(self, message: object) -> None:
        """Send the browser a message that is not a parameter: anything that msgspec converts."""
        data = msgspec.to_builtins(message)
        for listener in self._listeners:
            listener(data)

    def receive(self, message: Any) -> None:
        """Handle a message of the browser."""
        for callback in self._callbacks:
            callback(message)

    def on_message(self, callback: Callable[[Any], None]) -> None:
        """Call `callback` with each message of the browser, as JSON: app/protocol/messages.py has the kinds."""
        self._callbacks.append(callback)

    def on_sent(self, listener: Callable[[Any], None]) -> None:
        """Pass each message for the browser to `listener`."""
        self._listeners.append(listener)
