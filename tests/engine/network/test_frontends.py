"""Model files of several formats: the contents that each frontend reads, missing packages, and files that would run code."""

from __future__ import annotations

import resource
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.engine.ir import TilewrightError
from tilewright.engine.network import is_model_file, lowered_text, run_network
from tilewright.engine.network.frontends import model_suffixes, reader
from tilewright.engine.network.frontends.formats import frontend_of
from tilewright.engine.script.relax import parse_network

CALLED = """
module @jit_f {
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.add %0, %arg2 : tensor<4x8xf32>
    %2 = call @relu(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
  func.func private @relu(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.subtract %arg0, %arg0 : tensor<4x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
"""


def test_suffix_decides_whether_a_file_is_a_model() -> None:
    assert set(model_suffixes()) == {".onnx", ".tflite", ".mlir", ".stablehlo", ".pt2"}
    assert is_model_file("net.TFLITE") and not is_model_file("net.py")


@pytest.mark.parametrize(
    ("name", "package", "fix"),
    [
        ("m.tflite", "tflite", "pip install tflite flatbuffers"),
        ("m.mlir", "jax", 'pip install "jax<0.7"'),
        ("m.pt2", "torch", "pip install torch"),
        ("m.onnx", "tvm.relax", 'pip install "tilewright[models]"'),
    ],
)
def test_missing_package_is_reported_with_its_pip_command(
    name: str, package: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(module: str) -> Any:
        if module == package:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return object()

    monkeypatch.setattr(reader, "import_module", found)
    with pytest.raises(TilewrightError) as caught:
        reader.imported(frontend_of(tmp_path / name), tmp_path / name)
    refusal = caught.value.refusal
    assert refusal.code == "no-frontend" and refusal.fix == (fix,) and package in refusal.message


@pytest.mark.slow
@pytest.mark.tvm
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory needs /proc")
def test_huge_onnx_file_is_refused_in_little_memory(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("tvm")
    h = onnx.helper
    scalars = {"a": 0.0, "b": 2e9, "c": 1.0}
    values = [h.make_tensor(name, onnx.TensorProto.FLOAT, [], [value]) for name, value in scalars.items()]
    result = h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n"])
    graph = h.make_graph([h.make_node("Range", list(scalars), ["y"])], "g", [], [result], values)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), str(tmp_path / "range.onnx"))
    with pytest.raises(TilewrightError, match="more than 2,147,48") as caught:
        lowered_text(tmp_path / "range.onnx")
    assert caught.value.refusal.code == "too-large"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 4 << 20  # KiB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20


@pytest.mark.tvm
def test_open_batch_of_an_exported_program_is_a_size(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("tvm")
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8), torch.nn.Softmax(-1))
    batch = torch.export.Dim("b")
    program = torch.export.export(model.eval(), (torch.randn(4, 16),), dynamic_shapes=({0: batch},))
    torch.export.save(program, str(tmp_path / "mlp.pt2"))
    network = parse_network(lowered_text(tmp_path / "mlp.pt2"))
    assert len(network.graph.inputs) == 1 and len(network.graph.weights) == 4
    arrays = {t.name: np.ones([getattr(e, "value", 3) for e in t.shape], t.dtype) for t in network.graph.weights}
    (x,) = network.graph.inputs
    (size,) = {e.name for e in x.shape[:1]}  # type: ignore[attr-defined]
    (result,) = run_network(network, {**arrays, x.name: np.ones((3, 16), "float32")}, {size: 3})
    np.testing.assert_allclose(result, np.full((3, 8), 1 / 8), rtol=1e-6)


@pytest.mark.tvm
def test_calls_of_stablehlo_functions_are_read(tmp_path: Path) -> None:
    pytest.importorskip("tvm")
    jaxlib = pytest.importorskip("jaxlib")
    if tuple(map(int, jaxlib.__version__.split(".")[:2])) >= (0, 7):
        pytest.skip("TVM 0.27 reads attributes by an interface that newer versions of jaxlib do not have")
    path = tmp_path / "m.mlir"
    path.write_text(CALLED)
    network = parse_network(lowered_text(path))
    arrays = {t.name: np.ones([int(e.value) for e in t.shape], "float32") for t in network.graph.inputs}  # type: ignore[attr-defined]
    arrays["arg2"] = np.linspace(-20, 20, 32, dtype="float32").reshape(4, 8)
    (result,) = run_network(network, arrays)
    np.testing.assert_allclose(result, np.maximum(16 + arrays["arg2"], 0), rtol=1e-6)


