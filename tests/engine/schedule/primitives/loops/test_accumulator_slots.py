"""double_buffer of an accumulator: a reduction in one block or in two, init and update, whose result a later block stores."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from support.profile import samples
from support.programs.sources import matmul
from support.simulator.machines import roomy

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.hwsim import simulate
from tilewright.engine.lower import PASSES, allocations, lower
from tilewright.engine.prove import prove
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def accumulated(parts: int, tile: int = 16, size: int = 64, scope: str = "local") -> Schedule:
    """A tiled matmul whose sums are in a buffer for each tile of the result, in one block or in two."""
    sch = Schedule(parse(matmul(size, size, size)).program)
    outer, inner = zip(*(sch.split(loop, factors=[None, tile]) for loop in sch.get_loops("C")), strict=True)
    sch.reorder(*outer, *inner)
    sch.reverse_compute_at(sch.cache_write("C", 0, scope), outer[1])
    if parts == 2:
        sch.decompose_reduction("C", outer[2])
    return sch


def assert_same_when_lowered(sch: Schedule) -> None:
    inputs = random_inputs(sch.func)
    expected, lowered = run(sch.original[sch.func_name], inputs), run(lower(sch.func), inputs)
    assert all(np.array_equal(lowered[name], expected[name]) for name in expected)


@pytest.mark.parametrize(("parts", "block"), [(1, "C"), (2, "C"), (2, "C_init")])
@pytest.mark.parametrize("slots", [2, 3])
def test_double_buffered_sums_of_tiles_alternate_between_slots(parts: int, block: str, slots: int) -> None:
    sch = accumulated(parts)
    sch.double_buffer(block, slots=slots)
    (found,) = allocations(sch.func)
    assert (found.slots, found.tile, found.loop) == (slots, (16, 16), sch.get_loops("C")[1])
    assert sch.verify().status == "tested"
    assert_same_when_lowered(sch)


@pytest.mark.parametrize("seed", samples(range(20), *range(6)))
def test_law_tiles_of_sums_keep_the_result(seed: int) -> None:
    rng = Random(seed)
    parts, size = rng.choice((1, 2)), rng.choice((24, 40, 56))
    sch = accumulated(parts, rng.choice((5, 8, 16)), size)
    sch.double_buffer(rng.choice(sch.index.writers(sch.get("C").writes[0].buffer)), slots=rng.choice((2, 3, 5)))
    if rng.random() < 0.5:
        sch.pipeline(sch.get_loops("C")[1], [0] * parts + [1])
    assert_same_when_lowered(sch)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2])
def test_slots_of_sums_and_each_lowering_pass_are_proved(parts: int) -> None:
    pytest.importorskip("islpy")
    sch = accumulated(parts, 8, 16)
    sch.double_buffer("C", slots=2)
    assert sch.prove().status == "proved"
    for step in PASSES:
        assert prove(lower(sch.func, until=step.name), sch.original[sch.func_name]).status == "proved", step.name


def test_slot_of_sums_is_stored_while_the_next_tile_is_computed() -> None:
    one, two = accumulated(2), accumulated(2)
    two.double_buffer("C")
    machine = roomy()
    before, after = (simulate(sch.func, machine) for sch in (one, two))
    assert after.cycles < before.cycles
    slot_waits = [sum(e.stall["slot"] for e in report.engines.values()) for report in (before, after)]
    assert slot_waits[1] < slot_waits[0]
    whole = simulate(two.func, machine, whole=10**6)
    assert whole.to_json() == simulate(two.func, machine, whole=0).to_json()


CARRIED = """
@T.prim_func
def sums(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    S = T.alloc_buffer((1,), "int32")
    with T.block("start"):
        o = T.axis.spatial(1, 0)
        S[o] = 0
    for i in range(16):
        with T.block("add"):
            v = T.axis.opaque(16, i)
            S[0] = S[0] + A[v]
        with T.block("out"):
            v = T.axis.opaque(16, i)
            B[v] = S[0]
"""


def test_double_buffer_of_a_carried_sum_is_refused() -> None:
    sch = Schedule(parse(CARRIED).program)
    with pytest.raises(ScheduleError) as refused:
        sch.double_buffer("add")
    assert refused.value.code == "no-loop-to-overlap"
    whole = CARRIED.replace('    with T.block("start"):\n        o = T.axis.spatial(1, 0)\n        S[o] = 0\n', "")
    sch = Schedule(parse(whole).program)
    with pytest.raises(ScheduleError) as refused:
        sch.double_buffer("add")
    assert refused.value.code == "not-filled-anew" and refused.value.refusal.found == "add"


def test_double_buffering_a_second_writer_is_refused() -> None:
    sch = accumulated(2)
    sch.double_buffer("C_init")
    with pytest.raises(ScheduleError) as refused:
        sch.double_buffer("C", slots=3)
    assert refused.value.code == "annotation-exists"
