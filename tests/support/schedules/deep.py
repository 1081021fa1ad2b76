"""The deep run: schedules of random programs until a number of calls was accepted, on several processes, with a table of the outcomes.

    PYTHONPATH=tests python -m support.schedules.deep --accepted 100000 --processes 2
    PYTHONPATH=tests python -m support.schedules.deep --seed 17           # one chunk again, the failure minimised

Work is split into chunks; a chunk is a seed. A wrong result names the seed that reproduces it.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from support.schedules.schedule_machine import ScheduleMachine, Tally

from tilewright.engine.schedule import PRIMITIVES

PROGRAMS = 100
"""Programs of a chunk."""
STEPS = 40
HANGS_AFTER = 180
"""Seconds without progress of a chunk after which the stacks are shown."""


def run_chunk(number: int, *, shrink: bool = False) -> tuple[int, Tally, str]:
    """The chunk's number, its counts, and its failure, or ""."""
    tally = Tally()

    @seed(number)
    class Machine(ScheduleMachine):
        def __init__(self) -> None:
            faulthandler.dump_traceback_later(HANGS_AFTER)
            super().__init__(tally)

    chosen = settings(
        max_examples=PROGRAMS,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(Machine, settings=chosen)
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        frames = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[-4:]))
        return number, tally, f"{notes}\n{frames}{type(error).__name__}: {error}"
    finally:
        faulthandler.cancel_dump_traceback_later()
    return number, tally, ""


def run_until(accepted: int, processes: int, first: int, minutes: float) -> tuple[Tally, list[tuple[int, str]]]:
    """Chunks from seed `first` on, until enough calls were accepted or the time is over; the sum, and the failures by seed."""
    total, failures = Tally(), list[tuple[int, str]]()
    started = time.monotonic()
    with ProcessPoolExecutor(processes, max_tasks_per_child=20) as pool:
        seeds: Iterator[int] = count(first)
        running: set[Future[tuple[int, Tally, str]]] = {pool.submit(run_chunk, next(seeds)) for _ in range(processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                number, tally, failure = future.result()
                total.add(tally)
                if failure:
                    failures.append((number, failure))
                    print(f"--- seed {number}\n{failure}", flush=True)
                passed = time.monotonic() - started
                print(
                    f"{sum(total.accepted.values())} accepted, {passed:.0f} s, seed {number}",
                    file=sys.stderr,
                    flush=True,
                )
                if sum(total.accepted.values()) < accepted and passed < 60 * minutes:
                    running.add(pool.submit(run_chunk, next(seeds)))
    return total, failures


def table(total: Tally) -> str:
    """Markdown: a row a primitive."""
    rows = ["| call | tried | accepted | refused for |", "|---|---:|---:|---|"]
    for name in PRIMITIVES:
        codes = sorted(((n, code) for (of, code), n in total.refused.items() if of == name), reverse=True)
        why = ", ".join(f"{code} {n}" for n, code in codes[:6]) + (", ..." if len(codes) > 6 else "")
        rows.append(f"| `{name}` | {total.tried[name]} | {total.accepted[name]} | {why} |")
    rows.append(f"| all | {sum(total.tried.values())} | {sum(total.accepted.values())} | |")
    checks = ", ".join(f"{name} {n}" for name, n in sorted(total.checks.items()))
    return "\n".join([*rows, "", f"{total.programs} programs. At the end of each: {checks}."])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--accepted", type=int, default=2000)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--minutes", type=float, default=600.0, help="no new chunk after that")
    options.add_argument("--first", type=int, default=0, help="the first chunk's seed")
    options.add_argument("--seed", type=int, help="only this chunk, and make its failure small")
    given = options.parse_args()
    if given.seed is not None:
        _, total, failure = run_chunk(given.seed, shrink=True)
        failures = [(given.seed, failure)] if failure else []
        print(failure)
    else:
        total, failures = run_until(given.accepted, given.processes, given.first, given.minutes)
    print(table(total))
    print(f"\n{len(failures)} wrong results{': seeds ' if failures else ''}{', '.join(str(n) for n, _ in failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
