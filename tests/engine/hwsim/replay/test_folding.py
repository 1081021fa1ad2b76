"""Times of a timeline with compressed repeats: a replay of every task is the oracle."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.sources import matmul
from support.simulator.machines import plain
from support.simulator.task_trees import task_program

from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.hwsim import Report, simulate
from tilewright.engine.hwsim.errors import MachineError
from tilewright.engine.hwsim.replay.repeats import Repeat
from tilewright.engine.hwsim.replay.series import Series
from tilewright.engine.hwsim.replay.steady import Simulated, replay_tasks
from tilewright.engine.hwsim.replay.time_map import Density, TimeMap
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

MOST = 8_000


def both_ways(seed: int, ports: int) -> tuple[Simulated, Simulated] | None:
    program = task_program(Random(seed), ports=ports)
    try:
        return replay_tasks(program, MOST, 10**9), replay_tasks(program, MOST, 0)
    except MachineError:
        return None


def density(simulated: Simulated) -> Density:
    """The busy cycles of each engine."""
    clocks = simulated.clocks
    starts, ends = (np.array(c, np.int64) for c in (clocks.starts, clocks.ends))
    engines = np.array([clocks.table[n].engine for n in clocks.numbers], np.int64)
    folding = TimeMap(simulated.repeats, int(ends.max(initial=0)))
    return Density(starts, ends, engines, 4, folding)


@given(st.integers(0, 2**32), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_law_busy_cycles_before_any_time_are_those_of_a_plain_replay(seed: int, parts: list[float]) -> None:
    found = both_ways(seed, ports=0)
    if found is None or not found[0].clocks.numbers:
        return
    plain_, fast = found
    cycles = [round(part * plain_.cycles) for part in parts]
    assert density(fast).before(cycles).tolist() == density(plain_).before(cycles).tolist()


@given(st.integers(0, 2**32), st.floats(0, 1), st.integers(1, 500))
def test_law_intervals_of_a_window_fill_it_without_gaps(seed: int, part: float, length: int) -> None:
    found = both_ways(seed, ports=seed % 2)
    if found is None:
        return
    _, fast = found
    folding = TimeMap(fast.repeats, fast.clocks.finish())
    start = round(part * fast.cycles)
    at = start
    for stretch in folding.stretches(start, start + length):
        assert stretch.start + stretch.later == at and stretch.end > stretch.start
        assert folding.at(at).simulated == stretch.start
        assert folding.at(at + stretch.end - stretch.start - 1).simulated == stretch.end - 1
        at += stretch.end - stretch.start
    assert at == start + length


def test_time_in_nested_repeats_names_each_iteration() -> None:
    def repeat(number: int, start: int, end: int, cycles: int, extra: int) -> Repeat:
        return Repeat(number, start, end, Series(((cycles, ()),)), extra, 0, 0, 0, (), 1)

    # 10 to 20 comes three times, and 5 to 30 with all that four times: 45 cycles each.
    folding = TimeMap((repeat(0, 10, 20, 10, 2), repeat(1, 5, 30, 45, 3)), 40)
    assert folding.levels() == {1: 0, 0: 1}
    assert folding.at(4) == (4, ())
    assert folding.at(5) == (5, ((1, 0),))
    assert folding.at(5 + 5 + 10 + 3) == (13, ((1, 0), (0, 1)))
    assert folding.at(5 + 45 + 5 + 30) == (20, ((1, 1),))
    assert folding.at(5 + 4 * 45) == (30, ())
    assert [tuple(s) for s in folding.stretches(0, 200)][:4] == [(0, 5, 0), (5, 10, 0), (10, 20, 0), (10, 20, 10)]
    assert folding.passed([folding.at(13 + 20), folding.at(199)]).tolist() == [[2, 0], [11, 3]]


def long_matmul(k: int) -> Report:
    sch = Schedule(parse(matmul(8, 8, k)).program)
    ko, _ = sch.split(sch.get_loops("C")[2], factors=[None, 8], names=["ko", "ki"])
    sch.reorder(ko, *sch.get_loops("C")[:2])
    for n in (0, 1):
        sch.compute_at(sch.cache_read("C", n, "local"), ko)
    sch.cache_write("C", 0, "local")
    return simulate(sch.func, plain())


@pytest.mark.parametrize("k", [3, 40, 700])
def test_a_task_is_found_by_its_indices(k: int) -> None:
    line = long_matmul(8 * k).timeline
    for row in line.unrolled():
        marked = line.numbers == line.numbers[row.row]
        variants = np.zeros(int(line.numbers.max()) + 1, bool)
        variants[line.numbers[marked]] = True
        assert line.find(variants, row.place) == int(line.starts[row.row]) + row.later
    assert line.find(variants, (k + 5, 0)) is None


def test_one_of_many_iterations_is_found_in_constant_time() -> None:
    line = long_matmul(8 * 100_000).timeline
    (repeat,) = line.repeats
    row = repeat.first
    variants = np.arange(int(line.numbers.max()) + 1) == line.numbers[row]
    place = repeat.later(line.places[row], 23_456, row)
    assert line.find(variants, place) == int(line.starts[row]) + 23_456 * repeat.cycles


@pytest.mark.parametrize("name", ["gemmini_gemm", "vta_gemm"])
def test_tasks_of_examples_with_repeats_are_found(name: str) -> None:
    from_text = next(e for e in load_examples() if e.name == name)
    report = _report_of(from_text.text)
    line, segments = report.timeline, report.segments
    assert line.repeats
    blocks = [segments.kind(n).block for n in range(int(line.numbers.max()) + 1)]
    for row in list(line.unrolled())[::7]:
        mine = np.array([block == blocks[int(line.numbers[row.row])] for block in blocks])
        assert line.find(mine, row.place) == int(line.starts[row.row]) + row.later


def _report_of(text: str) -> Report:
    from tilewright.app.actions.opening import OpenText
    from tilewright.app.actions.table import act
    from tilewright.app.state.derived import Store
    from tilewright.app.state.model import State

    report = Store().simulated(act(State(), OpenText(text)))
    assert isinstance(report, Report)
    return report
