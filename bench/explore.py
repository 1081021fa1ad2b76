"""Candidates a second of a search, by number of workers: `python bench/explore.py [CANDIDATES]` prints the table of docs/explore.md.

The same candidates of a derived space are tried in this process, by one worker and by two; the results must be equal. Starting
workers is measured separately. Rates of more workers are extrapolated from the processor time of candidates, walks and sampling: free
workers run the tasks of a full batch, and one process samples between the batches.
"""

from __future__ import annotations

import heapq
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import tilewright
from tilewright.engine.explore import Settings, Space, Study, explore
from tilewright.engine.explore.search.estimator import Estimator
from tilewright.engine.explore.search.sampler import TURN, Sampled
from tilewright.engine.explore.trials.evaluator import EvaluationRequest, Evaluator
from tilewright.engine.explore.workers.job import job_of
from tilewright.engine.explore.workers.pool import Processes
from tilewright.engine.hwsim import Machine, load_machine

EXAMPLES = Path(__file__).parents[1] / "static" / "examples"
CASES = (("gemmini_gemm", "gemmini"), ("vtcm_double_buffer", "dual-bank-npu"))
PLANNED = (4, 8, 16, 32, 64)


class Run(NamedTuple):
    """A search by `workers`: seconds of wall time, and the part of the start."""

    workers: int
    seconds: float
    start: float
    study: Study


def timed(space: Space, machine: Machine, settings: Settings, workers: int) -> Run:
    begun = time.perf_counter()
    start = 0.0
    pool = Processes(job_of(space, machine, settings), workers) if workers else None
    if pool is not None:
        for _ in pool.answers([EvaluationRequest(n, space.default) for n in range(workers)], lambda: False):
            pass
        start = time.perf_counter() - begun
    begun = time.perf_counter()
    study = explore(space, machine, settings, workers=pool or 0)
    return Run(workers, time.perf_counter() - begun, start, study)


class Costs(NamedTuple):
    """Seconds of processor time: of a candidate, of a walk, and of sampling a candidate and reporting its result."""

    candidate: float
    walk: float
    asking: float


def costs(study: Study) -> Costs:
    """Costs of one worker that runs a whole study."""
    settings = study.settings
    bench = Evaluator(study.space, study.machine, settings.objectives)
    sampler = Sampled(study.space, settings, Estimator(study.space, study.machine))
    tried = walked = 0.0
    reported = walks = 0
    begun = time.process_time()
    while (batch := sampler.batch(settings.batch)).points:
        before = time.process_time()
        estimates = [estimated for walk in batch.walks for estimated in bench.estimates(walk)]
        between = time.process_time()
        for number, point in enumerate(batch.points, reported):
            bench.tried(EvaluationRequest(number, point))
        after = time.process_time()
        walked, tried = walked + between - before, tried + after - between
        sampler.observe(study.trials[reported : reported + len(batch.points)], estimates)
        reported, walks = reported + len(batch.points), walks + len(batch.walks)
    return Costs(tried / reported, walked / walks, (time.process_time() - begun - tried - walked) / reported)


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 192
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {trials} candidates\n"
    )
    print("| space | points | workers | seconds | candidates/s | ratio | start of workers, s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, preset in CASES:
        machine = load_machine(preset)
        space = tilewright.derive_space(tilewright.load(EXAMPLES / f"{name}.py").program, machine).space
        settings = Settings(trials=trials)
        runs = [timed(space, machine, settings, workers) for workers in (0, 1, 2)]
        first = runs[0].study
        for run in runs:
            assert run.study.trials == first.trials
            rate, base = trials / run.seconds, trials / runs[1].seconds
            print(
                f"| {name} | {space.size:,} | {run.workers} | {run.seconds:.1f} | {rate:.1f} | {rate / base:.2f} | {run.start:.1f} |"
            )
        found = costs(first)
        planned = ", ".join(f"{w}: {planned_rate(settings.batch, found, w):.0f}" for w in (1, 2, *PLANNED))
        print(
            f"| {name}, reckoned | | | {1000 * found.candidate:.1f} ms each, {1000 * found.walk:.0f} ms a walk, "
            f"{1000 * found.asking:.2f} ms asking | {planned} | | |"
        )


def planned_rate(batch: int, found: Costs, workers: int) -> float:
    """Candidates a second of `workers`: walks first, each on a free worker, and sampling between the batches."""
    free = [0.0] * workers
    for task in (*[found.walk] * (batch // TURN), *[found.candidate] * batch):
        heapq.heapreplace(free, free[0] + task)
    return batch / (max(free) + batch * found.asking)


if __name__ == "__main__":
    main()
