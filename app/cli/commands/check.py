"""`tilewright check`: fails a build on a wrong result, a memory overflow, or an exceeded budget."""

from __future__ import annotations

import argparse
import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ....engine.export import headline
from ....engine.hwsim import Machine, MachineError, Report
from ....engine.ir import Refusal, TilewrightError
from ....engine.lint import LintFinding
from ...actions.lint_fixes import findings_of
from ...document.editing.kernel_edits import text_of_kernel
from ..arguments import size_bytes, takes_file, takes_limit, takes_setting, within_limit
from ..exit_codes import BAD_INPUT, EXIT_OK, REFUSED, RefusedError
from ..findings import FileFinding, github_commands, line_of, of_check, of_lint, of_refusal, sarif_log, schedule_line
from ..opened import MAX_ACCESSES, Opened, opened, path_of, simulated
from ..output import print_json, print_line, print_text, print_verdict, working
from ..usage import Parser, takes_json

FORMATS = ("text", "json", "github", "sarif")
SEVERITIES = {"error": ("error",), "warning": ("error", "warning"), "info": ("error", "warning", "info")}


class Check(msgspec.Struct, frozen=True):
    """The result of one check. `found` and `limit` are set for budgets. A check fails as `unknown` if `found` is not the figure of the run
    and cannot decide."""

    name: str
    passed: bool
    detail: str
    found: float | None = None
    limit: float | None = None
    unknown: bool = False


class Checked(msgspec.Struct, frozen=True):
    """The checks of a file, or the error that prevented them; `code` is the file's exit code."""

    file: str
    code: int
    checks: tuple[Check, ...] = ()
    summary: str = ""
    error: Refusal | None = None
    findings: tuple[FileFinding, ...] = ()


EXAMPLES = (
    "matmul.py",
    "kernels/*.py --max-cycles 210000 --max-peak local.vtcm=64KiB",
    "matmul.py --require proved --lint warning --json",
)


def add_arguments(parser: Parser) -> None:
    takes_file(parser, "files", "notebooks; FILE@NAME is a branch", nargs="+")
    takes_setting(parser)
    takes_limit(parser, "the check of each file")
    form = parser.add_mutually_exclusive_group()
    takes_json(form, "all checks")
    form.add_argument(
        "--format", choices=FORMATS, default="text",
        help="output format: text; json, same as --json; github, workflow commands that GitHub shows in a pull request; sarif, a "
        "SARIF 2.1.0 log for code scanners (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--max-cycles", metavar="N", type=_cycles, help="maximum number of cycles")
    parser.add_argument(
        "--max-peak", metavar="SCOPE=SIZE", action="append", type=_budget, default=[],
        help="maximum peak use of a memory: local.vtcm=64KiB applies to each of its physical blocks; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--max-traffic", metavar="SIZE", type=size_bytes, help="maximum number of bytes copied between memories"
    )
    parser.add_argument(
        "--min-overlap",
        metavar="PERCENT",
        type=_percent,
        help="minimum share of the copy time that overlaps with computation",
    )
    parser.add_argument(
        "--require", choices=["tested", "proved"], default="tested",
        help="required verification: a comparison on random inputs or a proof (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--lint",
        choices=list(SEVERITIES),
        metavar="SEVERITY",
        help="also fail on lint findings of at least this severity",
    )


def _budget(text: str) -> tuple[str, int]:
    scope, sign, size = text.rpartition("=")
    if not sign or not scope.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not SCOPE=SIZE, such as local.vtcm=64KiB")
    return scope.strip(), size_bytes(size)


def _cycles(text: str) -> int:
    plain = re.sub(r"[_,\s]", "", text)
    if not plain.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of cycles")
    return int(plain)


def _percent(text: str) -> float:
    try:
        value = float(text.rstrip("% "))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return value


def run(arguments: Namespace) -> int:
    form = "json" if arguments.json else arguments.format
    done: list[Checked] = []
    for number, file in enumerate(arguments.files, 1):
        with working(arguments, f"{number} of {len(arguments.files)}: {file}"):
            found = checked(file, arguments)
        done.append(found)
        if form == "text":
            _show(found, arguments.quiet)
        elif form == "github":
            print_text(github_commands(found.findings))
    code = max(result.code for result in done)
    if form == "json":
        print_json({"passed": code == EXIT_OK, "files": [_as_json(result) for result in done]})
    elif form == "sarif":
        print_json(sarif_log([finding for result in done for finding in result.findings]))
    return code


def checked(file: str, arguments: Namespace) -> Checked:
    """Check one file. The result contains its errors, so that the other files are checked too."""
    try:
        with within_limit(arguments):
            return _checked(opened(file, arguments), file, arguments)
    except RefusedError as refused:
        code, error = REFUSED, refused.cause.refusal
    except TilewrightError as wrong:
        code, error = BAD_INPUT, wrong.refusal
    return Checked(file, code, error=error, findings=(of_refusal(error, path_of(file)),))


