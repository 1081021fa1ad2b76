"""Networks as modules of TVM: the exported file defines a module that TVM compiles, with the results of the unscheduled network."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.pasted.relax_modules import MODEL, OPEN, SCALAR

from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import AXIS_SEPARATOR, Network, PrimFunc, build
from tilewright.engine.network import (
    NetworkProgress,
    explore_network,
    merged,
    network_tvm_python,
    network_tvm_script,
    run_network,
    scheduled_program,
)
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network

tvm = pytest.importorskip("tvm")
pytestmark = [
    pytest.mark.tvm,
    pytest.mark.skipif(not tvm.runtime.enabled("llvm"), reason="this build of TVM cannot make code for the CPU"),
]
NPU = load_machine("dual-bank-npu")


def exported(network: Network, scheduled: dict[str, PrimFunc], path: Path) -> ModuleType:
    """The module of the exported file. TVM reads its source, so it is imported from a file."""
    path.write_text(network_tvm_python(network, scheduled))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


def results(module: ModuleType, network: Network, arrays: dict[str, Any]) -> list[np.ndarray]:
    """The results of TVM's virtual machine."""
    order = network.graph.parameters
    found = module.build()[network.graph.name](*(tvm.runtime.tensor(arrays[t.name]) for t in order))
    many = found if len(network.graph.results) > 1 else [found]
    return [tensor.numpy() for tensor in many]


def arrays_of(network: Network) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for tensor in network.graph.parameters:
        shape = [build.int_value(e) for e in tensor.shape]
        found[tensor.name] = generator.standard_normal(shape).astype(tensor.dtype)
    return found


def convolutions() -> Network:
    """Two convolutions with bias and relu, a pool between them, and a dense layer, lowered by TVM."""
    from tvm import relax

    builder = relax.BlockBuilder()
    shapes = {
        "x": (1, 8, 20, 20), "w": (16, 8, 3, 3), "b": (1, 16, 1, 1), "v": (32, 16, 1, 1), "d": (32 * 81, 10)
    }  # fmt: skip
    x, w, b, v, d = (relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in shapes.items())
    with builder.function("main", [x, w, b, v, d], attrs={"num_input": 1}):
        with builder.dataflow():
            first = builder.emit(relax.op.nn.relu(relax.op.add(relax.op.nn.conv2d(x, w, padding=1), b)))
            pooled = builder.emit(relax.op.nn.max_pool2d(first, pool_size=(4, 4), strides=(2, 2)))
            second = builder.emit(relax.op.nn.relu(relax.op.nn.conv2d(pooled, v)))
            flat = builder.emit(relax.op.reshape(second, (1, 32 * 81)))
            result = builder.emit_output(relax.op.matmul(flat, d))
        builder.emit_func_output(result)
    module = builder.get()
    for name in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        module = getattr(relax.transform, name)()(module)
    return merged(parse_network(module.script(show_meta=False)))


def searched(network: Network) -> dict[str, PrimFunc]:
    """The first schedule of each kernel."""
    seen: list[NetworkProgress] = []
    count = len({call.kernel for call in network.graph.calls})
    study = explore_network(network, NPU, seconds=240, workers=0, watch=seen.append, stop=lambda: len(seen) >= count)
    return {
        k.name: scheduled_program(network[k.name], k.study.lines) for k in study.kernels if k.study and k.study.lines
    }


@pytest.mark.slow
def test_tvm_computes_the_same_with_scheduled_kernels(tmp_path: Path) -> None:
    network = convolutions()
    scheduled = searched(network)
    assert len(scheduled) >= 4, "both convolutions, the pool and the dense layer"
    text = network_tvm_python(network, scheduled)
    assert f"{len(scheduled)} of them scheduled" in text and "local.vtcm" in text
    arrays = arrays_of(network)
    (plain,) = results(exported(network, {}, tmp_path / "plain_network.py"), network, arrays)
    (tiled,) = results(exported(network, scheduled, tmp_path / "tiled_network.py"), network, arrays)
    (ours,) = run_network(network, arrays, scheduled=scheduled)
    assert np.abs(plain).max() > 1
    # Sums in another order: 2,592 products of float32 each.
    np.testing.assert_allclose(tiled, plain, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("text", "sizes"), [(MODEL, {}), (OPEN, {"n": 4})], ids=["constants", "open size"])
def test_an_exported_module_has_the_same_results(text: str, sizes: dict[str, int], tmp_path: Path) -> None:
    network = merged(parse_network(text))
    arrays = {"x": np.ones((4, 8), "float32"), "z": -np.ones((8, 8), "float32")} if sizes else arrays_of(network)
    found = results(exported(network, {}, tmp_path / "a_network.py"), network, arrays)
    for one, expected in zip(found, run_network(network, arrays, sizes), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6)


@pytest.mark.slow
def test_tvm_and_import_read_the_text_of_a_network() -> None:
    network = merged(parse_network(MODEL))
    text = network_tvm_script(network)
    module = tvm.script.from_source(text)
    assert {v.name_hint for v in module.functions} == {"main", *(f.name for f in network.kernels)}
    assert [c.kernel for c in parse_network(text).graph.calls] == [c.kernel for c in network.graph.calls]


@pytest.mark.slow
def test_text_omits_axis_separators_of_intermediates() -> None:
    network = merged(parse_network(MODEL))
    schedule = Schedule(network["scale"])
    schedule.cache_write("scale", 0, "local")
    schedule.transform_layout("scale", ("write", 0), lambda i, j: [i // 4, AXIS_SEPARATOR, i % 4, j])
    text = network_tvm_script(network, {"scale": schedule.func})
    assert "axis_separators" not in text and tvm.script.from_source(text) is not None


@pytest.mark.slow
def test_tvm_gets_the_value_of_a_number_in_the_text(tmp_path: Path) -> None:
    network = parse_network(SCALAR)
    x = np.arange(256, dtype="float32").reshape(16, 16)
    (found,) = results(exported(network, {}, tmp_path / "scalar_network.py"), network, {"x": x})
    np.testing.assert_array_equal(found, -1.25 * x)
