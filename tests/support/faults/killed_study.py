"""A study in a separate process, to be killed: `python -m support.faults.killed_study STORE [WORKERS]` prints a line for each trial."""

from __future__ import annotations

import sys

from support.schedules.spaces import gemm_space

from tilewright.engine.explore import Settings, explore
from tilewright.engine.hwsim import load_machine

SETTINGS = Settings(exhaustive=0, trials=16, batch=8)


def main() -> None:
    store, *workers = sys.argv[1:]
    explore(
        gemm_space(), load_machine("gemmini"), SETTINGS, store=store, workers=int(workers[0]) if workers else 0,
        watch=lambda progress: print(progress.trial.number, flush=True),
    )  # fmt: skip


if __name__ == "__main__":
    main()
