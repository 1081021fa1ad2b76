"""Layers of ResNet-50 and BERT explored on the Gemmini-like machine and on the one with two blocks of VTCM: what is found, how far from
what the machine can do, in how much time.

    python bench/explore_layers.py                   # writes the tests' file; half an hour, rows that are there are kept
    python bench/explore_layers.py --table           # the recorded rows as Markdown
    python bench/explore_layers.py --only "conv3"    # layers whose name has that in it; printed

The space is that of tests/support/layer_spaces.py, written once for all layers. Seconds are of processor time; cycles are the same on every
machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.layer_spaces import TARGETS, Target, layer_space  # noqa: E402
from support.layers import LAYERS, Layer  # noqa: E402

from tilewright.engine.explore import Progress, Settings, Space, Study, explore  # noqa: E402
from tilewright.engine.hwsim import load_machine  # noqa: E402

RECORDED = HERE.parent / "tests" / "conformance" / "recorded" / "explore_layers.json"
TRIALS = 128
FIRST = (
    "conv1 7x7/2", "conv2 3x3", "conv2 1x1 out", "conv3 1x1/2", "conv3 3x3/2", "conv4 1x1 back", "conv4 3x3", "conv5 1x1 out", "conv5 3x3",
    "fc", "BERT-base/128 QKV", "BERT-base/128 scores", "BERT-base/128 context", "BERT-base/128 projection", "BERT-base/128 MLP up",
    "BERT-base/128 MLP down",
)  # fmt: skip
"""One of each kind, done before the others."""


def found_for(layer: Layer, target: Target, trials: int = TRIALS) -> dict[str, Any]:
    """A row of the table."""
    space = layer_space(layer, target)
    study, steps, seconds = timed(space, target.machine, trials)
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
    """The study, when a better one was found (trial, cycles, seconds), and how long all trials took, checks of the best left out."""
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

    study = explore(space, load_machine(machine), Settings(trials=trials, exhaustive=trials), watch=watch)
    return study, steps, last[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="layers whose name has this in it; printed, not recorded")
    parser.add_argument("--table", action="store_true", help="the recorded rows as Markdown")
    parser.add_argument("--layers", action="store_true", help="the layers as JSON, for record_zigzag_layers.py")
    parser.add_argument("--trials", type=int, default=TRIALS)
    args = parser.parse_args()
    if args.layers:
        print(json.dumps(msgspec.to_builtins(sorted(LAYERS, key=lambda layer: layer.name not in FIRST))))
        return
    if args.table:
        print(table(json.loads(RECORDED.read_text())["rows"]))
        return
    kept: list[dict[str, Any]] = json.loads(RECORDED.read_text())["rows"] if RECORDED.exists() and not args.only else []
    known = {(row["layer"], row["machine"]) for row in kept}
    for layer in sorted(LAYERS, key=lambda layer: layer.name not in FIRST):
        for target in TARGETS.values():
            if (layer.name, target.machine) in known or (args.only and args.only not in layer.name):
                continue
            row = found_for(layer, target, args.trials)
            kept.append(row)
            print(table([row]).splitlines()[-1], flush=True)
            if not args.only:
                write(kept)


def write(rows: list[dict[str, Any]]) -> None:
    head = {
        "what": "bench/explore_layers.py: the best of a study of each layer on each machine",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} shared cores",
        "seconds": "of processor time, on a loaded machine",
        "settings": f"trials={TRIALS}, seed=0",
    }
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    RECORDED.write_text(f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n  {lines}\n ]\n}}\n')


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| layer | machine | peak bound | reachable | found | of the peak | of reachable | trials, seconds |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for r in rows:
        lines.append(
            f"| {r['layer']} | {r['machine']} | {r['bound']:,} | {r['reachable']:,} | {r['cycles']:,} | {r['bound'] / r['cycles']:.2f} "
            f"| {r['reachable'] / r['cycles']:.2f} | {r['trials']}, {r['seconds']:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
