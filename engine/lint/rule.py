"""A lint: what it looks for, and which calls may end what it finds. How these are tried is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import getdoc

import msgspec
from msgspec.structs import replace

from ..hwsim import Report
from .finding import Fix, LintFinding, Peak, same
from .subject import Subject

MOST_FIXES = 3
"""Of the fixes that hold, so many are offered."""

MOST_EACH, MOST_TRIALS = 40, 60
"""So many are tried for a finding, and for all findings of one lint: those that come first are the worst."""

FAR_BEHIND = 1.5
"""What takes so many times the cycles of the best fix is not offered beside it."""

DEAREST = 4
"""What makes a program fit may cost so many times the cycles that it would take if the memory were large enough."""

WORTH = 0.02
"""What is a matter of taste unless it pays has to save this part of the cycles."""

FULL, RELIEF = 0.5, 0.75
"""Or to take a memory that is so full down to this part of what was in it, at no cost in cycles."""

Find = Callable[[Subject], Iterable[LintFinding]]
Remedies = Callable[[Subject, LintFinding], Iterable[Subject | None]]
"""Subjects after calls that may end a finding, those thought of first first; None where calls are refused, or do not do alone."""


def no_remedies(_: Subject, __: LintFinding) -> Iterator[Subject | None]:
    """None: no call changes it."""
    return iter(())


class Lint(msgspec.Struct, frozen=True, eq=False):
    """One row of the table. The docstrings of `find` and `remedies` say what it is about and what is tried: docs/lints.md is made of them.

    With `pays` a finding is one only where some fix makes the program faster, or takes the pressure off a memory: else the schedule is
    as good as what would be proposed. One that is `mild` is a warning only where there is a fix, else no more than to know. What is
    `told` is found in the simulator's report and needs nothing else.
    """

    code: str
    severity: str
    title: str
    find: Find
    remedies: Remedies = no_remedies
    pays: bool = False
    mild: bool = False
    told: bool = False

    @property
    def what(self) -> str:
        """What it looks for and why, from the docstring."""
        return getdoc(self.find) or ""

    @property
    def fix(self) -> str:
        """What is tried, from the docstring."""
        return getdoc(self.remedies) or ""

    def linted(self, subject: Subject) -> Iterator[LintFinding | None]:
        """The findings with their fixes; None after each trial, for whoever wants to stop."""
        left = MOST_TRIALS
        for finding in self.find(subject):
            fixes: list[Fix] = []
            each = min(left, MOST_EACH)
            for after in self.remedies(subject, finding) if left else ():
                if after is not None:
                    fix = self._fix(subject, finding, after)
                    fixes += [] if fix is None else [fix]
                    each, left = each - 1, left - 1
                yield None
                if not each:
                    break
            if fixes or not self.pays:
                severity = "info" if self.mild and not fixes else finding.severity
                yield replace(finding, severity=severity, fixes=_best(fixes))

    def _fix(self, before: Subject, finding: LintFinding, after: Subject) -> Fix | None:
        """The calls between two subjects, where they end the finding and nothing gets worse."""
        if after.report is None or any(same(finding, other) for other in self.find(after)):
            return None
        if not _no_worse(before.report, after.report, any_price=finding.severity == "error"):
            return None
        if self.pays and not _pays(before, after):
            return None
        steps = after.schedule.trace.steps[len(before.schedule.trace.steps) :] if after.revision is None else ()
        cycles = None if before.report is None else before.report.cycles
        fits = not any(f.severity == "error" for f in after.report.findings)
        return Fix(steps, cycles, after.report.cycles, _peaks(before.report, after.report), after.revision, fits)


def _best(fixes: list[Fix]) -> tuple[Fix, ...]:
    """The best of what was found, first; of those that come to the same the one with the fewest calls."""
    fitting = [f for f in fixes if f.fits] or fixes
    ranked = sorted(fitting, key=lambda f: (f.cycles, sum(p.after for p in f.peaks), len(f.calls)))
    kept: dict[object, Fix] = {}
    for fix in ranked:
        if fix.cycles <= ranked[0].cycles * FAR_BEHIND:
            kept.setdefault((fix.cycles, fix.peaks), fix)
    return tuple(kept.values())[:MOST_FIXES]


def _no_worse(before: Report | None, after: Report, *, any_price: bool) -> bool:
    """Whether no error is new, and the program is not slower; nor a warning, unless it is faster. What a machine refused need only run:
    there may be more to do then."""
    if before is None:
        return True
    old = tuple((f.code, f.memory) for f in before.findings)
    new = {f.severity for f in after.findings if (f.code, f.memory) not in old}
    if "error" in new or ("warning" in new and after.cycles > before.cycles * (1 - WORTH)):
        return False
    if any(too_much(after, scope) > too_much(before, scope) for scope in {m.scope for m in after.memory.values()}):
        return False
    return after.cycles <= before.cycles * (DEAREST if any_price else 1)


def too_much(report: Report, scope: str) -> int:
    """Bytes that a memory would have to hold more than it has, in all its blocks."""
    rows = (m for m in report.memory.values() if m.scope == scope)
    return sum(max(m.peak_bytes - m.capacity_bytes, 0) for m in rows)


def _pays(before: Subject, after: Subject) -> bool:
    assert before.report is not None and after.report is not None
    if after.report.cycles <= before.report.cycles * (1 - WORTH):
        return True
    return before.fullness() >= FULL and after.fullness() <= before.fullness() * RELIEF


def _peaks(before: Report | None, after: Report) -> tuple[Peak, ...]:
    """The memories of which another part is taken now; the largest one, where everything begins and ends, apart."""
    far = max(m.capacity_bytes for m in after.memory.values())
    was = {} if before is None else before.memory
    return tuple(
        Peak(row, was[row].peak_bytes if row in was else 0, m.peak_bytes)
        for row, m in after.memory.items()
        if m.capacity_bytes < far and m.peak_bytes != (was[row].peak_bytes if row in was else 0)
    )
