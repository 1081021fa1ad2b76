"""The timeline in the browser: it receives tables and a window, and requests further windows. `static/components/timeline` draws it."""

from __future__ import annotations

from typing import ClassVar

from .esm import bundle, style
from .json_view import JsonView


class TimelineView(JsonView):
    """Draws the value of `views.timeline`. Messages: window, find, select_stall, select."""

    _esm = bundle("timeline/timeline.js")
    _stylesheets: ClassVar[list[str]] = [style("tilewright.css"), style("app.css"), style("timeline.css")]
