"""The regions of a memory that the tasks of a block access, as boxes whose corners follow the loops around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from ....ir import Buffer, Expr, Var, build, free_vars
from ...access.placement import constant_shape
from ...tasks.geometry import AffineProgression, progression_of
from ...tasks.grid import UnknownValueError, Values, values
from ...tasks.nest import Loop
from ...tasks.tree import TaskProgram, Template
from ...tasks.variants import TaskPiece

Place = Mapping[Var, int]
"""The iterations of the loops around a task in its block."""


class UnknownRegionError(Exception):
    """The regions that tasks access are not known; the message says why."""


class Corner(msgspec.Struct, frozen=True, eq=False):
    """The first index of a box along an axis: a value for each block, and terms of loops in the block, or of both."""

    of_block: Values
    terms: tuple[tuple[Expr, int, bool], ...]

    @property
    def is_mixed(self) -> bool:
        """Whether a term depends on the block and on loops in it."""
        return any(is_mixed for *_, is_mixed in self.terms)

    def offset(self, place: Place) -> int:
        """Returns what the loops in a block add; they add the same in each."""
        return sum(factor * int(values(term, place)) for term, factor, _ in self.terms)

    def at(self, place: Place, blocks: Mapping[Var, Values]) -> Values:
        """Returns the index for each block."""
        if not self.is_mixed:
            return self.of_block + self.offset(place)
        return self.of_block + sum(factor * values(term, {**blocks, **place}) for term, factor, _ in self.terms)


class Site(msgspec.Struct, frozen=True, eq=False):
    """An access of the tasks of a template to a buffer of the memory: a box of `sizes` elements for each task, clipped to the buffer."""

    template: int
    block: str
    buffer: Buffer
    written: bool
    corners: tuple[Corner, ...]
    sizes: tuple[int, ...]
    conditions: tuple[Expr, ...]

    def box(self, place: Place, blocks: Mapping[Var, Values]) -> tuple[Values, Values]:
        """Returns the first and the last index, exclusive, along each axis for each block; an empty box where the task has no work."""
        shape = constant_shape(self.buffer)
        count = len(next(iter(blocks.values()), np.zeros(1)))
        low = np.empty((count, len(shape)), np.int64)
        high = np.empty_like(low)
        for axis, (corner, size, extent) in enumerate(zip(self.corners, self.sizes, shape, strict=True)):
            start = corner.at(place, blocks)
            low[:, axis] = np.clip(start, 0, extent)
            high[:, axis] = np.clip(start + size, 0, extent)
        for condition in self.conditions:
            try:
                holds = np.broadcast_to(values(condition, {**blocks, **place}), (count,))
            except UnknownValueError:
                continue
            high = np.where(holds[:, None] != 0, high, low)
        return low, high


def sites_of(
    program: TaskProgram, template: Template, memory: str, grid: Sequence[Loop], blocks: Mapping[Var, Values]
) -> list[Site]:
    """Returns the accesses of a template to a memory, reads first. Raises UnknownRegionError."""
    boxes: dict[tuple[int, bool, tuple[object, ...]], list[tuple[Buffer, list[_Span], TaskPiece]]] = {}
    for buffer, written, progressions, extents, piece in _accesses(program, template, memory):
        if progressions is None:
            raise UnknownRegionError(f"the addresses of {buffer.name} are not affine")
        spans = [_span(p, piece, n) for p, n in zip(progressions, extents, strict=True)]
        key = (id(buffer), written, tuple(span.key for span in spans))
        boxes.setdefault(key, []).append((buffer, spans, piece))
    found: list[Site] = []
    for (_, written, _), parts in boxes.items():
        buffer, spans, piece = parts[0]
        low = [min(other[axis].low for _, other, _ in parts) for axis in range(len(spans))]
        high = [max(other[axis].high for _, other, _ in parts) for axis in range(len(spans))]
        corners = tuple(_corner(span.progression, first, grid, blocks) for span, first in zip(spans, low, strict=True))
        sizes = tuple(last - first + 1 for first, last in zip(low, high, strict=True))
        around = [c for c in piece.conditions if not free_vars(c) & piece.measured.inner.keys()]
        conditions = tuple(around) if len(parts) == 1 else ()
        found.append(Site(template.number, template.name, buffer, written, corners, sizes, conditions))
    return sorted(found, key=lambda site: site.written)


class _Span(msgspec.Struct, frozen=True, eq=False):
    """The indices of an access along an axis, without the terms of loops around."""

    progression: AffineProgression
    low: int
    high: int

    @property
    def key(self) -> object:
        return tuple(sorted((id(term), factor) for term, factor in self.progression.around.items()))


def _span(progression: AffineProgression, piece: TaskPiece, extent: int) -> _Span:
    low, high = progression.ends(piece.measured.inner)
    return _Span(progression, low, high + extent - 1)


def _accesses(
    program: TaskProgram, template: Template, memory: str
) -> Iterator[tuple[Buffer, bool, tuple[AffineProgression, ...] | None, tuple[int, ...], TaskPiece]]:
    """Yields the accesses of a template to a memory: the buffer, whether it is written, and the indices with their extents."""
    for piece in template.variants.pieces:
        work = piece.measured.work
        for access in piece.measured.accesses:
            if program.places.by_buffer[access.buffer].memory.name != memory:
                continue
            affine = [progression_of(i, piece.measured.inner, program.nest.analyzer) for i in access.indices]
            progressions = None if None in affine else tuple(p for p in affine if p is not None)
            extents = tuple(build.int_value(e) or 1 for e in access.extents) or (1,) * len(access.indices)
            is_write = any(access is w for w in work.writes)
            if not is_write or work.updates:
                yield access.buffer, False, progressions, extents, piece
            if is_write:
                yield access.buffer, True, progressions, extents, piece


def _corner(progression: AffineProgression, low: int, grid: Sequence[Loop], blocks: Mapping[Var, Values]) -> Corner:
    of_grid = {loop.var for loop in grid}
    count = len(next(iter(blocks.values()), np.zeros(1)))
    found = np.full(count, low, np.int64)
    terms: list[tuple[Expr, int, bool]] = []
    for term, factor in progression.around.items():
        used = free_vars(term)
        if used <= of_grid:
            found = found + factor * values(term, blocks)
        else:
            terms.append((term, factor, bool(used & of_grid)))
    return Corner(found, tuple(terms))


__all__ = ["Place", "Site", "UnknownRegionError", "sites_of"]
