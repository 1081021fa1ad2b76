"""`tilewright network`: the kernels of a model and their cycles on a machine."""

from __future__ import annotations

from argparse import Namespace

from ....engine.hwsim import load_machine
from ....engine.network import network_text
from ...document.networks import load_network
from ..arguments import takes_setting
from ..exit_codes import EXIT_OK, REFUSED
from ..output import print_json, print_line, working
from ..usage import Parser, takes_json

EXAMPLES = ("resnet/model.py", "module.py --machine gemmini", "decoder/model.py --size n=128 --json")


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the model.py that `tilewright import` wrote, or TVM's text of a module with R.call_tir",
    )
    takes_setting(parser)
    takes_json(parser, "the kernels with their calls and cycles")
    parser.add_argument("--all", action="store_true", help="list every kernel")


def run(arguments: Namespace) -> int:
    with working(arguments, f"reading {arguments.file}"):
        found = load_network(arguments.file, dict(arguments.size))
    machine = load_machine(arguments.machine) if arguments.machine else found.machine
    with working(arguments, f"simulating {len(found.kernels)} kernels on {machine.name}"):
        report = found.simulate(machine)
    if arguments.json:
        print_json(report.to_json())
    else:
        print_line(network_text(report, len(report.kernels)) if arguments.all else network_text(report))
    return REFUSED if report.refused else EXIT_OK
