"""`tilewright explore`: searches a schedule with holes on a machine, verifies the best candidates, and can write the best as a branch."""

from __future__ import annotations

import argparse
import ast
import os
import re
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import msgspec

from ....engine.explore import (
    CYCLES,
    UNITS,
    DecisionWorth,
    DerivedSpace,
    DerivedStart,
    Figures,
    MeasuredTrials,
    Progress,
    Settings,
    Space,
    Status,
    Study,
    StudyCandidate,
    Trial,
    measured_trials,
    pinned,
    pins_of,
    search_from,
    worth_of_decisions,
)
from ....engine.hwsim import load_machine
from ....engine.ir import Refusal
from ...document import DEFAULT_MACHINE, DocumentError, Notebook, evaluate, save_document
from ...document.holes import branch_at, derived_start, notebook_space, with_derived, with_point
from ...views.labels.numbers import THIN_SPACE, reach_text
from ..arguments import seconds, size_bytes, takes_file, takes_setting, workers
from ..databases import database_path, takes_database
from ..exit_codes import EXIT_OK, REFUSED
from ..measured_table import measured_json, measured_text
from ..opened import data_of, notebook_file, require_whole, written_back
from ..output import print_json, print_line, report_problem, working
from ..usage import Parser, takes_json

STATUSES: dict[Status, str] = {
    "fits": "fit",
    "over": "too large",
    "pruned": "pruned",
    "refused": "refused",
    "failed": "failed",
}
FOUND = "found"
MOST_CHARACTERS = 40
"""Characters of a value in a table; index maps are longer."""
MOST_ROWS = 64
"""Candidates that are listed one by one."""
TIMED = 100_000
"""Candidates of a search that its time limits."""


EXAMPLES = (
    "matmul.py",
    "matmul.py --auto --seconds 60 -o best.py",
    "matmul.py --auto --write",
    "gemm.py --value num_stages=1,2,3 --value block_N=64,128 -o best.py",
    "matmul.py --keep tile=64 --keep \"order=['j', 'io', 'k']\"",
    'matmul.py --objective cycles,"peak local.vtcm" --trials 1000 --study matmul.sqlite',
    "matmul.py --scheduler tcp://10.0.0.7:8786",
)


def add_arguments(parser: Parser) -> None:
    takes_file(parser)
    takes_setting(parser)
    takes_json(parser, "the study")
    parser.add_argument(
        "--auto",
        action="store_true",
        help="derive the search space from program and machine, instead of the file's schedule",
    )
    parser.add_argument(
        "--objective", metavar="METRIC", action="extend", type=_names, default=None,
        help='metrics to minimize: cycles, energy, traffic, peak, "peak local.vtcm"; several give a Pareto front (default: cycles)',
    )  # fmt: skip
    parser.add_argument(
        "--budget", metavar="METRIC=NUMBER", action="append", type=_budget, default=[],
        help='upper limit of a metric: traffic=2MiB, "peak local.vtcm=64KiB"; repeatable',
    )  # fmt: skip
    parser.add_argument(
        "--keep", metavar="HOLE=VALUE", action="append", type=_pin, default=[],
        help="pin a hole to a value, or to several: tile=64, tile=64,128, \"order=['j', 'io', 'k']\"; the search varies the others; "
        "repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--value", metavar="NAME=V1,V2", action="append", type=_values, default=[],
        help="values of a TileLang kernel to search, and no others: num_stages=1,2,3; repeatable (default: its stages, threads and tiles)",
    )  # fmt: skip
    _add_effort(parser)
    parser.add_argument(
        "--measure", metavar="N", type=_count, default=0,
        help="build the best N candidates with TVM, run them on this computer, and choose the fastest",
    )  # fmt: skip
    takes_database(parser)
    _add_outputs(parser)


