"""The critical path through copies of repeats that grow: found in a few copies, and skipped in the others.

The search compares the starts of tasks with the times of tasks before them. In one copy after the other of a repeat, such a difference is
a polynomial in the copy. If it is the same in as many copies as determine the polynomial, it is the same in all. So the path takes the same
steps in all copies, with affine trip counts of its loops, as long as these have more copies than the search looks back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..repeats import Repeat
from ..row_tree import RowPart, RunTask
from ..series import Copies
from .path import PathLoop, PathTask, Steps, path_loop

MAX_PERIOD = 8
"""Limit on the copies of a repeat that grows after which the path recurs."""

Reason = tuple[str, int]


class _Entry(NamedTuple):
    """The path at a task in a copy of a repeat, with `steps` steps by then; the task before starts `rest` cycles after this one's start."""

    copy: int
    steps: int
    rest: int


class PathLog:
    """The steps of a path, backward in time; repeated ones become loops."""

    def __init__(self, repeats: Sequence[Repeat]) -> None:
        self._steps: list[PathTask | PathLoop] = []
        self._growing = {number for repeat in repeats for number in repeat.more}
        self._blocks = 2 + max((repeat.length.degree for repeat in repeats), default=0)
        self._loops = 0
        self._entries: dict[tuple[object, ...], list[_Entry]] = {}

    @property
    def steps(self) -> tuple[PathTask | PathLoop, ...]:
        return tuple(self._steps)

    def add(self, step: PathTask) -> None:
        self._steps.append(step)

    def skip(self, task: RunTask, why: Reason, rest: int) -> RunTask | None:
        """Returns the equivalent task in the copy of a repeat where the path goes on, if it recurs in the copies before; None if not.

        `why` is why the task before waited for this one; it starts `rest` cycles after this one's start.
        """
        found: RunTask | None = None
        for part in task.part.around():
            now = found or task
            others = tuple(sorted((n, c) for n, c in now.copies.items() if n != part.number))
            entries = self._entries.setdefault((part.number, task.row, why, others), [])
            entries.append(_Entry(now.copies[part.number], len(self._steps), rest))
            copy = self._recurring(part, entries)
            if copy is not None:
                found = now._replace(copies={**now.copies, part.number: copy})
        return found

    def _recurring(self, part: RowPart, entries: list[_Entry]) -> int | None:
        """Makes a loop of the steps since the first of equivalent entries, and returns the copy of the repeat before it."""
        if part.number not in self._growing:
            return self._loop(entries[-2:]) if len(entries) > 1 else None
        for period in range(1, MAX_PERIOD + 1):
            chosen = entries[-1 - self._blocks * period :: period]
            if len(chosen) > self._blocks and len(entries) > self._blocks * period:
                copy = self._loop(chosen)
                if copy is not None:
                    return copy
        return None

    def _loop(self, entries: Sequence[_Entry]) -> int | None:
        """Replaces the steps between entries by a loop, if these are the same or grow evenly."""
        period = entries[0].copy - entries[1].copy
        if period <= 0 or any(a.copy - b.copy != period or a.rest != b.rest for a, b in pairwise(entries)):
            return None
        blocks = [self._steps[a.steps : b.steps] for a, b in pairwise(entries)]
        found = _grown(blocks, self._loops, len(blocks) - 1 + entries[-1].copy // period)
        if found is None:
            return None
        times = found.extra + 1 - len(blocks)
        if times <= 0:
            return None
        first = entries[0].steps
        self._steps[first:] = [found]
        self._loops += 1
        for known in self._entries.values():
            while known and known[-1].steps > first:
                known.pop()
        return entries[-1].copy - times * period


def _grown(blocks: Sequence[Steps], number: int, most: int) -> PathLoop | None:
    """Returns loop `number`, whose first copies are the blocks, with up to `most` more copies; None if they do not grow evenly."""
    if len(blocks) == 1:
        return path_loop(number, blocks[0], most)
    if any(len(block) != len(blocks[0]) for block in blocks):
        return None
    first, *others = (_shape(block, {}) for block in blocks)
    if any(shape != first for shape in others):
        return None
    trips = np.array([_trips(block) for block in blocks], np.int64)
    more = np.diff(trips, axis=0)
    if (more != more[0]).any():
        return None
    steps = _growing(blocks[0], number, iter(more[0].tolist()))
    return path_loop(number, steps, _most(steps, number, most))


def _growing(steps: Steps, number: int, more: Iterator[int]) -> tuple[PathTask | PathLoop, ...]:
    """Returns steps whose loops have so many more copies with each copy of loop `number`."""
    found: list[PathTask | PathLoop] = []
    for step in steps:
        if isinstance(step, PathLoop):
            grows = {n: m for n, m in (*step.more.items(), (number, next(more))) if m}
            step = path_loop(step.number, _growing(step.steps, number, more), step.extra, grows)
        found.append(step)
    return tuple(found)


def _most(steps: Steps, number: int, most: int) -> int:
    """Returns the largest copy of loop `number`, up to `most`, by which all loops that grow have more copies than the search looks back."""
    needed = 1 + max(_looks_back(steps), default=0)

    def is_enough(copy: int) -> bool:
        return all(count >= needed for count in _least(steps, [{number: copy}]))

    # The copies are affine in that of each loop around, so their minimum is concave.
    return bisect_left(range(1, most + 1), True, key=lambda copy: not is_enough(copy)) if is_enough(0) else 0


def _looks_back(steps: Steps) -> Iterator[int]:
    for step in steps:
        if isinstance(step, PathTask):
            yield len(step.tried)
        else:
            yield from _looks_back(step.steps)


def _least(steps: Steps, around: Sequence[Copies]) -> Iterator[int]:
    """Yields the copies of loops that grow, in these copies of loops around and the first and the last one of the others."""
    for step in steps:
        if isinstance(step, PathLoop):
            counts = [step.copies(copies) for copies in around]
            if step.more:
                yield from counts
            corners = zip(around, counts, strict=True)
            yield from _least(step.steps, [{**at, step.number: n} for at, last in corners for n in {0, last - 1}])


def _shape(steps: Steps, around: Mapping[int, int]) -> tuple[object, ...]:
    """Returns all about some steps that blocks have in common: not the trip counts of loops."""
    return tuple(
        step
        if isinstance(step, PathTask)
        else (
            _shape(step.steps, {**around, step.number: len(around)}),
            {around[number]: more for number, more in step.more.items()},
        )
        for step in steps
    )


def _trips(steps: Steps) -> list[int]:
    found: list[int] = []
    for step in steps:
        if isinstance(step, PathLoop):
            found += (step.extra, *_trips(step.steps))
    return found
