"""`tilewright diff`: compares two notebooks, steps or branches: first difference, text diff, and metrics of both."""

from __future__ import annotations

import difflib
from argparse import Namespace
from typing import Any

import msgspec

from ....engine.hwsim import Report
from ....engine.ir import Expr, Node, TilewrightError, first_difference
from ....engine.script import expr_text, to_script
from ...views.compare.differences import difference_table
from ..arguments import takes_file, takes_limit, takes_setting
from ..exit_codes import EXIT_OK, REFUSED, RefusedError
from ..opened import Opened, opened, simulated
from ..output import print_json, print_line, working
from ..usage import Parser, takes_json

LONGEST = 60
"""Maximum number of characters shown for a node of the first difference."""

STYLES = {"+": "green", "-": "red", "@": "cyan"}
TRENDS = {"better": "green", "worse": "red"}


EXAMPLES = (
    "old.py new.py",
    "matmul.py",
    "old.py - < new.py",
    "matmul.py@5 matmul.py@6",
    "matmul.py@main matmul.py@wide --json",
)


def add_arguments(parser: Parser) -> None:
    takes_file(parser, "a", metavar="A")
    takes_file(
        parser,
        "b",
        "default: A, compared with its program before the schedule",
        metavar="B",
        nargs="?",
    )
    takes_setting(parser)
    takes_json(parser, "the differences")
    parser.add_argument(
        "--context", metavar="N", type=int, default=3, help="context lines around each change (default: %(default)s)"
    )
    takes_limit(parser)


def run(arguments: Namespace) -> int:
    texts = (arguments.a, arguments.b) if arguments.b is not None else (f"{arguments.a}@start", arguments.a)
    a, b = (opened(text, arguments) for text in texts)
    found = first_difference(a.schedule.mod, b.schedule.mod)
    lines = list(
        difflib.unified_diff(
            to_script(a.schedule.mod).splitlines(), to_script(b.schedule.mod).splitlines(), a.label, b.label,
            lineterm="", n=max(0, arguments.context),
        )
    )  # fmt: skip
    with working(arguments, "simulating both programs"):
        reports = [_report(side, arguments.machine) for side in (a, b)]
    where = None
    if found is not None:
        where = {"path": found.path, "a": _node_text(found.left), "b": _node_text(found.right)}
    if arguments.json:
        print_json(_as_json((a, b), where, lines, reports))
    else:
        _show((a, b), where, lines, reports)
    return EXIT_OK if found is None else REFUSED


def _report(side: Opened, machine: str | None) -> Report | TilewrightError:
    """The report of a side, or the error if the machine cannot run it; the programs are compared in both cases."""
    try:
        return simulated(side.costed, side.machine(machine))
    except RefusedError as refused:
        return refused.cause
    except TilewrightError as error:
        return error


def _node_text(value: object) -> str:
    """A short description of a node: the text of an expression, the type of any other node."""
    if value is None:
        return "nothing"
    if isinstance(value, Expr):
        return _cut(expr_text(value))
    return type(value).__name__ if isinstance(value, Node) else _cut(str(value))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _as_json(sides: tuple[Opened, Opened], where: Any, lines: list[str], reports: list[Any]) -> dict[str, Any]:
    a, b = reports
    both = isinstance(a, Report) and isinstance(b, Report)
    return {
        "same": where is None,
        "first_difference": where,
        "text": "\n".join(lines),
        "a": _side_json(sides[0], a),
        "b": _side_json(sides[1], b),
        "figures": msgspec.to_builtins(difference_table(a, b)) if both else [],
    }


def _side_json(side: Opened, report: Report | TilewrightError) -> dict[str, Any]:
    if isinstance(report, TilewrightError):
        return {"name": side.label, "cycles": None, "error": report.refusal.to_json()}
    peaks = {name: memory.peak_bytes for name, memory in report.memory.items()}
    unknown = msgspec.to_builtins(report.unknown)
    return {
        "name": side.label,
        "cycles": report.cycles,
        "unknown": unknown,
        "overlap": report.overlap,
        "peak_bytes": peaks,
        "error": None,
    }


def _show(sides: tuple[Opened, Opened], where: Any, lines: list[str], reports: list[Any]) -> None:
    if where is None:
        print_line("The programs are the same, up to names.")
    else:
        print_line(f"First difference: {where['path']}: {where['a']} in A, {where['b']} in B")
    for line in lines:
        style = "bold" if line.startswith(("---", "+++")) else STYLES.get(line[:1], "")
        print_line((line, style))
    a, b = reports
    for side, report in zip(sides, reports, strict=True):
        if isinstance(report, TilewrightError):
            print_line(f"\n{side.label} cannot be simulated: {report.refusal.message}")
    for side, report in zip(sides, reports, strict=True):
        if isinstance(report, Report) and report.unknown is not None:
            print_line(f"\n{side.label}: {report.unknown.reason}")
    if isinstance(a, Report) and isinstance(b, Report):
        print_line()
        for row in _figures(sides, a, b):
            print_line(row)


def _figures(sides: tuple[Opened, Opened], a: Report, b: Report) -> list[tuple[str, str]]:
    """The comparison table of both reports, in columns."""
    table = difference_table(a, b)
    rows = [(line.label, line.a, line.b, line.change, line.trend) for group in table for line in group.lines]
    heads = ("", _short(sides[0].label), _short(sides[1].label), "change")
    widths = [max(len(row[n]) for row in [heads, *rows]) for n in range(4)]
    found = [(_in_columns(heads, widths), "bold")]
    for group in table:
        found.append((group.title, "bold"))
        for line in group.lines:
            cells = (line.label, line.a, line.b, line.change)
            found.append((_in_columns(cells, widths), TRENDS.get(line.trend, "")))
    return found


def _short(label: str) -> str:
    return label if len(label) <= 28 else f"…{label[-27:]}"


def _in_columns(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (
        f"{cell:<{width}}" if n == 0 else f"{cell:>{width}}"
        for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(["  " + first, *others]).rstrip()
