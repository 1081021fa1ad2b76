"""HTML of values in Jupyter: programs, machines, verdicts, findings. Every text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from .engine.execute import Verdict
from .engine.hwsim import Machine
from .engine.ir import IRModule, PrimFunc
from .engine.lint import LINTS, LintFinding
from .engine.lint.finding import bytes_text
from .engine.prove import Proof

_COLOURS = {
    "proved": "#1a7f37",
    "tested": "#1a7f37",
    "failed": "#c62828",
    "refuted": "#c62828",
    "error": "#c62828",
    "warning": "#9a6700",
}
_TITLES = {lint.code: lint.title for lint in LINTS}


def program_html(program: PrimFunc | IRModule) -> str:
    """The program as TVMScript."""
    return f"<pre>{escape(program.script())}</pre>"


def machine_html(machine: Machine) -> str:
    """Name, memories and engines."""
    memories = [
        (
            m.name,
            ", ".join(m.scopes),
            bytes_text(m.capacity_bytes),
            m.banks,
            f"{m.read_bytes_per_cycle:g}",
            f"{m.write_bytes_per_cycle:g}",
        )
        for m in machine.memories
    ]
    engines = [
        (e.name, type(e).__struct_config__.tag, ", ".join(e.reads), ", ".join(e.writes)) for e in machine.engines
    ]
    return (
        f"<p><b>{escape(machine.name)}</b>, {machine.clock_hz / 1e6:g} MHz. {escape(machine.description)}</p>"
        + _table(("memory", "scopes", "capacity", "banks", "read, bytes/cycle", "write, bytes/cycle"), memories)
        + _table(("engine", "kind", "reads", "writes"), engines)
    )


def verdict_html(verdict: Verdict | Proof) -> str:
    """Status, detail and the largest error of a float."""
    error = getattr(verdict, "max_abs_error", None)
    rest = f"; largest error {error:g}" if error else ""
    return f"<p>{_badge(verdict.status)} {escape(verdict.detail)}{rest}</p>"


def finding_html(finding: LintFinding) -> str:
    """Severity, title and message, with the calls of each fix and the cycles after it."""
    title = _TITLES.get(finding.code, finding.code)
    text = f"<p>{_badge(finding.severity)} <b>{escape(title)}</b>: {escape(finding.message)}</p>"
    for fix in finding.fixes:
        before = "cannot run" if fix.cycles_before is None else f"{fix.cycles_before:,}"
        instead = f"# in place of {fix.replaces}\n" if fix.replaces else ""
        calls = escape(instead + "\n".join(fix.calls))
        text += f"<details><summary>Fix: {before} → {fix.cycles:,} cycles</summary><pre>{calls}</pre></details>"
    return text


def findings_html(values: Sequence[object]) -> str | None:
    """The findings of `tilewright.lint`; None for other tuples, which keep their text."""
    findings = [value for value in values if isinstance(value, LintFinding)]
    return "".join(map(finding_html, findings)) if findings and len(findings) == len(values) else None


FORMATTERS: dict[type, Callable[[Any], str | None]] = {
    PrimFunc: program_html,
    IRModule: program_html,
    Machine: machine_html,
    Verdict: verdict_html,
    Proof: verdict_html,
    LintFinding: finding_html,
    tuple: findings_html,
}
"""The HTML of each type."""


def _badge(status: str) -> str:
    return f'<b style="color:{_COLOURS.get(status, "inherit")}">{escape(status)}</b>'


def _table(names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
