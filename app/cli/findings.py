"""Findings of `tilewright check` with file and line: GitHub workflow commands and SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from ...engine.ir import Place, Refusal
from ...engine.lint import LINTS, LintFinding
from ..document import Notebook

Level = Literal["error", "warning", "note"]

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

RULES = {
    "verified": "The scheduled program computes the same result as the original",
    "fits": "The program fits the machine's memories",
    "cycles": "The cycles are within their budget",
    "peak": "The peak use of a memory is within its budget",
    "traffic": "The bytes copied between memories are within their budget",
    "overlap": "Enough of the copy time overlaps with computation",
    **{lint.code: lint.title for lint in LINTS},
}
"""Rule -> its description."""

FAILED = {"verified": "not verified", "fits": "does not fit", "overlap": "too little overlap"}
"""Check -> the message of its failure. All other checks are budgets."""

LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "info": "note"}
GITHUB_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


class FileFinding(msgspec.Struct, frozen=True):
    """One problem of a file. `rule` is a key of RULES or the code of a refusal; lines and columns count from 1."""

    rule: str
    level: Level
    message: str
    file: str
    line: int = 1
    column: int = 1


def of_refusal(refusal: Refusal, file: str) -> FileFinding:
    """The finding of an error, at its place if it has one."""
    place = refusal.place or Place(1, 1, 1, 1)
    return FileFinding(refusal.code, "error", refusal.message, file, place.line, place.column)


def of_check(name: str, detail: str, file: str, line: int) -> FileFinding:
    """The finding of a failed check: "peak local.vtcm" belongs to the rule "peak"."""
    return FileFinding(
        name.partition(" ")[0], "error", f"{FAILED.get(name, f'{name} over budget')}: {detail}", file, line
    )


def of_lint(found: LintFinding, file: str, line: int) -> FileFinding:
    """The finding of a lint, with the calls of its best fix."""
    fix = found.fixes[0].calls if found.fixes else ()
    message = "\n".join([found.message, *(f"fix: {call}" for call in fix)])
    return FileFinding(found.code, LEVELS[found.severity], message, file, line)


def schedule_line(notebook: Notebook) -> int:
    """The first line of the schedule, for findings about the whole schedule."""
    cells = notebook.document.of_kind("schedule")
    return cells[0].body_line if cells else 1


def line_of(found: LintFinding, notebook: Notebook, count: int | None) -> int:
    """The last of the first `count` schedule lines (None: all) that created a block or loop of the finding; else the schedule's first
    line."""
    if notebook.schedule is None:
        return 1
    trace, end = notebook.schedule.trace.steps, None
    places: Collection[object] = {*found.blocks, *found.loops}
    for step in reversed(notebook.steps):
        if step.first_trace_step is None:
            continue
        results = [
            result for traced in trace[step.first_trace_step : end] for result in traced.results if traced.changes
        ]
        end = step.first_trace_step
        if (count is None or step.index < count) and any(result in places for result in results):
            return step.place.line
    return schedule_line(notebook)


def github_commands(found: Iterable[FileFinding]) -> str:
    """One workflow command per finding, which GitHub shows at the file's line."""
    return "".join(
        f"::{GITHUB_COMMANDS[finding.level]} file={_property(finding.file)},line={finding.line},col={finding.column},"
        f"title={_property(f'tilewright: {finding.rule}')}::{_data(finding.message)}\n"
        for finding in found
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif_log(found: Sequence[FileFinding]) -> dict[str, Any]:
    """The findings as a SARIF 2.1.0 log of one run."""
    rules = list(dict.fromkeys(finding.rule for finding in found))
    driver = {
        "name": "Tilewright",
        "version": metadata.version("tilewright"),
        "rules": [{"id": rule, "shortDescription": {"text": RULES.get(rule, f"Error: {rule}")}} for rule in rules],
    }
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, rules.index(finding.rule)) for finding in found],
            }
        ],
    }


def _sarif_result(finding: FileFinding, rule: int) -> dict[str, Any]:
    region = {"startLine": finding.line, "startColumn": finding.column}
    location = {"artifactLocation": {"uri": _uri(finding.file)}, "region": region}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }


def _uri(file: str) -> str:
    """A relative reference for a relative path, which code scanners resolve in the repository."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(str(PurePosixPath(path)))
