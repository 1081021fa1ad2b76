"""Models lowered by TVM: each is read as a graph, and its results on NumPy equal those of TVM's virtual machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.profile import samples

from tilewright.engine.ir import Network, build
from tilewright.engine.network import merged, network_tvm_script, run_network
from tilewright.engine.script.relax import parse_network

tvm = pytest.importorskip("tvm")
relax = tvm.relax
op = relax.op
pytestmark = [
    pytest.mark.tvm,
    pytest.mark.skipif(not tvm.runtime.enabled("llvm"), reason="this build of TVM cannot make code for the CPU"),
]
F = "float32"
Shapes = dict[str, tuple[tuple[Any, ...], str]]
N = tvm.tirx.Var("n", "int64")


def attention(x: Any, q: Any, k: Any, v: Any, o: Any, g: Any, b: Any, up: Any, down: Any) -> Any:
    """A transformer block: two norms, four heads of eight, a gated layer of 64."""
    h = op.nn.layer_norm(x, g, b, axes=[-1])
    heads = [op.permute_dims(op.reshape(op.matmul(h, w), (1, 6, 4, 8)), [0, 2, 1, 3]) for w in (q, k, v)]
    scores = op.nn.softmax(op.matmul(heads[0], op.permute_dims(heads[1], [0, 1, 3, 2])) * relax.const(8**-0.5, F))
    y = x + op.matmul(op.reshape(op.permute_dims(op.matmul(scores, heads[2]), [0, 2, 1, 3]), (1, 6, 32)), o)
    return y + op.matmul(op.nn.gelu(op.matmul(op.nn.layer_norm(y, g, b, axes=[-1]), up)), down)


def lstm(x: Any, h: Any, c: Any, w: Any, r: Any, b: Any) -> Any:
    """A step of an LSTM: two results."""
    gates = op.split(op.matmul(x, w) + op.matmul(h, r) + b, 4, axis=1)
    i, f, o = (op.sigmoid(gates[n]) for n in (0, 1, 3))
    cell = f * c + i * op.tanh(gates[2])
    return relax.Tuple([o * op.tanh(cell), cell])


def residual(x: Any, v: Any, w: Any, m: Any, s: Any) -> Any:
    def normed(y: Any) -> Any:
        return relax.TupleGetItem(op.nn.batch_norm(y, s, m, m, s, axis=1, training=False), 0)

    y = op.nn.relu(normed(op.nn.conv2d(x, v, padding=1)))
    return op.nn.relu(normed(op.nn.conv2d(y, w, padding=1)) + x)


MODELS: dict[str, tuple[Callable[..., Any], Shapes]] = {
    "transformer block": (attention, {
        "x": ((1, 6, 32), F), "q": ((32, 32), F), "k": ((32, 32), F), "v": ((32, 32), F), "o": ((32, 32), F),
        "g": ((32,), F), "b": ((32,), F), "up": ((32, 64), F), "down": ((64, 32), F),
    }),
    "LSTM step": (lstm, {
        "x": ((2, 8), F), "h": ((2, 16), F), "c": ((2, 16), F), "w": ((8, 64), F), "r": ((16, 64), F), "b": ((64,), F),
    }),
    "MLP of an open batch": (
        lambda x, w, b, v: op.nn.softmax(op.matmul(op.nn.silu(op.matmul(x, w) + b), v)),
        {"x": ((N, 16), F), "w": ((16, 32), F), "b": ((32,), F), "v": ((32, 8), F)},
    ),
    "residual block": (
        residual, {"x": ((1, 8, 10, 10), F), "v": ((8, 8, 3, 3), F), "w": ((8, 8, 3, 3), F), "m": ((8,), F), "s": ((8,), F)}
    ),
    "depthwise and pointwise": (
        lambda x, d, p: op.clip(op.nn.conv2d(op.nn.conv2d(x, d, padding=1, groups=8), p), 0, 6),
        {"x": ((1, 8, 9, 9), F), "d": ((8, 1, 3, 3), F), "p": ((16, 8, 1, 1), F)},
    ),
    "embedding": (
        lambda i, e, w: op.matmul(op.take(e, i, axis=0), w), {"i": ((5,), "int64"), "e": ((20, 16), F), "w": ((16, 4), F)}
    ),
    "attention with a mask": (
        lambda q, k, v, m: op.matmul(op.nn.softmax(op.where(m, op.matmul(q, op.permute_dims(k)), relax.const(-1e9, F))), v),
        {"q": ((6, 8), F), "k": ((6, 8), F), "v": ((6, 8), F), "m": ((6, 6), "bool")},
    ),
    "group norm": (
        lambda x, g, b: op.nn.silu(op.nn.group_norm(x, g, b, 4, 1, [2, 3])), {"x": ((1, 8, 6, 6), F), "g": ((8,), F), "b": ((8,), F)}
    ),
    "concat, pad and pool": (
        lambda x, y: op.nn.avg_pool2d(op.nn.pad(op.concat([x, y], 1), (0, 0, 0, 0, 1, 1, 1, 1)), (3, 3), (2, 2)),
        {"x": ((1, 3, 8, 8), F), "y": ((1, 5, 8, 8), F)},
    ),
    "mean over an open sequence": (
        lambda x, w: op.mean(op.nn.relu(op.matmul(x, w)), axis=1), {"x": ((2, N, 8), F), "w": ((8, 4), F)}
    ),
}  # fmt: skip


CONSTANTS: dict[str, dict[str, Any]] = {"attention with a mask": {"constant0": np.array(-1e9, F)}}
"""Constants that are arguments of a call: weights of the graph."""


def lowered(name: str) -> Any:
    body, shapes = MODELS[name]
    builder = relax.BlockBuilder()
    parameters = [relax.Var(n, relax.TensorType(shape, dtype)) for n, (shape, dtype) in shapes.items()]
    with builder.function("main", parameters, attrs={"num_input": 1}):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(body(*parameters)))
        builder.emit_func_output(result)
    module = builder.get()
    for step in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        module = getattr(relax.transform, step)()(module)
    return module


def arrays_of(network: Network) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for tensor in (*network.graph.inputs, *network.graph.weights):
        shape = [build.int_value(e) or 3 for e in tensor.shape]
        random = generator.uniform(0.1, 1, shape) if tensor.dtype == F else generator.integers(0, 2, shape)
        found[tensor.name] = random.astype(tensor.dtype)
    return found


@pytest.mark.parametrize("name", samples(MODELS, "attention with a mask"))
def test_graph_of_a_model_computes_the_same_in_tvm(name: str) -> None:
    module = lowered(name)
    network = parse_network(module.script(show_meta=False))
    arrays = {**arrays_of(network), **CONSTANTS.get(name, {})}
    assert {t.name for t in network.graph.weights} <= {*MODELS[name][1], *CONSTANTS.get(name, {})}
    order = [arrays[n] for n in MODELS[name][1]]
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    found = machine["main"](*map(tvm.runtime.tensor, order))
    expected = [found.numpy()] if hasattr(found, "numpy") else [t.numpy() for t in found]
    results = run_network(network, arrays, {"n": 3})
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    text = network_tvm_script(merged(network))
    assert tvm.script.from_source(text) is not None and parse_network(text).graph.calls
