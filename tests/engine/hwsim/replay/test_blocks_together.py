"""How blocks of one core share it, how cores meet at shared ports (`levels.NAME.sharing` and `pace`), and when operands are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.simulator.chips.machines import chip_of, narrow, staged_copy
from support.simulator.machines import roomy

from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import Machine, Report, load_machine, simulate
from tilewright.engine.hwsim.replay.clocks import Variant
from tilewright.engine.hwsim.replay.cores.streams import of_blocks
from tilewright.engine.ir import PrimFunc

EXAMPLE = Path(__file__).parents[4] / "static" / "examples" / "tilelang_gemm_a100.py"


@pytest.fixture(scope="module")
def gemm() -> PrimFunc:
    notebook = evaluate(load_document(EXAMPLE))
    assert notebook.schedule is not None
    return notebook.schedule.func


def with_keys(machine: Machine, **keys: str) -> Machine:
    for key, value in keys.items():
        machine = machine.replace(f"levels.sm.{key}", value)
    return machine


def assert_adds_up(report: Report) -> None:
    """Busy and stall cycles of each engine are those of the first core."""
    sums = {engine.busy + sum(engine.stall.values()) for engine in report.engines.values() if engine.tasks}
    assert len(sums) == 1 and max(sums) <= report.cycles


def test_tasks_of_blocks_that_run_at_once_are_one_task_of_their_sum():
    task = Variant(0, 10, latency=3, reads=(1,), writes=(2,), setup=2, demands=((0, 3), (1, 5)), spare=((0, 6, 16),))
    merged = of_blocks(task, 3, 100)
    assert (merged.duration, merged.setup, merged.latency) == (30, 6, 3)
    assert (merged.reads, merged.writes) == ((101,), (102,))
    # 3 requests of 42 bytes take 8 cycles of 16 bytes, and 2 bytes have room in the last one.
    assert merged.demands == ((0, 8), (1, 15)) and merged.spare == ((0, 2, 16),)


def test_law_one_block_on_each_core_shares_nothing():
    program = staged_copy(4)
    figures = {simulate(program, chip_of(roomy(), 4, sharing=way)).cycles for way in ("in_turn", "together")}
    assert len(figures) == 1


def test_blocks_that_run_together_do_not_hide_each_others_copies():
    program = staged_copy(4)
    turn, together = (
        simulate(program, chip_of(roomy(), 1, dispatch="round_robin", blocks=4, sharing=way))
        for way in ("in_turn", "together")
    )
    assert turn.cycles < together.cycles
    assert [e.busy for e in turn.engines.values()] == [e.busy for e in together.engines.values()]
    assert turn.traffic == together.traffic
    assert_adds_up(together)


def test_cores_apart_find_shared_ports_free_but_not_more_than_their_rate():
    for width in (16, 64, 1 << 16):
        chip = chip_of(narrow(width), 16, dispatch="round_robin")
        step, apart = (simulate(staged_copy(64), chip.replace("levels.core.pace", way)) for way in ("in_step", "apart"))
        assert apart.chip is not None and apart.unknown is None
        assert max(port.cycles for port in apart.chip.ports) <= apart.cycles <= step.cycles
        assert all(engine.stall["port"] == 0 for engine in apart.engines.values())


def test_law_a_port_with_room_for_all_makes_no_difference():
    wide = chip_of(narrow(1 << 20), 8)
    assert (
        simulate(staged_copy(24), wide).cycles
        == simulate(staged_copy(24), wide.replace("levels.core.pace", "apart")).cycles
    )


def test_the_blocks_of_an_sm_wait_for_copies_together(gemm: PrimFunc):
    machine = load_machine("a100")
    turn, together = (simulate(gemm, with_keys(machine, sharing=way, pace="apart")) for way in ("in_turn", "together"))
    assert turn.cycles <= together.cycles
    assert_adds_up(together)


def test_operands_that_are_loaded_first_add_their_loads(gemm: PrimFunc):
    machine = load_machine("a100")
    during, before = (
        simulate(gemm, machine.replace("engines.tensor.operand_loads", way)).engines["tensor"]
        for way in ("during", "before")
    )
    assert during.busy < before.busy and during.tasks == before.tasks


def test_conflicts_of_operand_loads_occupy_the_banks_and_not_the_products(gemm: PrimFunc):
    """Of the 8 rows of a load, rows of 128 bytes without a swizzle are in the same banks: 8 times the loads, beside the products."""
    kernel = Path(__file__).parents[4] / "static" / "validation" / "kernels" / "gemm_mma.py"
    notebook = evaluate(load_document(kernel))
    assert notebook.schedule is not None
    machine = load_machine("a100")
    linear = simulate(notebook.schedule.func, machine)
    ideal = simulate(notebook.schedule.func, machine.replace("engines.tensor.operand_rows", "ideal"))
    # A product of 128 x 128 x 64 has 1,024 cycles, and its loads 512.
    assert linear.engines["tensor"].busy * 1024 == ideal.engines["tensor"].busy * 8 * 512
