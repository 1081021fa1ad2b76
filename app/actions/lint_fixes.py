"""Lint of a notebook for the command line: automatic fixes, and findings as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from ...engine.adopt import KernelText
from ...engine.hwsim import Machine, simulate
from ...engine.ir import TilewrightError
from ...engine.lint import Fix, LintFinding, lint
from ...engine.schedule import Schedule
from ..document import Notebook, apply_lint
from ..document.editing.kernel_edits import text_of_kernel

MAX_ROUNDS = 50
"""The limit on findings that are fixed one after the other."""

LONG_NUMBER = re.compile(r"(?<![\w.])\d{5,}(?!\d)(?![\w.]*\w)")
"""Numbers in messages that are easier to read in groups of digits; digits in names do not match."""

SIGNS = {"error": "error", "warning": "warning", "info": "note"}


class FixedFinding(msgspec.Struct, frozen=True, eq=False):
    """A fixed finding, and the fix."""

    finding: LintFinding
    fix: Fix

    def to_json(self) -> dict[str, object]:
        """The finding as JSON values, with the calls."""
        return {
            "code": self.finding.code,
            "message": self.finding.message,
            "calls": list(self.fix.calls),
            "replaces": self.fix.replaces,
        }


def findings_of(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int], max_accesses: int, kernel: KernelText | None = None
) -> tuple[LintFinding, ...]:
    """The lint findings of a schedule, or of a TileLang kernel with this text."""
    return lint(schedule, machine, sizes, simulate=partial(simulate, max_accesses=max_accesses), kernel=kernel)


def fix_findings(
    notebook: Notebook, machine: Machine, sizes: Mapping[str, int], max_accesses: int
) -> tuple[Notebook, tuple[FixedFinding, ...], tuple[LintFinding, ...]]:
    """The notebook after the best fix of each error and warning that has one, the worst first; the fixed findings, and the findings that
    remain."""
    done: list[FixedFinding] = []
    while True:
        assert notebook.schedule is not None
        found = findings_of(notebook.schedule, machine, sizes, max_accesses, text_of_kernel(notebook))
        better = next(_better(notebook, found), None) if len(done) < MAX_ROUNDS else None
        if better is None:
            return notebook, tuple(done), found
        notebook, fixed = better
        done.append(fixed)


def _better(notebook: Notebook, found: Sequence[LintFinding]) -> Iterator[tuple[Notebook, FixedFinding]]:
    """Yield the notebook after each fix that applies, those of the worst finding first."""
    for finding in filter(is_serious, found):
        for fix in finding.fixes:
            with suppress(TilewrightError):
                yield apply_lint(notebook, fix), FixedFinding(finding, fix)


def is_serious(finding: LintFinding) -> bool:
    """Whether the finding is more than informational."""
    return finding.severity != "info"


def lint_text(found: Sequence[LintFinding], machine: str) -> str:
    """All findings as text."""
    if not found:
        return f"no findings on {machine}"
    blocks = ["\n".join(_lines(finding)) for finding in found]
    return "\n\n".join([*blocks, _summary(found, machine)])


def fixed_text(done: Sequence[FixedFinding]) -> str:
    """The fixed findings as text, with their calls."""
    lines: list[str] = []
    for one in done:
        lines.append(f"fixed    {one.finding.code}: {effect_text(one.fix)}")
        lines += [f"         {line}" for line in fix_lines(one.fix)]
    return "\n".join(lines)


def fix_lines(fix: Fix) -> Iterator[str]:
    """The lines of a fix to write."""
    if fix.text:
        yield from (f"- {line}" for line in fix.lines[0])
        yield from (f"+ {line}" for line in fix.lines[1])
        return
    if fix.replaces:
        yield f"{'replaces' if fix.calls else 'removes'} {fix.replaces}"
    yield from fix.calls


def _summary(found: Sequence[LintFinding], machine: str) -> str:
    counts = [(sum(f.severity == severity for f in found), name) for severity, name in SIGNS.items()]
    counted = ", ".join(f"{n} {name}{'s' * (n != 1)}" for n, name in counts if n)
    fixable = sum(bool(f.fixes) for f in found)
    return f"{counted} on {machine}; {fixable} fixable"


def _lines(finding: LintFinding) -> Iterator[str]:
    yield f"{SIGNS[finding.severity]:<8} {finding.code}"
    yield f"         {LONG_NUMBER.sub(lambda found: f'{int(found[0]):,}', finding.message)}"
    places = [*finding.blocks, *(loop.name for loop in finding.loops), *finding.buffers, finding.memory]
    if any(places):
        yield f"         at {', '.join(dict.fromkeys(p for p in places if p))}"
    for number, fix in enumerate(finding.fixes):
        yield f"         {'fix' if number == 0 else 'or'}: {effect_text(fix)}"
        for line in fix_lines(fix):
            yield f"             {line}"
    if finding.no_fix:
        yield f"         no fix: {finding.no_fix}"


def effect_text(fix: Fix) -> str:
    """The effect of a fix: "322,872 → 203,064 cycles (-37 %), local.vtcm[0] 65,536 → 32,768 bytes"."""
    if not fix.fits:
        said = ["still does not fit"]
    elif fix.cycles_before is None or not fix.fitted:
        said = [f"{fix.cycles:,} cycles"]
    elif fix.cycles == fix.cycles_before:
        said = [f"{fix.cycles:,} cycles, unchanged"]
    else:
        said = [f"{fix.cycles_before:,} → {fix.cycles:,} cycles ({-fix.gain:+.0%})"]
    return ", ".join([*said, *(f"{p.memory} {p.before:,} → {p.after:,} bytes" for p in fix.peaks)])
