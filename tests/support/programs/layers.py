"""Layers of common networks as programs: ResNet-50's convolutions and its classifier, the products of BERT.

Convolutions of 1 x 1 with stride one are written as products of pixels and channels; the others are loop nests, channels last, over a
padded image. One image, one sequence.
"""

# ruff: noqa: E501 (programs have long lines)

from __future__ import annotations

from math import prod

import msgspec

from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

HEADER = "from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\n"

GEMM = """def gemm(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "{sum}")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{sum}(0)
            C[vi, vj] = C[vi, vj] + T.Cast("{sum}", A[vi, vk]) * T.Cast("{sum}", B[vk, vj])
"""

HEADS = """def heads(A: T.Buffer(({b}, {m}, {k}), "{dtype}"), B: T.Buffer(({b}, {k}, {n}), "{dtype}"), C: T.Buffer(({b}, {m}, {n}), "{sum}")):
    for b, i, j, k in T.grid({b}, {m}, {n}, {k}):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.{sum}(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("{sum}", A[vb, vi, vk]) * T.Cast("{sum}", B[vb, vk, vj])
"""

CONVOLUTION = """def convolution(A: T.Buffer(({h}, {w}, {c}), "{dtype}"), B: T.Buffer(({fh}, {fw}, {c}, {f}), "{dtype}"), C: T.Buffer(({oh}, {ow}, {f}), "{sum}")):
    for y, x, f, dy, dx, c in T.grid({oh}, {ow}, {f}, {fh}, {fw}, {c}):
        with T.sblock("C"):
            vy, vx, vf, vdy, vdx, vc = T.axis.remap("SSSRRR", [y, x, f, dy, dx, c])
            with T.init():
                C[vy, vx, vf] = T.{sum}(0)
            C[vy, vx, vf] = C[vy, vx, vf] + T.Cast("{sum}", A[vy * {s} + vdy, vx * {s} + vdx, vc]) * T.Cast("{sum}", B[vdy, vdx, vc, vf])
"""


class Layer(msgspec.Struct, frozen=True):
    """A product, `batch` of them, or a convolution: `window` in height and width, `step`, and `out` pixels in height and width.

    `rows` are pixels or positions, `columns` filters or features, `depth` the summed dimension; for a convolution, its channels alone.
    """

    name: str
    rows: int
    columns: int
    depth: int
    batch: int = 1
    out: tuple[int, int] | None = None
    window: tuple[int, int] = (1, 1)
    step: int = 1

    @property
    def image(self) -> tuple[int, int]:
        """Height and width of a convolution's input, including padding."""
        assert self.out is not None
        return tuple((o - 1) * self.step + f for o, f in zip(self.out, self.window, strict=True))  # type: ignore[return-value]

    @property
    def products(self) -> int:
        """Multiplications, each with an addition."""
        return self.batch * self.rows * self.columns * self.depth * prod(self.window)

    @property
    def elements(self) -> tuple[int, int, int]:
        """Elements of both operands and the result. Pixels that a wide step skips are not counted."""
        if self.out is None:
            b = self.batch
            return b * self.rows * self.depth, b * self.depth * self.columns, b * self.rows * self.columns
        read = [min(o * f, n) for o, f, n in zip(self.out, self.window, self.image, strict=True)]
        return prod(read) * self.depth, prod(self.window) * self.depth * self.columns, self.rows * self.columns

    def text(self, dtype: str, sums: str) -> str:
        """The program, operands of `dtype` into `sums`."""
        if self.out is not None:
            (h, w), (fh, fw), (oh, ow) = self.image, self.window, self.out
            body = CONVOLUTION.format(
                h=h, w=w, c=self.depth, fh=fh, fw=fw, f=self.columns, oh=oh, ow=ow, s=self.step, dtype=dtype, sum=sums
            )
        else:
            form = GEMM if self.batch == 1 else HEADS
            body = form.format(b=self.batch, m=self.rows, n=self.columns, k=self.depth, dtype=dtype, sum=sums)
        return HEADER + body

    def program(self, dtype: str, sums: str) -> PrimFunc:
        found = parse(self.text(dtype, sums)).program
        assert isinstance(found, PrimFunc)
        return found


def _convolution(name: str, side: int, channels: int, filters: int, window: int = 1, step: int = 1) -> Layer:
    """A convolution to `side` x `side` pixels."""
    if window == step == 1:
        return Layer(name, side * side, filters, channels)
    return Layer(name, side * side, filters, channels, 1, (side, side), (window, window), step)


def _stage(n: int, side: int, before: int, inner: int) -> tuple[Layer, ...]:
    """The distinct convolutions of ResNet-50's stage n; the 3 x 3 and the shortcut have the stride of two (version 1.5)."""
    name, outer = f"conv{n}", 4 * inner
    return (
        _convolution(f"{name} 1x1 in", 2 * side, before, inner),
        _convolution(f"{name} 3x3/2", side, inner, inner, 3, 2),
        _convolution(f"{name} 1x1 out", side, inner, outer),
        _convolution(f"{name} 1x1/2", side, before, outer, 1, 2),
        _convolution(f"{name} 1x1 back", side, outer, inner),
        _convolution(f"{name} 3x3", side, inner, inner, 3),
    )


