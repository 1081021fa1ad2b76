"""A hole in the form that views show: its name, and its values in the order of an axis."""

from __future__ import annotations

from ....engine.adopt import Hole
from ...document.holes import hand_tiles
from ...state.model import State
from .values import Value


class Axis(Value, frozen=True):
    """A parameter of the schedule: its values as written, and the `order` of their positions on the axis, ascending for numbers."""

    name: str
    values: tuple[str, ...]
    order: list[int]


def axis_of(hole: Hole) -> Axis:
    """The axis of a hole."""
    numbers = [v for v in hole.values if isinstance(v, int | float) and not isinstance(v, bool)]
    places = list(range(len(hole.values)))
    if len(numbers) == len(places):
        places.sort(key=lambda n: numbers[n])
    return Axis(hole.name, hole.texts, places)


def tiles_text(state: State) -> str:
    """The tiles of the schedule that a derivation can keep: "m 64, n 64"; "" without any."""
    if state.shown is None:
        return ""
    return ", ".join(f"{name.removeprefix('tile ')} {tile}" for name, tile in hand_tiles(state.shown).items())


__all__ = ["Axis", "axis_of", "tiles_text"]
