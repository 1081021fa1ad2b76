"""What a folded replay of a chip gets wrong, beside the plain one: cycles, tasks, stalls by cause, and traffic of links."""

from __future__ import annotations

from collections import Counter
from typing import Any

from support.simulator.chips.oracle import Chip

from tilewright.engine.hwsim.replay.cores.chip import ChipRun
from tilewright.engine.hwsim.replay.repeats import weights
from tilewright.engine.hwsim.replay.stall_cycles import stall_cycles


def differing(chip: Chip, cycles: int, run: ChipRun, bounded: ChipRun) -> list[str]:
    """The differences of a run that must be exact, and of one that must at least give an interval, from the plain replay."""
    found = [f"{run.cycles} cycles are {cycles}"] if run.reasons or run.cycles != cycles else []
    if not bounded.least <= cycles <= bounded.most:
        found.append(f"{cycles} cycles are not between {bounded.least} and {bounded.most}")
    first, clocks = chip.cores[0].tasks, run.simulated.clocks
    times = [t.start for t in first], [t.end for t in first]
    if not run.simulated.repeats and (clocks.starts, clocks.ends) != times:
        found.append("the tasks of the first core")
    return [*found, *_stalls(chip, run), *_traffic(chip, run)]


def _stalls(chip: Chip, run: ChipRun) -> list[str]:
    """The cycles that engines of the first core stall, by cause, and those that each core waits for ports, where both replays differ."""
    clocks, repeats = run.simulated.clocks, run.simulated.repeats
    times = weights(repeats, [(r.first, r.last) for r in repeats], len(clocks.numbers)).tolist()
    cycles = stall_cycles(clocks.stalls, repeats, times, clocks.starts, clocks.ends, clocks.units)
    own: Counter[tuple[int, str]] = Counter()
    for stall, each in zip(clocks.stalls, cycles, strict=True):
        own[stall.engine, stall.cause] += each
    every: Counter[tuple[int, str]] = Counter()
    for task in chip.cores[0].tasks:
        for cause, each in task.stalls.items():
            every[task.variant.engine, cause] += each
    found = [f"stalls {dict(own - every)} are {dict(every - own)}"] if +own != +every else []
    if run.waited:
        waited = [
            sum(of_port[c] for of_port in run.waited.values()) for c in range(len(next(iter(run.waited.values()))))
        ]
        there = [sum(task.stalls["port"] for task in core.tasks) for core in chip.cores]
        found += [f"waits at ports {waited} are {there}"] if waited != there[: len(waited)] else []
    return found


def _traffic(chip: Chip, run: ChipRun) -> list[str]:
    """The cycles of the segments of links where both replays differ, if a run knows them."""
    found: list[str] = []
    for port, segments in run.segments.items():
        every = {
            (where[1], _numbered(where[2])): cycles
            for where, cycles in chip.granted.items()
            if where[0] == port and cycles
        }
        if segments and {s: n for s, n in segments.items() if n} != every:
            found.append(f"segments of port {port}")
    return found


def _numbered(segment: Any) -> tuple[int, int]:
    """A segment of the oracle with the engine's numbers for attachments."""
    if segment == ("bus",):
        return -1, 0
    start, end = (n if isinstance(n, int) else -1 - n[1] for n in segment)
    return start, end
