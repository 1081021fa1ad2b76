"""Fuzzing of one reader: random mutations of seeds must be read or refused with a TilewrightError; everything else is a finding.

    python bench/fuzz.py script --inputs 1000000 --seconds 3600
    python bench/fuzz.py machine --costs --seconds 60       # CPU by the size of the input

Prints the number of inputs, the refusals by code, and each finding once, minimised, with the number that reproduces it by `--seed` and
`--inputs`. docs/fuzzing.md has the results of the last runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fuzzing.costs import costs
from support.fuzzing.judging import Data, judged, minimised
from support.fuzzing.readers import READERS, Reader

KEPT = 400
"""Inputs that are mutated further: the seeds, and inputs refused in a new way."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=list(READERS))
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--costs", action="store_true", help="repeat pieces of the seeds, and print the dearest")
    parser.add_argument("--out", type=Path, help="a folder for the finds")
    arguments = parser.parse_args()
    reader = READERS[arguments.reader]
    if arguments.costs:
        return print_costs(reader, arguments.seconds)
    return fuzz(reader, arguments.inputs, arguments.seconds, arguments.seed, arguments.out)


def fuzz(reader: Reader, inputs: int, seconds: float, seed: int, out: Path | None) -> int:
    random = Random(seed)
    corpus: list[Data] = list(reader.seeds())
    seeds = tuple(corpus)
    codes: Counter[str] = Counter()
    finds: dict[str, Data] = {}
    shapes: set[tuple[str, int]] = set()
    size = 0
    spent = 0.0
    for data in seeds:
        judged(reader.read, data)
    before = peak_mb()
    began = time.monotonic()
    done = 0
    while done < inputs and time.monotonic() - began < seconds:
        parents = random.choices(corpus if random.random() < 0.5 else seeds, k=2)
        parent = min(parents, key=len)  # short inputs are read fast, and each mutation changes more of them
        data = reader.mutate(random, parent, seeds)
        outcome = judged(reader.read, data)
        done += 1
        size += len(data)
        spent += outcome.seconds
        codes[outcome.code or "read"] += 1
        shape = (outcome.code, min(len(data).bit_length(), 13))
        is_new = (
            shape not in shapes and outcome.code != "syntax"
        )  # mutations of a text that is not Python are not Python either
        if is_new or (outcome.code == "" and random.random() < 0.01):
            shapes.add(shape)
            if len(data) < 4 * max(len(s) for s in seeds):
                corpus.append(data) if len(corpus) < KEPT else corpus.__setitem__(
                    random.randrange(len(seeds), KEPT), data
                )
        if outcome.fault and outcome.fault not in finds:
            finds[outcome.fault] = minimised(reader.read, data, outcome.fault)
            print_finding(outcome.fault, finds[outcome.fault], done, out)
    wall = time.monotonic() - began
    report = {
        "reader": reader.name,
        "inputs": done,
        "seconds": round(wall),
        "finds": len(finds),
        "microseconds_per_byte": round(1e6 * spent / max(1, size), 2),
        "mean_bytes": size // max(1, done),
        "growth_mb": round(peak_mb() - before, 1),
        "codes": dict(codes.most_common()),
    }
    print(json.dumps(report))
    return 1 if finds else 0


def print_costs(reader: Reader, seconds: float) -> int:
    """The pieces with the most CPU per byte when repeated, and the growth of the CPU when the size grows by four."""
    began, found = time.monotonic(), []
    for cost in costs(reader):
        found.append(cost)
        if time.monotonic() - began > seconds:
            break
    for cost in sorted(found, reverse=True)[:15]:
        print(
            f"{cost.per_byte:8.1f} us/byte  x{cost.growth:.1f} for x4  {cost.sizes} {cost.seconds}  {cost.code}  {cost.piece}"
        )
    return 0


def print_finding(fault: str, data: Data, number: int, out: Path | None) -> None:
    print(f"# {fault} (input {number})\n{data!r}\n", flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "_" for c in fault)[:80]
        (out / name).write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
