"""The table of all lints, and the entry point `lint`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ..adopt import KernelText
from ..hwsim import Machine, Report, simulate
from ..schedule import Schedule
from .banks import bank_conflict_fixes, find_bank_conflicts, find_one_bank, one_bank_fixes
from .capacity import find_overflows, overflow_fixes
from .copies import find_round_trips, find_short_runs, round_trip_fixes, short_runs_fixes
from .cores import (
    find_block_too_large,
    find_bounded_cores,
    find_cache_thrash,
    find_endless_barriers,
    find_idle_cores,
    find_saturated_ports,
    find_unbound,
    find_uneven_tail,
    find_unknown_contents,
    grid_fixes,
    order_fixes,
)
from .finding import SEVERITIES, LintFinding
from .guards import find_guards, guard_fixes
from .kernels.copies import detour_fixes, find_detours, find_idle_threads, find_lost_bulk_copies, idle_threads_fixes
from .kernels.flags import (
    find_needless_flags,
    find_races,
    find_serial_barriers,
    find_serial_flags,
    find_unset_flags,
    needless_fixes,
    race_fixes,
    serial_fixes,
)
from .kernels.products import find_register_overflows, find_unpartitioned, partition_fixes, register_fixes
from .kernels.sums import clear_fixes, find_uncleared_sums
from .machines import find_refused, find_scalar_padding, find_scalar_work, padding_fixes, reach_fixes
from .placement import find_recomputed, find_whole, recompute_fixes, whole_fixes
from .rule import Lint
from .simulator_only import (
    find_assumed_data,
    find_bounded_iterations,
    find_caches_left_out,
    find_uncoalesced,
    find_wrapped_parts,
)
from .slots import find_idle_slots, find_late_loads, idle_slots_fixes, late_loads_fixes
from .subject import Simulate, Subject
from .unused import find_skipped, find_unused_blocks, find_unused_buffers, skipped_fixes

GRID = "The grid is part of the program: Explore tries the tiles, split K, stages and threads of a TileLang kernel"

LINTS: tuple[Lint, ...] = (
    Lint("refused", "error", "Program cannot run on the machine", find_refused, reach_fixes),
    Lint("capacity-overflow", "error", "Memory capacity exceeded", find_overflows, overflow_fixes, from_report=True),
    Lint("no-partition", "error", "Product that its warps cannot divide", find_unpartitioned, partition_fixes),
    Lint(
        "register-overflow",
        "warning",
        "Registers of a thread exceeded",
        find_register_overflows,
        register_fixes,
        from_report=True,
        any_price=True,
        no_fix="More threads or a smaller tile need fewer registers: values of the kernel, which no schedule call changes",
    ),
    Lint(
        "block-too-large",
        "error",
        "Block too large for a core",
        find_block_too_large,
        from_report=True,
        no_fix="Fewer threads, or smaller tiles in registers and shared memory, make room for it",
    ),
    Lint(
        "no-threads",
        "warning",
        "No threads",
        find_unbound,
        no_fix="`bind` a loop to blockIdx.x and one inside of it to threadIdx.x; Make it fast derives a schedule with both",
    ),
    Lint(
        "barrier-too-many-blocks",
        "error",
        "Barrier of more blocks than cores hold",
        find_endless_barriers,
        from_report=True,
        no_fix="A loop over several tiles in each block, with a grid of as many blocks as the cores hold at a time",
    ),
    Lint("idle-cores", "warning", "Cores without work", find_idle_cores, grid_fixes, from_report=True, no_fix=GRID),
    Lint("uneven-tail", "info", "Uneven last wave", find_uneven_tail, grid_fixes, from_report=True, no_fix=GRID),
    Lint(
        "port-saturated",
        "info",
        "Shared port saturated",
        find_saturated_ports,
        grid_fixes,
        from_report=True,
        no_fix=GRID,
    ),
    Lint(
        "shared-cache-thrash",
        "warning",
        "Shared cache reused too little",
        find_cache_thrash,
        order_fixes,
        from_report=True,
        no_fix="Loops over blocks in another order: panels of a few rows of tiles",
    ),
    Lint(
        "shared-cache-unknown",
        "info",
        "Contents of the shared cache unknown",
        find_unknown_contents,
        from_report=True,
        no_fix="The cycles are a lower bound as far as the memory behind the cache is concerned",
    ),
    Lint("uncleared-sum", "error", "Sum without a first value", find_uncleared_sums, clear_fixes),
    Lint(
        "idle-threads",
        "warning",
        "Threads without work in a copy",
        find_idle_threads,
        idle_threads_fixes,
    ),
    Lint(
        "lost-bulk-copy",
        "info",
        "Copy without TMA",
        find_lost_bulk_copies,
        no_fix="Rows, strides or types of the tensors decide it; a T.copy in the place of a loop may be one",
    ),
    Lint("unified-buffer-detour", "warning", "Detour through the unified buffer", find_detours, detour_fixes),
    Lint("missing-wait", "error", "Access before its wait", find_races, race_fixes),
    Lint(
        "unmatched-flag",
        "warning",
        "Flag without its counterpart",
        find_unset_flags,
        no_fix="Which of both is too much is not known",
    ),
    Lint(
        "needless-flag",
        "warning",
        "Flag or barrier without need",
        find_needless_flags,
        needless_fixes,
        informational=True,
    ),
    Lint(
        "serial-barrier",
        "warning",
        "Barrier in the place of flags",
        find_serial_barriers,
        serial_fixes,
        requires_speedup=True,
    ),
    Lint(
        "serial-flags",
        "warning",
        "Cores take turns",
        find_serial_flags,
        no_fix="Begin the next tile before the wait for this one: two slots of the buffers in global memory, each with its flags",
    ),
    Lint("round-trip", "warning", "Off-chip round trip", find_round_trips, round_trip_fixes, from_report=True),
    Lint(
        "scalar-engine", "warning", "Heavy work on the scalar engine", find_scalar_work, reach_fixes, from_report=True
    ),
    Lint(
        "scalar-padding",
        "warning",
        "Padding on the scalar engine",
        find_scalar_padding,
        padding_fixes,
        from_report=True,
    ),
    Lint("one-bank", "warning", "Operands in one memory bank", find_one_bank, one_bank_fixes),
    Lint(
        "bank-conflict",
        "warning",
        "Bank conflict",
        find_bank_conflicts,
        bank_conflict_fixes,
        informational=True,
        from_report=True,
    ),
    Lint("short-runs", "warning", "Short DMA runs", find_short_runs, short_runs_fixes, informational=True),
    Lint("skipped", "warning", "Unused elements copied", find_skipped, skipped_fixes, informational=True),
    Lint(
        "double-buffer-idle",
        "warning",
        "Idle double buffer",
        find_idle_slots,
        idle_slots_fixes,
        from_report=True,
    ),
    Lint("late-loads", "warning", "Loads too late", find_late_loads, late_loads_fixes, requires_speedup=True),
    Lint("recompute", "warning", "Redundant recomputation", find_recomputed, recompute_fixes, requires_speedup=True),
    Lint("whole-buffer", "warning", "Untiled intermediate buffer", find_whole, whole_fixes, requires_speedup=True),
    Lint("guard", "warning", "Condition in the innermost loop", find_guards, guard_fixes, informational=True),
    Lint(
        "uncoalesced",
        "warning",
        "Uncoalesced access",
        find_uncoalesced,
        from_report=True,
        no_fix="The lanes follow a loop: bind the loop of the last axis instead, or stage a tile in shared memory",
    ),
    Lint(
        "unused-block",
        "warning",
        "Unused result",
        find_unused_blocks,
        no_fix="No schedule call removes a block; remove it from the program",
    ),
    Lint("unused-buffer", "info", "Unused buffer", find_unused_buffers, no_fix="It needs no memory when lowered"),
    Lint(
        "more-parts-than-blocks",
        "info",
        "More parts than physical blocks",
        find_wrapped_parts,
        from_report=True,
        no_fix="The parts are the axis in front of the separator; a layout with fewer of them has none that share a block",
    ),
    Lint(
        "iterations-bounded",
        "warning",
        "Iterations not counted",
        find_bounded_iterations,
        from_report=True,
        no_fix="A loop over few kinds of tiles around the block, or factors that divide the extents, can be counted",
    ),
    Lint(
        "cores-bounded",
        "warning",
        "Cycles of cores not exact",
        find_bounded_cores,
        from_report=True,
        no_fix="The message says what differs between the cores; fewer blocks are replayed one by one",
    ),
    Lint(
        "caches-left-out",
        "warning",
        "Caches not simulated",
        find_caches_left_out,
        from_report=True,
        no_fix="The program has more accesses than the limit; the command line has a higher one, and `max_accesses=` of `simulate` sets it",
    ),
    Lint(
        "data-assumed",
        "info",
        "Data assumed",
        find_assumed_data,
        from_report=True,
        no_fix="Other data has other cycles: change the line `data = {…}`, or the option --mean or --data",
    ),
)
"""In the order in which findings of one severity are reported."""


def lint(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
    kernel: KernelText | None = None,
) -> tuple[LintFinding, ...]:
    """The findings about a schedule on a machine, the worst first, each with the fixes that were tried and hold.

    `sizes` are values of symbolic sizes, by name; `simulate` is the simulator, possibly with limits; `report` its report of the schedule,
    if known; `kernel` the text of the TileLang kernel that the program is, which fixes edit. A program that cannot be simulated yet (a
    size without a value) has only the findings that need no report.
    """
    found: tuple[LintFinding, ...] = ()
    for now in linting(schedule, machine, sizes, simulate=simulate, report=report, kernel=kernel):
        found = found if now is None else now
    return found


def simulator_findings(
    schedule: Schedule, machine: Machine, report: Report, sizes: Mapping[str, int] | None = None
) -> tuple[LintFinding, ...]:
    """The findings in the simulator's report of a schedule, at once and without fixes: a part of those of `lint`."""
    subject = Subject(schedule, machine, sizes or {}, simulate, report)
    found = [(rule, finding) for rule in LINTS if rule.from_report for finding in rule.find(subject)]
    return _sorted([replace(f, severity="info" if rule.informational else f.severity, hints=()) for rule, f in found])


def linting(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
    kernel: KernelText | None = None,
) -> Iterator[tuple[LintFinding, ...] | None]:
    """Runs `lint` step by step: yields the findings so far whenever there are more, and all at the end; None after each trial, so that the
    caller can stop."""
    subject = Subject(schedule, machine, sizes or {}, simulate, report, kernel=kernel)
    found: list[LintFinding] = []
    for rule in LINTS:
        for finding in rule.linted(subject):
            found += [] if finding is None else [finding]
            yield None if finding is None else _sorted(found)
    yield _sorted(found)


def _sorted(found: list[LintFinding]) -> tuple[LintFinding, ...]:
    return tuple(sorted(found, key=lambda f: SEVERITIES.index(f.severity)))
