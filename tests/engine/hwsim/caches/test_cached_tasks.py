"""Caches in the report: stalls of tasks equal the cost of their misses, and the report has the number of simulated accesses."""

from __future__ import annotations

import json

import pytest
from support.programs.sources import matmul

from tilewright.engine.export import report_text
from tilewright.engine.hwsim import Machine, load_machine, simulate
from tilewright.engine.hwsim.caches.run import cache_counts
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

COPY = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def copy(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for {loops} in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def core(**figures: int) -> Machine:
    """A scalar core behind one small cache: 4 KiB, 2 ways, lines of 64 B."""
    machine = load_machine("cpu-core")
    for name, value in {"size_bytes": 4096, "ways": 2, **figures}.items():
        machine = machine.replace(f"caches.L1.{name}", value)
    return machine


def program(loops: str) -> PrimFunc:
    sch = Schedule(parse(COPY.format(loops=loops)).program)
    sch.annotate(sch.get_loops("B")[0], "engine", "core")
    return sch.func


def test_loop_order_that_reuses_lines_less_stalls_longer():
    rows, columns = (simulate(program(loops), core()) for loops in ("i, j", "j, i"))
    assert rows.caches is not None and columns.caches is not None
    for report in (rows, columns):
        level = report.caches.total("L1")
        assert (level.reads, level.writes) == (4096, 4096) and report.caches.accesses == 8192
    assert rows.caches.total("L1").read_misses == 64 * 64 * 4 // 64
    assert columns.caches.total("L1").read_misses > 4 * rows.caches.total("L1").read_misses
    assert rows.cycles < columns.cycles < 8192 * 300


@pytest.mark.slow
def test_cycles_with_misses_are_work_and_stalls():
    func, machine = program("j, i"), core()
    report = simulate(func, machine)
    counts = cache_counts(func, machine, engine="core")
    assert report.caches is not None and report.caches.rows == counts.rows
    quick = machine
    for cache in machine.caches:
        quick = quick.replace(f"caches.{cache.name}.latency_cycles", 0).replace(
            f"caches.{cache.name}.bytes_per_cycle", 10**6
        )
    quick = quick.replace("memories.dram.latency_cycles", 0).replace("memories.dram.read_bytes_per_cycle", 10**6)
    least = simulate(func, quick)
    assert report.cycles > least.cycles
    (task,) = report.tasks
    assert report.engines["core"].busy == task.cycles == report.cycles - report.engines["core"].stall["idle"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("whole", [0, 10**9])
def test_alternating_tasks_of_two_engines_wait_for_their_own_misses(whole: int):
    sch = Schedule(parse(matmul(16, 16, 16)).program)
    i, _, _ = sch.get_loops("C")
    copy = sch.cache_read("C", 0, "local")
    sch.compute_at(copy, i)
    sch.annotate(sch.get_loops(copy)[-1], "engine", "core")
    report = simulate(sch.func, core(), whole=whole)
    assert report.caches is not None
    durations = [s.end - s.start for s in report.segments if s.block == copy]
    # A row of A is one line: the first touch of it misses every level, whichever row it is; the slot written is the same each time.
    assert len(durations) == 16 and durations[0] > durations[1]
    assert simulate(sch.func, core(), whole=0).to_json() == simulate(sch.func, core(), whole=10**9).to_json()


def test_above_the_access_limit_the_report_notes_missing_stalls():
    func = program("j, i")
    report = simulate(func, core(), max_accesses=1000)
    assert report.caches is None
    assert [f.code for f in report.findings] == ["caches-left-out"]
    assert report.cycles < simulate(func, core()).cycles


def test_json_and_text_of_a_report_have_the_cache_levels():
    report = simulate(program("i, j"), core())
    data = json.loads(json.dumps(report.to_json()))
    assert {row["cache"] for row in data["caches"]["rows"]} == {"L1", "L2", "L3"}
    assert data["caches"]["accesses"] == 8192
    text = report_text(report)
    assert "L1" in text and "6.2 %" in text  # one miss in 16 accesses: 16 floats a line


def test_machine_without_caches_has_no_levels_in_its_report():
    assert simulate(Schedule(parse(matmul(8, 8, 8)).program).func, load_machine("dual-bank-npu")).caches is None