RESNET50 = (
    _convolution("conv1 7x7/2", 112, 3, 64, 7, 2),
    _convolution("conv2 1x1 in", 56, 64, 64),
    _convolution("conv2 3x3", 56, 64, 64, 3),
    _convolution("conv2 1x1 out", 56, 64, 256),
    _convolution("conv2 1x1 back", 56, 256, 64),
    *_stage(3, 28, 256, 128),
    *_stage(4, 14, 512, 256),
    *_stage(5, 7, 1024, 512),
    Layer("fc", 1, 1000, 2048),
)
"""All distinct shapes of torchvision's resnet50 for an image of 224 x 224."""


def _transformer(name: str, positions: int, width: int, heads: int) -> tuple[Layer, ...]:
    """The products of one layer: queries, keys and values at once, scores and context of each head, projection, and both of the MLP."""
    size = width // heads
    return (
        Layer(f"{name} QKV", positions, 3 * width, width),
        Layer(f"{name} scores", positions, positions, size, heads),
        Layer(f"{name} context", positions, size, positions, heads),
        Layer(f"{name} projection", positions, width, width),
        Layer(f"{name} MLP up", positions, 4 * width, width),
        Layer(f"{name} MLP down", positions, width, 4 * width),
    )


BERT = (*_transformer("BERT-base/128", 128, 768, 12), *_transformer("BERT-large/384", 384, 1024, 16))
"""BERT-base at 128 positions, BERT-large at 384."""

LAYERS = (*RESNET50, *BERT)

BLOCKS = {"conv2": 3, "conv3": 4, "conv4": 6, "conv5": 3}
"""Residual blocks of the stages of ResNet-50."""


def times_in_network(layer: Layer) -> tuple[str, int]:
    """The network of a layer, and how often one inference computes this shape."""
    if layer in BERT:
        name = layer.name.partition(" ")[0]
        return name, {"BERT-base/128": 12, "BERT-large/384": 24}[name]
    stage, _, part = layer.name.partition(" ")
    blocks = BLOCKS.get(stage, 1)
    others = {"1x1 back": blocks - 1, "3x3": blocks - (stage != "conv2"), "1x1 out": blocks + (stage == "conv2")}
    return "ResNet-50", others.get(part, 1)


_CONVOLUTION = """\
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def conv(
    data: T.Buffer((1, {n}, {n}, {c}), "{dtype}"),
    weight: T.Buffer((3, 3, {c}, {c}), "{dtype}"),
    bias: T.Buffer(({c},), "{sum}"),
    out: T.Buffer((1, {n}, {n}, {c}), "{sum}"),
):
    padded = T.sblock_alloc_buffer((1, {n} + 2, {n} + 2, {c}), "{dtype}")
    acc = T.sblock_alloc_buffer((1, {n}, {n}, {c}), "{sum}")
    biased = T.sblock_alloc_buffer((1, {n}, {n}, {c}), "{sum}")
    for n, h, w, c in T.grid(1, {n} + 2, {n} + 2, {c}):
        with T.sblock("pad"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            padded[vn, vh, vw, vc] = T.if_then_else(
                1 <= vh and vh < {n} + 1 and 1 <= vw and vw < {n} + 1, data[vn, vh - 1, vw - 1, vc], T.{dtype}(0)
            )
    for n, h, w, o, kh, kw, c in T.grid(1, {n}, {n}, {c}, 3, 3, {c}):
        with T.sblock("conv"):
            vn, vh, vw, vo, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, o, kh, kw, c])
            with T.init():
                acc[vn, vh, vw, vo] = T.{sum}(0)
            acc[vn, vh, vw, vo] = acc[vn, vh, vw, vo] + T.Cast("{sum}", padded[vn, vh + vkh, vw + vkw, vc]) * T.Cast(
                "{sum}", weight[vkh, vkw, vc, vo]
            )
    for n, h, w, o in T.grid(1, {n}, {n}, {c}):
        with T.sblock("bias_add"):
            vn, vh, vw, vo = T.axis.remap("SSSS", [n, h, w, o])
            biased[vn, vh, vw, vo] = acc[vn, vh, vw, vo] + bias[vo]
    for n, h, w, o in T.grid(1, {n}, {n}, {c}):
        with T.sblock("relu"):
            vn, vh, vw, vo = T.axis.remap("SSSS", [n, h, w, o])
            out[vn, vh, vw, vo] = T.max(biased[vn, vh, vw, vo], T.{sum}(0))
"""


def padded_convolution(size: int, channels: int, dtype: str = "float16", sum_dtype: str = "float32") -> str:
    """A 3x3 convolution of a padded square image, with bias and ReLU, each a separate block."""
    text = _CONVOLUTION.replace("{n} + 2", str(size + 2)).replace("{n} + 1", str(size + 1)).replace("{n}", str(size))
    return text.replace("{c}", str(channels)).replace("{dtype}", dtype).replace("{sum}", sum_dtype)


PADDED_CONVOLUTION = padded_convolution(56, 64)
