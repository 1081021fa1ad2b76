"""The value of the Problems pane: errors in the text, machine refusals, failed verification, and lints with their fixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from ....engine.hwsim import Machine, Report
from ....engine.ir import Block, BlockRealize, For, Node, Refusal, TilewrightError, Var
from ....engine.lint import Fix, LintFinding, simulator_findings
from ....engine.script import Note
from ...actions.lint_fixes import LONG_NUMBER
from ...document import is_applicable
from ...state.derived import Store, sizes_of
from ...state.entries import Derived
from ...state.model import State
from ...state.row_ids import Handle, RowIds, row_ids
from ..labels.fitness import DOES_NOT_FIT
from ..labels.numbers import change_of, grouped, size_text
from ..labels.settings import SettingField, setting_fields
from ..labels.values import Change, Trend, Value
from .lints import Linted, lints_now

Severity = Literal["error", "warning", "info"]

RANK: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


_OF_THE_REPORT = Derived["tuple[LintFinding, ...]"]("findings of the report")


class ProposedFix(Value, frozen=True):
    """Calls as texts; `replaces` is the call that they replace or that is removed; `applicable`: they apply to the
    displayed schedule. Tried ones have the `change` of the cycles and a `detail`. A line of settings, `sizes` or `data`,
    has `fields` for its values, and `setting` is its name."""

    calls: tuple[str, ...]
    replaces: str
    applicable: bool
    change: Change | None = None
    detail: str = ""
    setting: str = ""
    fields: Sequence[SettingField] = ()


class Problem(Value, frozen=True, kw_only=True):
    """An error, a lint or a note; `rows` are those of the tree, `no_fix` is the reason why a lint has no fixes."""

    severity: Severity
    code: str
    message: str
    found: str = ""
    expected: str = ""
    place: str
    rows: list[str]
    fixes: Sequence[ProposedFix] = ()
    no_fix: str = ""


class Problems(Value, frozen=True):
    """The problems, most severe first, then by the cycles that the best fix saves; `looking`: lints are running."""

    problems: list[Problem]
    looking: bool


class MarkText(Value, frozen=True):
    """A problem of a row."""

    severity: Severity
    text: str


class RowMark(Value, frozen=True):
    """The problems of a row, most severe first, and the highest severity."""

    severity: Severity
    messages: list[MarkText]


def problems_value(state: State, store: Store) -> Problems:
    """The pane's value."""
    if state.notebook is None or state.moment is None:
        return Problems([], looking=False)
    report, linted = store.known_report(state), lints_now(state, store)
    ids = row_ids(state.moment.schedule.func)
    problems: list[Problem] = []
    if state.notebook.error is not None:
        problems.append(_problem("error", state.notebook.error.refusal, ids))
    problems += [_noted("posted-text", note) for note in state.notes]
    problems += [_noted("reading", note) for note in state.notebook.notes]
    if isinstance(report, TilewrightError):
        problems.append(_refused(state, report.refusal, linted, ids))
    problems += _verdict(state, store, report)
    for finding in sorted(_findings(state, store, report, linted), key=_saved, reverse=True):
        problems.append(_finding(state, finding, ids))
    is_done = (
        report is None
        or isinstance(store.machine(state), TilewrightError)
        or (linted is not None and linted.is_complete)
    )
    return Problems(sorted(problems, key=lambda problem: RANK[problem.severity]), looking=not is_done)


def problem_marks(problems: Sequence[Problem]) -> dict[str, RowMark]:
    """The mark of each tree row with problems."""
    marks: dict[str, RowMark] = {}
    for problem in problems:
        for row in problem.rows:
            mark = marks.setdefault(row, RowMark(problem.severity, []))
            mark.messages.append(MarkText(problem.severity, problem.message))
    return marks


def _findings(
    state: State, store: Store, report: Report | TilewrightError | None, linted: Linted | None
) -> tuple[LintFinding, ...]:
    """The lint findings; until the lints are done, also the findings of the report. Refusals are shown by `_refused` instead."""
    found = () if linted is None else tuple(f for f in linted.findings if f.code != "refused")
    machine = store.machine(state)
    is_done = linted is not None and linted.is_complete
    if is_done or not isinstance(report, Report) or not isinstance(machine, Machine) or state.moment is None:
        return found
    schedule, known = state.moment.schedule, {f.code for f in found}
    reported = store.remember(
        _OF_THE_REPORT(schedule.func, report),
        lambda: simulator_findings(schedule, machine, report, sizes_of(state, schedule.func)),
    )
    return (*found, *(f for f in reported if f.code not in known))


