"""Checks that skipping repeats is exact: random trees of tasks, tiled programs and triangular nests on random machines are replayed in full
and with maximal skipping; all metrics of the reports are compared.

    PYTHONPATH=tests python -m support.simulator.exactness --count 2000
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from support.programs.sources import matmul
from support.simulator.machines import plain, roomy
from support.simulator.task_trees import task_program
from support.simulator.triangles import triangular

from tilewright.engine.hwsim import DmaEngine, Machine, MachineError, Report, load_machine, simulate
from tilewright.engine.hwsim.replay.repeats import weights
from tilewright.engine.hwsim.replay.stall_cycles import stall_cycles
from tilewright.engine.hwsim.replay.steady import Simulated, replay_tasks
from tilewright.engine.hwsim.tasks import tree as task_tree
from tilewright.engine.ir import AXIS_SEPARATOR, PrimFunc
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

EVERYTHING = 10**9
MOST_TASKS = 40_000
REPORTED = 250
"""A long run reports its progress after this many programs."""


MACHINES = (
    (plain(), "local", "local"),
    (roomy(), "local", "local"),
    (load_machine("dual-bank-npu"), "local.vtcm", "local.acc"),
)


def stalls(played: Simulated) -> Counter[tuple[int, str, int, int]]:
    """Stall cycles by engine, cause, cell and blamed engine; with repeats multiplied."""
    clocks = played.clocks
    times = weights(played.repeats, [(r.first, r.last) for r in played.repeats], len(played.places)).tolist()
    cycles = stall_cycles(clocks.stalls, played.repeats, times, clocks.starts, clocks.ends, clocks.units)
    found: Counter[tuple[int, str, int, int]] = Counter()
    for s, stalled in zip(clocks.stalls, cycles, strict=True):
        found[s.engine, s.cause, s.cell, s.by] += stalled
    return found


def tiled(rng: Random, operands: str, result: str) -> PrimFunc:
    """A tiled matmul with operands and result staged to these scopes: edges, slots and banked buffers as they come."""
    m, n, k = (rng.choice([8, 16, 24, 61, 64, 90, rng.randint(1, 100)]) for _ in range(3))
    sch = Schedule(parse(matmul(m, n, k)).program)
    outer, inner = [], []
    for loop in sch.get_loops("C"):
        first, second = sch.split(loop, factors=[None, rng.choice([4, 8, 8, 16])])
        outer.append(first)
        inner.append(second)
    sch.reorder(*outer, *inner)
    for operand in (0, 1):
        copy = sch.cache_read("C", operand, operands)
        sch.compute_at(copy, rng.choice(outer))
        if rng.random() < 0.3:
            _tried(sch, "transform_layout", copy, ("write", 0), lambda i, j: [i % 2, AXIS_SEPARATOR, i // 2, j])
        if rng.random() < 0.6:
            _tried(sch, "double_buffer", copy, slots=rng.choice([2, 2, 3, 5]))
    if rng.random() < 0.8:
        write = sch.cache_write("C", 0, result)
        sch.reverse_compute_at(write, rng.choice(outer[:2]))
    return sch.func


def _tried(sch: Schedule, method: str, *args: Any, **options: Any) -> None:
    try:
        getattr(sch, method)(*args, **options)
    except ScheduleError:
        return


def varied(rng: Random, machine: Machine) -> Machine:
    """The machine with some parameters changed: engines that are one unit, narrow and shared ports, bursts, short queues, latencies,
    several channels of a DMA, few outstanding requests, a transposer, ports of blocks."""
    more = Random(repr(rng.getstate()))  # separate from `rng`, so that a seed keeps its program
    if rng.random() < 0.4:
        for engine in rng.sample(machine.engines, rng.randint(2, len(machine.engines))):
            machine = machine.replace(f"engines.{engine.name}.unit", "core")
    for memory in machine.memories:
        path = f"memories.{memory.name}"
        for figure, values in (("read_bytes_per_cycle", (1, 3, 4, 16, 64)), ("burst_bytes", (1, 8, 64)), ("ports", ("shared", "separate")),
                               ("latency_cycles", (0, 7, 100))):  # fmt: skip
            if rng.random() < 0.5:
                machine = machine.replace(f"{path}.{figure}", rng.choice(values))
        if more.random() < 0.3 and memory.banks > 1:
            for figure in ("read_bytes_per_cycle", "write_bytes_per_cycle"):
                machine = machine.replace(f"{path}.{figure}", memory.banks * more.choice((1, 4, 16)))
            machine = machine.replace(f"{path}.block_ports", "own")
            if more.random() < 0.5 and memory.capacity_bytes % (32 * memory.banks) == 0:
                machine = machine.replace(f"{path}.interleave_bytes", more.choice((4, 8, 32)))
                machine = machine.replace(f"{path}.mapping", "interleave")
    for engine in machine.engines:
        for figure, counts in (
            ("queue_tasks", (1, 2, 4, 16)),
            ("setup_cycles", (0, 5, 40)),
            ("latency_cycles", (0, 9)),
        ):
            if rng.random() < 0.4:
                machine = machine.replace(f"engines.{engine.name}.{figure}", rng.choice(counts))
        for figure in ("wait_cycles", "signal_cycles"):
            if more.random() < 0.2:
                machine = machine.replace(f"engines.{engine.name}.{figure}", more.choice((1, 6, 30)))
        if isinstance(engine, DmaEngine):
            path = f"engines.{engine.name}"
            if more.random() < 0.4 and not machine.engine(engine.name).unit:
                machine = machine.replace(f"{path}.channels", more.choice((2, 2, 3, 4)))
            if more.random() < 0.2:
                machine = machine.replace(f"{path}.outstanding_requests", more.choice((1, 4, 32)))
            if more.random() < 0.2:
                machine = machine.replace(f"{path}.transpose_bytes_per_cycle", more.choice((1, 4, 32)))
    return machine


def same_figures(few: Report, every: Report) -> bool:
    """All metrics, and the tasks of an interval in the middle."""
    middle = every.cycles // 2, every.cycles // 2 + 200
    return few.to_json() == every.to_json() and list(few.segments.between(*middle)) == list(
        every.segments.between(*middle)
    )


def differing_reports(func: PrimFunc, machine: Machine) -> bool:
    """Whether a report depends on the number of replayed tasks."""
    few, every = (simulate(func, machine, MOST_TASKS, whole=whole) for whole in (0, EVERYTHING))
    return not same_figures(few, every)


def triangle_reports(
    rng: Random, most: int = MOST_TASKS, nest: Callable[[Random], PrimFunc] = triangular
) -> tuple[Report, Report]:
    """A random triangular nest on a random machine: replayed in full, without an analysis of its triangles, and with maximal skipping."""
    machine, func = varied(rng, roomy()), nest(rng)
    analysis = task_tree.growing
    task_tree.growing = lambda level, run, at, analyzer: [run]
    try:
        every = simulate(func, machine, most, whole=EVERYTHING)
    finally:
        task_tree.growing = analysis
    return every, simulate(func, machine, most, whole=0)


def differing(counts: Counter[str]) -> int:
    return counts["trees that differ"] + counts["programs that differ"] + counts["triangles that differ"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for n, seed in enumerate(range(options.first, options.first + options.count)):
        if n and n % REPORTED == 0:
            print(f"{n} done, {differing(counts)} differ", file=sys.stderr, flush=True)
        rng = Random(seed)
        tree = task_program(rng, ports=seed % 4)
        try:
            every, few = replay_tasks(tree, MOST_TASKS, EVERYTHING), replay_tasks(tree, MOST_TASKS, 0)
        except MachineError:
            counts["trees too long to play"] += 1
        else:
            counts["trees"] += 1
            counts["tasks of trees"] += len(every.places)
            counts["played of these"] += len(few.places)
            if (few.cycles, stalls(few)) != (every.cycles, stalls(every)):
                print(f"tree {seed} differs", flush=True)
                counts["trees that differ"] += 1
        try:
            all_played, few_played = triangle_reports(rng)
        except MachineError as refused:
            counts[f"triangles refused: {refused.code}"] += 1
        else:
            counts["triangles"] += 1
            counts["triangles whose rows are skipped"] += any(r.more for r in few_played.timeline.repeats)
            counts["tasks of triangles"] += len(all_played.segments)
            counts["tasks of triangles that were played"] += len(few_played.segments)
            if not same_figures(few_played, all_played):
                print(f"triangle {seed} differs", flush=True)
                counts["triangles that differ"] += 1
        try:
            base, *scopes = rng.choice(MACHINES)
            func, machine = tiled(rng, *scopes), varied(rng, base)
            reports = [simulate(func, machine, MOST_TASKS, whole=whole) for whole in (0, EVERYTHING)]
        except (MachineError, ScheduleError) as refused:
            counts[f"programs refused: {refused.code}"] += 1
            continue
        counts["programs"] += 1
        counts["programs with shared ports"] += any(e.stall["port"] for e in reports[1].engines.values())
        counts["tasks of programs"] += len(reports[1].segments)
        counts["tasks of programs that were played"] += len(reports[0].segments)
        if not same_figures(*reports):
            print(f"program {seed} differs", flush=True)
            counts["programs that differ"] += 1
    for what, count in counts.items():
        print(f"{count:10,} {what}")


if __name__ == "__main__":
    main()
