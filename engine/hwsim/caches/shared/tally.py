"""Counts of a shared cache by site: lines, and accesses of blocks that wait for a line on its way."""

from __future__ import annotations

import numpy as np

from ...tasks.grid import Values
from .batches import Batch


class Tally:
    """Lines that each site accesses and misses, its accesses and those that are delayed, and the lines written back that it wrote last."""

    def __init__(self, sites: int) -> None:
        self.lines, self.missed, self.accesses, self.delayed, self.returned = (
            np.zeros(sites, np.int64) for _ in range(5)
        )

    def asked(self, batch: Batch, lines: Values, times: int = 1) -> None:
        """Counts the accesses of a batch."""
        sites = len(self.lines)
        self.lines += np.bincount(batch.owners, lines[batch.every], sites).astype(np.int64) * times
        self.accesses += np.bincount(batch.owners, minlength=sites) * times

    def missing(self, batch: Batch, times: Values, lines: Values) -> None:
        """Counts misses: each atom of a batch so many times."""
        np.add.at(self.missed, batch.firsts, lines[batch.atoms] * times)
        np.add.at(self.delayed, batch.firsts, batch.counts * times)


__all__ = ["Tally"]
