"""`tilewright run|lower|machines`: the report of a schedule, its program after a pass, and the list of machines."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import msgspec

from ...engine.execute import Verdict
from ...engine.export import chrome_trace, knobs_text, report_text
from ...engine.hwsim import MachineParameter, Report, load_machine, preset_names, sensitivity
from ...engine.lower import PASSES, LowerError, lower, with_sizes
from ...engine.script import to_script
from ..document import with_origins
from .opened import (
    BAD_INPUT,
    EXIT_OK,
    REFUSED,
    TEXTS_AND_STEPS,
    RefusedError,
    opened,
    simulated,
    takes_file,
    takes_setting,
    takes_sizes,
)
from .output import print_json, print_line, print_text, takes_json, working, written
from .usage import add_command


def add_run(commands: Any) -> None:
    run = add_command(
        commands, "run", "apply, verify and simulate a notebook's schedule, and print the report",
        "matmul.py", "- < matmul.py", "matmul.py@3 --machine gemmini --sensitivity", "matmul.py --size M=256,K=512 --json",
    )  # fmt: skip
    takes_file(run, words=TEXTS_AND_STEPS)
    takes_setting(run)
    takes_json(run, "the report")
    run.add_argument(
        "--sensitivity",
        action="store_true",
        help="also find the limiting machine parameters: each is improved by a factor of two",
    )
    run.add_argument("--trace", metavar="OUT", help="also write the timeline in Chrome's trace event format")
    run.set_defaults(run=_run)


def add_lower(commands: Any) -> None:
    lowering = add_command(
        commands, "lower", "print a notebook's scheduled program as flat loops, or after a lowering pass",
        "matmul.py", "matmul.py --until CompactBufferAllocation",
    )  # fmt: skip
    takes_file(lowering, words=TEXTS_AND_STEPS)
    lowering.add_argument(
        "--until", metavar="PASS", help=f"the last pass to run, by its TVM name: {', '.join(p.name for p in PASSES)}"
    )
    takes_sizes(lowering)
    takes_json(lowering, "the program's text")
    lowering.set_defaults(run=_lower)


def add_machines(commands: Any) -> None:
    machines = add_command(commands, "machines", "list the machine presets", "", "--json")
    takes_json(machines, "the presets with their engines and memories")
    machines.set_defaults(run=_machines)


def _run(arguments: Namespace) -> int:
    found = opened(arguments.file, dict(arguments.size))
    machine = found.machine(arguments.machine)
    with working(arguments, "verifying"):
        verdict = found.schedule.check(found.sizes)
    with working(arguments, f"simulating on {machine.name}"):
        report = with_origins(simulated(found.costed, machine), found.notebook, found.count)
    knobs: Sequence[MachineParameter] = ()
    if arguments.sensitivity:
        with working(arguments, "simulating with each machine parameter improved"):
            knobs = sensitivity(found.costed, machine)
    if arguments.json:
        print_json(report_json(report, verdict, knobs))
    else:
        print_line("\n\n".join((report_text(report, verdict), *([knobs_text(knobs)] if knobs else []))))
    if arguments.trace is not None and not written(arguments.trace, chrome_trace(report)):
        return BAD_INPUT
    return REFUSED if verdict.status == "failed" else EXIT_OK


def report_json(report: Report, verdict: Verdict, knobs: Sequence[MachineParameter] = ()) -> dict[str, object]:
    """`Report.to_json` with `verified` ("proved", "tested", "failed" or "unknown"), `verified_detail`, and `sensitivity` (if `knobs`)."""
    data = report.to_json()
    if knobs:
        data["sensitivity"] = msgspec.to_builtins(knobs)
    return {"cycles": data.pop("cycles"), "verified": verdict.status, "verified_detail": verdict.detail, **data}


def _lower(arguments: Namespace) -> int:
    found = opened(arguments.file, dict(arguments.size))
    func = with_sizes(found.schedule.func, found.sizes).func
    try:
        lowered = lower(func, arguments.until)
    except LowerError as error:
        if error.code == "unknown-pass":
            raise
        raise RefusedError(error) from error
    if arguments.json:
        print_json({"until": arguments.until, "text": to_script(lowered)})
    else:
        print_text(to_script(lowered))
    return EXIT_OK


def _machines(arguments: Namespace) -> int:
    if not arguments.json:
        print_line("\n".join(preset_names()))
        return EXIT_OK
    machines = [load_machine(name) for name in preset_names()]
    print_json(
        [
            {
                "name": machine.name,
                "engines": [engine.name for engine in machine.engines],
                "memories": [
                    {"scope": m.scope, "capacity_bytes": m.capacity_bytes, "banks": m.banks} for m in machine.memories
                ],
            }
            for machine in machines
        ]
    )
    return EXIT_OK
