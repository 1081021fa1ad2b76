"""The cost of a network: equal programs are one kernel, the sum is over the calls of an inference, weights are prepared once."""

from __future__ import annotations

import pytest
from support.pasted.relax_modules import MODEL, OPEN

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.lower import with_sizes
from tilewright.engine.network import distinct_kernels, merged, network_text, prepared_calls, simulate_network
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import graph_text, parse_network

NPU = load_machine("dual-bank-npu")


def test_functions_of_one_structure_are_one_kernel() -> None:
    network = parse_network(MODEL)
    kernels = distinct_kernels(network)
    assert [(k.names, k.calls) for k in kernels] == [(("scale", "again"), (0, 1, 3)), (("both",), (2, 4))]
    whole = merged(network)
    assert [f.name for f in whole.kernels] == ["scale", "both"] and "cls.again" not in graph_text(whole.graph)
    assert [k.calls for k in distinct_kernels(whole)] == [k.calls for k in kernels]


def test_calls_of_weights_alone_are_not_part_of_an_inference() -> None:
    network = parse_network(MODEL)
    assert prepared_calls(network.graph) == {0}
    report = simulate_network(network, NPU)
    each = {f.name: simulate(f, NPU).cycles for f in network.kernels}
    assert report.cycles == 2 * each["scale"] + 2 * each["both"] and report.preparation_cycles == each["scale"]
    assert sum(map(report.share, report.kernels)) == pytest.approx(1)
    assert [c.kernel.name for c in report.ranked()] == ["both", "scale"]


def test_each_value_of_a_size_is_its_own_kernel() -> None:
    network = parse_network(OPEN)
    kernels = distinct_kernels(network, {"n": 4})
    assert [(dict(k.sizes), k.calls) for k in kernels] == [({"m": 4}, (0, 1)), ({"m": 8}, (2, 3))]
    (relu,) = network.kernels
    assert structural_equal(kernels[1].program(), with_sizes(relu, {"m": 8}).func)
    with pytest.raises(TilewrightError, match="leaves the size n open"):
        distinct_kernels(network)


def test_the_sum_has_the_cycles_of_a_schedule() -> None:
    network = parse_network(MODEL)
    schedule = Schedule(network["both"])
    for block in ("s", "p"):
        schedule.cache_write(block, 0, "local.vtcm")
    watched: list[str] = []
    report = simulate_network(
        network, NPU, scheduled={"both": schedule.func}, watch=lambda c: watched.append(c.kernel.name)
    )
    plain = simulate_network(network, NPU)
    change = simulate(schedule.func, NPU).cycles - simulate(network["both"], NPU).cycles
    assert change and report.cycles == plain.cycles + 2 * change and watched == ["scale", "both"]


def test_kernel_refused_by_the_machine_is_reported() -> None:
    network = parse_network(MODEL)
    report = simulate_network(network, NPU)
    text = network_text(report)
    assert text.startswith(f"{report.cycles:,} cycles on dual-bank-npu: 4 calls of 2 kernels")
    assert "1 calls depend on weights alone" not in text and "1 call depends on weights alone" in text
    assert network_text(report, most=1).count("1 more") == 1
    elsewhere = MODEL.replace(
        'w: T.Buffer((16, 16), "float32")', 'w: T.Buffer((16, 16), "float32", scope="local.nowhere")'
    )
    refused = simulate_network(parse_network(elsewhere), NPU)
    assert [c.kernel.name for c in refused.refused] == ["both"] and "both is not in the sum: " in network_text(refused)
    assert 0 < refused.cycles < report.cycles and refused.to_json()["kernels"][1]["error"]
    assert report.to_json()["cycles"] == report.cycles and len(report.to_json()["kernels"]) == 2