def _add_effort(parser: Parser) -> None:
    """Add the options for the size of the search, and for the processes that run it."""
    parser.add_argument(
        "--trials",
        metavar="N",
        type=_count,
        default=None,
        help=f"number of candidates to evaluate (default: {Settings().trials}; with --seconds {TIMED:,})",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="random seed (default: %(default)s)")
    parser.add_argument(
        "--batch", metavar="N", type=_count, default=Settings().batch,
        help="candidates proposed at a time; increase it for many workers (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", metavar="S", type=seconds, default=0.0,
        help="time limit in seconds, at most half of them for --auto; at least one candidate is evaluated. --study can resume the "
        "search (default: none)",
    )  # fmt: skip
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        metavar="N",
        type=workers,
        default=os.cpu_count() or 1,
        help="number of worker processes (default: %(default)s; 0: search in this process)",
    )
    where.add_argument("--scheduler", metavar="ADDRESS", help="scheduler of an existing Dask cluster: tcp://host:8786")


def _add_outputs(parser: Parser) -> None:
    """Add the options for the files that the search writes."""
    parser.add_argument("--study", metavar="DB", help="store outcomes in this file; resume the search if it exists")
    parser.add_argument(
        "--write",
        metavar="BRANCH",
        nargs="?",
        const=FOUND,
        help="write the best candidate into the file as a branch (default name: %(const)s)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="output file: the notebook with the best candidate's values; with --write its branch (default: FILE)",
    )


def run(arguments: Namespace) -> int:
    document, given, count = notebook_file(arguments.file, dict(arguments.size))
    require_whole(arguments.file, count, "explore")
    output = written_back(document, arguments.output) if arguments.write or arguments.output else ""
    notebook = evaluate(document, given=data_of(arguments))
    if notebook.program is None or not notebook.states:
        assert notebook.error is not None
        raise notebook.error
    notebook = msgspec.structs.replace(notebook, sizes={**notebook.sizes, **given})
    machine = (
        load_machine(arguments.machine) if arguments.machine else notebook.machine or load_machine(DEFAULT_MACHINE)
    )
    budget = arguments.seconds
    database = database_path(arguments, document.path)
    settings = _settings(arguments)
    start: DerivedStart | None = None
    if arguments.auto:
        begun = time.monotonic()
        with working(arguments, "deriving", "applying rules"):
            start = derived_start(
                notebook, machine, settings, lambda: 0.0 < budget < 2 * (time.monotonic() - begun), database,
                dict(arguments.keep),
            )  # fmt: skip
        found = evaluate(with_derived(notebook, start.space))
        notebook = msgspec.structs.replace(found, sizes=notebook.sizes)
        budget = max(1.0, budget - (time.monotonic() - begun)) if budget else 0.0
    space = pinned(_space(notebook, arguments), dict(arguments.keep))
    settings = msgspec.structs.replace(settings, seconds=budget)
    with working(arguments, "searching", "starting workers") as show:
        watch = show and (lambda progress: show(_so_far(progress, settings)))
        study = search_from(
            start, space, machine, settings, workers=arguments.scheduler or arguments.workers, store=arguments.study,
            watch=watch, database=database,
        )  # fmt: skip
    derived = None if start is None else start.space
    if study.warm_start.problem is not None:
        report_problem(study.warm_start.text)
    timed: MeasuredTrials | None = None
    if arguments.measure and study.offers:
        with working(arguments, "building and running"):
            timed = measured_trials(study, arguments.measure)
    with working(arguments, "comparing", "one decision changed at a time"):
        decisions = tuple(worth_of_decisions(study))
    best = _best(study, timed)
    if best is not None and arguments.write:
        save_document(branch_at(notebook.document, space, best.point, arguments.write), output)
    elif best is not None and arguments.output:
        save_document(with_point(notebook.document, space, best.point), output)
    if arguments.json:
        print_json(_as_json(study, derived, timed, decisions))
    else:
        print_line(_text(study, arguments, derived, timed, decisions))
    return EXIT_OK if study.offers else REFUSED


def _settings(arguments: Namespace) -> Settings:
    """The settings of the search, without its time."""
    return Settings(
        objectives=tuple(arguments.objective or (CYCLES,)),
        budgets=dict(arguments.budget),
        trials=arguments.trials or (TIMED if arguments.seconds else Settings().trials),
        seed=arguments.seed,
        batch=arguments.batch,
    )


def _best(study: Study, timed: MeasuredTrials | None) -> Trial | None:
    """The candidate to write: the fastest that was measured, else the best by its predicted figures."""
    fastest = None if timed is None else timed.fastest
    return fastest or (study.offers[0].trial if study.offers else None)


