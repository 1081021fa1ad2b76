"""`tilewright machines`: the machines that come with Tilewright."""

from __future__ import annotations

from argparse import Namespace

from ....engine.hwsim import load_machine, preset_names
from ..exit_codes import EXIT_OK
from ..output import print_json, print_line
from ..usage import Parser, takes_json

EXAMPLES = ("", "--json")


def add_arguments(parser: Parser) -> None:
    takes_json(parser, "the presets with their engines and memories")


def run(arguments: Namespace) -> int:
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
