"""A hole as views show it: its name, and its values in the order of an axis."""

from __future__ import annotations

from typing import Any

from ....engine.adopt import Hole


def axis_of(hole: Hole) -> dict[str, Any]:
    """name, values as written, and in which order (of positions) they stand on an axis: numbers rise."""
    numbers = [v for v in hole.values if isinstance(v, int | float) and not isinstance(v, bool)]
    places = list(range(len(hole.values)))
    if len(numbers) == len(places):
        places.sort(key=lambda n: numbers[n])
    return {"name": hole.name, "values": hole.texts, "order": places}


__all__ = ["axis_of"]
