"""Fuzzing of one reader by coverage: libFuzzer, through atheris (`pip install -e '.[fuzz]'`), keeps each input that runs new code.

    python bench/fuzz_guided.py trace --seconds 600

The seeds, the mutators and the check are those of `bench/fuzz.py`. Only the readers' own packages are instrumented.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import atheris

READING = ["script", "te", "adopt", "hwsim.machine_file"]

with atheris.instrument_imports(
    include=[*(f"tilewright.engine.{name}" for name in READING), "tilewright.app.document"]
):
    from support.fuzzing.judging import judged
    from support.fuzzing.readers import READERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=list(READERS))
    parser.add_argument("--seconds", type=int, default=600)
    arguments = parser.parse_args()
    reader = READERS[arguments.reader]
    seeds = tuple(reader.seeds())
    finds: set[str] = set()

    def check(data: bytes) -> None:
        outcome = judged(reader.read, data)
        if outcome.fault and outcome.fault not in finds:
            finds.add(outcome.fault)
            print(f"# {outcome.fault}\n{data!r}\n", flush=True)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        text = data.decode("utf-8", "replace") or seeds[seed % len(seeds)]
        return bytes_of(reader.mutate(Random(seed), text, seeds))[:most]

    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds):
            (Path(folder) / f"{number}").write_bytes(bytes_of(seed))
        options = [
            folder,
            f"-max_total_time={arguments.seconds}",
            "-max_len=20000",
            "-print_final_stats=1",
            "-timeout=60",
        ]
        atheris.Setup([sys.argv[0], *options], check, custom_mutator=mutate)
        atheris.Fuzz()


def bytes_of(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode("utf-8", "replace")


if __name__ == "__main__":
    main()
