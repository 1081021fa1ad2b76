"""`tilewright network`: the kernels of a model and their cycles on a machine, and the search of schedules for all of them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from ....engine.hwsim import Machine, load_machine
from ....engine.network import (
    NetworkReport,
    NetworkStudy,
    difference_json,
    difference_text,
    network_difference,
    network_text,
    network_trace,
    progress_text,
    study_json,
    study_text,
)
from ...document.networks import NetworkNotebook, explore_model, load_network, save_on_chip
from ..arguments import seconds, takes_machine, takes_sizes, workers
from ..databases import database_path, takes_database
from ..exit_codes import BAD_INPUT, EXIT_OK, REFUSED
from ..output import print_json, print_line, working, written
from ..usage import Parser, takes_json

EXAMPLES = (
    "resnet",
    "module.py --machine gemmini",
    "decoder/model.py --size n=128 --json",
    "resnet --auto --seconds 600",
    "resnet --on-chip",
    "resnet --against resnet@auto",
    "resnet --against resnet --against-machine gemmini --json",
    "resnet --export resnet_tvm.py",
    "resnet --export resnet.c",
    "resnet --trace resnet.json",
)

SECONDS = 600.0
"""The time budget of a search over all kernels."""


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the folder that `tilewright import` wrote or its model.py, or TVM's text of a module with R.call_tir",
    )
    takes_machine(parser)
    takes_sizes(parser)
    takes_json(parser, "the kernels with their calls and cycles")
    parser.add_argument("--all", action="store_true", help="list every kernel")
    parser.add_argument(
        "--auto",
        action="store_true",
        help="search a schedule for each kernel without one, those with most cycles to win first, and write each into its file at once; "
        "the same command resumes",
    )
    parser.add_argument(
        "--seconds", metavar="S", type=seconds, default=SECONDS,
        help="with --auto: time budget in seconds over all kernels (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--workers", metavar="N", type=workers, default=2,
        help="with --auto: number of processes, each with a kernel of its own (default: %(default)s; 0: search in this process)",
    )  # fmt: skip
    takes_database(parser)
    parser.add_argument(
        "--again",
        action="store_true",
        help="with --auto: also search kernels that somebody scheduled; a faster schedule becomes a branch of the kernel's file",
    )
    parser.add_argument(
        "--on-chip",
        action="store_true",
        help="choose tensors that stay on chip between kernels or are copied there ahead, and write the line on_chip = {...} into model.py",
    )
    parser.add_argument(
        "--against",
        metavar="B",
        help="compare with another model, another version of this one, or MODEL@BRANCH (the kernels' branch of this name): which kernels "
        "explain the difference of the cycles",
    )
    parser.add_argument(
        "--against-machine", metavar="M", help="the machine of B (default: that of --machine, else that of B's file)"
    )
    parser.add_argument(
        "--export",
        metavar="OUT",
        help="write the model with the schedules of its kernels: OUT.py for TVM, with a function that compiles it; OUT.tvmscript, the "
        "text of the module; OUT.c, all kernels with a main",
    )
    parser.add_argument(
        "--trace", metavar="OUT", help="write the timeline of one inference in Chrome's trace format, for Perfetto"
    )


def run(arguments: Namespace) -> int:
    study = _searched(arguments) if arguments.auto else None
    with working(arguments, f"reading {arguments.file}"):
        found = _loaded(arguments, arguments.file)
    machine = load_machine(arguments.machine) if arguments.machine else found.machine
    with working(arguments, f"simulating {len(found.kernels)} kernels on {machine.name}"):
        report = _kept_on_chip(arguments, found, machine) if arguments.on_chip else found.simulate(machine)
    if arguments.export and not written(arguments.export, _exported(arguments.export, found)):
        return BAD_INPUT
    if arguments.trace and not written(arguments.trace, network_trace(found.network, report, found.sizes)):
        return BAD_INPUT
    if arguments.against is not None:
        return _compared(arguments, report)
    if arguments.json:
        searched: dict[str, Any] = {} if study is None else {"search": study_json(study)}
        print_json({**report.to_json(), **searched})
    else:
        print_line(_text(arguments, found, report, study))
    return REFUSED if report.refused else EXIT_OK


def _loaded(arguments: Namespace, file: str) -> NetworkNotebook:
    """The model of a file, or of FILE@BRANCH."""
    path, at, branch = file.rpartition("@")
    if not at or Path(file).exists():
        return load_network(file, dict(arguments.size))
    return load_network(path, dict(arguments.size), branch=branch)


def _compared(arguments: Namespace, report: NetworkReport) -> int:
    """Print which kernels explain the difference between the report and that of the other model."""
    name = arguments.against_machine or arguments.machine
    with working(arguments, f"reading {arguments.against}"):
        other = _loaded(arguments, arguments.against)
        machine = load_machine(name) if name else other.machine
    with working(arguments, f"simulating {len(other.kernels)} kernels on {machine.name}"):
        second = other.simulate(machine)
    found = network_difference(report, second)
    if arguments.json:
        print_json(difference_json(found))
    else:
        names = (arguments.file, arguments.against)
        print_line(
            difference_text(found, names, len(found.kernels)) if arguments.all else difference_text(found, names)
        )
    return REFUSED if report.refused or second.refused else EXIT_OK


def _exported(path: str, found: NetworkNotebook) -> str:
    """The model in the form that the suffix of the output names."""
    match Path(path).suffix:
        case ".c":
            return found.to_c()
        case ".tvmscript":
            return found.to_tvm_script()
        case _:
            return found.to_tvm_python()


def _searched(arguments: Namespace) -> NetworkStudy:
    machine = load_machine(arguments.machine) if arguments.machine else None
    with working(arguments, "searching", "reading the kernels") as show:
        return explore_model(
            arguments.file, machine, dict(arguments.size), seconds=arguments.seconds, workers=arguments.workers,
            again=arguments.again, database=database_path(arguments, arguments.file),
            watch=show and (lambda progress: show(progress_text(progress))),
        )  # fmt: skip


def _kept_on_chip(arguments: Namespace, found: NetworkNotebook, machine: Machine) -> NetworkReport:
    """The report with a new choice of tensors on chip, which is written into the model's file."""
    choice, report = found.choose_on_chip(machine)
    save_on_chip(arguments.file, choice)
    return report


def _text(arguments: Namespace, found: NetworkNotebook, report: NetworkReport, study: NetworkStudy | None) -> str:
    if study is not None:
        return study_text(study, len(study.kernels)) if arguments.all else study_text(study)
    graph = found.network.graph
    return network_text(report, len(report.kernels), graph) if arguments.all else network_text(report, graph=graph)
