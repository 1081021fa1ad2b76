"""What stands in the problems pane: errors of the text, what the machine cannot do, a wrong result, findings of the report."""

from __future__ import annotations

from typing import Any

from ...engine.hwsim import Report
from ...engine.ir import Refusal, TilewrightError
from ..state import State
from ..store import Store


def problems_value(state: State, store: Store) -> dict[str, Any]:
    """Most severe first; each with severity, code, message, found, expected, fix, place."""
    if state.notebook is None or state.moment is None:
        return {"problems": []}
    problems: list[dict[str, Any]] = []
    if state.notebook.error is not None:
        problems.append(_problem("error", state.notebook.error.refusal))
    report = store.report_now(state)
    if isinstance(report, TilewrightError):
        problems.append(_problem("error", report.refusal))
    verdict = store.verdict(state.moment.schedule)
    if verdict is not None and verdict.status in ("failed", "unknown"):
        severity = "error" if verdict.status == "failed" else "info"
        problems.append(_problem(severity, Refusal(f"verification-{verdict.status}", verdict.detail)))
    if isinstance(report, Report):
        problems += [_finding(finding) for finding in report.findings]
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
    }


def _finding(finding: Any) -> dict[str, Any]:
    severity = getattr(finding, "severity", "warning")
    return {
        "severity": severity if severity in ("error", "warning", "info") else "warning",
        "code": finding.code,
        "message": finding.message,
        "found": "",
        "expected": "",
        "fix": (),
        "place": "",
    }
