"""Cache results: accesses and misses by level, block and buffer, and the stall cycles of each task."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from ..errors import MachineError

Waits = Mapping[int, npt.NDArray[np.int64]]
"""For templates by number, the cycles that each instance stalls on caches, row-major over the loops around it."""


class CacheRow(msgspec.Struct, frozen=True):
    """Accesses of a block to a buffer through a cache, and the misses among them. `prefetches` are lines that the prefetcher requested from
    the next level because of these accesses; they are not among the accesses.
    """

    cache: str
    block: str
    buffer: str
    reads: int
    writes: int
    read_misses: int
    write_misses: int
    prefetches: int = 0


class CacheCounts(msgspec.Struct, frozen=True):
    """Counts of all caches. `rows` are by level, block and buffer. `written_back` are the dirty lines that each level evicted. `accesses`
    is the total of the program, of which `simulated` were simulated one by one. `cycles` has for each requested task the stall cycles of
    its instances, row-major over its loops. `one_by_one` is the reason if the machine requires that every access is simulated.
    """

    rows: tuple[CacheRow, ...]
    written_back: dict[str, int]
    accesses: int
    simulated: int
    cycles: tuple[tuple[int, ...], ...] = ()
    one_by_one: str = ""

    def total(self, cache: str) -> CacheRow:
        """Returns a level's row over all blocks and buffers."""
        own = [r for r in self.rows if r.cache == cache]
        counted = ("reads", "writes", "read_misses", "write_misses", "prefetches")
        return CacheRow(cache, "", "", *(sum(getattr(r, name) for r in own) for name in counted))


class CachedTask(msgspec.Struct, frozen=True):
    """The leaves of the nest (numbered in text order) that a task runs, and the number of their loops that are around the task."""

    leaves: tuple[int, ...]
    outer: int


class CacheResults(msgspec.Struct, frozen=True, eq=False):
    """Results of the caches behind a program's tasks. If they could not be simulated, `refused` has the reason, and no task stalls;
    `has_default_limit` if a higher limit on accesses may help."""

    counts: CacheCounts | None = None
    waits: Waits = {}
    refused: MachineError | None = None
    has_default_limit: bool = False