def _space(notebook: Notebook, arguments: Namespace) -> Space:
    space = notebook_space(notebook, dict(arguments.value) or None)
    if not space.holes and not arguments.auto:
        raise DocumentError(
            Refusal(
                "no-holes", "the schedule has no parameters to choose", expected='lines such as tile = choose("tile", [32, 64, 128])',
                fix=("tilewright explore FILE --auto",),
            )
        )  # fmt: skip
    return space


def _so_far(progress: Progress, settings: Settings) -> str:
    best = progress.best
    said = "no feasible candidate yet"
    if best is not None and best.outcome.figures is not None:
        name = settings.objectives[0]
        said = f"best {_figure(best.outcome.figures, name)}, #{best.number}"
        said += f", Pareto front of {len(progress.front)}" if len(settings.objectives) > 1 else ""
    return f"{progress.done:,} of {progress.total:,} evaluated; {said}"


def _text(
    study: Study,
    arguments: Namespace,
    derived: DerivedSpace | None,
    timed: MeasuredTrials | None,
    decisions: Sequence[DecisionWorth],
) -> str:
    counts = study.counts
    outcomes = ", ".join(f"{counts[status]:,} {words}" for status, words in STATUSES.items() if counts[status])
    how = "all" if study.method == "exhaustive" else f"{study.method}, seed {study.settings.seed}"
    lines = [
        f"{arguments.file} on {study.machine.name}: {len(study.trials):,} of {study.space.size:,} candidates evaluated ({how}): {outcomes}"
    ]
    pins = "; ".join(f"{name} = {' or '.join(texts)}" for name, texts in pins_of(study.space).items())
    if pins:
        lines.append(f"kept: {pins}")
    if study.warm_start.records:
        lines.append(study.warm_start.text)
    if derived is not None:
        lines = [derived.explanation, "", *lines]
    if not study.offers:
        rows = _table(study) if arguments.value and len(study.trials) <= MOST_ROWS else _why_not(study)
        return "\n".join([*lines, "no feasible candidate", *rows])
    for offer in study.offers:
        lines += ["", *_offer_lines(study, offer)]
    lines += _decision_lines(decisions)
    if arguments.value and len(study.trials) <= MOST_ROWS:
        lines += ["", *_table(study)]
    if timed is not None:
        lines += ["", measured_text(timed.compared)]
    best = _best(study, timed)
    assert best is not None
    if arguments.write:
        target = arguments.output or arguments.file
        lines += ["", f"#{best.number} was written to {target} as branch {arguments.write!r}"]
    elif arguments.output:
        lines += ["", f"#{best.number} was written to {arguments.output}"]
    return "\n".join(lines)