def dense(path: Path) -> None:
    """Write a TFLite model of a dense layer with ReLU: 4 x 16 to 4 x 8."""
    tflite = import_module("tflite")
    flatbuffers = import_module("flatbuffers")
    b = flatbuffers.Builder(1024)

    def vector(start: Any, values: list[int]) -> int:
        start(b, len(values))
        for value in reversed(values):
            b.PrependInt32(value)
        return int(b.EndVector())

    def offsets(start: Any, values: list[int]) -> int:
        start(b, len(values))
        for value in reversed(values):
            b.PrependUOffsetTRelative(value)
        return int(b.EndVector())

    weights = np.ones((8, 16), "float32")
    data = b.CreateByteVector(weights.tobytes())
    buffers = []
    for content in (None, data):
        tflite.BufferStart(b)
        if content is not None:
            tflite.BufferAddData(b, content)
        buffers.append(tflite.BufferEnd(b))
    tensors = []
    for name, shape, buffer in (("x", [4, 16], 0), ("w", [8, 16], 1), ("y", [4, 8], 0)):
        text, extents = b.CreateString(name), vector(tflite.TensorStartShapeVector, shape)
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, extents)
        tflite.TensorAddType(b, tflite.TensorType.FLOAT32)
        tflite.TensorAddBuffer(b, buffer)
        tflite.TensorAddName(b, text)
        tensors.append(tflite.TensorEnd(b))
    tflite.FullyConnectedOptionsStart(b)
    tflite.FullyConnectedOptionsAddFusedActivationFunction(b, tflite.ActivationFunctionType.RELU)
    options = tflite.FullyConnectedOptionsEnd(b)
    inputs, outputs = vector(tflite.OperatorStartInputsVector, [0, 1]), vector(tflite.OperatorStartOutputsVector, [2])
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, 0)
    tflite.OperatorAddInputs(b, inputs)
    tflite.OperatorAddOutputs(b, outputs)
    tflite.OperatorAddBuiltinOptionsType(b, tflite.BuiltinOptions.FullyConnectedOptions)
    tflite.OperatorAddBuiltinOptions(b, options)
    operator = tflite.OperatorEnd(b)
    parts = (
        offsets(tflite.SubGraphStartTensorsVector, tensors),
        vector(tflite.SubGraphStartInputsVector, [0]),
        vector(tflite.SubGraphStartOutputsVector, [2]),
        offsets(tflite.SubGraphStartOperatorsVector, [operator]),
    )
    tflite.SubGraphStart(b)
    for add, part in zip(("Tensors", "Inputs", "Outputs", "Operators"), parts, strict=True):
        getattr(tflite, f"SubGraphAdd{add}")(b, part)
    graph = tflite.SubGraphEnd(b)
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddBuiltinCode(b, tflite.BuiltinOperator.FULLY_CONNECTED)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, tflite.BuiltinOperator.FULLY_CONNECTED)
    code = tflite.OperatorCodeEnd(b)
    codes = offsets(tflite.ModelStartOperatorCodesVector, [code])
    graphs = offsets(tflite.ModelStartSubgraphsVector, [graph])
    held = offsets(tflite.ModelStartBuffersVector, buffers)
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddOperatorCodes(b, codes)
    tflite.ModelAddSubgraphs(b, graphs)
    tflite.ModelAddBuffers(b, held)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    path.write_bytes(bytes(b.Output()))


@pytest.mark.tvm
def test_the_layer_of_a_tflite_model_is_read(tmp_path: Path) -> None:
    for package in ("tvm", "tflite", "flatbuffers"):
        pytest.importorskip(package)
    dense(tmp_path / "dense.tflite")
    network = parse_network(lowered_text(tmp_path / "dense.tflite"))
    shapes = {t.name: [int(e.value) for e in t.shape] for t in (*network.graph.inputs, *network.graph.weights)}  # type: ignore[attr-defined]
    arrays = {name: np.ones(shape, "float32") for name, shape in shapes.items()}
    (result,) = run_network(network, arrays)
    np.testing.assert_allclose(result, np.full((4, 8), 16), rtol=1e-6)
