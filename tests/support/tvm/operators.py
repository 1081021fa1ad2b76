"""Operators of TVM's library, as functions that return their inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")
te, topi = tvm.te, tvm.topi
nn = topi.nn


def p(*shape: int, dtype: str = "float32", name: str = "A") -> Any:
    return te.placeholder(shape, name=name, dtype=dtype)


def of(operator: Any, *inputs: Any, **options: Any) -> Callable[[], list[Any]]:
    """The inputs and outputs of `operator(*inputs, **options)`."""

    def tensors() -> list[Any]:
        result = operator(*inputs, **options)
        return [*inputs, *(result if isinstance(result, list | tuple | tvm.ir.Array) else [result])]

    return tensors


def image(*shape: int) -> Any:
    return p(*(shape or (1, 4, 8, 8)))


def weights(*shape: int) -> Any:
    return p(*(shape or (6, 4, 3, 3)), name="W")


OPERATORS = {
    "relu": of(nn.relu, p(4, 8)),
    "tanh": of(topi.tanh, p(4, 8)),
    "sum": of(topi.sum, p(4, 6, 5), axis=1),
    "max": of(topi.max, p(4, 6, 5), axis=(0, 2)),
    "argmax": of(topi.argmax, p(4, 6), axis=1),
    "softmax": of(nn.softmax, p(6, 9)),
    "log_softmax": of(nn.log_softmax, p(6, 9)),
    "transpose": of(topi.transpose, p(3, 4, 5), axes=(2, 0, 1)),
    "reshape": of(topi.reshape, p(4, 6), newshape=(3, 8)),
    "flip": of(topi.flip, p(4, 6), axis=1),
    "strided_slice": of(topi.strided_slice, p(6, 9), begin=[0, 1], end=[6, 9], strides=[2, 3]),
    "repeat": of(topi.repeat, p(4, 6), repeats=2, axis=1),
    "take": of(lambda a, i: topi.take(a, i, axis=0), p(8, 6), p(5, dtype="int32", name="I")),
    "where": of(topi.where, p(4, 8, dtype="bool", name="C"), p(4, 8), p(4, 8, name="B")),
    "floor_mod": of(topi.floor_mod, p(4, 8, dtype="int32"), p(8, dtype="int32", name="B")),
    "power": of(topi.power, p(4, 8), p(8, name="B")),
    "matmul": of(topi.matmul, p(9, 7), p(7, 5, name="B")),
    "batch_matmul": of(nn.batch_matmul, p(2, 6, 8), p(2, 5, 8, name="B")),
    "dense": of(nn.dense, p(4, 8), p(6, 8, name="B"), p(6, name="C")),
    "conv2d": of(lambda x, w: nn.conv2d(x, w, 1, 1, 1), image(), weights()),
    "conv2d_strided": of(lambda x, w: nn.conv2d(x, w, 2, 1, 1), image(), weights()),
    "conv2d_dilated": of(lambda x, w: nn.conv2d(x, w, 1, 2, 2), image(), weights()),
    "conv2d_groups": of(lambda x, w: nn.group_conv2d_nchw(x, w, 1, 1, 1, 2), image(), weights(6, 2, 3, 3)),
    "conv2d_depthwise": of(
        lambda x, w: nn.depthwise_conv2d_nchw(x, w, (1, 1), (1, 1), (1, 1)), image(), weights(4, 1, 3, 3)
    ),
    "conv2d_transposed": of(
        lambda x, w: nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0)), image(1, 4, 4, 4), weights(4, 3, 3, 3)
    ),
    "conv1d": of(lambda x, w: nn.conv1d_ncw(x, w, 1, 1, 1), image(1, 4, 9), weights(6, 4, 3)),
    "max_pool": of(lambda x: nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"), image()),
    "avg_pool": of(lambda x: nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg"), image()),
    "adaptive_pool": of(lambda x: nn.adaptive_pool(x, (3, 3), "avg"), image()),
    "mirror_pad": of(lambda x: nn.mirror_pad(x, (0, 0, 1, 1), (0, 0, 1, 1), "REFLECT"), image()),
    "layer_norm": of(lambda x, g, b: nn.layer_norm(x, g, b, [1]), p(6, 10), p(10, name="G"), p(10, name="B")),
    "rms_norm": of(lambda x, g: nn.rms_norm(x, g, [1]), p(6, 10), p(10, name="G")),
    "group_norm": of(
        lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2, 3]), image(2, 4, 3, 3), p(4, name="G"), p(4, name="B")
    ),
    "batch_norm": of(lambda x, *rest: list(nn.batch_norm(x, *rest)), image(2, 4, 3, 3), *(p(4, name=n) for n in "GBMV")),
    "local_response_norm": of(lambda x: nn.lrn(x, 5), image()),
    "depth_to_space": of(lambda x: nn.depth_to_space(x, 2), image()),
    "upsampling": of(lambda x: nn.upsampling(x, 2, 2), image()),
    "concatenate": lambda: (lambda a, b: [a, b, topi.concatenate([a, b], axis=1)])(p(4, 8), p(4, 5, name="B")),
}  # fmt: skip
