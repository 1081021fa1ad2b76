"""A lint: its findings, and the calls that may fix them. All lints try these calls in the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import ndiff
from inspect import getdoc
from typing import Literal

import msgspec
from msgspec.structs import replace

from ..hwsim import Report
from .finding import Fix, LintFinding, Peak, same
from .subject import Subject

MOST_FIXES = 3
"""Maximum number of fixes offered for a finding."""

MOST_EACH, LEAST_EACH, MOST_TRIALS = 40, 6, 60
"""Maximum and minimum trials for a finding, and maximum for all findings of one lint. The trials are shared; the worst findings come
first, and take what is left if it is not enough for all."""

NO_TRIALS = f"No call was tried: worse findings used the {MOST_TRIALS} trials of this lint"

FAR_BEHIND = 1.5
"""A fix that costs more than this multiple of the best fix's cycles is not offered."""

MAX_SLOWDOWN = 4
"""A fix that makes a program fit may cost this multiple of its cycles with a memory that is large enough."""

MIN_SPEEDUP = 0.02
"""If a lint requires a speed-up (`requires_speedup`), a fix has to save this fraction of the cycles."""

FULL, RELIEF = 0.5, 0.75
"""Alternatively, a fix may reduce a memory filled to at least FULL to at most RELIEF of its use, at no cost in cycles."""

Failure = Literal["refused", "cannot run", "remains", "does not fit", "other finding", "slower"]
FAILURES: Mapping[Failure, str] = {
    "refused": "illegal",
    "cannot run": "refused by the machine",
    "remains": "without effect on the finding",
    "does not fit": "above a capacity",
    "other finding": "with another finding instead",
    "slower": "not faster",
}
"""Why a change is not a fix, as words after a count."""

Find = Callable[[Subject], Iterable[LintFinding]]
FindFixes = Callable[[Subject, LintFinding], Iterable[Subject | None]]
"""Yields subjects after calls that may fix a finding, the most promising first; None if calls are refused, or do not suffice alone."""


def no_fixes(_: Subject, __: LintFinding) -> Iterator[Subject | None]:
    """None: no schedule call changes it."""
    return iter(())


