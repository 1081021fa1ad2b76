"""The figures of the app's panes, as the JSON that the components embed: the same figures as `tilewright.plot`, in the light theme.

A component replaces the colours by those of `dark_colours` in the dark theme.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from bokeh.document import Document
from bokeh.embed import json_item
from bokeh.plotting import figure

from ..state.derived import Store
from ..state.entries import Derived
from ..state.model import State
from ..views.drawings.inks import inks
from ..views.labels.blank import Blank, blank_value
from ..views.labels.values import Value
from ..views.machine.roofline import Roofline, roofline_value
from ..views.machine.traffic import TrafficDiagram, traffic_value
from .roofline import draw_roofline
from .style import Theme
from .traffic import draw_traffic

Drawn = TypeVar("Drawn", TrafficDiagram, Roofline)

BLANK = "This pane shows the bytes copied between memories, their lower bounds, and the roofline."


_FIGURE = Derived["Figure"]("figure")


class Figure(Value, frozen=True):
    """A Bokeh figure as JSON."""

    doc: dict[str, Any]
    root_id: str


class TrafficFigures(Value, frozen=True, omit_defaults=True):
    """The figures that have something to show."""

    traffic: Figure | None = None
    roofline: Figure | None = None


class TrafficPane(Value, frozen=True):
    """Traffic and roofline, or the reason why there are none, with their figures in the light theme; `dark` are the
    dark theme's colours."""

    traffic: TrafficDiagram
    roofline: Roofline
    blank: Blank | None
    figures: TrafficFigures
    dark: dict[str, str]


def traffic_pane(state: State, store: Store) -> TrafficPane:
    """The value of the traffic pane."""
    traffic, roofline = traffic_value(state, store), roofline_value(state, store)
    figures = TrafficFigures(
        _drawn(draw_traffic, traffic, store) if traffic.flows else None,
        _drawn(draw_roofline, roofline, store) if roofline.points else None,
    )
    return TrafficPane(traffic, roofline, blank_value(state, store, BLANK), figures, dark_colours())


def _drawn(draw: Callable[[Drawn, Theme], figure], value: Drawn, store: Store) -> Figure:
    """The figure of a value, drawn once: each figure has new identifiers, and an equal value keeps its figure."""
    digest = hashlib.sha256(msgspec.json.encode(value)).hexdigest()
    return store.remember(_FIGURE(type(value).__name__, digest), lambda: item_of(draw(value, "light")))


def item_of(drawn: figure) -> Figure:
    """A figure as JSON, on the ground of its pane: Bokeh omits a white ground, its default, so that it could not become dark."""
    drawn.background_fill_color = drawn.border_fill_color = None
    document = (
        Document()
    )  # else Bokeh asks for the current one, which another thread may have set, and a closed page destroyed
    document.add_root(drawn)
    item: Any = json_item(drawn)
    return Figure(item["doc"], item["root_id"])


def dark_colours() -> dict[str, str]:
    """The dark colour of each light one; of white, which several names have, that of "surface"."""
    return dict([*inks().values(), inks()["surface"]])
