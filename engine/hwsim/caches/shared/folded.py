"""Contents of a shared cache where every block runs tasks, a loop of tasks, and tasks, and each iteration accesses other lines.

All iterations are alike, so the distance of an access from the one before it to the same line is a linear function of the iteration: of
iteration k of K, what later iterations access in the waves since, and what earlier ones do: (K - 1 - k) a + k b + c lines. It is a hit if
these are at most the capacity. So a wave costs one iteration, whatever K is.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from ...tasks.grid import Values
from .atoms import NONE
from .batches import Batch
from .tally import Tally


class NotAlikeError(Exception):
    """The iterations are not alike, or one of them accesses more than the cache holds."""


class FoldedWave(msgspec.Struct, frozen=True, eq=False):
    """The accesses of a wave: before the loop, in its first iteration, and after it."""

    before: Batch
    loop: Batch
    after: Batch


class _Side:
    """The atoms of the loop, or all others: the section of the last access (waves times sections), and its order in all accesses."""

    def __init__(self, lines: Values, sections: int) -> None:
        self.lines = lines
        self.section = np.full(len(lines), NONE, np.int64)
        self.key = np.full(len(lines), NONE, np.int64)
        self.sums = np.zeros(sections + 1, np.int64)
        self.suffix = np.zeros(sections + 2, np.int64)

    def since(self, section: Values) -> Values:
        """Returns the lines that were accessed last in these sections or later."""
        return self.suffix[np.minimum(section, len(self.suffix) - 1)]

    def access(self, batch: Batch, section: int, key: int) -> None:
        atoms, sizes = batch.atoms, self.lines[batch.atoms]
        known = self.section[atoms] != NONE
        np.subtract.at(self.sums, self.section[atoms[known]], sizes[known])
        self.sums[section] += int(sizes.sum())
        self.section[atoms] = section
        self.key[atoms[batch.by_last]] = key + np.arange(len(atoms))
        self.suffix[: section + 1] = np.cumsum(self.sums[section::-1])[::-1]

    def within(self, batch: Batch, chosen: Values) -> Values:
        """Returns exactly the lines of this side that are accessed between the last access of the chosen atoms of a batch and the present
        one, beside those in later sections.
        """
        atoms, keys, sizes = batch.atoms, self.key[batch.atoms], self.lines[batch.atoms]
        found = np.empty(len(chosen), np.int64)
        for n, place in enumerate(chosen.tolist()):
            key, section = keys[place], self.section[atoms[place]]
            later = int(self.lines[(self.section == section) & (self.key > key)].sum())
            found[n] = later + int(sizes[:place][keys[:place] < key].sum())
        return found


SECTIONS = 3
"""Before, in and after the loop."""


class FoldedCache:
    """The contents of a cache of `capacity` lines over waves of blocks that run a loop of `trips` iterations."""

    def __init__(self, capacity: int, trips: int, lines: Values, waves: int, tally: Tally) -> None:
        self._capacity, self._trips, self._lines, self._tally = capacity, trips, lines, tally
        self._loop, self._rest = (_Side(lines, waves * SECTIONS) for _ in range(2))
        self._dirty = np.full(len(lines), NONE, np.int64)
        self._key = 0

    def replay(self, waves: Iterable[FoldedWave]) -> None:
        """Replays all waves, and writes the dirty lines back. Raises NotAlikeError."""
        for number, wave in enumerate(waves):
            section = number * SECTIONS
            self._single(wave.before, section)
            self._iterations(wave.loop, section + 1)
            self._single(wave.after, section + 2)
        self._return(np.flatnonzero(self._dirty != NONE))

    def _return(self, atoms: Values, times: int = 1) -> None:
        np.add.at(self._tally.returned, self._dirty[atoms], self._lines[atoms] * times)

    def _fits(self, batch: Batch) -> None:
        if int(self._lines[batch.atoms].sum()) > self._capacity:
            raise NotAlikeError

    def _single(self, batch: Batch, section: int) -> None:
        """Accesses outside of the loop."""
        if not len(batch.atoms):
            return
        self._fits(batch)
        self._tally.asked(batch, self._lines)
        atoms, sizes = batch.atoms, self._lines[batch.atoms]
        before = self._rest.section[atoms]
        other = self._rest.since(before + 1) + self._loop.since(before) * self._trips + sizes
        hits = self._decided(self._rest, batch, before, other)
        self._tally.missing(batch, np.where(hits, 0, 1), self._lines)
        lost = ~hits & (self._dirty[atoms] != NONE)
        self._return(atoms[lost])
        self._dirty[atoms[lost]] = NONE
        wrote = batch.writers != NONE
        self._dirty[atoms[wrote]] = batch.writers[wrote]
        self._rest.access(batch, section, self._key)
        self._key += len(atoms)

    def _decided(self, side: _Side, batch: Batch, before: Values, others: Values) -> Values:
        """Returns which atoms hit, if `others` are all lines between two accesses but those of their own two sections."""
        sizes = self._lines[batch.atoms]
        known = before != NONE
        most = others + (side.since(before) - side.since(before + 1)) + (np.cumsum(sizes) - sizes)
        hits = known & (most <= self._capacity)
        unsure = np.flatnonzero(known & ~hits & (others <= self._capacity))
        if len(unsure):
            hits[unsure] = others[unsure] + side.within(batch, unsure) <= self._capacity
        return hits

    def _iterations(self, batch: Batch, section: int) -> None:
        """All iterations of a wave."""
        if not len(batch.atoms):
            return
        self._fits(batch)
        trips, side, atoms = self._trips, self._loop, batch.atoms
        self._tally.asked(batch, self._lines, trips)
        sizes, before = self._lines[atoms], side.section[atoms]
        known, wrote = before != NONE, batch.writers != NONE
        if (wrote & known).any():
            raise NotAlikeError
        # The lines of the iterations behind k since the wave of the last access, and of those before k: this wave's, too.
        later, between = side.since(before), side.since(before + 1)
        earlier = between + _up_to(before, sizes)
        fixed = between + sizes + self._rest.since(before)
        most = fixed + (later - between) + (np.cumsum(sizes) - sizes)
        low, high = (_trips_within(self._capacity, trips, later, earlier, c) for c in (most, fixed))
        hits = np.where(known, low, 0)
        unsure = np.flatnonzero(known & (low != high))
        if len(unsure):
            exact = fixed[unsure] + side.within(batch, unsure)
            hits[unsure] = _trips_within(self._capacity, trips, later[unsure], earlier[unsure], exact)
        self._tally.missing(batch, trips - hits, self._lines)
        np.add.at(self._tally.returned, batch.writers[wrote], sizes[wrote] * trips)
        side.access(batch, section, self._key)
        self._key += len(atoms)


def _up_to(sections: Values, sizes: Values) -> Values:
    """Returns for each the sum of the sizes with a section up to its own."""
    order = np.argsort(sections, kind="stable")
    return np.cumsum(sizes[order])[np.searchsorted(sections[order], sections, side="right") - 1]


def _trips_within(capacity: int, trips: int, later: Values, earlier: Values, fixed: Values) -> Values:
    """Returns for how many k from 0 to `trips` (trips - 1 - k) * later + k * earlier + fixed is at most `capacity`."""
    room = capacity - fixed - (trips - 1) * later
    step = earlier - later
    rising = np.where(room < 0, 0, np.minimum(room // np.maximum(step, 1) + 1, trips))
    # Falling: from the first k with k * -step >= -room.
    falling = trips - np.clip(-(room // np.maximum(-step, 1)), 0, trips)
    level = np.where(room >= 0, trips, 0)
    return np.where(step > 0, rising, np.where(step < 0, falling, level))


__all__ = ["SECTIONS", "FoldedCache", "FoldedWave", "NotAlikeError"]