class Lint(msgspec.Struct, frozen=True, eq=False):
    """One row of the table. docs/lints.md is generated from the docstrings of `find` and `find_fixes`: the finding, and the calls that are
    tried.

    `no_fix` is the reason why no schedule call fixes it, where none was tried. With `requires_speedup`, a finding is reported
    only if a fix makes the program faster or relieves a memory: otherwise the schedule is as good as the proposal. An `informational`
    finding is a warning only if it has a fix. A finding `from_report` needs only the report of the simulator. With `any_price`, a fix may
    cost cycles, as for an error: those of the program assume what is not so.
    """

    code: str
    severity: str
    title: str
    find: Find
    find_fixes: FindFixes = no_fixes
    requires_speedup: bool = False
    informational: bool = False
    from_report: bool = False
    any_price: bool = False
    no_fix: str = ""

    @property
    def what(self) -> str:
        """What the lint finds and why, from the docstring of `find`."""
        return getdoc(self.find) or ""

    @property
    def fix(self) -> str:
        """The calls that are tried, from the docstring of `find_fixes`."""
        return getdoc(self.find_fixes) or ""

    def linted(self, subject: Subject) -> Iterator[LintFinding | None]:
        """Yields the findings with their fixes, and None after each trial, so that the caller can stop."""
        left = MOST_TRIALS
        findings = list(self.find(subject))
        for number, finding in enumerate(findings):
            fixes: list[Fix] = []
            failed = Counter[Failure]()
            each = min(left, MOST_EACH, max(LEAST_EACH, left // (len(findings) - number)))
            was_tried = bool(left)
            for after in self.find_fixes(subject, finding) if left else ():
                if after is None:
                    failed["refused"] += 1
                else:
                    fix = self._fix(subject, finding, after)
                    if isinstance(fix, Fix):
                        fixes.append(fix)
                    else:
                        failed[fix] += 1
                    each, left = each - 1, left - 1
                yield None
                if not each:
                    break
            if fixes or not self.requires_speedup:
                severity = "info" if self.informational and not fixes else finding.severity
                no_fix = "" if fixes else self._no_fix(failed) if was_tried else self.no_fix or NO_TRIALS
                yield replace(finding, severity=severity, fixes=_best(fixes), no_fix=no_fix)

    def _no_fix(self, failed: Mapping[Failure, int]) -> str:
        return _no_fix(failed) if failed else self.no_fix or "No call of this lint applies here"

    def _fix(self, before: Subject, finding: LintFinding, after: Subject) -> Fix | Failure:
        """The calls between two subjects, if they end the finding and nothing gets worse; else what is wrong with them."""
        if after.report is None:
            return "cannot run"
        if any(same(finding, other) for other in self.find(after)):
            return "remains"
        worse = _worse(before.report, after.report, any_price=self.any_price or finding.severity == "error")
        if worse is not None:
            return worse
        if (self.requires_speedup or finding.saved) and not _is_improvement(before, after):
            return "slower"
        return fix_between(before, after)


def fix_between(before: Subject, after: Subject) -> Fix:
    """The calls between two subjects, of which the machine runs the second one."""
    was, now = before.report, after.report
    assert now is not None
    return Fix(
        after.schedule.trace.steps[len(before.schedule.trace.steps) :] if after.revision is None else (),
        None if was is None else was.cycles,
        now.cycles,
        _peaks(was, now),
        after.revision,
        _fits(now),
        was is None or _fits(was),
        None if was is None else was.copied_bytes,
        now.copied_bytes,
        now.overflow_bytes,
        _lines_between(before, after),
        after.text,
    )


def _lines_between(before: Subject, after: Subject) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of a kernel's text that an edit replaces, and those that it writes."""
    if not after.text or before.kernel is None:
        return (), ()
    compared = list(ndiff(before.kernel.text.splitlines(), after.text.splitlines()))
    found = [line for line in compared if line[0] in "-+"]
    old, new = (tuple(line[2:].strip() for line in found if line[0] == sign) for sign in "-+")
    if sorted(old) != sorted(new):
        return old, new
    numbers = [n for n, line in enumerate((line for line in compared if line[0] in " +"), 1) if line[0] == "+"]
    return old, tuple(f"{line}  # line {n}" for n, line in zip(numbers, new, strict=True))


def _fits(report: Report) -> bool:
    return not any(f.severity == "error" for f in report.observed)


def _best(fixes: list[Fix]) -> tuple[Fix, ...]:
    """The best fixes, the best first; of fixes with equal results, the one with the fewest calls."""
    fitting = [f for f in fixes if f.fits] or fixes
    ranked = sorted(fitting, key=lambda f: (f.cycles, sum(p.after for p in f.peaks), len(f.calls)))
    kept: dict[object, Fix] = {}
    for fix in ranked:
        if fix.cycles <= ranked[0].cycles * FAR_BEHIND:
            kept.setdefault((fix.cycles, fix.peaks), fix)
    return tuple(kept.values())[:MOST_FIXES]


def _worse(before: Report | None, after: Report, *, any_price: bool) -> Failure | None:
    """What gets worse: a new error, a new warning although the program is not faster, an overflow, or the cycles; None if nothing does. A
    program that the machine refused need only run now: it may need further fixes."""
    if before is None:
        return None
    old = tuple((f.code, f.memory) for f in before.findings)
    new = {f.severity for f in after.findings if (f.code, f.memory) not in old}
    scopes = {m.scope for m in after.memory.values()}
    if any(overflow_bytes(after, scope) > overflow_bytes(before, scope) for scope in scopes):
        return "does not fit"
    if not after.is_comparable(before):
        return "other finding"
    if "error" in new or ("warning" in new and after.cycles > before.cycles * (1 - MIN_SPEEDUP)):
        return "other finding"
    return None if after.cycles <= before.cycles * (MAX_SLOWDOWN if any_price else 1) else "slower"


def _no_fix(failed: Mapping[Failure, int]) -> str:
    """The reason why a finding has no fix: the changes that were tried, and what is wrong with them."""
    total = sum(failed.values())
    parts = [f"{count} {FAILURES[failure]}" for failure, count in failed.items()]
    return f"{total} change{'s' if total > 1 else ''} tried: {', '.join(parts)}"


def overflow_bytes(report: Report, scope: str) -> int:
    """Bytes above the capacity of a memory, in all its blocks."""
    return sum(m.overflow_bytes for m in report.memory.values() if m.scope == scope)


def _is_improvement(before: Subject, after: Subject) -> bool:
    assert before.report is not None and after.report is not None
    if after.report.cycles <= before.report.cycles * (1 - MIN_SPEEDUP):
        return True
    return before.fullness() >= FULL and after.fullness() <= before.fullness() * RELIEF


def _peaks(before: Report | None, after: Report) -> tuple[Peak, ...]:
    """The memories whose peaks change, without the largest one, where all data begins and ends."""
    far = max(m.capacity_bytes for m in after.memory.values())
    was = {} if before is None else before.memory
    return tuple(
        Peak(row, was[row].peak_bytes if row in was else 0, m.peak_bytes)
        for row, m in after.memory.items()
        if m.capacity_bytes < far and m.peak_bytes != (was[row].peak_bytes if row in was else 0)
    )
