"""`tilewright run`: the report of a schedule."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ....engine.execute import Verdict
from ....engine.export import chrome_trace, parameters_text, report_text
from ....engine.hwsim import MachineParameter, Report, sensitivity
from ....engine.ir import PrimFunc
from ....engine.lower import with_sizes
from ....engine.measure import time_text
from ...document import with_origins
from ...storage.measurements import kept_for
from ..arguments import TEXTS_AND_STEPS, takes_file, takes_limit, takes_setting
from ..exit_codes import BAD_INPUT, EXIT_OK, REFUSED, RefusedError
from ..opened import opened, path_of, simulated
from ..output import print_json, print_line, working, written
from ..usage import Parser, takes_json

EXAMPLES = (
    "matmul.py",
    "- < matmul.py",
    "matmul.py@3 --machine gemmini --sensitivity",
    "matmul.py --size M=256,K=512 --json",
)


def add_arguments(parser: Parser) -> None:
    takes_file(parser, words=TEXTS_AND_STEPS)
    takes_setting(parser)
    takes_json(parser, "the report")
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="also find the limiting machine parameters: each is improved by a factor of two",
    )
    parser.add_argument("--trace", metavar="OUT", help="also write the timeline in Chrome's trace event format")
    takes_limit(parser)


def run(arguments: Namespace) -> int:
    found = opened(arguments.file, arguments)
    machine = found.machine(arguments.machine)
    with working(arguments, f"simulating on {machine.name}"):
        try:
            report = with_origins(simulated(found.costed, machine), found.notebook, found.count)
        except RefusedError as refused:
            if not arguments.json:
                verdict = found.schedule.check(found.sizes)
                print_line(f"no cycles on {machine.name}, {verdict.status}: {verdict.detail}")
            raise refused
    with working(arguments, "verifying"):
        verdict = found.schedule.check(found.sizes)
    parameters: Sequence[MachineParameter] = ()
    if arguments.sensitivity:
        with working(arguments, "simulating with each machine parameter improved"):
            parameters = sensitivity(found.costed, machine)
    if arguments.json:
        print_json(report_json(report, verdict, parameters))
    else:
        print_line("\n\n".join((report_text(report, verdict), *([parameters_text(parameters)] if parameters else []))))
        print_measured(arguments.file, with_sizes(found.schedule.func, found.sizes).func)
        if arguments.sensitivity and report.unknown is not None:
            print_line(f"\nno sensitivity: {report.unknown.reason}")
    if arguments.trace is not None and not written(arguments.trace, chrome_trace(report)):
        return BAD_INPUT
    return REFUSED if verdict.status == "failed" else EXIT_OK


def print_measured(file: str, func: PrimFunc) -> None:
    """Print the latest time that `tilewright measure` found for the program, if there is one."""
    path = Path(path_of(file))
    kept = kept_for(path, func) if path.is_file() else None
    if kept is not None and kept.measurement.warm is not None:
        host = kept.host
        median = time_text(kept.measurement.warm.median)
        print_line(f"\nmeasured on {host.date}: {median} on {host.processor}, {host.compiler}, {host.flags}")


def report_json(report: Report, verdict: Verdict, parameters: Sequence[MachineParameter] = ()) -> dict[str, object]:
    """`Report.to_json` with `verified` ("proved", "tested", "failed" or "unknown"), `verified_detail` and `sensitivity`."""
    data = report.to_json()
    if parameters:
        data["sensitivity"] = msgspec.to_builtins(parameters)
    return {"cycles": data.pop("cycles"), "verified": verdict.status, "verified_detail": verdict.detail, **data}