def _checked(found: Opened, file: str, arguments: Namespace) -> Checked:
    machine = found.machine(arguments.machine)
    verdict = found.schedule.check(found.sizes)
    verified = Check("verified", _is_enough(verdict.status, arguments.require), f"{verdict.status}: {verdict.detail}")
    try:
        report = simulated(found.costed, machine)
    except RefusedError as refused:
        error = refused.cause.refusal
        return Checked(file, REFUSED, (verified,), error=error, findings=(of_refusal(error, path_of(file)),))
    lints = _lints(found, machine, arguments.lint) if arguments.lint else ()
    checks = (
        verified,
        *_fits(report),
        *_budgets(report, machine, arguments),
    )
    path, first = path_of(file), schedule_line(found.notebook) if found.as_read else 1
    findings = [of_check(check.name, check.detail, path, first) for check in checks if not check.passed]
    findings += [
        of_lint(lint, path, line_of(lint, found.notebook, found.count) if found.as_read else 1) for lint in lints
    ]
    if arguments.lint:
        words = "; ".join(f"{lint.code}: {lint.message}" for lint in lints)
        checks += (
            Check("lint", not lints, words or f"no finding of severity {arguments.lint} or worse", len(lints), 0),
        )
    code = REFUSED if findings else EXIT_OK
    return Checked(file, code, checks, headline(report), findings=tuple(findings))


def _is_enough(status: str, required: str) -> bool:
    return status == "proved" or (status == "tested" and required == "tested")


def _fits(report: Report) -> Iterator[Check]:
    """Compare each used memory with its capacity, in one check. It lists only the memories that overflow, if there are any."""
    limited = {name: m for name, m in report.memory.items() if m.capacity_bytes and m.peak_bytes}
    over = {name: m for name, m in limited.items() if m.peak_bytes > m.capacity_bytes}
    words = [f"{name} {m.peak_bytes:,} of {m.capacity_bytes:,} bytes" for name, m in (over or limited).items()]
    yield Check("fits", not over, "; ".join(words) or "no on-chip memory is used")


def _budgets(report: Report, machine: Machine, arguments: Namespace) -> Iterator[Check]:
    if arguments.max_cycles is not None:
        yield _known(_at_most("cycles", report.cycles, arguments.max_cycles, "cycles"), "cycles", report)
    for scope, limit in arguments.max_peak:
        peaks = {name: m.peak_bytes for name, m in report.memory.items() if scope in (name, m.scope)}
        if not peaks:
            expected = ", ".join(dict.fromkeys(n for name, m in report.memory.items() for n in (m.scope, name)))
            raise MachineError(Refusal("unknown-memory", f"{machine.name} has no memory {scope!r}", expected=expected))
        name = max(peaks, key=lambda n: peaks[n])
        yield _at_most(f"peak {scope}", peaks[name], limit, "bytes" if name == scope else f"bytes in {name}")
    if arguments.max_traffic is not None:
        yield _known(_at_most("traffic", report.copied_bytes, arguments.max_traffic, "bytes"), "traffic", report)
    if arguments.min_overlap is not None:
        found, least = 100 * float(report.overlap), arguments.min_overlap
        words = f"{found:.1f} %, at least {least:g} %"
        yield _known(Check("overlap", found >= least, words, round(found, 4), least), "overlap", report)


def _at_most(name: str, found: int, limit: int, unit: str) -> Check:
    more = f", exceeded by a factor of {found / limit:,.2f}" if found > limit > 0 else ""
    return Check(name, found <= limit, f"{found:,} {unit}, at most {limit:,}{more}", found, limit)


def _known(check: Check, figure: str, report: Report) -> Check:
    """The check of a budget; a budget on a figure that is not known fails, unless an upper bound of the figure is within it."""
    unknown = report.unknown
    if unknown is None or figure not in unknown.figures:
        return check
    is_decided = figure != "overlap" and unknown.limit != "estimate" and check.passed == (unknown.limit == "upper")
    about = f"{check.detail}; {unknown.reason}"
    return replace(
        check,
        passed=check.passed and is_decided,
        detail=about if is_decided else f"unknown: {about}",
        unknown=not is_decided,
    )


def _lints(found: Opened, machine: Machine, severity: str) -> list[LintFinding]:
    """The findings of this severity or a worse one."""
    findings = findings_of(found.schedule, machine, found.sizes, MAX_ACCESSES, text_of_kernel(found.notebook))
    return [finding for finding in findings if finding.severity in SEVERITIES[severity]]


def _show(result: Checked, quiet: bool) -> None:
    """Print the checks of a file; with --quiet only those that fail."""
    if quiet and result.code == EXIT_OK:
        return
    print_line(f"{result.file}: {result.summary}" if result.summary else result.file)
    if result.error is not None:
        place = f" (line {result.error.place.line})" if result.error.place is not None else ""
        print_verdict(False, f"{result.error.code}: {result.error.message}{place}")
        print_line("".join(f"      {line.strip()}\n" for line in str(result.error).splitlines()[1:]).rstrip("\n"))
    shown = [check for check in result.checks if not (quiet and check.passed)]
    width = max((len(check.name) for check in shown), default=0)
    for check in shown:
        print_verdict(check.passed, f"{check.name:<{width}}  {check.detail}")


def _as_json(result: Checked) -> dict[str, Any]:
    checks: Sequence[Any] = msgspec.to_builtins(result.checks)
    error = result.error.to_json() if result.error is not None else None
    findings = msgspec.to_builtins(result.findings)
    return {
        "file": result.file,
        "passed": result.code == EXIT_OK,
        "checks": checks,
        "error": error,
        "findings": findings,
    }
