"""`tilewright tune`: simulates a TileLang kernel with several values of its parameters."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import islice, product

import msgspec

from ....engine.hwsim import Machine, Report
from ....engine.ir import Refusal, TilewrightError
from ...document import DocumentError, Notebook, evaluate, save_document
from ...document.editing.kernel_values import kernel_values, with_kernel_values
from ..arguments import takes_file, takes_limit, takes_setting
from ..exit_codes import EXIT_OK
from ..opened import opened, simulated, written_back
from ..output import print_json, print_line, working
from ..usage import Parser, takes_json

MOST_POINTS = 4096

EXAMPLES = (
    "gemm.py --value num_stages=1,2,3 --value block_N=64,128,256",
    "gemm.py --value num_stages=2,3 --machine sm90 -o best.py",
)


class Point(msgspec.Struct, frozen=True):
    """A kernel with other values: its cycles and the bytes above the capacities of memories, or why it has none."""

    values: dict[str, str]
    cycles: int | None = None
    overflow_bytes: int = 0
    overlap: float = 0.0
    problem: str = ""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Those that fit come first, the fastest first; those without cycles last."""
        return self.cycles is None, self.overflow_bytes > 0, self.cycles or 0


def add_arguments(parser: Parser) -> None:
    takes_file(parser)
    takes_setting(parser)
    takes_json(parser, "the points")
    parser.add_argument(
        "--value", metavar="NAME=V1,V2", action="append", type=_choices, default=[], required=True,
        help="values of a parameter of the kernel's function: num_stages=1,2,3; repeatable, all combinations are simulated",
    )  # fmt: skip
    parser.add_argument("-o", "--output", metavar="OUT", help="write the notebook with the best values that fit")
    takes_limit(parser, seconds=600)


def _choices(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = text.partition("=")
    found = tuple(value.strip() for value in values.split(",") if value.strip())
    if not name.isidentifier() or not found:
        raise argparse.ArgumentTypeError("expected NAME=V1,V2, such as num_stages=1,2,3")
    return name, found


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    machine = found.machine(arguments.machine)
    choices: dict[str, tuple[str, ...]] = dict(arguments.value)
    output = written_back(found.notebook.document, arguments.output) if arguments.output else ""
    known = kernel_values(found.notebook.document)
    with_kernel_values(found.notebook.document, {name: values[0] for name, values in choices.items()})
    with working(arguments, f"simulating on {machine.name}"):
        points = [
            _point(found.notebook, dict(zip(choices, values, strict=True)), machine, found.sizes)
            for values in islice(product(*choices.values()), MOST_POINTS)
        ]
    points.sort(key=lambda point: point.rank)
    best = points[0]
    if arguments.json:
        print_json({"machine": machine.name, "points": msgspec.to_builtins(points)})
    else:
        print_line(_table(points, {name: known.get(name, "") for name in choices}))
    if best.cycles is None or best.overflow_bytes:
        many = best.problem or f"{best.overflow_bytes:,} bytes too many"
        refusal = Refusal(
            "no-point-fits", f"no combination fits {machine.name}", found=many, expected="smaller tiles or fewer stages"
        )
        raise DocumentError(refusal)
    if output:
        save_document(with_kernel_values(found.notebook.document, best.values), output)
    return EXIT_OK


def _point(notebook: Notebook, values: dict[str, str], machine: Machine, sizes: Mapping[str, int]) -> Point:
    made = evaluate(with_kernel_values(notebook.document, values))
    if made.error is not None or not made.states:
        return Point(values, problem="" if made.error is None else made.error.refusal.message)
    try:
        report: Report = simulated(made.states[-1].schedule.func, machine)
    except TilewrightError as error:
        return Point(values, problem=error.refusal.message)
    return Point(values, report.cycles, report.overflow_bytes, report.overlap)


def _table(points: Sequence[Point], known: Mapping[str, str]) -> str:
    """The points, the best first; `known` are the values of the file."""
    names = [*known]
    rows = [[*names, "cycles", "overlap", ""]]
    for point in points:
        says = "the file's values" if all(point.values[n] == known[n] for n in names) else ""
        says = f"{point.overflow_bytes:,} bytes too many" if point.overflow_bytes else point.problem or says
        cycles = "" if point.cycles is None else f"{point.cycles:,}"
        rows.append(
            [*(point.values[n] for n in names), cycles, "" if point.cycles is None else f"{point.overlap:.0%}", says]
        )
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(_row(row, widths) for row in rows)


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    *numbers, says = row
    return "  ".join([*(cell.rjust(width) for cell, width in zip(numbers, widths, strict=False)), says]).rstrip()
