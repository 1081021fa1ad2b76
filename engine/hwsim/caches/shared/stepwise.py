"""Replay of a shared cache, task by task: the least recently used lines of one set.

A whole atom is evicted at once: its lines have one distance in the order of accesses, so all of them hit or all miss.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ...tasks.grid import Values
from .atoms import NONE
from .batches import Batch
from .tally import Tally


class LruCache:
    """The atoms in a cache of `capacity` lines, the least recently used first, with the site of the last write (NONE if they are clean)."""

    def __init__(self, capacity: int, lines: Values, tally: Tally) -> None:
        self._capacity, self._lines, self._tally = capacity, lines, tally
        self._held: dict[int, int] = {}
        self._total = 0

    def replay(self, batches: Iterable[Batch], is_write: npt.NDArray[np.bool_]) -> None:
        """Replays all accesses, and writes the dirty lines back."""
        for batch in batches:
            self._tally.asked(batch, self._lines)
            if int(self._lines[batch.atoms].sum()) <= self._capacity:
                self._step(batch)
            else:
                for atom, owner in zip(batch.every.tolist(), batch.owners.tolist(), strict=True):
                    self._access(atom, owner, 1, owner if is_write[owner] else NONE)
        for atom, writer in self._held.items():
            self._clean(atom, writer)

    def _step(self, batch: Batch) -> None:
        """What is accessed again in the step is still there, so the order of first accesses decides."""
        atoms = batch.atoms.tolist()
        columns = batch.firsts.tolist(), batch.counts.tolist(), batch.writers.tolist()
        for atom, owner, count, writer in zip(atoms, *columns, strict=True):
            self._access(atom, owner, count, writer)
        for n in batch.by_last.tolist():
            self._held[atoms[n]] = self._held.pop(atoms[n])

    def _access(self, atom: int, owner: int, count: int, writer: int) -> None:
        held, size = self._held.pop(atom, None), int(self._lines[atom])
        if held is None:
            self._tally.missed[owner] += size
            self._tally.delayed[owner] += count
            self._total += size
        self._held[atom] = writer if writer != NONE or held is None else held
        while self._total > self._capacity:
            oldest = next(iter(self._held))
            self._clean(oldest, self._held.pop(oldest))
            self._total -= int(self._lines[oldest])

    def _clean(self, atom: int, writer: int) -> None:
        if writer != NONE:
            self._tally.returned[writer] += int(self._lines[atom])


__all__ = ["LruCache"]
