"""The figures of the app's panes, as the JSON that the components embed: the same figures as `tilewright.plot`, in the light theme.

A component replaces the colours by those of `dark_colours` in the dark theme.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from bokeh.embed import json_item
from bokeh.plotting import figure

from ..state.derived import Store
from ..state.model import State
from ..views.drawings.inks import inks
from ..views.machine.roofline import pictures_value
from .roofline import draw_roofline
from .traffic import draw_traffic

Value = dict[str, Any]


def traffic_pane(state: State, store: Store) -> Value:
    """The value of the traffic pane: `pictures_value` with the `figures` of both pictures, and the colours of the dark theme."""
    value = pictures_value(state, store)
    figures: Value = {}
    if value["traffic"]["flows"]:
        figures["traffic"] = _drawn("traffic", value["traffic"], store)
    if value["roofline"]["points"]:
        figures["roofline"] = _drawn("roofline", value["roofline"], store)
    return {**value, "figures": figures, "dark": dark_colours()}


def _drawn(name: str, value: Value, store: Store) -> Value:
    """The figure of a value, drawn once: each figure has new identifiers, and an equal value keeps its figure."""
    digest = hashlib.sha256(msgspec.json.encode(value)).hexdigest()
    draw = {"traffic": draw_traffic, "roofline": draw_roofline}[name]
    return store.remember(f"figure {name} {digest}", (), lambda: item_of(draw(value, "light")))


def item_of(drawn: figure) -> Value:
    """A figure as JSON, on the ground of its pane: Bokeh omits a white ground, its default, so that it could not become dark."""
    drawn.background_fill_color = drawn.border_fill_color = None
    item: Any = json_item(drawn)
    return {"doc": item["doc"], "root_id": item["root_id"]}


def dark_colours() -> dict[str, str]:
    """The dark colour of each light one; of white, which several names have, that of "surface"."""
    return dict([*inks().values(), inks()["surface"]])
