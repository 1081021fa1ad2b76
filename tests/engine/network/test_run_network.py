"""Networks on NumPy: the order of calls, results in arguments, and equality with TVM's virtual machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pasted.relax_modules import IN_PLACE, MODEL, OPEN, SCALAR

from tilewright.engine.ir import Network, TilewrightError, build
from tilewright.engine.network import merged, network_tvm_script, run_network
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network


def arrays(network: Network, sizes: dict[str, int] | None = None) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    found = {}
    for tensor in network.graph.parameters:
        shape = [build.int_value(e) or (sizes or {})["n"] for e in tensor.shape]
        found[tensor.name] = generator.integers(-8, 8, shape).astype(tensor.dtype) / 8
    return found


def test_number_of_the_text_is_no_parameter_and_keeps_its_value() -> None:
    network = parse_network(SCALAR)
    assert [t.name for t in network.graph.parameters] == ["x"] and len(network.graph.weights) == 2
    x = arrays(network)["x"]
    for one in (network, parse_network(network_tvm_script(network))):
        (result,) = run_network(one, {"x": x})
        np.testing.assert_array_equal(result, -1.25 * x)


def test_results_of_a_model_are_those_of_its_calls_in_order() -> None:
    network = parse_network(MODEL)
    given = arrays(network)
    x, w, constant = given["x"], given["w"], given["constant0"]
    expected = (2 * x) * (2 * w) * 2 + constant
    for one in (network, merged(network)):
        (result,) = run_network(one, given)
        np.testing.assert_array_equal(result, expected)
    schedule = Schedule(network["both"])
    schedule.cache_write("s", 0, "local.vtcm")
    (result,) = run_network(network, given, scheduled={"both": schedule.func})
    np.testing.assert_array_equal(result, expected)
    with pytest.raises(TilewrightError, match="constant0 has no array"):
        run_network(network, {"x": x, "w": w})


def test_result_in_an_argument_has_the_arguments_new_values() -> None:
    x = np.arange(16, dtype="float32")
    stored, fresh = run_network(parse_network(IN_PLACE), {"x": x})
    np.testing.assert_array_equal(stored, x + 1)
    np.testing.assert_array_equal(fresh, 2 * (x + 1))
    np.testing.assert_array_equal(x, np.arange(16))


def test_each_call_runs_with_its_open_size() -> None:
    network = parse_network(OPEN)
    x, z = np.full((4, 8), -1.5, "float32"), np.arange(64, dtype="float32").reshape(8, 8) - 32
    short, long = run_network(network, {"x": x, "z": z}, {"n": 4})
    np.testing.assert_array_equal(short, np.zeros((4, 8)))
    np.testing.assert_array_equal(long, np.maximum(z, 0))


@pytest.mark.slow
def test_virtual_machine_of_tvm_has_the_same_results() -> None:
    tvm = pytest.importorskip("tvm")
    from tvm import relax
    from tvm.relax.frontend import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            self.first, self.norm = nn.Linear(16, 32), nn.RMSNorm(32, -1, bias=False)
            self.second = nn.Linear(32, 16)

        def forward(self, x: Any) -> Any:
            left, right = nn.op.split(self.second(self.norm(nn.silu(self.first(x)))), 2, axis=-1)
            return nn.op.softmax(left * right)

    module, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor(["n", 16], "float32")}})
    for name in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        module = getattr(relax.transform, name)()(module)
    network = parse_network(module.script(show_meta=False))
    assert [t.name for t in network.graph.inputs] == ["x"] and len(network.graph.weights) == 5
    given = arrays(network, {"n": 3})
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    order = [*network.graph.inputs, *network.graph.weights]
    expected = machine["forward"](*(tvm.runtime.tensor(given[t.name]) for t in order)).numpy()
    (result,) = run_network(network, given, {"n": 3})
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
