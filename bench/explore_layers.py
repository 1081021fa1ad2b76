"""Layers of ResNet-50 and BERT explored on the Gemmini-like machine and on the one with two blocks of VTCM: the cycles found, their
distance from the lower bound, and the time of the search.

    python bench/explore_layers.py                   # writes the tests' file; half an hour; existing rows are kept
    python bench/explore_layers.py --auto            # the same with derived spaces (tests/conformance/recorded/explore_derived.json)
    python bench/explore_layers.py --beside          # adds the examples' own schedules, and LOMA's mappings replayed
    python bench/explore_layers.py --table           # the recorded rows as Markdown, first the summary of docs/explore-quality.md
    python bench/explore_layers.py --only "conv3"    # layers whose name contains that; printed

The space is that of tests/support/schedules/layer_spaces.py, shared by all layers; with --auto it is derived for each layer, within
DERIVING seconds, which count. Seconds are processor time; cycles are the same on every machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import sys
import time
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import msgspec
import optuna  # noqa: F401 (loaded before any clock runs)

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.programs.layers import BERT, LAYERS, Layer, times_in_network  # noqa: E402
from support.schedules.layer_spaces import DUAL, GEMMINI, TARGETS, Target, layer_space, study_machine  # noqa: E402
from support.schedules.loma_replay import loma_space, undivided  # noqa: E402

from tilewright.app.document import evaluate, load_document  # noqa: E402
from tilewright.engine.explore import (  # noqa: E402
    EvaluationRequest,
    Evaluator,
    Progress,
    Settings,
    Space,
    Study,
    deriving_space,
    explore,
)
from tilewright.engine.hwsim import simulate  # noqa: E402

FOLDER = HERE.parent / "tests" / "conformance" / "recorded"
RECORDED, DERIVED, BESIDE, LOMA = (
    FOLDER / f"{name}.json" for name in ("explore_layers", "explore_derived", "explore_beside", "zigzag_layers")
)
SPACES = {"written": RECORDED, "derived": DERIVED}
EXAMPLES = HERE.parent / "static" / "examples"
TRIALS = 128
DERIVING = 5.0
"""Time limit of a derivation in seconds."""
FIRST = (
    "conv1 7x7/2", "conv2 3x3", "conv2 1x1 out", "conv3 1x1/2", "conv3 3x3/2", "conv4 1x1 back", "conv4 3x3", "conv5 1x1 out", "conv5 3x3",
    "fc", "BERT-base/128 QKV", "BERT-base/128 scores", "BERT-base/128 context", "BERT-base/128 projection", "BERT-base/128 MLP up",
    "BERT-base/128 MLP down",
)  # fmt: skip
"""One layer of each kind, explored before the others."""

WIDE = msgspec.structs.replace(DUAL, dtype="float32", products_per_cycle=256)
"""The matrix unit computes float32 in four passes."""

HAND = {
    "gemmini_gemm": (Layer("gemmini_gemm", 512, 512, 512), GEMMINI),
    "vtcm_double_buffer": (Layer("vtcm_double_buffer", 256, 256, 512), WIDE),
    "vtcm_two_halves": (Layer("vtcm_two_halves", 256, 256, 512), WIDE),
}
"""The examples with a product on one of these machines, each as layer and machine of the space."""


def found_for(layer: Layer, target: Target, trials: int = TRIALS) -> dict[str, Any]:
    """A row of the table."""
    space = layer_space(layer, target)
    return row_of(layer, target, space, *timed(space, target.machine, trials))


def derived_for(layer: Layer, target: Target, trials: int = TRIALS) -> dict[str, Any]:
    """A row with the space that the rules derive."""
    machine = study_machine(target.machine)
    program = layer.program(target.dtype, target.sums)
    begun = [time.process_time()]
    steps: list[list[float]] = []
    derived = None
    for now in deriving_space(program, machine, stop=lambda: time.process_time() - begun[0] > DERIVING):
        at = time.process_time()
        if now is not None:
            derived = now
            outcome = Evaluator(now.space, machine, ("cycles",)).tried(EvaluationRequest(0, now.space.default))
            if outcome.figures is not None and (not steps or outcome.figures.cycles < steps[-1][1]):
                steps.append([0, outcome.figures.cycles, round(at - begun[0], 2)])
        begun[0] += time.process_time() - at  # the simulation for this script
    assert derived is not None
    spent = time.process_time() - begun[0]
    study, later, seconds = timed(derived.space, target.machine, trials)
    later = [[n, cycles, round(at + spent, 2)] for n, cycles, at in later if not steps or cycles < steps[-1][1]]
    row = row_of(layer, target, derived.space, study, steps + later, seconds + spent)
    return {**row, "derivation": round(spent, 2)}


def row_of(
    layer: Layer, target: Target, space: Space, study: Study, steps: list[list[float]], seconds: float
) -> dict[str, Any]:
    """The results of a study, with the bounds of the layer."""
    assert study.best is not None and study.best.outcome.figures is not None
    figures = study.best.outcome.figures
    return {
        "layer": layer.name,
        "machine": target.machine,
        "bound": target.bound(layer),
        "reachable": target.reachable(layer),
        "cycles": figures.cycles,
        "bound_by": figures.bound_by,
        "traffic_bytes": figures.traffic_bytes,
        "method": study.method,
        "space": space.size,
        "trials": len(study.trials),
        "counts": dict(study.counts),
        "seconds": round(seconds, 2),
        "steps": steps,
        "verdict": study.offers[0].verdict.status,
        "chosen": space.texts_at(study.best.point),
        "point": list(study.best.point),
    }


def timed(space: Space, machine: str, trials: int) -> tuple[Study, list[list[float]], float]:
    """The study, its improvements (trial, cycles, seconds), and the time of all trials without the checks of the best ones."""
    steps: list[list[float]] = []
    last = [0.0]
    start = time.process_time()

    def watch(progress: Progress) -> None:
        last[0] = time.process_time() - start
        best = progress.best
        if best is not None and best.outcome.figures is not None:
            cycles = best.outcome.figures.cycles
            if not steps or cycles < steps[-1][1]:
                steps.append([progress.trial.number, cycles, round(last[0], 2)])

    study = explore(space, study_machine(machine), Settings(trials=trials, exhaustive=trials), watch=watch)
    return study, steps, last[0]


def beside_example(name: str) -> dict[str, Any]:
    """The schedule of an example, and the result of a search for its program."""
    layer, target = HAND[name]
    notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
    assert notebook.schedule is not None
    hand = simulate(notebook.schedule.func, study_machine(target.machine))
    return {"hand": hand.cycles, **found_for(layer, target)}


def beside_loma(row: dict[str, Any]) -> dict[str, Any]:
    """A LOMA mapping as the best of its schedules. If it fits no physical blocks, on the machine with undivided memories; if it does not
    fit there either, without cycles."""
    layer, target = next(x for x in LAYERS if x.name == row["layer"]), TARGETS[row["machine"]]
    machine, divided = study_machine(target.machine), True
    space = loma_space(layer, target, row["loops"])
    study = explore(space, machine)
    if study.best is None:
        machine, divided = undivided(machine), False
        study = explore(space, machine)
    best = study.best
    return {
        "layer": layer.name,
        "machine": target.machine,
        "cycles": best and best.outcome.figures and best.outcome.figures.cycles,
        "divided": divided,
        "why": "" if best else study.trials[0].outcome.message,
    }


def record_beside() -> None:
    """Explore the layers without a row."""
    found: dict[str, Any] = {
        "what": "bench/explore_layers.py --beside: the examples' own schedules, and LOMA's mappings (zigzag_layers.json) replayed",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "examples": [],
        "loma": [],
    }
    if BESIDE.exists():
        found = json.loads(BESIDE.read_text())
    known = {(row["layer"], row["machine"]) for row in found["loma"]}
    mappings = json.loads(LOMA.read_text())["rows"]
    tasks = [
        (found["examples"], beside_example, name)
        for name in HAND
        if name not in {r["layer"] for r in found["examples"]}
    ]
    tasks += [(found["loma"], beside_loma, row) for row in mappings if (row["layer"], row["machine"]) not in known]
    for rows, make, what in tasks:
        rows.append(make(what))
        print(rows[-1]["layer"], rows[-1]["machine"], rows[-1].get("hand"), rows[-1]["cycles"], flush=True)
        BESIDE.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="layers whose name has this in it; printed, not recorded")
    parser.add_argument("--table", action="store_true", help="the recorded rows as Markdown")
    parser.add_argument("--auto", action="store_true", help="derives the spaces")
    parser.add_argument("--beside", action="store_true", help="the examples' own schedules, and LOMA's mappings")
    parser.add_argument("--layers", action="store_true", help="the layers as JSON, for record_zigzag_layers.py")
    parser.add_argument("--trials", type=int, default=TRIALS)
    args = parser.parse_args()
    if args.layers:
        print(json.dumps(msgspec.to_builtins(sorted(LAYERS, key=lambda layer: layer.name not in FIRST))))
        return
    if args.beside:
        record_beside()
        return
    file, find = (DERIVED, derived_for) if args.auto else (RECORDED, found_for)
    if args.table:
        rows = json.loads(file.read_text())["rows"]
        print(f"{summary()}\n\n{totals(rows)}\n\n{table(rows)}")
        return
    kept: list[dict[str, Any]] = json.loads(file.read_text())["rows"] if file.exists() and not args.only else []
    known = {(row["layer"], row["machine"]) for row in kept}
    for layer in sorted(LAYERS, key=lambda layer: (layer.name not in FIRST, layer not in BERT)):
        for target in TARGETS.values():
            if (layer.name, target.machine) in known or (args.only and args.only not in layer.name):
                continue
            row = find(layer, target, args.trials)
            kept.append(row)
            print(table([row]).splitlines()[-1], flush=True)
            if not args.only:
                write(file, kept)


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    head = {
        "what": "bench/explore_layers.py: the best of a study of each layer on each machine",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} shared cores",
        "seconds": "of processor time",
        "settings": f"trials={TRIALS}, seed=0",
    }
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    file.write_text(f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n  {lines}\n ]\n}}\n')


Rows = dict[tuple[str, str], dict[str, Any]]


def others() -> tuple[Rows, Rows]:
    """LOMA's rows, and the replayed mappings, by layer and machine."""
    found = (LOMA, "rows"), (BESIDE, "loma")
    rows = [json.loads(file.read_text())[key] if file.exists() else [] for file, key in found]
    loma, replayed = ({(r["layer"], r["machine"]): r for r in some} for some in rows)
    return loma, replayed


