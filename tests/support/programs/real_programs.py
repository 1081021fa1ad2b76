"""Realistic programs at sizes that run in milliseconds, each with the calls of an engineer.

`schedule` accepts Tilewright's Schedule or TVM's: only names that both have, `get_sblock` among them.
"""

# ruff: noqa: E501, N806, RUF059 (programs have long lines; blocks and loops keep the names they have there)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

HEADER = "from tvm.script import tirx as T\n\n\n"


class Real(msgspec.Struct, frozen=True):
    """`text`: the program. `schedule(sch, fast)` tiles, stages into the memory called `fast`, and fuses."""

    text: str
    schedule: Callable[[Any, str], None]


# --- convolution, NCHW, with its padding as a separate block

CONV2D = """
@T.prim_func(s_tir=True)
def conv2d(X: T.Buffer((1, 8, 14, 14), "float32"), W: T.Buffer((16, 8, 3, 3), "float32"), bias: T.Buffer((16,), "float32"), Y: T.Buffer((1, 16, 14, 14), "float32")):
    pad = T.sblock_alloc_buffer((1, 8, 16, 16))
    conv = T.sblock_alloc_buffer((1, 16, 14, 14))
    for n, c, h, w in T.grid(1, 8, 16, 16):
        with T.sblock("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            pad[vn, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 15 and 1 <= vw and vw < 15, X[vn, vc, vh - 1, vw - 1], T.float32(0))
    for n, f, h, w, rc, rh, rw in T.grid(1, 16, 14, 14, 8, 3, 3):
        with T.sblock("conv"):
            vn, vf, vh, vw, vrc, vrh, vrw = T.axis.remap("SSSSRRR", [n, f, h, w, rc, rh, rw])
            with T.init():
                conv[vn, vf, vh, vw] = T.float32(0)
            conv[vn, vf, vh, vw] = conv[vn, vf, vh, vw] + pad[vn, vrc, vh + vrh, vw + vrw] * W[vf, vrc, vrh, vrw]
    for n, f, h, w in T.grid(1, 16, 14, 14):
        with T.sblock("relu"):
            vn, vf, vh, vw = T.axis.remap("SSSS", [n, f, h, w])
            Y[vn, vf, vh, vw] = T.max(conv[vn, vf, vh, vw] + bias[vf], T.float32(0))
"""


def schedule_conv2d(sch: Any, fast: str) -> None:
    conv, relu, pad = sch.get_sblock("conv"), sch.get_sblock("relu"), sch.get_sblock("pad")
    n, f, h, w, rc, rh, rw = sch.get_loops(conv)
    fo, fi = sch.split(f, factors=[None, 4])
    ho, hi = sch.split(h, factors=[None, 4])  # 14 rows in fours: a tail of two
    sch.reorder(n, fo, ho, rc, rh, rw, fi, hi, w)
    sch.set_scope(conv, 0, fast)
    sch.reverse_compute_at(relu, ho)
    sch.compute_inline(pad)
    weights = sch.cache_read(conv, 1, fast)
    sch.compute_at(weights, fo)
    sch.vectorize(sch.get_loops(relu)[-1])
    sch.parallel(fo)


# --- batched matmul with the second operand transposed, in tiles of 8 x 8 x 16

BATCH_MATMUL = """
@T.prim_func(s_tir=True)
def batch_matmul(A: T.Buffer((3, 24, 32), "float32"), B: T.Buffer((3, 20, 32), "float32"), C: T.Buffer((3, 24, 20), "float32")):
    for b, i, j, k in T.grid(3, 24, 20, 32):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vj, vk]
"""


def schedule_batch_matmul(sch: Any, fast: str) -> None:
    C = sch.get_sblock("C")
    b, i, j, k = sch.get_loops(C)
    io, ii = sch.split(i, factors=[None, 8])
    jo, ji = sch.split(j, factors=[None, 8])
    ko, ki = sch.split(k, factors=[None, 16])
    sch.reorder(b, io, jo, ko, ii, ji, ki)
    out = sch.cache_write(C, 0, fast)
    sch.reverse_compute_at(out, jo)
    for operand in (0, 1):
        sch.compute_at(sch.cache_read(C, operand, fast), ko)
    sch.parallel(sch.fuse(b, io))
    sch.decompose_reduction(C, ko)


# --- softmax over rows, four blocks

SOFTMAX = """
@T.prim_func(s_tir=True)
def softmax(X: T.Buffer((16, 48), "float32"), Y: T.Buffer((16, 48), "float32")):
    largest = T.sblock_alloc_buffer((16,))
    power = T.sblock_alloc_buffer((16, 48))
    total = T.sblock_alloc_buffer((16,))
    for i, k in T.grid(16, 48):
        with T.sblock("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], X[vi, vk])
    for i, j in T.grid(16, 48):
        with T.sblock("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp(X[vi, vj] - largest[vi])
    for i, k in T.grid(16, 48):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + power[vi, vk]
    for i, j in T.grid(16, 48):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = power[vi, vj] / total[vi]
"""


