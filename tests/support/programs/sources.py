"""Sample programs as TVMScript text, in the current dialect unless the name ends in CLASSIC."""

# ruff: noqa: E501

import re

HEADER = "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n\n\n"
HEADER_CLASSIC = "from tvm.script import ir as I\nfrom tvm.script import tir as T\n\n\n"


def matmul(m: int = 128, n: int = 128, k: int = 128, dtype: str = "float32", name: str = "matmul") -> str:
    """C[m, n] = sum over k of A[m, k] * B[k, n], one block "C"."""
    return HEADER + (
        f"""@T.prim_func(s_tir=True)
def {name}(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "{dtype}")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.{dtype}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    )


MATMUL = matmul()

MATMUL_CLASSIC = (
    HEADER_CLASSIC
    + """@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, [128, 128])
    B = T.match_buffer(b, [128, 128])
    C = T.match_buffer(c, [128, 128])
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
)

MATMUL_RELU = (
    HEADER
    + """@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 96), "float32"), D: T.Buffer((128, 96), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        C = T.sblock_alloc_buffer((128, 96))
        for i, j, k in T.grid(128, 96, 64):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 96):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(C[vi, vj])
                T.writes(D[vi, vj])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0.0))
"""
)

# A -> B -> C -> D, each stage elementwise: blocks "B", "C", "D".
ELEMENTWISE_CHAIN = (
    HEADER
    + """@T.prim_func(s_tir=True)
def chain(A: T.Buffer((64, 48), "float32"), D: T.Buffer((64, 48), "float32")):
    B = T.sblock_alloc_buffer((64, 48))
    C = T.sblock_alloc_buffer((64, 48))
    for i, j in T.grid(64, 48):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(64, 48):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = T.exp(B[vi, vj])
    for i, j in T.grid(64, 48):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = C[vi, vj] + T.float32(1.0)
"""
)


def elementwise_stages(count: int, extent: int = 16) -> str:
    """`count` stages in a row, each of two loops and a block: three rows of the tree a stage."""
    shape = f"({extent}, {extent})"
    lines = [f'def stages(A: T.Buffer({shape}, "float32"), Z: T.Buffer({shape}, "float32")):']
    lines += [f"    B{n} = T.sblock_alloc_buffer({shape})" for n in range(count - 1)]
    for n in range(count):
        read, write = "A" if n == 0 else f"B{n - 1}", "Z" if n == count - 1 else f"B{n}"
        lines += [
            f"    for i{n}, j{n} in T.grid({extent}, {extent}):",
            f'        with T.sblock("b{n}"):',
            f'            vi, vj = T.axis.remap("SS", [i{n}, j{n}])',
            f"            {write}[vi, vj] = {read}[vi, vj] + T.float32(1)",
        ]
    return HEADER + "@T.prim_func(s_tir=True)\n" + "\n".join(lines) + "\n"


