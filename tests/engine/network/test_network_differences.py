"""Two networks compared: the changes of the kernels sum to the difference, the largest first."""

from __future__ import annotations

from support.pasted.relax_modules import MODEL

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.network import difference_json, difference_text, network_difference, simulate_network
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network

NPU, CPU = load_machine("dual-bank-npu"), load_machine("cpu-core")


def test_changes_of_all_kernels_sum_to_the_difference() -> None:
    network = parse_network(MODEL)
    first, second = simulate_network(network, NPU), simulate_network(network, CPU)
    found = network_difference(first, second)
    assert found.machines == ("dual-bank-npu", "cpu-core") and found.cycles == (first.cycles, second.cycles)
    assert sum(k.change for k in found.kernels) == found.change == second.cycles - first.cycles != 0
    assert [abs(k.change) for k in found.kernels] == sorted((abs(k.change) for k in found.kernels), reverse=True)
    (scale,) = [k for k in found.kernels if k.kernel == "scale"]
    assert scale.calls == (2, 2)
    assert scale.change == 2 * (simulate(network["scale"], CPU).cycles - simulate(network["scale"], NPU).cycles)


def test_scheduled_kernel_explains_the_difference() -> None:
    network = parse_network(MODEL)
    schedule = Schedule(network["both"])
    for block in ("s", "p"):
        schedule.cache_write(block, 0, "local.vtcm")
    first = simulate_network(network, NPU)
    second = simulate_network(network, NPU, scheduled={"both": schedule.func})
    found = network_difference(first, second)
    assert [k.kernel for k in found.kernels if k.change] == ["both"]
    text = difference_text(found, ("plain", "staged"))
    assert f"({found.change:+,}" in text and "100.0%" in text and "1 kernels have equal cycles" in text
    assert difference_json(found)["kernels"][0]["share"] == 1.0


def test_kernel_of_one_network_only_counts_in_full() -> None:
    network = parse_network(MODEL)
    fewer = parse_network(
        MODEL.replace("lv4 = R.call_tir(cls.again, (lv3,)", "lv4 = R.call_tir(cls.scale, (lv3,)")
        .replace("cls.both, (lv, ready)", "cls.both, (x, ready)")
        .replace('            lv = R.call_tir(cls.scale, (x,), out_ty=R.Tensor((16, 16), dtype="float32"))\n', "")
    )
    found = network_difference(simulate_network(network, NPU), simulate_network(fewer, NPU))
    (scale,) = [k for k in found.kernels if k.change]
    assert scale.calls == (2, 1) and found.change == scale.change < 0
    alone = network_difference(
        simulate_network(network, NPU), simulate_network(network, NPU, on_chip={"lv": "local.vtcm_Block_1"})
    )
    assert sum(k.change for k in alone.kernels) + alone.waits[1] - alone.waits[0] == alone.change
