"""What is told of caches: accesses and misses by level, block and buffer; whom to tell the waiting of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from ..errors import MachineError

Waits = Mapping[int, npt.NDArray[np.int64]]
"""For templates by number, the cycles that each instance waits behind caches, row-major over the loops around it."""


class CacheRow(msgspec.Struct, frozen=True):
    """What a block asks a cache for in a buffer, and what of that is not there. Counts are of accesses."""

    cache: str
    block: str
    buffer: str
    reads: int
    writes: int
    read_misses: int
    write_misses: int


class CacheCounts(msgspec.Struct, frozen=True):
    """`rows` by level, block and buffer. `written_back` are the dirty lines that each level put out. `accesses` the program makes in all,
    of which `simulated` were gone through one by one. `cycles` are, for each of the tasks asked about, those of its instances,
    row-major over its loops."""

    rows: tuple[CacheRow, ...]
    written_back: dict[str, int]
    accesses: int
    simulated: int
    cycles: tuple[tuple[int, ...], ...] = ()

    def total(self, cache: str) -> CacheRow:
        """A level's row over all blocks and buffers."""
        own = [r for r in self.rows if r.cache == cache]
        counted = ("reads", "writes", "read_misses", "write_misses")
        return CacheRow(cache, "", "", *(sum(getattr(r, name) for r in own) for name in counted))


class CachedTask(msgspec.Struct, frozen=True):
    """The leaves of the nest (numbered in text order) that a task runs, and how many of the loops around them are around the task."""

    leaves: tuple[int, ...]
    outer: int


class Cached(msgspec.Struct, frozen=True, eq=False):
    """What was found of the caches behind a program's tasks. Where the accesses could not be followed, `refused` says why, and nobody
    waits."""

    counts: CacheCounts | None = None
    waits: Waits = {}
    refused: MachineError | None = None
