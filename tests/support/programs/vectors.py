"""Programs with vectors: their lanes, stores and loads by ramps, launched threads."""

from __future__ import annotations

from typing import Any

import numpy as np

HEAD = (
    "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"
    'def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), W: T.Buffer((16,), "int8")):\n'
    '    with T.sblock("root"):\n'
)


def vector_text(*lines: str) -> str:
    """A function over A, B and W with these statements in its root block."""
    return HEAD + "".join(f"        {line}\n" for line in lines)


Arrays = dict[str, np.ndarray]


def _stored(where: Any, value: Any) -> Any:
    def expected(arrays: Arrays) -> np.ndarray:
        result = arrays["B"].copy()
        result[where] = value(arrays)
        return result

    return expected


RUNS: dict[str, tuple[tuple[str, ...], Any]] = {
    "a copy": (("B[0:4] = A[T.Ramp(4, 1, 4)]",), _stored(slice(0, 4), lambda a: a["A"][4:8])),
    "steps": (
        ("B[0:16:4] = A[T.Ramp(1, 2, 4)] * T.Broadcast(T.float32(2.0), 4) + T.Broadcast(A[0], 4)",),
        _stored(slice(0, 16, 4), lambda a: a["A"][1:9:2] * 2 + a["A"][0]),
    ),
    "onto itself": (("B[1:5] = B[T.Ramp(0, 1, 4)]",), _stored(slice(1, 5), lambda a: a["B"][:4])),
    "one of its own": (("B[1:5] = T.Broadcast(B[2], 4)",), _stored(slice(1, 5), lambda a: a["B"][2])),
    "in place": (
        ("B[1:5] = B[T.Ramp(1, 1, 4)] + A[T.Ramp(0, 1, 4)]",),
        _stored(slice(1, 5), lambda a: a["B"][1:5] + a["A"][:4]),
    ),
    "a variable": (
        ("x: T.float32x4 = A[T.Ramp(0, 1, 4)]", "B[0:4] = x + x"),
        _stored(slice(0, 4), lambda a: a["A"][:4] * 2),
    ),
    "a name for what was loaded": (
        ("x: T.let[T.float32x4] = B[T.Ramp(0, 1, 4)]", "B[0:4] = x + x", "B[4:8] = x"),
        _stored(slice(0, 8), lambda a: np.concatenate([a["B"][:4] * 2, a["B"][:4]])),
    ),
    "a cast": (
        ('B[0:8] = T.Cast("float32x8", W[T.Ramp(0, 1, 8)])',),
        _stored(slice(0, 8), lambda a: a["W"][:8].astype("float32")),
    ),
    "numbers": (("B[0:4] = T.Cast(\"float32x4\", T.Ramp(3, 4, 4))",), _stored(slice(0, 4), lambda a: [3, 7, 11, 15])),
    "a choice": (
        ("B[0:8] = T.Select(A[T.Ramp(0, 1, 8)] < A[T.Ramp(8, 1, 8)], A[T.Ramp(0, 1, 8)], T.Broadcast(T.float32(1.0), 8))",),
        _stored(slice(0, 8), lambda a: np.where(a["A"][:8] < a["A"][8:], a["A"][:8], np.float32(1))),
    ),
    "a function": (("B[0:8] = T.exp(A[T.Ramp(0, 1, 8)])",), _stored(slice(0, 8), lambda a: np.exp(a["A"][:8]))),
    "threads": (
        ('x = T.launch_thread("threadIdx.x", 16)', "B[x] = A[15 - x]"),
        _stored(slice(0, 16), lambda a: a["A"][::-1]),
    ),
    "threads that end": (
        ('with T.launch_thread("threadIdx.x", 8) as x:', "    B[x] = A[x]", "B[0] = T.float32(7.0)"),
        _stored(slice(0, 8), lambda a: np.concatenate([[7.0], a["A"][1:8]])),
    ),
}  # fmt: skip
"""Statements as printed by TVM 0.27, and the resulting B."""

READ_ONLY: dict[str, tuple[str, ...]] = {
    "an intrinsic": (
        'B[0:4] = T.call_llvm_pure_intrin("float32x4", "llvm.fabs", A[T.Ramp(0, 1, 4)])',
    ),
    "bits": ('x: T.int32 = T.reinterpret("int32", W[T.Ramp(0, 1, 4)])', 'T.evaluate(T.reinterpret("int8x4", x))'),
    "halves": ('B[0:4] = T.vectorlow("float32x4", A[T.Ramp(0, 1, 8)])',),
    "lanes of the machine": ("B[0:T.vscale() * 4] = A[T.Ramp(0, 1, T.vscale() * 4)]",),
    "truths": ("T.evaluate(T.Broadcast(T.bool(True), 4))",),
    "sums of ramps": ("T.evaluate(T.Ramp(0, 1, 4) + T.Broadcast(1, 4))",),
}  # fmt: skip
"""Statements as printed by TVM 0.27 that only a machine runs."""

STAGED = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    B = T.sblock_alloc_buffer((8, 16), "float32")
    D = T.sblock_alloc_buffer((8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 4):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj * 4:vj * 4 + 4] = B[vi, T.Ramp(vj * 4, 1, 4)] * T.Broadcast(T.float32(2), 4)
    for i, j in T.grid(8, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[vi, vj] + T.float32(1)
"""
"""A block of vectors between two of elements."""

SUMS = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 16), "float32"), W: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 16), "float32")):
    S = T.sblock_alloc_buffer((4, 16), "float32")
    for i, j, k in T.grid(4, 4, 8):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj * 4:vj * 4 + 4] = T.Broadcast(T.float32(0), 4)
            S[vi, vj * 4:vj * 4 + 4] = S[vi, T.Ramp(vj * 4, 1, 4)] + T.Broadcast(W[vi, vk], 4) * A[vk, T.Ramp(vj * 4, 1, 4)]
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            x = T.launch_thread("threadIdx.x", 16)
            C[vi, x] = S[vi, x] * T.float32(2)
"""
"""Sums of vectors, and a threaded block."""

PADDED = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    P = T.sblock_alloc_buffer((20,), "float32")
    D = T.sblock_alloc_buffer((20,), "float32")
    for i in range(20):
        with T.sblock("P"):
            vi = T.axis.spatial(20, i)
            P[vi] = T.if_then_else(2 <= vi and vi < 18, A[vi - 2], T.float32(0))
    for i in range(5):
        with T.sblock("D"):
            vi = T.axis.spatial(5, i)
            D[vi * 4:vi * 4 + 4] = P[T.Ramp(vi * 4, 1, 4)] * T.Broadcast(T.float32(2), 4)
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = D[vi + 2]
"""
"""A padding read by a vector block, and by an elementwise block for one element."""
