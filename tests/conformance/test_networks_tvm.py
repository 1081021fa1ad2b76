"""Operators of networks, lowered by TVM: each is read, computes the results of TVM's compiled code, and gets a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.profile import samples

import tilewright
from tilewright.engine.execute import random_inputs, run
from tilewright.engine.prove import check, prove

tvm = pytest.importorskip("tvm")
relax = tvm.relax
op = relax.op
pytestmark = pytest.mark.tvm

Shape = tuple[tuple[int, ...], str]
F = "float32"

OPERATORS: dict[str, tuple[Callable[..., Any], Sequence[Shape]]] = {
    "adaptive_avg_pool2d": (lambda x: op.nn.adaptive_avg_pool2d(x, (3, 5)), [((1, 2, 7, 11), F)]),
    "take": (lambda x, i: op.take(x, i, axis=0), [((8, 6), F), ((5,), "int64")]),
    "take, clipped": (lambda x, i: op.take(x, i, axis=0, mode="clip"), [((8, 6), F), ((5,), "int64")]),
    "gather_elements": (lambda x, i: op.gather_elements(x, i, 1), [((4, 6), F), ((4, 3), "int64")]),
    "gather_nd": (op.gather_nd, [((4, 6), F), ((5, 2), "int64")]),
    "floor_divide": (op.floor_divide, [((4, 8), "int32"), ((8,), "int32")]),
    "floor_mod": (op.floor_mod, [((4, 8), "int32"), ((8,), "int32")]),
    "divide": (op.divide, [((4, 8), F), ((8,), F)]),
    "resize2d": (lambda x: op.image.resize2d(x, (12, 10), layout="NCHW", method="linear"), [((1, 3, 6, 5), F)]),
    "argmax": (lambda x: op.argmax(x, axis=1), [((4, 6), F)]),
    "softmax": (lambda x: op.nn.softmax(x, axis=-1), [((4, 6), F)]),
    "layer_norm": (
        lambda x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]), [((4, 6), F), ((6,), F), ((6,), F)]
    ),
    "attention": (op.nn.attention, [((1, 4, 2, 8), F)] * 3),
    "strided_slice": (lambda x: op.strided_slice(x, axes=[1], begin=[1], end=[9], strides=[3]), [((4, 10), F)]),
    "where": (op.where, [((4, 6), "bool"), ((4, 6), F), ((4, 6), F)]),
    "scatter_elements": (
        lambda x, i, u: op.scatter_elements(x, i, u, axis=1), [((4, 6), F), ((4, 1), "int64"), ((4, 1), F)]
    ),
    "gelu": (op.nn.gelu, [((4, 6), F)]),
    "variance": (lambda x: op.variance(x, axis=[1]), [((4, 6), F)]),
}  # fmt: skip


def lowered(name: str) -> Any:
    """The module with the operator's function as main."""
    operator, shapes = OPERATORS[name]
    builder = relax.BlockBuilder()
    inputs = [relax.Var(f"x{n}", relax.TensorType(*shape)) for n, shape in enumerate(shapes)]
    with builder.function("network", inputs):
        with builder.dataflow():
            result = builder.emit_output(operator(*inputs))
        builder.emit_func_output(result)
    functions = relax.transform.LegalizeOps()(builder.get()).functions.values()
    (function,) = (f for f in functions if isinstance(f, tvm.tirx.PrimFunc))
    return tvm.ir.IRModule({"main": function.with_attr("global_symbol", "main")})


@pytest.mark.skipif(not tvm.runtime.enabled("llvm"), reason="this build of TVM cannot make code for the CPU")
@pytest.mark.parametrize("name", samples(OPERATORS, "softmax", "take"))
def test_operator_of_a_network_computes_the_same_in_tvm(name: str) -> None:
    module = lowered(name)
    program = tilewright.Schedule(tilewright.parse(module.script())).func
    assert prove(program, program).status in ("proved", "unknown")
    assert check(program, program).status in ("proved", "tested")

    inputs = random_inputs(program)
    ours = run(program, inputs)
    arrays = {b.name: inputs.get(b.name, np.zeros_like(ours[b.name])) for b in program.buffers}
    tensors = {buffer: tvm.runtime.tensor(array) for buffer, array in arrays.items()}
    tvm.compile(module, target="llvm")["main"](*tensors.values())
    for buffer, tensor in tensors.items():
        np.testing.assert_allclose(tensor.numpy(), ours[buffer], rtol=2e-5, atol=2e-6, err_msg=buffer)
