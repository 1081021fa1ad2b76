"""The regions of a memory cut into parts that every access has as a whole or not at all (atoms), numbered, with their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod

import msgspec
import numpy as np

from ....ir import Buffer, Var
from ....ir import dtype as dt
from ...access.placement import constant_shape
from ...tasks.grid import Values
from .sites import Place, Site, UnknownRegionError

NONE = -1
MOST_CUTS = 1 << 20
MOST_PARTS = 64


class Grid(msgspec.Struct, frozen=True, eq=False):
    """The atoms of a buffer: the cuts along each axis, and the number of the first atom."""

    cuts: tuple[Values, ...]
    first: int
    element_bytes: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(c) - 1 for c in self.cuts)

    @property
    def count(self) -> int:
        return prod(self.shape)

    def has_whole_lines(self, line_bytes: int) -> bool:
        """Returns whether each atom consists of whole lines."""
        run = self.element_bytes
        for cuts in reversed(self.cuts):
            if len(cuts) > 2:
                return not (cuts * run % line_bytes).any()
            run *= int(cuts[-1])
        return True

    def sizes(self) -> Values:
        """Returns the bytes of each atom."""
        found = np.full((), self.element_bytes, np.int64)
        for cuts in self.cuts:
            found = found[..., None] * np.diff(cuts)
        return found.reshape(-1)

    def numbers(self, low: Values, high: Values) -> Values:
        """Returns the atoms of boxes, a row for each, filled up with NONE. Raises UnknownRegionError if they are too many."""
        firsts: list[Values] = []
        counts: list[Values] = []
        for axis, cuts in enumerate(self.cuts):
            first = np.searchsorted(cuts, low[:, axis])
            firsts.append(first)
            counts.append(np.searchsorted(cuts, high[:, axis]) - first)
        most = [int(c.max(initial=0)) for c in counts]
        if prod(most) > MOST_PARTS:
            raise UnknownRegionError("regions overlap in too many ways")
        columns: list[Values] = []
        for offsets in product(*map(range, most)):
            number = np.zeros(len(low), np.int64)
            holds = np.ones(len(low), np.bool_)
            for offset, first, count, extent in zip(offsets, firsts, counts, self.shape, strict=True):
                number = number * extent + first + offset
                holds &= offset < count
            columns.append(np.where(holds, number + self.first, NONE))
        return np.stack(columns, axis=1) if columns else np.empty((len(low), 0), np.int64)


class Atoms(msgspec.Struct, frozen=True, eq=False):
    """All atoms: those of each buffer, and the lines of each atom. `reasons` say why lines are not exact."""

    grids: Mapping[Buffer, Grid]
    lines: Values
    reasons: tuple[str, ...]

    def of(self, site: Site, place: Place, blocks: Mapping[Var, Values]) -> Values:
        """Returns the atoms that a site accesses at a place, a row for each block."""
        return self.grids[site.buffer].numbers(*site.box(place, blocks))


def atoms_of(visits: Iterable[tuple[Site, Sequence[Place], Mapping[Var, Values]]], line_bytes: int) -> Atoms:
    """Returns the atoms of all sites at their places. Raises UnknownRegionError if they are too many."""
    cuts: dict[Buffer, list[list[Values]]] = {}
    for site, places, blocks in visits:
        axes = cuts.setdefault(site.buffer, [[] for _ in site.corners])
        shape = constant_shape(site.buffer)
        for axis, (corner, size, extent) in enumerate(zip(site.corners, site.sizes, shape, strict=True)):
            if corner.is_mixed:
                starts = np.unique(np.concatenate([np.unique(corner.at(place, blocks)) for place in places]))
            else:
                own = np.unique(corner.of_block)
                moved = np.unique([corner.offset(place) for place in places])
                if len(own) * len(moved) > MOST_CUTS:
                    raise UnknownRegionError("regions begin at too many places")
                starts = np.unique(np.add.outer(own, moved))
            axes[axis] += [np.clip(starts, 0, extent), np.clip(starts + size, 0, extent)]
    grids: dict[Buffer, Grid] = {}
    first, reasons = 0, list[str]()
    for buffer, axes in cuts.items():
        ends = [np.array([0, extent]) for extent in constant_shape(buffer)]
        joined = tuple(np.unique(np.concatenate([*axis, end])) for axis, end in zip(axes, ends, strict=True))
        grid = Grid(joined, first, dt.size_bytes(buffer.dtype))
        if grid.count > MOST_CUTS * 8:
            raise UnknownRegionError("there are too many regions")
        if not grid.has_whole_lines(line_bytes):
            reasons.append(f"parts of {buffer.name} are no whole lines")
        grids[buffer], first = grid, first + grid.count
    sizes = np.concatenate([grid.sizes() for grid in grids.values()]) if grids else np.empty(0, np.int64)
    return Atoms(grids, -(-sizes // line_bytes), tuple(reasons))


__all__ = ["NONE", "Atoms", "atoms_of"]
