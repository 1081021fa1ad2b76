"""The table of all lints, and the entry point `lint`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ..hwsim import Machine, Report, simulate
from ..schedule import Schedule
from .banks import find_bank_conflicts, find_one_bank, remedies_bank_conflict, remedies_one_bank
from .capacity import find_overflows, remedies_overflow
from .copies import find_round_trips, find_short_runs, remedies_round_trip, remedies_short_runs
from .finding import SEVERITIES, LintFinding
from .guards import find_guards, remedies_guard
from .machines import find_refused, find_scalar_work, remedies_reach
from .placement import find_recomputed, find_whole, remedies_recompute, remedies_whole
from .rule import Lint
from .skipped import find_skipped, remedies_skipped
from .slots import find_idle_slots, remedies_idle_slots
from .subject import Simulate, Subject
from .told_only import find_caches_left_out, find_uncoalesced, find_wrapped_parts
from .unused import find_unused_blocks, find_unused_buffers

LINTS: tuple[Lint, ...] = (
    Lint("refused", "error", "The machine cannot run it", find_refused, remedies_reach),
    Lint("capacity-overflow", "error", "More than a memory holds", find_overflows, remedies_overflow, told=True),
    Lint("round-trip", "warning", "Out of the chip and back", find_round_trips, remedies_round_trip, told=True),
    Lint("scalar-engine", "warning", "Heavy work on the scalar engine", find_scalar_work, remedies_reach, told=True),
    Lint("one-bank", "warning", "All operands in one of several banks", find_one_bank, remedies_one_bank),
    Lint(
        "bank-conflict",
        "warning",
        "A vector in one bank",
        find_bank_conflicts,
        remedies_bank_conflict,
        mild=True,
        told=True,
    ),
    Lint("short-runs", "warning", "Short DMA runs", find_short_runs, remedies_short_runs, mild=True),
    Lint("skipped", "warning", "Copied and never read", find_skipped, remedies_skipped, mild=True),
    Lint(
        "double-buffer-idle",
        "warning",
        "Two slots, nothing to overlap",
        find_idle_slots,
        remedies_idle_slots,
        told=True,
    ),
    Lint("recompute", "warning", "Computed over again", find_recomputed, remedies_recompute, pays=True),
    Lint("whole-buffer", "warning", "Held whole where a tile would do", find_whole, remedies_whole, pays=True),
    Lint("guard", "warning", "A condition in the innermost loop", find_guards, remedies_guard, mild=True),
    Lint("uncoalesced", "warning", "Lanes that are no neighbours", find_uncoalesced, told=True),
    Lint("unused-block", "warning", "Work for nothing", find_unused_blocks),
    Lint("unused-buffer", "info", "A buffer that nobody touches", find_unused_buffers),
    Lint("more-parts-than-blocks", "info", "More parts than blocks", find_wrapped_parts, told=True),
    Lint("caches-left-out", "warning", "Cycles without the caches", find_caches_left_out, told=True),
)
"""In the order in which findings of one severity are reported."""


def lint(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
) -> tuple[LintFinding, ...]:
    """The findings about a schedule on a machine, the worst first, each with the fixes that were tried and hold.

    `sizes` are values of symbolic sizes, by name; `simulate` is the simulator, possibly with limits; `report` its report of the schedule,
    if known. A program that cannot be simulated yet (a size without a value) has only the findings that need no report.
    """
    found: tuple[LintFinding, ...] = ()
    for now in linting(schedule, machine, sizes, simulate=simulate, report=report):
        found = found if now is None else now
    return found


def simulator_findings(
    schedule: Schedule, machine: Machine, report: Report, sizes: Mapping[str, int] | None = None
) -> tuple[LintFinding, ...]:
    """The findings in the simulator's report of a schedule, at once and without fixes: a part of those of `lint`."""
    subject = Subject(schedule, machine, sizes or {}, simulate, report)
    found = [(rule, finding) for rule in LINTS if rule.told for finding in rule.find(subject)]
    return _sorted([replace(f, severity="info" if rule.mild else f.severity, hints=()) for rule, f in found])


def linting(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
) -> Iterator[tuple[LintFinding, ...] | None]:
    """Runs `lint` step by step: yields the findings so far whenever there are more, and all at the end; None after each trial, so that the
    caller can stop."""
    subject = Subject(schedule, machine, sizes or {}, simulate, report)
    found: list[LintFinding] = []
    for rule in LINTS:
        for finding in rule.linted(subject):
            found += [] if finding is None else [finding]
            yield None if finding is None else _sorted(found)
    yield _sorted(found)


def _sorted(found: list[LintFinding]) -> tuple[LintFinding, ...]:
    return tuple(sorted(found, key=lambda f: SEVERITIES.index(f.severity)))
