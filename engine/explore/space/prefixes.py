"""Partially applied schedules: lines that candidates share are applied once, and refused once.

The lines of a candidate up to a hole follow from the values of the holes before it. The states before each hole are cached by these
values, so that a candidate starts from the longest prefix that it shares with another one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TypeGuard, cast

import msgspec

from ...adopt import LineState, after_line, arguments_of, is_hole
from ...export import named_arguments
from ...ir import TilewrightError, Var
from ...script import CallStep, CallValue, Ref, is_value
from .model import Point, Space, require_point, start_of

MOST_KEPT = 512
"""Cached states; the least recently used are evicted first."""

PIPELINE = "pipeline"

LATE = frozenset({"transform_layout", "set_layout", "storage_align", PIPELINE, "annotate", "unannotate"})
"""Calls that move nothing to another loop or memory."""

ON_THREADS = LATE | {"bind", "decompose_reduction", "fuse", "get_loops", "reorder", "split", "tensorize", "vectorize"}
"""Calls that distribute the iterations of blocks in their place over threads, after the first `bind` of the last calls."""


class Refused(msgspec.Struct, frozen=True, eq=False):
    """The refused line, and its error."""

    line: int
    error: TilewrightError


class Prefixes:
    """The cached states of one space."""

    def __init__(self, space: Space) -> None:
        self._space = space
        holes = [n for n, line in enumerate(space.lines) if is_hole(line)]
        early = max(_early(space.lines, holes), space.own_lines)
        self._cuts = [n for n in sorted({*holes, early, len(space.lines)}) if n >= space.own_lines]
        self._chosen = [sum(hole < cut for hole in holes) for cut in self._cuts]
        self._early = self._cuts.index(early)
        self._late = space.lines[early:]
        self._seen = _seen_holes(space, self._chosen[self._early], self._late)
        self._known: OrderedDict[tuple[int, Point], LineState | Refused] = OrderedDict()

    def at(self, point: Point) -> LineState | Refused:
        """The schedule of a point, or its first refused line."""
        return self._at(require_point(self._space, point), len(self._cuts) - 1)

    def early(self, point: Point) -> LineState | Refused:
        """The state before the trailing LATE calls: loops and memories are final, and buffers have at most their final size."""
        return self._at(point, self._early)

    def early_values(self, point: Point) -> Point:
        """The values of the holes that determine the early state."""
        return point[: self._chosen[self._early]]

    @property
    def only_pipelines(self) -> bool:
        """Whether the late calls are pipelines in program order, one at least."""
        calls = [line for line in self._late if not is_hole(line) and not is_value(line)]
        return bool(calls) and all(
            c.method == PIPELINE and len(c.args) <= 2 and not {"order", "async_stages"} & {*c.kwargs} for c in calls
        )

    def pipelines(self, point: Point, early: LineState) -> dict[Var, tuple[int, ...]]:
        """The stages that the late calls give to the statements of loops. Invalid calls are skipped: applying them reports the error.
        Raises TilewrightError if a name has no value."""
        found: dict[Var, tuple[int, ...]] = {}
        state, chosen = early, self._space.chosen_at(point)
        for line in self._late:
            if is_hole(line) or is_value(line):
                state = after_line(state, line, self._space.schedule_name, chosen=chosen)
            elif line.method == PIPELINE:
                try:
                    given = named_arguments(PIPELINE, *arguments_of(line.args, line.kwargs, state.names))
                except TypeError:
                    continue
                loop, stages = given["loop"], given["stages"]
                if isinstance(loop, str):
                    loop = state.schedule.get_loop(loop)
                if isinstance(loop, Var) and _are_stages(stages):
                    found[loop] = tuple(stages)
        return found

    @property
    def seen(self) -> tuple[int, ...]:
        """The holes that determine the early state of a point, and its pipelines."""
        return self._seen

    def _at(self, point: Point, last: int) -> LineState | Refused:
        keys = [(cut, point[: self._chosen[cut]]) for cut in range(last + 1)]
        known = next((cut for cut in range(last, -1, -1) if keys[cut] in self._known), -1)
        found = self._start(point) if known < 0 else self._known[keys[known]]
        if known >= 0:
            self._known.move_to_end(keys[known])
        for cut in range(known + 1, last + 1):
            if isinstance(found, Refused):
                return found
            found = self._after(found, keys[cut][1], 0 if cut == 0 else self._cuts[cut - 1], self._cuts[cut])
            if cut < len(self._cuts) - 1:  # no other candidate shares the full prefix
                self._known[keys[cut]] = found
                if len(self._known) > MOST_KEPT:
                    self._known.popitem(last=False)
        return found

    def _start(self, point: Point) -> LineState | Refused:
        try:
            return start_of(self._space, point)
        except TilewrightError as error:
            return Refused(0, error)

    def _after(self, state: LineState, values: Point, first: int, last: int) -> LineState | Refused:
        """The state after the lines from `first` up to `last`."""
        space = self._space
        chosen = {hole.name: at for hole, at in zip(space.holes, values, strict=False)}
        for number in range(first, last):
            try:
                state = after_line(state, space.lines[number], space.schedule_name, chosen=chosen)
            except TilewrightError as error:
                return Refused(number, error)
        return state


def _early(lines: Sequence[CallStep], holes: Sequence[int]) -> int:
    """The number of the first of the last calls: LATE ones, or those that distribute iterations over threads, with them."""

    def after(methods: frozenset[str]) -> int:
        return 1 + max((n for n, line in enumerate(lines) if n not in holes and line.method not in methods), default=-1)

    bound = (n for n in range(after(ON_THREADS), len(lines)) if lines[n].method == "bind")
    return next(bound, after(LATE))


def _are_stages(value: object) -> TypeGuard[Sequence[int]]:
    return isinstance(value, list | tuple) and all(isinstance(n, int) for n in cast("Sequence[object]", value))


def _seen_holes(space: Space, early: int, late: Sequence[CallStep]) -> tuple[int, ...]:
    named = {
        name
        for line in late
        if line.method == PIPELINE or is_value(line)
        for name in _names((*line.args, *line.kwargs.values()))
    }
    return tuple(n for n, hole in enumerate(space.holes) if n < early or hole.target in named)


def _names(value: CallValue) -> Iterator[str]:
    """The variables in an argument."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names(item)


__all__ = ["LATE", "Prefixes", "Refused"]
