"""Points of a space from records: each hole takes the value nearest to the one that was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...adopt import Hole, HoleError, hole_of, is_hole
from ...script import CallValue, ParseError, read_calls
from ..space.model import Point, Space
from .record import TuningRecord
from .renamed import renamed_words
from .workload import FAR, Workload, number_apart

SHARE = 0.5
"""The share of a space's holes that a record must have for a point."""


def points_from(space: Space, workload: Workload, records: Sequence[TuningRecord]) -> tuple[Point, ...]:
    """The points of a space that are nearest to the schedules of records, in their order, each once. `workload` is the space's program."""
    found: dict[Point, None] = {}
    for record in records:
        found |= dict.fromkeys(record_points(space, workload, record))
    return tuple(found)


def record_points(space: Space, workload: Workload, record: TuningRecord) -> Iterator[Point]:
    """The points of a space nearest to the schedule of a record: the largest value of a hole for the largest, and the same numbers where
    they differ; none if the spaces share too few holes."""
    known = _holes(record, workload)
    shared = sum(hole.name in known for hole in space.holes)
    if not shared or shared < SHARE * len(space.holes):
        return
    for scaled in (True, False):
        yield tuple(_position(hole, known.get(hole.name), scaled=scaled) for hole in space.holes)


def _holes(record: TuningRecord, workload: Workload) -> Mapping[str, Hole]:
    """The holes of a record's text by name, under the names of the program, the found values in front."""
    names = record.names_for(workload)
    try:
        holes = [hole_of(call) for call in read_calls(record.text) if is_hole(call)]
    except (ParseError, HoleError, RecursionError):
        return {}
    return {renamed_words(hole.name, names): hole for hole in holes}


def _position(hole: Hole, known: Hole | None, *, scaled: bool) -> int:
    """The position of the value nearest to the first one of `known`."""
    if known is None:
        return 0
    value, text = known.values[0], known.texts[0]
    if text in hole.texts and not (scaled and _is_largest(known, value)):
        return hole.texts.index(text)
    if scaled and _is_largest(known, value):
        return max(range(len(hole.values)), key=lambda n: _size(hole.values[n]))
    form = _form(text)
    return min(range(len(hole.values)), key=lambda n: (_apart(hole.values[n], value), _form(hole.texts[n]) != form))


def _form(text: str) -> str:
    """The text of a value without its numbers: what index maps of different sizes share."""
    return re.sub(r"\d+", "#", text)


def _is_largest(hole: Hole, value: CallValue) -> bool:
    """Whether the value is a number, and the largest of several."""
    sizes = [_size(v) for v in hole.values]
    return len(set(sizes)) > 1 and _is_number(value) and _size(value) == max(sizes)


def _size(value: CallValue) -> float:
    return float(value) if isinstance(value, int) else 0.0


def _is_number(value: CallValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _apart(a: CallValue, b: CallValue) -> float:
    """How far two values of a hole are apart; numbers by their ratio, lists by their items."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        return sum(_apart(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, int) and isinstance(b, int):
        return number_apart(a, b)
    return 0.0 if type(a) is type(b) and a == b else FAR


__all__ = ["points_from", "record_points"]
