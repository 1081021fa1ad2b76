"""DMA channels and outstanding requests: against two engines on a bus, hand calculations, and a replay of every task."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from support.profile import samples
from support.programs.sources import matmul
from support.simulator.exactness import MACHINES, differing_reports, tiled, varied
from support.simulator.machines import plain

from tilewright.engine.hwsim import Machine, MachineError, simulate
from tilewright.engine.hwsim.machine.parts import Bus
from tilewright.engine.hwsim.sensitivity import sensitivity
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lint import lint
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse


def machine(channels: int = 1, **figures: int) -> Machine:
    found = plain().replace("pad.capacity_bytes", 1 << 16).replace("dma.channels", channels)
    for figure, value in figures.items():
        found = found.replace(figure.replace("__", "."), value)
    return found


def product(steps: int = 16) -> Schedule:
    """A product in steps of 8, both operands loaded in each into two slots."""
    sch = Schedule(parse(matmul(8, 8, 8 * steps)).program)
    k, inner = sch.split(sch.get_loops("C")[2], factors=[None, 8])
    sch.reorder(k, *sch.get_loops("C")[:2], inner)
    for operand in (0, 1):
        copy = sch.cache_read("C", operand, "local")
        sch.compute_at(copy, k)
        sch.double_buffer(copy)
    sch.cache_write("C", 0, "local")
    return sch


def func(steps: int = 16) -> PrimFunc:
    return product(steps).func


def test_two_channels_cost_as_much_as_two_engines_on_a_bus():
    one = machine()
    dma = one.engine("dma")
    names = ("dma[0]", "dma[1]")
    engines = [msgspec.structs.replace(dma, name=name) for name in names]
    rest = [e for e in one.engines if e.name != "dma"]
    by_hand = msgspec.structs.replace(
        one, engines=(*engines, *rest), buses=(Bus("dma channels", names, dma.bytes_per_cycle),)
    )
    found, expected = simulate(func(), machine(2)), simulate(func(), by_hand)
    assert found.to_json() == expected.to_json()


@pytest.mark.sample(1)
@pytest.mark.parametrize(("setup", "cycles"), [(0, 128), (10, 137), (100, 227)])
def test_set_ups_of_two_channels_overlap_and_share_the_rate(setup: int, cycles: int):
    fast = {"dma__setup_cycles": setup, "matrix__cycles_per_tile": 1, "matrix__setup_cycles": 0}
    few, many = (simulate(func(steps), machine(2, **fast)).cycles for steps in (40, 60))
    # Both copies of a step: two times 256 bytes at 4 bytes a cycle. They alternate, so that one ends and sets up a cycle before the other.
    assert (many - few) / 20 == cycles
    few, many = (simulate(func(steps), machine(1, **fast)).cycles for steps in (40, 60))
    assert (many - few) / 20 == 128 + 2 * setup


def test_one_channel_leaves_the_machine_unchanged():
    one = machine()
    assert one.by_channel is one


@pytest.mark.slow
def test_each_channel_has_its_stalls_and_its_engine_a_sensitivity():
    found = simulate(func(), machine(3))
    channels = [name for name in found.engines if name.startswith("dma")]
    assert channels == ["dma[0]", "dma[1]", "dma[2]"]
    for name in channels:
        assert found.engines[name].busy + sum(found.engines[name].stall.values()) == found.cycles
    assert any(p.path == "engines.dma.setup_cycles" and p.saved > 0 for p in sensitivity(func(), machine(3)))


@pytest.mark.parametrize(("name", "tasks"), [("dma[1]", "dma[1]"), ("dma", "dma[0]")])
def test_an_annotation_selects_the_channel(name: str, tasks: str):
    sch = product()
    for copy in ("A_local", "B_local"):
        sch.annotate(copy, "engine", name)
    found = simulate(sch.func, machine(2))
    assert {n for n, e in found.engines.items() if e.tasks and n.startswith("dma")} >= {tasks}
    assert found.engines[tasks].tasks >= 32


def test_channels_of_a_unit_are_refused():
    with pytest.raises(MachineError) as caught:
        plain().replace("dma.unit", "core").replace("dma.channels", 2)
    assert caught.value.code == "channels-in-unit"


@pytest.mark.slow
def test_lint_fixes_are_tried_with_all_channels():
    slow = machine(2, ddr__latency_cycles=2_000)
    found = {f.code: f for f in lint(product(), slow)}
    assert found["late-loads"].fixes[0].cycles < simulate(func(), slow).cycles


@pytest.mark.parametrize(("outstanding", "cycles"), [(0, 64), (1, 4 * 100), (2, 200), (3, 134), (8, 64)])
def test_outstanding_requests_limit_the_rate_by_littles_law(outstanding: int, cycles: int):
    found = machine(dma__outstanding_requests=outstanding, ddr__latency_cycles=100, ddr__burst_bytes=64)
    tasks = [t for t in simulate(func(), found).segments.between(0, 10**6) if t.block == "B_local"]
    # 8 rows of 8 floats are contiguous, so a tile is 4 bursts.
    assert {t.end - t.start for t in tasks} == {10 + cycles}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", samples(range(60), *range(6)))
def test_law_skipping_with_channels_is_exact(seed: int):
    rng = Random(31_000 + seed)
    base, *scopes = rng.choice(MACHINES)
    try:
        program, found = tiled(rng, *scopes), varied(rng, base)
        assert not differing_reports(program, found)
    except (MachineError, ScheduleError) as refused:
        assert refused.code