def _table(study: Study) -> Iterator[str]:
    """All candidates, those that fit first, the fastest on top."""
    names = [hole.name for hole in study.space.holes]
    rows = [[*names, "cycles"]]
    says = [""]
    for trial in sorted(
        study.trials, key=lambda t: (not t.outcome.fits, t.outcome.figures.cycles if t.outcome.figures else inf)
    ):
        cycles = "" if trial.outcome.figures is None else f"{trial.outcome.figures.cycles:,}"
        rows.append([*study.space.texts_at(trial.point).values(), cycles])
        says.append(trial.outcome.message or ("" if any(trial.point) else "the file's values"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, text in zip(rows, says, strict=True):
        yield "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=True)), text]).rstrip()


def _offer_lines(study: Study, offer: StudyCandidate) -> Iterator[str]:
    figures = offer.trial.outcome.figures
    assert figures is not None
    names = dict.fromkeys((*study.settings.objectives, CYCLES))
    ratio = figures.cycles / figures.bound if figures.bound else 1.0
    yield (
        f"#{offer.trial.number}: {', '.join(_figure(figures, n) for n in names)}; lower bound {figures.bound:,} ({figures.bound_by}), "
        f"{ratio:.2f} × the bound; {offer.verdict.status}: {offer.verdict.detail}"
    )
    texts = study.space.texts_at(offer.trial.point)
    width = max(map(len, texts), default=0)
    for name, text in texts.items():
        yield f"    {name:<{width}}  {text}"
    if study.floor:
        yield f"    {reach_text(figures.cycles, study.floor).replace(THIN_SPACE, ' ')}: at least {study.floor:,} cycles"


def _decision_lines(decisions: Sequence[DecisionWorth]) -> list[str]:
    """What each decision is worth, as a table: the value, the fastest of the nearest other ones, and the cycles with it."""
    if not decisions:
        return []
    rows = [("decision", "value", "next best", "cycles more")]
    extra = ("does not fit" if one.extra is None else f"{one.extra:+,}" for one in decisions)
    rows += [(one.hole, one.text, one.others[0].text, text) for one, text in zip(decisions, extra, strict=True)]
    shown = [[_short(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  ".join([*(c.ljust(w) for c, w in zip(row[:3], widths, strict=False)), row[3].rjust(widths[3])])
        for row in shown
    ]
    return ["", "what each decision of the best is worth, one changed at a time:", *(f"    {line}" for line in lines)]


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _why_not(study: Study) -> Iterator[str]:
    """The reasons of infeasible trials, the most frequent first."""
    found: dict[str, tuple[int, str]] = {}
    for trial in study.trials:
        count, first = found.get(trial.outcome.code, (0, trial.outcome.message))
        found[trial.outcome.code] = count + 1, first
    for code, (count, message) in sorted(found.items(), key=lambda item: -item[1][0]):
        yield f"    {count:,} × {code}: {message}"


def _figure(figures: Figures, name: str) -> str:
    kind, _, scope = name.partition(" ")
    value = figures.figure(name)
    said = "" if kind == CYCLES else f"{kind} {scope} ".replace("  ", " ")
    return f"{said}{value:,.0f} {UNITS[kind]}"


def _as_json(
    study: Study, derived: DerivedSpace | None, timed: MeasuredTrials | None, decisions: Sequence[DecisionWorth]
) -> dict[str, Any]:
    explained = {} if derived is None else {"decisions": list(derived.decisions), "left_out": list(derived.left_out)}
    return {
        **explained,
        "machine": study.machine.name,
        "method": study.method,
        "candidates": study.space.size,
        "ended": study.ended,
        "settings": msgspec.to_builtins(study.settings),
        "counts": dict(study.counts),
        "keep": pins_of(study.space),
        "holes": [{"name": hole.name, "values": list(hole.texts)} for hole in study.space.holes],
        "database": {
            "file": study.warm_start.path or None,
            "records": [
                {"program": r.workload.title, "machine": r.target.name, "cycles": r.cycles}
                for r in study.warm_start.records
            ],
            "is_exact": study.warm_start.exact > 0,
            "problem": study.warm_start.text if study.warm_start.problem is not None else None,
        },
        "offers": [
            {
                "number": offer.trial.number,
                "values": study.space.texts_at(offer.trial.point),
                "figures": msgspec.to_builtins(offer.trial.outcome.figures),
                "verdict": msgspec.to_builtins(offer.verdict),
            }
            for offer in study.offers
        ],
        "floor": study.floor or None,
        "decisions_worth": msgspec.to_builtins(decisions),
        **({} if timed is None else {"measured": measured_json(timed.compared)}),
        "trials": [msgspec.to_builtins(trial) for trial in study.trials],
    }


def _names(text: str) -> list[str]:
    found = [" ".join(part.split()) for part in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of metrics such as cycles,energy")
    return found


def _budget(text: str) -> tuple[str, int]:
    name, sign, size = text.rpartition("=")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not METRIC=NUMBER, such as traffic=2MiB")
    return " ".join(name.split()), size_bytes(size)


def _pin(text: str) -> tuple[str, object]:
    """A hole and its values: literals, or words without quotes; an index map stays text."""
    name, sign, values = (part.strip() for part in text.partition("="))
    if not (name and sign and values):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOLE=VALUE, such as tile=64")
    try:
        return name, ast.literal_eval(values)
    except (ValueError, SyntaxError):
        words = [word.strip() for word in values.split(",")]
        return name, words if all(re.fullmatch(r"[\w.]+", word) for word in words) else values


def _values(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = text.partition("=")
    found = tuple(value.strip() for value in values.split(",") if value.strip())
    if not name.strip() or not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=V1,V2, such as num_stages=1,2,3")
    return name.strip(), found


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of candidates")
    return int(text)
