"""Programs on several cores: the folded replay against one of every task of every core, and what must hold for each chip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from support.profile import samples
from support.simulator.chips import atomic_sums, multicast_products
from support.simulator.chips.machines import chip_of, narrow, staged_copy
from support.simulator.chips.trees import Case, case_of, differences, folded
from support.simulator.machines import roomy

from tilewright.app.document import evaluate, load_document
from tilewright.engine.explore import program_bound
from tilewright.engine.hwsim import Report, lower_bound_of, simulate, tasks_of
from tilewright.engine.hwsim.replay.cores.all_cores import AllCores, CoreTask
from tilewright.engine.hwsim.replay.cores.waves import Wave, blocks_of_core, waves_of
from tilewright.engine.hwsim.replay.steady import clocks_of

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"


def figures(report: Report) -> dict[str, Any]:
    """All figures of a report but those that name the cores."""
    found = report.to_json()
    for key in ("machine", "chip"):
        del found[key]
    return json.loads(json.dumps(found, default=str))


@pytest.mark.parametrize("seed", samples(list(range(400)), *range(12), 92, 103, 179, 81599))
def test_law_a_folded_replay_is_that_of_every_core(seed: int):
    """Equal in each task of the first core and in the makespan where it says so, else within its bounds."""
    case = case_of(seed, lawful=seed % 3 != 0)
    if case is not None:
        assert differences(case) == ()


@pytest.mark.parametrize("seed", samples(list(range(400)), *range(8), 20, 33, 47, 61466))
def test_law_links_carry_what_a_replay_of_every_core_sends_over_each_segment(seed: int):
    case = case_of(seed, lawful=seed % 3 != 0, linked=True)
    if case is not None:
        assert differences(case) == ()


@pytest.mark.parametrize("seed", samples(list(range(200)), *range(6), 269, 347, 2407))
def test_law_copies_to_several_cores_are_one_transfer_for_which_all_of_them_wait(seed: int):
    assert multicast_products.differences(multicast_products.case_of(seed)) == []


@pytest.mark.parametrize("seed", samples(list(range(400)), *range(12), 18, 19, 28, 30, 34, 47))
def test_law_sums_of_several_blocks_are_one_update_of_an_element_after_the_other(seed: int):
    """In one or two loops over blocks; the second begins when all cores have ended the first."""
    assert atomic_sums.differences(atomic_sums.case_of(seed)) == []


def test_the_random_cases_wait_at_shared_ports_and_fold():
    runs = [folded(case, most_of_all=0) for seed in range(60) if (case := case_of(seed, lawful=True)) is not None]
    assert sum(not run.reasons and bool(run.simulated.clocks.users) for run in runs) >= 8


class Permuted(AllCores):
    """A replay in which core n runs the blocks of core `order[n]`."""

    order: Sequence[int] = ()

    def _waves_of(self, launch: Any, core: int) -> list[list[CoreTask]]:
        return super()._waves_of(launch, self.order[core])


def every_core(case: Case, order: Sequence[int]) -> tuple[int, list[tuple[list[int], list[int]]]]:
    """The cycles, and the starts and ends of the tasks of each core."""
    kind = type("Ordered", (Permuted,), {"order": order})
    found = kind(case.program, case.residents, clocks_of(case.program, [], residents=case.residents).users)
    cycles = found.run()
    each = [found.result(n)[0] for n in range(len(found.clocks.tasks))]
    return cycles, [(core.starts, core.ends) for core in each]


@pytest.mark.parametrize("seed", samples(list(range(200)), *range(10)))
def test_law_permuting_equal_cores_changes_nothing(seed: int):
    """Cores with equal blocks at ports that they share, and cores with different blocks at ports of their own."""
    case, rng = case_of(seed, lawful=seed % 2 != 0), Random(seed)
    if case is None or case.level.dispatch == "first_free":
        return
    each = [blocks_of_core(c, case.blocks, case.cores, case.level.dispatch) for c in range(case.cores)]
    working = [c for c, blocks in enumerate(each) if blocks]
    if seed % 2 == 0:
        for port in case.program.ports:
            port.level = "core"
        groups = [working]
    else:
        groups = [[c for c in working if len(each[c]) == n] for n in {len(each[c]) for c in working}]
    order = [*working]
    for group in groups:
        for place, core in zip(group, rng.sample(group, len(group)), strict=True):
            order[place] = core
    cycles, tasks = every_core(case, working)
    there, moved = every_core(case, order)
    assert there == cycles
    assert moved == (tasks if seed % 2 else [tasks[core] for core in order])


@pytest.mark.parametrize("name", samples(sorted(f.stem for f in EXAMPLES.glob("*.py")), "tilelang_gemm", "vta_gemm"))
def test_law_a_chip_of_one_core_is_that_core(name: str):
    notebook = evaluate(load_document(EXAMPLES / f"{name}.py"))
    assert notebook.schedule is not None and notebook.machine is not None
    if notebook.machine.cores > 1:
        pytest.skip("a chip of several cores")
    machine = replace(notebook.machine, caches=())
    func = notebook.schedule.func
    assert figures(simulate(func, chip_of(machine, 1))) == figures(simulate(func, machine))


def test_law_cores_with_private_memories_take_as_long_as_one_core():
    alone = simulate(staged_copy(3), roomy()).cycles
    for cores in (2, 7):
        report = simulate(staged_copy(3 * cores), chip_of(roomy(), cores, private=True))
        assert (report.cycles, report.unknown) == (alone, None)


def test_law_ports_that_delay_nobody_leave_the_cycles_of_one_core():
    wide = narrow(1 << 20)
    report = simulate(staged_copy(24), chip_of(wide, 8))
    assert report.cycles == simulate(staged_copy(3), wide).cycles and report.unknown is None
    assert report.engines["dma"].stall["port"] == 0


def test_cores_that_share_a_port_take_as_long_as_the_port_needs():
    report = simulate(staged_copy(64), chip_of(narrow(16), 16))
    assert report.chip is not None and report.unknown is None
    port = next(p for p in report.chip.ports if "read" in p.name)
    assert port.bytes == 64 * 8 * 256 * 4
    # The one engine of a core loads, then stores: one of both ports is busy.
    assert report.bound == port.cycles and 2 * port.cycles <= report.cycles < 2.1 * port.cycles
    assert port.waited["dma"] > 0


def test_requests_of_a_block_take_whole_cycles_of_a_shared_port_in_sum_only():
    # A tile of 96 bytes takes 1.5 cycles of the port.
    machine = narrow(64).replace(f"memories.{roomy().far.name}.burst_bytes", 32)
    report = simulate(staged_copy(64 * 50, 1, 24), chip_of(machine, 64))
    assert report.chip is not None and report.unknown is None
    port = next(p for p in report.chip.ports if "read" in p.name)
    assert port.cycles == 64 * 50 * 96 // 64
    assert report.bound <= report.cycles < 2.1 * port.cycles


def test_the_cost_does_not_grow_with_cores_or_blocks():
    few = simulate(staged_copy(4 * 16), chip_of(narrow(16), 16), whole=0)
    many = simulate(staged_copy(4 * 128), chip_of(narrow(16), 128), whole=0)
    long = simulate(staged_copy(40_000), chip_of(narrow(16), 16), whole=0)
    assert len(many.segments) <= 2 * len(few.segments)
    assert len(long.segments) <= 60
    assert many.unknown is None and long.unknown is None


def test_the_cost_does_not_grow_with_blocks_whose_last_wave_has_two_classes_of_cores():
    chip = chip_of(narrow(16), 16, dispatch="round_robin", blocks=3)
    long, short = (simulate(staged_copy(48 * waves + 37), chip, whole=0) for waves in (20_000, 20))
    assert long.unknown is None and short.unknown is None
    assert len(long.segments) <= 1.1 * len(short.segments)
    assert long.bound <= long.cycles


def test_blocks_of_an_uneven_edge_are_replayed_on_every_core():
    text = staged_copy(5)
    report = simulate(text, chip_of(narrow(16), 3, dispatch="round_robin"))
    assert report.chip is not None and report.unknown is None
    (launch,) = report.chip.launches
    assert [(c.count, c.blocks) for c in launch.classes] == [(2, 2), (1, 1)]


def test_the_layers_of_streams_example_are_fused_on_four_cores():
    notebook = evaluate(load_document(EXAMPLES / "fused_convolutions_quad.py"))
    assert notebook.schedule is not None and notebook.machine is not None
    report = simulate(notebook.schedule.func, notebook.machine)
    assert report.unknown is None and report.chip is not None
    # Stream: 1,024 + 144 + 2,376 + 2,048 + 4,656 + 4,096, one after the other (docs/simulator.md).
    assert report.cycles == 12_994 < 14_344
    loads = next(port for port in report.chip.ports if port.name == "bus_in")
    # Ten or twelve rows of the input for each core, and all weights once.
    assert loads.bytes == (10 + 12 + 12 + 10) * 32 * 8 * 2 + (8 * 16 + 16 * 32) * 3 * 3 * 2


@pytest.mark.parametrize(
    ("blocks", "cores", "residents", "dispatch", "expected"),
    [
        (8, 4, 1, "persistent", [Wave(0, 2, (4,))]),
        (9, 4, 1, "round_robin", [Wave(0, 2, (4,)), Wave(2, 1, (1,))]),
        (9, 4, 1, "static", [Wave(0, 3, (3,))]),
        (10, 4, 1, "static", [Wave(0, 1, (4,)), Wave(1, 2, (3,))]),
        (10, 4, 2, "first_free", [Wave(0, 1, (4, 4)), Wave(1, 1, (2,))]),
        (3, 4, 2, "first_free", [Wave(0, 1, (3,))]),
        (1_000_000, 132, 1, "first_free", [Wave(0, 7575, (132,)), Wave(7575, 1, (100,))]),
    ],
)
def test_waves_of_blocks(blocks: int, cores: int, residents: int, dispatch: str, expected: list[Wave]):
    found = waves_of(blocks, cores, residents, dispatch)
    assert list(found) == expected
    assert sum(w.count * sum(w.cores) for w in found) == blocks
    assert sorted(
        b for c in range(min(cores, 8)) for b in blocks_of_core(c, min(blocks, 10), min(cores, 8), dispatch)
    ) == [*range(min(blocks, 10))]


def test_few_blocks_and_an_uneven_tail_are_findings():
    chip = chip_of(narrow(64), 16, dispatch="round_robin", start_cycles=100)
    few, tail, even = (simulate(staged_copy(blocks), chip) for blocks in (5, 17, 32))
    assert "idle-cores" in {f.code for f in few.findings}
    assert "uneven-tail" in {f.code for f in tail.findings}
    assert not {"idle-cores", "uneven-tail"} & {f.code for f in even.findings}
    (message,) = (f.message for f in tail.findings if f.code == "uneven-tail")
    assert (
        "17 blocks (17) take 2 waves of 16, of which the last has 1" in message and "16 blocks need 1 waves" in message
    )


def test_the_start_of_a_block_is_on_the_critical_path():
    report = simulate(staged_copy(32), chip_of(narrow(64), 16, dispatch="round_robin", start_cycles=100))
    assert sum(part.cycles for part in report.critical_path.parts) <= report.cycles
    assert any(w.block == "start of a block" for w in report.engines["dma"].waits)


@pytest.mark.parametrize("cores", [1, 5, 16])
def test_law_lower_bounds_are_below_the_cycles_of_a_chip(cores: int):
    func, machine = staged_copy(32), chip_of(narrow(16), cores)
    report = simulate(func, machine)
    assert 0 < lower_bound_of(tasks_of(func, machine)).cycles <= report.bound <= report.cycles
    assert program_bound(func, machine).cycles <= report.cycles