def box_blur(rows: int = 64, cols: int = 64, chans: int = 3) -> str:
    """The four stages of "How to control data layout of intermediate values" in docs/seeds.md: blocks "padded" (clamped to the edge), "x_blur", "y_blur", "box_blur"."""
    return HEADER + (
        f"""@T.prim_func(s_tir=True)
def box_blur(image: T.Buffer(({rows}, {cols}, {chans}), "uint8"), out: T.Buffer(({rows}, {cols}, {chans}), "uint8")):
    padded = T.sblock_alloc_buffer(({rows + 2}, {cols + 2}, {chans}), "uint16")
    x_blur = T.sblock_alloc_buffer(({rows + 2}, {cols}, {chans}), "uint16")
    y_blur = T.sblock_alloc_buffer(({rows}, {cols}, {chans}), "uint16")
    for y, x, c in T.grid({rows + 2}, {cols + 2}, {chans}):
        with T.sblock("padded"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(image[T.max(T.min(vy - 1, {rows - 1}), 0), T.max(T.min(vx - 1, {cols - 1}), 0), vc])
            T.writes(padded[vy, vx, vc])
            padded[vy, vx, vc] = T.Cast("uint16", image[T.max(T.min(vy - 1, {rows - 1}), 0), T.max(T.min(vx - 1, {cols - 1}), 0), vc])
    for y, x, c in T.grid({rows + 2}, {cols}, {chans}):
        with T.sblock("x_blur"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(padded[vy, vx:vx + 3, vc])
            T.writes(x_blur[vy, vx, vc])
            x_blur[vy, vx, vc] = (padded[vy, vx, vc] + padded[vy, vx + 1, vc] + padded[vy, vx + 2, vc]) // T.uint16(3)
    for y, x, c in T.grid({rows}, {cols}, {chans}):
        with T.sblock("y_blur"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(x_blur[vy:vy + 3, vx, vc])
            T.writes(y_blur[vy, vx, vc])
            y_blur[vy, vx, vc] = (x_blur[vy, vx, vc] + x_blur[vy + 1, vx, vc] + x_blur[vy + 2, vx, vc]) // T.uint16(3)
    for y, x, c in T.grid({rows}, {cols}, {chans}):
        with T.sblock("box_blur"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(y_blur[vy, vx, vc])
            T.writes(out[vy, vx, vc])
            out[vy, vx, vc] = T.Cast("uint8", y_blur[vy, vx, vc])
"""
    )


BOX_BLUR = box_blur()

# "Matrix and vector unit with a shared local buffer" in docs/seeds.md before any schedule: matmul, bias, relu fused into one function by relax, 64-bit indices.
FUSED_MATMUL_ADD_RELU = (
    HEADER
    + """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fused_matmul_add_relu(x: T.Buffer((T.int64(1), T.int64(48)), "float32"), permute_dims: T.Buffer((T.int64(48), T.int64(64)), "float32"), fc1_bias: T.Buffer((T.int64(64),), "float32"), compute_intermediate: T.Buffer((T.int64(1), T.int64(64)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        matmul_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(64)))
        T_add_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(64)))
        for i0, i1, k in T.grid(T.int64(1), T.int64(64), T.int64(48)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                T.reads(x[v_i0, v_k], permute_dims[v_k, v_i1])
                T.writes(matmul_intermediate[v_i0, v_i1])
                with T.init():
                    matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
                matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + x[v_i0, v_k] * permute_dims[v_k, v_i1]
        for ax0, ax1 in T.grid(T.int64(1), T.int64(64)):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(matmul_intermediate[v_ax0, v_ax1], fc1_bias[v_ax1])
                T.writes(T_add_intermediate[v_ax0, v_ax1])
                T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + fc1_bias[v_ax1]
        for i0, i1 in T.grid(T.int64(1), T.int64(64)):
            with T.sblock("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(T_add_intermediate[v_i0, v_i1])
                T.writes(compute_intermediate[v_i0, v_i1])
                compute_intermediate[v_i0, v_i1] = T.max(T_add_intermediate[v_i0, v_i1], T.float32(0.0))
"""
)

