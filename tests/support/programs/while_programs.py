"""Programs with `while` loops, as in the kernels of TVM that hand out tiles."""

HEAD = "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

TILES = (
    HEAD
    + """def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
    for bx in range(4):
        with T.sblock("work"):
            vb = T.axis.spatial(4, bx)
            T.reads(A[0:16, 0:32])
            T.writes(B[0:16, 0:32])
            tile = T.sblock_alloc_buffer((1,), "int32", scope="local")
            tile[0] = vb
            while tile[0] < 16:
                for i in range(32):
                    with T.sblock("copy"):
                        vi = T.axis.spatial(32, i)
                        T.reads(A[tile[0], vi], tile[0])
                        T.writes(B[tile[0], vi])
                        B[tile[0], vi] = A[tile[0], vi] + T.float32(1)
                tile[0] = tile[0] + 4
"""
)
"""Each iteration of `bx` copies every fourth row."""

GEMM = (
    HEAD
    + """def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((8, 16), "float32"), n: T.int32):
    with T.sblock("work"):
        T.reads(A[0:8, 0:32], B[0:32, 0:16])
        T.writes(C[0:8, 0:16])
        step = T.sblock_alloc_buffer((1,), "int32", scope="local")
        X = T.sblock_alloc_buffer((8, 16), scope="local")
        step[0] = 0
        while step[0] < n:
            for i, j in T.grid(8, 16):
                with T.sblock("fill"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads()
                    T.writes(X[vi, vj])
                    X[vi, vj] = T.float32(1)
            with T.sblock("inner"):
                T.reads(X[0:8, 0:16], A[0:8, 0:32], B[0:32, 0:16])
                T.writes(X[0:8, 0:16])
                for i, j, k in T.grid(8, 16, 32):
                    with T.sblock("gemm"):
                        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                        T.reads(A[vi, vk], B[vk, vj])
                        T.writes(X[vi, vj])
                        with T.init():
                            X[vi, vj] = T.float32(0)
                        X[vi, vj] = X[vi, vj] + A[vi, vk] * B[vk, vj]
            for i, j in T.grid(8, 16):
                with T.sblock("store"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(X[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = X[vi, vj]
            step[0] = step[0] + 1
"""
)
"""A product in a nested block, after a block that fills its output."""

CARRIED = (
    HEAD
    + """def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32")):
    with T.sblock("w"):
        T.reads(A[0:8])
        T.writes(B[0:4, 0:8], D[0:4, 0:8])
        s = T.sblock_alloc_buffer((1,), "int32", scope="local")
        X = T.sblock_alloc_buffer((8,))
        s[0] = 0
        for i in range(8):
            with T.sblock("zero"):
                vi = T.axis.spatial(8, i)
                X[vi] = T.float32(0)
        while s[0] < 4:
            with T.sblock("S"):
                T.reads(X[0:8], A[0:8], s[0])
                T.writes(X[0:8], B[0:4, 0:8], D[0:4, 0:8])
                for i in range(8):
                    with T.sblock("C"):
                        vi = T.axis.spatial(8, i)
                        T.reads(X[vi], s[0])
                        T.writes(D[s[0], vi])
                        D[s[0], vi] = X[vi] + T.float32(1)
                for i in range(8):
                    with T.sblock("Aw"):
                        vi = T.axis.spatial(8, i)
                        T.reads(A[vi], s[0])
                        T.writes(X[vi])
                        X[vi] = A[vi] + T.Cast("float32", s[0])
                for i in range(8):
                    with T.sblock("Bw"):
                        vi = T.axis.spatial(8, i)
                        T.reads(X[7 - vi], s[0])
                        T.writes(B[s[0], vi])
                        B[s[0], vi] = X[7 - vi] * T.float32(2)
            s[0] = s[0] + 1
"""
)
"""Each iteration of the `while` reads, in block "C", what the one before wrote in block "Aw"."""
