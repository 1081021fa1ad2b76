"""The replay core against hand-worked pipelines, and the laws that hold for every sequence of tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.hwsim.replay import Stall, Timeline, Variant, replay

DMA, MATRIX = 0, 1


def stalls_of(timeline: Timeline, engine: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for stall in timeline.stalls:
        if stall.engine == engine:
            found[stall.cause] = found.get(stall.cause, 0) + stall.cycles
    return found


def test_given_one_slot_when_replayed_then_load_and_compute_take_turns():
    load = Variant(DMA, 10, writes=(0,))
    compute = Variant(MATRIX, 6, reads=(0,))
    timeline = replay((load, compute), [0, 1] * 3, 2, 1)
    assert timeline.starts == [0, 10, 16, 26, 32, 42]
    assert timeline.cycles == 48
    assert timeline.busy == (30, 18)
    assert stalls_of(timeline, DMA) == {"slot": 12}
    assert stalls_of(timeline, MATRIX) == {"data": 30}
    assert Stall(DMA, "slot", 0, 1, 12) in timeline.stalls


def test_given_two_slots_when_replayed_then_the_longer_hides_the_shorter():
    loads = [Variant(DMA, 10, writes=(s,)) for s in (0, 1)]
    computes = [Variant(MATRIX, 6, reads=(s,)) for s in (0, 1)]
    timeline = replay((*loads, *computes), [0, 2, 1, 3] * 2, 2, 2)
    assert timeline.starts == [0, 10, 10, 20, 20, 30, 30, 40]
    assert timeline.cycles == 46
    assert stalls_of(timeline, DMA) == {}


def test_given_latency_when_a_reader_waits_then_the_engine_is_free_before_the_data_is_there():
    load = Variant(DMA, 10, latency=5, writes=(0,))
    other = Variant(DMA, 10, latency=5, writes=(1,))
    compute = Variant(MATRIX, 6, reads=(0, 1))
    timeline = replay((load, other, compute), [0, 1, 2], 2, 2)
    assert timeline.starts == [0, 10, 25]
    assert timeline.cycles == 31


def test_given_a_result_in_flight_when_the_program_ends_then_the_makespan_includes_its_latency():
    assert replay((Variant(DMA, 10, latency=7, writes=(0,)),), [0, 0], 1, 1).cycles == 27


def test_given_an_update_in_place_when_the_same_engine_goes_on_then_it_does_not_wait_for_the_latency():
    update = Variant(MATRIX, 4, latency=9, writes=(0,))
    store = Variant(DMA, 3, reads=(0,))
    timeline = replay((update, store), [0, 0, 1, 0], 2, 1)
    assert timeline.starts == [0, 4, 17, 20]


def test_given_another_engine_writing_when_a_cell_is_overwritten_then_it_waits_until_the_data_is_there():
    fill = Variant(DMA, 4, latency=9, writes=(0,))
    overwrite = Variant(MATRIX, 2, writes=(0,))
    timeline = replay((fill, overwrite), [0, 1], 2, 1)
    assert timeline.starts == [0, 13]
    assert stalls_of(timeline, MATRIX) == {"slot": 13}


def test_given_no_task_when_replayed_then_nothing_takes_time():
    assert replay((), [], 2, 0) == Timeline([], 0, (0, 0), (0, 0), ())


ENGINES, CELLS = 3, 4
cells = st.lists(st.integers(0, CELLS - 1), max_size=3, unique=True).map(tuple)
variants = st.builds(Variant, st.integers(0, ENGINES - 1), st.integers(1, 20), st.integers(0, 9), cells, cells)
programs = st.lists(variants, min_size=1, max_size=6).flatmap(
    lambda vs: st.tuples(st.just(tuple(vs)), st.lists(st.integers(0, len(vs) - 1), max_size=40))
)


@given(programs)
def test_law_busy_and_stalls_and_idle_make_up_the_makespan(program: tuple[tuple[Variant, ...], list[int]]):
    timeline = replay(*program, ENGINES, CELLS)
    for engine in range(ENGINES):
        waited = sum(stalls_of(timeline, engine).values())
        assert timeline.busy[engine] + waited == timeline.last_end[engine] <= timeline.cycles


@given(programs)
def test_law_no_engine_finishes_before_its_work_is_done(program: tuple[tuple[Variant, ...], list[int]]):
    timeline = replay(*program, ENGINES, CELLS)
    assert timeline.cycles >= max(timeline.busy)
    assert timeline.cycles <= sum(program[0][v].duration + program[0][v].latency for v in program[1])


@given(programs)
def test_law_each_start_is_the_latest_of_its_constraints(program: tuple[tuple[Variant, ...], list[int]]):
    """An independent statement of the rules, quadratic: every earlier task is looked at."""
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
def test_law_a_second_slot_never_makes_a_chain_slower(steps: list[tuple[int, int]], latency: int):
    def run(slots: int) -> int:
        table: list[Variant] = []
        for i, (load, compute) in enumerate(steps):
            table += [Variant(DMA, load, latency, writes=(i % slots,)), Variant(MATRIX, compute, reads=(i % slots,))]
        return replay(table, range(len(table)), 2, slots).cycles

    assert run(2) <= run(1)