def cycles_by(row: dict[str, Any], seconds: float) -> float:
    """The fewest cycles found within `seconds`."""
    return min((cycles for _, cycles, at in row["steps"] if at <= seconds), default=math.inf)


def summary() -> str:
    """The table of docs/explore-quality.md: one row for each space and machine."""
    lines = [
        "| space | machine | layers | found of peak, mean (least) | of reachable, mean (least) | LOMA's mapping: cycles to ours, mean "
        "| ours as good or better | in LOMA's time |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for space, file in SPACES.items():
        rows: list[dict[str, Any]] = json.loads(file.read_text())["rows"]
        for machine in TARGETS:
            mine = [r for r in rows if r["machine"] == machine]
            lines.append(f"| {' | '.join((space, machine, *summary_of(mine)))} |")
    return "\n".join(lines)


def summary_of(rows: list[dict[str, Any]]) -> list[str]:
    """The geometric means over the layers of a machine, and how often LOMA's mapping was reached, in total and in LOMA's time."""
    loma, replayed = others()
    cells = [str(len(rows))]
    for bound in ("bound", "reachable"):
        shares = [r[bound] / r["cycles"] for r in rows]
        cells.append(f"{geometric_mean(shares):.2f} ({min(shares):.2f})")
    keys = [(r["layer"], r["machine"]) for r in rows]
    both = [(r, replayed[k]["cycles"], loma[k]["seconds"]) for r, k in zip(rows, keys, strict=True)
            if k in replayed and replayed[k]["cycles"] is not None]  # fmt: skip
    cells.append(f"{geometric_mean(theirs / r['cycles'] for r, theirs, _ in both):.2f}")
    cells.append(f"{sum(r['cycles'] <= theirs for r, theirs, _ in both)} of {len(both)}")
    cells.append(f"{sum(cycles_by(r, seconds) <= theirs for r, theirs, seconds in both)} of {len(both)}")
    return cells


def totals(rows: list[dict[str, Any]]) -> str:
    """The products of whole networks: the sums over the layers that LOMA's mapping fits."""
    loma, replayed = others()
    lines = [
        "| network | machine | found | LOMA replayed | ratio | LOMA's own estimate | left out |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    sums: dict[tuple[str, str], list[float]] = {}
    left_out: dict[tuple[str, str], list[str]] = {}
    for r in rows:
        layer = next(x for x in LAYERS if x.name == r["layer"])
        network, times = times_in_network(layer)
        key, at = (r["layer"], r["machine"]), (network, r["machine"])
        known = sums.setdefault(at, [0, 0, 0])
        if key not in replayed or replayed[key]["cycles"] is None:
            left_out.setdefault(at, []).append(layer.name)
            continue
        cycles = r["cycles"], replayed[key]["cycles"], loma[key]["latency"]
        sums[at] = [known[n] + times * each for n, each in enumerate(cycles)]
    for at, (ours, theirs, estimate) in sorted(sums.items()):
        missing = ", ".join(left_out.get(at, ()))
        lines.append(
            f"| {at[0]} | {at[1]} | {ours:,.0f} | {theirs:,.0f} | {theirs / ours:.2f} | {estimate:,.0f} | {missing} |"
        )
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """The cycles found, those of LOMA's mapping, and those found in LOMA's time."""
    loma, replayed = others()
    lines = [
        "| layer | machine | peak | reachable | found | of peak | of reachable | seconds | LOMA replayed | seconds | found by then |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in rows:
        key = r["layer"], r["machine"]
        theirs, seconds = replayed.get(key), loma[key]["seconds"] if key in loma else None
        cycles = "" if theirs is None else "does not fit" if theirs["cycles"] is None else f"{theirs['cycles']:,}"
        note = "" if theirs is None or theirs["divided"] or theirs["cycles"] is None else " †"
        then = math.inf if seconds is None else cycles_by(r, seconds)
        cells = [
            r["layer"], r["machine"], f"{r['bound']:,}", f"{r['reachable']:,}", f"{r['cycles']:,}", f"{r['bound'] / r['cycles']:.2f}",
            f"{r['reachable'] / r['cycles']:.2f}", f"{r['seconds']:.1f}", cycles + note, "" if seconds is None else f"{seconds:.1f}",
            "" if then == math.inf else f"{then:,}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
