"""Programs of few iterations, from which a space is derived in about a second."""

from __future__ import annotations

TINY = """
@T.prim_func(s_tir=True)
def tiny(X: T.Buffer((16, 16), "float16"), W: T.Buffer((16, 16), "float16"), Y: T.Buffer((16, 16), "float16")):
    S = T.sblock_alloc_buffer((16, 16), "float16")
    C = T.sblock_alloc_buffer((16, 16), "float16")
    for i, j in T.grid(16, 16):
        with T.sblock("scaled"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = X[vi, vj] * T.float16(2)
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + S[vi, vk] * W[vk, vj]
    for i, j in T.grid(16, 16):
        with T.sblock("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.max(C[vi, vj], T.float16(0))
"""
"""A product between two elementwise blocks."""

ROWS = """
@T.prim_func(s_tir=True)
def rows(X: T.Buffer((8, 32), "float32"), Y: T.Buffer((8, 32), "float32")):
    S = T.sblock_alloc_buffer((8,))
    for i, k in T.grid(8, 32):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i, j in T.grid(8, 32):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] / S[vi]
"""
"""Sums of rows, and the rows divided by them."""
