"""The accesses of a wave of blocks in some tasks, in order: the blocks one after the other in each task."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ...tasks.grid import Values
from .atoms import NONE


class Columns(msgspec.Struct, frozen=True, eq=False):
    """The atoms that blocks access in a task, a row for each block, and the site of each column."""

    atoms: Values
    sites: Values


class Batch(msgspec.Struct, frozen=True, eq=False):
    """The accesses of a wave in some tasks. `every` are all of them in order, with the sites in `owners`. `atoms` are the different ones in
    the order of their first access, with the site of that in `firsts`, its accesses to the atom in `counts`, and the site of the last
    write to it in `writers` (NONE if it is not written); `by_last` has them in the order of the last access.
    """

    every: Values
    owners: Values
    atoms: Values
    firsts: Values
    counts: Values
    writers: Values
    by_last: Values


def batch_of(tasks: Sequence[Columns], blocks: Values, is_write: npt.NDArray[np.bool_]) -> Batch:
    """Returns the accesses of blocks in tasks; `is_write` says of each site whether it writes."""
    parts = [(t.atoms[blocks], t.sites) for t in tasks if len(t.sites)]
    nothing = np.empty(0, np.int64)
    every = np.concatenate([atoms.reshape(-1) for atoms, _ in parts]) if parts else nothing
    owners = np.concatenate([np.tile(sites, len(atoms)) for atoms, sites in parts]) if parts else nothing
    held = every != NONE
    every, owners = every[held], owners[held]
    atoms, first, inverse = np.unique(every, return_index=True, return_inverse=True)
    last = len(every) - 1 - np.unique(every[::-1], return_index=True)[1]
    firsts = owners[first]
    counts = np.bincount(inverse[owners == firsts[inverse]], minlength=len(atoms))
    writers = np.full(len(atoms), NONE, np.int64)
    wrote = np.flatnonzero(is_write[owners]) if len(owners) else nothing
    writers[inverse[wrote]] = owners[wrote]
    order = np.argsort(first)
    return Batch(every, owners, atoms[order], firsts[order], counts[order], writers[order],
                 np.argsort(last[order]))  # fmt: skip


__all__ = ["Batch", "Columns", "batch_of"]
