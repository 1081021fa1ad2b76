"""Trials of layouts: apply the call to a copy of the schedule and simulate the result. Pure functions, safe to run in a thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from ....engine.adopt import call_of, make_call
from ....engine.explore.space.layout_choices import Candidate
from ....engine.hwsim import BufferAccess, BufferPlacement, Machine, Report, accesses_of, placement_of, through
from ....engine.ir import Buffer, PrimFunc, TilewrightError
from ....engine.lower import planned, with_sizes
from ....engine.schedule import Schedule
from ...actions.call_arguments import call_arguments, read_index_map
from ...state.derived import attempt, report_of
from ..labels.buffer_ids import buffer_ids

LISTED = 1 << 14
"""The number of task iterations from which run lengths are computed."""


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


def applied(schedule: Schedule, candidate: Candidate) -> Schedule:
    """A copy of the schedule after the candidate's call. Raises TilewrightError."""
    trial = schedule.copy()
    args, kwargs = call_arguments(trial.func, candidate.method, candidate.target, dict(candidate.arguments))
    make_call(trial, call_of(candidate.method, args, kwargs))
    return trial


def try_out(
    schedule: Schedule, candidate: Candidate, name: str, machine: Machine, sizes: Mapping[str, int]
) -> LayoutTrial:  # fmt: skip
    """Apply the candidate's call and simulate the result. `name` is the id of the buffer."""
    made = attempt("layout", lambda: applied(schedule, candidate))
    if isinstance(made, TilewrightError):
        return LayoutTrial(candidate, error=made)
    func = attempt("sizes", lambda: with_sizes(made.described, sizes).func)
    if isinstance(func, TilewrightError):
        return LayoutTrial(candidate, error=func)
    plan = attempt("plan", lambda: planned(func))
    report = report_of(func, machine, plan)
    if isinstance(report, TilewrightError):
        return LayoutTrial(candidate, error=report)
    buffer_placement = find_placement(report, func, name)
    return LayoutTrial(
        candidate, None if buffer_placement is None else figures_of(report, buffer_placement), buffer_placement
    )


def find_placement(report: Report, func: PrimFunc, name: str) -> BufferPlacement | None:
    """The placement of the buffer with id `name` of the simulated `func`. (Planning recreates buffers but keeps their names.)"""
    buffer: Buffer | None = buffer_ids(func).get(name)
    return None if buffer is None else placement_of(report.program, buffer)


def figures_of(report: Report, buffer_placement: BufferPlacement) -> BufferFigures:
    """The metrics of a buffer in a report."""
    name, program = buffer_placement.buffer.name, report.program
    rows = [row for row in report.conflicts if name in row.buffers]
    memory = [m for row, m in report.memory.items() if row.split("[")[0] == buffer_placement.placement.memory.scope]
    runs = [run for use in accesses_of(program, buffer_placement, LISTED) if (run := run_of(use))]
    return BufferFigures(
        report.cycles,
        max((row.degree for row in rows), default=1),
        sum(row.cycles for row in rows),
        min(runs, default=0),
        buffer_placement.placement.total_bytes,
        any(m.overflow_bytes for m in memory),
        _misses(report, buffer_placement),
        _burst_share(report, name),
    )


def _misses(report: Report, buffer_placement: BufferPlacement) -> int | None:
    nearest = next(
        (c.name for c in buffer_placement.places.machine.caches if c.memory == buffer_placement.placement.memory.name),
        None,
    )
    if report.caches is None or nearest is None:
        return None
    rows = [row for row in report.caches.rows if row.cache == nearest and row.buffer == buffer_placement.buffer.name]
    return sum(row.read_misses + row.write_misses for row in rows)


def _burst_share(report: Report, name: str) -> float | None:
    rows = [row for row in report.bursts if row.buffer == name]
    moved = sum(row.moved_bytes for row in rows)
    return sum(row.wanted_bytes for row in rows) / moved if moved else None


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
