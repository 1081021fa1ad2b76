"""Tensors in on-chip memory between kernels: an independent replay of all tasks, cycle by cycle; the plan never exceeds a memory."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from support.networks.random_graphs import HEAD, SIZE, Case, cases, kernel_text, staged
from support.profile import IS_DEEP

from tilewright.engine.execute import run
from tilewright.engine.hwsim import Machine, Report, load_machine, simulate
from tilewright.engine.ir import Network, PrimFunc, TilewrightError
from tilewright.engine.network import (
    NetworkReport,
    OnChipPlan,
    Simulations,
    choose_on_chip,
    distinct_kernels,
    plan_text,
    prepared_calls,
    simulate_network,
)
from tilewright.engine.network.onchip import planned_tensors, programs, scopes_of
from tilewright.engine.script.relax import parse_network

NPU = load_machine("dual-bank-npu")
BYTES = SIZE * SIZE * 4
DESCRIPTOR = 4096


def busy_cycles(report: Report, machine: Machine) -> np.ndarray:
    """For each cycle of a call, whether a task occupies the DMA that copies into the vtcm, or a port of the copy: any access to the
    largest memory, whose one port has both directions, and writes of the vtcm, or reads too if it has one port.
    """
    program = report.segments.program
    dma = next(e.name for e in program.machine.engines if e.name.startswith("dma"))
    far, near = machine.memory("ddr"), machine.memory("vtcm")
    places = {p.buffer.name: p.memory.name for p in program.places.placements}
    occupied = np.zeros(report.cycles, bool)
    for task in report.segments.between():
        read, written = ({places[label.split("#")[0]] for label in labels} for labels in (task.reads, task.writes))
        accesses = far.name in read | written or near.name in written
        accesses |= near.ports == "shared" and near.name in read
        if task.engine == dma or accesses or (task.engine.startswith("dma") and machine.engine("dma").channels > 1):
            occupied[task.start : task.end] = True
    return occupied


def copy_cycles(machine: Machine) -> tuple[int, int]:
    """The cycles of a descriptor of 4096 bytes from the ddr to the vtcm, and its latency, by the rules of copies."""
    engine, far, near = machine.engine("dma"), machine.memory("ddr"), machine.memory("vtcm")
    rate = min(
        far.read_bytes_per_cycle, near.write_bytes_per_cycle if near.ports == "separate" else near.read_bytes_per_cycle
    )
    slowest = max(-(-DESCRIPTOR // rate), -(-DESCRIPTOR // engine.bytes_per_cycle))
    return engine.setup_cycles + slowest, far.latency_cycles


def replayed(case: Case, programs: dict[int, PrimFunc]) -> int:
    """The end of the inference, with every task replayed and the descriptors issued cycle by cycle."""
    graph = case.network.graph
    prepared = prepared_calls(graph)
    running = [at for at in range(len(graph.calls)) if at not in prepared]
    produced = {t.name for at in running for t in graph.calls[at].results}
    copied = {name for name in case.on_chip if name not in produced}
    duration, latency = copy_cycles(case.machine)
    now, loaded = 0, set[str]()
    occupied = np.zeros(0, bool)
    for at in running:
        needed = [t.name for t in graph.calls[at].arguments if t.name in copied and t.name not in loaded]
        waiting = len(dict.fromkeys(needed)) * (BYTES // DESCRIPTOR)
        loaded |= set(needed)
        cycle = 0
        while waiting and cycle + duration + latency <= len(occupied):
            if occupied[cycle : cycle + duration].any():
                cycle += 1
            else:
                cycle, waiting = cycle + duration, waiting - 1
        now += waiting * duration + latency if waiting else 0
        report = simulate(programs[at], case.machine, whole=10**9)
        occupied = busy_cycles(report, case.machine)
        now += report.cycles
    return now


def call_programs(case: Case, known: Simulations) -> dict[int, PrimFunc]:
    """The program of each call, with its tensors on chip."""
    graph = case.network.graph
    prepared = prepared_calls(graph)
    running = [at for at in range(len(graph.calls)) if at not in prepared]
    residents = planned_tensors(graph, running, case.machine, case.on_chip, {})
    kernels = {at: k.program(case.scheduled) for k in distinct_kernels(case.network) for at in k.calls}
    return {at: known.variant(kernels[at], scopes_of(graph.calls[at], residents)).program for at in running}


def require_room(plan: OnChipPlan, report: NetworkReport) -> None:
    """Tensors that live at the same time have disjoint addresses, and nothing exceeds a memory."""
    for a, b in combinations(plan.tensors, 2):
        meet = a.first <= b.last and b.first <= a.last and a.row == b.row
        assert not meet or a.address + a.bytes <= b.address or b.address + b.bytes <= a.address
    for call in plan.calls:
        live = [t for t in plan.tensors if t.row == call.row and t.first <= call.call <= t.last]
        assert sum(t.bytes for t in live) == call.tensor_bytes
        assert call.own_bytes + call.tensor_bytes <= call.peak_bytes
        assert call.peak_bytes <= call.capacity_bytes or not live
        assert all(t.address + t.bytes <= call.capacity_bytes for t in live)
    assert {at for at, _, _ in report.spans} >= {c.call for c in plan.calls}


@settings(max_examples=500 if IS_DEEP else 8)
@given(cases())
def test_law_network_cycles_are_those_of_a_replay_of_all_tasks(case: Case) -> None:
    known = Simulations(case.machine)
    try:
        found = simulate_network(
            case.network, case.machine, scheduled=case.scheduled, on_chip=case.on_chip, known=known
        )
    except TilewrightError as error:
        assert error.refusal.code == "capacity-overflow"
        return
    require_room(found.plan, found)
    if found.refused:
        return
    by_call = call_programs(case, known)
    assert found.cycles == replayed(case, by_call) == (found.spans[-1][2] if found.spans else 0)
    rng = np.random.default_rng(0)
    kernels = {at: k.program() for k in distinct_kernels(case.network) for at in k.calls}
    for at, program in by_call.items():
        arrays = {b.name: rng.integers(-4, 4, (SIZE, SIZE)).astype("float32") for b in program.buffers}
        names = [b.name for b in program.buffers]
        want = run(kernels[at], {b.name: arrays[n] for b, n in zip(kernels[at].buffers, names, strict=True)})
        np.testing.assert_array_equal(run(program, arrays)["y"], want["y"])


CHAIN = """
    @R.function
    def main(a: R.Tensor((64, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        R.func_attr({"num_input": 1})
        cls = Module
        t0 = R.call_tir(cls.scale, (a,), out_ty=R.Tensor((64, 64), "float32"))
        t1 = R.call_tir(cls.scale, (t0,), out_ty=R.Tensor((64, 64), "float32"))
        t2 = R.call_tir(cls.join, (t1, w), out_ty=R.Tensor((64, 64), "float32"))
        return t2
"""


def chain() -> tuple[Network, dict[str, PrimFunc]]:
    """Two scales and a sum, staged in the vtcm."""
    network = parse_network(HEAD + kernel_text("scale") + kernel_text("join") + CHAIN)
    return network, {name: staged(name, 16, 2, "local.vtcm") for name in ("scale", "join")}


@pytest.mark.slow
def test_tensor_on_chip_has_inlined_copies_and_its_own_kernels() -> None:
    network, scheduled = chain()
    plain = simulate_network(network, NPU, scheduled=scheduled)
    found = simulate_network(network, NPU, scheduled=scheduled, on_chip={"t0": "local.vtcm_Block_1"})
    assert [(c.kernel.name, c.calls, c.on_chip) for c in found.kernels] == [
        ("scale", (0,), (("y", "local.vtcm_Block_1"),)),
        ("scale", (1,), (("x", "local.vtcm_Block_1"),)),
        ("join", (2,), ()),
    ]
    first, second = (c.report for c in found.kernels[:2])
    assert first is not None and second is not None
    # The first call writes nothing to the ddr, the second reads nothing from it.
    assert [t.destination for t in first.traffic] == ["local.vtcm"]
    assert [t.source for t in second.traffic] == ["local.vtcm"]
    assert found.cycles < plain.cycles == sum(end - begin for _, begin, end in plain.spans)
    (tensor,) = found.plan.tensors
    assert (tensor.first, tensor.last, tensor.bytes, tensor.copied) == (0, 1, BYTES, False)
    assert {c.call for c in found.plan.calls} == {0, 1} and found.plan.waits == {}
    assert found.to_json()["on_chip"]["tensors"][0]["memory"] == "local.vtcm[0]"
    text = plan_text(found.plan, network.graph)
    assert "t0       local.vtcm[0]" in text and "0 scale" in text and "131,072" in text


@pytest.mark.slow
def test_weight_is_copied_while_the_dma_is_idle() -> None:
    network, scheduled = chain()
    machine = NPU.replace("engines.vector.cycles_per_operation", 100)
    found = simulate_network(network, machine, scheduled=scheduled, on_chip={"w": "local.vtcm_Block_2"})
    (copy,) = found.plan.transfers
    duration, latency = copy_cycles(machine)
    assert (copy.during, copy.descriptors) == (1, BYTES // DESCRIPTOR)
    assert copy.ready == (
        duration * (copy.descriptors - copy.hidden) + latency if copy.hidden < copy.descriptors else 0
    )
    assert found.plan.waits == ({2: copy.ready} if copy.ready else {})
    first = simulate_network(network, machine, scheduled=scheduled, on_chip={"a": "local.vtcm_Block_2"})
    (copy,) = first.plan.transfers
    assert (copy.during, copy.hidden, copy.ready) == (-1, 0, copy.descriptors * duration + latency)
    assert first.spans[0][1] == copy.ready


PRODUCT = """
    @R.function
    def main(a: R.Tensor((64, 64), "float32"), b: R.Tensor((64, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        cls = Module
        t0 = R.call_tir(cls.product, (a, b), out_ty=R.Tensor((64, 64), "float32"))
        t1 = R.call_tir(cls.join, (t0, w), out_ty=R.Tensor((64, 64), "float32"))
        return t1
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("cycles_per_tile", [1, 16, 32, 64, 1000])
@pytest.mark.parametrize("slots", [1, 2])
def test_weight_is_copied_during_a_product(cycles_per_tile: int, slots: int) -> None:
    network = parse_network(HEAD + kernel_text("product") + kernel_text("join") + PRODUCT)
    scheduled = {
        "product": staged("product", 16, slots, "local.acc"),
        "join": staged("join", 16, 1, "local.vtcm"),
    }
    machine = NPU.replace("engines.matrix.cycles_per_tile", cycles_per_tile)
    case = Case(network, machine, scheduled, {"w": "local.vtcm_Block_2"})
    known = Simulations(machine)
    found = simulate_network(network, machine, scheduled=scheduled, on_chip=case.on_chip, known=known)
    (copy,) = found.plan.transfers
    assert copy.during == 0 and found.cycles == replayed(case, call_programs(case, known))
    if cycles_per_tile == 1000:
        assert copy.hidden == copy.descriptors == 4 and found.plan.waits == {}
    assert found.plan.waits == ({1: copy.ready} if copy.hidden < copy.descriptors else {})


@pytest.mark.parametrize(
    ("scopes", "code"),
    [
        ({"t9": "local.vtcm_Block_1"}, "unknown-tensor"),
        ({"t0": "local.nowhere"}, "unknown-scope"),
        ({"t0": "global"}, "not-on-chip"),
        ({"t0": "local.vtcm"}, "whole-memory"),
        ({"t2": "local.vtcm_Block_1"}, "not-on-chip"),
    ],
)
def test_tensor_that_cannot_stay_on_chip_is_refused(scopes: dict[str, str], code: str) -> None:
    network, scheduled = chain()
    with pytest.raises(TilewrightError) as caught:
        simulate_network(network, NPU, scheduled=scheduled, on_chip=scopes)
    assert caught.value.refusal.code == code and next(iter(scopes)) in caught.value.refusal.message


def test_memory_too_small_names_the_call_and_the_tensors() -> None:
    network, scheduled = chain()
    small = NPU.replace("memories.vtcm.capacity_bytes", 2 * (BYTES - 4096))
    with pytest.raises(TilewrightError) as caught:
        simulate_network(network, small, scheduled=scheduled, on_chip={"t0": "local.vtcm_Block_1"})
    refusal = caught.value.refusal
    assert refusal.code == "capacity-overflow" and "t0" in refusal.message and "local.vtcm[0]" in refusal.message
    assert refusal.expected == f"at most {BYTES - 4096:,} B"


@pytest.mark.slow
def test_chosen_tensors_beat_each_tensor_alone() -> None:
    network, scheduled = chain()
    plain = simulate_network(network, NPU, scheduled=scheduled)
    seen: list[int] = []
    choice, found = choose_on_chip(network, NPU, scheduled=scheduled, watch=lambda r: seen.append(r.cycles))
    assert (
        choice.keys() >= {"t0", "t1"} and found.cycles == seen[-1] < plain.cycles and seen == sorted(seen, reverse=True)
    )
    require_room(found.plan, found)
    alone = [simulate_network(network, NPU, scheduled=scheduled, on_chip={n: s}).cycles for n, s in choice.items()]
    assert found.cycles <= min(alone)
    assert simulate_network(network, NPU, scheduled=scheduled, on_chip=choice).cycles == found.cycles


@pytest.mark.slow
def test_only_calls_of_a_changed_kernel_are_simulated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    network, scheduled = chain()
    on_chip = {"t0": "local.vtcm_Block_1"}
    known = Simulations(NPU)
    simulate_network(network, NPU, scheduled=scheduled, on_chip=on_chip, known=known)
    count: list[PrimFunc] = []
    simulated = programs.simulate
    monkeypatch.setattr(programs, "simulate", lambda func, machine: count.append(func) or simulated(func, machine))
    simulate_network(network, NPU, scheduled=scheduled, on_chip=on_chip, known=known)
    assert not count
    changed = {**scheduled, "join": staged("join", 8, 1, "local.vtcm")}
    found = simulate_network(network, NPU, scheduled=changed, on_chip=on_chip, known=known)
    assert [f.name for f in count] == ["join"]
    assert found.cycles == simulate_network(network, NPU, scheduled=changed, on_chip=on_chip).cycles
