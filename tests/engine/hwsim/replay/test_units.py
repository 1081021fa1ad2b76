"""Engines of one hardware unit: they alternate, share one queue, and report their waits for each other."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import few
from support.programs.sources import matmul
from support.simulator.exactness import tiled as random_tiled
from support.simulator.machines import PLAIN, plain, roomy

from tilewright.engine.hwsim import Machine, MachineError, Report, load_machine, read_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def joined(machine: Machine, *engines: str) -> Machine:
    for name in engines:
        machine = machine.replace(f"engines.{name}.unit", "core")
    return machine


# 8 elements one by one: a load, an addition and a store each, 24 cycles. A vector with a zero in it: 3 cycles of set-up, and one.
INDEPENDENT = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    L = T.alloc_buffer((1,), "float32", scope="local")
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(1):
        with T.block("L"):
            vi = T.axis.spatial(1, i)
            L[vi] = T.float32(0)
"""


def report_of(machine: Machine) -> Report:
    return simulate(parse(INDEPENDENT).program, machine)


def test_two_engines_of_one_unit_are_serialized():
    assert report_of(plain()).cycles == 24
    report = report_of(joined(plain(), "scalar", "vector"))
    assert report.cycles == 28
    assert [(s.engine, s.start, s.end) for s in report.segments] == [("scalar", 0, 24), ("vector", 24, 28)]
    for name, busy, mate in (("scalar", 24, "vector"), ("vector", 4, "scalar")):
        engine = report.engines[name]
        assert (engine.busy, engine.stall["unit"], engine.stall["idle"]) == (busy, 28 - busy, 0)
        assert [(w.cause, w.block, w.cycles) for w in engine.waits] == [("unit", mate, 28 - busy)]


def test_work_of_a_units_engines_together_is_a_bound():
    report = report_of(joined(plain(), "scalar", "vector"))
    first = report.bounds[0]
    assert (first.name, first.kind, first.cycles) == ("core", "unit", 28)
    assert report.ratio == 1.0


def test_the_compute_module_of_vta_is_one_unit():
    machine = load_machine("vta")
    assert machine.unit_names == ("load", "compute", "store")
    assert [machine.unit_names[n] for n in machine.units] == ["load", "compute", "compute", "compute", "store"]


def test_queue_of_a_unit_is_varied_as_a_whole():
    machine = load_machine("vta").replace("engines.alu.queue_tasks", 3)
    assert machine.queues == (8, 3, 8)
    assert {e.queue_tasks for e in machine.engines if e.unit} == {3}


def test_unit_with_two_queues_is_refused_at_its_line():
    text = PLAIN.replace('kind = "matrix"', 'kind = "matrix"\nunit = "core"')
    text = text.replace('kind = "vector"', 'kind = "vector"\nunit = "core"\nqueue_tasks = 2')
    with pytest.raises(MachineError) as caught:
        read_machine(text, "pair.toml")
    assert caught.value.refusal.code == "uneven-queues"
    assert caught.value.refusal.place is not None
    assert text.splitlines()[caught.value.refusal.place.line - 1] == "queue_tasks = 2"


def tiled() -> PrimFunc:
    """More tasks than are replayed: the unit's engines alternate."""
    sch = Schedule(parse(matmul(512, 512, 512)).program)
    loops = [sch.split(loop, [None, 8]) for loop in sch.get_loops("C")]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    for operand in (0, 1):
        sch.compute_at(sch.cache_read("C", operand, "local"), loops[2][0])
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), loops[1][0])
    sch.decompose_reduction("C", loops[2][0])
    return sch.func


def test_causes_of_a_units_skipped_tasks_sum_to_the_makespan():
    report = simulate(tiled(), joined(roomy(), "matrix", "vector"))
    assert len(report.segments) < 1000
    assert report.engines["matrix"].stall["unit"] >= report.engines["vector"].busy > 0
    require_sums(report)


@few(4)
@given(st.integers(0, 10**6), st.sets(st.sampled_from(["dma", "matrix", "vector", "scalar"]), min_size=2))
def test_law_engines_of_a_unit_work_one_at_a_time_in_program_order(seed: int, engines: set[str]):
    func = random_tiled(Random(seed), "local", "local")
    report = simulate(func, joined(roomy(), *sorted(engines)), whole=10**9)
    spans = [(s.start, s.end) for s in report.segments if s.engine in engines]
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    require_sums(report)


def require_sums(report: Report) -> None:
    for engine in report.engines.values():
        assert engine.busy + sum(engine.stall.values()) == report.cycles
        assert sum(w.cycles for w in engine.waits) == sum(engine.stall.values()) - engine.stall["idle"]
