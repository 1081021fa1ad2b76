"""The timeline in the browser: it receives tables and a window, and requests further windows. `static/components/timeline` draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .esm import bundle, style
from .json_view import JsonView

Message = dict[str, Any]


class TimelineView(JsonView):
    """Draws the value of `views.timeline`. `answer` responds to its queries (messages of kind "window", "find", "blame"). The `on_intent`
    callbacks get every message: {"kind": "select", "id"} and {"kind": "blame", "engine", "cause", "what", "block"} are intents."""

    _esm = bundle("timeline/timeline.js")
    _stylesheets: ClassVar[list[str]] = [style("tilewright.css"), style("app.css"), style("timeline.css")]

    def __init__(
        self, data: Any = None, *, answer: Callable[[Message], Message | None] | None = None, **params: Any
    ) -> None:
        self._answer = answer
        super().__init__(data, **params)

    def _handle_msg(self, data: Any) -> None:
        super()._handle_msg(data)
        if isinstance(data, dict) and self._answer is not None:
            answer = self._answer(data)
            if answer is not None:
                self._send_msg(answer)
