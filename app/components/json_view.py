"""The base class of the page's views: a component that draws one JSON value and sends the user's actions back.

The value is sent as one string (half the cost of a nested parameter), and only when it changes.
"""

from __future__ import annotations

from typing import Any

import msgspec
import param

from .component import Component


class JsonView(Component):
    """A component that draws `payload`."""

    payload = param.String(default="{}", doc="The value to draw, as JSON.")

    def __init__(self, data: Any = None, **params: Any) -> None:
        super().__init__(**params)
        if data is not None:
            self.draw(data)

    def draw(self, data: Any) -> None:
        """Draw `data` (anything msgspec encodes) unless it is drawn already."""
        text = msgspec.json.encode(data).decode()
        if text != self.payload:
            self.payload = text