# The same as printed in the post, indented again.
FUSED_ROUND_TRIP_CLASSIC = (
    HEADER_CLASSIC
    + """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def fused_matmul_add_relu(x: T.Buffer((T.int64(1), T.int64(48)), "float32"), permute_dims: T.Buffer((T.int64(48), T.int64(64)), "float32"), fc1_bias: T.Buffer((T.int64(64),), "float32"), compute_intermediate: T.Buffer((T.int64(1), T.int64(64)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        matmul_intermediate = T.alloc_buffer((T.int64(1), T.int64(64)))
        x_shared = T.alloc_buffer((T.int64(1), T.int64(48)), scope="shared")
        permute_dims_shared = T.alloc_buffer((T.int64(48), T.int64(64)), scope="shared")
        matmul_intermediate_local = T.alloc_buffer((T.int64(1), T.int64(64)), scope="local")
        fc1_bias_local = T.alloc_buffer((T.int64(64),), scope="local")
        compute_intermediate_local = T.alloc_buffer((T.int64(1), T.int64(64)), scope="local")
        for i0, i1_0 in T.grid(T.int64(1), T.int64(4)):
            for ax0 in range(T.int64(48)):
                with T.block("x_shared"):
                    v0 = T.axis.spatial(T.int64(1), T.int64(0))
                    v1 = T.axis.spatial(T.int64(48), ax0)
                    T.reads(x[v0, v1])
                    T.writes(x_shared[v0, v1])
                    x_shared[v0, v1] = x[v0, v1]
            for ax0, ax1 in T.grid(T.int64(48), T.int64(16)):
                with T.block("permute_dims_shared"):
                    v0 = T.axis.spatial(T.int64(48), ax0)
                    v1 = T.axis.spatial(T.int64(64), i1_0 * T.int64(16) + ax1)
                    T.reads(permute_dims[v0, v1])
                    T.writes(permute_dims_shared[v0, v1])
                    permute_dims_shared[v0, v1] = permute_dims[v0, v1]
            for k_0, k_1, i1_1 in T.grid(T.int64(3), T.int64(16), T.int64(16)):
                with T.block("matmul"):
                    v_i0 = T.axis.spatial(T.int64(1), i0)
                    v_i1 = T.axis.spatial(T.int64(64), i1_0 * T.int64(16) + i1_1)
                    v_k = T.axis.reduce(T.int64(48), k_0 * T.int64(16) + k_1)
                    T.reads(x_shared[v_i0, v_k], permute_dims_shared[v_k, v_i1])
                    T.writes(matmul_intermediate_local[v_i0, v_i1])
                    with T.init():
                        matmul_intermediate_local[v_i0, v_i1] = T.float32(0.0)
                    matmul_intermediate_local[v_i0, v_i1] = matmul_intermediate_local[v_i0, v_i1] + x_shared[v_i0, v_k] * permute_dims_shared[v_k, v_i1]
            for ax0, ax1 in T.grid(T.int64(1), T.int64(16)):
                with T.block("matmul_intermediate_local"):
                    v0 = T.axis.spatial(T.int64(1), i0 + ax0)
                    v1 = T.axis.spatial(T.int64(64), i1_0 * T.int64(16) + ax1)
                    T.reads(matmul_intermediate_local[v0, v1])
                    T.writes(matmul_intermediate[v0, v1])
                    matmul_intermediate[v0, v1] = matmul_intermediate_local[v0, v1]
            for ax0 in range(T.int64(16)):
                with T.block("fc1.bias_local"):
                    v0 = T.axis.spatial(T.int64(64), i1_0 * T.int64(16) + ax0)
                    T.reads(fc1_bias[v0])
                    T.writes(fc1_bias_local[v0])
                    fc1_bias_local[v0] = fc1_bias[v0]
            for ax0 in range(T.int64(16)):
                with T.block("compute"):
                    v_i0 = T.axis.spatial(T.int64(1), T.int64(0))
                    v_i1 = T.axis.spatial(T.int64(64), i1_0 * T.int64(16) + ax0)
                    T.reads(matmul_intermediate[v_i0, v_i1], fc1_bias_local[v_i1])
                    T.writes(compute_intermediate_local[v_i0, v_i1])
                    compute_intermediate_local[v_i0, v_i1] = T.max(matmul_intermediate[v_i0, v_i1] + fc1_bias_local[v_i1], T.float32(0.0))
        for ax0, ax1 in T.grid(T.int64(1), T.int64(64)):
            with T.block("compute_intermediate_local"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(compute_intermediate_local[v0, v1])
                T.writes(compute_intermediate[v0, v1])
                compute_intermediate[v0, v1] = compute_intermediate_local[v0, v1]
"""
)

