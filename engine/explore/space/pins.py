"""Pinned holes: a part of a space, in which some holes keep one value or a few, and a search varies the rest.

    tile = choose("tile", [32, 64, 128])        {"tile": 64}            tile = choose("tile", [64])
                                                {"tile": [64, 128]}     tile = choose("tile", [64, 128])

The part is a space with shorter lists in its lines. Samplers, workers and the file of a study know nothing of pins, and a part has a
study of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from ...adopt import Hole, hole_of, is_hole, with_values
from ...ir import Refusal
from ...script import CallStep
from .model import Point, Space, SpaceError, position_of, space_of

Pins = Mapping[str, Any]
"""By the name of a hole the value that it keeps, or several of its values in a list. Values may be source texts."""


def pinned(space: Space, pins: Pins) -> Space:
    """The part of a space with these values; without pins the space itself. Raises SpaceError "no-such-hole", "no-such-value"."""
    if not pins:
        return space
    holes = {hole.name: hole for hole in space.holes}
    unknown = next((name for name in pins if name not in holes), None)
    if unknown is not None:
        names = ", ".join(holes) or "none: the schedule has no holes"
        raise SpaceError(Refusal("no-such-hole", f"there is no hole {unknown!r}", expected=names))
    kept = {name: positions_of(holes[name], value) for name, value in pins.items()}
    lines = [_pinned_line(line, kept) if is_hole(line) else line for line in space.lines]
    part = space_of(
        space.program,
        lines,
        schedule_name=space.schedule_name,
        sizes=space.sizes,
        intrinsics=space.intrinsics,
        kernel=space.kernel,
    )
    return replace(part, whole=space.whole or space)


def positions_of(hole: Hole, value: object) -> tuple[int, ...]:
    """The positions of a value of a hole, or of several values in a list, in the order of the hole. Raises SpaceError "no-such-value"."""
    try:
        return (position_of(hole, value),)
    except SpaceError:
        if not isinstance(value, list | tuple) or not value:
            raise
    some = cast("list[object] | tuple[object, ...]", value)
    return tuple(sorted({position_of(hole, one) for one in some}))


def is_pin(space: Space, name: str, value: object) -> bool:
    """Whether a space has a hole of this name with this value."""
    try:
        pinned(space, {name: value})
    except SpaceError:
        return False
    return True


def pins_of(space: Space) -> dict[str, tuple[str, ...]]:
    """The pins of a space: the source texts of the values that its pinned holes keep."""
    if space.whole is None:
        return {}
    both = zip(space.holes, space.whole.holes, strict=True)
    return {hole.name: hole.texts for hole, whole in both if len(hole.texts) < len(whole.texts)}


def unpinned(space: Space, point: Point) -> tuple[Space, Point]:
    """The whole space of a part, and the point there with the same values."""
    if space.whole is None:
        return space, point
    values = space.texts_at(point)
    return space.whole, tuple(hole.texts.index(values[hole.name]) for hole in space.whole.holes)


def _pinned_line(line: CallStep, kept: Mapping[str, tuple[int, ...]]) -> CallStep:
    name = hole_of(line).name
    if len(kept.get(name, hole_of(line).texts)) == len(hole_of(line).texts):
        return line
    return with_values(line, kept[name])


__all__ = ["Pins", "is_pin", "pinned", "pins_of", "positions_of", "unpinned"]
