"""Trials of layouts of the chosen buffer: each call is applied to a copy of the schedule, and the result is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....engine.adopt import KernelError, call_of, make_call, read_statements
from ....engine.explore.space.layout_choices import KERNEL_LAYOUT, NOW, Candidate
from ....engine.hwsim import BufferPlacement, Report, accesses_of
from ....engine.ir import PrimFunc, Refusal, TilewrightError
from ....engine.lower import planned, with_sizes
from ...actions.call_arguments import call_arguments
from ...state.derived import Store, attempt, report_of
from ...state.model import State
from ...views.layouts.draft import typed_map
from ...views.layouts.grid import uses_value
from ...views.layouts.results import DRAFT, LayoutResults, draft_reading, found_layouts, layouts_entry
from ...views.layouts.subject import Chosen, chosen_buffer
from ...views.layouts.trials import BufferFigures, LayoutTrial, find_placement, run_of
from .analysis import Analysis

LISTED = 1 << 14
"""The number of task iterations from which run lengths are computed."""


def layout_analysis(state: State, store: Store) -> Analysis | None:
    """The analysis of the chosen buffer: the layout in the text field, then its accesses and alternative layouts."""
    chosen = chosen_buffer(state, store)
    if chosen is None or chosen.buffer_placement is None or chosen.subject is None or chosen.machine is None:
        return None
    area, text = "area-inspector", "Simulating layouts"
    reading = draft_reading(state, store, chosen)
    if reading is not None and reading.candidate is not None:
        entry = DRAFT(reading.candidate.text, chosen)
        if not store.has(entry):
            return Analysis(entry, partial(_typed, chosen, reading.candidate), area, text, is_typed=True)
    known = found_layouts(chosen, store)
    return None if known.is_complete else Analysis(layouts_entry(chosen), partial(_pieces, chosen, known), area, text)


def _pieces(chosen: Chosen, known: LayoutResults) -> Iterator[LayoutResults]:
    assert chosen.report is not None and chosen.buffer_placement is not None
    uses, trials = known.uses, dict(known.trials)
    if uses is None:
        uses = uses_value(chosen.report, chosen.buffer_placement)
        yield LayoutResults(uses, dict(trials))
    for candidate in chosen.candidates:
        if candidate.key not in trials:
            trials[candidate.key] = _trial_of(chosen, candidate)
            yield LayoutResults(uses, dict(trials))
    yield LayoutResults(uses, trials, is_complete=True)


def _typed(chosen: Chosen, candidate: Candidate) -> Iterator[LayoutTrial]:
    """The trial of a typed map. One that is no sum of quotients and remainders is tried element by element."""
    trial = _trial_of(chosen, candidate)
    if trial.error is not None and trial.error.refusal.code == "not-bijective":
        trial = _trial_of(chosen, typed_map(chosen.accesses[0], candidate.index_map, trusted=True))
    yield trial


def _trial_of(chosen: Chosen, candidate: Candidate) -> LayoutTrial:
    """The trial of a candidate; the current layout needs no simulation."""
    assert chosen.report is not None and chosen.buffer_placement is not None and chosen.machine is not None
    if candidate is NOW:
        return LayoutTrial(candidate, _figures_of(chosen.report, chosen.buffer_placement), chosen.buffer_placement)
    made = attempt("layout", lambda: _applied(chosen, candidate))
    if isinstance(made, TilewrightError):
        return LayoutTrial(candidate, error=made)
    func = attempt("sizes", lambda: with_sizes(made, chosen.sizes).func)
    if isinstance(func, TilewrightError):
        return LayoutTrial(candidate, error=func)
    plan = attempt("plan", lambda: planned(func))
    report = report_of(func, chosen.machine, plan)
    if isinstance(report, TilewrightError):
        return LayoutTrial(candidate, error=report)
    placement = find_placement(report, func, chosen.name)
    stored = None if placement is None else placement.placement.stored
    if stored is not None and stored.kind == "unknown":
        refused = Refusal(
            "layout-refused",
            f"the compiler refuses this layout: {stored.reason}",
            expected="a layout that each use accepts",
        )
        return LayoutTrial(candidate, error=KernelError(refused))
    return LayoutTrial(candidate, None if placement is None else _figures_of(report, placement), placement)


def _figures_of(report: Report, buffer_placement: BufferPlacement) -> BufferFigures:
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


def _applied(chosen: Chosen, candidate: Candidate) -> PrimFunc:
    """The program after the candidate's call, or with its edit of the kernel's text. Raises TilewrightError."""
    if candidate.method == KERNEL_LAYOUT:
        assert chosen.kernel is not None
        return read_statements(chosen.kernel.with_layout(**dict(candidate.arguments))).func
    trial = chosen.schedule.copy()
    args, kwargs = call_arguments(trial.func, candidate.method, candidate.target, dict(candidate.arguments))
    make_call(trial, call_of(candidate.method, args, kwargs))
    return trial.described
