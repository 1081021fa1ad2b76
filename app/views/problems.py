"""What stands in the problems pane: errors of the text, what the machine cannot do, a wrong result, findings of the report."""

from __future__ import annotations

from typing import Any

from ...engine.hwsim import Finding, Report
from ...engine.ir import Refusal, TilewrightError
from ..document import is_applicable
from ..state import State
from ..store import Store
from .row_ids import RowIds, row_ids


def problems_value(state: State, store: Store) -> dict[str, Any]:
    """Most severe first; each with severity, code, message, found, expected, fix, place, rows, and whether the fix can be applied here.

    `rows` are the tree's rows that it is about.
    """
    if state.notebook is None or state.moment is None:
        return {"problems": []}
    problems: list[dict[str, Any]] = []
    if state.notebook.error is not None:
        problems.append(_problem("error", state.notebook.error.refusal))
    problems += [_problem("info", Refusal("posted-text", n.text, place=n.place)) for n in state.notes]
    problems += [_problem("info", Refusal("reading", n.text, place=n.place)) for n in state.notebook.notes]
    report = store.report_now(state)
    if isinstance(report, TilewrightError):
        problems.append(_problem("error", report.refusal) | _offer(state, report.refusal.fix))
    verdict = store.verdict(state, state.moment.schedule)
    waits = isinstance(report, TilewrightError) and report.code == "missing-sizes"  # for a run, too
    if verdict is not None and (verdict.status == "failed" or (verdict.status == "unknown" and not waits)):
        severity = "error" if verdict.status == "failed" else "info"
        problems.append(_problem(severity, Refusal(f"verification-{verdict.status}", verdict.detail)))
    if isinstance(report, Report):
        ids = row_ids(state.moment.schedule.func)
        problems += [_finding(finding, ids) | _offer(state, finding.fix) for finding in report.findings]
    rank = {"error": 0, "warning": 1, "info": 2}
    return {"problems": sorted(problems, key=lambda p: rank[p["severity"]])}


def _problem(severity: str, refusal: Refusal) -> dict[str, Any]:
    place = f"line {refusal.place.line}" if refusal.place is not None else ""
    return {
        "severity": severity,
        "code": refusal.code,
        "message": refusal.message,
        "found": refusal.found,
        "expected": refusal.expected,
        "fix": refusal.fix,
        "place": place,
        "rows": [],
        "applicable": False,
    }


def _finding(finding: Finding, ids: RowIds) -> dict[str, Any]:
    known = set(ids.values())
    return {
        "severity": finding.severity if finding.severity in ("error", "warning", "info") else "warning",
        "code": finding.code,
        "message": finding.message,
        "found": "",
        "expected": "",
        "fix": finding.fix,
        "place": "" if finding.blocks else ", ".join(finding.buffers),
        "rows": [ids.of(block) for block in finding.blocks if block in known],
        "applicable": False,
    }


def _offer(state: State, calls: tuple[str, ...]) -> dict[str, bool]:
    """A fix goes to the end of the schedule, so it is offered only when the end is what is shown."""
    return {"applicable": state.moment is not None and not state.looks_back and is_applicable(state.moment, calls)}
