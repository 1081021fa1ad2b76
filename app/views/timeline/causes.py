"""The causes of stalls: their words and hatchings. `static/components/core/stalls.js` is made of these tables."""

from __future__ import annotations

from typing import Literal, NamedTuple

Cause = Literal["data", "slot", "flag", "port", "issue", "unit", "idle"]
"""The causes of stalls: those of the replay, the turn of another engine of a unit, and the time after an engine's last task."""


class Hatch(NamedTuple):
    """Strokes in a tile of 6 by 6, as SVG path data, of a `width`; and the character that names it in Bokeh."""

    path: str
    width: float
    character: str


HATCHES = {
    "forward": Hatch("M0 6 6 0M-1 1 1-1M5 7 7 5", 1.3, "/"),
    "back": Hatch("M0 0 6 6M-1 5 1 7M5-1 7 1", 1.3, "\\"),
    "cross": Hatch("M0 6 6 0M0 0 6 6", 1.0, "x"),
    "dots": Hatch("M1.5 1.5h.01M4.5 4.5h.01", 2.2, "."),
    "upright": Hatch("M1.5 0V6M4.5 0V6", 1.3, "|"),
    "level": Hatch("M0 1.5H6M0 4.5H6", 1.3, "-"),
    "sparse": Hatch("M0 5H6", 1.3, " "),
}


class StallCause(NamedTuple):
    """A word for labels, a title for tables, a hatching, so that colour is never the only sign, and the reason: `{block}` holds `{what}`,
    the awaited slot, port, queue or engine."""

    word: str
    title: str
    hatch: str
    why: str = ""

    def reason(self, what: str, block: str) -> str:
        """A sentence without its full stop."""
        title = self.title.capitalize()
        return f"{title}: {self.why.format(what=what, block=block)}" if self.why else title


CAUSES: dict[str, StallCause] = {
    "data": StallCause("operand", "operand not ready", "forward", "{block} is still filling {what}"),
    "slot": StallCause("slot", "no free slot", "back", "{block} still uses {what}"),
    "flag": StallCause("flag", "flag not set", "cross", "{block} ends before the {what}"),
    "port": StallCause("port", "port contention", "dots", "other engines transfer bursts through the {what}"),
    "issue": StallCause("queue", "queue full", "upright", "the task could not be issued to the {what}"),
    "unit": StallCause("unit", "unit busy", "level", "{what} runs on the same unit"),
    "idle": StallCause("done", "no further tasks", "sparse"),
}
