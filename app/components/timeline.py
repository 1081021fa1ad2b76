"""The timeline in the browser: it receives tables and a window, and requests further windows. `static/components/timeline` draws it."""

from __future__ import annotations

from .json_view import JsonView


class TimelineView(JsonView):
    """Draws the value of `views.timeline`. Messages: window, find, select_stall, select."""

    root = "timeline"
