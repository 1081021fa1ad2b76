"""The table of all rules, and the entry point `suggest`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..adopt import KernelText
from ..hwsim import Machine, Report, simulate
from ..lint import LINTS, LintFinding, lint
from ..lint.subject import Simulate, Subject
from ..schedule import Schedule
from .kernels import ahead, direct, laid_out, reordered, revalued
from .overlap import double_buffered, pipelined
from .places import inlined, moved, placed_elsewhere, rows_outside
from .rule import MIN_GAIN, Rule, Suggestion
from .sizes import resized
from .tile import tiled
from .whole import scheduled

KERNEL_RULES: tuple[Rule, ...] = (
    Rule("kernel-value", "Another value of the kernel", revalued),
    Rule("kernel-layout", "Another layout of a shared buffer", laid_out),
    Rule("kernel-slots", "Copy ahead", ahead),
    Rule("kernel-copy", "Copy directly", direct),
    Rule("kernel-order", "Copy earlier", reordered),
)
"""Edits of a TileLang kernel's text, in place of the calls of the other rules."""
RULES: tuple[Rule, ...] = (
    *KERNEL_RULES,
    Rule("tile", "Tile a block for its engine", tiled),
    Rule("schedule", "Schedule all blocks", scheduled, is_refined=True),
    Rule("inline", "Inline a block", inlined),
    Rule("pipeline", "Overlap the parts of a loop", pipelined),
    Rule("double-buffer", "Load the next tile early", double_buffered),
    Rule("tile-size", "Another tile size", resized),
    Rule("move", "Compute a block tile by tile", moved),
    Rule("place", "Another place for a block", placed_elsewhere),
    Rule("rows", "Independent rows of a scan", rows_outside),
)
"""In the order in which they are tried."""


def suggest(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
    kernel: KernelText | None = None,
) -> tuple[Suggestion, ...]:
    """The next steps of a schedule on a machine, the best first: programs that fit, then fewer cycles. Arguments as in `lint`; `kernel` is
    the text of a TileLang kernel that the program is."""
    found: tuple[Suggestion, ...] = ()
    for now in suggesting(schedule, machine, sizes, simulate=simulate, report=report, kernel=kernel):
        found = found if now is None else now
    return found


def next_steps(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
    kernel: KernelText | None = None,
) -> tuple[Suggestion, ...]:
    """The suggestions and the fixes of lints that improve a schedule, the best first. Arguments as in `lint`."""
    fixes = lint(schedule, machine, sizes, simulate=simulate, report=report, kernel=kernel)
    steps = suggest(schedule, machine, sizes, simulate=simulate, report=report, kernel=kernel)
    return best_first((*steps, *from_findings(fixes)))


def suggesting(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    simulate: Simulate = simulate,
    report: Report | None = None,
    rules: Iterable[Rule] = RULES,
    kernel: KernelText | None = None,
) -> Iterator[tuple[Suggestion, ...] | None]:
    """Runs `suggest` step by step: yields the suggestions so far whenever there are more; None after each trial."""
    subject = Subject(schedule, machine, sizes or {}, simulate, report, kernel=kernel)
    found: list[Suggestion] = []
    for rule in rules if kernel is None else KERNEL_RULES:
        own: list[Suggestion] = []
        for one in rule.suggestions(subject):
            if one is not None:
                own = [one] if rule.is_refined else [*own, one]
            yield None if one is None else best_first([*found, *own])
        found += own
    yield best_first(found)


def best_first(found: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
    """Sorted suggestions, without those whose effect equals that of another one with fewer calls."""
    ranked = sorted(found, key=lambda s: (s.fix.overflow, s.fix.cycles, s.fix.copied, len(s.fix.calls)))
    kept: dict[object, Suggestion] = {}
    for one in ranked:
        kept.setdefault((one.fix.overflow, one.fix.cycles, one.fix.copied), one)
    return tuple(kept.values())


def from_findings(findings: Iterable[LintFinding]) -> Iterator[Suggestion]:
    """The fixes of lints that improve the program."""
    titles = {rule.code: rule.title for rule in LINTS}
    for finding in findings:
        for fix in finding.fixes:
            if fix.cycles_before is None or not fix.fitted or fix.cycles <= fix.cycles_before * (1 - MIN_GAIN):
                where = f": {' and '.join(finding.blocks)}" if finding.blocks else ""
                yield Suggestion(finding.code, f"{titles[finding.code]}{where}", fix)
