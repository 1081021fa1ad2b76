"""The cycles that an export for TVM costs: the program without what that version leaves out, simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from msgspec.structs import replace

from ....engine.export import LossKind, program_without, step_text, with_pipelines
from ....engine.hwsim import Machine, Report
from ....engine.ir import PrimFunc
from ....engine.lower import with_sizes
from ....engine.schedule import Schedule
from ...state.derived import Store, report_of, sizes_of
from ...state.model import State
from ...views.shell.export_review import KeptSlots, Outcome, ReviewedExport, costly_losses, review_entry
from .analysis import Analysis


def review_analysis(state: State, store: Store) -> Analysis | None:
    """The simulations that the open review lacks."""
    entry, moment, machine = review_entry(state, store), state.moment, store.machine(state)
    if entry is None or moment is None or not isinstance(machine, Machine):
        return None
    known, losses = store.known(entry), costly_losses(state, store)
    if (known is not None and known.is_complete) or not losses:
        return None
    func, schedule, sizes = store.costed(state, moment.schedule), moment.schedule, sizes_of(state, moment.schedule.func)
    return Analysis(entry, lambda: _reviewing(func, schedule, sizes, machine, losses))


def _reviewing(
    func: PrimFunc, schedule: Schedule, sizes: Mapping[str, int], machine: Machine, losses: tuple[LossKind, ...]
) -> Iterator[ReviewedExport]:
    def on_tvm(program: PrimFunc, *kinds: LossKind) -> Outcome:
        return report_of(program_without(program, kinds), machine)

    found = ReviewedExport(there=on_tvm(func, *losses))
    yield found
    for kind in losses:
        known = found.there if len(losses) == 1 else on_tvm(func, kind)
        assert known is not None
        found = replace(found, without={**found.without, kind: known})
        yield found
    for piped in with_pipelines(schedule) if "slots" in losses else ():
        calls = tuple(step_text(step) for step in piped.trace.steps[len(schedule.trace) :] if step.changes)
        kept = KeptSlots(calls, on_tvm(with_sizes(piped.described, sizes).func, *losses))
        if found.kept is None or _rank(kept.report) < _rank(found.kept.report):
            found = replace(found, kept=kept)
            yield found
    yield replace(found, is_complete=True)


def _rank(report: Outcome) -> tuple[float, float]:
    """Programs that fit come first, then those with fewer cycles."""
    return (report.overflow_bytes, report.cycles) if isinstance(report, Report) else (inf, inf)
