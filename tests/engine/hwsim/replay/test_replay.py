"""Both replay cores against hand calculations, a replay by the cycle, and the laws for every sequence of tasks."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from support.simulator.replays import by_the_cycle, replay

from tilewright.engine.hwsim.access.ports import holding_up
from tilewright.engine.hwsim.replay.clocks import TaskStall, Variant

DMA, MATRIX = 0, 1


def test_loads_and_computation_alternate_in_one_slot():
    load = Variant(DMA, 10, writes=(0,))
    compute = Variant(MATRIX, 6, reads=(0,))
    timeline = replay((load, compute), [0, 1] * 3, 2, 1)
    assert timeline.starts == [0, 10, 16, 26, 32, 42]
    assert timeline.cycles == 48
    assert timeline.busy == (30, 18)
    assert timeline.stalls_of(DMA) == {"slot": 12}
    assert timeline.stalls_of(MATRIX) == {"data": 30}
    assert TaskStall(2, DMA, "slot", 0, 1, 6) in timeline.stalls


def test_two_slots_hide_the_shorter_of_load_and_computation():
    loads = [Variant(DMA, 10, writes=(s,)) for s in (0, 1)]
    computes = [Variant(MATRIX, 6, reads=(s,)) for s in (0, 1)]
    timeline = replay((*loads, *computes), [0, 2, 1, 3] * 2, 2, 2)
    assert timeline.starts == [0, 10, 10, 20, 20, 30, 30, 40]
    assert timeline.cycles == 46
    assert timeline.stalls_of(DMA) == {}


def test_latency_delays_only_the_reader():
    load = Variant(DMA, 10, latency=5, writes=(0,))
    other = Variant(DMA, 10, latency=5, writes=(1,))
    compute = Variant(MATRIX, 6, reads=(0, 1))
    timeline = replay((load, other, compute), [0, 1, 2], 2, 2)
    assert timeline.starts == [0, 10, 25]
    assert timeline.cycles == 31


def test_makespan_includes_the_latency_of_the_last_result():
    assert replay((Variant(DMA, 10, latency=7, writes=(0,)),), [0, 0], 1, 1).cycles == 27


def test_update_in_place_on_one_engine_does_not_wait_for_latency():
    update = Variant(MATRIX, 4, latency=9, writes=(0,))
    store = Variant(DMA, 3, reads=(0,))
    timeline = replay((update, store), [0, 0, 1, 0], 2, 1)
    assert timeline.starts == [0, 4, 17, 20]


def test_overwrite_waits_for_the_data():
    fill = Variant(DMA, 4, latency=9, writes=(0,))
    overwrite = Variant(MATRIX, 2, writes=(0,))
    timeline = replay((fill, overwrite), [0, 1], 2, 1)
    assert timeline.starts == [0, 13]
    assert timeline.stalls_of(MATRIX) == {"slot": 13}


def test_an_empty_program_takes_no_time():
    timeline = replay((), [], 2, 0)
    assert (timeline.starts, timeline.cycles, timeline.stalls) == ([], 0, [])


def test_a_short_queue_delays_the_tasks_behind_it():
    """The second load is issued when the first has left the queue; the multiplication behind it in the program, only then."""
    load, other = Variant(DMA, 10, writes=(0,)), Variant(DMA, 10, writes=(1,))
    compute = Variant(MATRIX, 6)
    timeline = replay((load, other, compute), [0, 1, 1, 2], 2, 2, queues=(1, 1))
    assert timeline.starts == [0, 10, 20, 10]
    assert TaskStall(3, MATRIX, "issue", -1, DMA, 10) in timeline.stalls
    assert replay((load, other, compute), [0, 1, 1, 2], 2, 2, queues=(2, 1)).starts == [0, 10, 20, 0]


def test_bursts_at_a_shared_port_alternate():
    """Six and four cycles of the port in bursts of two: dma 0-2, matrix 2-4, dma 4-6, matrix 6-8, dma 8-10."""
    load = Variant(DMA, 6, demands=((0, 6),))
    compute = Variant(MATRIX, 4, demands=((0, 4),))
    timeline = replay((load, compute), [0, 1], 2, 0, bursts=(2,))
    assert (timeline.starts, timeline.ends) == ([0, 0], [10, 8])
    assert timeline.stalls == [TaskStall(1, MATRIX, "port", 0, -1, 4), TaskStall(0, DMA, "port", 0, -1, 4)]


def test_a_port_is_requested_after_the_set_up():
    load = Variant(DMA, 9, setup=5, demands=((0, 4),))
    compute = Variant(MATRIX, 4, demands=((0, 4),))
    timeline = replay((load, compute), [0, 1], 2, 0, bursts=(4,))
    assert timeline.ends == [9, 4] and not timeline.stalls


ENGINES, CELLS = 3, 4
cells = st.lists(st.integers(0, CELLS - 1), max_size=3, unique=True).map(tuple)
variants = st.builds(Variant, st.integers(0, ENGINES - 1), st.integers(1, 20), st.integers(0, 9), cells, cells)
programs = st.lists(variants, min_size=1, max_size=6).flatmap(
    lambda vs: st.tuples(st.just(tuple(vs)), st.lists(st.integers(0, len(vs) - 1), max_size=40))
)


queues = st.lists(st.integers(1, 3), min_size=ENGINES, max_size=ENGINES)


@st.composite
def sharing(draw: st.DrawFn) -> tuple[tuple[Variant, ...], list[int], list[int], list[int]]:
    """(variants, sequence, queues, bursts) of a program whose tasks request ports."""
    table, sequence = draw(programs)
    bursts = draw(st.lists(st.integers(1, 4), max_size=2))
    variants: list[Variant] = []
    for v in table:
        setup = draw(st.integers(0, v.duration - 1))
        demands = tuple(
            (port, draw(st.integers(1, v.duration - setup))) for port in range(len(bursts)) if draw(st.booleans())
        )
        variants.append(
            msgspec.structs.replace(
                v, setup=setup, demands=demands, writes=tuple(c for c in v.writes if c not in v.reads)
            )
        )
    return tuple(variants), sequence[:20], draw(queues), bursts


@given(sharing(), st.booleans())
def test_law_a_replay_is_that_of_every_cycle(
    program: tuple[tuple[Variant, ...], list[int], list[int], list[int]], knows_users: bool
):
    table, sequence, depth, bursts = program
    users = holding_up(table, bursts) if knows_users else None
    timeline = replay(table, sequence, ENGINES, CELLS, queues=depth, bursts=bursts, users=users)
    assert (timeline.starts, timeline.ends) == by_the_cycle(table, sequence, ENGINES, queues=depth, bursts=bursts)
    for engine in range(ENGINES):
        assert timeline.busy[engine] + sum(timeline.stalls_of(engine).values()) == timeline.last_end[engine]


@given(sharing())
def test_law_ports_without_stalls_may_be_left_out(
    program: tuple[tuple[Variant, ...], list[int], list[int], list[int]],
):
    table, sequence, depth, bursts = program
    every, few = (
        replay(table, sequence, ENGINES, CELLS, queues=depth, bursts=bursts, users=users)
        for users in (None, holding_up(table, bursts))
    )
    assert (every.starts, every.ends, every.cycles) == (few.starts, few.ends, few.cycles)
    assert sorted(every.stalls, key=_by_task) == sorted(few.stalls, key=_by_task)


def _by_task(stall: TaskStall) -> tuple[int, str]:
    return stall.task, stall.cause


@given(programs, queues)
def test_law_both_replay_cores_agree_without_shared_ports(
    program: tuple[tuple[Variant, ...], list[int]], depth: list[int]
):
    quick = replay(*program, ENGINES, CELLS, queues=depth)
    slow = replay(*program, ENGINES, CELLS, queues=depth, bursts=())
    assert (quick.starts, quick.ends, quick.cycles) == (slow.starts, slow.ends, slow.cycles)
    assert sorted(quick.stalls, key=lambda s: s.task) == sorted(slow.stalls, key=lambda s: s.task)


@given(programs)
def test_law_busy_stalls_and_idle_sum_to_the_makespan(program: tuple[tuple[Variant, ...], list[int]]):
    timeline = replay(*program, ENGINES, CELLS)
    for engine in range(ENGINES):
        waited = sum(timeline.stalls_of(engine).values())
        assert timeline.busy[engine] + waited == timeline.last_end[engine] <= timeline.cycles


@given(programs)
def test_law_makespan_covers_the_work_of_engines(program: tuple[tuple[Variant, ...], list[int]]):
    timeline = replay(*program, ENGINES, CELLS)
    assert timeline.cycles >= max(timeline.busy)
    assert timeline.cycles <= sum(program[0][v].duration + program[0][v].latency for v in program[1])


@given(programs)
def test_law_each_start_is_the_latest_of_its_constraints(program: tuple[tuple[Variant, ...], list[int]]):
    """An independent statement of the rules, quadratic: every earlier task is checked."""
    table, sequence = program
    starts = replay(table, sequence, ENGINES, CELLS).starts
    for i, number in enumerate(sequence):
        task = table[number]
        earliest = 0
        last_write: dict[int, int] = {}
        for j in range(i):
            before = table[sequence[j]]
            end = starts[j] + before.duration
            if before.engine == task.engine or set(before.reads) & set(task.writes):
                earliest = max(earliest, end)
            last_write.update((c, j) for c in before.writes)
        for cell, j in last_write.items():
            before = table[sequence[j]]
            if cell in task.reads or (cell in task.writes and before.engine != task.engine):
                earliest = max(earliest, starts[j] + before.duration + before.latency)
        assert starts[i] == earliest


@given(programs, st.integers(0, ENGINES - 1))
def test_law_a_faster_engine_never_makes_the_program_slower(
    program: tuple[tuple[Variant, ...], list[int]], engine: int
):
    """True in this model because the order of tasks on each engine is fixed: start times are monotone in durations."""
    table, sequence = program
    faster = [
        Variant(v.engine, max(1, v.duration // 2), v.latency, v.reads, v.writes) if v.engine == engine else v
        for v in table
    ]
    before, after = replay(table, sequence, ENGINES, CELLS), replay(faster, sequence, ENGINES, CELLS)
    assert all(b <= a for a, b in zip(before.starts, after.starts, strict=True))
    assert after.cycles <= before.cycles


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=20), st.integers(0, 9))
def test_law_second_slot_is_never_slower(steps: list[tuple[int, int]], latency: int):
    def run(slots: int) -> int:
        table: list[Variant] = []
        for i, (load, compute) in enumerate(steps):
            table += [Variant(DMA, load, latency, writes=(i % slots,)), Variant(MATRIX, compute, reads=(i % slots,))]
        return replay(table, range(len(table)), 2, slots).cycles

    assert run(2) <= run(1)