def schedule_softmax(sch: Any, fast: str) -> None:
    i, j = sch.get_loops(sch.get_sblock("Y"))
    io, _ = sch.split(i, factors=[None, 4])
    for name in ("total", "power", "largest"):  # consumers first: each needs its own consumer under the loop
        block = sch.get_sblock(name)
        sch.compute_at(block, io)
        sch.set_scope(block, 0, fast)
    staged = sch.cache_read(sch.get_sblock("largest"), 0, fast)
    sch.compute_at(staged, io)
    sch.vectorize(j)


# --- layer norm: mean and mean of squares in one pass, rsqrt, scale and shift

LAYER_NORM = """
@T.prim_func(s_tir=True)
def layer_norm(X: T.Buffer((12, 40), "float32"), gamma: T.Buffer((40,), "float32"), beta: T.Buffer((40,), "float32"), Y: T.Buffer((12, 40), "float32")):
    first = T.sblock_alloc_buffer((12,))
    second = T.sblock_alloc_buffer((12,))
    for i, k in T.grid(12, 40):
        with T.sblock("first"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                first[vi] = T.float32(0)
            first[vi] = first[vi] + X[vi, vk]
    for i, k in T.grid(12, 40):
        with T.sblock("second"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                second[vi] = T.float32(0)
            second[vi] = second[vi] + X[vi, vk] * X[vi, vk]
    for i, j in T.grid(12, 40):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = (X[vi, vj] - first[vi] / T.float32(40)) * T.rsqrt(second[vi] / T.float32(40) - first[vi] / T.float32(40) * (first[vi] / T.float32(40)) + T.float32(1e-5)) * gamma[vj] + beta[vj]
"""


def schedule_layer_norm(sch: Any, fast: str) -> None:
    Y = sch.get_sblock("Y")
    i, j = sch.get_loops(Y)
    for name in ("second", "first"):
        block = sch.get_sblock(name)
        sch.compute_at(block, i)
        sch.set_scope(block, 0, fast)
    rows = sch.cache_read(sch.get_sblock("first"), 0, fast)
    sch.compute_at(rows, i)
    sch.cache_read(Y, "gamma", fast)
    jo, ji = sch.split(j, factors=[None, 16])
    sch.vectorize(ji)


# --- attention of one head: Q K^T, softmax, times V

ATTENTION = """
@T.prim_func(s_tir=True)
def attention(Q: T.Buffer((16, 32), "float32"), K: T.Buffer((24, 32), "float32"), V: T.Buffer((24, 32), "float32"), O: T.Buffer((16, 32), "float32")):
    S = T.sblock_alloc_buffer((16, 24))
    largest = T.sblock_alloc_buffer((16,))
    P = T.sblock_alloc_buffer((16, 24))
    total = T.sblock_alloc_buffer((16,))
    raw = T.sblock_alloc_buffer((16, 32))
    for i, j, k in T.grid(16, 24, 32):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + Q[vi, vk] * K[vj, vk] * T.float32(0.125)
    for i, k in T.grid(16, 24):
        with T.sblock("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], S[vi, vk])
    for i, j in T.grid(16, 24):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.exp(S[vi, vj] - largest[vi])
    for i, k in T.grid(16, 24):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + P[vi, vk]
    for i, j, k in T.grid(16, 32, 24):
        with T.sblock("raw"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                raw[vi, vj] = T.float32(0)
            raw[vi, vj] = raw[vi, vj] + P[vi, vk] * V[vk, vj]
    for i, j in T.grid(16, 32):
        with T.sblock("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = raw[vi, vj] / total[vi]
"""


def schedule_attention(sch: Any, fast: str) -> None:
    i, j = sch.get_loops(sch.get_sblock("O"))
    io, _ = sch.split(i, factors=[None, 4])
    for name in ("raw", "total", "P", "largest", "S"):
        block = sch.get_sblock(name)
        sch.compute_at(block, io)
        sch.set_scope(block, 0, fast)
    sch.compute_at(sch.cache_read(sch.get_sblock("S"), "Q", fast), io)
    sch.cache_read(sch.get_sblock("S"), "K", fast)
    sch.cache_read(sch.get_sblock("raw"), "V", fast)
    out = sch.cache_write(sch.get_sblock("O"), 0, fast)
    sch.reverse_compute_at(out, io)


# --- depthwise convolution with stride 2

