"""Skipped repeats are exact: a replay of every task is the oracle."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.profile import IS_DEEP, few
from support.simulator.task_trees import Loop, Task, task_program

from tilewright.engine.hwsim.errors import MachineError
from tilewright.engine.hwsim.replay.clocks import Variant
from tilewright.engine.hwsim.replay.steady import Simulated, replay_tasks
from tilewright.engine.hwsim.replay.timeline import ReplayTimeline

WHOLE = 10**9
MOST = 8_000


def timeline(simulated: Simulated) -> ReplayTimeline:
    clocks = simulated.clocks
    starts, ends = (np.array(c, np.int64) for c in (clocks.starts, clocks.ends))
    times = np.ones(len(starts), np.int64)
    for r in simulated.repeats:
        times[r.first : r.last] *= 1 + r.extra
    return ReplayTimeline(
        np.array(clocks.numbers, np.int64), simulated.places, starts, starts, ends, ends, times, starts,
        np.array(clocks.units, np.int64), tuple(clocks.free), clocks.stalls, simulated.repeats, simulated.cycles,
    )  # fmt: skip


def tasks(simulated: Simulated) -> list[tuple[int, int, tuple[int, ...]]]:
    """(start, variant, iterations of the surrounding loops) of every task of the program."""
    line = timeline(simulated)
    return [(int(line.starts[r.row]) + r.later, int(line.numbers[r.row]), r.place) for r in line.unrolled()]


def stalls(simulated: Simulated) -> Counter[tuple[int, str, int, int]]:
    found: Counter[tuple[int, str, int, int]] = Counter()
    for s, cycles in zip(simulated.clocks.stalls, timeline(simulated).stalled, strict=True):
        found[s.engine, s.cause, s.cell, s.by] += cycles
    return found


def both_ways(program: Any) -> tuple[Simulated, Simulated] | None:
    """All tasks replayed, and as few as possible; None if all are too many for a test."""
    try:
        return replay_tasks(program, MOST, WHOLE), replay_tasks(program, MOST, 0)
    except MachineError:
        return None


# A port with no pending request did not advance before a lone task ran: its turns continued behind another engine.
@example(5010, 2)
# An engine whose task had just ended was treated as one without further requests.
@example(6246, 2)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 3]))
def test_law_skipping_agrees_with_a_plain_replay(seed: int, ports: int) -> None:
    found = both_ways(task_program(Random(seed), ports=ports))
    if found is None:
        return
    plain, fast = found
    assert not plain.repeats
    assert tasks(fast) == tasks(plain)
    assert stalls(fast) == stalls(plain)
    assert fast.cycles == plain.cycles


@given(st.integers(0, 2**32))
def test_law_both_replay_cores_agree_without_ports(seed: int) -> None:
    program = task_program(Random(seed), ports=1, demands=False)
    try:
        slow = replay_tasks(program, MOST, WHOLE)
    except MachineError:
        return
    program.ports = []
    quick = replay_tasks(program, MOST, WHOLE)
    assert tasks(slow) == tasks(quick) and slow.clocks.ends == quick.clocks.ends
    assert Counter(slow.clocks.stalls) == Counter(quick.clocks.stalls)


@few(5)
@given(st.integers(0, 2**32), st.integers(0, 5_000), st.integers(1, 2_000))
def test_law_an_interval_has_the_tasks_active_in_it(seed: int, start: int, length: int) -> None:
    found = both_ways(task_program(Random(seed), ports=seed % 2))
    if found is None:
        return
    line = timeline(found[1])
    every = list(line.unrolled())
    inside = [
        r
        for r in every
        if line.starts[r.row] + r.later < start + length
        and max(line.there[r.row], line.starts[r.row] + 1) + r.later > start
    ]
    assert list(line.unrolled(start, start + length)) == inside


@pytest.mark.slow
def test_random_programs_have_repeats_to_skip() -> None:
    simulated = skipped = 0
    for seed in range(60 if IS_DEEP else 15):
        found = both_ways(task_program(Random(seed), ports=seed % 3))
        if found is not None:
            plain, fast = found
            simulated += len(fast.places)
            skipped += len(plain.places) - len(fast.places)
    assert skipped > simulated > (1000 if IS_DEEP else 250)


def test_random_programs_have_merged_loops() -> None:
    def nests(nodes: Any) -> int:
        return sum((len(n.loops) > 1) + nests(n.children) for n in nodes if isinstance(n, Loop))

    assert sum(nests(task_program(Random(seed)).tree) for seed in range(200)) > 20


def test_too_many_distinct_tasks_are_refused() -> None:
    with pytest.raises(MachineError, match="more than 10 distinct tasks"):
        replay_tasks(_two_loads(1000), 10, 0)


def test_billion_iterations_replay_as_few_tasks_as_a_thousand() -> None:
    few, many = (replay_tasks(_two_loads(extent), whole=0) for extent in (1_000, 10**9))
    assert len(few.places) == len(many.places) < 100
    assert many.cycles - few.cycles == (10**9 - 1000) * 30


def _two_loads(extent: int) -> Any:
    """A loop with a task of 30 cycles on one engine, and one of 20 on another that needs its result; two slots."""
    rng = Random(0)
    program = task_program(rng)
    var = object()
    table = [
        *(Variant(0, 30, 0, (), (slot,)) for slot in (0, 1)),
        *(Variant(1, 20, 0, (slot,), ()) for slot in (0, 1)),
    ]
    load = Task(0, (0, 1), lambda at: at[var] % 2)
    use = Task(1, (0, 1), lambda at: 2 + at[var] % 2)
    load.turns = use.turns = [(var, 2)]
    loop = Loop((SimpleNamespace(var=var, extent=extent),), (load, use), (0, 1), (0, 1), None, (), None, {})  # type: ignore[arg-type]
    program.tree = (loop,)
    program.variants = [SimpleNamespace(replay=v, template=0) for v in table]
    program.machine = SimpleNamespace(queues=(8, 8), longest_preload=0)
    program.places = SimpleNamespace(of_cell=[None] * 2)
    return program
