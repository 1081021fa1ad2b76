"""Small programs on a machine with round figures, calculated by hand to the cycle."""

from __future__ import annotations

import json

import pytest
from support.programs.sources import matmul
from support.simulator.machines import only, plain

from tilewright.engine.hwsim import MachineError, Report, simulate
from tilewright.engine.ir import AXIS_SEPARATOR
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

LOAD = 10 + 8 * 8 * 4 // 4  # one 8 x 8 float32 tile: set-up and 256 bytes at 4 a cycle
MAC = 5 + 20  # set-up and one tile of the array


def staged_matmul(k: int = 32, double: bool = False, banked: bool = False) -> Schedule:
    """8 x k times k x 8, in steps of 8 along k, both operands staged to the scratchpad, the result written back at the end."""
    sch = Schedule(parse(matmul(8, 8, k)).program)
    i, j, kk = sch.get_loops("C")
    ko, ki = sch.split(kk, factors=[None, 8])
    sch.reorder(ko, i, j, ki)
    a = sch.cache_read("C", 0, "local")
    b = sch.cache_read("C", 1, "local")
    sch.cache_write("C", 0, "local")
    sch.compute_at(a, ko)
    sch.compute_at(b, ko)
    if banked:
        sch.transform_layout(a, ("write", 0), lambda m, k: [k // 8 % 2, AXIS_SEPARATOR, m, k // 16, k % 8])
        sch.transform_layout(b, ("write", 0), lambda k, n: [k // 8 % 2, AXIS_SEPARATOR, k // 16, k % 8, n])
    if double:
        sch.double_buffer(a)
        sch.double_buffer(b)
    return sch


def stalls(report: Report, engine: str) -> dict[str, int]:
    return {cause: cycles for cause, cycles in report.engines[engine].stall.items() if cycles}


def test_loads_into_one_slot_wait_for_the_computation():
    report = simulate(staged_matmul().func, plain())
    assert report.cycles == 4 * (2 * LOAD + MAC) + LOAD == 766
    assert report.bound == report.engines["dma"].busy == 9 * LOAD
    assert report.engines["matrix"].busy == 4 * MAC
    assert stalls(report, "dma") == {"slot": 3 * MAC, "data": MAC}
    assert report.overlap_cycles == 0
    assert [(w.cause, w.buffer, w.block, w.cycles) for w in report.engines["dma"].waits] == [
        ("slot", "A_local", "C", 3 * MAC),
        ("data", "C_local", "C", MAC),
    ]


def test_loads_into_two_slots_follow_each_other():
    report = simulate(staged_matmul(double=True).func, plain())
    assert report.cycles == 8 * LOAD + MAC + LOAD == 691
    assert stalls(report, "dma") == {"data": MAC}
    assert (report.overlap_cycles, report.dma_cycles) == (3 * MAC, 9 * LOAD)
    assert report.overlap == 75 / 666
    assert stalls(report, "matrix") == {"data": 2 * LOAD + 3 * (2 * LOAD - MAC), "idle": LOAD}


def test_two_slots_are_named_and_hold_a_tile_each():
    report = simulate(staged_matmul(double=True).func, plain())
    matrix = [s for s in report.segments if s.engine == "matrix"]
    assert [s.reads for s in matrix] == [(f"A_local#{n % 2}", f"B_local#{n % 2}") for n in range(4)]
    assert [s.indices for s in matrix] == [(("k_0", n),) for n in range(4)]
    first = report.occupancy.tiles[0]
    assert (first.label, first.start, first.filled, first.end) == ("A_local#0", 0, LOAD, 2 * LOAD + MAC)
    assert report.memory["local[0]"].allocated_bytes + report.memory["local[1]"].allocated_bytes == (2 + 2 + 1) * 256


def test_banked_layout_fills_one_block_ahead():
    report = simulate(staged_matmul(double=True, banked=True).func, plain())
    assert report.cycles == 691
    rows = {(t.label, t.row) for t in report.occupancy.tiles}
    assert {("A_local#0", "local[0]"), ("A_local#1", "local[1]"), ("B_local#1", "local[1]")} <= rows
    (computing, *_) = [s for s in report.segments if s.engine == "matrix"]
    filling = [
        t
        for t in report.occupancy.tiles
        if t.start < computing.end and t.filled > computing.start and t.buffer != "C_local"
    ]
    assert {t.row for t in filling} == {"local[1]"}


def test_each_copy_of_half_a_tile_touches_one_block():
    sch = Schedule(parse(matmul(8, 8, 32)).program)
    i, j, kk = sch.get_loops("C")
    ko, kh, ki = sch.split(kk, factors=[None, 2, 8])
    sch.reorder(ko, kh, i, j, ki)
    a = sch.cache_read("C", 0, "local")
    b = sch.cache_read("C", 1, "local")
    sch.cache_write("C", 0, "local")
    sch.compute_at(a, ko)
    sch.compute_at(b, ko)
    sch.transform_layout(a, ("write", 0), lambda m, k: [k // 8 % 2, AXIS_SEPARATOR, m, k // 16, k % 8])
    sch.transform_layout(b, ("write", 0), lambda k, n: [k // 8 % 2, AXIS_SEPARATOR, k // 16, k % 8, n])
    whole = simulate(sch.func, plain())
    assert whole.engines["dma"].tasks == 2 + 2 + 1
    (ko, m, k) = sch.get_loops(a)
    half, rest = sch.split(k, factors=[2, None])
    sch.reorder(half, m, rest)
    halves = simulate(sch.func, plain())
    assert halves.engines["dma"].tasks == 2 * 2 + 2 + 1
    assert halves.engines["matrix"].tasks == 4
    assert {t.row for t in halves.occupancy.tiles if t.buffer == "A_local"} == {"local[0]", "local[1]"}


def test_unstaged_work_runs_on_the_scalar_engine_with_a_finding():
    report = simulate(parse(matmul(8, 8, 8)).program, plain())
    assert report.cycles == report.bound == 8 * 8 * 8 * (2 + 3)  # multiply, add, two loads, a store
    (finding,) = report.findings
    assert finding.code == "scalar-engine" and finding.severity == "warning" and finding.blocks == ("C",)
    assert finding.fix == (
        "sch.cache_read('C', 0, 'local')",
        "sch.cache_read('C', 1, 'local')",
        "sch.cache_write('C', 0, 'local')",
    )
    sch = Schedule(parse(matmul(8, 8, 8)).program)
    for call in finding.fix:
        method, _, arguments = call.removeprefix("sch.").partition("(")
        block, index, scope = (a.strip(" '") for a in arguments.rstrip(")").split(","))
        getattr(sch, method)(block, int(index), scope)
    better = simulate(sch.func, plain())
    assert better.engines["scalar"].tasks == 0 and not better.findings
    assert better.cycles == 3 * LOAD + MAC


def test_an_overflow_is_a_finding():
    sch = Schedule(parse(matmul(32, 32, 32)).program)
    for n in (0, 1):
        sch.cache_read("C", n, "local")
    sch.cache_write("C", 0, "local")
    report = simulate(sch.func, plain())
    (finding,) = [f for f in report.findings if f.code == "capacity-overflow"]
    assert finding.severity == "error" and report.findings[0] is finding
    row = next(m for m in report.memory.values() if m.peak_bytes > m.capacity_bytes)
    assert row.capacity_bytes == 4096 and str(row.peak_bytes) in finding.message


def test_two_slots_that_never_overlap_are_a_finding():
    machine = plain()
    # The matrix unit finishes B before the next load of A: B's second slot is useless...
    (finding,) = simulate(staged_matmul(double=True).func, machine).findings
    assert (finding.code, finding.buffers) == ("double-buffer-idle", ("B_local",))
    assert finding.fix == ("sch.unannotate('B_local', \"double_buffer_scope\")",)
    sch = staged_matmul(double=True)
    sch.unannotate("B_local", "double_buffer_scope")
    assert simulate(sch.func, machine).cycles == 691
    # ...but not with a slower unit.
    assert (
        simulate(staged_matmul(double=True).func, machine.replace("engines.matrix.cycles_per_tile", 100)).findings == ()
    )
    # The scalar engine does not load a slot while it computes.
    for block in ("A_local", "B_local", "C"):
        sch.annotate(block, "engine", "scalar")
    assert "double-buffer-idle" in [f.code for f in simulate(sch.func, machine).findings]


def test_an_annotation_selects_the_engine():
    sch = staged_matmul()
    sch.annotate("C", "engine", "scalar")
    report = simulate(sch.func, plain())
    assert report.engines["scalar"].tasks == 4 and report.engines["matrix"].tasks == 0
    assert next(t for t in report.tasks if t.block == "C").reason == "annotated: engine scalar"


def test_annotated_unreachable_engine_is_refused():
    sch = Schedule(parse(matmul(8, 8, 8)).program)
    sch.annotate("C", "engine", "matrix")
    with pytest.raises(MachineError) as caught:
        simulate(sch.func, plain())
    assert caught.value.code == "out-of-reach"
    assert caught.value.refusal.fix[0] == "sch.cache_read('C', 0, 'local')"
    assert "A in global" in caught.value.refusal.found
    assert caught.value.refusal.nodes[0] is sch.get("C") or caught.value.refusal.nodes


def test_unstaged_work_without_a_scalar_engine_is_refused():
    with pytest.raises(MachineError) as caught:
        simulate(parse(matmul(8, 8, 8)).program, only(plain(), "dma", "matrix"))
    assert caught.value.code == "out-of-reach"
    assert len(caught.value.refusal.fix) == 3
    with pytest.raises(MachineError) as caught:
        simulate(parse(matmul(8, 8, 8)).program, only(plain(), "dma"))
    assert caught.value.code == "no-engine"


def test_annotated_loop_selects_the_engine_of_its_blocks():
    sch = staged_matmul()
    sch.annotate(sch.get_loops("C")[0], "engine", "scalar")
    report = simulate(sch.func, plain())
    # One engine runs the whole loop now, so it is one task.
    assert {t.block: t.engine for t in report.tasks} == {"A_local + B_local + C": "scalar", "C_local": "dma"}


@pytest.mark.parametrize(("engine", "code"), [("tensor", "unknown-engine"), ("dma", "wrong-engine")])
def test_an_unknown_annotated_engine_is_refused(engine: str, code: str):
    sch = staged_matmul()
    sch.annotate("C", "engine", engine)
    with pytest.raises(MachineError) as caught:
        simulate(sch.func, plain())
    assert caught.value.code == code


def test_scope_without_memory_is_refused_with_the_known_scopes():
    sch = Schedule(parse(matmul(8, 8, 8)).program)
    sch.cache_read("C", 0, "local.nowhere")
    with pytest.raises(MachineError) as caught:
        simulate(sch.func, plain())
    assert caught.value.code == "unknown-scope"
    assert caught.value.refusal.expected == "global, local"
    assert caught.value.refusal.fix == ("sch.set_scope('A_local.nowhere', 0, 'local')",)


def test_millions_of_tasks_are_skipped():
    sch = Schedule(parse(matmul(4096, 4096, 8)).program)
    _, j, _ = sch.get_loops("C")
    a = sch.cache_read("C", 0, "local")
    sch.compute_at(a, j)
    report = simulate(sch.func, plain())
    assert len(report.segments) < 200
    assert {t.block: t.tasks for t in report.tasks}["A_local"] == 4096 * 4096
    with pytest.raises(MachineError) as caught:
        simulate(sch.func, plain(), max_tasks=10)
    assert caught.value.code == "too-many-tasks"


def test_the_last_tile_costs_its_actual_size():
    sch = Schedule(parse(matmul(8, 8, 20)).program)
    i, j, kk = sch.get_loops("C")
    ko, ki = sch.split(kk, factors=[None, 8])
    sch.reorder(ko, i, j, ki)
    for n in (0, 1):
        sch.compute_at(sch.cache_read("C", n, "local"), ko)
    sch.cache_write("C", 0, "local")
    report = simulate(sch.func, plain())
    durations = [s.end - s.start for s in report.segments if s.block == "A_local"]
    assert durations == [LOAD, LOAD, 10 + 8 * 4 * 4 // 4]
    assert {(t.buffer, t.bytes) for t in report.traffic} == {("A", 8 * 20 * 4), ("B", 20 * 8 * 4), ("C", 8 * 8 * 4)}


def test_short_runs_cost_whole_bursts():
    machine = plain().replace("memories.ddr.burst_bytes", 64)
    report = simulate(staged_matmul().func, machine)
    loads = {s.block: s.end - s.start for s in report.segments if s.engine == "dma"}
    assert loads["A_local"] == 10 + 8 * 64 // 4  # 8 rows of 32 bytes, a burst each
    assert loads["B_local"] == LOAD  # 256 bytes in one run


def test_json_of_a_report_has_the_documented_keys():
    report = simulate(staged_matmul(double=True).func, plain())
    data = json.loads(json.dumps(report.to_json()))
    assert data["cycles"] == 691 and data["overlap"] == report.overlap
    assert data["engines"]["dma"]["busy"] == 666 and data["engines"]["dma"]["stall"] == {
        "issue": 0,
        "data": 25,
        "slot": 0,
        "port": 0,
        "unit": 0,
        "idle": 0,
    }
    assert set(data["memory"]["local[0]"]) >= {"capacity_bytes", "peak_bytes"}
    assert {"buffer": "A", "source": "global", "destination": "local", "bytes": 1024, "least_bytes": 1024} in data[
        "traffic"
    ]
    assert [(f["code"], f["buffers"]) for f in data["findings"]] == [("double-buffer-idle", ["B_local"])]