DEPTHWISE = """
@T.prim_func(s_tir=True)
def depthwise(X: T.Buffer((1, 6, 17, 17), "float32"), W: T.Buffer((6, 3, 3), "float32"), Y: T.Buffer((1, 6, 8, 8), "float32")):
    D = T.sblock_alloc_buffer((1, 6, 8, 8))
    for n, c, h, w, rh, rw in T.grid(1, 6, 8, 8, 3, 3):
        with T.sblock("D"):
            vn, vc, vh, vw, vrh, vrw = T.axis.remap("SSSSRR", [n, c, h, w, rh, rw])
            with T.init():
                D[vn, vc, vh, vw] = T.float32(0)
            D[vn, vc, vh, vw] = D[vn, vc, vh, vw] + X[vn, vc, vh * 2 + vrh, vw * 2 + vrw] * W[vc, vrh, vrw]
    for n, c, h, w in T.grid(1, 6, 8, 8):
        with T.sblock("relu6"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            Y[vn, vc, vh, vw] = T.min(T.max(D[vn, vc, vh, vw], T.float32(0)), T.float32(6))
"""


def schedule_depthwise(sch: Any, fast: str) -> None:
    relu, D = sch.get_sblock("relu6"), sch.get_sblock("D")
    n, c, h, w = sch.get_loops(relu)
    ho, hi = sch.split(h, factors=[None, 3])  # 8 rows in threes
    sch.compute_at(D, ho)
    sch.set_scope(D, 0, fast)
    window = sch.cache_read(D, 0, fast)
    sch.compute_at(window, ho)
    sch.unroll(sch.get_loops(D)[-1])
    sch.vectorize(w)
    sch.parallel(c)


# --- int8 matmul into int32, with requantisation as its epilogue

GEMM_INT8 = """
@T.prim_func(s_tir=True)
def gemm_int8(A: T.Buffer((32, 64), "int8"), B: T.Buffer((48, 64), "int8"), scale: T.Buffer((48,), "int32"), C: T.Buffer((32, 48), "int8")):
    acc = T.sblock_alloc_buffer((32, 48), "int32")
    for i, j, k in T.grid(32, 48, 64):
        with T.sblock("acc"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                acc[vi, vj] = 0
            acc[vi, vj] = acc[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
    for i, j in T.grid(32, 48):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("int8", T.max(T.min(T.shift_right(acc[vi, vj] * scale[vj] + 64, 7), 127), -128))
"""


def schedule_gemm_int8(sch: Any, fast: str) -> None:
    acc, C = sch.get_sblock("acc"), sch.get_sblock("C")
    i, j, k = sch.get_loops(acc)
    (io, ii), (jo, ji), (ko, ki) = (sch.split(loop, factors=[None, 16]) for loop in (i, j, k))
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.set_scope(acc, 0, fast)
    sch.reverse_compute_at(C, jo)
    for operand in (0, 1):
        sch.compute_at(sch.cache_read(acc, operand, fast), ko)
    sch.annotate(ko, "software_pipeline_note", 2)


# --- a transposed copy through a tile on chip

TRANSPOSE = """
@T.prim_func(s_tir=True)
def transpose(A: T.Buffer((40, 56), "float16"), B: T.Buffer((56, 40), "float16")):
    for i, j in T.grid(56, 40):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""


def schedule_transpose(sch: Any, fast: str) -> None:
    B = sch.get_sblock("B")
    i, j = sch.get_loops(B)
    io, ii = sch.split(i, factors=[None, 16])  # 56 = 3 * 16 + 8
    jo, ji = sch.split(j, factors=[None, 16])  # 40 = 2 * 16 + 8
    sch.reorder(io, jo, ii, ji)
    tile = sch.cache_read(B, 0, fast)
    sch.compute_at(tile, jo)
    sch.transform_layout(tile, ("write", 0), lambda a, b: [b, a])
    out = sch.cache_write(B, 0, fast)
    sch.reverse_compute_at(out, jo)


REAL = {
    "conv2d": Real(HEADER + CONV2D.lstrip(), schedule_conv2d),
    "batch_matmul": Real(HEADER + BATCH_MATMUL.lstrip(), schedule_batch_matmul),
    "softmax": Real(HEADER + SOFTMAX.lstrip(), schedule_softmax),
    "layer_norm": Real(HEADER + LAYER_NORM.lstrip(), schedule_layer_norm),
    "attention": Real(HEADER + ATTENTION.lstrip(), schedule_attention),
    "depthwise": Real(HEADER + DEPTHWISE.lstrip(), schedule_depthwise),
    "gemm_int8": Real(HEADER + GEMM_INT8.lstrip(), schedule_gemm_int8),
    "transpose": Real(HEADER + TRANSPOSE.lstrip(), schedule_transpose),
}