def _refused(state: State, refusal: Refusal, linted: Linted | None, ids: RowIds) -> Problem:
    """The machine's refusal with the tried fixes; without tried fixes, with the calls that the refusal suggests."""
    fixes = [fix for f in (linted.findings if linted is not None else ()) if f.code == "refused" for fix in f.fixes]
    problem = _problem("error", refusal, ids)
    if fixes:
        return replace(problem, fixes=[fix_value(state, fix) for fix in fixes])
    if not refusal.fix:
        return problem
    assert state.notebook is not None
    applicable = state.moment is not None and _can_add(state) and is_applicable(state.moment, refusal.fix)
    setting, fields = setting_fields(refusal.fix[0], state.notebook.document) if applicable else ("", ())
    return replace(problem, fixes=[ProposedFix(tuple(refusal.fix), "", applicable, setting=setting, fields=fields)])


def _can_add(state: State) -> bool:
    """Whether a fix can be appended: the end of the schedule is displayed, and the notebook has no error."""
    return not state.looks_back and state.notebook is not None and state.notebook.error is None


def _verdict(state: State, store: Store, report: Report | TilewrightError | None) -> list[Problem]:
    assert state.moment is not None
    verdict = store.verdict(state, state.moment.schedule)
    waits = isinstance(report, TilewrightError) and report.code == "missing-sizes"  # verification needs the sizes, too
    if verdict is None or verdict.status not in ("failed", "unknown") or (verdict.status == "unknown" and waits):
        return []
    severity: Severity = "error" if verdict.status == "failed" else "info"
    return [_problem(severity, Refusal(f"verification-{verdict.status}", verdict.detail))]


def _rows_of(handles: Iterable[Handle], ids: RowIds) -> list[str]:
    """The rows of the loops and blocks that the tree shows."""
    return [ids.of(handle) for handle in dict.fromkeys(handles) if ids.has(handle)]


def _handles_in(nodes: Iterable[Node]) -> Iterator[Handle]:
    """The loops and blocks among the nodes of a refusal."""
    for node in nodes:
        if isinstance(node, For):
            yield node.loop_var
        elif isinstance(node, Block | BlockRealize):
            yield (node.block if isinstance(node, BlockRealize) else node).name
        elif isinstance(node, Var):
            yield node


def _noted(code: str, note: Note) -> Problem:
    return replace(_problem("info", Refusal(code, note.text, place=note.place)), place=note.where)


def _problem(severity: Severity, refusal: Refusal, ids: RowIds | None = None) -> Problem:
    """The entry of a refusal; `ids` are the tree's row ids, for a refusal that may concern rows."""
    place = f"line {refusal.place.line}" if refusal.place is not None else ""
    return Problem(
        severity=severity,
        code=refusal.code,
        message=refusal.message,
        found=refusal.found,
        expected=refusal.expected,
        place=place,
        rows=[] if ids is None else _rows_of(_handles_in(refusal.nodes), ids),
        fixes=[ProposedFix(tuple(refusal.fix), "", applicable=False)] if refusal.fix else [],
    )


def _finding(state: State, finding: LintFinding, ids: RowIds) -> Problem:
    return Problem(
        severity=finding.severity if finding.severity in RANK else "warning",
        code=finding.code,
        message=LONG_NUMBER.sub(lambda found: grouped(int(found[0])), finding.message),
        place=", ".join(finding.buffers) or finding.memory,
        rows=_rows_of((*finding.blocks, *finding.loops), ids),
        fixes=[fix_value(state, fix) for fix in finding.fixes],
        no_fix=finding.no_fix,
    )


def fix_value(state: State, fix: Fix) -> ProposedFix:
    """A fix that was tried."""
    effect = _effect(fix)
    peaks = [f"{p.memory.removeprefix('local.')} {size_text(p.before)} → {size_text(p.after)}" for p in fix.peaks]
    detail = ", ".join([*_cycles(fix), *peaks, *([] if fix.fits else [f"still {DOES_NOT_FIT}"])])
    return ProposedFix(fix.calls, fix.replaces, _can_add(state), None if effect is None else Change(*effect), detail)


def _saved(finding: LintFinding) -> int:
    """The cycles that the best fix saves; of a program that does not fit, the fixes that end this come first."""
    compared = [f for f in finding.fixes if f.fits and f.cycles_before is not None]
    return max(((f.cycles_before or 0) - f.cycles if f.fitted else f.cycles for f in compared), default=0)


def _effect(fix: Fix) -> tuple[str, Trend] | None:
    """The effect as text, and its trend; None if the machine could not run the program before. Fitting counts before cycles."""
    if fix.cycles_before is None:
        return None
    if fix.fitted and fix.fits:
        return change_of(fix.cycles_before, fix.cycles)
    if fix.fits:
        return "fits", "better"
    nearer = any(p.after < p.before for p in fix.peaks)
    return ("nearer to fitting", "better") if nearer else (f"still {DOES_NOT_FIT}", "same")


def _cycles(fix: Fix) -> list[str]:
    if not fix.fits:
        return []
    known = fix.cycles_before is not None and fix.fitted
    return [
        f"{grouped(fix.cycles_before or 0)} → {grouped(fix.cycles)} cycles"
        if known
        else f"{grouped(fix.cycles)} cycles"
    ]
