"""Simulated software pipelines and slots in banks: overlap, addresses of slots, and the memory that lowering allocates."""

from __future__ import annotations

import pytest
from support.programs.sources import matmul
from support.simulator.machines import plain

from tilewright.engine.hwsim import Machine, MachineError, Report, load_machine, simulate
from tilewright.engine.hwsim.cost.estimate import estimate_cost
from tilewright.engine.ir import build
from tilewright.engine.lower import allocations
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

MACHINE = load_machine("dual-bank-npu")


def staged() -> Schedule:
    """The matmul of "Non contiguous memory" in docs/seeds.md: A and B staged to VTCM at k_0, C in the accumulator."""
    sch = Schedule(parse(matmul(128, 64, 512)).program)
    m, _, k = sch.get_loops("C")
    mo, _ = sch.split(m, factors=[None, 64])
    ko, _ = sch.split(k, factors=[None, 64])
    inner = [v for v in sch.get_loops("C") if v not in (mo, ko)]
    sch.reorder(mo, ko, *inner)
    for operand in (0, 1):
        sch.compute_at(sch.cache_read("C", operand, "local.vtcm"), ko)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local.acc"), mo)
    return sch


def report(sch: Schedule) -> Report:
    return simulate(sch.func, MACHINE)


def lives(found: Report, name: str) -> list[tuple[int, int, str, str]]:
    return [(t.start, t.end, t.label, t.row) for t in found.occupancy.tiles if t.buffer == name]


def test_pipeline_of_two_stages_costs_as_two_slots():
    doubled, piped = staged(), staged()
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        doubled.double_buffer(copy)
    piped.pipeline("k_0", [0, 0, 1])
    one, other, plain = report(doubled), report(piped), report(staged())
    assert one.cycles == other.cycles < plain.cycles
    assert other.overlap == one.overlap > plain.overlap
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        assert lives(one, copy) == lives(other, copy)
    assert {row: m.peak_bytes for row, m in one.memory.items()} == {
        row: m.peak_bytes for row, m in other.memory.items()
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_deeper_pipelines_have_one_slot_more_than_stages(depth):
    sch = staged()
    sch.pipeline("k_0", [0, 0, depth])
    found = report(sch)
    assert {label for *_, label, _ in lives(found, "A_local.vtcm")} == {f"A_local.vtcm#{n}" for n in range(depth + 1)}
    tiles = lives(found, "A_local.vtcm")
    assert len(tiles) == 16, "a tile for each step, however many slots"
    allocation = {a.buffer.name: a for a in allocations(sch.func)}["A_local.vtcm"]
    assert allocation.slots == depth + 1
    assert found.memory["local.vtcm[0]"].peak_bytes == 2 * 4 * (build.int_value(allocation.lowered.shape[0]) or 0)


@pytest.mark.parametrize("with_stages", [False, True])
def test_slots_of_a_pipeline_lie_in_the_given_banks(with_stages):
    sch = staged()
    sch.double_buffer("A_local.vtcm", banks=("local.vtcm[1]", "local.vtcm[0]"))
    if with_stages:
        sch.pipeline("k_0", [0, 0, 1])
    rows = {label: row for *_, label, row in lives(report(sch), "A_local.vtcm")}
    assert rows == {"A_local.vtcm#0": "local.vtcm[1]", "A_local.vtcm#1": "local.vtcm[0]"}


def test_missing_bank_is_refused_with_the_machines_banks():
    sch = staged()
    sch.double_buffer("A_local.vtcm", banks=(0, 2))
    with pytest.raises(MachineError) as caught:
        report(sch)
    assert caught.value.code == "no-such-bank"
    assert caught.value.refusal.expected == "local.vtcm[0], local.vtcm[1]"


def test_stages_that_no_longer_fit_are_refused_with_a_reason():
    sch = staged()
    sch.pipeline("k_0", [0, 0, 1])
    loop = sch.get_loops("C")[1]
    sch.unannotate(loop, "software_pipeline_stage")
    sch.annotate(loop, "software_pipeline_stage", [1, 0, 0])
    with pytest.raises(MachineError) as caught:
        report(sch)
    assert caught.value.code == "broken-dependence"


def far_away(latency: int) -> Machine:
    """A machine on which a copy of an 8 x 8 tile lasts 64 + 10 cycles and its product 60."""
    machine = plain()
    for path, value in (
        ("memories.ddr.latency_cycles", latency), ("engines.matrix.cycles_per_tile", 55), ("memories.pad.capacity_bytes", 65_536),
        ("engines.dma.bytes_per_cycle", 4),
    ):  # fmt: skip
        machine = machine.replace(path, value)
    return machine


def streamed(slots: int, steps: int = 64) -> Schedule:
    """A product in `steps` steps of 8, its first operand loaded in each and the others at the start."""
    sch = Schedule(parse(matmul(8, 8, 8 * steps)).program)
    k, inner = sch.split(sch.get_loops("C")[2], factors=[None, 8])
    sch.reorder(k, *sch.get_loops("C")[:2], inner)
    sch.compute_at(sch.cache_read("C", 0, "local"), k)
    sch.cache_read("C", 1, "local")
    sch.cache_write("C", 0, "local")
    sch.double_buffer("A_local", slots=slots)
    return sch


@pytest.mark.sample(5)
@pytest.mark.parametrize("latency", [0, 50, 200])
@pytest.mark.parametrize("slots", [1, 2, 3, 4, 6])
def test_round_of_slots_takes_a_load_its_latency_and_a_product(slots, latency):
    load, product = 64 + 10, 55 + 5
    few, many = (simulate(streamed(slots, steps).func, far_away(latency)).cycles for steps in (60, 120))
    other = simulate(streamed(slots, 60 + 60).func, far_away(latency)).cycles
    assert other == many
    # The second operand is loaded before the steps: its bytes grow with them too.
    whole = 60 * 8 * 8 * 4 // 4
    assert many - few - whole == 60 * max(load * slots, load + latency + product) // slots


def test_third_slot_needs_a_third_tile():
    peaks = [simulate(streamed(slots).func, far_away(0)).memory["local[0]"].peak_bytes for slots in (1, 2, 3)]
    assert peaks[2] - peaks[1] == peaks[1] - peaks[0] == 8 * 8 * 4


def test_three_slots_are_estimated_as_three_tiles():
    for slots in (1, 2, 3):
        found = estimate_cost(streamed(slots).index, far_away(0))
        assert found.slots["local"] == slots + 2
