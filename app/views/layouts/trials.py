"""Results of trials of layouts, and where the elements of a tile lie in them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ....engine.explore.space.layout_choices import Candidate
from ....engine.hwsim import BufferAccess, BufferPlacement, Report, placement_of, through
from ....engine.ir import Buffer, PrimFunc, TilewrightError
from ...actions.call_arguments import read_index_map
from ...state.derived import attempt
from ..labels.buffer_ids import buffer_ids


class BufferFigures(msgspec.Struct, frozen=True):
    """The metrics of one buffer in one program. `misses` are those of the nearest cache (None: no cache), `burst_share` is the share of
    requested bytes in the bursts that vector accesses move (None: no bursts)."""

    cycles: int
    degree: int
    conflict_cycles: int
    run_bytes: int
    footprint_bytes: int
    overflows: bool
    misses: int | None = None
    burst_share: float | None = None


class LayoutTrial(msgspec.Struct, frozen=True, eq=False):
    """The simulation result of a candidate, or its error. The report is not kept, since it is large and there are many trials."""

    candidate: Candidate
    figures: BufferFigures | None = None
    buffer_placement: BufferPlacement | None = None
    error: TilewrightError | None = None


def find_placement(report: Report, func: PrimFunc, name: str) -> BufferPlacement | None:
    """The placement of the buffer with id `name` of the simulated `func`. (Planning recreates buffers but keeps their names.)"""
    buffer: Buffer | None = buffer_ids(func).get(name)
    return None if buffer is None else placement_of(report.program, buffer)


def run_of(use: BufferAccess) -> int:
    """The contiguous bytes of an access: the descriptor's run for a copy, else the average run of the listed element addresses."""
    if use.run_bytes:
        return use.run_bytes
    listing = use.listing()
    if listing is None or not len(listing.access):
        return 0
    buffer_placement = use.buffer_placement
    addresses = (
        buffer_placement.addresses(np.unravel_index(listing.position, buffer_placement.shape))
        if buffer_placement.shape
        else None
    )
    if addresses is None:
        return buffer_placement.element_bytes
    order = np.lexsort(
        (
            addresses.address,
            addresses.unit if buffer_placement.unit.kind == "block" else 0 * addresses.unit,
            listing.access,
        )
    )
    address, access = addresses.address[order], listing.access[order]
    breaks = (np.diff(address) != buffer_placement.element_bytes) | (np.diff(access) != 0)
    return len(address) * buffer_placement.element_bytes // (1 + int(breaks.sum()))


def placed(
    candidate: Candidate, trial: BufferPlacement, tile: tuple[int, ...], points: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """The indices of the current tile's elements in the candidate's tile; None if the tiles do not correspond."""
    if len(points) != len(tile):
        return None
    moved: Any = list(points)
    if candidate.index_map:
        found = attempt("map", lambda: through(read_index_map(candidate.index_map), points))
        if found is None or isinstance(found, TilewrightError):
            return None
        moved = [np.broadcast_to(axis, np.shape(points[0])) for axis in found]
    if len(moved) != len(trial.shape):
        return None
    inside = all(np.all((axis >= 0) & (axis < extent)) for axis, extent in zip(moved, trial.shape, strict=True))
    return tuple(moved) if inside else None
