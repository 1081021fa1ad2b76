"""The figures of a report beside the cycles: bounds, compulsory traffic, roofline, energy, sensitivity; with and without skipping."""

from __future__ import annotations

import pytest
from support.programs.sources import matmul
from support.simulator.machines import plain, roomy

from tilewright.engine.hwsim import Machine, Report, load_machine, sensitivity, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

LOAD = 10 + 8 * 8 * 4 // 4  # one 8 x 8 float32 tile on `plain`: set-up and 256 bytes at 4 a cycle


def staged(m: int, n: int, k: int) -> PrimFunc:
    """Tiles of 8 x 8 x 8; operands in two slots each, the result written back tile by tile."""
    sch = Schedule(parse(matmul(m, n, k)).program)
    i, j, kk = sch.get_loops("C")
    io, ii = sch.split(i, factors=[None, 8])
    jo, ji = sch.split(j, factors=[None, 8])
    ko, ki = sch.split(kk, factors=[None, 8])
    sch.reorder(io, jo, ko, ii, ji, ki)
    for n_read in (0, 1):
        copy = sch.cache_read("C", n_read, "local")
        sch.compute_at(copy, ko)
        sch.double_buffer(copy)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), jo)
    return sch.func


def test_compulsory_and_actual_traffic_of_a_matmul():
    report = simulate(staged(32, 24, 16), plain())
    assert {(t.buffer, t.bytes, t.least_bytes) for t in report.traffic} == {
        ("A", 32 * 16 * 4 * 3, 32 * 16 * 4),
        ("B", 16 * 24 * 4 * 4, 16 * 24 * 4),
        ("C", 32 * 24 * 4, 32 * 24 * 4),
    }


def test_bounds_of_a_matmul_are_engine_work_and_port_traffic():
    report = simulate(staged(32, 24, 16), plain())
    tiles = 4 * 3 * 2
    bounds = {b.name: b.cycles for b in report.bounds}
    assert bounds["dma"] == (2 * tiles + 12) * LOAD == report.bound
    assert bounds["matrix"] == tiles * 25
    assert bounds["global read port"] == 2 * tiles * 64 and bounds["global write port"] == 12 * 64


def test_point_of_a_matmul_lies_under_the_roof():
    report = simulate(staged(32, 24, 16), plain())
    point = report.roofline
    assert point.operations == 2 * 32 * 24 * 16
    assert point.bytes == sum(t.bytes for t in report.traffic)
    assert point.peak_operations_per_cycle == 2 * 8 * 8 * 8 / 20 and point.bytes_per_cycle == 8
    assert point.intensity == point.operations / point.bytes
    assert point.attained == point.operations / report.cycles <= point.roof <= point.peak_operations_per_cycle


def test_energy_of_bytes_and_operations_sums_to_the_total():
    machine = plain().replace("ddr.energy_pj_per_byte", 2.0).replace("matrix.energy_pj_per_operation", 0.5)
    report = simulate(staged(16, 16, 16), machine)
    assert report.energy == {"ddr": 2.0 * report.roofline.bytes, "matrix": 0.5 * 2 * 16**3}
    assert report.energy_pj == sum(report.energy.values())


@pytest.mark.slow
def test_dma_bound_program_needs_both_rates():
    parameters = {k.path: k for k in sensitivity(staged(32, 24, 16), plain())}
    assert parameters["engines.dma.bytes_per_cycle"].saved == 0  # the memory is as slow
    assert parameters["memories.ddr.read_bytes_per_cycle"].saved == 0
    assert parameters["engines.dma.setup_cycles"].saved > 0
    best = max(parameters.values(), key=lambda k: k.saved)
    assert simulate(staged(32, 24, 16), plain().replace(best.path, best.better)).cycles == best.cycles


def test_waiting_for_bursts_is_a_stall():
    machine = load_machine("gemmini")
    assert isinstance(machine, Machine)
    report = simulate(staged_for_gemmini(), machine)
    for engine in report.engines.values():
        assert engine.busy + sum(engine.stall.values()) == report.cycles
    ported = [w for engine in report.engines.values() for w in engine.waits if w.cause == "port"]
    assert sum(w.cycles for w in ported) == sum(e.stall["port"] for e in report.engines.values())


def staged_for_gemmini() -> PrimFunc:
    text = (
        matmul(64, 64, 64)
        .replace("float32", "int8")
        .replace('C: T.Buffer((64, 64), "int8")', 'C: T.Buffer((64, 64), "int32")')
    )
    return Schedule(parse(text).program).func


def figures(report: Report) -> dict[str, object]:
    return report.to_json()


@pytest.mark.sample(1)
@pytest.mark.parametrize("sizes", [(64, 72, 40), (61, 35, 19), (8, 8, 800)])
def test_figures_of_edge_tiles_are_those_of_a_plain_replay(sizes: tuple[int, int, int]):
    func = staged(*sizes)
    for machine in (plain(), roomy(), roomy().replace("engines.dma.queue_tasks", 2)):
        few, every = (simulate(func, machine, whole=whole) for whole in (0, 10**9))
        assert figures(few) == figures(every)
        assert list(few.segments.between()) == list(every.segments)
        window = every.cycles // 3, every.cycles // 3 + 500
        assert list(few.segments.between(*window)) == list(every.segments.between(*window))


def test_trillion_tiles_replay_as_few_tasks_as_a_thousand():
    few, many = (simulate(staged(n, n, n), roomy(), whole=0) for n in (80, 80_000))
    assert len(many.segments) <= 2 * len(few.segments)
    assert sum(e.tasks for e in many.engines.values()) > 10**12
    assert many.engines["matrix"].busy == few.engines["matrix"].busy * 10**9


NORM = """@T.prim_func(s_tir=True)
def norm(X: T.Buffer((64, 256), "float32"), Y: T.Buffer((64, 32), "float32")):
    S = T.sblock_alloc_buffer((64,), "float32")
    for i in range(64):
        for j in range(256):
            with T.sblock("squares"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + X[vi, vj] * X[vi, vj]
        for j in range(32):
            with T.sblock("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.rsqrt(S[vi])
"""


def test_blocks_of_one_task_share_its_cycles_by_their_iterations():
    report = simulate(parse(NORM).program, load_machine("cpu-core"))
    (kind,) = report.tasks
    assert kind.block == "squares + scaled" and report.cycles_by_block == kind.blocks
    assert sum(kind.blocks.values()) == kind.cycles
    assert kind.blocks["squares"] == kind.cycles * 256 // 288
