"""A finding of a conflict names a cause whose removal changes the cycles: a simulation without the cause confirms the saving."""

from __future__ import annotations

from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.profile import IS_DEEP
from support.simulator.every_law.cases.machines import random_machine
from support.simulator.every_law.cases.programs import random_program

import tilewright
from tilewright.engine.hwsim import MachineError, decisive_causes, load_machine, saved_by_slots, simulate
from tilewright.engine.hwsim.replay.counterfactual import cycles_without, without_conflicts
from tilewright.engine.lint import lint
from tilewright.engine.lint.banks import find_one_bank
from tilewright.engine.lint.subject import Subject
from tilewright.engine.schedule import Schedule

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


def start_here(*, doubled: bool) -> Schedule:
    """The first example after its gestures: both copies at `ko`, then perhaps double buffers."""
    found = tilewright.load(str(EXAMPLES / "place_the_copies.py"))
    assert found.schedule is not None
    sch = found.schedule.copy()
    loop = next(f for f in sch.get_loops("C") if f.name == "ko")
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        sch.compute_at(copy, loop)
        if doubled:
            sch.double_buffer(copy)
    return sch


def test_finished_first_example_has_no_block_finding() -> None:
    machine = load_machine("dual-bank-npu")
    sch = start_here(doubled=True)
    report = simulate(sch.func, machine)
    assert report.engines["dma"].busy * 10 > report.cycles * 8, "the DMA is the limit"
    assert "one-bank" not in [f.code for f in lint(sch, machine)]


def test_tiles_with_one_slot_name_their_block_and_the_saved_cycles() -> None:
    machine = load_machine("dual-bank-npu")
    subject = Subject(start_here(doubled=False), machine, {}, simulate)
    (finding,) = find_one_bank(subject)
    after = start_here(doubled=False)
    for copy in finding.buffers:
        after.double_buffer(copy, banks=("local.vtcm[0]", "local.vtcm[1]"))
    assert subject.report is not None
    assert 0 < finding.saved == subject.report.cycles - simulate(after.func, machine).cycles
    assert f"{finding.saved} cycles less" in finding.message and finding.to_json()["saved"] == finding.saved


def test_the_causes_of_the_finished_first_example_are_proved_by_replays() -> None:
    machine = load_machine("dual-bank-npu")
    report = simulate(start_here(doubled=True).func, machine)
    first, *rest = decisive_causes(report)
    assert (first.kind, first.name) == ("engine", "dma")
    assert all(0 < cause.saved <= first.saved < report.cycles for cause in rest)
    assert first.saved > report.cycles // 4


def test_free_slots_of_a_buffer_save_what_a_second_slot_saves() -> None:
    machine = load_machine("dual-bank-npu")
    report = simulate(start_here(doubled=False).func, machine)
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        after = start_here(doubled=False)
        after.double_buffer(copy)
        assert saved_by_slots(report, copy) == report.cycles - simulate(after.func, machine).cycles
    assert [c.name for c in decisive_causes(report) if c.kind == "slots"] == ["A_local.vtcm"]
    finished = simulate(start_here(doubled=True).func, machine)
    assert not [c for c in decisive_causes(finished) if c.kind == "slots"], "the DMA is the limit"


def test_an_engine_that_alone_works_saves_nearly_all() -> None:
    report = simulate(tilewright.load(str(EXAMPLES / "cache_blocking.py")).schedule.func, load_machine("cpu-core"))
    (cause,) = decisive_causes(report)
    assert cause.name == "core" and cause.saved > report.cycles * 0.99


@settings(max_examples=1000 if IS_DEEP else 10, deadline=None)
@given(st.integers(0, 2**32))
def test_law_reported_conflicts_cost_cycles(seed: int) -> None:
    try:
        report = simulate(random_program(Random(seed)), random_machine(Random(seed)))
    except MachineError:
        return
    named = [f for f in report.findings if f.code == "bank-conflict"]
    for finding in named:
        template = next(t for t in report.program.templates if tuple(b.name for b in t.blocks) == finding.blocks)
        without = cycles_without(report.program, without_conflicts(template.number, finding.buffers))
        assert 0 < finding.saved == report.cycles - without
        assert f"{finding.saved} cycles less" in finding.message


TRANSPOSE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""


def test_conflict_costs_what_a_machine_without_banks_saves() -> None:
    machine = load_machine("gpu-sm")
    sch = Schedule(tilewright.parse(TRANSPOSE))
    i, j = sch.get_loops("B")
    (bi, ti), (bj, tj) = sch.split(i, [2, 32]), sch.split(j, [2, 32])
    sch.reorder(bi, bj, ti, tj)
    copy = sch.cache_read("B", 0, "shared")
    sch.compute_at(copy, tj)
    y, x = sch.get_loops(copy)[-2:]
    tags = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x", "threadIdx.y", "threadIdx.x")
    for loop, tag in zip((bi, bj, ti, tj, y, x), tags, strict=True):
        sch.bind(loop, tag)
    report = simulate(sch.func, machine)
    without = simulate(sch.func, machine.replace("memories.smem.banks", 1))
    found = [f for f in report.findings if f.code == "bank-conflict"]
    assert not without.conflicts and [f.saved for f in found] == [report.cycles - without.cycles]
    assert found[0].saved > 0 and report.to_json()["findings"][0]["saved"] in (found[0].saved, 0)
