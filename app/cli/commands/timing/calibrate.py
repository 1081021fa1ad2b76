"""`tilewright calibrate`: a machine file of this computer's processor, from microbenchmarks of one core."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import msgspec

from .....engine.export.report_text import table
from .....engine.measure.calibrate import (
    QUANTITIES,
    Calibration,
    Quantity,
    calibrate,
    calibrated_machine,
    machine_text,
    quick_quantities,
)
from .....engine.measure.calibrate.record import QUICK_SAMPLES, SAMPLES
from ...exit_codes import EXIT_OK, REFUSED
from ...output import print_json, print_line, working, written
from ...usage import Parser, takes_json

EXAMPLES = ("", "--quick", "--output my-cpu.toml --record my-cpu.json")


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="fewer sizes and samples: less than a minute instead of several"
    )
    parser.add_argument(
        "--output", metavar="FILE", default="my-cpu.toml", help="the machine file (default: my-cpu.toml)"
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        default="",
        help="what was measured, by which an interrupted calibration continues (default: beside the machine file, .json)",
    )
    takes_json(parser, "what was measured")


def run(arguments: Namespace) -> int:
    target = Path(arguments.output)
    record = Path(arguments.record) if arguments.record else target.with_suffix(".json")
    quantities = quick_quantities() if arguments.quick else QUANTITIES

    with working(arguments, "measuring") as show:

        def tell(number: int, quantity: Quantity) -> None:
            if show is not None:
                show(f"measuring {quantity.name} ({number + 1})")

        found = calibrate(quantities, record, samples=QUICK_SAMPLES if arguments.quick else SAMPLES, on_progress=tell)
    text = machine_text(found, target.stem)
    calibrated_machine(found, target.stem)
    if not written(arguments.output, text):
        return REFUSED
    if arguments.json:
        print_json(msgspec.to_builtins(found))
    else:
        print_line(_text(found, arguments.output, record))
    return EXIT_OK


def _text(found: Calibration, output: str, record: Path) -> str:
    rows = [["", "bytes", "ns", "from", "to", ""]]
    rows += [
        [
            row.kernel,
            f"{row.size_bytes:,}" if row.size_bytes > 4096 else "",
            *(f"{value:.4g}" for value in (row.nanoseconds.median, row.nanoseconds.low, row.nanoseconds.high)),
            "noisy" if row.is_noisy else "",
        ]
        for row in found.rows
    ]
    noisy = sum(row.is_noisy for row in found.rows)
    clock = f"{found.clock_hz / 1e9:.2f} GHz" if found.clock_hz else "clock unknown"
    return "\n".join(
        (
            table(rows, right=(1, 2, 3, 4)),
            f"{found.processor}: {clock}. {noisy} of {len(found.rows)} quantities are noisy: the middle eight tenths of their samples span "
            "more than a tenth of the median.",
            f"{output} is the machine file; {record} has the measurements.",
        )
    )


__all__ = ["EXAMPLES", "add_arguments", "run"]