CONV2D = (
    HEADER
    + """@T.prim_func(s_tir=True)
def conv2d(data: T.Buffer((1, 8, 14, 14), "float32"), weight: T.Buffer((16, 8, 3, 3), "float32"), out: T.Buffer((1, 16, 14, 14), "float32")):
    pad = T.sblock_alloc_buffer((1, 8, 16, 16))
    for n, c, y, x in T.grid(1, 8, 16, 16):
        with T.sblock("pad"):
            vn, vc, vy, vx = T.axis.remap("SSSS", [n, c, y, x])
            T.reads(data[vn, vc, vy - 1, vx - 1])
            T.writes(pad[vn, vc, vy, vx])
            pad[vn, vc, vy, vx] = T.if_then_else(1 <= vy and vy < 15 and 1 <= vx and vx < 15, data[vn, vc, vy - 1, vx - 1], T.float32(0))
    for n, f, y, x, c, ry, rx in T.grid(1, 16, 14, 14, 8, 3, 3):
        with T.sblock("conv"):
            vn, vf, vy, vx, vc, vry, vrx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ry, rx])
            T.reads(pad[vn, vc, vy + vry, vx + vrx], weight[vf, vc, vry, vrx])
            T.writes(out[vn, vf, vy, vx])
            with T.init():
                out[vn, vf, vy, vx] = T.float32(0)
            out[vn, vf, vy, vx] = out[vn, vf, vy, vx] + pad[vn, vc, vy + vry, vx + vrx] * weight[vf, vc, vry, vrx]
"""
)

ROW_SUM = (
    HEADER
    + """@T.prim_func(s_tir=True)
def row_sum(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128,), "float32")):
    for i, k in T.grid(128, 128):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""
)

ADD_RELU = (
    HEADER
    + """@T.prim_func(s_tir=True)
def add_relu(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
    C = T.sblock_alloc_buffer((64,), "float32")
    for i in range(64):
        with T.sblock("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = A[vi] + B[vi]
    for i in range(64):
        with T.sblock("D"):
            vi = T.axis.spatial(64, i)
            D[vi] = T.max(C[vi], T.float32(0))
"""
)

CURRENT = {
    "matmul": MATMUL,
    "matmul_relu": MATMUL_RELU,
    "elementwise_chain": ELEMENTWISE_CHAIN,
    "box_blur": BOX_BLUR,
    "fused_matmul_add_relu": FUSED_MATMUL_ADD_RELU,
    "conv2d": CONV2D,
    "row_sum": ROW_SUM,
}
CLASSIC = {"matmul": MATMUL_CLASSIC, "fused_round_trip": FUSED_ROUND_TRIP_CLASSIC}
ALL = {
    **{f"{name}_current": text for name, text in CURRENT.items()},
    **{f"{name}_classic": text for name, text in CLASSIC.items()},
}

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
"""A product between two elementwise blocks, of few iterations: a space is derived from it in about a second."""

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
"""Sums of rows, and the rows divided by them, of few iterations."""

# Programs of two loops whose extents do not suit the factors that tests split them by: constant, symbolic, and a product of sizes.

UNEVEN_HEAD = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
{sizes}    A = T.match_buffer(a, ({rows}, {columns}), "int32")
    B = T.match_buffer(b, {shape}, "int32")
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("{kinds}", [i, j])
"""

ELEMENTWISE = "            B[vi, vj] = A[vi, vj] * 2 + 1\n"
UPDATE = "            B[vi, vj] = B[vi, vj] * 2 + A[vi, vj]\n"
ROW_SUMS = """            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj]
"""

UNEVEN_BODIES = {"elementwise": ELEMENTWISE, "update": UPDATE, "row sums": ROW_SUMS}


def uneven_program(body: str, rows: str, columns: str) -> str:
    """The text of a program of UNEVEN_BODIES; names in sizes are symbolic."""
    reduces = body == "row sums"
    return (UNEVEN_HEAD + UNEVEN_BODIES[body]).format(
        sizes="".join(f"    {n} = T.int32()\n" for n in dict.fromkeys(re.findall("[a-z]+", f"{rows} {columns}"))),
        rows=rows,
        columns=columns,
        shape=f"({rows},)" if reduces else f"({rows}, {columns})",
        kinds="SR" if reduces else "SS",
    )
