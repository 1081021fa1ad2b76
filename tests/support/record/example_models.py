"""Writes the models of static/examples/models: `PYTHONPATH=tests python -m support.record.example_models`. Needs TVM.

The kernels have no schedules afterwards: `tilewright network static/examples/models/NAME --auto` finds them, and its folder `.search` is
removed.
"""

from __future__ import annotations

import shutil
from math import sqrt
from pathlib import Path
from typing import Any

from tvm import relax

from tilewright.app.document.networks import create_network
from tilewright.engine.hwsim import load_machine
from tilewright.engine.network.frontends.reader import PASSES
from tilewright.engine.script.relax import parse_network

MODELS = Path(__file__).parents[3] / "static" / "examples" / "models"
MACHINE = "dual-bank-npu"

STAGES = ((64, 56), (128, 28), (256, 14), (512, 7))
"""The stages of ResNet-18: channels, and rows of the image."""

ROWS, WIDTH, HEADS, HIDDEN = 128, 256, 4, 1024
"""The transformer: rows of the sequence, their width, heads of the attention, width of the MLP."""


class Builder:
    """A relax function whose weights become parameters ordered by first use."""

    def __init__(self, *shape: int) -> None:
        self.input = relax.Var("x", relax.TensorType(shape, "float32"))
        self.weights: list[relax.Var] = []
        self.block = relax.BlockBuilder()

    def weight(self, *shape: int) -> relax.Var:
        self.weights.append(relax.Var(f"w{len(self.weights)}", relax.TensorType(shape, "float32")))
        return self.weights[-1]

    def lowered(self, body: Any) -> str:
        """The text of the lowered module of `body`, a function from the input to the result."""
        with self.block.function("main", attrs={"num_input": 1}):
            with self.block.dataflow():
                result = self.block.emit_output(body(self, self.input, self.block.emit))
            self.block.emit_func_output(result, [self.input, *self.weights])
        module = self.block.finalize()
        for name in PASSES:
            module = getattr(relax.transform, name)()(module)
        return module.script(show_meta=False)


def resnet(make: Builder, x: Any, emit: Any) -> Any:
    """The eight basic blocks of ResNet-18, batch norms folded into the convolutions."""
    op = relax.op
    channels = STAGES[0][0]

    def convolution(value: Any, source: int, target: int, kernel: int, stride: int) -> Any:
        weight, bias = make.weight(target, source, kernel, kernel), make.weight(1, target, 1, 1)
        pad = (kernel - 1) // 2
        found = emit(op.nn.conv2d(value, weight, strides=stride, padding=(pad, pad)))
        return emit(op.add(found, bias))

    for target, _ in STAGES:
        for block in range(2):
            stride = 2 if block == 0 and target != channels else 1
            inner = emit(op.nn.relu(convolution(x, channels, target, 3, stride)))
            inner = convolution(inner, target, target, 3, 1)
            short = x if stride == 1 else convolution(x, channels, target, 1, stride)
            x = emit(op.nn.relu(emit(op.add(inner, short))))
            channels = target
    return x


def transformer(make: Builder, x: Any, emit: Any) -> Any:
    """One encoder layer: layer norm, attention, layer norm, MLP with GELU, and two residual sums."""
    op, each = relax.op, WIDTH // HEADS

    def norm(value: Any) -> Any:
        return emit(op.nn.layer_norm(value, make.weight(WIDTH), make.weight(WIDTH), axes=-1))

    def dense(value: Any, source: int, target: int) -> Any:
        return emit(op.add(emit(op.matmul(value, make.weight(source, target))), make.weight(target)))

    def heads(value: Any, axes: list[int]) -> Any:
        return emit(op.permute_dims(emit(op.reshape(value, (ROWS, HEADS, each))), axes))

    normed = norm(x)
    q, k, v = (dense(normed, WIDTH, WIDTH) for _ in range(3))
    scores = emit(op.matmul(heads(q, [1, 0, 2]), heads(k, [1, 2, 0])))
    scores = emit(op.multiply(scores, relax.const(1 / sqrt(each), "float32")))
    mixed = emit(op.matmul(emit(op.nn.softmax(scores, axis=-1)), heads(v, [1, 0, 2])))
    joined = emit(op.reshape(emit(op.permute_dims(mixed, [1, 0, 2])), (ROWS, WIDTH)))
    x = emit(op.add(x, dense(joined, WIDTH, WIDTH)))
    inner = emit(op.nn.gelu(dense(norm(x), WIDTH, HIDDEN)))
    return emit(op.add(x, dense(inner, HIDDEN, WIDTH)))


NETWORKS = {
    "resnet18_blocks": (
        resnet,
        (1, *STAGES[0], STAGES[0][1]),
        "The eight blocks of ResNet-18",
        "Convolutions of 3x3 with their batch norms folded in, each fused with bias, sum and ReLU. Each kernel has a schedule.",
    ),
    "transformer_layer": (
        transformer,
        (ROWS, WIDTH),
        "A transformer layer",
        f"Attention with {HEADS} heads, an MLP with GELU, layer norms and residual sums, on {ROWS} rows of {WIDTH} values. "
        "Each kernel has a schedule.",
    ),
}


def main() -> None:
    for name, (body, shape, title, about) in NETWORKS.items():
        network = parse_network(Builder(*shape).lowered(body))
        shutil.rmtree(MODELS / name, ignore_errors=True)
        path = create_network(network, MODELS / name, title, load_machine(MACHINE))
        first, second, *rest = path.read_text().split("\n\n")
        path.write_text("\n\n".join([f"{first}\n#\n# {about}", second, *rest]))
        print(f"{name}: {len(network.graph.calls)} calls, {len(network.kernels)} functions")


if __name__ == "__main__":
    main()
